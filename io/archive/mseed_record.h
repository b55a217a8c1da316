/* mseed_record.h - one record of a miniSEED file, by libmseed: a header, blockettes and samples of one channel, in a power of two
 * of bytes.
 *
 *     unpacker   memory for one record and its samples: one for each thread that works at the same time
 *
 * Source: SEED manual, version 2.4 (FDSN, 2012), chapter 8 and appendix B. */
#pragma once

#include "base/error.h"
#include "base/instant.h"
#include "base/type.h"

#include <stdbool.h>
#include <stdint.h>

/* Blockettes lie in the first LW_MSEED_HEAD bytes of a record, of which no more is looked at, lest a damaged one keep libmseed
 * busy. Behind what there is of a record in memory there are LW_MSEED_SLACK bytes that may be read: libmseed copies a blockette of
 * type 2000 by the length that it claims. */
enum { LW_MSEED_NAME = 16, LW_MSEED_HEAD = 4096, LW_MSEED_SLACK = 1 << 16, LW_MSEED_WHAT = 120 };

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

struct lw_mseed_unpacker;

/** Make the library ready and silent. On the main thread, before any other thread unpacks; may be called often. */
void lw_mseed_make_ready(void);

/** Whether bytes of a file begin with a data record. @param at  48 bytes at least */
bool lw_mseed_begins(const char *at);

/** "Steim-2"; NULL: an encoding that is not read. */
const char *lw_mseed_encoding_text(int encoding);

/** The type that holds samples of an encoding. */
enum lw_scalar lw_mseed_scalar(int encoding);

/** @param most_bytes  of the records whose samples it is for; 0: it is for headers */
int lw_mseed_unpacker_create(int32_t most_bytes, struct lw_mseed_unpacker **out, struct lw_error *err);
void lw_mseed_unpacker_destroy(struct lw_mseed_unpacker *unpacker);         /* NULL is legal */

/** Read a header. record->bytes is 0 if the file ends within the record, n_samples if it is empty or a text. LW_EDATA: it is
 * damaged, or not read; `what` says what is wrong with it, and there is no other message.
 * @param at         the record's first LW_MSEED_HEAD bytes, or as many as are available
 * @param available  bytes of the file from there on */
int lw_mseed_read_header(struct lw_mseed_unpacker *unpacker, char *at, int64_t available, struct lw_mseed_record *record,
                         char what[LW_MSEED_WHAT]);

/** Read a record and unpack its samples. Several threads may, each with its own unpacker. LW_EIO; LW_EDATA: they cannot be
 * unpacked, or the last one is not what a Steim encoding says that it is. The message is the reason alone.
 * @param samples  set to the n_samples of the record, int32, float or double by its encoding: the unpacker's until its next call */
int lw_mseed_unpack(struct lw_mseed_unpacker *unpacker, int fd, const struct lw_mseed_record *record, const void **samples,
                    struct lw_error *err);
