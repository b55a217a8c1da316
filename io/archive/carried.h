/* carried.h - what a dataset says of itself in its format's own names, kept to be carried over to a result. */
#ifndef LW_IO_ARCHIVE_CARRIED_H
#define LW_IO_ARCHIVE_CARRIED_H

#include "base/error.h"
#include "io/attribute.h"
#include "io/dataset.h"

struct lw_carried {
    struct lw_attribute *attributes;    /* owned, like all that they point to; no two of one name: the first counts */
    int n_attributes;
};

#define LW_CARRIED_MOST 4096

/** Collect the attributes of a dataset that has been described: LW_CARRIED_MOST at most, those behind them are left out. By one
 * process. LW_ESYSTEM; to be released whatever the outcome. */
int lw_carried_collect(const struct lw_dataset_info *info, struct lw_carried *carried, struct lw_error *err);
void lw_carried_release(struct lw_carried *carried);

#endif
