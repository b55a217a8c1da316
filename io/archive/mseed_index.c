#include "io/archive/mseed_index.h"

#include "base/file.h"
#include "base/integers.h"
#include "base/memory.h"
#include "io/archive/field.h"
#include "io/bytes/transfer.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEADER_BYTES = 48, FRAME_BYTES = 64, MOST_IN_FRAME = 105, FIRST_RECORDS = 256 };

/* Read at a time; a whole record lies in it. */
#define WINDOW_BYTES (4 * LW_MSEED_MOST_BYTES)

#define MICROSECONDS ((int64_t)1000000)

struct lw_instant lw_mseed_start(const struct lw_mseed_record *record)
{
    struct lw_instant start = {0};
    lw_instant_from_ticks(record->start_us, MICROSECONDS, &start);
    return start;
}

struct lw_instant lw_mseed_end(const struct lw_mseed_channel *channel, const struct lw_mseed_record *record)
{
    return lw_instant_of_sample(lw_mseed_start(record), channel->period, record->n_samples);
}

const char *lw_mseed_encoding_text(int encoding)
{
    switch (encoding) {
    case LW_MSEED_INT16: return "int16";
    case LW_MSEED_INT32: return "int32";
    case LW_MSEED_FLOAT32: return "float32";
    case LW_MSEED_FLOAT64: return "float64";
    case LW_MSEED_STEIM1: return "Steim-1";
    case LW_MSEED_STEIM2: return "Steim-2";
    default: return NULL;
    }
}

/* ---- one header ---------------------------------------------------------------------------------------------------------- */

static bool is_date(int64_t year, int64_t day)
{
    return year >= 1900 && year <= 2100 && day >= 1 && day <= 366;
}

/* A sequence number, a letter for the quality, a blank, and a time that exists. */
bool lw_mseed_begins(const unsigned char *at)
{
    for (int i = 0; i < 6; i++)
        if (!isdigit(at[i]) && at[i] != ' ' && at[i] != 0)
            return false;
    if (!memchr("DRQM", at[6], 4) || (at[7] != ' ' && at[7] != 0) || at[24] > 23 || at[25] > 59 || at[26] > 60)
        return false;
    return is_date((int64_t)lw_field_unsigned(at + 20, 2, true), (int64_t)lw_field_unsigned(at + 22, 2, true)) ||
           is_date((int64_t)lw_field_unsigned(at + 20, 2, false), (int64_t)lw_field_unsigned(at + 22, 2, false));
}

/* Part of a name, without the blanks around it; false: there is something in it that no name has. */
static bool add_part(const unsigned char *at, int length, char **to)
{
    for (int i = 0; i < length; i++) {
        if (isalnum(at[i]) || at[i] == '-' || at[i] == '_')
            *(*to)++ = (char)at[i];
        else if (at[i] != ' ' && at[i] != 0)
            return false;
    }
    return true;
}

static bool find_name(const unsigned char *at, char name[LW_MSEED_NAME])
{
    static const struct {
        int offset, length;
    } parts[] = {{18, 2}, {8, 5}, {13, 2}, {15, 3}};
    char *to = name;
    for (int p = 0; p < 4; p++) {
        if (p > 0)
            *to++ = '.';
        if (!add_part(at + parts[p].offset, parts[p].length, &to))
            return false;
    }
    *to = '\0';
    return true;
}

/* The time of the first sample; a correction that the time does not have in it yet is added. */
static bool find_time(const unsigned char *at, bool is_big, int microseconds, int64_t *start_us)
{
    enum { TENTHS_OF_MS = 100, IS_CORRECTED = 2 };
    const int64_t year = (int64_t)lw_field_unsigned(at + 20, 2, is_big), day = (int64_t)lw_field_unsigned(at + 22, 2, is_big);
    const int64_t part = (int64_t)lw_field_unsigned(at + 28, 2, is_big), correction = lw_field_signed(at + 40, 4, is_big);
    char january[16];
    struct lw_instant instant;
    snprintf(january, sizeof january, "%04d-01-01", (int)year);
    if (part > 9999 || !lw_instant_parse(january, &instant))
        return false;
    const int64_t seconds = instant.seconds + ((day - 1) * 24 + at[24]) * 3600 + at[25] * 60 + at[26];
    *start_us = seconds * MICROSECONDS + (part + (at[36] & IS_CORRECTED ? 0 : correction)) * TENTHS_OF_MS + microseconds;
    return true;
}

/* What the blockettes of a record say. */
struct blockettes {
    int32_t bytes;              /* of the record; 0: it does not say */
    int encoding;
    bool is_data_big;
    int microseconds;
    float rate;
};

