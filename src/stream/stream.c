#include "stream/stream.h"

#include "base/integers.h"
#include "base/leave.h"
#include "base/memory.h"
#include "job/weights.h"
#include "resume/stop.h"
#include "stream/loop.h"
#include "stream/resume.h"
#include "stream/search/mask.h"
#include "stream/search/mesh_pass.h"
#include "stream/search/noise.h"
#include "stream/search/power_spectrum.h"

#include <inttypes.h>
#include <stdio.h>

struct stream {
    struct lw_setup setup;
    struct lw_plan plan;
    struct lw_result result;
    struct lw_report report;
    struct lw_streamed streamed;
    struct lw_loop *loop;
};

static void announce(const struct stream *run)
{
    const struct lw_plan *const plan = &run->plan;
    const struct lw_rounds *const rounds = &plan->rounds;
    const struct lw_traffic traffic = lw_loop_traffic(plan, &run->setup.job);
    char host[24], limit[24], held[64] = "", messages[LW_TRAFFIC_TEXT];
    if (rounds->held < rounds->grid.n_filters)
        snprintf(held, sizeof held, ", %" PRId64 " filters at a time,", rounds->held);
    lw_log_info("%s: %s", run->setup.job.ops->name, run->setup.job.summary);
    lw_log_info("%s; %" PRId64 " round%s, slices of %" PRId64 " x %" PRId64 "%s on %d rank%s", plan->op.text, rounds->n_rounds,
                rounds->n_rounds == 1 ? "" : "s", rounds->slice, rounds->group, held, rounds->n_ranks,
                rounds->n_ranks == 1 ? "" : "s");
    lw_log_detail("memory: %s a rank, of %s (%s)", lw_bytes_text(lw_plan_host_bytes(plan), host),
                  lw_bytes_text(plan->limits.host, limit), plan->limits.host_source);
    lw_log_detail("messages planned: %s", lw_traffic_text(&traffic, messages));
}

/* Measure what the operation needs of the input: the power spectrum that whitens filters, background and noise of images. */
static int measure_input(struct lw_setup *setup, struct lw_error *err)
{
    const int rc = lw_spectrum_whiten(setup, err);
    return rc ? rc : lw_mesh_measure(setup->comm, setup->reader, setup->map, &setup->job,
                                    lw_engine_host_threads(setup->engine), err);
}

/* ---- progress, in output samples ----------------------------------------------------------------------------------- */

static int show_progress(void *context, const struct lw_written *written, struct lw_error *err)
{
    struct stream *const run = context;
    (void)err;
    lw_progress_show(&run->report.progress, written->n_outputs * lw_plan_output_values(&run->plan));
    return LW_OK;
}

static int open_report(struct stream *run, struct lw_comm *comm, struct lw_error *err)
{
    static const char *const stages[LW_REPORT_STAGES] = {
        [LW_LOOP_READ] = "read", [LW_LOOP_FILTERS] = "filters", [LW_LOOP_HALO] = "halo", [LW_LOOP_COMPUTE] = "compute",
        [LW_LOOP_WRITE] = "write",
    };
    return lw_report_open(&run->report, comm, stages, err);
}

static int open_more(struct lw_setup *setup, struct lw_error *err)
{
    const int rc = lw_mask_open(setup->comm, setup->reader, &setup->job, &setup->mask, err);
    return rc ? rc : lw_weights_open(setup->comm, setup->options, setup->reader, setup->pool, &setup->job, &setup->map, err);
}

static const struct lw_setup_way streamed_way = {.open_more = open_more, .model = lw_plan_model};

static int ended(enum lw_start_stage stage, int rc)
{
    lw_timeline_end(stage);
    return rc;
}

static int open_loop(struct stream *run, struct lw_error *err)
{
    struct lw_loop_spec spec = {
        .setup = &run->setup, .plan = &run->plan, .writer = run->result.writer, .report = &run->report,
        .n_rows = run->streamed.n_rows, .sky = &run->result.sky, .flaws = run->streamed.flaws,
    };
    lw_listeners_add(&spec.listeners, show_progress, run);
    lw_listeners_add(&spec.listeners, lw_streamed_listen, &run->streamed);
    const int rc = lw_streamed_start(&run->streamed, run->result.writer, &run->plan.rounds, err);
    return rc ? rc : lw_loop_create(&spec, &run->loop, err);
}

