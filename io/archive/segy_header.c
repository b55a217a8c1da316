#include "io/archive/segy_header.h"

#include "base/file.h"
#include "base/integers.h"
#include "io/archive/field.h"
#include "io/bytes/transfer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Traces whose headers are looked at. One that has another length moves all that follow, so that the last ones tell. */
#define MOST_LOOKED_AT ((int64_t)1 << 16)

static const unsigned char *field_at(const struct lw_segy_file *file, int byte)
{
    return byte > LW_SEGY_TEXT_BYTES ? file->binary + byte - LW_SEGY_TEXT_BYTES - 1 : file->trace + byte - 1;
}

int64_t lw_segy_field(const struct lw_segy_file *file, int byte, int bytes)
{
    return lw_field_signed(field_at(file, byte), bytes, file->is_big);
}

static int64_t count_field(const struct lw_segy_file *file, int byte)
{
    return (int64_t)lw_field_unsigned(field_at(file, byte), 2, file->is_big);
}

/* ---- byte order and revision ---------------------------------------------------------------------------------------------- */

/* Revision 2 has a number that tells; otherwise the code of the format is a small number in one order only. */
static int find_order(struct lw_segy_file *file, const char *name, struct lw_error *err)
{
    enum { IN_ORDER = 0x01020304, REVERSED = 0x04030201, IN_PAIRS = 0x02010403 };
    const uint64_t told = lw_field_unsigned(field_at(file, 3297), 4, true);
    if (told == IN_PAIRS)
        return lw_fail(err, LW_EDATA, "'%.600s' has the bytes of each pair swapped, which is not read: put them in order, for "
                       "example with 'dd conv=swab'", name);
    if (told == IN_ORDER || told == REVERSED)
        file->is_big = told == IN_ORDER;
    else
        file->is_big = lw_segy_format_find((int)lw_field_unsigned(field_at(file, 3225), 2, true)) ||
                       !lw_segy_format_find((int)lw_field_unsigned(field_at(file, 3225), 2, false));
    file->format = lw_segy_format_find((int)count_field(file, 3225));
    if (file->format)
        return LW_OK;
    return lw_fail(err, LW_EDATA, "'%.600s' is no SEG-Y file, or damaged: its binary header has format code %d in bytes 3225-3226",
                   name, (int)count_field(file, 3225));
}

/* Revision 0 left the bytes free for anything. */
static int find_revision(const struct lw_segy_file *file)
{
    const int major = *field_at(file, 3501), minor = *field_at(file, 3502);
    if (major == 0 && minor == 1 && !file->is_big)
        return 1;
    return major <= 2 ? major : 0;
}

/* ---- where traces lie ----------------------------------------------------------------------------------------------------- */

static int find_first(struct lw_segy_file *file, const char *name, struct lw_error *err)
{
    const int64_t n_texts = file->revision > 0 ? lw_segy_field(file, 3505, 2) : 0;
    const int64_t given = file->revision == 2 ? lw_segy_field(file, 3521, 8) : 0;
    const int64_t headers = LW_SEGY_TEXT_BYTES + LW_SEGY_BINARY_BYTES;
    if (given != 0)
        file->first_byte = given;
    else if (n_texts >= 0)
        file->first_byte = headers + n_texts * LW_SEGY_TEXT_BYTES;
    else
        return lw_fail(err, LW_EDATA, "'%.600s' has a number of extended text headers that it does not say (%" PRId64 " in bytes "
                       "3505-3506): write their number there", name, n_texts);
    if (file->first_byte < headers || file->first_byte > file->bytes - LW_SEGY_TRACE_BYTES)
        return lw_fail(err, LW_EDATA, "'%.600s' has no traces: the first one would begin at byte %" PRId64 " of %" PRId64, name,
                       file->first_byte, file->bytes);
    return lw_bytes_read_file(file->fd, name, file->trace, file->first_byte, LW_SEGY_TRACE_BYTES, err);
}

static int find_length(struct lw_segy_file *file, const char *name, struct lw_error *err)
{
    const int64_t extended = file->revision == 2 ? lw_segy_field(file, 3269, 4) : 0;
    const int64_t usual = count_field(file, 3221);
    file->n_samples = extended > 0 ? extended : usual > 0 ? usual : count_field(file, 115);
    if (file->n_samples > 0)
        return LW_OK;
    return lw_fail(err, LW_EDATA, "'%.600s' says nowhere how many samples a trace has (bytes 3221-3222 and the first trace's "
                   "115-116 are 0)", name);
}

