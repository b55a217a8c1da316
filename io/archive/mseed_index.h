/* mseed_index.h - the records of a miniSEED file, and the channels that they make.
 *
 *     record   a header, blockettes and samples of one channel, in a power of two of bytes
 *     channel  all records of one name NET.STA.LOC.CHA, in the order of time
 *     stretch  records of a channel that follow each other without gap or overlap, to within half a sample; the samples of a
 *              channel are those of its stretches, one behind the other
 *
 * Source: SEED manual, version 2.4 (FDSN, 2012), chapter 8 and appendix B. Only the numbers of headers are looked at here;
 * mseed_unpack.h makes samples. */
#ifndef LW_IO_ARCHIVE_MSEED_INDEX_H
#define LW_IO_ARCHIVE_MSEED_INDEX_H

#include "base/error.h"
#include "base/instant.h"
#include "base/type.h"

#include <stdbool.h>
#include <stdint.h>

enum { LW_MSEED_NAME = 16, LW_MSEED_LEAST_BYTES = 128, LW_MSEED_MOST_BYTES = 1 << 20 };

/* Encodings of samples. */
enum {
    LW_MSEED_TEXT = 0, LW_MSEED_INT16 = 1, LW_MSEED_INT32 = 3, LW_MSEED_FLOAT32 = 4, LW_MSEED_FLOAT64 = 5, LW_MSEED_STEIM1 = 10,
    LW_MSEED_STEIM2 = 11,
};

struct lw_mseed_record {
    char channel[LW_MSEED_NAME];        /* "9N.00066..HSF" */
    int64_t offset;                     /* in the file */
    int64_t start_us;                   /* time of its first sample, in UTC since 1970 */
    int64_t first;                      /* number of its first sample among those of the channel */
    int32_t bytes;
    uint16_t n_samples;                 /* 1 or more */
    uint16_t data_offset;               /* of the samples, in the record */
    int16_t factor, multiplier;         /* of the sampling rate */
    float actual_rate;                  /* in Hz, which overrules them; 0: not said */
    uint8_t encoding;
    bool is_header_big, is_data_big;
    bool begins_stretch;
};

struct lw_mseed_channel {
    const char *name;                   /* the first record's */
    struct lw_mseed_record *records;    /* of the index */
    int64_t n_records, n_samples;
    struct lw_instant start;
    struct lw_period period;
    enum lw_scalar scalar;              /* that holds the samples of all its records */
    int64_t n_stretches;
    bool has_overlaps;                  /* of stretches */
};

struct lw_mseed_index {
    int fd;
    int64_t bytes;
    struct lw_mseed_record *records;    /* sorted by channel and time */
    int64_t n_records, most_records;
    int32_t most_bytes;                 /* of a record */
    struct lw_mseed_channel *channels;  /* sorted by name */
    int64_t n_channels;
};

/** Whether bytes of a file begin with a data record. @param at  48 bytes at least */
bool lw_mseed_begins(const unsigned char *at);

/** Open a file and find its records with samples; one that the file ends within is left out, and so are texts. LW_EIO: unreadable.
 * LW_EDATA: what is no record of miniSEED, or a damaged one; a channel whose rate or type changes. LW_ESYSTEM: no memory. */
int lw_mseed_index_open(const char *name, struct lw_mseed_index *out, struct lw_error *err);
void lw_mseed_index_close(struct lw_mseed_index *index);

/* Of the first sample of a record, and behind the last one. */
struct lw_instant lw_mseed_start(const struct lw_mseed_record *record);
struct lw_instant lw_mseed_end(const struct lw_mseed_channel *channel, const struct lw_mseed_record *record);

/** "Steim-2"; NULL: an encoding that is not read. */
const char *lw_mseed_encoding_text(int encoding);

#endif
