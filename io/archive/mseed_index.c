#include "io/archive/mseed_index.h"

#include "base/file.h"
#include "base/integers.h"
#include "base/memory.h"
#include "io/archive/shared.h"
#include "io/bytes/transfer.h"

#include <ctype.h>
#include <inttypes.h>
#include <libmseed.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { HEADER_BYTES = 48, FRAME_BYTES = 64, MOST_IN_FRAME = 105, FIRST_RECORDS = 256, WINDOW_BYTES = 256 << 10, WHAT = 120 };

/* libmseed gets only the first HEAD bytes of a record to find blockettes, so that no damaged record keeps it busy. SLACK bytes
 * of memory follow a record, since libmseed copies as many bytes as a blockette 2000 claims, possibly beyond the record. */
enum { HEAD = 4096, SLACK = 1 << 16 };

#define MICROSECONDS ((int64_t)1000000)

struct lw_mseed_unpacker {
    MSRecord *unpacked;         /* libmseed's record, with the memory of its samples */
    char record[];
};

/* ---- encodings ----------------------------------------------------------------------------------------------------------- */

/* Encodings. bytes: size of a stored sample; 0: compressed in Steim's frames. kind: libmseed's letter for the unpacked type. */
static const struct encoding {
    int code;
    const char *text;
    enum lw_scalar scalar;
    int bytes;
    char kind;
} encodings[] = {
    {DE_INT16, "int16", LW_INT16, 2, 'i'}, {DE_INT32, "int32", LW_INT32, 4, 'i'}, {DE_FLOAT32, "float32", LW_FLOAT32, 4, 'f'},
    {DE_FLOAT64, "float64", LW_FLOAT64, 8, 'd'}, {DE_STEIM1, "Steim-1", LW_INT32, 0, 'i'}, {DE_STEIM2, "Steim-2", LW_INT32, 0, 'i'},
};

static const struct encoding *find_encoding(int code)
{
    for (size_t e = 0; e < sizeof encodings / sizeof *encodings; e++)
        if (encodings[e].code == code)
            return &encodings[e];
    return NULL;
}

const char *lw_mseed_encoding_text(int encoding)
{
    return find_encoding(encoding)->text;
}

/* ---- unpackers ------------------------------------------------------------------------------------------------------- */

static void say_nothing(char *message)
{
    (void)message;
}

/* Unpack a made-up header: the first msr_unpack sets globals from environment variables, and later calls only read them. */
void lw_mseed_make_ready(void)
{
    static const char header[HEADER_BYTES] = "000001D AAAAA  AAAAA\x07\xd0\0\1\0\0\0\0\0\0\0\0\0\1\0\1";
    char record[MINRECLEN] = {0};
    MSRecord *unpacked = NULL;
    memcpy(record, header, sizeof header);
    ms_loginit(say_nothing, NULL, say_nothing, NULL);
    msr_unpack(record, sizeof record, &unpacked, 0, 0);
    msr_free(&unpacked);
}

int lw_mseed_unpacker_create(int32_t most_bytes, struct lw_mseed_unpacker **out, struct lw_error *err)
{
    const size_t bytes = most_bytes > 0 ? (size_t)most_bytes + SLACK : 0;
    *out = lw_alloc(sizeof **out + bytes, "unpacking records", err);
    return *out ? LW_OK : LW_ESYSTEM;
}

void lw_mseed_unpacker_destroy(struct lw_mseed_unpacker *unpacker)
{
    if (!unpacker)
        return;
    msr_free(&unpacker->unpacked);
    lw_free(unpacker);
}

/* ---- the header ---------------------------------------------------------------------------------------------------------- */

/* A record begins with a sequence number, a letter for the quality and a blank; its date must exist. */
bool lw_mseed_begins(const char *at)
{
    const unsigned char *const date = (const unsigned char *)at + 20;
    for (int is_big = 0; is_big < 2 && MS_ISVALIDHEADER(at); is_big++)
        if (MS_ISVALIDYEARDAY(lw_field_unsigned(date, 2, is_big), lw_field_unsigned(date + 2, 2, is_big)))
            return true;
    return false;
}

