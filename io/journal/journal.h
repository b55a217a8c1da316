/* journal.h - keep a journal: the options of a run and how far it has come, as lines of a small file beside the result.
 *
 *     lapwing journal 1
 *     job = ols
 *     left = 3840 0 1
 *     checksum = 0123456789abcdef
 *
 *     the run:      create -> (clear -> add ... add -> store) after some rounds -> destroy
 *     the next run: load -> find -> go on where the journal ends
 *
 * Each store replaces the whole file (new file, fsync, rename), so that a complete journal is there whenever a run is killed.
 * Control characters and backslashes of values are written as \xNN. clear, add and store allocate nothing. undo.c, below, restores
 * a result whose completion was interrupted. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define LW_JOURNAL_SUFFIX ".lapwing-journal"        /* suffix of the journal's name, after the result's */

struct lw_journal;

/** Create an empty journal. LW_ESYSTEM. @param room  most bytes of its lines */
int lw_journal_create(int64_t room, struct lw_journal **out, struct lw_error *err);
void lw_journal_destroy(struct lw_journal *journal);        /* NULL is legal */

void lw_journal_clear(struct lw_journal *journal);

/** Add a line. A line that does not fit makes store fail. @param key  of letters, digits, '-', '_', '.' and blanks */
void lw_journal_add(struct lw_journal *journal, const char *key, const char *value);
void lw_journal_add_format(struct lw_journal *journal, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Replace the file by this journal, durably. LW_EIO, naming the file; LW_ESYSTEM: `room` was too small. */
int lw_journal_store(struct lw_journal *journal, const char *file, struct lw_error *err);

/** Read a journal. LW_EIO: the file cannot be read; LW_EDATA: no journal, of a later version, or damaged; LW_ESYSTEM. */
int lw_journal_load(const char *file, struct lw_journal **out, struct lw_error *err);

/** Read a journal from bytes in memory, as lw_journal_load does. @param name  name of the source, for messages */
int lw_journal_parse(const char *text, int64_t bytes, const char *name, struct lw_journal **out, struct lw_error *err);

/** Return the value of a key in a journal that was read; NULL: there is no such key. */
const char *lw_journal_find(const struct lw_journal *journal, const char *key);

/** Read from the journal beside a result how far the result has come ("36515072 of 50331648"), when, and with which version of
 * lapwing. LW_EIO: there is no journal; LW_EDATA, LW_ESYSTEM: as lw_journal_load. @param result  the result's name */
struct lw_journal_progress {
    char done[80], time[40], version[64];
};
int lw_journal_progress(const char *result, struct lw_journal_progress *progress, struct lw_error *err);

/* ---- a small file that is replaced as a whole: a reader sees the old file or the new one, never a part. For one process. */

struct lw_replace_part {
    const void *bytes;
    int64_t n_bytes;
};

/** Write the parts one after the other into FILE.new, and rename it to FILE, durably. Follows no links. LW_EIO: FILE stays. */
int lw_replace(const char *file, const struct lw_replace_part *parts, int n_parts, struct lw_error *err);

/** Make changed names in a folder durable, given one of its files. @return  false: errno has the reason */
bool lw_replace_sync_folder(const char *file);

/** Return the FNV-1a checksum of bytes, by which a damaged file is detected. */
#define LW_CHECKSUM_START UINT64_C(0xcbf29ce484222325)
uint64_t lw_replace_checksum(uint64_t start, const void *bytes, int64_t n_bytes);

/* ---- undo.c: save bytes of a file before they are changed, so that an interrupted change can be taken back.
 *
 *     store -> the file changes -> the change is complete: the caller removes the file UNDO
 *                               -> the change was interrupted: apply restores the file and removes UNDO */

#define LW_UNDO_SUFFIX ".lapwing-undo"       /* suffix of the undo file's name, after the result's */

struct lw_undo_range {
    int64_t begin, end;         /* first byte, and the byte after the last */
};

/** Save the length of a file and all of its bytes except some ranges, durably. LW_EIO, LW_ESYSTEM.
 * @param others  [n] ranges that will not change; in order, without overlaps
 * @param undo    name of the file that gets the saved bytes */
int lw_undo_store(int fd, const struct lw_undo_range *others, int n, const char *undo, struct lw_error *err);

/** Restore the file, and remove the undo file. Does nothing without one. LW_EDATA: the undo file is damaged; LW_EIO, LW_ESYSTEM. */
int lw_undo_apply(int fd, const char *undo, struct lw_error *err);
