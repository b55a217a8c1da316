/* published.c - the method lw_sparse_published of state.h, for `--algorithm sfft2`. Each rank reads a channel as a whole and
 * transforms it, once more with new random numbers if the lines do not explain it. */
#include "engine/published/solver.h"

#include "base/integers.h"
#include "base/memory.h"
#include "sparse/state.h"

#include <inttypes.h>
#include <stdio.h>

struct published {
    struct lw_published_plan plans[LW_PUBLISHED_ATTEMPTS];
    int n_plans;
    struct lw_published_profile profile;        /* sums over this rank's channels; at the end, on rank 0, over all */
};

static const char *window_name(const struct lw_published_plan *plan)
{
    return plan->choice.window == LW_PUBLISHED_GAUSSIAN ? "gaussian" : "dolph-chebyshev";
}

static int64_t samples_bytes(const struct lw_sparse *run)
{
    return lw_sfft_dense_samples_bytes(run->request.spec.n, run->request.spec.is_real);
}

/* Bytes of one attempt at a time, and of one whole channel. */
static struct lw_bytes count_bytes(const struct lw_sparse *run)
{
    const struct published *const state = run->state;
    const struct lw_engine *const engine = run->setup.engine;
    struct lw_bytes most = {0};
    for (int a = 0; a < state->n_plans; a++) {
        const struct lw_bytes bytes = engine->ops->published->bytes(engine, &state->plans[a]);
        most.host = lw_max64(most.host, bytes.host + bytes.pinned + lw_published_layout_bytes(&state->plans[a]));
        most.device = lw_max64(most.device, bytes.device);
    }
    most.host += samples_bytes(run);
    return most;
}

/* Warn if so many buckets are selected that most frequencies elected are no lines. */
static void warn_of_chance(const struct lw_published_plan *plan)
{
    const int64_t n_lines = plan->spec.is_real ? 2 * plan->spec.sparsity : plan->spec.sparsity;
    if (plan->n_selected > plan->choice.n_buckets / 2)
        lw_log_warn("--buckets %" PRId64 ": more than half, %" PRId64 ", are selected, so that chance elects some %.2g "
                    "frequencies; give %" PRId64 " or more",
                    plan->choice.n_buckets, plan->n_selected, plan->by_chance, 4 * n_lines);
}

/* ---- plan ---------------------------------------------------------------------------------------------------------- */

static int plan(struct lw_sparse *run, struct lw_error *err)
{
    struct published *const state = run->state = lw_alloc(sizeof *state, "the search for lines", err);
    if (!state)
        return LW_ESYSTEM;
    const struct lw_published_choice *const choice = run->request.published;
    const int rc = lw_published_plan_make(&run->request.spec, choice, 0, &state->plans[0], err);
    if (rc)
        return rc;
    state->n_plans = 1;
    while (state->n_plans < LW_PUBLISHED_ATTEMPTS &&
           lw_published_plan_make(&run->request.spec, choice, state->n_plans, &state->plans[state->n_plans], NULL) == LW_OK)
        state->n_plans++;
    const struct lw_published_plan *const plan = &state->plans[0];
    char share[LW_SPARSE_SHARE_TEXT];
    snprintf(run->setup.algorithm, sizeof run->setup.algorithm, "sfft2: %d + %d loops of %" PRId64 " buckets, %d of %d "
             "votes, %s; %" PRId64 " samples, %s", plan->choice.location_loops,
             plan->choice.estimation_loops, plan->choice.n_buckets, plan->choice.votes, plan->choice.location_loops,
             window_name(plan), plan->samples, lw_sparse_share_text(plan->samples, plan->spec.n, share));
    if (run->rank == 0)
        warn_of_chance(plan);
    return LW_OK;
}

static int model(const struct lw_sfft_request *request, const struct lw_engine *engine, struct lw_sparse_work *work,
                 struct lw_error *err)
{
    struct lw_published_plan plan;
    const int rc = lw_published_plan_make(&request->spec, request->published, 0, &plan, err);
    if (rc == LW_OK)
        *work = (struct lw_sparse_work){engine->ops->published->pace, (double)plan.samples, (double)request->spec.n};
    return rc;
}

static int print(struct lw_sparse *run, struct lw_planned *planned, struct lw_error *err)
{
    const struct published *const state = run->state;
    char share[LW_SPARSE_SHARE_TEXT];
    (void)err;
    if (!planned->prints)
        return LW_OK;
    for (int a = 0; a < state->n_plans; a++) {
        const struct lw_published_plan *const plan = &state->plans[a];
        printf("%-16s%d locating loops, %d estimating loops, 1 checking loop; %" PRId64 " buckets, windows of %" PRId64
               " taps; the largest %" PRId64 " buckets vote; a line needs %d votes", a == 0 ? "attempt" : "if not enough",
               plan->choice.location_loops, plan->choice.estimation_loops, plan->choice.n_buckets,
               2 * lw_published_window_half(plan) + 1, plan->n_selected, plan->choice.votes);
        if (plan->choice.comb > 0)
            printf("; %d combs of %" PRId64, plan->choice.comb_loops, plan->choice.comb);
        printf(": %" PRId64 " samples, %s\n", plan->samples, lw_sparse_share_text(plan->samples, plan->spec.n, share));
    }
    char read[24];
    printf("%-16s%s: all samples of a channel, by the rank that computes it\n", "reads",
           lw_bytes_text(run->request.spec.n * run->n_channels * (int64_t)lw_type_bytes(run->setup.job.op.input), read));
    return LW_OK;
}

