/* sparse.c - the order in which a sparse transform is made of a file: collect, recover, once more with all attempts
 * for what is not explained, then densely or not at all. Ranks agree on failure before each collective step. */
#include "run/sparse/sparse.h"

#include "base/integers.h"
#include "base/memory.h"
#include "run/sparse/published/published.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- plan ---------------------------------------------------------------------------------------------------------- */

int64_t lw_sfft_attempt_samples(const struct lw_sfft_plan *plan, int n_attempts)
{
    int64_t samples = 0;
    for (int a = 0; a < n_attempts && a < plan->n_attempts; a++)
        samples += plan->attempts[a].samples;
    return samples;
}

const char *lw_sfft_why_dense(const struct lw_sfft_flow *flow)
{
    return flow->request.algorithm == LW_SFFT_DENSE ? "--algorithm dense was given"
                                                    : "a sparse transform would take more than a quarter of the samples";
}

static void describe(struct lw_sfft_flow *flow)
{
    struct lw_op_plan *const op = &flow->setup.plan.op;
    const struct lw_sfft_attempt *const first = &flow->plan.attempts[0];
    if (lw_sfft_is_sparse(flow))
        snprintf(op->text, sizeof op->text, "sparse: %d stages of %" PRId64 " buckets, %d shifts; %" PRId64 " samples, "
                 "%.3g%% of the signal", first->n_stages, first->n_buckets, first->n_shifts, first->samples,
                 100 * (double)first->samples / (double)flow->request.spec.n);
    else
        snprintf(op->text, sizeof op->text, "dense: all %" PRId64 " samples", flow->request.spec.n);
}

static int make_plan(struct lw_sfft_flow *flow, struct lw_error *err)
{
    const struct lw_setup *const setup = &flow->setup;
    flow->request = setup->job.sfft;
    flow->n_channels = setup->job.op.n_channels;
    flow->rank = lw_comm_rank(setup->comm);
    flow->n_ranks = lw_comm_size(setup->comm);
    if (flow->request.algorithm == LW_SFFT_AUTO || flow->request.algorithm == LW_SFFT_SPARSE)
        flow->plan = lw_sfft_plan_make(&flow->request.spec);
    if (flow->request.algorithm == LW_SFFT_SPARSE && !lw_sfft_is_sparse(flow))
        return lw_fail(err, LW_ECONFIG, "--algorithm sparse: %" PRId64 " lines of %" PRId64 " samples would take more than a "
                       "quarter of the samples; --algorithm auto or dense reads them all", flow->request.spec.sparsity,
                       flow->request.spec.n);
    describe(flow);
    const int rc = lw_sfft_is_published(flow) ? lw_published_flow_plan(flow, err) : LW_OK;
    return rc ? rc : lw_sfft_memory_plan(flow, err);
}

/* ---- open ---------------------------------------------------------------------------------------------------------- */

static int allocate(struct lw_sfft_flow *flow, struct lw_error *err)
{
    const struct lw_op_spec *const op = &flow->setup.job.op;
    const int64_t own = (flow->n_channels + flow->n_ranks - 1) / flow->n_ranks;
    struct lw_engine *const engine = flow->setup.engine;
    const struct lw_view_spec view = lw_sfft_view(flow);
    int rc;
    if ((rc = lw_reader_select(flow->setup.reader, &view, err)))
        return rc;
    if (!(flow->buffer = lw_alloc_array(flow->group * flow->block, lw_type_bytes(op->input), "samples", err)) ||
        !(flow->values = lw_alloc_array(lw_sfft_values(flow), 2 * sizeof *flow->values, "samples", err)) ||
        !(flow->mine = lw_alloc_array(flow->n_channels, sizeof *flow->mine, "channels", err)) ||
        !(flow->all = lw_alloc_array(flow->n_channels, sizeof *flow->all, "channels", err)) ||
        !(flow->lines = lw_alloc_array(own * flow->request.spec.sparsity, sizeof *flow->lines, "lines", err)))
        return LW_ESYSTEM;
    if (lw_sfft_is_sparse(flow) && ((rc = lw_sfft_layout_create(&flow->plan, &flow->layout, err)) ||
                                    (rc = engine->ops->sparse->create(engine, flow->layout, &flow->solver, err))))
        return rc;
    return LW_OK;
}

