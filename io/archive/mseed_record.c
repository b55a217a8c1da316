#include "io/archive/mseed_record.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/archive/field.h"
#include "io/bytes/transfer.h"

#include <ctype.h>
#include <inttypes.h>
#include <libmseed.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_BYTES = 48, FRAME_BYTES = 64, MOST_IN_FRAME = 105 };

struct lw_mseed_unpacker {
    MSRecord *unpacked;         /* libmseed's, with the memory of its samples */
    char record[];
};

/* ---- encodings ----------------------------------------------------------------------------------------------------------- */

/* @param bytes  of a sample as it is stored; 0: Steim's frames
 * @param kind  libmseed's, of what it makes */
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
    return find_encoding(encoding) ? find_encoding(encoding)->text : NULL;
}

enum lw_scalar lw_mseed_scalar(int encoding)
{
    return find_encoding(encoding)->scalar;
}

/* Steim's frames hold so many samples at most. */
static bool has_room(const struct lw_mseed_record *record)
{
    const int64_t room = record->bytes - record->data_offset, bytes = find_encoding(record->encoding)->bytes;
    return bytes ? record->n_samples * bytes <= room : record->n_samples <= room / FRAME_BYTES * MOST_IN_FRAME;
}

/* ---- memory -------------------------------------------------------------------------------------------------------------- */

static void say_nothing(char *message)
{
    (void)message;
}

/* The first call of msr_unpack reads environment variables into globals that are only read from then on. */
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
    const size_t bytes = most_bytes > 0 ? (size_t)most_bytes + LW_MSEED_SLACK : 0;
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

/* A sequence number, a letter for the quality, a blank, and a time that exists. */
bool lw_mseed_begins(const char *at)
{
    const unsigned char *const date = (const unsigned char *)at + 20;
    for (int is_big = 0; is_big < 2 && MS_ISVALIDHEADER(at); is_big++)
        if (MS_ISVALIDYEARDAY(lw_field_unsigned(date, 2, is_big), lw_field_unsigned(date + 2, 2, is_big)))
            return true;
    return false;
}

/* NET.STA.LOC.CHA; false: there is something in it that no name has. */
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

/* libmseed stops at a blockette that cannot be, or that is behind the bytes it was given. */
static bool has_all_blockettes(const MSRecord *header)
{
    const BlktLink *last = header->blkts;
    while (last && last->next)
        last = last->next;
    return !last || last->next_blkt == 0;
}

static int check_samples(const MSRecord *header, struct lw_mseed_record *record, char what[LW_MSEED_WHAT])
{
    if (!find_encoding(record->encoding))
        snprintf(what, LW_MSEED_WHAT, "has samples in encoding %d, which is not read: repack it, for example as Steim-2",
                 record->encoding);
    else if (record->data_offset < HEADER_BYTES + 8 || record->data_offset >= record->bytes || !has_room(record))
        snprintf(what, LW_MSEED_WHAT, "claims %d samples from its byte %d on, and has %d bytes", record->n_samples,
                 record->data_offset, record->bytes);
    else if (!find_period(header, &record->period))
        snprintf(what, LW_MSEED_WHAT, "has no sampling rate, or one that cannot be");
    else
        return LW_OK;
    return LW_EDATA;
}

static int take_header(const MSRecord *header, struct lw_mseed_record *record, char what[LW_MSEED_WHAT])
{
    record->data_offset = header->fsdh->data_offset;
    record->encoding = (uint8_t)header->encoding;
    record->n_samples = record->encoding == DE_ASCII ? 0 : header->fsdh->numsamples;
    record->start_us = header->starttime;
    if (!find_name(header, record->channel))
        snprintf(what, LW_MSEED_WHAT, "has a channel name of other than letters and digits");
    else if (header->starttime == HPTERROR || header->fsdh->start_time.fract > 9999)
        snprintf(what, LW_MSEED_WHAT, "begins at a time that does not exist");
    else
        return record->n_samples > 0 ? check_samples(header, record, what) : LW_OK;
    return LW_EDATA;
}

int lw_mseed_read_header(struct lw_mseed_unpacker *unpacker, char *at, int64_t available, struct lw_mseed_record *record,
                         char what[LW_MSEED_WHAT])
{
    record->bytes = 0;
    if (available >= HEADER_BYTES && !lw_mseed_begins(at)) {
        snprintf(what, LW_MSEED_WHAT, "has no header of a data record");
        return LW_EDATA;
    }
    if (available < MINRECLEN)
        return LW_OK;
    const bool is_read = msr_unpack(at, (int)lw_min64(available, LW_MSEED_HEAD), &unpacker->unpacked, 0, 0) == MS_NOERROR;
    const MSRecord *const header = unpacker->unpacked;
    if (!is_read || !has_all_blockettes(header) || (header->Blkt1000 && (header->reclen < MINRECLEN || header->reclen > MAXRECLEN)))
        snprintf(what, LW_MSEED_WHAT, "has blockettes that cannot be");
    else if (!header->Blkt1000)
        snprintf(what, LW_MSEED_WHAT, "has no blockette 1000, which says how long it is");
    else if (header->reclen > available)
        return LW_OK;
    else {
        record->bytes = header->reclen;
        return take_header(header, record, what);
    }
    return LW_EDATA;
}

/* ---- samples --------------------------------------------------------------------------------------------------------------- */

/* Whether the file still says what it did when its records were found: what libmseed is told has been checked then. */
static bool is_unchanged(struct lw_mseed_unpacker *unpacker, const struct lw_mseed_record *record)
{
    struct lw_mseed_record now;
    char what[LW_MSEED_WHAT];
    return lw_mseed_read_header(unpacker, unpacker->record, record->bytes, &now, what) == LW_OK && now.bytes == record->bytes &&
           now.n_samples == record->n_samples && now.data_offset == record->data_offset && now.encoding == record->encoding;
}

/* Steim's first frame says what the last sample is. */
static int check_last(const struct lw_mseed_record *record, const MSRecord *unpacked, struct lw_error *err)
{
    const unsigned char *const frame = (const unsigned char *)unpacked->record + record->data_offset;
    const int32_t *const samples = unpacked->datasamples;
    if (find_encoding(record->encoding)->bytes)
        return LW_OK;
    const int64_t last = lw_field_signed(frame + 8, 4, unpacked->byteorder != 0);
    if (samples[record->n_samples - 1] == last)
        return LW_OK;
    return lw_fail(err, LW_EDATA, "the record at byte %" PRId64 " is damaged: its last sample should be %" PRId64 ", and is %"
                   PRId32, record->offset, last, samples[record->n_samples - 1]);
}

int lw_mseed_unpack(struct lw_mseed_unpacker *unpacker, int fd, const struct lw_mseed_record *record, const void **samples,
                    struct lw_error *err)
{
    const struct encoding *const encoding = find_encoding(record->encoding);
    const int rc = lw_bytes_read(fd, unpacker->record, record->offset, record->bytes, err);
    if (rc)
        return rc;
    if (!is_unchanged(unpacker, record))
        return lw_fail(err, LW_EDATA, "the file changed while it was read");
    MSRecord *const unpacked = unpacker->unpacked;
    const bool is_swapped = lw_field_is_swapped(unpacked->byteorder != 0);
    if (msr_unpack_data(unpacked, is_swapped, 0) != record->n_samples || unpacked->sampletype != encoding->kind)
        return lw_fail(err, LW_EDATA, "the record at byte %" PRId64 " is damaged: its %d samples cannot be unpacked from %s",
                       record->offset, record->n_samples, encoding->text);
    *samples = unpacked->datasamples;
    return check_last(record, unpacked, err);
}
