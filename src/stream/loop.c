/* loop.c - the loop that overlaps reading, halo exchange, computing and writing.
 *
 *     I/O threads   read 1    | read 2    | read 3    |
 *     engine        compute 0 | compute 1 | compute 2 |
 *     I/O threads             | write 0   | write 1   |
 *
 * Every rank takes the same steps in the same order. The steps of round r:
 *
 *     wait      wait until the slice of round r is read into its slot
 *     filters   if the round has other filters than the one before: let the engine finish, and replace its filters
 *     halo      receive the samples before the slice from the previous rank (rank 0: the carry of round r - 1, or the prologue)
 *     compute   hand the slot to the engine
 *     read      begin to read the slice of round r + 1, into the slot whose products were written longest ago
 *     write     begin to write the products of the blocks that the engine has finished
 *
 * Before each collective step the ranks agree whether any of them has failed. */
#include "stream/loop.h"

#include "stream/not_finite.h"

#include "base/integers.h"
#include "base/leave.h"
#include "base/memory.h"
#include "resume/checkpoint.h"
#include "stream/map.h"
#include "stream/search/best.h"
#include "stream/search/candidates.h"
#include "stream/search/mask.h"

#include <inttypes.h>
#include <stdio.h>

struct lw_loop {
    struct lw_setup *setup;
    const struct lw_plan *plan;
    struct lw_report *report;
    struct lw_sinks sinks;
    struct lw_listeners listeners;
    struct lw_stream_window *window;
    struct lw_map *map;                 /* NULL: no map of weights */
    struct lw_halo *halo;
    struct lw_pipeline *pipeline;
    struct lw_candidates *candidates;   /* NULL: no search for peaks */
    struct lw_best *best;               /* NULL: no best filter of all ranks */
    struct {                            /* slice that is being read */
        struct lw_slot *slot;
        struct lw_block block;
        struct lw_window_part part;
        int rc;                         /* code of beginning to read; end_read reports it, with `err` */
        struct lw_error err;
    } reading;
    struct {                            /* ring of the blocks that are being written */
        struct lw_slot *slot;
        struct lw_sink_writes writes;
        struct lw_flaws flaws;          /* flaws in all blocks up to this one */
        int64_t n_rows;                 /* rows of the table from all blocks up to this one */
    } writing[LW_MAX_DEPTH];
    int oldest_writing, n_writing;
    bool has_parts;                             /* the engine gets its filters in the loop */
    int64_t first_held, n_held;                 /* filters of this rank's engine; n_held 0: none yet */
    int64_t first_next, n_next;                 /* filters that it will hold next; n_next 0: not known yet, -1: none */
    struct lw_flaws early[LW_MAX_DEPTH];        /* flaws that the loop finds in each slot; they count once the block is done */
    struct lw_flaws flaws;              /* flaws in all finished blocks; the boundary's copies of samples do not count */
    struct lw_written written;
};

/* ---- before the first round ---------------------------------------------------------------------------------------- */

/* Find whether the engine gets its filters in the loop: other filters in other rounds or on other ranks, filters that the job
 * does not hold, or those of which an interrupted run has left outputs. */
static bool find_parts(const struct lw_job *job, const struct lw_rounds *rounds)
{
    bool has = rounds->held < rounds->grid.n_filters || (job->op.kind == LW_OP_OLS && !job->op.ols.taps.data);
    for (int64_t s = 0; rounds->stripes && s < rounds->n_stripes; s++)
        has = has || rounds->stripes[s].n_filters < rounds->grid.n_filters;
    return has;
}

static int open_pipeline(struct lw_loop *loop, struct lw_error *err)
{
    const struct lw_plan *const plan = loop->plan;
    const double start = lw_now();
    struct lw_op_spec spec = plan->spec;
    if (loop->has_parts)
        spec.ols.taps.data = NULL;
    else if (spec.kind == LW_OP_OLS)        /* the noise, and the taps of whitened filters, were made after the plan */
        spec.ols = loop->setup->job.op.ols;
    const int rc = lw_pipeline_create(loop->setup->engine, &spec, &plan->op, plan->rounds.slice, plan->rounds.group, plan->depth,
                                      &loop->pipeline, err);
    loop->report->seconds[LW_LOOP_FILTERS] += lw_now() - start;
    return rc;
}

