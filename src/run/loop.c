/* loop.c - the loop in which reading, halo exchange, computing and writing meet.
 *
 * Every rank takes the same steps in the same order. In round r it reads its slice into a free slot, gets its halo from the
 * rank before it (rank 0: the carry of round r - 1, at the start the prologue), and hands the slot to the engine. When all
 * slots are out, it first waits for the oldest and writes its output: so the engine computes round r while the main thread
 * writes round r - depth + 1 and reads round r + 1. Ranks agree on failure before each collective step. */
#include "run/loop.h"

#include "base/log.h"
#include "base/memory.h"
#include "run/pipeline.h"
#include "run/provenance.h"
#include "run/setup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum stage { READ, HALO, COMPUTE, WRITE, N_STAGES };

struct run {
    struct lw_setup setup;
    struct lw_provenance provenance;
    struct lw_window *window;
    struct lw_halo *halo;
    struct lw_pipeline *pipeline;
    struct lw_writer *writer;
    struct lw_progress progress;
    double seconds[N_STAGES];           /* this rank's */
    double *all_seconds;                /* [ranks x N_STAGES], for the summary on rank 0 */
    double started;
    int64_t done_outputs;               /* of all ranks: progress in the order of rounds */
    int64_t not_finite;                 /* samples of this rank's slices, boundary copies not counted */
    int64_t out_of_range;               /* of this rank's slots: with powers that their type cannot hold */
    struct lw_loss loss;                /* of this rank */
};

/* ---- powers out of range: an attribute of their results ------------------------------------------------------------ */

static bool has_powers(const struct run *run)
{
    const struct lw_op_spec *const op = &run->setup.job.op;
    return op->kind == LW_OP_OLS && op->ols.post.kind == LW_POST_POWER;
}

static struct lw_attribute power_range(bool is_left)
{
    return (struct lw_attribute){.name = "powers_out_of_range", .kind = LW_ATTRIBUTE_INT, .integer = is_left, .is_late = true};
}

/* ---- what an integer result cannot hold: attributes, too ------------------------------------------------------------- */

/* @return how many there are: none for a floating-point result */
static int list_loss(const struct run *run, const struct lw_loss *loss, struct lw_attribute attributes[2])
{
    const struct lw_attribute both[] = {
        {.name = "samples_saturated", .kind = LW_ATTRIBUTE_INT, .integer = loss->n_saturated, .is_late = true},
        {.name = "samples_nan_stored_as_zero", .kind = LW_ATTRIBUTE_INT, .integer = loss->n_nan, .is_late = true},
    };
    if (!lw_scalar_is_integer(run->setup.job.op.output.scalar))
        return 0;
    memcpy(attributes, both, sizeof both);
    return 2;
}

static void warn_of_loss(const struct lw_loss *loss, enum lw_scalar scalar)
{
    char type[40];
    lw_type_text((struct lw_type){.scalar = scalar}, type);
    if (loss->n_saturated > 0)
        lw_log_warn("%" PRId64 " of the result's samples are beyond the range of %s and were stored as its largest or smallest "
                    "number: store them with --output-type float32", loss->n_saturated, type);
    if (loss->n_nan > 0)
        lw_log_warn("%" PRId64 " of the result's samples are not numbers, which %s cannot hold, and were stored as 0: store them "
                    "with --output-type float32", loss->n_nan, type);
}

/* ---- before the first round ---------------------------------------------------------------------------------------- */

static int open_result(struct run *run, const char *command_line, struct lw_error *err)
{
    struct lw_setup *const setup = &run->setup;
    struct lw_job *const job = &setup->job;
    int rc = lw_setup_check_output(setup, err);
    if (rc)
        return rc;
    rc = lw_provenance_collect(setup, command_line, &run->provenance, err);
    if ((rc = lw_comm_agree(setup->comm, rc, err)))
        return rc;
    if (has_powers(run))
        run->provenance.attributes[run->provenance.n_attributes++] = power_range(false);
    run->provenance.n_attributes += list_loss(run, &run->loss, run->provenance.attributes + run->provenance.n_attributes);
    job->result.attributes = job->attributes;
    job->result.n_attributes = job->n_attributes;
    const struct lw_writer_spec spec = {
        .file = lw_options_text(setup->options, "output"), .overwrite = lw_options_flag(setup->options, "overwrite"),
        .attributes = run->provenance.attributes, .n_attributes = run->provenance.n_attributes,
        .datasets = &job->result, .n_datasets = 1,
    };
    return lw_writer_create(setup->comm, &spec, &run->writer, err);
}

