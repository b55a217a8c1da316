/* sparse.c - the order of a sparse run: the method's search, then the fallback for channels that the search does not explain.
 * Ranks agree on failure before each collective step. */
#include "sparse/sparse.h"

#include "base/integers.h"
#include "base/memory.h"
#include "resume/stop.h"
#include "setup/choice.h"
#include "sfft/tones/dense_fit.h"
#include "sparse/refine.h"

#include <inttypes.h>
#include <stdio.h>

/* Methods by lw_sfft_algorithm; NULL: all channels are dense. */
static const struct lw_sparse_method *const methods[] = {
    [LW_SFFT_AUTO] = &lw_sparse_stages,
    [LW_SFFT_SPARSE] = &lw_sparse_stages,
    [LW_SFFT_DENSE] = NULL,
    [LW_SFFT_PUBLISHED] = &lw_sparse_published,
};

/* ---- plan, open, close --------------------------------------------------------------------------------------------- */

/* If there are at least as many pieces as ranks, each rank reads its own pieces. */
void lw_sparse_deal(struct lw_sparse *run, int64_t n_pieces)
{
    run->n_pieces = n_pieces;
    run->piece_channels = run->setup.job.op.n_channels;
    run->n_channels = n_pieces * run->piece_channels;
    run->has_own_pieces = n_pieces > 1 && n_pieces >= run->n_ranks;
    run->own_begin = run->has_own_pieces ? n_pieces * run->rank / run->n_ranks * run->piece_channels : 0;
    run->own_end = run->has_own_pieces ? n_pieces * (run->rank + 1) / run->n_ranks * run->piece_channels : run->n_channels;
}

static int make_plan(struct lw_sparse *run, struct lw_error *err)
{
    struct lw_setup *const setup = &run->setup;
    run->request = *(const struct lw_sfft_request *)setup->job.request;
    run->rank = lw_comm_rank(setup->comm);
    run->n_ranks = lw_comm_size(setup->comm);
    lw_sparse_deal(run, run->request.n_pieces);
    run->method = methods[run->request.algorithm];
    const int rc = run->method ? run->method->plan(run, err) : LW_OK;
    if (!run->method)
        snprintf(setup->algorithm, sizeof setup->algorithm, "dense: all %" PRId64 " samples", run->request.spec.n);
    return rc ? rc : lw_sparse_memory_plan(run, err);
}

/* Model what computing takes, see lw_run_model_fn. Reading overlaps nothing, and takes as long on any engine: it is left out. So
 * are dense transforms of channels that their lines do not explain. */
static int model_run(struct lw_comm *comm, const struct lw_job *job, const struct lw_engine *engine, const struct lw_rates *rates,
                     struct lw_run_model *model, struct lw_error *err)
{
    const struct lw_sfft_request *const request = job->request;
    const struct lw_sparse_method *const method = methods[request->algorithm];
    const double n = (double)request->spec.n, sample_bytes = request->spec.is_real ? sizeof(double) : 2 * sizeof(double);
    struct lw_sparse_work work = {engine->ops->dense->pace, n * log2(n), n};
    const int rc = lw_comm_agree(comm, method ? method->model(request, engine, &work, err) : LW_OK, err);
    (void)rates;
    if (rc)
        return rc;
    const double channels = (double)lw_divide_up(request->n_pieces * job->op.n_channels, lw_comm_size(comm));
    const double gain = fmin((double)lw_choice_workers(comm, engine), work.pace.most_gain);
    *model = (struct lw_run_model){.compute = channels * (work.pace.channel + work.units * work.pace.unit / gain) *
                                                lw_engine_slowness(engine)};
    if (engine->link_rate > 0)
        model->compute += channels * work.samples * sample_bytes / engine->link_rate;
    return LW_OK;
}

static int allocate(struct lw_sparse *run, struct lw_error *err)
{
    static const char *const stages[LW_REPORT_STAGES] = {
        [LW_SPARSE_READ] = "read", [LW_SPARSE_COMBINE] = "combine", [LW_SPARSE_COMPUTE] = "compute", [LW_SPARSE_WRITE] = "write",
    };
    const struct lw_view_spec view = lw_sparse_view(run);
    int rc;
    if ((rc = lw_report_open(&run->report, run->setup.comm, stages, err)) || (rc = lw_reader_select(run->setup.reader, &view, err)))
        return rc;
    if (!(run->buffers = lw_alloc_array(run->n_buffers, (size_t)run->buffer_bytes, "samples", err)) ||
        !(run->mine = lw_alloc_array(run->n_channels, sizeof *run->mine, "channels", err)) ||
        !(run->all = lw_alloc_array(run->n_channels, sizeof *run->all, "channels", err)) ||
        !(run->lines = lw_alloc_array(lw_sparse_most_own(run) * run->request.spec.sparsity, sizeof *run->lines, "lines", err)))
        return LW_ESYSTEM;
    return run->method ? run->method->open(run, err) : LW_OK;
}

