/* journal.h - a journal: what a run was asked and how far it has come, as lines in a small file beside its result.
 *
 *     lapwing journal 1
 *     job = ols
 *     left = 3840 0 1
 *     checksum = 0123456789abcdef
 *
 * It is replaced as a whole (a new file, fsync, rename): whenever a run is killed, a whole one is there. Control characters and
 * backslashes of values are written as \xNN. Nothing is allocated by clear, add and store. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define LW_JOURNAL_SUFFIX ".lapwing-journal"        /* of its name, behind the result's */

struct lw_journal;

/** An empty one. LW_ESYSTEM. @param room  bytes that it may grow to */
int lw_journal_create(int64_t room, struct lw_journal **out, struct lw_error *err);
void lw_journal_destroy(struct lw_journal *journal);        /* NULL is legal */

void lw_journal_clear(struct lw_journal *journal);

/** Add a line. What does not fit is found by store. @param key  of letters, digits, '-', '_', '.' and blanks */
void lw_journal_add(struct lw_journal *journal, const char *key, const char *value);
void lw_journal_add_format(struct lw_journal *journal, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Replace the file, durably. LW_EIO, naming it; LW_ESYSTEM: the room was too small. */
int lw_journal_store(struct lw_journal *journal, const char *file, struct lw_error *err);

/** Read one. LW_EIO: it cannot be read; LW_EDATA: it is no journal, of a later kind, or damaged; LW_ESYSTEM. */
int lw_journal_load(const char *file, struct lw_journal **out, struct lw_error *err);

/** The same of bytes in memory. @param name  of what they are, for messages */
int lw_journal_parse(const char *text, int64_t bytes, const char *name, struct lw_journal **out, struct lw_error *err);

/** The value of a key in a journal that was read; NULL: it has none. */
const char *lw_journal_find(const struct lw_journal *journal, const char *key);

/** How far a result has come, by the journal beside it: "36515072 of 50331648", when that was noted, and by which version. LW_EIO:
 * there is no journal; LW_EDATA, LW_ESYSTEM as load. @param result  its name, without the suffix */
struct lw_journal_progress {
    char done[80], time[40], version[64];
};
int lw_journal_progress(const char *result, struct lw_journal_progress *progress, struct lw_error *err);

/* ---- a small file that is replaced as a whole: what was there before, or what comes after it, and never a part of either. By one
 * process. */

struct lw_replace_part {
    const void *bytes;
    int64_t n_bytes;
};

/** Write the parts, one behind the other, to FILE.new, and give it the file's name, durably. Links are not followed. LW_EIO, naming
 * the file: what was there stays. */
int lw_replace(const char *file, const struct lw_replace_part *parts, int n_parts, struct lw_error *err);

/** Make names in a file's folder durable. @return  false: errno says why not */
bool lw_replace_sync_folder(const char *file);

/** FNV-1a: tells a damaged file from a whole one. */
#define LW_CHECKSUM_START UINT64_C(0xcbf29ce484222325)
uint64_t lw_replace_checksum(uint64_t start, const void *bytes, int64_t n_bytes);

/* ---- undo.c: bytes of a file that are about to be changed, kept beside it, so that a change that is interrupted can be taken
 * back.
 *
 *     store -> the file changes -> the change is whole: the file UNDO is removed
 *                               -> it is not: apply, then it is removed */

#define LW_UNDO_SUFFIX ".lapwing-undo"       /* of its name, behind the result's */

struct lw_undo_range {
    int64_t begin, end;         /* bytes of the file */
};

/** Keep all bytes of a file but those of some ranges, and its length, durably. LW_EIO, LW_ESYSTEM.
 * @param others  [n], which stay as they are; in order, without overlaps
 * @param undo    the name of what is kept */
int lw_undo_store(int fd, const struct lw_undo_range *others, int n, const char *undo, struct lw_error *err);

/** Make the file what it was when its bytes were kept; where nothing was, do nothing. LW_EDATA: what was kept is damaged; LW_EIO,
 * LW_ESYSTEM. */
int lw_undo_apply(int fd, const char *undo, struct lw_error *err);