static int open_buffers(struct lw_loop *loop, const struct lw_sky *sky, struct lw_error *err)
{
    struct lw_setup *const setup = loop->setup;
    const struct lw_plan *const plan = loop->plan;
    const struct lw_view_spec view = lw_plan_view(plan, &setup->job);
    const struct lw_window_spec window = lw_plan_window(plan, &setup->job, setup->reader);
    const struct lw_halo_spec halo = lw_plan_halo(plan, &setup->job);
    int rc;
    if ((rc = lw_reader_select(setup->reader, &view, err)) ||
        (rc = lw_window_create(&window, &loop->window, err)) ||
        (rc = lw_map_create(setup->map, &setup->job, plan, &loop->map, err)) ||
        (rc = lw_halo_create(setup->comm, &halo, &loop->halo, err)) ||
        (rc = open_pipeline(loop, err)))
        return rc;
    const struct lw_candidates_spec candidates = {
        .setup = setup, .op = &plan->op, .pipeline = loop->pipeline, .writer = loop->sinks.writer,
        .plan = plan, .n_rows = loop->written.n_rows, .sky = sky,
    };
    if (setup->mask && (rc = lw_mask_start(setup->mask, &setup->job, plan, err)))
        return rc;
    if ((rc = lw_sums_create(setup, plan, &loop->sinks.sums, err)) ||
        (rc = lw_best_create(setup->comm, plan, loop->pipeline, &loop->best, err)))
        return rc;
    loop->sinks.leaves_best = loop->best && lw_comm_rank(setup->comm) > 0;
    return lw_candidates_create(&candidates, &loop->candidates, err);
}

/* Wait until the oldest block of the ring is written, and remove it. */
static int end_oldest(struct lw_loop *loop, struct lw_error *err)
{
    const int rc = lw_sinks_end(&loop->sinks, &loop->writing[loop->oldest_writing].writes, err);
    loop->oldest_writing = (loop->oldest_writing + 1) % LW_MAX_DEPTH;
    loop->n_writing--;
    return rc;
}

int lw_loop_create(const struct lw_loop_spec *spec, struct lw_loop **out, struct lw_error *err)
{
    struct lw_loop *const loop = *out = lw_alloc(sizeof *loop, "the loop", err);
    if (!loop)
        return LW_ESYSTEM;
    const struct lw_job *const job = &spec->setup->job;
    const int64_t all_outputs = lw_grid_outputs(&spec->plan->rounds.grid);
    *loop = (struct lw_loop){
        .setup = spec->setup, .plan = spec->plan, .report = spec->report, .listeners = spec->listeners,
        .sinks = {job, &spec->plan->op, spec->writer, NULL, false}, .flaws = spec->flaws,
        .has_parts = find_parts(job, &spec->plan->rounds),
        .written = {.all_outputs = all_outputs, .n_outputs = all_outputs - lw_rounds_all_outputs(&spec->plan->rounds),
                    .n_rows = spec->n_rows, .flaws = spec->flaws},
    };
    return open_buffers(loop, spec->sky, err);
}

void lw_loop_destroy(struct lw_loop *loop)
{
    if (!loop)
        return;
    /* Reads and writes in progress still use the memory: wait for them first. */
    if (loop->window)
        lw_window_end(loop->window, NULL);
    lw_map_destroy(loop->map);
    while (loop->n_writing > 0)
        end_oldest(loop, NULL);
    lw_candidates_destroy(loop->candidates);
    lw_best_destroy(loop->best);
    lw_sums_destroy(loop->sinks.sums);
    lw_pipeline_destroy(loop->pipeline);
    lw_halo_destroy(loop->halo);
    lw_window_destroy(loop->window);
    lw_free(loop);
}

int lw_loop_finish(struct lw_loop *loop, struct lw_error *err) { return lw_candidates_finish(loop->candidates, err); }

const struct lw_written *lw_loop_written(const struct lw_loop *loop) { return &loop->written; }

/* Window position of a block's first own sample minus the number of its first output: the job's look-ahead plus the samples that
 * the engine needs behind a block. */