/* ---- run ----------------------------------------------------------------------------------------------------------- */

static int transform(struct lw_sparse *run, struct lw_published_solver *solver, int attempt, int64_t channel, struct lw_error *err)
{
    struct published *const state = run->state;
    const struct lw_published_signal signal = {run->whole, run->request.spec.is_real};
    struct lw_sparse_outcome outcome = run->mine[channel];
    struct lw_sfft_result result;
    const double start = lw_now();
    const int rc = solver->ops->run(solver, &signal, &result, &state->profile, err);
    run->report.seconds[LW_SPARSE_COMPUTE] += lw_now() - start;
    if (rc)
        return rc;
    outcome.samples += (double)state->plans[attempt].samples;
    outcome.attempts = attempt + 1;
    lw_sparse_keep(run, channel, &result, outcome);
    return LW_OK;
}

static int run_attempt(struct lw_sparse *run, int attempt, struct lw_error *err)
{
    struct published *const state = run->state;
    struct lw_comm *const comm = run->setup.comm;
    struct lw_engine *const engine = run->setup.engine;
    struct lw_published_layout *layout = NULL;
    struct lw_published_solver *solver = NULL;
    int64_t c = lw_sparse_next_untried(run, 0, attempt + 1);
    int rc = lw_published_layout_create(&state->plans[attempt], attempt, &layout, err);
    rc = lw_comm_agree(comm, rc ? rc : engine->ops->published->create(engine, layout, &solver, err), err);
    while (rc == LW_OK && lw_comm_max(comm, c) >= 0) {
        rc = lw_sparse_collect_whole(run, c, err);
        if (rc == LW_OK)
            rc = lw_comm_agree(comm, c >= 0 ? transform(run, solver, attempt, c, err) : LW_OK, err);
        rc = rc ? rc : lw_sparse_checkpoint(run, err);
        run->shown += run->request.spec.n;
        lw_progress_show(&run->report.progress, run->shown * run->n_ranks);
        c = c < 0 ? c : lw_sparse_next_untried(run, c + 1, attempt + 1);
    }
    lw_published_solver_destroy(solver);
    lw_published_layout_destroy(layout);
    if (rc == LW_OK)
        lw_sparse_share_outcomes(run);
    return rc;
}

static int search(struct lw_sparse *run, struct lw_error *err)
{
    struct published *const state = run->state;
    int rc = LW_OK;
    for (int a = 0; rc == LW_OK && a < state->n_plans; a++)
        rc = run_attempt(run, a, err);
    if (rc == LW_OK)            /* sum the seconds of all ranks on rank 0 */
        lw_comm_collect(run->setup.comm, (double *)&state->profile, sizeof state->profile / sizeof(double), 0);
    return rc;
}

/* ---- what it did --------------------------------------------------------------------------------------------------- */

static void note(const struct lw_sparse *run, struct lw_job *job)
{
    const struct published *const state = run->state;
    const struct lw_published_plan *const plan = &state->plans[0];
    lw_job_note_text(job, "sfft2_window", window_name(plan));
    lw_job_note_int(job, "sfft2_buckets", plan->choice.n_buckets);
    lw_job_note_int(job, "sfft2_window_taps", 2 * lw_published_window_half(plan) + 1);
    lw_job_note_int(job, "sfft2_location_loops", plan->choice.location_loops);
    lw_job_note_int(job, "sfft2_estimation_loops", plan->choice.estimation_loops);
    lw_job_note_int(job, "sfft2_votes", plan->choice.votes);
#define X(step) lw_job_note_real(job, "sfft2_" #step "_s", state->profile.step);
    LW_PUBLISHED_STEPS(X)
#undef X
}

static void log_steps(const struct lw_sparse *run)
{
    const struct published *const state = run->state;
#define X(step) lw_log_detail("sfft2 %-10s%.6f s (all channels)", #step, state->profile.step);
    LW_PUBLISHED_STEPS(X)
#undef X
}

static int64_t all_samples(const struct lw_sparse *run) { return run->request.spec.n; }

static int open_search(struct lw_sparse *run, struct lw_error *err)
{
    run->whole = lw_alloc((size_t)samples_bytes(run), "all samples of a channel", err);
    return run->whole ? LW_OK : LW_ESYSTEM;
}

static void end_search(struct lw_sparse *run)
{
    lw_free(run->whole);
    run->whole = NULL;
}

const struct lw_sparse_method lw_sparse_published = {
    .name = "sfft2",
    .name_with_dense = "sfft2 and dense",
    .who = "--algorithm sfft2, which reads whole channels,",
    .remedy = "give --algorithm sparse, which reads little",
    .plan = plan,
    .model = model,
    .bytes = count_bytes,
    .samples = all_samples,
    .open = open_search,
    .search = search,
    .print = print,
    .note = note,
    .log = log_steps,
    .end = end_search,
};