/* Create the result, or open the incomplete result of an interrupted run. */
static int open_result(struct stream *run, struct lw_error *err)
{
    run->result.n_runs = run->streamed.checkpoint.n_runs;
    return run->streamed.checkpoint.is_resuming ? lw_result_open(&run->result, err) : lw_result_create(&run->result, NULL, err);
}

/* Write the filters, which the ranks make in groups. @param p  number of the product */
static int write_filters(struct stream *run, int p, struct lw_error *err)
{
    const struct lw_ols_spec *const ols = &run->setup.job.op.ols;
    const int64_t held = run->plan.rounds.held, step = held * lw_comm_size(run->setup.comm);
    int rc = LW_OK;
    for (int64_t begin = 0; rc == LW_OK && begin < ols->n_filters; begin += step) {
        const int64_t first = begin + held * lw_comm_rank(run->setup.comm), n = lw_max64(0, lw_min64(held, ols->n_filters - first));
        const bool is_one = ols->n_filters == 1;
        const int64_t at[LW_MAX_DIMS] = {n > 0 && !is_one ? first : 0};
        const int64_t count[LW_MAX_DIMS] = {is_one ? n * ols->n_taps : n, ols->n_taps};
        struct lw_stored_taps taps = {0};
        rc = n > 0 ? lw_job_take_filters(&run->setup.job, first, n, &taps, err) : LW_OK;
        if ((rc = lw_comm_agree(run->setup.comm, rc, err)) == LW_OK)
            rc = lw_writer_write(run->result.writer, p, at, count, taps.data, err);
    }
    return rc;
}

/* Measure the noise, which the loop's operation needs; then write the datasets whose values the job has before the rounds. */
static int find_noise(struct stream *run, struct lw_error *err)
{
    static const int64_t none[LW_MAX_DIMS];
    const struct lw_job *const job = &run->setup.job;
    const bool writes = lw_comm_rank(run->setup.comm) == 0;
    int rc = lw_noise_is_measured(job) ? lw_noise_measure(&run->setup, &run->plan, err) : LW_OK;
    for (int p = job->n_products; rc == LW_OK && p < job->n_products + job->n_given; p++)
        rc = job->products[p].mesh
            ? lw_mesh_write(run->setup.comm, run->result.writer, job, p, lw_engine_host_threads(run->setup.engine), err)
            : job->products[p].values ? lw_writer_write(run->result.writer, p, none, writes ? job->products[p].dataset.dims : none,
                                                        job->products[p].values, err)
                                      : write_filters(run, p, err);
    return rc;
}

/* ---- after the last round ------------------------------------------------------------------------------------------ */

static void summarize(struct stream *run, const struct lw_flaws *flaws)
{
    const struct lw_plan *const plan = &run->plan;
    const double done = (double)lw_rounds_all_outputs(&plan->rounds), part = done / (double)lw_grid_outputs(&plan->rounds.grid);
    const double outputs = done * (double)lw_plan_output_values(plan);
    const int64_t bytes_read = (int64_t)(part * (double)plan->input_bytes),
                  bytes_written = (int64_t)(part * (double)plan->output_bytes);
    char read[24], written[24];
    lw_report_stages(&run->report);
    const double elapsed = lw_report_elapsed(&run->report);
    lw_log_info("%.3g output samples in %.3f s: %.4g Msamples/s; read %s, wrote %s, %.0f MB/s", outputs, elapsed,
                outputs / elapsed / 1e6, lw_bytes_text(bytes_read, read), lw_bytes_text(bytes_written, written),
                (double)(bytes_read + bytes_written) / elapsed / 1e6);
    lw_report_use(&run->report);
    lw_result_warn(&run->result, flaws);
}

static int finish(struct stream *run, struct lw_error *err)
{
    struct lw_flaws flaws = lw_loop_written(run->loop)->flaws;
    int rc = lw_loop_finish(run->loop, err);
    lw_stop_end();
    if (rc == LW_OK)
        rc = lw_result_finish(&run->result, &flaws, err);
    lw_progress_end(&run->report.progress);
    if (rc == LW_OK)
        summarize(run, &flaws);
    return rc;
}