static int64_t look_ahead(const struct lw_loop *loop) { return loop->setup->job.look_ahead + loop->plan->op.after; }

/* ---- what ranks send --------------------------------------------------------------------------------------------------- */

/* Agreements of a round: two of feed, one each of begin_write and end_write. */
enum { AGREEMENTS = 4 };

void lw_loop_round_traffic(const struct lw_plan *plan, const struct lw_job *job, int64_t round, struct lw_traffic *traffic)
{
    const struct lw_halo_spec halo = lw_plan_halo(plan, job);
    lw_halo_traffic(&halo, round, traffic);
    lw_traffic_add(traffic, plan->rounds.n_ranks, AGREEMENTS, 1, LW_CHECKPOINT_POLL_BYTES);
    lw_candidates_traffic(&plan->op, plan->rounds.n_ranks, traffic);
    lw_best_traffic(&plan->op, &plan->rounds, round, traffic);
}

struct lw_traffic lw_loop_traffic(const struct lw_plan *plan, const struct lw_job *job)
{
    struct lw_traffic traffic = {0};
    for (int64_t round = 0; round < plan->rounds.n_rounds; round++)
        lw_loop_round_traffic(plan, job, round, &traffic);
    return traffic;
}

/* ---- one round ----------------------------------------------------------------------------------------------------- */

static struct lw_flaws *early_of(struct lw_loop *loop, const struct lw_slot *slot)
{
    return &loop->early[lw_pipeline_number(loop->pipeline, slot)];
}

static struct lw_samples_view view_of(const struct lw_loop *loop, const struct lw_window_part *part)
{
    return (struct lw_samples_view){&loop->setup->job.op, loop->plan->op.input_width, part};
}

/* Read the prologue of a block into the carry, and count its flaws. A block that is not at the start of the axis is the first of a
 * resumed run: the interrupted run has counted the flaws of its prologue. Only the first filters' blocks count flaws of samples. */
static int read_prologue(struct lw_loop *loop, const struct lw_block *block, struct lw_error *err)
{
    const struct lw_job *const job = &loop->setup->job;
    const int64_t length = loop->plan->op.halo;
    const int64_t end = block->first + look_ahead(loop);
    struct lw_window_part part = {.begin = end - length, .end = end, .into = lw_halo_carry(loop->halo), .into_axis = length};
    lw_window_take_channels(&job->op, block, &part);
    int rc = lw_window_read(loop->window, &part, err);
    if (rc || block->first > 0 || block->filter > 0)
        return rc;
    if (loop->setup->mask &&
        (rc = lw_mask_apply(loop->setup->mask, lw_pipeline_number(loop->pipeline, loop->reading.slot), &part, err)))
        return rc;
    const int64_t last = lw_min64(part.end, job->n_samples);
    const int64_t first = lw_max64(part.begin, 0);
    const struct lw_samples_view view = view_of(loop, &part);
    struct lw_flaws *const flaws = early_of(loop, loop->reading.slot);      /* the engine counts own samples only */
    const int64_t bad = lw_not_finite_count(&view, first, last);
    if (bad > 0)
        lw_not_finite_locate(&view, first, last, job->view.start, flaws);
    flaws->n_not_finite += bad;
    if (bad > 0 && job->op.nan == LW_NAN_ERROR)
        return lw_fail(err, LW_EDATA, "%" PRId64 " of the first %" PRId64 " samples of %s are not finite; to go on, give --nan "
                       "propagate or --nan zero", bad, last * loop->plan->op.input_width, lw_dataset_name(&job->inputs[0]).text);
    return LW_OK;
}

/* Return the own samples of a block, and their place in its slot. */
static struct lw_window_part slice_of(const struct lw_loop *loop, const struct lw_block *block, const struct lw_slot *slot)
{
    const int64_t halo = loop->plan->op.halo;
    struct lw_window_part part = {.into = slot->input, .into_axis = halo + block->count, .into_first = halo};
    if (block->count > 0) {
        part.begin = block->first + look_ahead(loop);
        part.end = part.begin + block->count;
        lw_window_take_channels(&loop->setup->job.op, block, &part);
    }
    return part;
}