/* Examine some input and plan again. The ranks that are here do so, also for a machine that is not. @param comm  those ranks */
static int probe(struct lw_sparse *run, struct lw_comm *comm, struct lw_error *err)
{
    struct lw_comm *const all = run->setup.comm;
    run->setup.comm = comm;
    run->n_ranks = lw_comm_size(comm);
    lw_sparse_deal(run, run->request.n_pieces);
    const int rc = run->method->probe(run, err);
    run->setup.comm = all;
    run->n_ranks = lw_comm_size(all);
    lw_sparse_deal(run, run->request.n_pieces);
    return rc ? rc : lw_comm_agree(all, lw_sparse_memory_plan(run, err), err);
}

static int open_run(struct lw_sparse *run, struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options,
                    const struct lw_planned *planned, struct lw_error *err)
{
    const struct lw_setup_way way = {.model = model_run, .planned = planned};
    int rc;
    if ((rc = lw_setup_open(comm, ops, options, &way, &run->setup, err)) || (rc = lw_sparse_locate(run, err)) ||
        (rc = lw_comm_agree(run->setup.comm, make_plan(run, err), err)) || (rc = lw_sparse_find_pace(run, err)))
        return rc;
    return run->method && run->method->probe ? probe(run, comm, err) : LW_OK;
}

/* Free the memory that only the search for lines needs. */
static void end_search(struct lw_sparse *run)
{
    if (run->method && run->state)
        run->method->end(run);
    lw_memory_trim();
}

static void close_run(struct lw_sparse *run)
{
    end_search(run);
    lw_free(run->state);
    lw_free(run->buffers);
    lw_free(run->whole);
    lw_free(run->mine);
    lw_free(run->all);
    lw_free(run->lines);
    lw_sparse_resume_close(run);
    lw_report_close(&run->report);
    lw_result_close(&run->result);
    lw_setup_close(&run->setup);
}

/* ---- dense transform of channels that their lines do not explain: each rank transforms one at a time ------------------- */

static int transform_whole(struct lw_sparse *run, int64_t channel, struct lw_error *err)
{
    struct lw_sfft_result result;
    struct lw_sparse_outcome outcome = run->mine[channel];
    struct lw_engine *const engine = run->setup.engine;
    struct lw_sfft_spec spec = run->request.spec;
    bool is_refined = false;
    spec.wants_spectrum = run->request.refines && lw_sfft_spectrum_is_fitted(&spec);
    int rc = engine->ops->dense->transform(engine, &spec, run->whole, lw_sparse_lines_of(run, channel), &result, err);
    if (rc == LW_OK && spec.wants_spectrum)
        rc = lw_sfft_spectrum_refine(&spec, run->whole, engine->n_workers, &result, &is_refined, err);
    if (rc)
        return rc;
    if (run->request.refines)
        outcome.off_grid = lw_sparse_count_off_grid(&result);
    outcome.is_refined = is_refined;
    outcome.is_dense = 1;
    outcome.samples = (double)run->request.spec.n;
    lw_sparse_keep(run, channel, &result, outcome);
    return LW_OK;
}

static int transform_densely(struct lw_sparse *run, struct lw_error *err)
{
    struct lw_comm *const comm = run->setup.comm;
    const int64_t bytes = lw_sfft_dense_samples_bytes(run->request.spec.n, run->request.spec.is_real);
    run->whole = lw_alloc((size_t)bytes, "all samples of a channel", err);
    int rc = lw_comm_agree(comm, run->whole ? LW_OK : LW_ESYSTEM, err);
    for (int64_t c = lw_sparse_next_unexplained(run, 0); rc == LW_OK && lw_comm_max(comm, c) >= 0;
         c = c < 0 ? c : lw_sparse_next_unexplained(run, c + 1)) {
        rc = lw_sparse_collect_whole(run, c, err);
        const double start = lw_now();
        if (rc == LW_OK)
            rc = lw_comm_agree(comm, c >= 0 ? transform_whole(run, c, err) : LW_OK, err);
        run->report.seconds[LW_SPARSE_COMPUTE] += lw_now() - start;
        rc = rc ? rc : lw_sparse_checkpoint(run, err);
    }
    if (rc == LW_OK)
        lw_sparse_share_outcomes(run);
    return rc;
}