/* They follow each other in the record, each at a place that the one before gives. */
static bool find_blockettes(const unsigned char *at, int64_t available, bool is_big, struct blockettes *found)
{
    enum { LEAST_EXPONENT = 7, MOST_EXPONENT = 20, BLOCKETTE_BYTES = 8 };
    int64_t next = (int64_t)lw_field_unsigned(at + 46, 2, is_big), place = 0;
    *found = (struct blockettes){0};
    for (; next != 0; next = (int64_t)lw_field_unsigned(at + place + 2, 2, is_big)) {
        if (next < HEADER_BYTES || next < place + 4 || next > available - BLOCKETTE_BYTES)
            return false;
        place = next;
        switch (lw_field_unsigned(at + place, 2, is_big)) {
        case 100:
            found->rate = lw_field_float32(at + place + 4, is_big);
            break;
        case 1000:
            if (at[place + 6] < LEAST_EXPONENT || at[place + 6] > MOST_EXPONENT)
                return false;
            found->encoding = at[place + 4];
            found->is_data_big = at[place + 5] != 0;
            found->bytes = (int32_t)1 << at[place + 6];
            break;
        case 1001:
            found->microseconds = (signed char)at[place + 5];
            break;
        }
    }
    return true;
}

/* Steim's frames hold so many samples at most. */
static bool has_room(const struct lw_mseed_record *record)
{
    const int64_t room = record->bytes - record->data_offset;
    switch (record->encoding) {
    case LW_MSEED_INT16: return record->n_samples * (int64_t)2 <= room;
    case LW_MSEED_FLOAT64: return record->n_samples * (int64_t)8 <= room;
    case LW_MSEED_STEIM1:
    case LW_MSEED_STEIM2: return record->n_samples <= room / FRAME_BYTES * MOST_IN_FRAME;
    default: return record->n_samples * (int64_t)4 <= room;
    }
}

/* The shortest decimal number that is the same float32: of 99.999, not of 99.9990005493. */
static double shortest(float rate)
{
    char text[32];
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)rate);
        if (strtof(text, NULL) == rate)
            break;
    }
    return strtod(text, NULL);
}

static bool make_period(const struct lw_mseed_record *record, struct lw_period *out)
{
    const int64_t f = record->factor, m = record->multiplier;
    const double least_hz = 1e-9, most_hz = 1e9;
    if (record->actual_rate != 0)
        return (double)record->actual_rate >= least_hz && (double)record->actual_rate <= most_hz &&
               lw_period_from_rate(shortest(record->actual_rate), out);
    if (f == 0 || m == 0)
        return false;
    return lw_period_make((f < 0 ? -f : 1) * (m < 0 ? -m : 1), (f > 0 ? f : 1) * (m > 0 ? m : 1), out);
}

/* ---- one record ---------------------------------------------------------------------------------------------------------- */

static int fail_record(const char *name, int64_t offset, const char *what, struct lw_error *err)
{
    return lw_fail(err, LW_EDATA, "'%.600s' is damaged, or not miniSEED: the record at byte %" PRId64 " %s", name, offset, what);
}

static int check_samples(const char *name, const struct lw_mseed_record *record, struct lw_error *err)
{
    struct lw_period period;
    char what[120];
    if (!lw_mseed_encoding_text(record->encoding)) {
        snprintf(what, sizeof what, "has samples in encoding %d, which is not read: repack it, for example as Steim-2",
                 record->encoding);
        return fail_record(name, record->offset, what, err);
    }
    if (record->data_offset < HEADER_BYTES + 8 || record->data_offset >= record->bytes || !has_room(record)) {
        snprintf(what, sizeof what, "claims %d samples from its byte %d on, and has %d bytes", record->n_samples,
                 record->data_offset, record->bytes);
        return fail_record(name, record->offset, what, err);
    }
    if (!make_period(record, &period))
        return fail_record(name, record->offset, "has no sampling rate, or one that cannot be", err);
    return LW_OK;
}

