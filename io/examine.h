/* examine.h - what a dataset holds, found out before anybody opens it. */
#pragma once

#include "io/format.h"

/** Describe the dataset of that name, where a library reads its format by lw_shield; the hints overrule what the file says. The
 * hints in `info` name its format. Before any GPU is touched (shield.h). Errors: lw_object_parse, lw_formats_find,
 * lw_format.describe, lw_sampling_settle, lw_shield.
 * @param hints  NULL: none */
int lw_examine_dataset(const char *name, const struct lw_hints *hints, enum lw_use use, struct lw_dataset_info *info,
                       struct lw_error *err);
