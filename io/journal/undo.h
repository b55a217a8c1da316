/* undo.h - bytes of a file that are about to be changed, kept beside it, so that a change that is interrupted can be taken back.
 *
 *     store -> the file changes -> the change is whole: the file UNDO is removed
 *                               -> it is not: apply, then it is removed */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

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
