/* stages.c - the method lw_sparse_stages of state.h: the lines of channels from the stages of sfft/sfft.h. Each rank reads the
 * wanted samples of its part of the axis, and has zeros for the others. A sum over ranks brings all samples to the channel's rank,
 * exactly, since one rank reads each. That rank recovers the lines. Channels that are not explained get further attempts. */

#include "base/integers.h"
#include "base/memory.h"
#include "base/select.h"
#include "sfft/probe.h"
#include "sparse/refine.h"

#include <inttypes.h>
#include <stdio.h>

struct stages {
    struct lw_sfft_layout *layout;
    struct lw_sfft_solver *solver;
    struct lw_sparse_refine refine;
    double *values;                 /* (re, im) of a group of channels with the first attempts, or of one channel with all */
    struct lw_sfft_samples samples; /* samples that this rank reads for the first n_listed attempts */
    int n_listed;
};

/* ---- probe before the search: the noise, from a few samples of some channels -------------------------------------------- */

/* Most channels that are probed, evenly spaced. */
enum { MOST_CHANNELS = 64 };

static int64_t count_tried(const struct lw_sparse *run) { return lw_min64(run->n_channels, MOST_CHANNELS); }

static struct lw_sfft_plan probe_plan(const struct lw_sparse *run)
{
    const struct lw_sfft_spec spec = lw_sparse_search_spec(&run->request);
    return lw_sfft_probe_plan(&spec);
}

static int64_t tried(const struct lw_sparse *run, int64_t i) { return i * run->n_channels / count_tried(run); }

/* Number of samples of a channel that the probe reads; 0 for channels that are not probed. */
static int64_t probe_samples(const struct lw_sparse *run, int64_t channel)
{
    const int64_t i = lw_divide_up(channel * count_tried(run), run->n_channels);
    return i < count_tried(run) && tried(run, i) == channel ? probe_plan(run).attempts[0].samples : 0;
}

/* Work space of a probe (sfft/probe.h). */
struct probing {
    struct lw_sfft_layout *layout;
    struct lw_sfft_samples samples;
    double *values;                 /* (re, im) of one channel */
    double snr_db[MOST_CHANNELS];   /* signal-to-noise ratios, 0 except on the channel's rank */
};

static int open_probing(struct lw_sparse *run, struct probing *probing, struct lw_error *err)
{
    const struct lw_sfft_plan plan = probe_plan(run);
    const struct lw_view_spec view = lw_sparse_view(run);
    int rc;
    if ((rc = lw_reader_select(run->setup.reader, &view, err)) || (rc = lw_sfft_layout_create(&plan, &probing->layout, err)))
        return rc;
    if (!(run->buffers = lw_alloc_array(run->n_buffers, (size_t)run->buffer_bytes, "samples", err)) ||
        !(probing->values = lw_alloc_array(plan.attempts[0].samples, 2 * sizeof *probing->values, "samples", err)))
        return LW_ESYSTEM;
    return lw_sparse_list(run, probing->layout, 1, &probing->samples, err);
}

static int try_channel(struct lw_sparse *run, struct probing *probing, int64_t i, struct lw_error *err)
{
    const int64_t channel = tried(run, i);
    struct lw_sfft_probe probe;
    const bool is_own = lw_sparse_owner(run, channel) == run->rank;
    int rc = lw_sparse_collect(run, &probing->samples, channel, is_own || !run->has_own_pieces ? 1 : 0, probing->values, err);
    if (rc || !is_own)
        return rc;
    lw_sparse_remove_not_finite(probing->values, probing->samples.total);
    rc = lw_sfft_probe(probing->layout, probing->values, &probe, err);
    probing->snr_db[i] = rc == LW_OK ? lw_sfft_probe_snr(&probe) : 0;
    return rc;
}

/* Measure the median signal-to-noise ratio of the probed channels in dB, the same on all ranks. Reads use the group and
 * block planned so far, and temporary buffers. Collective. LW_EIO, LW_EDATA, LW_ESYSTEM. */