static int open_flow(struct lw_sfft_flow *flow, struct lw_comm *comm, const struct lw_job_ops *ops,
                     const struct lw_options *options, struct lw_error *err)
{
    const int rc = lw_setup_open(comm, ops, options, &flow->setup, err);
    if (rc)
        return rc;
    lw_limits_find(comm, flow->setup.engine, lw_options_int(options, "memory"), lw_options_int(options, "gpu-memory"),
                   &flow->limits);
    return lw_comm_agree(comm, make_plan(flow, err), err);
}

/* What only the search for lines needs. */
static void end_search(struct lw_sfft_flow *flow)
{
    lw_sfft_solver_destroy(flow->solver);
    lw_sfft_layout_destroy(flow->layout);
    lw_free(flow->values);
    flow->solver = NULL;
    flow->layout = NULL;
    flow->values = NULL;
    lw_memory_trim();
}

static void close_flow(struct lw_sfft_flow *flow)
{
    end_search(flow);
    lw_free(flow->buffer);
    lw_free(flow->dense);
    lw_free(flow->mine);
    lw_free(flow->all);
    lw_free(flow->lines);
    lw_setup_close(&flow->setup);
}

/* ---- sparse -------------------------------------------------------------------------------------------------------- */

void lw_sfft_keep(struct lw_sfft_flow *flow, int64_t channel, const struct lw_sfft_result *result,
                  struct lw_sfft_outcome outcome)
{
    outcome.lines = (double)result->n_lines;
    outcome.residual = result->residual;
    outcome.noise_power = result->noise_power;
    outcome.detection_limit = result->detection_limit;
    outcome.is_explained = result->is_explained;
    flow->mine[channel] = outcome;
    struct lw_sfft_line *const lines = lw_sfft_lines_of(flow, channel);
    if (result->lines != lines)
        memcpy(lines, result->lines, (size_t)result->n_lines * sizeof *lines);
}

/* Recover one channel from its samples, with as many of the attempts as it takes. */
static int recover(struct lw_sfft_flow *flow, int n_attempts, int64_t channel, const double *values, struct lw_error *err)
{
    struct lw_sfft_solver *const solver = flow->solver;
    struct lw_sfft_result result = {0};
    struct lw_sfft_outcome outcome = {0};
    int rc = LW_OK;
    for (int a = 0; rc == LW_OK && a < n_attempts && !result.is_explained; a++) {
        const int begin = lw_sfft_first_stage(flow->layout, a), end = lw_sfft_first_stage(flow->layout, a + 1);
        for (int s = begin; rc == LW_OK && s < end; s++) {
            rc = solver->ops->load(solver, s, values + 2 * (int64_t)outcome.samples, err);
            outcome.samples += (double)lw_sfft_stage_samples(&flow->layout->stages[s]);
        }
        outcome.attempts = a + 1;
        if (rc == LW_OK)
            rc = solver->ops->recover(solver, a, &result, err);
    }
    if (rc == LW_OK)
        lw_sfft_keep(flow, channel, &result, outcome);
    return rc;
}

static int collect_and_recover(struct lw_sfft_flow *flow, int n_attempts, int64_t channel, int64_t n_channels,
                               struct lw_error *err)
{
    int rc = lw_sfft_collect(flow, n_attempts, channel, n_channels, err);
    if (rc)
        return rc;
    const int64_t total = lw_sfft_attempt_samples(&flow->plan, n_attempts);
    const double start = lw_now();
    for (int64_t c = 0; rc == LW_OK && c < n_channels; c++)
        if (lw_sfft_owner(flow, channel + c) == flow->rank)
            rc = recover(flow, n_attempts, channel + c, flow->values + 2 * total * c, err);
    flow->seconds_compute += lw_now() - start;
    return lw_comm_agree(flow->setup.comm, rc, err);
}

