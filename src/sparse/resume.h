/* resume.h - checkpoints of a sparse run, which finds the lines of its channels one group after the other. What became of a channel
 * is kept as a record beside the result, as soon as a checkpoint is due; the journal says how many bytes of records count.
 *
 *     record   struct lw_sparse_record, then its lines; of several records of a channel the last counts */
#pragma once

#include "sparse/state.h"

struct lw_sparse_record {
    int64_t channel, n_lines;
    struct lw_sparse_outcome outcome;
};

/** Host bytes that start allocates. */
int64_t lw_sparse_resume_bytes(const struct lw_sparse *run);

/** Hold the place of the result, a file without tables; take what an earlier run has left as what became of its channels, in
 * run->mine and run->all. LW_EIO, LW_EDATA, LW_ECONFIG, LW_ESYSTEM. Collective. */
int lw_sparse_resume_start(struct lw_sparse *run, struct lw_error *err);

/** At the end of a group of channels: a checkpoint, if it is due. LW_ESTOPPED, LW_EIO. Collective. */
int lw_sparse_checkpoint(struct lw_sparse *run, struct lw_error *err);

/** The search has ended with `rc`, the same on all ranks: keep what was found where a later run can go on. Collective.
 * @param err  in, out: an error that says that the run was stopped says what can be done */
void lw_sparse_resume_save(struct lw_sparse *run, int rc, struct lw_error *err);

void lw_sparse_resume_close(struct lw_sparse *run);
