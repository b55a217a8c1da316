/* segy.c - read SEG-Y files: traces of one length as [channel x time], a single trace as [time].
 *
 *     | text [3200] | binary header [400] | more texts [3200 each] | trace header [240] | samples | trace header | samples ...
 *
 * No library is used: a header is a few numbers in fixed places, and each number is checked here. Several threads read samples at
 * the same time, by byte offset.
 *
 * Source: SEG-Y revision 2.1 (Society of Exploration Geophysicists, 2023), and the differences of revisions 0 and 1. As in the
 * standard, bytes of the binary header are counted from 3201, and bytes of a trace header from 1. */
#include "base/file.h"
#include "base/integers.h"
#include "io/archive/segy_codes.h"
#include "io/archive/shared.h"
#include "io/bytes/transfer.h"
#include "io/notes/recorder.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { TEXT_BYTES = LW_SEGY_TEXT_BYTES, BINARY_BYTES = 400, TRACE_BYTES = 240 };

/* An open file, and its headers. */
struct segy {
    int fd;
    int64_t bytes;
    bool is_big;
    int revision;               /* 0, 1 or 2 */
    const struct lw_segy_format *format;
    int64_t first_byte;         /* first byte of the first trace's header */
    int64_t header_bytes;       /* bytes of headers before each trace's samples */
    int64_t pitch;              /* bytes from a trace's beginning to the next one's */
    int64_t n_samples, n_traces;
    unsigned char text[TEXT_BYTES], binary[BINARY_BYTES];
    unsigned char trace[TRACE_BYTES];       /* header of the first trace */
};

/* Most traces whose headers are checked. A trace of another length would shift all later headers, which the checks then notice. */
#define MOST_LOOKED_AT ((int64_t)1 << 16)

static const unsigned char *field_at(const struct segy *file, int byte)
{
    return byte > TEXT_BYTES ? file->binary + byte - TEXT_BYTES - 1 : file->trace + byte - 1;
}

/* Return a signed integer from the binary header or the first trace's header. @param byte  counted as in the standard */
static int64_t number_at(const struct segy *file, int byte, int bytes)
{
    return lw_field_signed(field_at(file, byte), bytes, file->is_big);
}

static int64_t count_field(const struct segy *file, int byte)
{
    return (int64_t)lw_field_unsigned(field_at(file, byte), 2, file->is_big);
}

/* ---- byte order and revision ---------------------------------------------------------------------------------------------- */

/* Find the byte order: by revision 2's mark (bytes 3297-3300), else as the order in which the sample format's code is known. */
static int find_order(struct segy *file, const char *name, struct lw_error *err)
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

/* ---- where traces lie ----------------------------------------------------------------------------------------------------- */

static int find_first(struct segy *file, const char *name, struct lw_error *err)
{
    const int64_t n_texts = file->revision > 0 ? number_at(file, 3505, 2) : 0;
    const int64_t given = file->revision == 2 ? number_at(file, 3521, 8) : 0;
    const int64_t headers = TEXT_BYTES + BINARY_BYTES;
    if (given != 0)
        file->first_byte = given;
    else if (n_texts >= 0)
        file->first_byte = headers + n_texts * TEXT_BYTES;
    else
        return lw_fail(err, LW_EDATA, "'%.600s' does not have the number of its extended text headers (%" PRId64 " in bytes "
                       "3505-3506): write the number there", name, n_texts);
    if (file->first_byte < headers || file->first_byte > file->bytes - TRACE_BYTES)
        return lw_fail(err, LW_EDATA, "'%.600s' has no traces: the first one would begin at byte %" PRId64 " of %" PRId64, name,
                       file->first_byte, file->bytes);
    return lw_bytes_read_file(file->fd, name, file->trace, file->first_byte, TRACE_BYTES, err);
}