static int measure_snr(struct lw_sparse *run, double *snr_db, struct lw_error *err)
{
    struct lw_comm *const comm = run->setup.comm;
    struct probing probing = {0};
    const int64_t count = count_tried(run);
    int rc = lw_comm_agree(comm, open_probing(run, &probing, err), err);
    for (int64_t i = 0; rc == LW_OK && i < count; i++)
        rc = lw_comm_agree(comm, try_channel(run, &probing, i, err), err);
    if (rc == LW_OK) {
        lw_comm_collect(comm, probing.snr_db, count, 0);
        lw_comm_broadcast(comm, probing.snr_db, count * (int64_t)sizeof *probing.snr_db);
        *snr_db = lw_select(probing.snr_db, count, (count - 1) / 2);
    }
    lw_sfft_layout_destroy(probing.layout);
    lw_sfft_samples_release(&probing.samples);
    lw_free(probing.values);
    lw_free(run->buffers);
    run->buffers = NULL;
    run->shown = 0;
    return rc;
}

/* ---- plan ---------------------------------------------------------------------------------------------------------- */

static void describe(struct lw_sparse *run)
{
    const struct lw_sfft_attempt *const first = &run->plan.attempts[0];
    char noise[40] = "";
    if (run->plan.spec.is_estimated)
        snprintf(noise, sizeof noise, "; noise at about %.0f dB", run->plan.spec.snr_db);
    char share[LW_SPARSE_SHARE_TEXT];
    snprintf(run->setup.algorithm, sizeof run->setup.algorithm, "sparse: %d stages of %" PRId64 " buckets, %d shifts; %" PRId64
             " samples, %s%s", first->n_stages, first->n_buckets, first->n_shifts, first->samples,
             lw_sparse_share_text(first->samples, run->request.spec.n, share), noise);
}

/* Plan again with the measured noise. Free memory never changes the plan of stages: another plan would find other lines. */
static int probe(struct lw_sparse *run, struct lw_error *err)
{
    double snr_db;
    if (run->plan.spec.has_snr)
        return LW_OK;
    const int rc = measure_snr(run, &snr_db, err);
    if (rc)
        return rc;
    const struct lw_sfft_spec spec = lw_sparse_search_spec(&run->request);
    run->plan = lw_sfft_plan_for(&spec, snr_db);
    describe(run);
    return LW_OK;
}

static int plan(struct lw_sparse *run, struct lw_error *err)
{
    const struct lw_sfft_spec spec = lw_sparse_search_spec(&run->request);
    run->plan = lw_sfft_plan_make(&spec);
    if (run->plan.n_attempts == 0 && run->request.algorithm == LW_SFFT_SPARSE)
        return lw_fail(err, LW_ECONFIG, "--algorithm sparse: %" PRId64 " lines of %" PRId64 " samples would take more than a "
                       "quarter of the samples%s; --algorithm auto or dense reads them all", run->request.spec.sparsity, spec.n,
                       run->request.refines ? ", as --refine searches for four times as many" : "");
    if (run->plan.n_attempts == 0) {
        run->method = NULL;
        return LW_OK;
    }
    describe(run);
    run->state = lw_alloc(sizeof(struct stages), "the search for lines", err);
    return run->state ? LW_OK : LW_ESYSTEM;
}

static int model(const struct lw_sfft_request *request, const struct lw_engine *engine, struct lw_sparse_work *work,
                 struct lw_error *err)
{
    const struct lw_sfft_spec spec = lw_sparse_search_spec(request);
    const struct lw_sfft_plan plan = lw_sfft_plan_make(&spec);
    const double samples = (double)plan.attempts[0].samples;
    (void)err;
    if (plan.n_attempts > 0)
        *work = (struct lw_sparse_work){engine->ops->sparse->pace, samples, samples};
    return LW_OK;
}

static int64_t values_of(const struct lw_sparse *run)
{
    return lw_max64(lw_sparse_attempt_samples(&run->plan, LW_SPARSE_FIRST_ATTEMPTS) * run->group,
                 lw_sparse_attempt_samples(&run->plan, LW_SFFT_ATTEMPTS));
}

