/* channels.c - the order of a run over whole channels. Ranks agree on failure before each collective step. */
#include "channels/channels.h"

#include "base/integers.h"
#include "base/memory.h"
#include "channels/state.h"
#include "resume/stop.h"
#include "setup/choice.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* ---- open, close ------------------------------------------------------------------------------------------------------- */

static int check_engine(const struct lw_engine *engine, struct lw_error *err)
{
    return engine->ops->accel ? LW_OK : lw_fail(err, LW_ECONFIG, "the engine %s has no search for drifting signals: give another "
                                                "--engine", engine->ops->name);
}

/* Model what computing takes, see lw_run_model_fn. */
static int model_run(struct lw_comm *comm, const struct lw_job *job, const struct lw_engine *engine, const struct lw_rates *rates,
                     struct lw_run_model *model, struct lw_error *err)
{
    const struct lw_accel_request *const request = job->request;
    const int rc = lw_comm_agree(comm, check_engine(engine, err), err);
    (void)rates;
    if (rc)
        return rc;
    const double channels = (double)lw_divide_up(job->op.n_channels, lw_comm_size(comm));
    const double slower = (double)engine->n_workers / (double)lw_choice_workers(comm, engine);
    *model = (struct lw_run_model){.compute = channels * slower * lw_engine_slowness(engine) *
                                              engine->ops->accel->seconds(engine, &request->plan)};
    return LW_OK;
}

/* Describe the search; the text depends on the request alone, for a run that goes on with an interrupted one. */
static void describe(struct lw_channels *run)
{
    const struct lw_accel_plan *const plan = &run->request->plan;
    snprintf(run->setup.algorithm, sizeof run->setup.algorithm, "transform of %" PRId64 ", %d drifts x %d jerks, templates of at "
             "most %d bins", plan->spec.n_fft, plan->n_z, plan->n_w, 2 * plan->half_width + 1);
}

static int open_run(struct lw_channels *run, struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options,
                    const struct lw_planned *planned, struct lw_error *err)
{
    const struct lw_setup_way way = {.model = model_run, .planned = planned};
    int rc = lw_setup_open(comm, ops, options, &way, &run->setup, err);
    if (rc || (rc = lw_comm_agree(comm, check_engine(run->setup.engine, err), err)))
        return rc;
    run->request = run->setup.job.request;
    if (run->setup.job.search.mask && (rc = lw_marks_open(comm, run->setup.reader, &run->setup.job, &run->marks, err)))
        return rc;
    run->rank = lw_comm_rank(run->setup.comm);
    run->n_ranks = lw_comm_size(run->setup.comm);
    run->n_threads = lw_engine_host_threads(run->setup.engine);
    describe(run);
    return lw_comm_agree(run->setup.comm, lw_channels_plan_memory(run, err), err);
}

static int allocate(struct lw_channels *run, struct lw_error *err)
{
    static const char *const stages[LW_REPORT_STAGES] = {
        [LW_CHANNELS_READ] = "read", [LW_CHANNELS_SHARE] = "share", [LW_CHANNELS_SEARCH] = "search",
        [LW_CHANNELS_REFINE] = "refine", [LW_CHANNELS_WRITE] = "write",
    };
    const int64_t n_channels = run->setup.job.op.n_channels;
    const int rc = lw_report_open(&run->report, run->setup.comm, stages, err);
    if (rc)
        return rc;
    if (!(run->todo = lw_alloc_array(n_channels, sizeof *run->todo, "channels", err)) ||
        !(run->reached = lw_alloc_array(n_channels, sizeof *run->reached, "channels", err)))
        return LW_ESYSTEM;
    for (run->n_todo = 0; run->n_todo < n_channels; run->n_todo++) {
        run->todo[run->n_todo] = run->n_todo;
        run->reached[run->n_todo] = run->request->plan.begin;
    }
    return lw_channels_allocate(run, err);
}

static void close_run(struct lw_channels *run)
{
    struct lw_error ignored;
    if (run->is_searching)
        lw_channels_ops(run)->wait(run->search, run->items[0].spectrum, run->items[0].variances, &run->items[0].hits, &ignored);
    if (run->search)
        lw_channels_ops(run)->destroy(run->search);
    lw_accel_refiner_destroy(&run->refiner);
    lw_comm_leave_team(run->team);
    lw_channels_free(run);
    lw_marks_close(&run->marks);
    lw_checkpoint_close(&run->checkpoint);
    lw_report_close(&run->report);
    lw_result_close(&run->result);
    lw_setup_close(&run->setup);
}

/* ---- the steps ----------------------------------------------------------------------------------------------------------- */

/* Model the seconds of a series' spectrum, which one thread makes on a CPU. @param searching  set: those of all that follows */
static double spectrum_seconds(const struct lw_channels *run, double *searching)
{
    struct lw_accel_plan none = run->request->plan;
    none.end = none.begin;
    const double seconds = lw_channels_ops(run)->seconds(run->setup.engine, &none);
    *searching = lw_channels_ops(run)->seconds(run->setup.engine, &run->request->plan) - seconds;
    return seconds;
}