/* Form the name NET.STA.LOC.CHA. Returns false if it has other characters than letters, digits and "-_.". */
static bool find_name(const MSRecord *header, char name[LW_MSEED_NAME])
{
    const char *const parts[] = {header->network, header->station, header->location, header->channel};
    char *to = name;
    memset(name, 0, LW_MSEED_NAME);
    for (int p = 0; p < 4; p++) {
        if (p > 0)
            *to++ = '.';
        to += ms_strncpclean(to, parts[p], 5);
    }
    for (const char *at = name; at < to; at++)
        if (!isalnum((unsigned char)*at) && !strchr("-_.", *at))
            return false;
    return true;
}

/* Return the shortest decimal number with the same float32: 99.999, not 99.9990005493. */
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

static bool find_period(const MSRecord *header, struct lw_period *out)
{
    const int64_t f = header->fsdh->samprate_fact, m = header->fsdh->samprate_mult;
    const double least_hz = 1e-9, most_hz = 1e9;
    if (header->Blkt100 && header->Blkt100->samprate != 0)
        return (double)header->Blkt100->samprate >= least_hz && (double)header->Blkt100->samprate <= most_hz &&
               lw_period_from_rate(shortest(header->Blkt100->samprate), out);
    if (f == 0 || m == 0)
        return false;
    return lw_period_make((f < 0 ? -f : 1) * (m < 0 ? -m : 1), (f > 0 ? f : 1) * (m > 0 ? m : 1), out);
}

/* Return whether libmseed has read all blockettes. It stops at an impossible blockette, or at the end of the bytes it was given. */
static bool has_all_blockettes(const MSRecord *header)
{
    const BlktLink *last = header->blkts;
    while (last && last->next)
        last = last->next;
    return !last || last->next_blkt == 0;
}

static int take_header(const MSRecord *header, struct lw_mseed_record *record, char what[WHAT])
{
    record->data_offset = header->fsdh->data_offset;
    record->encoding = (uint8_t)header->encoding;
    record->n_samples = record->encoding == DE_ASCII ? 0 : header->fsdh->numsamples;
    record->start_us = header->starttime;
    const struct encoding *const encoding = find_encoding(record->encoding);
    const int64_t room = record->bytes - record->data_offset;
    if (!find_name(header, record->channel))
        snprintf(what, WHAT, "has a channel name with other characters than letters and digits");
    else if (header->starttime == HPTERROR || header->fsdh->start_time.fract > 9999)
        snprintf(what, WHAT, "begins at a time that does not exist");
    else if (record->n_samples == 0)
        return LW_OK;
    else if (!encoding)
        snprintf(what, WHAT, "has samples in unsupported encoding %d: repack it, for example as Steim-2", record->encoding);
    else if (record->data_offset < HEADER_BYTES + 8 || room <= 0 ||
             record->n_samples > (encoding->bytes ? room / encoding->bytes : room / FRAME_BYTES * MOST_IN_FRAME))
        snprintf(what, WHAT, "claims %d samples from its byte %d on, and has %d bytes", record->n_samples, record->data_offset,
                 record->bytes);
    else if (!find_period(header, &record->period))
        snprintf(what, WHAT, "has no sampling rate, or an impossible one");
    else
        return LW_OK;
    return LW_EDATA;
}

/* Read a record's header. Sets record->bytes to 0 if the file ends within the record; n_samples to 0 if it holds text or nothing.
 * LW_EDATA: the header is damaged or of an unsupported kind; the reason goes to `what`, not to a lw_error.
 * @param at         the record's first HEAD bytes, or as many as are available
 * @param available  bytes of the file from the record's first byte to the file's end */
