#include "run/sparse/stages.h"

#include "base/integers.h"
#include "base/memory.h"
#include "run/sparse/collect.h"
#include "run/sparse/outcome.h"

#include <inttypes.h>
#include <stdio.h>

struct stages {
    struct lw_sfft_layout *layout;
    struct lw_sfft_solver *solver;
    double *values;                 /* of a group of channels with the first attempts, or of one with all: (re, im) */
};

int64_t lw_sparse_attempt_samples(const struct lw_sfft_plan *plan, int n_attempts)
{
    int64_t samples = 0;
    for (int a = 0; a < n_attempts && a < plan->n_attempts; a++)
        samples += plan->attempts[a].samples;
    return samples;
}

/* ---- plan ---------------------------------------------------------------------------------------------------------- */

static void describe(struct lw_sparse *run)
{
    const struct lw_sfft_attempt *const first = &run->plan.attempts[0];
    snprintf(run->setup.algorithm, sizeof run->setup.algorithm, "sparse: %d stages of %" PRId64 " buckets, %d shifts; %" PRId64
             " samples, %.3g%% of the signal", first->n_stages, first->n_buckets, first->n_shifts, first->samples,
             100 * (double)first->samples / (double)run->request.spec.n);
}

static int plan(struct lw_sparse *run, struct lw_error *err)
{
    run->plan = lw_sfft_plan_make(&run->request.spec);
    if (run->plan.n_attempts == 0 && run->request.algorithm == LW_SFFT_SPARSE)
        return lw_fail(err, LW_ECONFIG, "--algorithm sparse: %" PRId64 " lines of %" PRId64 " samples would take more than a "
                       "quarter of the samples; --algorithm auto or dense reads them all", run->request.spec.sparsity,
                       run->request.spec.n);
    if (run->plan.n_attempts == 0) {
        run->method = NULL;
        return LW_OK;
    }
    describe(run);
    run->state = lw_alloc(sizeof(struct stages), "the search for lines", err);
    return run->state ? LW_OK : LW_ESYSTEM;
}

static int64_t values_of(const struct lw_sparse *run)
{
    return max64(lw_sparse_attempt_samples(&run->plan, LW_SPARSE_FIRST_ATTEMPTS) * run->group,
                 lw_sparse_attempt_samples(&run->plan, LW_SFFT_ATTEMPTS));
}

/* Samples that ranks sum, the sorted list of those that this rank reads, which may be all of them, and the engine's part. */
static struct lw_bytes count_bytes(const struct lw_sparse *run)
{
    const struct lw_engine *const engine = run->setup.engine;
    const int64_t all = lw_sparse_attempt_samples(&run->plan, LW_SFFT_ATTEMPTS);
    struct lw_bytes bytes = engine->ops->sparse->bytes(engine, &run->plan);
    bytes.host += bytes.pinned + values_of(run) * 2 * (int64_t)sizeof(double) + lw_sfft_samples_bytes(all);
    bytes.host += run->n_ranks > 1 ? 2 * LW_COLLECT_BYTES : 0;
    return bytes;
}

static int64_t first_samples(const struct lw_sparse *run)
{
    return lw_sparse_attempt_samples(&run->plan, LW_SPARSE_FIRST_ATTEMPTS);
}

static int open_search(struct lw_sparse *run, struct lw_error *err)
{
    struct stages *const stages = run->state;
    struct lw_engine *const engine = run->setup.engine;
    stages->values = lw_alloc_array(values_of(run), 2 * sizeof *stages->values, "samples", err);
    if (!stages->values)
        return LW_ESYSTEM;
    const int rc = lw_sfft_layout_create(&run->plan, &stages->layout, err);
    return rc ? rc : engine->ops->sparse->create(engine, stages->layout, &stages->solver, err);
}

static void end_search(struct lw_sparse *run)
{
    struct stages *const stages = run->state;
    lw_sfft_solver_destroy(stages->solver);
    lw_sfft_layout_destroy(stages->layout);
    lw_free(stages->values);
    *stages = (struct stages){0};
}

/* ---- search -------------------------------------------------------------------------------------------------------- */

/* Recover one channel from its samples, with as many of the attempts as it takes. */
static int recover(struct lw_sparse *run, int n_attempts, int64_t channel, const double *values, struct lw_error *err)
{
    const struct stages *const stages = run->state;
    struct lw_sfft_solver *const solver = stages->solver;
    struct lw_sfft_result result = {0};
    struct lw_sparse_outcome outcome = {0};
    int rc = LW_OK;
    for (int a = 0; rc == LW_OK && a < n_attempts && !result.is_explained; a++) {
        const int begin = lw_sfft_first_stage(stages->layout, a), end = lw_sfft_first_stage(stages->layout, a + 1);
        for (int s = begin; rc == LW_OK && s < end; s++) {
            rc = solver->ops->load(solver, s, values + 2 * (int64_t)outcome.samples, err);
            outcome.samples += (double)lw_sfft_stage_samples(&stages->layout->stages[s]);
        }
        outcome.attempts = a + 1;
        if (rc == LW_OK)
            rc = solver->ops->recover(solver, a, &result, err);
    }
    if (rc == LW_OK)
        lw_sparse_keep(run, channel, &result, outcome);
    return rc;
}

