/* memory.h - the memory of a sparse run, known before it starts.
 *
 *     base + files + kept | searching: samples of a group of channels, their list, the solver
 *                         | dense: all samples of a channel, their transform           one after the other, never together */
#pragma once

#include "sparse/state.h"

/** Choose `group`, `block` and `chunks`, and count bytes. LW_ECONFIG: it does not fit. */
int lw_sparse_memory_plan(struct lw_sparse *run, struct lw_error *err);

/** The most that a rank has at a time, on the host and on its device. */
int64_t lw_sparse_host_bytes(const struct lw_sparse *run);
int64_t lw_sparse_device_bytes(const struct lw_sparse *run);

/** For the plan command, on rank 0. */
void lw_sparse_memory_print(const struct lw_sparse *run);

/** Samples of a channel that the first so many attempts take. */
int64_t lw_sparse_attempt_samples(const struct lw_sfft_plan *plan, int n_attempts);

/** The reads of a group and block. */
struct lw_view_spec lw_sparse_view(const struct lw_sparse *run);

/** Whether the dense transform may be begun; and what to say if not, `why` being the reason for one: always LW_ECONFIG. */
bool lw_sparse_fits_dense(const struct lw_sparse *run);
int lw_sparse_refuse_dense(const struct lw_sparse *run, const char *why, struct lw_error *err);

/** Why all channels are dense from the start. */
const char *lw_sparse_why_dense(const struct lw_sparse *run);