/* Return a clock of this thread's work, s. It stands still while threads of the pool work in `lane`: these count separately. */
static double own_clock(const struct lw_loop *loop, enum lw_lane lane)
{
    return lw_now() - lw_pool_busy_seconds(loop->setup->pool, lane);
}

static void begin_read(struct lw_loop *loop, int64_t round)
{
    const struct lw_block block = lw_rounds_block(&loop->plan->rounds, round, lw_comm_rank(loop->setup->comm));
    struct lw_error *const err = &loop->reading.err;
    const double start = own_clock(loop, LW_LANE_READ);
    loop->reading.slot = lw_pipeline_acquire(loop->pipeline);
    *early_of(loop, loop->reading.slot) = (struct lw_flaws){0};
    loop->reading.block = block;
    loop->reading.part = slice_of(loop, &block, loop->reading.slot);
    loop->reading.rc = lw_halo_needs_prologue(loop->halo, round) ? read_prologue(loop, &block, err) : LW_OK;
    if (loop->reading.rc == LW_OK)
        loop->reading.rc = lw_window_begin(loop->window, &loop->reading.part, err);
    if (loop->reading.rc == LW_OK)
        loop->reading.rc = lw_map_begin(loop->map, &loop->reading.part, loop->reading.slot->map, err);
    loop->report->seconds[LW_LOOP_READ] += own_clock(loop, LW_LANE_READ) - start;
}

static int end_read(struct lw_loop *loop, struct lw_error *err)
{
    const struct lw_job *const job = &loop->setup->job;
    const struct lw_window_part *const part = &loop->reading.part;
    if (loop->reading.rc) {
        *err = loop->reading.err;
        return loop->reading.rc;
    }
    int rc = lw_window_end(loop->window, err);
    rc = rc ? rc : lw_map_end(loop->map, err);
    const struct lw_samples_view view = view_of(loop, part);
    const bool counts = loop->reading.block.filter == 0 && job->boundary != LW_BOUNDARY_ZERO;
    if (rc == LW_OK && counts && part->end > job->n_samples)        /* the engine also counts copies */
        early_of(loop, loop->reading.slot)->n_not_finite -=
            lw_not_finite_count(&view, lw_max64(part->begin, job->n_samples), part->end);
    return rc;
}

/* Return whether a round has other filters than the round before. All ranks change their filters in the same rounds. */
static bool changes_filters(const struct lw_loop *loop, int64_t round)
{
    const struct lw_rounds *const rounds = &loop->plan->rounds;
    return loop->has_parts && round > 0 && lw_rounds_block(rounds, round, 0).filter != lw_rounds_block(rounds, round - 1, 0).filter;
}

/* Go on reading the filters that this rank will hold next. @param round  round under way */
static void expect_filters(struct lw_loop *loop, int64_t round)
{
    const struct lw_rounds *const rounds = &loop->plan->rounds;
    for (; loop->plan->reads_ahead && loop->n_next == 0 && round < rounds->n_rounds; round++) {
        const struct lw_block block = lw_rounds_block(rounds, round, lw_comm_rank(loop->setup->comm));
        loop->first_next = block.filter;
        loop->n_next = block.count > 0 && block.filter != loop->first_held ? block.n_filters : 0;
    }
    loop->n_next = loop->n_next == 0 ? -1 : loop->n_next;
    if (loop->n_next > 0)
        lw_whole_expect(&loop->setup->job.bank, loop->first_next, loop->n_next);
}

/* Let the engine hold the filters of a block. */
static int fill_filters(struct lw_loop *loop, const struct lw_block *block, struct lw_error *err)
{
    const struct lw_ols_spec *const ols = &loop->setup->job.op.ols;
    if (!loop->has_parts || block->count == 0 || (block->filter == loop->first_held && block->n_filters == loop->n_held))
        return LW_OK;
    const double start = lw_now();
    struct lw_ols_part part = {.noise = ols->search.noise, .first = (int)block->filter, .n = (int)block->n_filters};
    int rc = lw_job_take_filters(&loop->setup->job, block->filter, block->n_filters, &part.taps, err);
    rc = rc ? rc : lw_pipeline_fill(loop->pipeline, &part, err);
    loop->first_held = block->filter;
    loop->n_held = block->n_filters;
    loop->n_next = 0;
    if (rc == LW_OK && loop->plan->reads_ahead)
        rc = lw_whole_reserve_ahead(&loop->setup->job.bank, loop->plan->rounds.held, err);
    loop->report->seconds[LW_LOOP_FILTERS] += lw_now() - start;
    return rc;
}

