#include "io/archive/mseed_unpack.h"

#include "base/memory.h"
#include "io/archive/field.h"
#include "io/bytes/transfer.h"

#include <inttypes.h>
#include <libmseed.h>
#include <string.h>

struct lw_mseed_unpacker {
    MSRecord *unpacked;         /* libmseed's, with the memory of its samples */
    char record[];
};

int lw_mseed_can_unpack(const char *name, struct lw_error *err)
{
    (void)name;
    (void)err;
    return LW_OK;
}

static void say_nothing(char *message)
{
    (void)message;
}

/* ---- the header that libmseed sees ---------------------------------------------------------------------------------------- */

static void put16(unsigned char *at, int value, bool is_big)
{
    at[is_big ? 0 : 1] = (unsigned char)(value >> 8);
    at[is_big ? 1 : 0] = (unsigned char)value;
}

/* libmseed believes a record's header, also where that leads beyond its end. It gets one that says what was checked, with a
 * blockette 1000 alone, right behind the header, where there is room: samples begin at byte 56 or later. */
static void put_header(const struct lw_mseed_record *record, unsigned char *at)
{
    enum { HEADER_BYTES = 48, BLOCKETTE = 1000 };
    const bool is_big = record->is_header_big;
    at[39] = 1;
    put16(at + 46, HEADER_BYTES, is_big);
    put16(at + HEADER_BYTES, BLOCKETTE, is_big);
    put16(at + HEADER_BYTES + 2, 0, is_big);
    at[HEADER_BYTES + 4] = record->encoding;
    at[HEADER_BYTES + 5] = record->is_data_big;
    at[HEADER_BYTES + 6] = (unsigned char)__builtin_ctz((unsigned)record->bytes);
    at[HEADER_BYTES + 7] = 0;
}

/* Whether the file still says what it did when its records were found. */
static bool is_unchanged(const struct lw_mseed_record *record, const unsigned char *at)
{
    return lw_mseed_begins(at) && (int)lw_field_unsigned(at + 30, 2, record->is_header_big) == record->n_samples &&
           (int)lw_field_unsigned(at + 44, 2, record->is_header_big) == record->data_offset;
}

/* The first call of msr_unpack reads environment variables into globals that are only read from then on. */
void lw_mseed_unpack_start(void)
{
    static const char header[48] = "000001D AAAAA  AAAAA\x07\xd0\0\1\0\0\0\0\0\0\0\0\0\1\0\1";
    char record[LW_MSEED_LEAST_BYTES] = {0};
    MSRecord *unpacked = NULL;
    memcpy(record, header, sizeof header);
    ms_loginit(say_nothing, NULL, say_nothing, NULL);
    msr_unpack(record, sizeof record, &unpacked, 0, 0);
    msr_free(&unpacked);
}

int lw_mseed_unpacker_create(int32_t most_bytes, struct lw_mseed_unpacker **out, struct lw_error *err)
{
    struct lw_mseed_unpacker *const unpacker = lw_alloc(sizeof *unpacker + (size_t)most_bytes, "unpacking records", err);
    if (!unpacker)
        return LW_ESYSTEM;
    *out = unpacker;
    return LW_OK;
}

void lw_mseed_unpacker_destroy(struct lw_mseed_unpacker *unpacker)
{
    if (!unpacker)
        return;
    msr_free(&unpacker->unpacked);
    lw_free(unpacker);
}

/* ---- samples --------------------------------------------------------------------------------------------------------------- */

static char kind_of(int encoding)
{
    return encoding == LW_MSEED_FLOAT32 ? 'f' : encoding == LW_MSEED_FLOAT64 ? 'd' : 'i';
}

/* Steim's first frame says what the last sample is. */
static int check_last(const struct lw_mseed_record *record, const unsigned char *at, const int32_t *samples, struct lw_error *err)
{
    if (record->encoding != LW_MSEED_STEIM1 && record->encoding != LW_MSEED_STEIM2)
        return LW_OK;
    const int64_t last = lw_field_signed(at + record->data_offset + 8, 4, record->is_data_big);
    if (samples[record->n_samples - 1] == last)
        return LW_OK;
    return lw_fail(err, LW_EDATA, "the record at byte %" PRId64 " is damaged: its last sample should be %" PRId64 ", and is %"
                   PRId32, record->offset, last, samples[record->n_samples - 1]);
}

int lw_mseed_unpack(struct lw_mseed_unpacker *unpacker, int fd, const struct lw_mseed_record *record, const void **samples,
                    struct lw_error *err)
{
    unsigned char *const bytes = (unsigned char *)unpacker->record;
    const int rc = lw_bytes_read(fd, bytes, record->offset, record->bytes, err);
    if (rc)
        return rc;
    if (!is_unchanged(record, bytes))
        return lw_fail(err, LW_EDATA, "the file changed while it was read");
    put_header(record, bytes);
    if (msr_unpack(unpacker->record, record->bytes, &unpacker->unpacked, 1, 0) != MS_NOERROR ||
        unpacker->unpacked->numsamples != record->n_samples || unpacker->unpacked->sampletype != kind_of(record->encoding))
        return lw_fail(err, LW_EDATA, "the record at byte %" PRId64 " is damaged: its %d samples cannot be unpacked from %s",
                       record->offset, record->n_samples, lw_mseed_encoding_text(record->encoding));
    *samples = unpacker->unpacked->datasamples;
    return check_last(record, bytes, *samples, err);
}