static void close_run(struct stream *run)
{
    lw_loop_destroy(run->loop);
    lw_streamed_close(&run->streamed);
    lw_result_close(&run->result);
    lw_report_close(&run->report);
    lw_mask_close(run->setup.mask);
    lw_setup_close(&run->setup);
}

int lw_stream_run(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options,
                  const char *command_line, struct lw_error *err)
{
    struct stream run = {0};
    int rc;
    if ((rc = lw_comm_agree(comm, open_report(&run, comm, err), err)) ||
        (rc = lw_setup_open(comm, ops, options, &streamed_way, &run.setup, err)) ||
        (rc = ended(LW_START_PLANNING, lw_plan_make_for(&run.setup, &run.plan, err))) ||
        (rc = lw_result_begin(&run.setup, command_line, &run.result, err)) ||
        (rc = lw_streamed_open(&run.streamed, &run.setup, &run.plan.rounds, err)) ||
        (rc = measure_input(&run.setup, err)) ||
        (rc = ended(LW_START_RESULT, open_result(&run, err))) ||
        (rc = find_noise(&run, err)) ||
        (rc = ended(LW_START_MEMORY, lw_comm_agree(comm, open_loop(&run, err), err))))
        goto done;
    announce(&run);
    lw_progress_start(&run.report.progress, lw_grid_outputs(&run.plan.rounds.grid) * lw_plan_output_values(&run.plan),
                      run.plan.input_bytes + run.plan.output_bytes);
    lw_comm_begin_phase(comm, LW_PHASE_ROUNDS);
    rc = lw_loop_run(run.loop, 0, run.plan.rounds.n_rounds, err);
    lw_comm_begin_phase(comm, LW_PHASE_END);
    if (rc == LW_OK)
        rc = finish(&run, err);
    else {
        /* The rounds failed, or the run was interrupted. Computing is given up, but writes in progress are completed. */
        const struct lw_written written = *lw_loop_written(run.loop);
        lw_leave_ask("the run ends");
        lw_loop_destroy(run.loop);
        lw_stop_end();
        run.loop = NULL;
        lw_progress_end(&run.report.progress);
        lw_streamed_save(&run.streamed, &written, rc, err);
    }
done:
    close_run(&run);
    return rc;
}

/* ---- --measure: the time of a run, estimated from its first rounds, whose outputs go into a file beside the output ---- */

#define MEASURE_SECONDS 4.0     /* approximate time of the measured rounds, unless all rounds together are shorter */

static int64_t count_outputs(const struct lw_rounds *rounds, int64_t begin, int64_t end)
{
    int64_t outputs = 0;
    for (int64_t round = begin; round < end; round++)
        outputs += lw_rounds_outputs(rounds, round);
    return outputs;
}

/* Return the seconds since `start` on rank 0's clock, to all ranks. Collective. */
static double agreed_seconds(struct lw_comm *comm, double start)
{
    double seconds = lw_now() - start;
    lw_comm_broadcast(comm, &seconds, sizeof seconds);
    return seconds;
}

static int try_rounds(struct stream *run, int64_t begin, int64_t end, double *seconds, struct lw_error *err)
{
    lw_comm_barrier(run->setup.comm);
    const double start = lw_now();
    const int rc = lw_loop_run(run->loop, begin, end, err);
    *seconds = agreed_seconds(run->setup.comm, start);
    return rc;
}

/* Time some rounds. The first few tell how many more fit into MEASURE_SECONDS. Only the later ones are extrapolated to all rounds:
 * the first few are slower, as they access pages and tables for the first time.
 * @param n_rounds  set to the number of rounds run
 * @param seconds   set to the estimate for all rounds */
static int try_all(struct stream *run, int64_t *n_rounds, double *seconds, struct lw_error *err)
{
    const struct lw_rounds *const rounds = &run->plan.rounds;
    const int64_t all = rounds->n_rounds, few = lw_min64(2 * run->plan.depth, all);
    double first_seconds;
    int rc = try_rounds(run, 0, few, &first_seconds, err);
    const double per_round = first_seconds / (double)few;
    const int64_t more = lw_min64(all - few, (int64_t)(MEASURE_SECONDS / per_round));
    *n_rounds = few + more;
    double last_seconds = first_seconds;
    if (rc == LW_OK && more > 0)
        rc = try_rounds(run, few, few + more, &last_seconds, err);
    const int64_t last_outputs = count_outputs(rounds, more > 0 ? few : 0, few + more);
    const double left = (double)(count_outputs(rounds, 0, all) - count_outputs(rounds, 0, few));
    *seconds = first_seconds + left * last_seconds / (double)lw_max64(last_outputs, 1);
    return rc;
}

