/* result_file.h - the file that a result grows in: its temporary name, its room on disk and its final name. POSIX only. Rank 0
 * claims and publishes it; the other ranks join it.
 *
 *     check    whether the final name can be given, before any work; touches nothing
 *     claim    OUT.lapwing-part is created and locked, the disk asked for room; where a run goes on and makes it anew, under
 *              another name: what is there can be opened until
 *     place    the new one, whose structure is made, takes its place
 *     resume   or OUT.lapwing-part, which a killed run has left, is locked as it is
 *     join     another rank opens what rank 0 has claimed or resumed
 *     reserve  once the file's structure is known: blocks are allocated
 *     publish  synced and renamed to OUT
 *     discard  OUT.lapwing-part is deleted, unless it is kept, as one that was resumed is
 *
 * By its side there may be what a later run goes on with: OUT.lapwing-journal, OUT.lapwing-rows, OUT.lapwing-undo.
 *
 * Names are predictable, so other runs and other people may have put something there: a link is never followed, a file of
 * somebody else's never emptied, and what is renamed or deleted is the file that was claimed, or nothing. */
#pragma once

#include "base/error.h"
#include "io/dataset.h"

#define LW_ROWS_SUFFIX ".lapwing-rows"       /* rows of a table that grows, as they came */

#include <stdbool.h>
#include <stdint.h>

enum { LW_MARKED_BYTES = 64 << 10 };

struct lw_result_file {
    char name[LW_MAX_PATH];
    char part[LW_MAX_PATH];     /* the temporary name */
    bool overwrite;
    bool is_resumed;
    bool is_kept;               /* the temporary file stays, for a run that goes on with it */
    int fd;                     /* of the temporary file, on rank 0 with the lock; -1: none */
    bool is_new;                /* claimed and not yet placed: `part` is the other name */
    int old_fd;                 /* if so: of what it will replace, with the lock */
};

/** The two names. LW_EIO if they are too long. No file is touched. */
int lw_result_file_name(struct lw_result_file *result, const char *file, bool overwrite, struct lw_error *err);

/** Whether a run is writing the part of that name now. */
bool lw_result_file_is_held(const char *part);

/** LW_EIO: the final name exists and must not be overwritten, or is no plain file, or its folder does not exist or cannot be
 * written. */
int lw_result_file_check(const struct lw_result_file *result, struct lw_error *err);

/** Create the temporary file, or empty one that a killed run has left. LW_EIO: as lw_result_file_check; the temporary name is
 * taken by a link or by somebody else's file; another run is writing it; `bytes` do not fit on the disk or exceed the
 * file-size limit. */
int lw_result_file_claim(struct lw_result_file *result, int64_t bytes, struct lw_error *err);

/** Give what was claimed the temporary name, if it has another. LW_EIO. */
int lw_result_file_place(struct lw_result_file *result, struct lw_error *err);

/** Take over the temporary file that a killed run has left; nothing in it changes. LW_EIO: as lw_result_file_claim, but for its
 * room; there is none. */
int lw_result_file_resume(struct lw_result_file *result, struct lw_error *err);

/** A checksum of the first LW_MARKED_BYTES, which hold when, where and by which command the file was made: it tells the file from
 * one of the same name on a node that does not share the folder. LW_EIO if they cannot be read. */
int lw_result_file_mark(const struct lw_result_file *result, uint64_t *mark, struct lw_error *err);

/** Open the temporary file that rank 0 has claimed or resumed. @param mark  of it, found by rank 0 once its structure was made.
 * LW_EIO if this rank cannot write it, or if the file here has another mark. */
int lw_result_file_join(struct lw_result_file *result, uint64_t mark, struct lw_error *err);

/** Allocate the first `bytes` of the file on disk, where they are not allocated yet. LW_EIO, naming the bytes needed and free, if
 * they are not there. On file systems that cannot allocate, warn if the free space is short. */
int lw_result_file_reserve(const struct lw_result_file *result, int64_t bytes, struct lw_error *err);

/** Give the complete file its final name, durably. LW_EIO: where only the name is refused, the message says under which one
 * the result stays, and lw_result_file_discard leaves it. */
int lw_result_file_publish(struct lw_result_file *result, struct lw_error *err);

/** The name of a file beside the result: its own, and a suffix. */
void lw_result_file_beside(const struct lw_result_file *result, const char *suffix, char name[LW_MAX_PATH]);

/** Remove the files beside it, whatever of them is there: claim does it with what an earlier run has left, unless the file is to be
 * kept. */
void lw_result_file_forget(const struct lw_result_file *result);

/** Delete the temporary file and those beside it, unless published or kept. */
void lw_result_file_discard(struct lw_result_file *result);

/** Forget the temporary file; it stays. */
void lw_result_file_leave(struct lw_result_file *result);