static int read_header(struct lw_mseed_unpacker *unpacker, char *at, int64_t available, struct lw_mseed_record *record,
                       char what[WHAT])
{
    record->bytes = 0;
    if (available >= HEADER_BYTES && !lw_mseed_begins(at)) {
        snprintf(what, WHAT, "has no header of a data record");
        return LW_EDATA;
    }
    if (available < MINRECLEN)
        return LW_OK;
    const bool is_read = msr_unpack(at, (int)lw_min64(available, HEAD), &unpacker->unpacked, 0, 0) == MS_NOERROR;
    const MSRecord *const header = unpacker->unpacked;
    if (!is_read || !has_all_blockettes(header) || (header->Blkt1000 && (header->reclen < MINRECLEN || header->reclen > MAXRECLEN)))
        snprintf(what, WHAT, "has impossible blockettes");
    else if (!header->Blkt1000)
        snprintf(what, WHAT, "has no blockette 1000, which would give its length");
    else if (header->reclen > available)
        return LW_OK;
    else {
        record->bytes = header->reclen;
        return take_header(header, record, what);
    }
    return LW_EDATA;
}

int lw_mseed_unpack(struct lw_mseed_unpacker *unpacker, int fd, const struct lw_mseed_record *record, const void **samples,
                    struct lw_error *err)
{
    const struct encoding *const encoding = find_encoding(record->encoding);
    struct lw_mseed_record now;
    char what[WHAT];
    const int rc = lw_bytes_read(fd, unpacker->record, record->offset, record->bytes, err);
    if (rc)
        return rc;
    /* libmseed trusts the header: it must be the same as when the index checked it. */
    if (read_header(unpacker, unpacker->record, record->bytes, &now, what) || now.bytes != record->bytes ||
        now.n_samples != record->n_samples || now.data_offset != record->data_offset || now.encoding != record->encoding)
        return lw_fail(err, LW_EDATA, "the file changed while it was read");
    MSRecord *const unpacked = unpacker->unpacked;
    const bool is_swapped = lw_field_is_swapped(unpacked->byteorder != 0);
    if (msr_unpack_data(unpacked, is_swapped, 0) != record->n_samples || unpacked->sampletype != encoding->kind)
        return lw_fail(err, LW_EDATA, "the record at byte %" PRId64 " is damaged: its %d samples cannot be unpacked from %s",
                       record->offset, record->n_samples, encoding->text);
    *samples = unpacked->datasamples;
    if (encoding->bytes)
        return LW_OK;
    /* Steim's first frame states the value of the last sample. */
    const unsigned char *const frame = (const unsigned char *)unpacked->record + record->data_offset;
    const int64_t last = lw_field_signed(frame + 8, 4, unpacked->byteorder != 0);
    const int32_t found = ((const int32_t *)unpacked->datasamples)[record->n_samples - 1];
    if (found == last)
        return LW_OK;
    return lw_fail(err, LW_EDATA,
                   "the record at byte %" PRId64 " is damaged: its last sample should be %" PRId64 ", and is %" PRId32,
                   record->offset, last, found);
}

/* ---- all records ---------------------------------------------------------------------------------------------------------- */

struct lw_instant lw_mseed_start(const struct lw_mseed_record *record)
{
    struct lw_instant start = {0};
    lw_instant_from_ticks(record->start_us, MICROSECONDS, &start);
    return start;
}

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