static int find_pitch(struct lw_segy_file *file, const char *name, struct lw_error *err)
{
    const int64_t more = file->revision == 2 ? lw_segy_field(file, 3507, 4) : 0;
    if (file->format->bytes == 0)
        return lw_fail(err, LW_EDATA, "'%.600s' holds samples of format %d (%s), which are not read: convert them to float32 (5) "
                       "first", name, file->format->code, file->format->text);
    if (more < 0)
        return lw_fail(err, LW_EDATA, "'%.600s' is damaged: it claims %" PRId64 " more headers for each trace (bytes 3507-3510)",
                       name, more);
    file->header_bytes = LW_SEGY_TRACE_BYTES * (1 + more);
    file->pitch = file->header_bytes + file->n_samples * file->format->bytes;
    return LW_OK;
}

/* Revision 2 may say how many traces there are and that more texts follow them. Without that, what is behind the last whole trace
 * is none. */
static int find_count(struct lw_segy_file *file, const char *name, struct lw_error *err)
{
    const int64_t claimed = file->revision == 2 ? lw_segy_field(file, 3513, 8) : 0;
    const int64_t trailers = file->revision == 2 ? lw_max64(0, lw_segy_field(file, 3529, 4)) : 0;
    const int64_t room = (file->bytes - file->first_byte - trailers * LW_SEGY_TEXT_BYTES) / file->pitch;
    if (room < 1)
        return lw_fail(err, LW_EDATA, "'%.600s' is too short: a trace of %" PRId64 " samples takes %" PRId64 " bytes, and %" PRId64
                       " are there", name, file->n_samples, file->pitch, file->bytes - file->first_byte);
    if (claimed < 0 || claimed > room)
        return lw_fail(err, LW_EDATA, "'%.600s' is too short or damaged: it claims %" PRIu64 " traces of %" PRId64 " samples, and %"
                       PRId64 " are there", name, (uint64_t)claimed, file->n_samples, room);
    file->n_traces = claimed > 0 ? claimed : room;
    return LW_OK;
}

int lw_segy_set_length(struct lw_segy_file *file, const char *name, int64_t n_samples, struct lw_error *err)
{
    file->n_samples = n_samples;
    const int rc = find_pitch(file, name, err);
    return rc ? rc : find_count(file, name, err);
}

static int read_headers(struct lw_segy_file *file, const char *name, struct lw_error *err)
{
    const int64_t headers = LW_SEGY_TEXT_BYTES + LW_SEGY_BINARY_BYTES;
    int rc;
    file->bytes = lseek(file->fd, 0, SEEK_END);
    if (file->bytes < headers + LW_SEGY_TRACE_BYTES)
        return lw_fail(err, LW_EDATA, "'%.600s' is no SEG-Y file, or cut off: it has %" PRId64 " bytes, less than the headers take",
                       name, file->bytes);
    if ((rc = lw_bytes_read_file(file->fd, name, file->text, 0, LW_SEGY_TEXT_BYTES, err)) ||
        (rc = lw_bytes_read_file(file->fd, name, file->binary, LW_SEGY_TEXT_BYTES, LW_SEGY_BINARY_BYTES, err)) ||
        (rc = find_order(file, name, err)))
        return rc;
    file->revision = find_revision(file);
    (void)((rc = find_first(file, name, err)) || (rc = find_length(file, name, err)) || (rc = find_pitch(file, name, err)) ||
           (rc = find_count(file, name, err)));
    return rc;
}

int lw_segy_open(const char *name, struct lw_segy_file *out, struct lw_error *err)
{
    *out = (struct lw_segy_file){0};
    int rc = lw_file_open_input(name, &out->fd, err);
    if (rc)
        return rc;
    if ((rc = read_headers(out, name, err)))
        lw_segy_close(out);
    return rc;
}

