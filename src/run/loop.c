/* loop.c - the loop in which reading, halo exchange, computing and writing meet.
 *
 * Every rank takes the same steps in the same order. In round r it reads its slice into a free slot, gets its halo from the
 * rank before it (rank 0: the carry of round r - 1, at the start the prologue), and hands the slot to the engine. When all
 * slots are out, it first waits for the oldest and hands its products to the sinks: so the engine computes round r while the
 * main thread writes round r - depth + 1 and reads round r + 1. Ranks agree on failure before each collective step. */
#include "run/loop.h"

#include "base/memory.h"
#include "run/pipeline.h"
#include "run/timeline.h"

#include <inttypes.h>
#include <stdio.h>

struct lw_loop {
    struct lw_setup *setup;
    const struct lw_plan *plan;
    struct lw_report *report;
    struct lw_sinks sinks;
    struct lw_listeners listeners;
    struct lw_window *window;
    struct lw_halo *halo;
    struct lw_pipeline *pipeline;
    struct lw_flaws flaws;              /* boundary copies of samples are not counted */
    struct lw_written written;
};

/* ---- before the first round ---------------------------------------------------------------------------------------- */

static int open_buffers(struct lw_loop *loop, struct lw_error *err)
{
    struct lw_setup *const setup = loop->setup;
    const struct lw_plan *const plan = loop->plan;
    const struct lw_view_spec view = lw_plan_view(plan, &setup->job);
    const struct lw_window_spec window = lw_plan_window(plan, &setup->job, setup->reader);
    const struct lw_halo_spec halo = lw_plan_halo(plan, &setup->job);
    int rc;
    if ((rc = lw_reader_select(setup->reader, &view, err)) ||
        (rc = lw_window_create(&window, &loop->window, err)) ||
        (rc = lw_halo_create(setup->comm, &halo, &loop->halo, err)) ||
        (rc = lw_pipeline_create(setup->engine, &setup->job.op, &plan->op, plan->rounds.slice, plan->rounds.group,
                                 plan->depth, &loop->pipeline, err)))
        return rc;
    return LW_OK;
}

int lw_loop_create(const struct lw_loop_spec *spec, struct lw_loop **out, struct lw_error *err)
{
    struct lw_loop *const loop = lw_alloc(sizeof *loop, "the loop", err);
    if (!loop)
        return LW_ESYSTEM;
    const struct lw_job *const job = &spec->setup->job;
    *loop = (struct lw_loop){
        .setup = spec->setup, .plan = spec->plan, .report = spec->report, .listeners = spec->listeners,
        .sinks = {job, &spec->plan->op, spec->writer},
        .written.all_outputs = job->n_outputs * job->op.n_channels,
    };
    const int rc = open_buffers(loop, err);
    if (rc)
        lw_loop_destroy(loop);
    else
        *out = loop;
    return rc;
}

void lw_loop_destroy(struct lw_loop *loop)
{
    if (!loop)
        return;
    lw_pipeline_destroy(loop->pipeline);
    lw_halo_destroy(loop->halo);
    lw_window_destroy(loop->window);
    lw_free(loop);
}

const struct lw_flaws *lw_loop_flaws(const struct lw_loop *loop)
{
    return &loop->flaws;
}

/* ---- one round ----------------------------------------------------------------------------------------------------- */

/* Non-finite samples of a part of the window that the engine does not count as a slice's own (the prologue), or counts
 * although they are copies that the boundary made. */
static int64_t count_not_finite(const struct lw_loop *loop, const struct lw_window_part *part, int64_t begin, int64_t end)
{
    const struct lw_op_spec *const op = &loop->setup->job.op;
    const bool slow = op->layout == LW_TIME_SLOW;
    const int64_t n_rows = slow ? 1 : part->n_channels;
    const int64_t width = slow ? part->n_channels : loop->plan->op.input_width;
    int64_t found = 0, lowest;
    for (int64_t row = 0; begin < end && row < n_rows; row++) {
        const int64_t index = (row * part->into_axis + part->into_first + begin - part->begin) * width;
        const char *const samples = (const char *)part->into + (size_t)index * lw_type_bytes(op->input);
        found += lw_type_not_finite(op->input, op->precision, samples, (end - begin) * width, &lowest);
    }
    return found;
}

/* The samples before the first slice: boundary samples, and those by which the window runs ahead. */
static int read_prologue(struct lw_loop *loop, const struct lw_block *block, struct lw_error *err)
{
    const struct lw_job *const job = &loop->setup->job;
    const int64_t length = loop->plan->op.halo;
    const struct lw_window_part part = {
        .begin = job->look_ahead - length, .end = job->look_ahead, .channel = block->channel, .n_channels = block->n_channels,
        .into = lw_halo_carry(loop->halo), .into_axis = length,
    };
    const int rc = lw_window_read(loop->window, &part, err);
    if (rc)
        return rc;
    const int64_t last = part.end < job->n_samples ? part.end : job->n_samples;
    const int64_t bad = count_not_finite(loop, &part, part.begin > 0 ? part.begin : 0, last);
    loop->flaws.n_not_finite += bad;
    if (bad > 0 && job->op.nan == LW_NAN_ERROR)
        return lw_fail(err, LW_EDATA, "%" PRId64 " of the first %" PRId64 " samples of %s:%s are not finite; to go on, give "
                       "--nan propagate or --nan zero", bad, last * loop->plan->op.input_width, job->inputs[0].file,
                       job->inputs[0].path);
    return LW_OK;
}