/* Wait for the slice, add its halo, and hand both to the engine. */
static int feed(struct lw_loop *loop, int64_t round, struct lw_error *err)
{
    struct lw_comm *const comm = loop->setup->comm;
    struct lw_slot *const slot = loop->reading.slot;
    int rc = lw_leave_check(err);
    rc = lw_comm_agree(comm, rc ? rc : end_read(loop, err), err);
    if (rc)
        return rc;
    const double start = lw_now();
    lw_halo_begin(loop->halo, round, slot->input);
    lw_halo_end(loop->halo);
    loop->report->seconds[LW_LOOP_HALO] += lw_now() - start;
    lw_timeline_end(LW_START_READ);
    if (loop->setup->mask && loop->reading.block.count > 0) {
        struct lw_window_part part = loop->reading.part;        /* extended by the halo */
        part.begin -= part.into_first;
        part.into_first = 0;
        rc = lw_mask_apply(loop->setup->mask, lw_pipeline_number(loop->pipeline, slot), &part, err);
    }
    rc = rc ? rc : fill_filters(loop, &loop->reading.block, err);
    rc = rc ? rc : lw_sinks_recall_best(&loop->sinks, &loop->reading.block, slot, err);
    rc = rc ? rc : lw_pipeline_submit(loop->pipeline, slot, &loop->reading.block, err);
    rc = lw_comm_agree(comm, rc, err);
    lw_timeline_submitted();
    return rc;
}

static int check_finite(const struct lw_loop *loop, const struct lw_slot *slot, struct lw_error *err)
{
    const struct lw_job *const job = &loop->setup->job;
    if (job->op.nan != LW_NAN_ERROR || slot->n_not_finite == 0)
        return LW_OK;
    const int64_t position = slot->block.first + look_ahead(loop) + slot->not_finite_sample;
    const int64_t channel = (lw_op_sums_channels(&job->op) ? 0 : slot->block.channel) + slot->not_finite_channel;
    char column[40] = "";
    if (job->ops->value)
        snprintf(column, sizeof column, "%s %" PRId64 " of ", job->ops->value, slot->not_finite_column);
    return lw_fail(err, LW_EDATA, "%s%s %" PRId64 " of %s %" PRId64 " in %s is not finite (one of %" PRId64 " in this "
                   "slice); to go on, give --nan propagate or --nan zero", column, job->ops->sample,
                   job->view.start + lw_boundary_index(job->boundary, position, job->n_samples), job->ops->channel,
                   job->view.channels.begin + channel * job->view.channels.step, lw_dataset_name(&job->inputs[0]).text,
                   slot->n_not_finite);
}

/* Wait for the engine's oldest block, and begin to write its products. */
static int begin_write(struct lw_loop *loop, struct lw_error *err)
{
    struct lw_slot *slot = NULL;
    int rc = lw_pipeline_collect(loop->pipeline, &slot, err);
    rc = rc ? rc : check_finite(loop, slot, err);
    if ((rc = lw_comm_agree(loop->setup->comm, rc, err)))
        return rc;
    /* The slot still holds the samples, so that flaws can be located. Positions beyond the axis hold copies and are left out. */
    const struct lw_job *const job = &loop->setup->job;
    const struct lw_window_part part = slice_of(loop, &slot->block, slot);
    const struct lw_samples_view view = view_of(loop, &part);
    if (slot->block.filter > 0)
        slot->n_not_finite = slot->n_quiet = 0;
    if (slot->n_not_finite > 0)
        lw_not_finite_locate(&view, part.begin + slot->not_finite_sample, lw_min64(part.end, job->n_samples), job->view.start,
                             &loop->flaws);
    lw_flaws_add(&loop->flaws, early_of(loop, slot));
    loop->flaws.n_not_finite += slot->n_not_finite;
    loop->flaws.n_quiet += slot->n_quiet;
    loop->flaws.n_out_of_range += slot->is_out_of_range;
    loop->flaws.loss.n_saturated += slot->loss.n_saturated;
    loop->flaws.loss.n_nan += slot->loss.n_nan;
    loop->report->seconds[LW_LOOP_COMPUTE] += slot->busy_seconds;
    const double start = own_clock(loop, LW_LANE_WRITE);
    if ((rc = lw_candidates_take(loop->candidates, slot, err)) || (rc = lw_best_join(loop->best, slot, err)))
        return rc;
    const int place = (loop->oldest_writing + loop->n_writing++) % LW_MAX_DEPTH;
    loop->writing[place].slot = slot;
    loop->writing[place].flaws = loop->flaws;
    loop->writing[place].n_rows = lw_candidates_rows(loop->candidates);
    lw_sinks_begin(&loop->sinks, slot, &loop->writing[place].writes);
    loop->report->seconds[LW_LOOP_WRITE] += own_clock(loop, LW_LANE_WRITE) - start;
    return LW_OK;
}