/* Everything that is allocated is allocated here. */
static int open_buffers(struct run *run, struct lw_error *err)
{
    struct lw_setup *const setup = &run->setup;
    const struct lw_plan *const plan = &setup->plan;
    const struct lw_view_spec view = lw_plan_view(plan, &setup->job);
    const struct lw_window_spec window = lw_plan_window(plan, &setup->job, setup->reader);
    const struct lw_halo_spec halo = lw_plan_halo(plan, &setup->job);
    int rc;
    if (!(run->all_seconds = lw_alloc_array((int64_t)lw_comm_size(setup->comm) * N_STAGES, sizeof *run->all_seconds,
                                            "the summary", err)))
        return LW_ESYSTEM;
    if ((rc = lw_reader_select(setup->reader, &view, err)) ||
        (rc = lw_window_create(&window, &run->window, err)) ||
        (rc = lw_halo_create(setup->comm, &halo, &run->halo, err)) ||
        (rc = lw_pipeline_create(setup->engine, &setup->job.op, &plan->op, plan->rounds.slice, plan->rounds.group,
                                 plan->depth, &run->pipeline, err)))
        return rc;
    return LW_OK;
}

static void announce(struct run *run)
{
    const struct lw_plan *const plan = &run->setup.plan;
    const struct lw_rounds *const rounds = &plan->rounds;
    char host[24], limit[24];
    lw_log_info("%s: %s", run->setup.job.ops->name, run->setup.job.summary);
    lw_log_info("%s; %" PRId64 " round%s, slices of %" PRId64 " x %" PRId64 " on %d rank%s", plan->op.text,
                rounds->n_rounds, rounds->n_rounds == 1 ? "" : "s", rounds->slice, rounds->group, rounds->n_ranks,
                rounds->n_ranks == 1 ? "" : "s");
    lw_log_detail("memory: %s a rank, of %s (%s)", lw_bytes_text(lw_plan_host_bytes(plan), host),
                  lw_bytes_text(plan->limits.host, limit), plan->limits.host_source);
}

/* ---- one round ----------------------------------------------------------------------------------------------------- */

/* Non-finite samples of a part of the window that the engine does not count as a slice's own (the prologue), or counts
 * although they are copies that the boundary made. */
static int64_t count_not_finite(const struct run *run, const struct lw_window_part *part, int64_t begin, int64_t end)
{
    const struct lw_op_spec *const op = &run->setup.job.op;
    const bool slow = op->layout == LW_TIME_SLOW;
    const int64_t n_rows = slow ? 1 : part->n_channels;
    const int64_t width = slow ? part->n_channels : lw_op_input_width(op);
    int64_t found = 0, lowest;
    for (int64_t row = 0; begin < end && row < n_rows; row++) {
        const int64_t index = (row * part->into_axis + part->into_first + begin - part->begin) * width;
        const char *const samples = (const char *)part->into + (size_t)index * lw_type_bytes(op->input);
        found += lw_type_not_finite(op->input, op->precision, samples, (end - begin) * width, &lowest);
    }
    return found;
}

/* The samples before the first slice: boundary samples, and those by which the window runs ahead. */
static int read_prologue(struct run *run, const struct lw_block *block, struct lw_error *err)
{
    const struct lw_job *const job = &run->setup.job;
    const int64_t length = run->setup.plan.op.halo;
    const struct lw_window_part part = {
        .begin = job->look_ahead - length, .end = job->look_ahead, .channel = block->channel, .n_channels = block->n_channels,
        .into = lw_halo_carry(run->halo), .into_axis = length,
    };
    const int rc = lw_window_read(run->window, &part, err);
    if (rc)
        return rc;
    const int64_t last = part.end < job->n_samples ? part.end : job->n_samples;
    const int64_t bad = count_not_finite(run, &part, part.begin > 0 ? part.begin : 0, last);
    run->not_finite += bad;
    if (bad > 0 && job->op.nan == LW_NAN_ERROR)
        return lw_fail(err, LW_EDATA, "%" PRId64 " of the first %" PRId64 " samples of %s:%s are not finite; to go on, give "
                       "--nan propagate or --nan zero", bad, last * lw_op_input_width(&job->op), job->inputs[0].file,
                       job->inputs[0].path);
    return LW_OK;
}