/* Bytes of the samples that ranks sum, of this rank's sorted list, which may hold all samples, and of the engine. */
static struct lw_bytes count_bytes(const struct lw_sparse *run)
{
    const struct lw_engine *const engine = run->setup.engine;
    const int64_t all = lw_sparse_attempt_samples(&run->plan, LW_SFFT_ATTEMPTS);
    struct lw_bytes bytes = engine->ops->sparse->bytes(engine, &run->plan);
    bytes.host += bytes.pinned + values_of(run) * 2 * (int64_t)sizeof(double) + lw_sfft_samples_bytes(all);
    bytes.host += lw_sparse_refine_bytes(run) + (run->n_ranks > 1 ? 2 * LW_COLLECT_BYTES : 0);
    return bytes;
}

/* Attempts of the first pass. If the samples of the first attempt are so close that all gaps are read, everything is read. The
 * samples of the second attempt then need no other pass over the file. */
static int first_attempts(const struct lw_sparse *run)
{
    const int64_t distance = run->request.spec.n / run->plan.attempts[0].samples;
    return distance <= lw_sparse_gap(run) ? (int)lw_min64(LW_SPARSE_FIRST_ATTEMPTS, run->plan.n_attempts) : 1;
}

static int64_t first_samples(const struct lw_sparse *run)
{
    return lw_sparse_attempt_samples(&run->plan, first_attempts(run));
}

static int open_search(struct lw_sparse *run, struct lw_error *err)
{
    struct stages *const stages = run->state;
    struct lw_engine *const engine = run->setup.engine;
    stages->values = lw_alloc_array(values_of(run), 2 * sizeof *stages->values, "samples", err);
    if (!stages->values)
        return LW_ESYSTEM;
    int rc;
    if ((rc = lw_sfft_layout_create(&run->plan, &stages->layout, err)) ||
        (rc = lw_sparse_refine_create(run, stages->layout, &stages->refine, err)))
        return rc;
    return engine->ops->sparse->create(engine, stages->layout, &stages->solver, err);
}

static void end_search(struct lw_sparse *run)
{
    struct stages *const stages = run->state;
    lw_sfft_solver_destroy(stages->solver);
    lw_sparse_refine_release(&stages->refine);
    lw_sfft_layout_destroy(stages->layout);
    lw_free(stages->values);
    lw_sfft_samples_release(&stages->samples);
    *stages = (struct stages){0};
}

/* ---- search -------------------------------------------------------------------------------------------------------- */

/* List the samples of n_attempts attempts; one list serves all groups of channels. The first list is logged. Collective. */
static int list_samples(struct lw_sparse *run, int n_attempts, struct lw_error *err)
{
    struct stages *const stages = run->state;
    if (n_attempts == stages->n_listed)
        return LW_OK;
    lw_sfft_samples_release(&stages->samples);
    const int rc = lw_comm_agree(run->setup.comm, lw_sparse_list(run, stages->layout, n_attempts, &stages->samples, err), err);
    if (rc == LW_OK && stages->n_listed == 0) {
        const struct lw_sparse_reads reads = lw_sparse_count_reads(run, &stages->samples);
        lw_sparse_log_reads(run, &reads);
    }
    stages->n_listed = n_attempts;
    return rc;
}

/* Load the samples of an attempt's stages. Non-finite samples are counted once, when the channel first has this attempt. */
static int load(struct lw_sparse *run, int attempt, int64_t channel, double *values, struct lw_sparse_outcome *outcome,
                struct lw_error *err)
{
    const struct stages *const stages = run->state;
    struct lw_sfft_solver *const solver = stages->solver;
    int rc = LW_OK;
    for (int s = lw_sfft_first_stage(stages->layout, attempt); rc == LW_OK && s < lw_sfft_first_stage(stages->layout, attempt + 1);
         s++) {
        const int64_t n_samples = lw_sfft_stage_samples(&stages->layout->stages[s]);
        double *const samples = values + 2 * (int64_t)outcome->samples;
        const int64_t flaws = lw_sparse_remove_not_finite(samples, n_samples);
        if (attempt >= run->mine[channel].attempts)
            run->flaws.n_not_finite += flaws;
        rc = solver->ops->load(solver, s, samples, err);
        outcome->samples += (double)n_samples;
    }
    outcome->attempts = attempt + 1;
    return rc;
}

