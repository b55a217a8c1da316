/* mseed_index.h - the records of a miniSEED file, and the channels that they make, by libmseed.
 *
 *     record   a header, blockettes and samples of one channel, in a power of two of bytes
 *     channel  all records of one name NET.STA.LOC.CHA, in the order of time
 *     stretch  records of a channel that follow each other without gap or overlap, to within half a sample; the samples of a
 *              channel are those of its stretches, one behind the other
 *     unpacker memory for one record and its samples: one for each thread that works at the same time
 *
 * Source: SEED manual, version 2.4 (FDSN, 2012), chapter 8 and appendix B. */
#pragma once

#include "base/error.h"
#include "base/instant.h"
#include "base/type.h"

#include <stdbool.h>
#include <stdint.h>

enum { LW_MSEED_NAME = 16 };

struct lw_mseed_record {
    char channel[LW_MSEED_NAME];        /* "9N.00066..HSF", and zeros */
    int64_t offset;                     /* in the file */
    int64_t start_us;                   /* time of its first sample, in UTC since 1970 */
    int64_t first;                      /* number of its first sample among those of the channel */
    struct lw_period period;
    int32_t bytes;
    uint16_t n_samples;
    uint16_t data_offset;               /* of the samples, in the record */
    uint8_t encoding;
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

/** Open a file and find its records with samples, by their headers; one that the file ends within is left out, and so are texts.
 * LW_EIO: unreadable. LW_EDATA: what is no record of miniSEED, or a damaged one; a channel whose rate or type changes.
 * LW_ESYSTEM: no memory. @param out  to be closed, whatever the outcome */
int lw_mseed_index_open(const char *name, struct lw_mseed_index *out, struct lw_error *err);
void lw_mseed_index_close(struct lw_mseed_index *index);

/** The time of a record's first sample. */
struct lw_instant lw_mseed_start(const struct lw_mseed_record *record);

/** "Steim-2". */
const char *lw_mseed_encoding_text(int encoding);

/** Whether bytes of a file begin with a data record. @param at  48 bytes at least */
bool lw_mseed_begins(const char *at);

/** Make the library ready and silent. On the main thread, before any other thread unpacks; may be called often. */
void lw_mseed_make_ready(void);

struct lw_mseed_unpacker;

/** @param most_bytes  of the records whose samples it is for; 0: it is for headers */
int lw_mseed_unpacker_create(int32_t most_bytes, struct lw_mseed_unpacker **out, struct lw_error *err);
void lw_mseed_unpacker_destroy(struct lw_mseed_unpacker *unpacker);         /* NULL is legal */

/** Read a record and unpack its samples. Several threads may, each with its own unpacker. LW_EIO; LW_EDATA: they cannot be
 * unpacked, or the last one is not what a Steim encoding says that it is. The message is the reason alone.
 * @param samples  set to the n_samples of the record, int32, float or double by its encoding: the unpacker's until its next call */
int lw_mseed_unpack(struct lw_mseed_unpacker *unpacker, int fd, const struct lw_mseed_record *record, const void **samples,
                    struct lw_error *err);