static int read_slice(struct run *run, const struct lw_block *block, struct lw_slot *slot, struct lw_error *err)
{
    const struct lw_job *const job = &run->setup.job;
    const int64_t length = run->setup.plan.op.halo;
    struct lw_window_part part = {.into = slot->input, .into_axis = length + block->count, .into_first = length};
    if (block->count > 0) {
        part.begin = block->first + job->look_ahead;
        part.end = part.begin + block->count;
        part.channel = block->channel;
        part.n_channels = block->n_channels;
    }
    const int rc = lw_window_read(run->window, &part, err);
    if (rc == LW_OK && part.end > job->n_samples && job->boundary != LW_BOUNDARY_ZERO)
        run->not_finite -= count_not_finite(run, &part, part.begin > job->n_samples ? part.begin : job->n_samples, part.end);
    return rc;
}

static int feed(struct run *run, int64_t round, struct lw_error *err)
{
    struct lw_comm *const comm = run->setup.comm;
    const struct lw_block block = lw_rounds_block(&run->setup.plan.rounds, round, lw_comm_rank(comm));
    struct lw_slot *const slot = lw_pipeline_acquire(run->pipeline);

    const double start = lw_now();
    int rc = lw_halo_needs_prologue(run->halo, round) ? read_prologue(run, &block, err) : LW_OK;
    if (rc == LW_OK)
        rc = read_slice(run, &block, slot, err);
    if ((rc = lw_comm_agree(comm, rc, err)))
        return rc;
    const double read = lw_now();
    lw_halo_begin(run->halo, round, slot->input);
    lw_halo_end(run->halo);
    run->seconds[READ] += read - start;
    run->seconds[HALO] += lw_now() - read;
    return lw_comm_agree(comm, lw_pipeline_submit(run->pipeline, slot, &block, err), err);
}

static int check_finite(const struct run *run, const struct lw_slot *slot, struct lw_error *err)
{
    const struct lw_job *const job = &run->setup.job;
    if (job->op.nan != LW_NAN_ERROR || slot->n_not_finite == 0)
        return LW_OK;
    const int64_t position = slot->block.first + job->look_ahead + slot->not_finite_sample;
    const int64_t channel = slot->block.channel + slot->not_finite_channel;
    char column[40] = "";
    if (job->op.kind == LW_OP_CONV2D)
        snprintf(column, sizeof column, "column %" PRId64 " of ", slot->not_finite_column);
    return lw_fail(err, LW_EDATA, "%s%s %" PRId64 " of %s %" PRId64 " in %s:%s is not finite (%" PRId64 " such in this "
                   "slice); to go on, give --nan propagate or --nan zero", column, job->ops->sample,
                   job->view.start + lw_boundary_index(job->boundary, position, job->n_samples), job->ops->channel,
                   job->view.channels.begin + channel * job->view.channels.step, job->inputs[0].file, job->inputs[0].path,
                   slot->n_not_finite);
}