/* Recover one channel from its samples, with as few of the attempts as explain it. */
static int recover(struct lw_sparse *run, int n_attempts, int64_t channel, double *values, struct lw_error *err)
{
    struct stages *const stages = run->state;
    struct lw_sfft_solver *const solver = stages->solver;
    const bool refines = run->request.refines;
    struct lw_sfft_result result = {0};
    struct lw_sparse_outcome outcome = {0};
    for (int a = 0; a < n_attempts && !result.is_explained; a++) {
        /* the solver holds other samples after a refined attempt */
        int rc = refines ? lw_sparse_search_again(solver, a, values, &result, err) : LW_OK;
        rc = rc ? rc : load(run, a, channel, values, &outcome, err);
        rc = rc ? rc : solver->ops->recover(solver, a, &result, err);
        if (rc == LW_OK && refines)
            rc = lw_sparse_refine(run, &stages->refine, solver, a, values, &result, err);
        if (rc)
            return rc;
    }
    outcome.off_grid = refines ? lw_sparse_count_off_grid(&result) : lw_sparse_off_grid(&stages->refine, values, &result);
    outcome.is_refined = refines;
    if (!run->request.spec.has_snr)
        outcome.samples += (double)probe_samples(run, channel);
    lw_sparse_keep(run, channel, &result, outcome);
    return LW_OK;
}

static int collect_and_recover(struct lw_sparse *run, int n_attempts, int64_t channel, int64_t n_channels, struct lw_error *err)
{
    const struct stages *const stages = run->state;
    int rc;
    if ((rc = list_samples(run, n_attempts, err)) ||
        (rc = lw_sparse_collect(run, &stages->samples, channel, n_channels, stages->values, err)))
        return rc;
    const int64_t total = lw_sparse_attempt_samples(&run->plan, n_attempts);
    const double start = lw_now();
    for (int64_t c = 0; rc == LW_OK && c < n_channels; c++)
        if (lw_sparse_owner(run, channel + c) == run->rank)
            rc = recover(run, n_attempts, channel + c, stages->values + 2 * total * c, err);
    run->report.seconds[LW_SPARSE_COMPUTE] += lw_now() - start;
    rc = lw_comm_agree(run->setup.comm, rc, err);
    rc = rc ? rc : lw_sparse_check_finite(run, err);
    return rc ? rc : lw_sparse_checkpoint(run, err);
}

/* Consecutive channels to be searched together: of this rank, or of all ranks if ranks share the reading. */
struct group {
    int64_t begin, end;
};

static struct group next_group(const struct lw_sparse *run, int64_t from, int64_t most, int n_attempts)
{
    struct group group = {from, from};
    while (group.begin < run->own_end && lw_sparse_is_tried(run, group.begin, n_attempts))
        group.begin++;
    const int64_t rest = run->own_end - group.begin, in_piece = run->piece_channels - lw_sparse_input(run, group.begin);
    const int64_t limit = group.begin + lw_min64(most, lw_sparse_reads_each(run) ? rest : lw_min64(rest, in_piece));
    for (group.end = group.begin; group.end < limit && !lw_sparse_is_tried(run, group.end, n_attempts); group.end++)
        ;
    return group;
}

/* Make n_attempts attempts for all channels that need them. Ranks without channels left take part: the calls are collective. */
static int search_channels(struct lw_sparse *run, int n_attempts, int64_t most, struct lw_error *err)
{
    struct group group = next_group(run, run->own_begin, most, n_attempts);
    int rc = LW_OK;
    while (rc == LW_OK && lw_comm_max(run->setup.comm, group.end - group.begin) > 0) {
        rc = collect_and_recover(run, n_attempts, group.begin, group.end - group.begin, err);
        group = next_group(run, group.end, most, n_attempts);
    }
    return rc;
}