static int find_length(struct segy *file, const char *name, struct lw_error *err)
{
    const int64_t extended = file->revision == 2 ? number_at(file, 3269, 4) : 0;
    const int64_t usual = count_field(file, 3221);
    file->n_samples = extended > 0 ? extended : usual > 0 ? usual : count_field(file, 115);
    if (file->n_samples > 0)
        return LW_OK;
    return lw_fail(err, LW_EDATA, "'%.600s' lacks the number of samples of a trace (bytes 3221-3222 and the first trace's "
                   "115-116 are 0)", name);
}

static int find_pitch(struct segy *file, const char *name, struct lw_error *err)
{
    const int64_t more = file->revision == 2 ? number_at(file, 3507, 4) : 0;
    if (file->format->bytes == 0)
        return lw_fail(err, LW_EDATA, "'%.600s' holds samples of format %d (%s), which are not read: convert them to float32 (5) "
                       "first", name, file->format->code, file->format->text);
    if (more < 0)
        return lw_fail(err, LW_EDATA, "'%.600s' is damaged: it claims %" PRId64 " more headers for each trace (bytes 3507-3510)",
                       name, more);
    file->header_bytes = TRACE_BYTES * (1 + more);
    file->pitch = file->header_bytes + file->n_samples * file->format->bytes;
    return LW_OK;
}

/* Find the number of traces: that in revision 2's header, else as many as fit before revision 2's trailing texts. */
static int find_count(struct segy *file, const char *name, struct lw_error *err)
{
    const int64_t claimed = file->revision == 2 ? number_at(file, 3513, 8) : 0;
    const int64_t trailers = file->revision == 2 ? lw_max64(0, number_at(file, 3529, 4)) : 0;
    const int64_t room = (file->bytes - file->first_byte - trailers * TEXT_BYTES) / file->pitch;
    if (room < 1)
        return lw_fail(err, LW_EDATA, "'%.600s' is too short: a trace of %" PRId64 " samples takes %" PRId64 " bytes, and %" PRId64
                       " are there", name, file->n_samples, file->pitch, file->bytes - file->first_byte);
    if (claimed < 0 || claimed > room)
        return lw_fail(err, LW_EDATA, "'%.600s' is too short or damaged: it claims %" PRIu64 " traces of %" PRId64 " samples, and %"
                       PRId64 " are there", name, (uint64_t)claimed, file->n_samples, room);
    file->n_traces = claimed > 0 ? claimed : room;
    return LW_OK;
}

/* Set the samples per trace. LW_EDATA: the file has no whole trace of this length. */
static int set_length(struct segy *file, const char *name, int64_t n_samples, struct lw_error *err)
{
    file->n_samples = n_samples;
    const int rc = find_pitch(file, name, err);
    return rc ? rc : find_count(file, name, err);
}

static int read_headers(struct segy *file, const char *name, struct lw_error *err)
{
    const int64_t headers = TEXT_BYTES + BINARY_BYTES;
    int rc;
    file->bytes = lseek(file->fd, 0, SEEK_END);
    if (file->bytes < headers + TRACE_BYTES)
        return lw_fail(err, LW_EDATA, "'%.600s' is no SEG-Y file, or cut off: it has %" PRId64 " bytes, less than the headers take",
                       name, file->bytes);
    if ((rc = lw_bytes_read_file(file->fd, name, file->text, 0, TEXT_BYTES, err)) ||
        (rc = lw_bytes_read_file(file->fd, name, file->binary, TEXT_BYTES, BINARY_BYTES, err)) ||
        (rc = find_order(file, name, err)))
        return rc;
    /* Revision 0 has no revision number: files may hold anything in these bytes. */
    const int major = *field_at(file, 3501), minor = *field_at(file, 3502);
    file->revision = major == 0 && minor == 1 && !file->is_big ? 1 : major <= 2 ? major : 0;
    (void)((rc = find_first(file, name, err)) || (rc = find_length(file, name, err)) || (rc = find_pitch(file, name, err)) ||
           (rc = find_count(file, name, err)));
    return rc;
}