/* Values that one output on the axis of one channel holds. */
static int64_t sample_outputs(const struct run *run)
{
    return run->setup.plan.op.n_planes * lw_op_output_width(&run->setup.job.op);
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

static int take_result(struct run *run, struct lw_error *err)
{
    struct lw_setup *const setup = &run->setup;
    struct lw_slot *slot = NULL;
    int rc = lw_pipeline_collect(run->pipeline, &slot, err);
    rc = rc ? rc : check_finite(run, slot, err);
    if ((rc = lw_comm_agree(setup->comm, rc, err)))
        return rc;
    run->not_finite += slot->n_not_finite;
    run->out_of_range += slot->is_out_of_range;
    run->loss.n_saturated += slot->loss.n_saturated;
    run->loss.n_nan += slot->loss.n_nan;
    run->seconds[COMPUTE] += slot->busy_seconds;

    const double start = lw_now();
    int64_t first[LW_MAX_DIMS], count[LW_MAX_DIMS];
    lw_job_place(&setup->job, &slot->block, first, count);
    if ((rc = lw_writer_write(run->writer, 0, first, count, slot->output, err)))
        return rc;
    run->seconds[WRITE] += lw_now() - start;
    run->done_outputs += round_outputs(&setup->plan.rounds, slot->block.round);
    lw_progress_show(&run->progress, run->done_outputs * sample_outputs(run));
    lw_pipeline_release(run->pipeline, slot);
    return LW_OK;
}

static int run_rounds(struct run *run, struct lw_error *err)
{
    const int64_t n_rounds = run->setup.plan.rounds.n_rounds;
    int rc = LW_OK;
    for (int64_t round = 0; rc == LW_OK && round < n_rounds; round++) {
        if (lw_pipeline_is_full(run->pipeline))
            rc = take_result(run, err);
        if (rc == LW_OK)
            rc = feed(run, round, err);
    }
    while (rc == LW_OK && !lw_pipeline_is_empty(run->pipeline))
        rc = take_result(run, err);
    return rc;
}

/* ---- after the last round ------------------------------------------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of all ranks. */
struct flaws {
    int64_t not_finite, out_of_range;
    struct lw_loss loss;
};

/* Minimum, median and maximum over the ranks of each stage's time, and what the whole run reached. */
static void summarize(const struct run *run, const struct flaws *flaws, int64_t peak)
{
    static const char *const names[N_STAGES] = {"read", "halo", "compute", "write"};
    const struct lw_plan *const plan = &run->setup.plan;
    const int size = lw_comm_size(run->setup.comm);
    const double elapsed = lw_now() - run->started;
    double column[size];
    for (int stage = 0; stage < N_STAGES; stage++) {
        for (int rank = 0; rank < size; rank++)
            column[rank] = run->all_seconds[rank * N_STAGES + stage];
        qsort(column, (size_t)size, sizeof *column, compare);
        lw_log_info("%-8s %8.3f s  %8.3f s  %8.3f s   (minimum, median, maximum over ranks)", names[stage], column[0],
                    column[size / 2], column[size - 1]);
    }
    const double outputs = (double)run->done_outputs * (double)sample_outputs(run);
    char read[24], written[24], resident[24];
    lw_log_info("%.3g output samples in %.3f s: %.4g Msamples/s; read %s, wrote %s, %.0f MB/s", outputs, elapsed,
                outputs / elapsed / 1e6, lw_bytes_text(plan->input_bytes, read), lw_bytes_text(plan->output_bytes, written),
                (double)(plan->input_bytes + plan->output_bytes) / elapsed / 1e6);
    lw_log_detail("peak memory of a rank: %s", lw_bytes_text(peak, resident));
    if (flaws->not_finite > 0)
        lw_log_warn("%" PRId64 " sample%s not finite", flaws->not_finite, flaws->not_finite == 1 ? " was" : "s were");
    if (flaws->out_of_range > 0)
        lw_log_warn("some powers are too small or too large for the result's type and have lost digits or are 0 or infinite: "
                    "store them with --output-type float64, or take --post amplitude");
    warn_of_loss(&flaws->loss, run->setup.job.op.output.scalar);
}

static int finish(struct run *run, struct lw_error *err)
{
    struct lw_comm *const comm = run->setup.comm;
    int rc = lw_setup_check_inputs(&run->setup, err);
    if (rc)
        return rc;
    const struct flaws flaws = {lw_comm_sum(comm, run->not_finite), lw_comm_sum(comm, run->out_of_range),
                                {lw_comm_sum(comm, run->loss.n_saturated), lw_comm_sum(comm, run->loss.n_nan)}};
    struct lw_attribute attributes[LW_PROVENANCE_END + 3];
    char now[32];
    lw_provenance_end(flaws.not_finite, now, attributes);
    attributes[LW_PROVENANCE_END] = power_range(flaws.out_of_range > 0);
    int count = LW_PROVENANCE_END + has_powers(run);
    count += list_loss(run, &flaws.loss, attributes + count);
    rc = lw_writer_finish(run->writer, attributes, count, err);
    lw_progress_end(&run->progress);
    if (rc)
        return rc;

    const int64_t peak = lw_comm_max(comm, lw_memory_peak_bytes());
    lw_comm_gather(comm, run->seconds, N_STAGES, run->all_seconds);
    if (lw_comm_rank(comm) == 0)
        summarize(run, &flaws, peak);
    return LW_OK;
}

static void close_run(struct run *run)
{
    lw_pipeline_destroy(run->pipeline);
    lw_halo_destroy(run->halo);
    lw_window_destroy(run->window);
    lw_writer_destroy(run->writer);
    lw_provenance_release(&run->provenance);
    lw_free(run->all_seconds);
    lw_setup_close(&run->setup);
}

int lw_run(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options, const char *command_line,
           struct lw_error *err)
{
    struct run run = {.started = lw_now()};
    int rc;
    if ((rc = lw_setup_open(comm, ops, options, &run.setup, err)) ||
        (rc = open_result(&run, command_line, err)) ||
        (rc = lw_comm_agree(comm, open_buffers(&run, err), err)))
        goto done;
    announce(&run);
    const struct lw_plan *const plan = &run.setup.plan;
    lw_progress_start(&run.progress, run.setup.job.n_outputs * run.setup.job.op.n_channels * sample_outputs(&run),
                      plan->input_bytes + plan->output_bytes);
    if ((rc = run_rounds(&run, err)) == LW_OK)
        rc = finish(&run, err);
done:
    close_run(&run);
    return rc;
}