static int read_slice(struct lw_loop *loop, const struct lw_block *block, struct lw_slot *slot, struct lw_error *err)
{
    const struct lw_job *const job = &loop->setup->job;
    const int64_t length = loop->plan->op.halo;
    struct lw_window_part part = {.into = slot->input, .into_axis = length + block->count, .into_first = length};
    if (block->count > 0) {
        part.begin = block->first + job->look_ahead;
        part.end = part.begin + block->count;
        part.channel = block->channel;
        part.n_channels = block->n_channels;
    }
    const int rc = lw_window_read(loop->window, &part, err);
    if (rc == LW_OK && part.end > job->n_samples && job->boundary != LW_BOUNDARY_ZERO)
        loop->flaws.n_not_finite -= count_not_finite(loop, &part, part.begin > job->n_samples ? part.begin : job->n_samples, part.end);
    return rc;
}

static int feed(struct lw_loop *loop, int64_t round, struct lw_error *err)
{
    struct lw_comm *const comm = loop->setup->comm;
    const struct lw_block block = lw_rounds_block(&loop->plan->rounds, round, lw_comm_rank(comm));
    struct lw_slot *const slot = lw_pipeline_acquire(loop->pipeline);

    const double start = lw_now();
    int rc = lw_halo_needs_prologue(loop->halo, round) ? read_prologue(loop, &block, err) : LW_OK;
    if (rc == LW_OK)
        rc = read_slice(loop, &block, slot, err);
    if ((rc = lw_comm_agree(comm, rc, err)))
        return rc;
    const double read = lw_now();
    lw_halo_begin(loop->halo, round, slot->input);
    lw_halo_end(loop->halo);
    loop->report->seconds[LW_LOOP_READ] += read - start;
    loop->report->seconds[LW_LOOP_HALO] += lw_now() - read;
    lw_timeline_end(LW_START_READ);
    rc = lw_comm_agree(comm, lw_pipeline_submit(loop->pipeline, slot, &block, err), err);
    lw_timeline_submitted();
    return rc;
}

static int check_finite(const struct lw_loop *loop, const struct lw_slot *slot, struct lw_error *err)
{
    const struct lw_job *const job = &loop->setup->job;
    if (job->op.nan != LW_NAN_ERROR || slot->n_not_finite == 0)
        return LW_OK;
    const int64_t position = slot->block.first + job->look_ahead + slot->not_finite_sample;
    const int64_t channel = slot->block.channel + slot->not_finite_channel;
    char column[40] = "";
    if (job->ops->value)
        snprintf(column, sizeof column, "%s %" PRId64 " of ", job->ops->value, slot->not_finite_column);
    return lw_fail(err, LW_EDATA, "%s%s %" PRId64 " of %s %" PRId64 " in %s:%s is not finite (%" PRId64 " such in this "
                   "slice); to go on, give --nan propagate or --nan zero", column, job->ops->sample,
                   job->view.start + lw_boundary_index(job->boundary, position, job->n_samples), job->ops->channel,
                   job->view.channels.begin + channel * job->view.channels.step, job->inputs[0].file, job->inputs[0].path,
                   slot->n_not_finite);
}

/* Outputs of all ranks in a round, on the axis. */
static int64_t round_outputs(const struct lw_rounds *rounds, int64_t round)
{
    int64_t outputs = 0;
    for (int rank = 0; rank < rounds->n_ranks; rank++) {
        const struct lw_block block = lw_rounds_block(rounds, round, rank);
        outputs += block.count * block.n_channels;
    }
    return outputs;
}

static void count_flaws(struct lw_loop *loop, const struct lw_slot *slot)
{
    loop->flaws.n_not_finite += slot->n_not_finite;
    loop->flaws.n_out_of_range += slot->is_out_of_range;
    loop->flaws.loss.n_saturated += slot->loss.n_saturated;
    loop->flaws.loss.n_nan += slot->loss.n_nan;
}

static int write_products(struct lw_loop *loop, const struct lw_slot *slot, struct lw_error *err)
{
    const double start = lw_now();
    const int rc = lw_sinks_take(&loop->sinks, slot, err);
    if (rc)
        return rc;
    loop->report->seconds[LW_LOOP_WRITE] += lw_now() - start;
    loop->written.n_rounds = slot->block.round + 1;
    loop->written.n_outputs += round_outputs(&loop->plan->rounds, slot->block.round);
    return lw_listeners_tell(&loop->listeners, &loop->written, err);
}

static int take_result(struct lw_loop *loop, struct lw_error *err)
{
    struct lw_slot *slot = NULL;
    int rc = lw_pipeline_collect(loop->pipeline, &slot, err);
    rc = rc ? rc : check_finite(loop, slot, err);
    if ((rc = lw_comm_agree(loop->setup->comm, rc, err)))
        return rc;
    count_flaws(loop, slot);
    loop->report->seconds[LW_LOOP_COMPUTE] += slot->busy_seconds;
    if ((rc = write_products(loop, slot, err)))
        return rc;
    lw_pipeline_release(loop->pipeline, slot);
    return LW_OK;
}

int lw_loop_run(struct lw_loop *loop, struct lw_error *err)
{
    const int64_t n_rounds = loop->plan->rounds.n_rounds;
    int rc = LW_OK;
    for (int64_t round = 0; rc == LW_OK && round < n_rounds; round++) {
        if (lw_pipeline_is_full(loop->pipeline))
            rc = take_result(loop, err);
        if (rc == LW_OK)
            rc = feed(loop, round, err);
    }
    while (rc == LW_OK && !lw_pipeline_is_empty(loop->pipeline))
        rc = take_result(loop, err);
    return rc;
}
