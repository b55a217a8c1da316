/* overlap.h - samples that several files have must be the same in all of them. */
#ifndef LW_IO_READ_OVERLAP_H
#define LW_IO_READ_OVERLAP_H

#include "io/read/state.h"

/** Read what files have in common and compare it, on the axis that the files have been joined along, where the later files stand
 * behind the earlier ones; what is not a number is the same as any other such. The ranks share the files; each takes memory for two
 * times a megabyte of samples, or one row of them. LW_EDATA: they differ (says both files, where and how). Not collective. */
int lw_overlaps_compare(const struct lw_reader *reader, int axis, struct lw_error *err);

#endif