/* Wait until the oldest block of the ring is written, release its slot, and call the listeners. */
static int end_write(struct lw_loop *loop, struct lw_error *err)
{
    const int place = loop->oldest_writing;
    struct lw_slot *const slot = loop->writing[place].slot;
    const int rc = lw_comm_agree(loop->setup->comm, end_oldest(loop, err), err);
    if (rc)
        return rc;
    loop->written.n_rounds = slot->block.round + 1;
    loop->written.n_outputs += lw_rounds_outputs(&loop->plan->rounds, slot->block.round);
    loop->written.flaws = loop->writing[place].flaws;
    loop->written.n_rows = loop->writing[place].n_rows;
    lw_pipeline_release(loop->pipeline, slot);
    return lw_listeners_tell(&loop->listeners, &loop->written, err);
}

static int free_slot(struct lw_loop *loop, struct lw_error *err)
{
    int rc = LW_OK;
    if (lw_pipeline_is_full(loop->pipeline) && loop->n_writing == 0)
        rc = begin_write(loop, err);
    if (rc == LW_OK && lw_pipeline_is_full(loop->pipeline))
        rc = end_write(loop, err);
    return rc;
}

/* Wait for the engine's oldest blocks and begin to write them, until only `n_left` blocks are left to the engine. */
static int take_finished(struct lw_loop *loop, int n_left, struct lw_error *err)
{
    int rc = LW_OK;
    while (rc == LW_OK && lw_pipeline_submitted(loop->pipeline) > n_left)
        rc = begin_write(loop, err);
    return rc;
}

/* Finish all blocks: after the last round, and before the engine gets other filters. Blocks with too many crossings are done again
 * with the filters they had, and the best outputs so far are read back from the result. */
static int finish_blocks(struct lw_loop *loop, struct lw_error *err)
{
    int rc = take_finished(loop, 0, err);
    while (rc == LW_OK && loop->n_writing > 0)
        rc = end_write(loop, err);
    return rc;
}

int lw_loop_run(struct lw_loop *loop, int64_t begin, int64_t end, struct lw_error *err)
{
    const double read = lw_pool_busy_seconds(loop->setup->pool, LW_LANE_READ);
    const double written = lw_pool_busy_seconds(loop->setup->pool, LW_LANE_WRITE);
    int rc = LW_OK;
    begin_read(loop, begin);
    for (int64_t round = begin; rc == LW_OK && round < end; round++) {
        if (changes_filters(loop, round))
            rc = finish_blocks(loop, err);
        rc = rc ? rc : feed(loop, round, err);
        if (rc == LW_OK && round < end - 1 && (rc = free_slot(loop, err)) == LW_OK)
            begin_read(loop, round + 1);
        if (rc == LW_OK)
            expect_filters(loop, round);
        rc = rc ? rc : take_finished(loop, 1, err);
    }
    rc = rc ? rc : finish_blocks(loop, err);
    loop->report->seconds[LW_LOOP_READ] += lw_pool_busy_seconds(loop->setup->pool, LW_LANE_READ) - read;
    loop->report->seconds[LW_LOOP_WRITE] += lw_pool_busy_seconds(loop->setup->pool, LW_LANE_WRITE) - written;
    return rc;
}
