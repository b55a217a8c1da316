#include "sparse/dense.h"

#include "base/memory.h"
#include "sfft/tones/dense_fit.h"
#include "sparse/collect.h"
#include "sparse/outcome.h"
#include "sparse/refine.h"
#include "sparse/resume.h"

static int transform(struct lw_sparse *run, int64_t channel, struct lw_error *err)
{
    struct lw_sfft_result result;
    struct lw_sparse_outcome outcome = run->mine[channel];
    struct lw_engine *const engine = run->setup.engine;
    struct lw_sfft_spec spec = run->request.spec;
    bool is_refined = false;
    spec.wants_spectrum = run->request.refines && lw_sfft_spectrum_is_fitted(&spec);
    int rc = engine->ops->dense->transform(engine, &spec, run->whole, lw_sparse_lines_of(run, channel), &result, err);
    if (rc == LW_OK && spec.wants_spectrum)
        rc = lw_sfft_spectrum_refine(&spec, run->whole, engine->n_workers, &result, &is_refined, err);
    if (rc)
        return rc;
    if (run->request.refines)
        outcome.off_grid = lw_sparse_count_off_grid(&result);
    outcome.is_refined = is_refined;
    outcome.is_dense = 1;
    outcome.samples = (double)run->request.spec.n;
    lw_sparse_keep(run, channel, &result, outcome);
    return LW_OK;
}

int lw_sparse_dense(struct lw_sparse *run, struct lw_error *err)
{
    struct lw_comm *const comm = run->setup.comm;
    const int64_t bytes = lw_sfft_dense_samples_bytes(run->request.spec.n, run->request.spec.is_real);
    run->whole = lw_alloc((size_t)bytes, "all samples of a channel", err);
    int rc = lw_comm_agree(comm, run->whole ? LW_OK : LW_ESYSTEM, err);
    for (int64_t c = lw_sparse_next_unexplained(run, 0); rc == LW_OK && lw_comm_max(comm, c) >= 0;
         c = c < 0 ? c : lw_sparse_next_unexplained(run, c + 1)) {
        rc = lw_sparse_collect_whole(run, c, err);
        const double start = lw_now();
        if (rc == LW_OK)
            rc = lw_comm_agree(comm, c >= 0 ? transform(run, c, err) : LW_OK, err);
        run->report.seconds[LW_SPARSE_COMPUTE] += lw_now() - start;
        rc = rc ? rc : lw_sparse_checkpoint(run, err);
    }
    if (rc == LW_OK)
        lw_sparse_share_outcomes(run);
    return rc;
}
