/* mseed_index.h - find the records of a miniSEED file and group them to channels, with libmseed.
 *
 *     record   a header, blockettes (optional further headers) and samples of one channel; its bytes are a power of two
 *     channel  all records with one name NET.STA.LOC.CHA, in order of time
 *     stretch  records of a channel that follow each other without gap or overlap, to within half a sample; a channel's samples are
 *              numbered through all its stretches
 *     unpacker memory for one record and its samples; each thread has its own
 *
 * Source: SEED manual, version 2.4 (FDSN, 2012), chapter 8 and appendix B. */
#pragma once

#include "base/error.h"
#include "base/instant.h"
#include "base/type.h"

enum { LW_MSEED_NAME = 16 };

struct lw_mseed_record {
    char channel[LW_MSEED_NAME];        /* name like "9N.00066..HSF", padded with zeros */
    int64_t offset;                     /* first byte of the record in the file */
    int64_t start_us;                   /* time of the first sample, microseconds of UTC since 1970 */
    int64_t first;                      /* index of the first sample in the channel */
    struct lw_period period;
    int32_t bytes;
    uint16_t n_samples;
    uint16_t data_offset;               /* byte of the record at which the samples begin */
    uint8_t encoding;
    bool begins_stretch;
};

struct lw_mseed_channel {
    const char *name;                   /* points into the first record */
    struct lw_mseed_record *records;    /* [n_records], part of lw_mseed_index.records */
    int64_t n_records, n_samples;
    struct lw_instant start;
    struct lw_period period;
    enum lw_scalar scalar;              /* type for the samples of all its records */
    int64_t n_stretches;
    bool has_overlaps;                  /* some stretches overlap */
};

struct lw_mseed_index {
    int fd;
    int64_t bytes;
    struct lw_mseed_record *records;    /* sorted by channel and time */
    int64_t n_records, most_records;
    int32_t most_bytes;                 /* bytes of the largest record */
    struct lw_mseed_channel *channels;  /* sorted by name */
    int64_t n_channels;
};

/** Open a file and find its records with samples, by their headers. Records of text are left out, and so is a record that reaches
 * beyond the end of the file. LW_EIO: the file is unreadable. LW_EDATA: bytes that are no sound miniSEED record; rate or type
 * changes within a channel; no records. LW_ESYSTEM: no memory. @param out  the caller closes it, also after an error */
int lw_mseed_index_open(const char *name, struct lw_mseed_index *out, struct lw_error *err);
void lw_mseed_index_close(struct lw_mseed_index *index);

/** Return the time of a record's first sample. */
struct lw_instant lw_mseed_start(const struct lw_mseed_record *record);

/** Return the name of an encoding, like "Steim-2". */
const char *lw_mseed_encoding_text(int encoding);

/** Return whether the bytes begin with the header of a data record. @param at  at least 48 bytes */
bool lw_mseed_begins(const char *at);

/** Make libmseed ready and silent. Call this on the main thread before any other thread unpacks; further calls are harmless. */
void lw_mseed_make_ready(void);

struct lw_mseed_unpacker;

/** Create an unpacker. @param most_bytes  size of the largest record to be unpacked; 0: only headers will be read */
int lw_mseed_unpacker_create(int32_t most_bytes, struct lw_mseed_unpacker **out, struct lw_error *err);
void lw_mseed_unpacker_destroy(struct lw_mseed_unpacker *unpacker);         /* NULL is legal */

/** Read a record and unpack its samples. LW_EIO; LW_EDATA: the samples cannot be unpacked, or the
 * last sample differs from the one that the record's Steim encoding states. The message is only the reason.
 * @param samples  set to the record's n_samples, int32, float or double by encoding; the unpacker owns them until its next call */
int lw_mseed_unpack(struct lw_mseed_unpacker *unpacker, int fd, const struct lw_mseed_record *record, const void **samples,
                    struct lw_error *err);
