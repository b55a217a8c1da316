/* examine.h - what a dataset holds, found out before anybody opens it. */
#ifndef LW_IO_EXAMINE_H
#define LW_IO_EXAMINE_H

#include "io/format.h"

/** Describe the dataset of that name, in a child process. By one rank, before any GPU is touched (shield.h). Errors:
 * lw_object_parse, lw_formats_find, lw_format.describe, lw_shield. */
int lw_examine_dataset(const char *name, enum lw_use use, struct lw_dataset_info *info, struct lw_error *err);

#endif