/* @param bytes  set to the bytes that it takes; 0: the file ends within it */
static int parse_record(const char *name, const unsigned char *at, int64_t available, struct lw_mseed_record *record,
                        int64_t *bytes, struct lw_error *err)
{
    struct blockettes found;
    *bytes = 0;
    if (available < HEADER_BYTES)
        return LW_OK;
    if (!lw_mseed_begins(at))
        return fail_record(name, record->offset, "has no header of a data record", err);
    const bool is_big = !is_date((int64_t)lw_field_unsigned(at + 20, 2, false), (int64_t)lw_field_unsigned(at + 22, 2, false));
    if (!find_blockettes(at, available, is_big, &found))
        return available < LW_MSEED_LEAST_BYTES ? LW_OK : fail_record(name, record->offset, "has blockettes that cannot be", err);
    if (found.bytes == 0)
        return fail_record(name, record->offset, "has no blockette 1000, which says how long it is", err);
    if (found.bytes > available)
        return LW_OK;
    *bytes = record->bytes = found.bytes;
    record->n_samples = (uint16_t)lw_field_unsigned(at + 30, 2, is_big);
    record->factor = (int16_t)lw_field_signed(at + 32, 2, is_big);
    record->multiplier = (int16_t)lw_field_signed(at + 34, 2, is_big);
    record->data_offset = (uint16_t)lw_field_unsigned(at + 44, 2, is_big);
    record->actual_rate = found.rate;
    record->encoding = (uint8_t)found.encoding;
    record->is_header_big = is_big;
    record->is_data_big = found.is_data_big;
    if (!find_name(at, record->channel))
        return fail_record(name, record->offset, "has a channel name of other than letters and digits", err);
    if (!find_time(at, is_big, found.microseconds, &record->start_us))
        return fail_record(name, record->offset, "begins at a time that does not exist", err);
    return LW_OK;
}

static bool has_samples(const struct lw_mseed_record *record)
{
    return record->n_samples > 0 && record->encoding != LW_MSEED_TEXT;
}

/* ---- all records ---------------------------------------------------------------------------------------------------------- */

static int add_record(struct lw_mseed_index *index, const struct lw_mseed_record *record, struct lw_error *err)
{
    if (index->n_records == index->most_records) {
        const int64_t most = index->most_records > 0 ? 2 * index->most_records : FIRST_RECORDS;
        struct lw_mseed_record *const more = lw_alloc_array(most, sizeof *more, "the records of a file", err);
        if (!more)
            return LW_ESYSTEM;
        if (index->n_records > 0)
            memcpy(more, index->records, (size_t)index->n_records * sizeof *more);
        lw_free(index->records);
        index->records = more;
        index->most_records = most;
    }
    index->records[index->n_records++] = *record;
    index->most_bytes = (int32_t)max64(index->most_bytes, record->bytes);
    return LW_OK;
}

static int read_window(const struct lw_mseed_index *index, const char *name, int64_t offset, unsigned char *window, int64_t *bytes,
                       struct lw_error *err)
{
    struct lw_error reason;
    *bytes = min64(WINDOW_BYTES, index->bytes - offset);
    if (lw_bytes_read(index->fd, window, offset, *bytes, &reason))
        return lw_fail(err, LW_EIO, "cannot read '%.600s': %s", name, reason.message);
    return LW_OK;
}

/* From one record to the next, in a window that moves on when less than the longest record is left in it. */
static int scan(struct lw_mseed_index *index, const char *name, unsigned char *window, struct lw_error *err)
{
    int64_t offset = 0, begin = 0, bytes = 0, step = 1;
    int rc = LW_OK;
    for (; rc == LW_OK && step > 0; offset += step) {
        if (begin + bytes < min64(index->bytes, offset + LW_MSEED_MOST_BYTES)) {
            begin = offset;
            if ((rc = read_window(index, name, offset, window, &bytes, err)))
                return rc;
        }
        struct lw_mseed_record record = {.offset = offset};
        rc = parse_record(name, window + (offset - begin), begin + bytes - offset, &record, &step, err);
        if (rc == LW_OK && step > 0 && has_samples(&record))
            (void)((rc = check_samples(name, &record, err)) || (rc = add_record(index, &record, err)));
    }
    if (rc == LW_OK && index->n_records == 0)
        rc = lw_fail(err, LW_EDATA, "'%.600s' holds no whole record with samples", name);
    return rc;
}

static int read_records(struct lw_mseed_index *index, const char *name, struct lw_error *err)
{
    unsigned char *const window = lw_alloc((size_t)min64(WINDOW_BYTES, index->bytes), "part of a file", err);
    if (!window)
        return LW_ESYSTEM;
    const int rc = scan(index, name, window, err);
    lw_free(window);
    return rc;
}

/* ---- channels ------------------------------------------------------------------------------------------------------------ */

