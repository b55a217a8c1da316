/* mseed_unpack.h - samples of miniSEED records, made by libmseed. A build without that library has mseed_none.c in its place, and
 * then finds records, but reads none.
 *
 *     unpacker   memory for one record and its samples: one for each thread that works at the same time */
#ifndef LW_IO_ARCHIVE_MSEED_UNPACK_H
#define LW_IO_ARCHIVE_MSEED_UNPACK_H

#include "io/archive/mseed_index.h"

struct lw_mseed_unpacker;

/** LW_EDATA: this build cannot; says what to build with. */
int lw_mseed_can_unpack(const char *name, struct lw_error *err);

/** Make the library ready and silent. On the main thread, before any other thread unpacks; may be called often. */
void lw_mseed_unpack_start(void);

/** @param most_bytes  of the records that it is for */
int lw_mseed_unpacker_create(int32_t most_bytes, struct lw_mseed_unpacker **out, struct lw_error *err);
void lw_mseed_unpacker_destroy(struct lw_mseed_unpacker *unpacker);         /* NULL is legal */

/** Read a record and unpack its samples. Several threads may, each with its own unpacker. LW_EIO; LW_EDATA: they cannot be
 * unpacked, or the last one is not what a Steim encoding says that it is. The message is the reason alone.
 * @param samples  set to the n_samples of the record, int32, float or double by its encoding: the unpacker's until its next call */
int lw_mseed_unpack(struct lw_mseed_unpacker *unpacker, int fd, const struct lw_mseed_record *record, const void **samples,
                    struct lw_error *err);

#endif