/* ---- a whole run --------------------------------------------------------------------------------------------------- */

/* Apply --fallback to channels that their lines do not explain. */
static int fall_back(struct lw_sparse *run, struct lw_error *err)
{
    const struct lw_sparse_totals totals = lw_sparse_add_up(run);
    if (totals.unexplained == 0)
        return LW_OK;
    char why[320];
    snprintf(why, sizeof why, "%" PRId64 " of %" PRId64 " %s are not sparse: the %.0f lines found leave up to %.3g%% of the "
             "energy%s", totals.unexplained, run->n_channels, lw_sparse_channels_text(run), totals.unexplained_lines,
             100 * totals.unexplained_residual,
             run->request.refines || totals.off_grid == 0 ? "" :
             "; there are tones between the frequencies of the transform, which --refine finds");
    switch (run->request.fallback) {
    case LW_SFFT_FALL_PARTIAL:
        if (run->rank == 0)
            lw_log_warn("%s; the result holds the lines found, and marks these in /channels", why);
        return LW_OK;
    case LW_SFFT_FALL_ERROR:
        return lw_fail(err, LW_EDATA, "%s (--fallback error)", why);
    case LW_SFFT_FALL_DENSE:
        break;
    }
    if (!lw_sparse_fits_dense(run))
        return lw_sparse_refuse_dense(run, why, err);
    lw_log_info("%s; falling back to the dense transform", why);
    end_search(run);
    return transform_densely(run, err);
}

static int compute(struct lw_sparse *run, struct lw_error *err)
{
    if (!run->method)
        return transform_densely(run, err);
    const int rc = run->method->search(run, err);
    return rc ? rc : fall_back(run, err);
}

/* Warn of tones between frequencies. With --refine, log how many dense channels have tones, and warn if others have none. */
static void warn_of_tones(const struct lw_sparse *run, const struct lw_sparse_totals *totals)
{
    const char *const channels = lw_sparse_channels_text(run);
    const int64_t n = run->n_channels, refined = totals->dense_refined;
    if (!run->request.refines) {
        if (totals->off_grid > 0)
            lw_log_warn("%" PRId64 " of %" PRId64 " %s have tones between the frequencies of the transform, which leak into all "
                        "others: the lines leave up to %.3g%% of the energy; --refine finds the tones' own frequencies",
                        totals->off_grid, n, channels, 100 * totals->residual);
        return;
    }
    if (refined > 0)
        lw_log_info("--refine: tones are fitted to the dense transform of %" PRId64 " of %" PRId64 " %s", refined, n, channels);
    if (refined < totals->dense)
        lw_log_warn("--refine: %" PRId64 " of %" PRId64
                    " %s keep the lines of the dense transform, with whole indices: %s; column "
                    "'refined' of /channels shows which", totals->dense - refined, n, channels,
                    lw_sfft_spectrum_is_fitted(&run->request.spec) ? "tones would leave more of the energy"
                                                                   : "too many lines, or too few samples, to fit tones");
}

static void summarize(struct lw_sparse *run)
{
    const struct lw_sparse_totals totals = lw_sparse_add_up(run);
    char combined[24];
    lw_report_stages(&run->report);
    lw_log_info("%.0f lines in %" PRId64 " %schannel%s; residual at most %.3g of the energy; %.0f attempt%s; %" PRId64
                " channel%s dense", totals.lines, run->n_channels, run->request.has_pieces ? "pieces of " : "",
                run->n_channels == 1 ? "" : "s", totals.residual, totals.attempts, totals.attempts == 1 ? "" : "s", totals.dense,
                totals.dense == 1 ? "" : "s");
    if (run->rank == 0)
        warn_of_tones(run, &totals);
    lw_log_detail("combined %s a rank over MPI", lw_bytes_text(run->bytes_combined, combined));
    lw_report_use(&run->report);
    lw_result_warn(&run->result, &run->flaws);
    if (run->method && run->method->log)
        run->method->log(run);
}