/* Write in words what the search sends if its first attempts explain all channels, but for checkpoints. */
static const char *traffic_text(const struct lw_sparse *run, char text[LW_TRAFFIC_TEXT])
{
    struct lw_traffic traffic = {0};
    const int64_t pieces = run->has_own_pieces ? lw_divide_up(run->n_pieces, run->n_ranks) : run->n_pieces;
    const int64_t groups = lw_sparse_reads_each(run) ? lw_divide_up(pieces * run->piece_channels, run->group)
                                                     : pieces * lw_divide_up(run->piece_channels, run->group);
    const int64_t summed = run->n_ranks > 1 && !run->has_own_pieces ? run->n_channels : 0;
    const int64_t samples = lw_sparse_attempt_samples(&run->plan, first_attempts(run)) * 2 * (int64_t)sizeof(double);
    const int64_t outcomes = run->n_channels * (int64_t)sizeof *run->all;
    /* The samples are listed once, and the reads summed. Groups agree when they are read and recovered. They find whether a rank
     * has a group, count samples that are not finite, and poll for a checkpoint. */
    lw_traffic_add(&traffic, run->n_ranks, 2 * groups + 1, 3 * groups + 2,
                   groups * (2 * (int64_t)sizeof(int64_t) + LW_CHECKPOINT_POLL_BYTES) +
                       (int64_t)(sizeof(struct lw_sparse_reads) + sizeof(int64_t)));
    lw_traffic_add(&traffic, run->n_ranks, 0, summed * lw_divide_up(samples, LW_COLLECT_BYTES), summed * samples);
    lw_traffic_add(&traffic, run->n_ranks, 0, lw_divide_up(outcomes, LW_COLLECT_BYTES) + lw_divide_up(outcomes, INT64_C(1) << 30),
                   2 * outcomes);       /* ranks add up the outcomes, and get the sums */
    return lw_traffic_text(&traffic, text);
}

static int search(struct lw_sparse *run, struct lw_error *err)
{
    char messages[LW_TRAFFIC_TEXT];
    lw_log_detail("messages planned: %s", traffic_text(run, messages));
    int n_attempts = first_attempts(run), rc = search_channels(run, n_attempts, run->group, err);
    if (rc == LW_OK)
        lw_sparse_share_outcomes(run);
    while (rc == LW_OK && n_attempts < run->plan.n_attempts && lw_sparse_add_up(run).unexplained > 0) {
        rc = search_channels(run, ++n_attempts, 1, err);     /* one channel at a time, with all its samples */
        if (rc == LW_OK)
            lw_sparse_share_outcomes(run);
    }
    return rc;
}

/* ---- for the plan command ------------------------------------------------------------------------------------------ */

static int print(struct lw_sparse *run, struct lw_planned *planned, struct lw_error *err)
{
    struct stages *const stages = run->state;
    const int n_attempts = first_attempts(run);
    int rc = lw_sfft_layout_create(&run->plan, &stages->layout, err);
    rc = lw_comm_agree(run->setup.comm, rc ? rc : lw_sparse_list(run, stages->layout, n_attempts, &stages->samples, err), err);
    if (rc)
        return rc;
    const struct lw_sparse_reads reads = lw_sparse_count_reads(run, &stages->samples);
    planned->read_bytes = reads.bytes;
    planned->seconds = lw_sparse_read_seconds(run, reads.reads, reads.bytes);
    if (!planned->prints)
        return LW_OK;
    char combined[24], messages[LW_TRAFFIC_TEXT];
    const int64_t values = run->n_ranks > 1 ? lw_sparse_attempt_samples(&run->plan, n_attempts) * 16 * run->n_channels : 0;
    for (int a = 0; a < run->plan.n_attempts; a++) {
        const struct lw_sfft_attempt *const attempt = &run->plan.attempts[a];
        printf("%-16s%d stages of %" PRId64 " buckets, %d shifts: %" PRId64 " samples a channel, %.3g%%\n",
               a == 0 ? "attempt" : "if not enough", attempt->n_stages, attempt->n_buckets, attempt->n_shifts,
               attempt->samples, 100 * (double)attempt->samples / (double)run->request.spec.n);
    }
    lw_sparse_print_reads(run, &reads);
    printf("%-16s%s a rank over MPI\n", "combines", lw_bytes_text(values, combined));
    lw_plan_row("messages", traffic_text(run, messages));
    return LW_OK;
}

const struct lw_sparse_method lw_sparse_stages = {
    .name = "sparse",
    .name_with_dense = "sparse and dense",
    .who = "the sparse transform",
    .remedy = "ask for a smaller --sparsity",
    .plan = plan,
    .model = model,
    .probe = probe,
    .bytes = count_bytes,
    .samples = first_samples,
    .open = open_search,
    .search = search,
    .print = print,
    .end = end_search,
};
