/* journal.h - keep a journal: the options and progress of a run in a small text file beside the result.
 *
 *     lapwing journal 1
 *     job = ols
 *     left = 3840 0 1
 *     checksum = 0123456789abcdef
 *
 *     the run:      create -> (clear -> add ... add -> store) after some rounds -> destroy
 *     the next run: load -> find -> go on where the journal ends
 *
 * Each line is "key = value". Each store replaces the whole file (new file, fsync, rename), so that the journal is complete even
 * if the run is killed. Control characters and backslashes in values are written as \xNN. clear, add and store allocate nothing.
 * undo.c, declared below, restores a result if the run was interrupted while it completed the result. */
#pragma once

#include "base/error.h"

#include <stdint.h>

#define LW_JOURNAL_SUFFIX ".lapwing-journal"        /* the result's name with this suffix is the journal's */

struct lw_journal;

/** Create an empty journal. LW_ESYSTEM: no memory. @param room  most bytes of all its lines */
int lw_journal_create(int64_t room, struct lw_journal **out, struct lw_error *err);
void lw_journal_destroy(struct lw_journal *journal);        /* NULL is legal */

void lw_journal_clear(struct lw_journal *journal);

/** Add a line. Once a line did not fit, store fails. @param key  letters, digits, '-', '_', '.' and blanks */
void lw_journal_add(struct lw_journal *journal, const char *key, const char *value);
void lw_journal_add_format(struct lw_journal *journal, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Replace the file by this journal, durably. LW_EIO: lw_replace failed; LW_ESYSTEM: `room` was too small. */
int lw_journal_store(struct lw_journal *journal, const char *file, struct lw_error *err);

/** Read a journal. LW_EIO: cannot read the file; LW_EDATA: it is no journal of this version, or is damaged; LW_ESYSTEM. */
int lw_journal_load(const char *file, struct lw_journal **out, struct lw_error *err);

/** Read a journal from bytes in memory, as lw_journal_load does. @param name  name of the source, for messages */
int lw_journal_parse(const char *text, int64_t bytes, const char *name, struct lw_journal **out, struct lw_error *err);

/** Return the value of a key in a journal that was loaded or parsed; NULL: the journal lacks the key. */
const char *lw_journal_find(const struct lw_journal *journal, const char *key);

/** Read the progress of an interrupted run from the journal beside its result: `done` like "36515072 of 50331648", the time of
 * the last store, the version of lapwing. LW_EIO, LW_EDATA, LW_ESYSTEM: as lw_journal_load. @param result  the result's name */
struct lw_journal_progress {
    char done[80], time[40], version[64];
};
int lw_journal_progress(const char *result, struct lw_journal_progress *progress, struct lw_error *err);

/* ---- replace a small file as a whole: readers see the old file or the new one, never a part. One process at a time calls this. */

struct lw_replace_part {
    const void *bytes;
    int64_t n_bytes;
};

/** Write the parts, one after the other, to FILE.new, and rename FILE.new to FILE, durably. Symbolic links are replaced, not
 * followed. LW_EIO: FILE is unchanged, except where only the sync of its folder failed. */
int lw_replace(const char *file, const struct lw_replace_part *parts, int n_parts, struct lw_error *err);

/** Make renamed and removed files of a folder durable. @param file  a file in the folder @return  false: errno has the reason */
bool lw_replace_sync_folder(const char *file);

/** Return the 64-bit FNV-1a checksum of bytes. @param start  LW_CHECKSUM_START, or the checksum of the bytes before these */
#define LW_CHECKSUM_START UINT64_C(0xcbf29ce484222325)
uint64_t lw_replace_checksum(uint64_t start, const void *bytes, int64_t n_bytes);

/* ---- undo.c: save bytes of a file before a change, so that an interrupted change can be undone.
 *
 *     store -> the file changes -> the change is complete: the caller removes the file UNDO
 *                               -> the change was interrupted: apply restores the file and removes UNDO */

#define LW_UNDO_SUFFIX ".lapwing-undo"       /* the result's name with this suffix is the undo file's */

struct lw_undo_range {
    int64_t begin, end;         /* first byte of the file in the range; the byte after its last */
};

/** Save a file's length and its bytes outside `others` to a new file, durably. LW_EIO: cannot read or write; LW_ESYSTEM: no memory.
 * @param others  [n] ranges that will not change, ascending, without overlaps; n < 64
 * @param undo    name of the file that gets the saved bytes */
int lw_undo_store(int fd, const struct lw_undo_range *others, int n, const char *undo, struct lw_error *err);

/** Restore the file and remove the undo file. No undo file: do nothing. LW_EDATA: it is damaged; LW_EIO; LW_ESYSTEM: no memory. */
int lw_undo_apply(int fd, const char *undo, struct lw_error *err);