static void close_file(void *dataset)
{
    const struct segy *const file = dataset;
    if (file->fd >= 0)
        close(file->fd);
}

/* Open a file and check its headers. LW_EDATA: headers contradict each other or the file's size, or are of an unsupported kind.
 * @param out  the caller closes it, also after an error */
static int open_file(const char *name, struct segy *out, struct lw_error *err)
{
    *out = (struct segy){0};
    const int rc = lw_file_open_input(name, &out->fd, err);
    return rc ? rc : read_headers(out, name, err);
}

/* ---- sampling ------------------------------------------------------------------------------------------------------------- */

/* Return the interval of samples in microseconds by revision 2's field (bytes 3273-3280); 0: not given. */
static double extended_interval(const struct segy *file)
{
    return file->revision == 2 ? lw_field_float64(field_at(file, 3273), file->is_big) : 0;
}

/* Return the interval of samples in microseconds by the binary header, else by the first trace's; 0: not given. */
static int64_t usual_interval(const struct segy *file)
{
    const int64_t usual = count_field(file, 3217);
    return usual > 0 ? usual : count_field(file, 117);
}

/* Find the time of the first sample; unknown if the year has two digits, or the zone is local or "other". No zone means UTC. */
static void find_start(const struct segy *file, struct lw_axis_metadata *axis)
{
    enum { NOT_SAID, LOCAL, GREENWICH, OTHER, UTC, GPS, GPS_EPOCH = 315964800 };
    const int64_t year = number_at(file, 157, 2), day = number_at(file, 159, 2);
    const int64_t hour = number_at(file, 161, 2), minute = number_at(file, 163, 2);
    const int64_t second = number_at(file, 165, 2), basis = number_at(file, 167, 2);
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

/* Find sampling, start and unit. The file's interval is not used if the user gives a rate. */
static void find_sampling(const struct segy *file, struct lw_dataset_info *info)
{
    static const char *const units[] = {"", "Pa", "V", "mV", "A", "m", "m/s", "m/s^2", "N", "W"};
    const int64_t unit = number_at(file, 203, 2);
    const double extended = extended_interval(file);
    struct lw_period period;            /* microseconds, maybe with a fraction */
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

/* Coordinates in a trace's header: distance from source to receiver group; x and y of the receiver group. */
enum { OFFSET, X, Y, N_PLACES };

struct places {
    int64_t at[N_PLACES], scalar, unit;
};

/* How evenly traces are spaced. off: largest deviation of each coordinate from a straight line between first and last trace. */
struct spacing {
    struct places first, last;
    double off[N_PLACES];
    bool has_one_scalar;
};

static struct places places_of(const struct segy *file, const unsigned char *trace)
{
    static const int bytes[N_PLACES] = {37, 81, 85};
    struct places places = {.scalar = lw_field_signed(trace + 71 - 1, 2, file->is_big),
                            .unit = lw_field_signed(trace + 89 - 1, 2, file->is_big)};
    for (int p = 0; p < N_PLACES; p++)
        places.at[p] = lw_field_signed(trace + bytes[p] - 1, 4, file->is_big);
    return places;
}

static int read_trace_header(const struct segy *file, const char *name, int64_t number, unsigned char *trace, struct lw_error *err)
{
    struct lw_error reason;
    if (lw_bytes_read(file->fd, trace, file->first_byte + number * file->pitch, TRACE_BYTES, &reason))
        return lw_fail(err, LW_EIO, "cannot read trace %" PRId64 " of '%.600s': %s", number, name, reason.message);
    return LW_OK;
}

/* Trace headers with another value (length or interval) than the file's headers. */
struct dissent {
    int64_t n, trace, said;     /* number of these traces; index and value of the first */
};

static void note_dissent(struct dissent *dissent, int64_t trace, int64_t said)
{
    if (dissent->n++ == 0) {
        dissent->trace = trace;
        dissent->said = said;
    }
}

static int64_t said_by(const struct segy *file, const unsigned char *trace, int byte)
{
    return (int64_t)lw_field_unsigned(trace + byte - 1, 2, file->is_big);
}

/* Return whether the length in the first trace's header is right: such traces fill the file, and the last traces' headers agree.
 * @param other  set to `file`, with traces of this length */
static bool is_of_first_length(const struct segy *file, const char *name, struct segy *other)
{
    enum { LOOKED_AT = 1024 };
    unsigned char trace[TRACE_BYTES];
    const int64_t length = count_field(file, 115);
    *other = *file;
    bool are_all = length > 0 && set_length(other, name, length, NULL) == LW_OK &&
                   other->first_byte + other->n_traces * other->pitch == other->bytes;
    for (int64_t t = 0; are_all && t < lw_min64(other->n_traces, LOOKED_AT); t++)
        are_all =
            read_trace_header(other, name, other->n_traces - 1 - t, trace, NULL) == LW_OK && said_by(other, trace, 115) == length;
    return are_all;
}

/* Return whether a coordinate is even. Headers hold rounded integers: deviations up to 1 are allowed if steps are 2 or more. */
static bool is_even(double off, double step)
{
    return off == 0 || (off <= 1 && fabs(step) >= 2);
}

static void find_distance(const struct segy *file, const struct spacing *spacing, struct lw_coordinate *where)
{
    static const char *const units[] = {"", "m", "ft"};
    const int64_t system = number_at(file, 3255, 2), scalar = spacing->first.scalar;
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

/* Read n trace headers, spread evenly. @param lengths, intervals  set to the headers that contradict the file's */
static int look_at_traces(const struct segy *file, const char *name, int64_t n, struct spacing *spacing,
                          struct dissent *lengths, struct dissent *intervals, struct lw_error *err)
{
    const int64_t last = file->n_traces - 1;
    const bool has_extended = extended_interval(file) > 0;
    unsigned char trace[TRACE_BYTES];
    *spacing = (struct spacing){.first = places_of(file, file->trace), .has_one_scalar = true};
    const struct places *const first = &spacing->first;
    int rc = read_trace_header(file, name, last, trace, err);
    spacing->last = places_of(file, trace);
    for (int64_t i = 0; rc == LW_OK && i < n; i++) {
        const int64_t number = n > 1 ? (int64_t)((long double)i / (long double)(n - 1) * (long double)last + 0.5L) : 0;
        const double part = last > 0 ? (double)number / (double)last : 0;
        if ((rc = read_trace_header(file, name, number, trace, err)))
            return rc;
        /* A trace header has 16 bits for its number of samples; some programs leave it 0. Both are no contradiction. */
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

/* Check trace headers, at most MOST_LOOKED_AT of them, spread evenly. LW_EDATA: a length contradicts the file's headers (unless
 * the user names the format), or an interval does (unless the user gives a rate). With --format SEG-Y the first trace's length is
 * taken if is_of_first_length, else the binary header's. @param where  set to distances, or to trace numbers if these are uneven */
static int check_traces(struct segy *file, const struct lw_dataset_info *info, struct lw_coordinate *where, struct lw_error *err)
{
    struct dissent lengths = {0}, intervals = {0};
    struct spacing spacing;
    struct segy other;
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
                           " (bytes 115-116); of %" PRId64 " traces checked, %" PRId64
                           " contradict the file; --format SEG-Y takes the length of %s",
                           info->file, file->n_samples, lengths.said, lengths.trace, n, lengths.n,
                           fits_first ? "the traces, which fits the file's size" : "the binary header");
        if (fits_first) {
            *file = other;
            return check_traces(file, info, where, err);
        }
    }
    if (intervals.n > 0 && !(info->hints.sample_rate_hz > 0))
        return lw_fail(err, LW_EDATA,
                       "'%.500s' contradicts itself: samples are %" PRId64 " us apart by its %s, and %" PRId64
                       " us by the header of trace %" PRId64 " (bytes 117-118), one of %" PRId64 " such traces of %" PRId64
                       " checked; give the right rate with --sample-rate",
                       info->file, usual_interval(file),
                       count_field(file, 3217) > 0 ? "binary header (bytes 3217-3218)" : "first trace", intervals.said,
                       intervals.trace, intervals.n, n);
    find_distance(file, &spacing, where);
    return LW_OK;
}

/* ---- the format ------------------------------------------------------------------------------------------------------------ */

/* Recognise the format, which has no magic number, by its text and plausible headers. A text without cards does not suffice: then
 * the first trace's header must have the right length, too. */
static int recognise(const char *file, bool *is_one, struct lw_error *err)
{
    struct segy segy;
    bool has_cards;
    const int rc = open_file(file, &segy, err);
    *is_one = rc == LW_OK && lw_segy_is_text(segy.text, &has_cards) && (segy.revision == 0 || count_field(&segy, 3503) <= 1) &&
              (has_cards || count_field(&segy, 115) == (segy.n_samples & UINT16_MAX));
    close_file(&segy);
    return rc == LW_EIO ? rc : LW_OK;
}

static void set_shape(const struct segy *file, struct lw_dataset_info *info)
{
    const struct lw_segy_format *const format = file->format;
    const bool has_channels = file->n_traces > 1, is_as_stored = !format->convert[0] && format->bytes > 1;
    info->n_dims = has_channels ? 2 : 1;
    info->metadata_axis = info->n_dims - 1;
    info->dims[0] = file->n_traces;
    info->dims[info->metadata_axis] = file->n_samples;
    info->type = (struct lw_type){.scalar = format->scalar, .is_swapped = is_as_stored && lw_field_is_swapped(file->is_big)};
    lw_archive_name(info, info->metadata_axis, "time");
}

static int describe_open(struct segy *file, struct lw_dataset_info *info, struct lw_error *err)
{
    const int64_t job = number_at(file, 3201, 4), line = number_at(file, 3205, 4);
    struct lw_coordinate where;
    const int rc = check_traces(file, info, &where, err);
    if (rc)
        return rc;
    find_sampling(file, info);
    set_shape(file, info);
    if (job != 0)
        lw_recorder_add_number(&info->recorder, "job number", (double)job);
    if (line != 0)
        lw_recorder_add_number(&info->recorder, "line number", (double)line);
    if (info->n_dims == 2)
        info->coordinates[0] = where;
    snprintf(info->convention, sizeof info->convention, "SEG-Y revision %d", file->revision);
    return LW_OK;
}

/* Describe the file's only dataset, for any use: each supported format is read as one of LW_SCALARS. */
static int describe(struct lw_dataset_info *info, struct lw_error *err)
{
    struct segy file;
    int rc;
    if ((rc = lw_archive_take_no_path(info, "a SEG-Y file", err)))
        return rc;
    if ((rc = open_file(info->file, &file, err)) == LW_OK)
        rc = describe_open(&file, info, err);
    close_file(&file);
    return rc;
}

static int list(const char *file, lw_list_fn *visit, void *context, struct lw_error *err)
{
    struct lw_dataset_info info = {.metadata_axis = -1};
    struct segy segy;
    char storage[120];
    snprintf(info.file, sizeof info.file, "%s", file);
    int rc = open_file(file, &segy, err);
    if (rc == LW_OK && (rc = describe_open(&segy, &info, err)) == LW_OK) {
        snprintf(storage, sizeof storage, "%" PRId64 " trace%s of %s, %s endian", segy.n_traces, segy.n_traces == 1 ? "" : "s",
                 segy.format->text, segy.is_big ? "big" : "little");
        lw_archive_list(&info, storage, segy.n_traces * segy.pitch, visit, context);
    }
    close_file(&segy);
    return rc;
}

/* ---- samples ------------------------------------------------------------------------------------------------------- */

static int open_described(void *dataset, const struct lw_dataset_info *info, struct lw_error *err)
{
    struct segy *const file = dataset;
    struct lw_dataset_info now = {0};
    const int rc = open_file(info->file, file, err);
    if (rc)
        return rc;
    const int64_t length = info->dims[info->n_dims - 1];
    if (file->n_samples != length)
        set_length(file, info->file, length, NULL);        /* check_traces had taken the traces' own length */
    set_shape(file, &now);
    return lw_archive_check_same(&now, info, err);
}

/* Read a box. Stored samples that need conversion are read to the end of their row in memory, and converted in place. */
static int read_box(void *dataset, const struct lw_box *box, struct lw_error *err)
{
    const struct segy *const file = dataset;
    const struct lw_segy_format *const format = file->format;
    const struct lw_box_rows rows = lw_archive_rows(box, file->n_traces > 1 ? 2 : 1);
    const int64_t bytes = (int64_t)lw_scalar_bytes(format->scalar), behind = rows.count * (bytes - format->bytes);
    const struct lw_bytes_box from_file = {
        .count = {1, rows.n, rows.count}, .element_bytes = format->bytes,
        .from = {0, rows.row_step * file->pitch, rows.step * format->bytes},
        .to = {0, rows.pitch * bytes, format->bytes},
    };
    const int64_t samples = file->first_byte + rows.row * file->pitch + file->header_bytes;
    char bounce[64 << 10], *const into = box->into;
    const int rc = lw_bytes_read_box(&from_file, file->fd, samples + rows.first * format->bytes, into + behind, bounce,
                                     sizeof bounce, err);
    for (int64_t r = 0; rc == LW_OK && format->convert[0] && r < rows.n; r++) {
        char *const row = into + r * rows.pitch * bytes;
        format->convert[file->is_big]((const unsigned char *)row + behind, rows.count, row);
    }
    return rc;
}

/* Visit fields of the binary header and of the first trace's header, under segyio's names where segyio has the field. */
static void visit_attributes(const struct lw_dataset_info *info, lw_attribute_fn *visit, void *context)
{
    static const struct {
        const char *name;
        int byte, bytes;
    } fields[] = {
        {"JobID", 3201, 4}, {"LineNumber", 3205, 4}, {"ReelNumber", 3209, 4}, {"EnsembleFold", 3227, 2}, {"SortingCode", 3229, 2},
        {"MeasurementSystem", 3255, 2}, {"FieldRecord", 9, 4}, {"DelayRecordingTime", 109, 2}, {"TimeBaseCode", 167, 2},
    };
    struct segy file;
    char text[LW_SEGY_TEXT_ROOM];
    const bool is_open = open_file(info->file, &file, NULL) == LW_OK;
    const struct lw_attribute header = {.name = "TextHeader", .kind = LW_ATTRIBUTE_TEXT, .text = lw_segy_text(file.text, text)};
    if (is_open && text[0])
        visit(&header, context);
    for (size_t f = 0; is_open && f < sizeof fields / sizeof *fields; f++) {
        const struct lw_attribute field = {.name = fields[f].name, .kind = LW_ATTRIBUTE_INT,
                                           .integer = number_at(&file, fields[f].byte, fields[f].bytes)};
        if (field.integer != 0)
            visit(&field, context);
    }
    close_file(&file);
}

const struct lw_format lw_format_segy = {
    .name = "SEG-Y", .file_text = "a SEG-Y file",
    .recognise = recognise, .list = list, .describe = describe,
    .open = open_described, .open_bytes = sizeof(struct segy), .read = read_box, .reads_in_threads = true,
    .close = close_file,
    .visit_attributes = visit_attributes,
};
