/* dense.h - the transform of all samples of the channels that their lines do not explain, one at a time on each rank. */
#pragma once

#include "sparse/state.h"

/** What became of the channels goes to run->all. Collective. */
int lw_sparse_dense(struct lw_sparse *run, struct lw_error *err);
