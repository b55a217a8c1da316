#include "run/sparse/published/published.h"

#include "base/integers.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *window_name(const struct lw_published_plan *plan)
{
    return plan->choice.window == LW_PUBLISHED_GAUSSIAN ? "gaussian" : "dolph-chebyshev";
}

static int64_t samples_bytes(const struct lw_sfft_flow *flow)
{
    return lw_sfft_dense_samples_bytes(flow->request.spec.n, flow->request.spec.is_real);
}

/* One attempt at a time, and a channel whole. */
struct lw_bytes lw_published_flow_bytes(const struct lw_sfft_flow *flow)
{
    const struct lw_engine *const engine = flow->setup.engine;
    struct lw_bytes most = {0};
    for (int a = 0; a < flow->n_voting; a++) {
        const struct lw_bytes bytes = engine->ops->published->bytes(engine, &flow->voting[a]);
        most.host = max64(most.host, bytes.host + bytes.pinned + lw_published_layout_bytes(&flow->voting[a]));
        most.device = max64(most.device, bytes.device);
    }
    most.host += samples_bytes(flow);
    return most;
}

/* ---- plan ---------------------------------------------------------------------------------------------------------- */

static int check_binning(const struct lw_sfft_flow *flow, struct lw_error *err)
{
    const char *const engine = flow->setup.engine->ops->name;
    if (flow->voting[0].choice.ways.binning == LW_PUBLISHED_SERIAL && strcmp(engine, "cpu") != 0)
        return lw_fail(err, LW_ECONFIG, "--binning serial, a loop by one thread, is for --engine cpu, not for %s", engine);
    return LW_OK;
}

int lw_published_flow_plan(struct lw_sfft_flow *flow, struct lw_error *err)
{
    const struct lw_published_choice *const choice = &flow->setup.job.sfft2;
    int rc = lw_published_plan_make(&flow->request.spec, choice, 0, &flow->voting[0], err);
    if (rc)
        return rc;
    flow->n_voting = 1;
    while (flow->n_voting < LW_PUBLISHED_ATTEMPTS &&
           lw_published_plan_make(&flow->request.spec, choice, flow->n_voting, &flow->voting[flow->n_voting], NULL) == LW_OK)
        flow->n_voting++;
    if ((rc = check_binning(flow, err)))
        return rc;
    const struct lw_published_plan *const plan = &flow->voting[0];
    snprintf(flow->setup.plan.op.text, sizeof flow->setup.plan.op.text, "sfft2: %d + %d loops of %" PRId64 " buckets, %d of %d "
             "votes, %s; %" PRId64 " samples, %.3g%% of the signal", plan->choice.location_loops,
             plan->choice.estimation_loops, plan->choice.n_buckets, plan->choice.votes, plan->choice.location_loops,
             window_name(plan), plan->samples, 100 * (double)plan->samples / (double)plan->spec.n);
    return LW_OK;
}

void lw_published_flow_print(const struct lw_sfft_flow *flow)
{
    for (int a = 0; a < flow->n_voting; a++) {
        const struct lw_published_plan *const plan = &flow->voting[a];
        printf("%-16s%d loops that locate, %d more that estimate, 1 that checks; %" PRId64 " buckets, windows of %" PRId64
               " taps; the largest %" PRId64 " buckets vote, %d votes elect", a == 0 ? "attempt" : "if not enough",
               plan->choice.location_loops, plan->choice.estimation_loops, plan->choice.n_buckets,
               2 * lw_published_window_half(plan) + 1, plan->n_selected, plan->choice.votes);
        if (plan->choice.comb > 0)
            printf("; %d combs of %" PRId64, plan->choice.comb_loops, plan->choice.comb);
        printf(": %" PRId64 " samples, %.3g%%\n", plan->samples, 100 * (double)plan->samples / (double)plan->spec.n);
    }
    char read[24];
    printf("%-16s%s: all samples of a channel, by the rank that computes it\n", "reads",
           lw_bytes_text(flow->request.spec.n * flow->n_channels * (int64_t)lw_type_bytes(flow->setup.job.op.input), read));
}

