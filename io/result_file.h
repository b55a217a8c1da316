/* result_file.h - the file that a result grows in: its temporary name, its room on disk and its final name. POSIX only; by
 * one process, rank 0.
 *
 *     claim    OUT.lapwing-part is created and locked, the disk asked for room
 *     reserve  once the file's structure is known: blocks are allocated
 *     publish  synced and renamed to OUT
 *     discard  OUT.lapwing-part is deleted */
#ifndef LW_RESULT_FILE_H
#define LW_RESULT_FILE_H

#include "../src/error.h"
#include "dataset.h"

#include <stdbool.h>
#include <stdint.h>

#define LW_PART_SUFFIX ".lapwing-part"

struct lw_result_file {
    char name[LW_MAX_PATH];
    char part[LW_MAX_PATH];     /* the temporary name */
    bool overwrite;
    int fd;                     /* of the temporary file, with the lock; -1: none */
};

/** The two names. LW_EIO if they are too long. No file is touched. */
int lw_result_file_name(struct lw_result_file *result, const char *file, bool overwrite, struct lw_error *err);

/** Create the temporary file, or empty one that a killed run has left. LW_EIO: the final file exists and must not be
 * overwritten, is no plain file, its folder does not exist or cannot be written, another run is writing it, `bytes` do not
 * fit on the disk or exceed the file-size limit. */
int lw_result_file_claim(struct lw_result_file *result, int64_t bytes, struct lw_error *err);

/** Allocate the first `bytes` of the file on disk. LW_EIO, naming the bytes needed and free, if they are not there. On file
 * systems that cannot allocate, warn if the free space is short. */
int lw_result_file_reserve(const struct lw_result_file *result, int64_t bytes, struct lw_error *err);

/** Give the complete file its final name, durably. */
int lw_result_file_publish(struct lw_result_file *result, struct lw_error *err);

/** Delete the temporary file, unless published. */
void lw_result_file_discard(struct lw_result_file *result);

#endif