static int collect_and_recover(struct lw_sparse *run, int n_attempts, int64_t channel, int64_t n_channels,
                               struct lw_error *err)
{
    const struct stages *const stages = run->state;
    int rc = lw_sparse_collect(run, stages->layout, n_attempts, channel, n_channels, stages->values, err);
    if (rc)
        return rc;
    const int64_t total = lw_sparse_attempt_samples(&run->plan, n_attempts);
    const double start = lw_now();
    for (int64_t c = 0; rc == LW_OK && c < n_channels; c++)
        if (lw_sparse_owner(run, channel + c) == run->rank)
            rc = recover(run, n_attempts, channel + c, stages->values + 2 * total * c, err);
    run->report.seconds[LW_SPARSE_COMPUTE] += lw_now() - start;
    return lw_comm_agree(run->setup.comm, rc, err);
}

static int search(struct lw_sparse *run, struct lw_error *err)
{
    const int first_attempts = (int)min64(LW_SPARSE_FIRST_ATTEMPTS, run->plan.n_attempts);
    int rc = LW_OK;
    for (int64_t c = 0; rc == LW_OK && c < run->n_channels; c += run->group)
        rc = collect_and_recover(run, first_attempts, c, min64(run->group, run->n_channels - c), err);
    if (rc)
        return rc;
    lw_sparse_share_outcomes(run);
    for (int64_t c = 0; rc == LW_OK && first_attempts < run->plan.n_attempts && c < run->n_channels; c++)
        if (run->all[c].is_explained == 0)
            rc = collect_and_recover(run, run->plan.n_attempts, c, 1, err);
    if (rc == LW_OK)
        lw_sparse_share_outcomes(run);
    return rc;
}

/* ---- in words ------------------------------------------------------------------------------------------------------ */

static void print_attempts(const struct lw_sparse *run)
{
    for (int a = 0; a < run->plan.n_attempts; a++) {
        const struct lw_sfft_attempt *const attempt = &run->plan.attempts[a];
        printf("%-16s%d stages of %" PRId64 " buckets, %d shifts: %" PRId64 " samples a channel, %.3g%%\n",
               a == 0 ? "attempt" : "if not enough", attempt->n_stages, attempt->n_buckets, attempt->n_shifts,
               attempt->samples, 100 * (double)attempt->samples / (double)run->request.spec.n);
    }
}

/* Reads and their bytes, over all ranks, of the first pass. */
static int count_reads(const struct lw_sparse *run, const struct lw_sfft_layout *layout, int64_t *reads, int64_t *bytes,
                       struct lw_error *err)
{
    struct lw_sfft_samples samples;
    const int n_attempts = (int)min64(LW_SPARSE_FIRST_ATTEMPTS, run->plan.n_attempts);
    const struct lw_sfft_samples_spec spec = lw_sparse_wanted(run, layout, n_attempts);
    const int rc = lw_comm_agree(run->setup.comm, lw_sfft_samples_create(&spec, &samples, err), err);
    if (rc == LW_OK) {
        const int64_t groups = divide_up(run->n_channels, run->group);
        *reads = lw_comm_sum(run->setup.comm, samples.n_spans) * groups;
        *bytes = lw_comm_sum(run->setup.comm, samples.read) * run->n_channels *
                 (int64_t)lw_type_bytes(run->setup.job.op.input);
    }
    lw_sfft_samples_release(&samples);
    return rc;
}

static int print(struct lw_sparse *run, struct lw_error *err)
{
    struct stages *const stages = run->state;
    int64_t reads = 0, bytes = 0;
    int rc = lw_comm_agree(run->setup.comm, lw_sfft_layout_create(&run->plan, &stages->layout, err), err);
    if (rc || (rc = count_reads(run, stages->layout, &reads, &bytes, err)) || run->rank != 0)
        return rc;
    char read[24], all[24], combined[24];
    const int64_t total = run->request.spec.n * run->n_channels * (int64_t)lw_type_bytes(run->setup.job.op.input);
    const int64_t values = lw_sparse_attempt_samples(&run->plan, LW_SPARSE_FIRST_ATTEMPTS) * 16;
    print_attempts(run);
    printf("%-16s%s of %s in %" PRId64 " reads, %" PRId64 " channel%s at a time\n", "reads", lw_bytes_text(bytes, read),
           lw_bytes_text(total, all), reads, run->group, run->group == 1 ? "" : "s");
    printf("%-16s%s a rank over MPI\n", "combines",
           lw_bytes_text(run->n_ranks > 1 ? values * run->n_channels : 0, combined));
    return LW_OK;
}

const struct lw_sparse_method lw_sparse_stages = {
    .name = "sparse",
    .name_with_dense = "sparse and dense",
    .who = "the sparse transform",
    .remedy = "ask for a smaller --sparsity",
    .plan = plan,
    .bytes = count_bytes,
    .samples = first_samples,
    .open = open_search,
    .search = search,
    .print = print,
    .end = end_search,
};
