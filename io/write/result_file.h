/* result_file.h - the file in which a result is made: its temporary name, its room on disk and its final name. POSIX only. Rank 0
 * claims and publishes the file; the other ranks join it.
 *
 *     check    find out, before any work, whether the final name can be given; nothing is changed
 *     claim    create and lock OUT.lapwing-part, and check the free space. While an interrupted run's file is kept, the new
 *              file has another name at first, so that a later run can still go on with the old one
 *     place    let the new file replace the old one, once its structure is made
 *     resume   instead of claim: lock the OUT.lapwing-part of an interrupted run as it is
 *     join     open the file of rank 0 on another rank
 *     reserve  allocate blocks, once the structure of the file is known
 *     publish  sync, and rename to OUT
 *     discard  delete OUT.lapwing-part, unless it is kept; a resumed file is always kept
 *
 * A later run needs files beside the result to go on: OUT.lapwing-journal, OUT.lapwing-rows, OUT.lapwing-undo.
 *
 * All names are predictable, so other runs and users may have made files with them. Hence links are never followed, files of
 * other users are never emptied, and only the claimed file is ever renamed or deleted. */
#pragma once

#include "io/dataset.h"

#define LW_ROWS_SUFFIX ".lapwing-rows"       /* rows of a growing table, in the order of arrival */

enum { LW_MARKED_BYTES = 64 << 10 };

struct lw_result_file {
    char name[LW_MAX_PATH];
    char part[LW_MAX_PATH];     /* temporary name */
    char way[40];               /* how samples are written: lw_writer_way */
    bool overwrite;
    bool is_resumed;
    bool is_kept;               /* discard leaves the temporary file, so that a later run can go on with it */
    int fd;                     /* descriptor of the temporary file, locked on rank 0; -1: none */
    bool is_new;                /* claimed under another name and not yet placed: `part` is the other name */
    int old_fd;                 /* descriptor of the locked file that a new file (is_new) will replace */
};

/** Set `name` and `part`, without touching a file. LW_EIO: a name is too long. */
int lw_result_file_name(struct lw_result_file *result, const char *file, bool overwrite, struct lw_error *err);

/** Return whether a run is writing the temporary file `part` now. */
bool lw_result_file_is_held(const char *part);

/** Check the final name. LW_EIO: it exists and `overwrite` is false; it is no plain file; its folder is missing or not writable. */
int lw_result_file_check(const struct lw_result_file *result, struct lw_error *err);

/** Create the temporary file, or empty the one of an interrupted run. LW_EIO: as lw_result_file_check; the temporary name is taken
 * by a link or another user's file; another run is writing it; `bytes` do not fit on the disk or exceed the file-size limit. */
int lw_result_file_claim(struct lw_result_file *result, int64_t bytes, struct lw_error *err);

/** Give the claimed file the temporary name, if it has another name. LW_EIO. */
int lw_result_file_place(struct lw_result_file *result, struct lw_error *err);

/** Take over an interrupted run's temporary file unchanged. LW_EIO: there is none; or as lw_result_file_claim. */
int lw_result_file_resume(struct lw_result_file *result, struct lw_error *err);

/** Compute the file's mark: a checksum of its first LW_MARKED_BYTES, which hold when, where and by which command the file was made.
 * The mark tells the file from another of its name on a node that does not share the folder. LW_EIO: the file is unreadable. */
int lw_result_file_mark(const struct lw_result_file *result, uint64_t *mark, struct lw_error *err);

/** Open the temporary file of rank 0. LW_EIO: this rank cannot write it, or the file here has another mark.
 * @param mark  the file's mark, computed by rank 0 when the structure was made */
int lw_result_file_join(struct lw_result_file *result, uint64_t mark, struct lw_error *err);

/** Allocate the first `bytes` of the file on disk, unless they are allocated. LW_EIO: there is no room; the message gives the bytes
 * needed and free. On file systems that cannot allocate, only warn if free space is short. */
int lw_result_file_reserve(const struct lw_result_file *result, int64_t bytes, struct lw_error *err);

/** Give the complete file its final name, durably. LW_EIO. If only the new name is refused, the result keeps its temporary name,
 * which the message gives, and lw_result_file_discard does not delete it. */
int lw_result_file_publish(struct lw_result_file *result, struct lw_error *err);

/** Make the name of a file beside the result: the result's name and a suffix. */
void lw_result_file_beside(const struct lw_result_file *result, const char *suffix, char name[LW_MAX_PATH]);

/** Remove the files beside the result, if any. Claim removes an earlier run's in this way, unless the file is kept. */
void lw_result_file_forget(const struct lw_result_file *result);

/** Delete the temporary file and the files beside it, unless the file was published or is kept. */
void lw_result_file_discard(struct lw_result_file *result);

/** Close the temporary file without deleting it. */
void lw_result_file_leave(struct lw_result_file *result);