/* What became of all channels, on all ranks. */
void lw_sfft_share_outcomes(struct lw_sfft_flow *flow)
{
    const int64_t count = flow->n_channels * (int64_t)(sizeof *flow->all / sizeof(double));
    memcpy(flow->all, flow->mine, (size_t)flow->n_channels * sizeof *flow->all);
    lw_comm_collect(flow->setup.comm, (double *)flow->all, count, 0);
    lw_comm_broadcast(flow->setup.comm, flow->all, count * (int64_t)sizeof(double));
}

static int run_sparse(struct lw_sfft_flow *flow, struct lw_error *err)
{
    const int first_attempts = (int)min64(LW_SFFT_FIRST_ATTEMPTS, flow->plan.n_attempts);
    int rc = LW_OK;
    for (int64_t c = 0; rc == LW_OK && c < flow->n_channels; c += flow->group)
        rc = collect_and_recover(flow, first_attempts, c, min64(flow->group, flow->n_channels - c), err);
    if (rc)
        return rc;
    lw_sfft_share_outcomes(flow);
    for (int64_t c = 0; rc == LW_OK && first_attempts < flow->plan.n_attempts && c < flow->n_channels; c++)
        if (flow->all[c].is_explained == 0)
            rc = collect_and_recover(flow, flow->plan.n_attempts, c, 1, err);
    if (rc == LW_OK)
        lw_sfft_share_outcomes(flow);
    return rc;
}

/* ---- dense --------------------------------------------------------------------------------------------------------- */

static int transform_dense(struct lw_sfft_flow *flow, int64_t channel, struct lw_error *err)
{
    struct lw_sfft_result result;
    struct lw_sfft_outcome outcome = flow->mine[channel];
    struct lw_engine *const engine = flow->setup.engine;
    const int rc = engine->ops->dense->transform(engine, &flow->request.spec, flow->dense, lw_sfft_lines_of(flow, channel), &result,
                                           err);
    if (rc)
        return rc;
    outcome.is_dense = 1;
    outcome.samples = (double)flow->request.spec.n;
    lw_sfft_keep(flow, channel, &result, outcome);
    return LW_OK;
}

/* This rank's next channel from `from` on that is not explained; -1: none. */
int64_t lw_sfft_next_unexplained(const struct lw_sfft_flow *flow, int64_t from)
{
    for (int64_t c = from; c < flow->n_channels; c++)
        if (lw_sfft_owner(flow, c) == flow->rank && flow->all[c].is_explained == 0)
            return c;
    return -1;
}

static int run_dense(struct lw_sfft_flow *flow, struct lw_error *err)
{
    struct lw_comm *const comm = flow->setup.comm;
    const int64_t bytes = lw_sfft_dense_samples_bytes(flow->request.spec.n, flow->request.spec.is_real);
    end_search(flow);
    flow->dense = lw_alloc((size_t)bytes, "all samples of a channel", err);
    int rc = lw_comm_agree(comm, flow->dense ? LW_OK : LW_ESYSTEM, err);
    for (int64_t c = lw_sfft_next_unexplained(flow, 0); rc == LW_OK && lw_comm_max(comm, c) >= 0;
         c = c < 0 ? c : lw_sfft_next_unexplained(flow, c + 1)) {
        rc = lw_sfft_collect_dense(flow, c, err);
        const double start = lw_now();
        if (rc == LW_OK)
            rc = lw_comm_agree(comm, c >= 0 ? transform_dense(flow, c, err) : LW_OK, err);
        flow->seconds_compute += lw_now() - start;
    }
    if (rc == LW_OK)
        lw_sfft_share_outcomes(flow);
    return rc;
}

/* ---- all together -------------------------------------------------------------------------------------------------- */

static int64_t count_unexplained(const struct lw_sfft_flow *flow, double *residual)
{
    int64_t count = 0;
    *residual = 0;
    for (int64_t c = 0; c < flow->n_channels; c++) {
        if (flow->all[c].is_explained != 0)
            continue;
        count++;
        *residual = flow->all[c].residual > *residual ? flow->all[c].residual : *residual;
    }
    return count;
}

