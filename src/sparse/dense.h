/* dense.h - the transform of all samples of the channels that their lines do not explain, one at a time on each rank. */
#ifndef LW_SPARSE_DENSE_H
#define LW_SPARSE_DENSE_H

#include "sparse/state.h"

/** What became of the channels goes to run->all. Collective. */
int lw_sparse_dense(struct lw_sparse *run, struct lw_error *err);

#endif