static int compare_records(const void *a, const void *b)
{
    const struct lw_mseed_record *const x = a, *const y = b;
    const int names = strcmp(x->channel, y->channel);
    if (names != 0)
        return names;
    if (x->start_us != y->start_us)
        return x->start_us < y->start_us ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static enum lw_scalar scalar_of(const struct lw_mseed_record *record)
{
    switch (record->encoding) {
    case LW_MSEED_INT16: return LW_INT16;
    case LW_MSEED_FLOAT32: return LW_FLOAT32;
    case LW_MSEED_FLOAT64: return LW_FLOAT64;
    default: return LW_INT32;
    }
}

/* Short integers fit long ones. */
static bool widen(enum lw_scalar *scalar, enum lw_scalar other)
{
    const bool are_integers = lw_scalar_is_integer(*scalar) && lw_scalar_is_integer(other);
    if (*scalar != other && are_integers)
        *scalar = LW_INT32;
    return *scalar == other || are_integers;
}

/* Rates that were measured may differ from record to record, each by much less than a sample of that record. */
static bool is_same_rate(struct lw_period a, struct lw_period b)
{
    return fabs(lw_period_seconds(a) / lw_period_seconds(b) - 1) < 1e-4;
}

/* Samples between a record and the one before, to within half a sample; negative: they overlap. */
static int64_t missing_before(const struct lw_mseed_channel *channel, const struct lw_mseed_record *record)
{
    const struct lw_mseed_record *const before = record - 1;
    return lw_instant_to_sample(lw_mseed_start(before), channel->period, lw_mseed_start(record), NULL) - before->n_samples;
}

static int add_to_channel(const char *name, struct lw_mseed_channel *channel, struct lw_mseed_record *record, struct lw_error *err)
{
    struct lw_period period = {0};
    const enum lw_scalar scalar = scalar_of(record), had = channel->scalar;
    make_period(record, &period);
    if (!is_same_rate(period, channel->period))
        return lw_fail(err, LW_EDATA, "'%.500s' has records of channel %s with %.9g Hz and, at byte %" PRId64 ", with %.9g Hz: "
                       "split it", name, channel->name, lw_period_rate(channel->period), record->offset, lw_period_rate(period));
    if (!widen(&channel->scalar, scalar)) {
        char one[40], other[40];
        lw_type_text((struct lw_type){.scalar = had}, one);
        lw_type_text((struct lw_type){.scalar = scalar}, other);
        return lw_fail(err, LW_EDATA, "'%.500s' has records of channel %s with %s and, at byte %" PRId64 ", with %s: split it",
                       name, channel->name, one, record->offset, other);
    }
    const int64_t missing = channel->n_records > 0 ? missing_before(channel, record) : 0;
    record->begins_stretch = channel->n_records == 0 || missing != 0;
    channel->n_stretches += record->begins_stretch;
    channel->has_overlaps |= missing < 0;
    record->first = channel->n_samples;
    channel->n_samples += record->n_samples;
    channel->n_records++;
    return LW_OK;
}

static int64_t count_channels(const struct lw_mseed_index *index)
{
    int64_t n = 1;
    for (int64_t r = 1; r < index->n_records; r++)
        n += strcmp(index->records[r - 1].channel, index->records[r].channel) != 0;
    return n;
}

static int make_channels(struct lw_mseed_index *index, const char *name, struct lw_error *err)
{
    struct lw_mseed_channel *channel = NULL;
    int rc = LW_OK;
    qsort(index->records, (size_t)index->n_records, sizeof *index->records, compare_records);
    index->channels = lw_alloc_array(count_channels(index), sizeof *index->channels, "the channels of a file", err);
    if (!index->channels)
        return LW_ESYSTEM;
    for (int64_t r = 0; rc == LW_OK && r < index->n_records; r++) {
        struct lw_mseed_record *const record = &index->records[r];
        if (!channel || strcmp(channel->name, record->channel) != 0) {
            channel = &index->channels[index->n_channels++];
            *channel = (struct lw_mseed_channel){.name = record->channel, .records = record, .start = lw_mseed_start(record),
                                                 .scalar = scalar_of(record)};
            make_period(record, &channel->period);
        }
        rc = add_to_channel(name, channel, record, err);
    }
    return rc;
}

int lw_mseed_index_open(const char *name, struct lw_mseed_index *out, struct lw_error *err)
{
    char why[96];
    *out = (struct lw_mseed_index){.fd = lw_file_open(name, why)};
    if (out->fd < 0)
        return lw_fail(err, LW_EIO, "cannot read '%.600s': %s", name, why);
    out->bytes = lseek(out->fd, 0, SEEK_END);
    int rc;
    if ((rc = read_records(out, name, err)) || (rc = make_channels(out, name, err)))
        lw_mseed_index_close(out);
    return rc;
}

void lw_mseed_index_close(struct lw_mseed_index *index)
{
    lw_free(index->records);
    lw_free(index->channels);
    if (index->fd >= 0)
        close(index->fd);
    *index = (struct lw_mseed_index){.fd = -1};
}