/* ---- run ----------------------------------------------------------------------------------------------------------- */

static int transform(struct lw_sfft_flow *flow, struct lw_published_solver *solver, int attempt, int64_t channel,
                     struct lw_error *err)
{
    const struct lw_published_signal signal = {flow->dense, flow->request.spec.is_real};
    struct lw_sfft_outcome outcome = flow->mine[channel];
    struct lw_sfft_result result;
    const double start = lw_now();
    const int rc = solver->ops->run(solver, &signal, &result, &flow->profile, err);
    flow->seconds_compute += lw_now() - start;
    if (rc)
        return rc;
    outcome.samples += (double)flow->voting[attempt].samples;
    outcome.attempts = attempt + 1;
    lw_sfft_keep(flow, channel, &result, outcome);
    return LW_OK;
}

static int run_attempt(struct lw_sfft_flow *flow, int attempt, struct lw_error *err)
{
    struct lw_comm *const comm = flow->setup.comm;
    struct lw_engine *const engine = flow->setup.engine;
    struct lw_published_layout *layout = NULL;
    struct lw_published_solver *solver = NULL;
    int64_t c = lw_sfft_next_unexplained(flow, 0);
    int rc = lw_published_layout_create(&flow->voting[attempt], attempt, &layout, err);
    rc = lw_comm_agree(comm, rc ? rc : engine->ops->published->create(engine, layout, &solver, err), err);
    while (rc == LW_OK && lw_comm_max(comm, c) >= 0) {
        rc = lw_sfft_collect_dense(flow, c, err);
        if (rc == LW_OK)
            rc = lw_comm_agree(comm, c >= 0 ? transform(flow, solver, attempt, c, err) : LW_OK, err);
        flow->shown += flow->request.spec.n;
        lw_progress_show(&flow->progress, flow->shown * flow->n_ranks);
        c = c < 0 ? c : lw_sfft_next_unexplained(flow, c + 1);
    }
    lw_published_solver_destroy(solver);
    lw_published_layout_destroy(layout);
    if (rc == LW_OK)
        lw_sfft_share_outcomes(flow);
    return rc;
}

/* The seconds of all ranks on the first. */
static void sum_profile(struct lw_sfft_flow *flow)
{
    lw_comm_collect(flow->setup.comm, (double *)&flow->profile, sizeof flow->profile / sizeof(double), 0);
}

int lw_published_flow_run(struct lw_sfft_flow *flow, struct lw_error *err)
{
    flow->dense = lw_alloc((size_t)samples_bytes(flow), "all samples of a channel", err);
    int rc = lw_comm_agree(flow->setup.comm, flow->dense ? LW_OK : LW_ESYSTEM, err);
    for (int a = 0; rc == LW_OK && a < flow->n_voting; a++)
        rc = run_attempt(flow, a, err);
    lw_free(flow->dense);
    flow->dense = NULL;
    if (rc == LW_OK)
        sum_profile(flow);
    return rc;
}

/* ---- what it did --------------------------------------------------------------------------------------------------- */

void lw_published_flow_note(const struct lw_sfft_flow *flow, struct lw_job *job)
{
    const struct lw_published_plan *const plan = &flow->voting[0];
    lw_job_note_text(job, "sfft2_window", window_name(plan));
    lw_job_note_int(job, "sfft2_buckets", plan->choice.n_buckets);
    lw_job_note_int(job, "sfft2_window_taps", 2 * lw_published_window_half(plan) + 1);
    lw_job_note_int(job, "sfft2_location_loops", plan->choice.location_loops);
    lw_job_note_int(job, "sfft2_estimation_loops", plan->choice.estimation_loops);
    lw_job_note_int(job, "sfft2_votes", plan->choice.votes);
#define X(step) lw_job_note_real(job, "sfft2_" #step "_s", flow->profile.step);
    LW_PUBLISHED_STEPS(X)
#undef X
}

void lw_published_flow_log(const struct lw_sfft_flow *flow)
{
#define X(step) lw_log_detail("sfft2 %-10s%.6f s (all channels)", #step, flow->profile.step);
    LW_PUBLISHED_STEPS(X)
#undef X
}