static int open_trial(struct stream *run, struct lw_error *err)
{
    struct lw_setup *const setup = &run->setup;
    char file[LW_MAX_PATH];
    int rc;
    snprintf(file, sizeof file, "%.*s.measure", LW_MAX_PATH - 20, lw_options_text(setup->options, "output"));
    if ((rc = lw_result_begin(setup, "", &run->result, err)) || (rc = measure_input(setup, err)) ||
        (rc = lw_result_create(&run->result, file, err)) ||
        (rc = lw_noise_is_measured(&setup->job) ? lw_noise_measure(setup, &run->plan, err) : LW_OK))
        return rc;
    const struct lw_loop_spec spec = {.setup = setup, .plan = &run->plan, .writer = run->result.writer, .report = &run->report};
    return lw_comm_agree(setup->comm, lw_loop_create(&spec, &run->loop, err), err);
}

/* Measure a trial of the run. The errors are those of a run; only the result's final name is not tried. Collective. */
static int measure(struct stream *run, struct lw_planned *planned, struct lw_error *err)
{
    const struct lw_rounds *const rounds = &run->plan.rounds;
    int64_t n_rounds;
    double rounds_seconds;
    int rc = open_trial(run, err);
    planned->start_seconds = lw_report_elapsed(&run->report);
    if (rc || (rc = try_all(run, &n_rounds, &rounds_seconds, err)))
        return rc;
    /* The flush of the trial's outputs is timed and scaled to all outputs: an upper bound, as systems buffer a limited amount. */
    const double start = lw_now();
    rc = lw_writer_sync(run->result.writer, err);
    const double share = (double)count_outputs(rounds, 0, rounds->n_rounds) / (double)count_outputs(rounds, 0, n_rounds);
    const double disk_seconds = agreed_seconds(run->setup.comm, start) * share;
    planned->measured_seconds = rounds_seconds + disk_seconds;
    if (rc == LW_OK && planned->prints)
        printf("%-16sabout %.3g s: start %.3g s, rounds %.3g s (of %" PRId64 ", %" PRId64 " were measured), flush to "
               "disk %.3g s; the longest stage is %s\n", "measured", planned->start_seconds + rounds_seconds + disk_seconds,
               planned->start_seconds, rounds_seconds, rounds->n_rounds, n_rounds, disk_seconds, lw_report_longest(&run->report));
    return rc;
}

/* ---- plan ---------------------------------------------------------------------------------------------------------- */

int lw_stream_plan(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options, struct lw_planned *planned,
                   struct lw_error *err)
{
    struct stream run = {0};
    struct lw_setup_way way = streamed_way;
    int rc;
    way.planned = planned;
    if ((rc = lw_comm_agree(comm, open_report(&run, comm, err), err)) ||
        (rc = lw_setup_open(comm, ops, options, &way, &run.setup, err)) ||
        (rc = lw_plan_make_for(&run.setup, &run.plan, err)))
        goto done;
    const struct lw_plan *const plan = &run.plan;
    lw_planned_take(planned, &run.setup, lw_plan_times(plan));
    planned->host_bytes = lw_plan_host_bytes(plan);
    planned->device_bytes = plan->bytes.device;
    planned->read_bytes = plan->input_bytes;
    planned->written_bytes = plan->output_bytes;
    planned->seconds = lw_plan_seconds(plan);
    planned->serial_seconds = lw_plan_serial_seconds(plan);
    planned->start_seconds = lw_report_elapsed(&run.report);
    if (planned->prints) {
        const struct lw_traffic traffic = lw_loop_traffic(plan, &run.setup.job);
        char text[LW_TRAFFIC_TEXT];
        lw_plan_print(&run.setup, &run.plan);
        lw_plan_row("messages", lw_traffic_text(&traffic, text));
    }
    if (lw_options_flag(options, "measure"))
        rc = measure(&run, planned, err);
done:
    close_run(&run);
    return rc;
}