int lw_sparse_run(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options,
                  const char *command_line, struct lw_error *err)
{
    struct lw_sparse run = {0};
    int rc;
    if ((rc = open_run(&run, comm, ops, options, NULL, err)) ||
        (rc = lw_result_begin(&run.setup, command_line, &run.result, err)) ||
        (rc = lw_comm_agree(comm, allocate(&run, err), err)) || (rc = lw_sparse_resume_start(&run, err)))
        goto done;
    lw_log_info("%s: %s", ops->name, run.setup.job.summary);
    lw_log_info("%s", run.setup.algorithm);
    lw_progress_start(&run.report.progress, (run.method ? run.method->samples(&run) : 0) * run.n_channels, 0);
    lw_comm_begin_phase(comm, LW_PHASE_ROUNDS);
    rc = compute(&run, err);
    lw_comm_begin_phase(comm, LW_PHASE_END);
    lw_stop_end();
    if (rc)
        lw_sparse_resume_save(&run, rc, err);
    (void)(rc || (rc = lw_sparse_write(&run, err)) || (rc = lw_result_finish(&run.result, &run.flaws, err)));
    lw_progress_end(&run.report.progress);
    if (rc == LW_OK)
        summarize(&run);
done:
    close_run(&run);
    return rc;
}

/* Measure the run by its first channels: as many as are read together, and at least one for each rank. They are read and
 * transformed as in a run; the tables are small and not written. */
static int measure(struct lw_sparse *run, double started, struct lw_planned *planned, struct lw_error *err)
{
    struct lw_comm *const comm = run->setup.comm;
    const int64_t all = run->n_channels;
    if (run->n_pieces > 1)
        lw_sparse_deal(run, lw_min64(run->n_pieces, lw_divide_up(run->group, run->piece_channels) * run->n_ranks));
    else
        run->n_channels = run->own_end = lw_min64(all, lw_max64(run->group, run->n_ranks));
    const int64_t tried = run->n_channels;
    int rc = lw_comm_agree(comm, allocate(run, err), err);
    const double opened = lw_now();
    if (rc || (rc = compute(run, err)))
        return rc;
    planned->measured_seconds = (lw_now() - opened) * (double)all / (double)tried;
    planned->start_seconds = opened - started;
    if (planned->prints)
        printf("%-16sabout %.3g s: start %.3g s, %s %.3g s (of %" PRId64 ", %" PRId64 " were measured); the longest stage is %s\n",
               "measured", planned->start_seconds + planned->measured_seconds, planned->start_seconds, lw_sparse_channels_text(run),
               planned->measured_seconds, all, tried, lw_report_longest(&run->report));
    return LW_OK;
}

int lw_sparse_plan(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options, struct lw_planned *planned,
                   struct lw_error *err)
{
    struct lw_sparse run = {0};
    const double started = lw_now();
    int rc = open_run(&run, comm, ops, options, planned, err);
    if (rc)
        goto done;
    planned->is_sparse = true;
    planned->host_bytes = lw_sparse_host_bytes(&run);
    planned->device_bytes = lw_sparse_device_bytes(&run);
    /* all samples are read, unless method->print corrects this */
    planned->read_bytes = run.request.spec.n * run.n_channels * (int64_t)lw_type_bytes(run.setup.job.op.input);
    planned->seconds = lw_sparse_read_seconds(&run, 0, planned->read_bytes);
    planned->written_bytes = lw_sparse_most_written(&run);
    planned->start_seconds = lw_now() - started;
    if (planned->prints)
        lw_plan_print_input(&run.setup, 1);
    if (run.method)
        rc = run.method->print(&run, planned, err);
    struct lw_run_model times = {0};
    rc = rc ? rc : model_run(run.setup.comm, &run.setup.job, run.setup.engine, &run.setup.rates, &times, err);
    if (run.setup.engine->link_rate == 0)
        times.compute *= run.setup.rates.slowdown;
    times.read = planned->seconds;
    times.write = (double)planned->written_bytes / run.setup.rates.write;
    times.is_in_turn = true;
    lw_planned_take(planned, &run.setup, times);
    if (rc == LW_OK && planned->prints) {
        lw_plan_bytes_row("writes", planned->written_bytes, " at most");
        lw_sparse_memory_print(&run);
    }
    if (rc == LW_OK && lw_options_flag(options, "measure"))
        rc = measure(&run, started, planned, err);
done:
    close_run(&run);
    return rc;
}