/* Find the records one after the other. `window` holds part of the file; it moves on to hold HEAD bytes of the next record. */
static int scan(struct lw_mseed_index *index, const char *name, struct lw_mseed_unpacker *unpacker, char *window,
                struct lw_error *err)
{
    struct lw_mseed_record record = {.bytes = 1};
    int64_t begin = 0, bytes = 0;
    char what[WHAT];
    int rc = LW_OK;
    for (; rc == LW_OK && record.bytes > 0; record.offset += record.bytes) {
        if (begin + bytes < lw_min64(index->bytes, record.offset + HEAD)) {
            begin = record.offset;
            bytes = lw_min64(WINDOW_BYTES, index->bytes - begin);
            if ((rc = lw_bytes_read_file(index->fd, name, window, begin, bytes, err)))
                return rc;
        }
        if (read_header(unpacker, window + (record.offset - begin), index->bytes - record.offset, &record, what))
            return lw_fail(err, LW_EDATA, "'%.600s' is damaged, or not miniSEED: the record at byte %" PRId64 " %s", name,
                           record.offset, what);
        if (record.bytes > 0 && record.n_samples > 0)
            rc = add_record(index, &record, err);
    }
    if (rc == LW_OK && index->n_records == 0)
        rc = lw_fail(err, LW_EDATA, "'%.600s' holds no whole record with samples", name);
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

/* Return how many samples are missing between the previous record and this one, rounded; negative: the two overlap. */
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
    const enum lw_scalar scalar = find_encoding(record->encoding)->scalar;
    const bool are_integers = lw_scalar_is_integer(scalar) && lw_scalar_is_integer(channel->scalar);
    /* Rates measured by the recorder may differ from record to record by up to 1e-4. */
    if (!(fabs(lw_period_seconds(record->period) / lw_period_seconds(channel->period) - 1) < 1e-4))
        return lw_fail(err, LW_EDATA, "'%.500s' has records of channel %s with %.9g Hz and, at byte %" PRId64 ", with %.9g Hz: "
                       "split it", name, channel->name, lw_period_rate(channel->period), record->offset,
                       lw_period_rate(record->period));
    if (scalar != channel->scalar && !are_integers) {
        char one[40], other[40];
        lw_type_text((struct lw_type){.scalar = channel->scalar}, one);
        lw_type_text((struct lw_type){.scalar = scalar}, other);
        return lw_fail(err, LW_EDATA, "'%.500s' has records of channel %s with %s and, at byte %" PRId64 ", with %s: split it",
                       name, channel->name, one, record->offset, other);
    }
    if (scalar != channel->scalar)
        channel->scalar = LW_INT32;         /* int32 also holds int16 samples */
    const int64_t missing = channel->n_records > 0 ? missing_before(channel, record) : 0;
    record->begins_stretch = channel->n_records == 0 || missing != 0;
    channel->n_stretches += record->begins_stretch;
    channel->has_overlaps |= missing < 0;
    record->first = channel->n_samples;
    channel->n_samples += record->n_samples;
    channel->n_records++;
    return LW_OK;
}

static int make_channels(struct lw_mseed_index *index, const char *name, struct lw_error *err)
{
    struct lw_mseed_channel *channel = NULL;
    int64_t n = 1;
    int rc = LW_OK;
    qsort(index->records, (size_t)index->n_records, sizeof *index->records, compare_records);
    for (int64_t r = 1; r < index->n_records; r++)
        n += memcmp(index->records[r - 1].channel, index->records[r].channel, LW_MSEED_NAME) != 0;
    index->channels = lw_alloc_array(n, sizeof *index->channels, "the channels of a file", err);
    if (!index->channels)
        return LW_ESYSTEM;
    for (int64_t r = 0; rc == LW_OK && r < index->n_records; r++) {
        struct lw_mseed_record *const record = &index->records[r];
        if (!channel || memcmp(channel->name, record->channel, LW_MSEED_NAME) != 0) {
            channel = &index->channels[index->n_channels++];
            *channel = (struct lw_mseed_channel){.name = record->channel, .records = record, .start = lw_mseed_start(record),
                                                 .period = record->period, .scalar = find_encoding(record->encoding)->scalar};
        }
        rc = add_to_channel(name, channel, record, err);
    }
    return rc;
}

int lw_mseed_index_open(const char *name, struct lw_mseed_index *out, struct lw_error *err)
{
    struct lw_mseed_unpacker *unpacker = NULL;
    *out = (struct lw_mseed_index){0};
    int rc = lw_file_open_input(name, &out->fd, err);
    if (rc)
        return rc;
    out->bytes = lseek(out->fd, 0, SEEK_END);
    LW_FREED char *const window = lw_alloc((size_t)lw_min64(WINDOW_BYTES, out->bytes) + SLACK, "part of a file", err);
    rc = window ? lw_mseed_unpacker_create(0, &unpacker, err) : LW_ESYSTEM;
    if (rc == LW_OK && (rc = scan(out, name, unpacker, window, err)) == LW_OK)
        rc = make_channels(out, name, err);
    lw_mseed_unpacker_destroy(unpacker);
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
