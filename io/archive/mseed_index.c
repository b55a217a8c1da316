#include "io/archive/mseed_index.h"

#include "base/file.h"
#include "base/integers.h"
#include "base/memory.h"
#include "io/bytes/transfer.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_RECORDS = 256, WINDOW_BYTES = 256 << 10 };

#define MICROSECONDS ((int64_t)1000000)

struct lw_instant lw_mseed_start(const struct lw_mseed_record *record)
{
    struct lw_instant start = {0};
    lw_instant_from_ticks(record->start_us, MICROSECONDS, &start);
    return start;
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
    index->most_bytes = (int32_t)lw_max64(index->most_bytes, record->bytes);
    return LW_OK;
}

static int read_window(const struct lw_mseed_index *index, const char *name, int64_t offset, char *window, int64_t *bytes,
                       struct lw_error *err)
{
    *bytes = lw_min64(WINDOW_BYTES, index->bytes - offset);
    return lw_bytes_read_file(index->fd, name, window, offset, *bytes, err);
}

/* The records one after another, read in a window that moves on when less than a record's head is left in it. */
static int scan(struct lw_mseed_index *index, const char *name, struct lw_mseed_unpacker *unpacker, char *window,
                struct lw_error *err)
{
    struct lw_mseed_record record = {.bytes = 1};
    int64_t begin = 0, bytes = 0;
    char what[LW_MSEED_WHAT];
    int rc = LW_OK;
    for (; rc == LW_OK && record.bytes > 0; record.offset += record.bytes) {
        if (begin + bytes < lw_min64(index->bytes, record.offset + LW_MSEED_HEAD)) {
            begin = record.offset;
            if ((rc = read_window(index, name, begin, window, &bytes, err)))
                return rc;
        }
        if (lw_mseed_read_header(unpacker, window + (record.offset - begin), index->bytes - record.offset, &record, what))
            return lw_fail(err, LW_EDATA, "'%.600s' is damaged, or not miniSEED: the record at byte %" PRId64 " %s", name,
                           record.offset, what);
        if (record.bytes > 0 && record.n_samples > 0)
            rc = add_record(index, &record, err);
    }
    if (rc == LW_OK && index->n_records == 0)
        rc = lw_fail(err, LW_EDATA, "'%.600s' holds no whole record with samples", name);
    return rc;
}

static int read_records(struct lw_mseed_index *index, const char *name, struct lw_error *err)
{
    struct lw_mseed_unpacker *unpacker = NULL;
    char *const window = lw_alloc((size_t)lw_min64(WINDOW_BYTES, index->bytes) + LW_MSEED_SLACK, "part of a file", err);
    int rc = window ? lw_mseed_unpacker_create(0, &unpacker, err) : LW_ESYSTEM;
    if (rc == LW_OK)
        rc = scan(index, name, unpacker, window, err);
    lw_mseed_unpacker_destroy(unpacker);
    lw_free(window);
    return rc;
}

/* ---- channels ------------------------------------------------------------------------------------------------------------ */

static int compare_records(const void *a, const void *b)
{
    const struct lw_mseed_record *const x = a, *const y = b;
    const int names = memcmp(x->channel, y->channel, LW_MSEED_NAME);
    if (names != 0)
        return names;
    if (x->start_us != y->start_us)
        return x->start_us < y->start_us ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
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
    return (a.numerator == b.numerator && a.denominator == b.denominator) ||
           fabs(lw_period_seconds(a) / lw_period_seconds(b) - 1) < 1e-4;
}

/* Samples between a record and the one before, to within half a sample; negative: they overlap. */
static int64_t missing_before(const struct lw_mseed_channel *channel, const struct lw_mseed_record *record)
{
    const struct lw_mseed_record *const before = record - 1;
    const struct lw_period period = channel->period;
    const bool is_next = (__int128)(record->start_us - before->start_us) * period.denominator ==
                         (__int128)before->n_samples * MICROSECONDS * period.numerator;
    if (is_next)
        return 0;
    return lw_instant_to_sample(lw_mseed_start(before), period, lw_mseed_start(record), NULL) - before->n_samples;
}

static int add_to_channel(const char *name, struct lw_mseed_channel *channel, struct lw_mseed_record *record, struct lw_error *err)
{
    const enum lw_scalar scalar = lw_mseed_scalar(record->encoding), had = channel->scalar;
    if (!is_same_rate(record->period, channel->period))
        return lw_fail(err, LW_EDATA, "'%.500s' has records of channel %s with %.9g Hz and, at byte %" PRId64 ", with %.9g Hz: "
                       "split it", name, channel->name, lw_period_rate(channel->period), record->offset,
                       lw_period_rate(record->period));
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
        n += memcmp(index->records[r - 1].channel, index->records[r].channel, LW_MSEED_NAME) != 0;
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
        if (!channel || memcmp(channel->name, record->channel, LW_MSEED_NAME) != 0) {
            channel = &index->channels[index->n_channels++];
            *channel = (struct lw_mseed_channel){.name = record->channel, .records = record, .start = lw_mseed_start(record),
                                                 .period = record->period, .scalar = lw_mseed_scalar(record->encoding)};
        }
        rc = add_to_channel(name, channel, record, err);
    }
    return rc;
}

int lw_mseed_index_open(const char *name, struct lw_mseed_index *out, struct lw_error *err)
{
    *out = (struct lw_mseed_index){0};
    int rc = lw_file_open_input(name, &out->fd, err);
    if (rc)
        return rc;
    out->bytes = lseek(out->fd, 0, SEEK_END);
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