/* What --fallback says about channels that their lines do not explain. */
static int fall_back(struct lw_sfft_flow *flow, struct lw_error *err)
{
    double residual;
    const int64_t count = count_unexplained(flow, &residual);
    if (count == 0)
        return LW_OK;
    char why[160];
    snprintf(why, sizeof why, "%" PRId64 " of %" PRId64 " channels are not sparse: their lines leave up to %.3g%% of the energy",
             count, flow->n_channels, 100 * residual);
    switch (flow->request.fallback) {
    case LW_SFFT_FALL_PARTIAL:
        lw_log_warn("%s; the table holds what was found, and is marked", why);
        return LW_OK;
    case LW_SFFT_FALL_ERROR:
        return lw_fail(err, LW_EDATA, "%s (--fallback error)", why);
    case LW_SFFT_FALL_DENSE:
        break;
    }
    if (!lw_sfft_fits_dense(flow))
        return lw_sfft_refuse_dense(flow, why, err);
    lw_log_info("%s; falling back to the dense transform", why);
    return run_dense(flow, err);
}

static int compute(struct lw_sfft_flow *flow, struct lw_error *err)
{
    if (lw_sfft_is_sparse(flow) || lw_sfft_is_published(flow)) {
        const int rc = lw_sfft_is_published(flow) ? lw_published_flow_run(flow, err) : run_sparse(flow, err);
        return rc ? rc : fall_back(flow, err);
    }
    return run_dense(flow, err);
}

static void summarize(const struct lw_sfft_flow *flow)
{
    const int64_t peak = lw_comm_max(flow->setup.comm, lw_memory_peak_bytes());
    double lines = 0, dense = 0, attempts = 0, residual = 0;
    for (int64_t c = 0; c < flow->n_channels; c++) {
        lines += flow->all[c].lines;
        dense += flow->all[c].is_dense;
        attempts = flow->all[c].attempts > attempts ? flow->all[c].attempts : attempts;
        residual = flow->all[c].residual > residual ? flow->all[c].residual : residual;
    }
    char combined[24];
    lw_log_info("%.0f lines in %" PRId64 " channel%s; residual at most %.3g of the energy; %.0f attempt%s; %.0f channel%s dense",
                lines, flow->n_channels, flow->n_channels == 1 ? "" : "s", residual, attempts, attempts == 1 ? "" : "s", dense,
                dense == 1 ? "" : "s");
    lw_log_info("read %.3f s, combined %s in %.3f s, computed %.3f s (rank 0)", flow->seconds_read,
                lw_bytes_text(flow->bytes_combined, combined), flow->seconds_combine, flow->seconds_compute);
    lw_log_detail("peak memory of a rank: %s", lw_bytes_text(peak, combined));
    if (lw_sfft_is_published(flow))
        lw_published_flow_log(flow);
}

/* Of a channel, in the first pass. */
static int64_t first_samples(const struct lw_sfft_flow *flow)
{
    return lw_sfft_is_published(flow) ? flow->request.spec.n : lw_sfft_attempt_samples(&flow->plan, LW_SFFT_FIRST_ATTEMPTS);
}

int lw_sfft_run(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options,
                const char *command_line, struct lw_error *err)
{
    struct lw_sfft_flow flow = {0};
    int rc;
    if ((rc = open_flow(&flow, comm, ops, options, err)) ||
        (rc = lw_setup_check_output(&flow.setup, err)) ||
        (rc = lw_comm_agree(comm, allocate(&flow, err), err)))
        goto done;
    lw_log_info("%s: %s", ops->name, flow.setup.job.summary);
    lw_log_info("%s", flow.setup.plan.op.text);
    lw_progress_start(&flow.progress, first_samples(&flow) * flow.n_channels, 0);
    (void)((rc = compute(&flow, err)) ||
           (rc = lw_setup_check_inputs(&flow.setup, err)) ||
           (rc = lw_sfft_write(&flow, command_line, err)));
    lw_progress_end(&flow.progress);
    if (rc == LW_OK)
        summarize(&flow);
done:
    close_flow(&flow);
    return rc;
}

/* ---- plan command -------------------------------------------------------------------------------------------------- */

static void print_attempts(const struct lw_sfft_flow *flow)
{
    for (int a = 0; a < flow->plan.n_attempts; a++) {
        const struct lw_sfft_attempt *const attempt = &flow->plan.attempts[a];
        printf("%-16s%d stages of %" PRId64 " buckets, %d shifts: %" PRId64 " samples a channel, %.3g%%\n",
               a == 0 ? "attempt" : "if not enough", attempt->n_stages, attempt->n_buckets, attempt->n_shifts,
               attempt->samples, 100 * (double)attempt->samples / (double)flow->request.spec.n);
    }
}