void lw_segy_close(struct lw_segy_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

/* ---- the text -------------------------------------------------------------------------------------------------------------- */

/* Code page 37; what ASCII has not is a blank. */
static const char from_ebcdic[] =
    "                                                                "
    "           .<(+|&         !$*); -/         ,%_>?         `:#@'=\""
    " abcdefghi       jklmnopqr       ~stuvwxyz      ^         []    "
    "{ABCDEFGHI      }JKLMNOPQR      \\ STUVWXYZ      0123456789      ";

/* Blanks are the most common letter by far. */
static bool is_ebcdic(const unsigned char *text)
{
    int balance = 0;
    for (int i = 0; i < LW_SEGY_TEXT_BYTES; i++)
        balance += (text[i] == 0x40) - (text[i] == ' ');
    return balance > 0;
}

/* Lines of the text begin with a C, as punched cards did. */
static bool has_cards(const unsigned char *text, bool in_ebcdic)
{
    return text[0] == (in_ebcdic ? 0xc3 : 'C');
}

/* Letters, blanks, ends of lines and tabs; a few bytes may be anything. Bytes of value 0 fill what text leaves, and are none. */
static bool is_text(const unsigned char *text, bool in_ebcdic)
{
    enum { MOST_OTHERS = 32 };
    static const char of_ascii[] = "\t\n\r", of_ebcdic[] = "\x05\x0d\x15\x25";
    const bool may_be_filled = has_cards(text, in_ebcdic);
    int others = 0;
    for (int i = 0; i < LW_SEGY_TEXT_BYTES; i++) {
        const bool is_letter = in_ebcdic ? text[i] >= 0x40 : text[i] >= ' ' && text[i] <= '~';
        others += !is_letter && (text[i] ? !strchr(in_ebcdic ? of_ebcdic : of_ascii, text[i]) : !may_be_filled);
    }
    return others <= MOST_OTHERS;
}

const char *lw_segy_text(const struct lw_segy_file *file, char text[LW_SEGY_TEXT_BYTES + 41])
{
    enum { LINES = 40, COLUMNS = 80 };
    const bool is_plain = !is_ebcdic(file->text);
    size_t used = 0, kept = 0;
    for (int line = 0; line < LINES; line++) {
        for (int c = 0; c < COLUMNS; c++) {
            const unsigned char code = file->text[line * COLUMNS + c];
            const char letter = !is_plain ? from_ebcdic[code] : code < ' ' || code > '~' ? ' ' : (char)code;
            text[used++] = letter;
            kept = letter != ' ' ? used : kept;
        }
        used = kept;
        text[used++] = '\n';
    }
    text[kept] = '\0';
    return text;
}

/* Programs that write no cards mostly write the length of each trace. */
bool lw_segy_is_plausible(const struct lw_segy_file *file)
{
    const bool in_ebcdic = is_ebcdic(file->text);
    return is_text(file->text, in_ebcdic) && (file->revision == 0 || count_field(file, 3503) <= 1) &&
           (has_cards(file->text, in_ebcdic) || count_field(file, 115) == (file->n_samples & UINT16_MAX));
}

/* ---- sampling ------------------------------------------------------------------------------------------------------------- */

/* In microseconds, of revision 2; 0: not said. */
static double extended_interval(const struct lw_segy_file *file)
{
    return file->revision == 2 ? lw_field_float64(field_at(file, 3273), file->is_big) : 0;
}

/* In microseconds, of the binary header or else the first trace; 0: not said. */
static int64_t usual_interval(const struct lw_segy_file *file)
{
    const int64_t usual = count_field(file, 3217);
    return usual > 0 ? usual : count_field(file, 117);
}

/* Years of two digits and times of an unknown zone tell no instant. */
static void find_start(const struct lw_segy_file *file, struct lw_axis_metadata *axis)
{
    enum { NOT_SAID, LOCAL, GREENWICH, OTHER, UTC, GPS, GPS_EPOCH = 315964800 };
    const int64_t year = lw_segy_field(file, 157, 2), day = lw_segy_field(file, 159, 2);
    const int64_t hour = lw_segy_field(file, 161, 2), minute = lw_segy_field(file, 163, 2);
    const int64_t second = lw_segy_field(file, 165, 2), basis = lw_segy_field(file, 167, 2);
    char january[16];
    if (year < 1900 || year > 2200 || day < 1 || day > 366 || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
        second > 60 || basis < NOT_SAID || basis == LOCAL || basis == OTHER || basis > GPS)
        return;
    snprintf(january, sizeof january, "%04d-01-01", (int)year);
    if (!lw_instant_parse(january, &axis->instant))
        return;
    axis->instant.seconds += ((day - 1) * 24 + hour) * 3600 + minute * 60 + second - (basis == GPS ? GPS_EPOCH : 0);
    axis->scale = basis == GPS ? LW_TIME_GPS : LW_TIME_UTC;
}

/* A rate that a user gives stands instead of the file's. */
void lw_segy_find_sampling(const struct lw_segy_file *file, struct lw_dataset_info *info)
{
    static const char *const units[] = {"", "Pa", "V", "mV", "A", "m", "m/s", "m/s^2", "N", "W"};
    const int64_t unit = lw_segy_field(file, 203, 2);
    const double extended = extended_interval(file);
    struct lw_period period;            /* in microseconds, which need not be whole */
    int64_t denominator;
    find_start(file, &info->axis);
    if (unit > 0 && unit < (int64_t)(sizeof units / sizeof *units))
        snprintf(info->axis.unit, sizeof info->axis.unit, "%s", units[unit]);
    if (!(info->hints.sample_rate_hz > 0) &&
        lw_period_from_seconds(extended > 0 ? extended : (double)usual_interval(file), &period) &&
        !__builtin_mul_overflow(period.denominator, 1000000, &denominator) &&
        lw_period_make(period.numerator, denominator, &info->axis.period))
        snprintf(info->axis.source, sizeof info->axis.source, "SEG-Y sample interval");
}

/* ---- traces ---------------------------------------------------------------------------------------------------------------- */

/* Where a trace was recorded, in the units of the header. */
enum { OFFSET, X, Y, N_PLACES };

struct places {
    int64_t at[N_PLACES], scalar, unit;
};

/* How far the places are from even ones between the first trace's and the last one's. */
struct spacing {
    struct places first, last;
    double off[N_PLACES];
    bool has_one_scalar;
};

static struct places places_of(const struct lw_segy_file *file, const unsigned char *trace)
{
    static const int bytes[N_PLACES] = {37, 81, 85};
    struct places places = {.scalar = lw_field_signed(trace + 71 - 1, 2, file->is_big),
                            .unit = lw_field_signed(trace + 89 - 1, 2, file->is_big)};
    for (int p = 0; p < N_PLACES; p++)
        places.at[p] = lw_field_signed(trace + bytes[p] - 1, 4, file->is_big);
    return places;
}

static int read_trace_header(const struct lw_segy_file *file, const char *name, int64_t number, unsigned char *trace,
                             struct lw_error *err)
{
    struct lw_error reason;
    if (lw_bytes_read(file->fd, trace, file->first_byte + number * file->pitch, LW_SEGY_TRACE_BYTES, &reason))
        return lw_fail(err, LW_EIO, "cannot read trace %" PRId64 " of '%.600s': %s", number, name, reason.message);
    return LW_OK;
}

/* What headers of traces say that the file's does not. */
struct dissent {
    int64_t n, trace, said;     /* how many do; the first one's number and value */
};

static void note_dissent(struct dissent *dissent, int64_t trace, int64_t said)
{
    if (dissent->n++ == 0) {
        dissent->trace = trace;
        dissent->said = said;
    }
}

static int64_t said_by(const struct lw_segy_file *file, const unsigned char *trace, int byte)
{
    return (int64_t)lw_field_unsigned(trace + byte - 1, 2, file->is_big);
}

/* Whether traces that are as long as the first one says fill the file, and all say so: some are looked at.
 * @param other  set to the file with such traces */
static bool is_of_first_length(const struct lw_segy_file *file, const char *name, struct lw_segy_file *other)
{
    enum { LOOKED_AT = 1024 };
    unsigned char trace[LW_SEGY_TRACE_BYTES];
    const int64_t length = count_field(file, 115);
    *other = *file;
    bool are_all = length > 0 && lw_segy_set_length(other, name, length, NULL) == LW_OK &&
                   other->first_byte + other->n_traces * other->pitch == other->bytes;
    for (int64_t t = 0; are_all && t < lw_min64(other->n_traces, LOOKED_AT); t++)
        are_all =
            read_trace_header(other, name, other->n_traces - 1 - t, trace, NULL) == LW_OK && said_by(other, trace, 115) == length;
    return are_all;
}

/* Numbers that were rounded to whole ones are off by less than one. */
static bool is_even(double off, double step)
{
    return off == 0 || (off <= 1 && fabs(step) >= 2);
}

static void find_distance(const struct lw_segy_file *file, const struct spacing *spacing, struct lw_coordinate *where)
{
    static const char *const units[] = {"", "m", "ft"};
    const int64_t system = lw_segy_field(file, 3255, 2), scalar = spacing->first.scalar;
    const double scale = scalar > 0 ? (double)scalar : scalar < 0 ? -1 / (double)scalar : 1;
    double step[N_PLACES];
    *where = (struct lw_coordinate){.name = "channel", .is_regular = true, .first = 0, .step = 1};
    if (file->n_traces < 2)
        return;
    for (int p = 0; p < N_PLACES; p++)
        step[p] = (double)(spacing->last.at[p] - spacing->first.at[p]) / (double)(file->n_traces - 1);
    const double along = hypot(step[X], step[Y]);
    const bool has_length = spacing->has_one_scalar && (spacing->first.unit == 0 || spacing->first.unit == 1);
    if (step[OFFSET] != 0 && is_even(spacing->off[OFFSET], step[OFFSET])) {
        where->first = (double)spacing->first.at[OFFSET];
        where->step = step[OFFSET];
    } else if (along > 0 && has_length && is_even(fmax(spacing->off[X], spacing->off[Y]), along)) {
        where->step = along * scale;
    } else {
        return;
    }
    snprintf(where->name, sizeof where->name, "distance");
    snprintf(where->unit, sizeof where->unit, "%s", system == 1 || system == 2 ? units[system] : "");
}

/* What n traces, spread evenly, say. @param lengths, intervals  what of that is not what the file says */
static int look_at_traces(const struct lw_segy_file *file, const char *name, int64_t n, struct spacing *spacing,
                          struct dissent *lengths, struct dissent *intervals, struct lw_error *err)
{
    const int64_t last = file->n_traces - 1;
    const bool has_extended = extended_interval(file) > 0;
    unsigned char trace[LW_SEGY_TRACE_BYTES];
    *spacing = (struct spacing){.first = places_of(file, file->trace), .has_one_scalar = true};
    const struct places *const first = &spacing->first;
    int rc = read_trace_header(file, name, last, trace, err);
    spacing->last = places_of(file, trace);
    for (int64_t i = 0; rc == LW_OK && i < n; i++) {
        const int64_t number = n > 1 ? (int64_t)((long double)i / (long double)(n - 1) * (long double)last + 0.5L) : 0;
        const double part = last > 0 ? (double)number / (double)last : 0;
        if ((rc = read_trace_header(file, name, number, trace, err)))
            return rc;
        /* A header has 16 bits for the number of samples, and some have 0 there. */
        const int64_t length = said_by(file, trace, 115), interval = said_by(file, trace, 117);
        if (length != 0 && length != file->n_samples && file->n_samples <= UINT16_MAX)
            note_dissent(lengths, number, length);
        if (interval != 0 && interval != usual_interval(file) && !has_extended)
            note_dissent(intervals, number, interval);
        const struct places places = places_of(file, trace);
        for (int p = 0; p < N_PLACES; p++) {
            const double even = (double)first->at[p] + part * ((double)spacing->last.at[p] - (double)first->at[p]);
            spacing->off[p] = fmax(spacing->off[p], fabs((double)places.at[p] - even));
        }
        spacing->has_one_scalar &= places.scalar == first->scalar && places.unit == first->unit;
    }
    return rc;
}

int lw_segy_check_traces(struct lw_segy_file *file, const struct lw_dataset_info *info, struct lw_coordinate *where,
                         struct lw_error *err)
{
    struct dissent lengths = {0}, intervals = {0};
    struct spacing spacing;
    struct lw_segy_file other;
    const int64_t n = lw_min64(file->n_traces, MOST_LOOKED_AT);
    int rc = look_at_traces(file, info->file, n, &spacing, &lengths, &intervals, err);
    if (rc)
        return rc;
    if (lengths.n > 0) {
        const bool fits_first = is_of_first_length(file, info->file, &other);
        if (!info->hints.format[0])
            return lw_fail(err, LW_EDATA,
                           "'%.500s' contradicts itself: a trace has %" PRId64
                           " samples by its binary header (bytes 3221-3222), and %" PRId64 " by the header of trace %" PRId64
                           " (bytes 115-116); of %" PRId64 " traces looked at, %" PRId64
                           " say otherwise than the file; --format SEG-Y takes %s",
                           info->file, file->n_samples, lengths.said, lengths.trace, n, lengths.n,
                           fits_first ? "what the traces say, which fits the file's size" : "what the binary header says");
        if (fits_first) {
            *file = other;
            return lw_segy_check_traces(file, info, where, err);
        }
    }
    if (intervals.n > 0 && !(info->hints.sample_rate_hz > 0))
        return lw_fail(err, LW_EDATA,
                       "'%.500s' contradicts itself: samples are %" PRId64 " us apart by its %s, and %" PRId64
                       " us by the header of trace %" PRId64 " (bytes 117-118), one of %" PRId64 " that say so of %" PRId64
                       " looked at; --sample-rate says which is right",
                       info->file, usual_interval(file),
                       count_field(file, 3217) > 0 ? "binary header (bytes 3217-3218)" : "first trace", intervals.said,
                       intervals.trace, intervals.n, n);
    find_distance(file, &spacing, where);
    return LW_OK;
}