/* Choose the parts of a step: between two of them there can be a checkpoint. Results do not depend on parts. Each part makes the
 * spectrum anew, in a twentieth of the time at most, and the powers around both of its ends; that is little if a part has many
 * widths of a template. With --checkpoint 0 parts are as short as they can be. */
static int64_t choose_parts(const struct lw_channels *run, int64_t ranks_of_channel)
{
    enum { WIDTHS = 1280 };
    const struct lw_accel_plan *const plan = &run->request->plan;
    double all;
    const double spectrum = spectrum_seconds(run, &all);
    const double parts = all / (double)ranks_of_channel / fmax(run->checkpoint.every_s, 20 * spectrum);
    const int64_t least = run->checkpoint.every_s > 0 ? WIDTHS * (int64_t)plan->half_width : LW_ACCEL_CELL;
    const int64_t most = (plan->end - plan->begin) / least / ranks_of_channel;
    return lw_comm_max(run->setup.comm, run->result.writer ? lw_max64(1, lw_min64(most, (int64_t)fmin(ceil(parts), 1e9))) : 1);
}

/* Deal the channels that are left: own steps first, then one with fewer channels than ranks. */
static int deal(struct lw_channels *run, int64_t n_channels, struct lw_error *err)
{
    struct lw_comm *const comm = run->setup.comm;
    run->n_todo = lw_min64(run->n_todo, n_channels);
    const int64_t left = run->n_todo % run->n_ranks;
    run->own = run->n_todo / run->n_ranks;
    run->n_steps = run->own + (left > 0);
    run->n_parts = choose_parts(run, run->own > 0 || left == 0 ? 1 : run->n_ranks / left);
    return left > 0 ? lw_comm_join_team(comm, (int)(run->rank * left / run->n_ranks), &run->team, err) : LW_OK;
}

/* Hand over part p - 1, and read the samples of the next step before its first part. Ranks without a channel take part: the calls
 * are collective. */
static int work_beside(struct lw_channels *run, int64_t p, struct lw_error *err)
{
    const int64_t n = run->request->plan.spec.n, next = p + 1;
    int rc = LW_OK;
    if (p > 0)
        (void)((rc = lw_channels_deliver(run, p - 1, err)) || (rc = lw_channels_checkpoint(run, err)));
    lw_progress_show(&run->report.progress, (run->setup.job.op.n_channels - run->n_todo) * n +
                     (int64_t)((double)n * fmin((double)run->n_todo, (double)(p * run->n_ranks) / (double)run->n_parts)));
    return rc == LW_OK && next % run->n_parts == 0 && next / run->n_parts < run->n_steps
        ? lw_channels_read(run, next / run->n_parts, err) : rc;
}

static int search_all(struct lw_channels *run, struct lw_error *err)
{
    struct lw_comm *const comm = run->setup.comm;
    const int64_t n = run->n_steps * run->n_parts;
    int rc = n > 0 ? lw_channels_read(run, 0, err) : LW_OK;
    for (int64_t p = 0; rc == LW_OK && n > 0 && p <= n; p++) {
        rc = lw_comm_agree(comm, p < n ? lw_channels_begin(run, p, err) : LW_OK, err);
        lw_timeline_submitted();
        rc = rc ? rc : work_beside(run, p, err);
        if (rc == LW_OK && p < n)
            rc = lw_comm_agree(comm, lw_channels_wait(run, p, err), err);
    }
    return rc;
}

/* Write in words what all steps send, but for rows, calls within teams and checkpoints. Steps agree when they are read, begun,
 * waited for, delivered and written, and at the end once more; they add up the bytes of their rows, and poll for a checkpoint. */
static const char *traffic_text(const struct lw_channels *run, char text[LW_TRAFFIC_TEXT])
{
    const int64_t steps = lw_divide_up(run->setup.job.op.n_channels, run->n_ranks);
    struct lw_traffic traffic = {0};
    lw_traffic_add(&traffic, run->n_ranks, (5 + run->request->keeps_spectrum) * steps + 1, 2 * steps,
                   steps * ((int64_t)sizeof(int64_t) + LW_CHECKPOINT_POLL_BYTES));
    return lw_traffic_text(&traffic, text);
}

static int open_search(struct lw_channels *run, struct lw_error *err)
{
    const struct lw_accel_request *const request = run->request;
    int rc = lw_channels_ops(run)->create(run->setup.engine, &request->plan, request->zaps, request->n_zaps, run->bytes.most,
                                          &run->search, err);
    rc = rc ? rc : lw_accel_refiner_create(&request->plan, &run->refiner, err);
    lw_timeline_end(LW_START_MEMORY);
    return lw_comm_agree(run->setup.comm, rc, err);
}

static void summarize(struct lw_channels *run, int64_t n_candidates)
{
    lw_report_stages(&run->report);
    lw_log_info("%" PRId64 " candidate%s in %" PRId64 " channel%s", n_candidates, n_candidates == 1 ? "" : "s",
                run->setup.job.op.n_channels, run->setup.job.op.n_channels == 1 ? "" : "s");
    lw_report_use(&run->report);
    lw_result_warn(&run->result, &run->flaws);
}