/* Reads and their bytes, over all ranks, of the first pass. */
static int count_reads(const struct lw_sfft_flow *flow, int64_t *reads, int64_t *bytes,
                       struct lw_error *err)
{
    struct lw_sfft_samples samples;
    const struct lw_sfft_samples_spec spec = {
        .layout = flow->layout, .first_stage = 0,
        .end_stage = lw_sfft_first_stage(flow->layout, (int)min64(LW_SFFT_FIRST_ATTEMPTS, flow->plan.n_attempts)),
        .rank = flow->rank, .n_ranks = flow->n_ranks, .gap = lw_sfft_gap(flow), .longest = flow->block,
    };
    const int rc = lw_comm_agree(flow->setup.comm, lw_sfft_samples_create(&spec, &samples, err), err);
    if (rc == LW_OK) {
        const int64_t groups = (flow->n_channels + flow->group - 1) / flow->group;
        *reads = lw_comm_sum(flow->setup.comm, samples.n_spans) * groups;
        *bytes = lw_comm_sum(flow->setup.comm, samples.read) * flow->n_channels *
                 (int64_t)lw_type_bytes(flow->setup.job.op.input);
    }
    lw_sfft_samples_release(&samples);
    return rc;
}

static int print_sparse(struct lw_sfft_flow *flow, struct lw_error *err)
{
    int64_t reads = 0, bytes = 0;
    int rc = lw_comm_agree(flow->setup.comm, lw_sfft_layout_create(&flow->plan, &flow->layout, err), err);
    if (rc || (rc = count_reads(flow, &reads, &bytes, err)) || flow->rank != 0)
        return rc;
    char read[24], all[24], combined[24];
    const int64_t total = flow->request.spec.n * flow->n_channels * (int64_t)lw_type_bytes(flow->setup.job.op.input);
    const int64_t values = lw_sfft_attempt_samples(&flow->plan, LW_SFFT_FIRST_ATTEMPTS) * 16;
    print_attempts(flow);
    printf("%-16s%s of %s in %" PRId64 " reads, %" PRId64 " channel%s at a time\n", "reads", lw_bytes_text(bytes, read),
           lw_bytes_text(total, all), reads, flow->group, flow->group == 1 ? "" : "s");
    printf("%-16s%s a rank over MPI\n", "combines",
           lw_bytes_text(flow->n_ranks > 1 ? values * flow->n_channels : 0, combined));
    return LW_OK;
}

int lw_sfft_plan_command(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options,
                         struct lw_error *err)
{
    struct lw_sfft_flow flow = {0};
    int rc = open_flow(&flow, comm, ops, options, err);
    if (rc == LW_OK && flow.rank == 0) {
        const struct lw_job *const job = &flow.setup.job;
        char type[40], file[2 * LW_MAX_PATH], path[2 * LW_MAX_PATH];
        printf("%-16s%s\n%-16s%s:%s, %s, %" PRId64 " samples x %" PRId64 " channel%s, %s\n%-16s%s\n%-16s%s\n%-16s%s\n", "job",
               ops->name, "input", lw_escape(job->inputs[0].file, "", file, sizeof file),
               lw_escape(job->inputs[0].path, "", path, sizeof path), lw_type_text(job->op.input, type), job->n_samples,
               job->op.n_channels, job->op.n_channels == 1 ? "" : "s",
               job->op.layout == LW_TIME_FAST ? "time fast" : "time slow", "", job->summary, "engine", flow.setup.engine_text,
               "algorithm", flow.setup.plan.op.text);
    }
    if (rc == LW_OK && lw_sfft_is_sparse(&flow))
        rc = print_sparse(&flow, err);
    if (rc == LW_OK && flow.rank == 0 && lw_sfft_is_published(&flow))
        lw_published_flow_print(&flow);
    if (rc == LW_OK && flow.rank == 0)
        lw_sfft_memory_print(&flow);
    close_flow(&flow);
    return rc;
}