int lw_channels_run(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options, const char *command_line,
                    struct lw_error *err)
{
    struct lw_channels run = {0};
    int64_t n_candidates = 0;
    char messages[LW_TRAFFIC_TEXT];
    int rc;
    if ((rc = open_run(&run, comm, ops, options, NULL, err)) ||
        (rc = lw_result_begin(&run.setup, command_line, &run.result, err)) ||
        (rc = lw_comm_agree(comm, allocate(&run, err), err)) || (rc = lw_channels_start(&run, err)) ||
        (rc = deal(&run, INT64_MAX, err)) || (rc = open_search(&run, err)))
        goto done;
    lw_log_info("%s: %s", ops->name, run.setup.job.summary);
    lw_log_info("%s", run.setup.algorithm);
    lw_log_detail("messages planned: %s", traffic_text(&run, messages));
    lw_progress_start(&run.report.progress, run.setup.job.op.n_channels * run.request->plan.spec.n, 0);
    lw_comm_begin_phase(comm, LW_PHASE_ROUNDS);
    rc = search_all(&run, err);
    lw_comm_begin_phase(comm, LW_PHASE_END);
    lw_stop_end();
    if (rc)
        lw_channels_save(&run, rc, err);
    (void)(rc || (rc = lw_channels_finish(&run, &n_candidates, err)) || (rc = lw_result_finish(&run.result, &run.flaws, err)));
    lw_progress_end(&run.report.progress);
    if (rc == LW_OK)
        summarize(&run, n_candidates);
done:
    close_run(&run);
    return rc;
}

/* ---- plan ------------------------------------------------------------------------------------------------------------------ */

/* Measure the run by the first two steps, which are read and searched as in a run. */
static int measure(struct lw_channels *run, double started, struct lw_planned *planned, struct lw_error *err)
{
    const int64_t all = run->setup.job.op.n_channels;
    int rc;
    if ((rc = lw_comm_agree(run->setup.comm, allocate(run, err), err)) || (rc = deal(run, 2 * (int64_t)run->n_ranks, err)) ||
        (rc = open_search(run, err)))
        return rc;
    const double opened = lw_now();
    if ((rc = search_all(run, err)))
        return rc;
    planned->measured_seconds = (lw_now() - opened) * (double)all / (double)run->n_todo;
    planned->start_seconds = opened - started;
    if (planned->prints)
        printf("%-16sabout %.3g s: start %.3g s, channels %.3g s (of %" PRId64 ", %" PRId64 " were measured); the longest stage "
               "is %s\n", "measured", planned->start_seconds + planned->measured_seconds, planned->start_seconds,
               planned->measured_seconds, all, run->n_todo, lw_report_longest(&run->report));
    return LW_OK;
}

int lw_channels_plan(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options,
                     struct lw_planned *planned, struct lw_error *err)
{
    struct lw_channels run = {0};
    const double started = lw_now();
    char messages[LW_TRAFFIC_TEXT];
    double all;
    int rc = open_run(&run, comm, ops, options, planned, err);
    if (rc)
        goto done;
    const struct lw_accel_plan *const plan = &run.request->plan;
    const int64_t n_channels = run.setup.job.op.n_channels;
    /* Ranks share the channels of the last step, of which there are fewer. */
    const int64_t left = n_channels % run.n_ranks, sharing = run.n_ranks / lw_max64(1, left);
    const double steps = (double)(n_channels / run.n_ranks) + (left > 0 ? 1.0 / (double)sharing : 0);
    planned->host_bytes = lw_channels_host_bytes(&run);
    planned->device_bytes = run.bytes.engine.device;
    planned->read_bytes = plan->spec.n * n_channels * (int64_t)lw_type_bytes(run.setup.job.op.input);
    planned->written_bytes = run.request->keeps_spectrum ? n_channels * plan->n_bins * 2 * (int64_t)sizeof(float) : 0;
    /* The assumed rate is that of each rank, a machine's rate that of all. */
    const double reading = (double)planned->read_bytes / run.setup.rates.read / (planned->machine ? 1 : run.n_ranks),
                 spectrum = spectrum_seconds(&run, &all) * lw_engine_slowness(run.setup.engine),
                 searching = steps * (spectrum + all * lw_rates_slowness(&run.setup.rates, run.setup.engine));
    lw_planned_take(planned, &run.setup, (struct lw_run_model){.compute = searching, .read = reading});
    planned->seconds = reading > searching ? reading : searching;
    planned->serial_seconds = reading + searching;
    planned->start_seconds = lw_now() - started;
    if (planned->prints) {
        lw_plan_print_input(&run.setup, 1);
        printf("%-16s%" PRId64 " channel%s at a time by each rank\n", "reads", run.group, run.group == 1 ? "" : "s");
        printf("%-16s%.3g s: reading %.3g s, searching %.3g s, at the same time\n", "time", planned->seconds, reading, searching);
        lw_channels_print_memory(&run);
        lw_plan_row("messages", traffic_text(&run, messages));
    }
    if (lw_options_flag(options, "measure"))
        rc = measure(&run, started, planned, err);
done:
    close_run(&run);
    return rc;
}
