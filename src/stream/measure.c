#include "stream/measure.h"

#include "base/integers.h"
#include "setup/result.h"
#include "stream/loop.h"
#include "stream/search/noise.h"
#include "stream/search/power_spectrum.h"

#include <inttypes.h>
#include <stdio.h>

struct trial {
    struct lw_result result;
    struct lw_loop *loop;
    const struct lw_rounds *rounds;
    double seconds;             /* of the rounds tried */
    int64_t n_outputs;          /* in them, on all ranks */
};

static int64_t count_outputs(const struct lw_rounds *rounds, int64_t begin, int64_t end)
{
    int64_t outputs = 0;
    for (int64_t round = begin; round < end; round++)
        outputs += lw_rounds_outputs(rounds, round);
    return outputs;
}

/* Rank 0's clock counts. */
static double agreed_seconds(struct lw_comm *comm, double start)
{
    double seconds = lw_now() - start;
    lw_comm_broadcast(comm, &seconds, sizeof seconds);
    return seconds;
}

static int try_rounds(struct trial *trial, struct lw_comm *comm, int64_t begin, int64_t end, struct lw_error *err)
{
    lw_comm_barrier(comm);
    const double start = lw_now();
    const int rc = lw_loop_run(trial->loop, begin, end, err);
    trial->seconds = agreed_seconds(comm, start);
    trial->n_outputs = count_outputs(trial->rounds, begin, end);
    return rc;
}

/* The first rounds say how many fit the time; those are measured, so that pages and tables that are touched for the first time do
 * not count for all rounds. */
static int try_all(struct trial *trial, struct lw_comm *comm, int depth, struct lw_measure *measure, struct lw_error *err)
{
    const int64_t all = trial->rounds->n_rounds, few = lw_min64(2 * depth, all);
    int rc = try_rounds(trial, comm, 0, few, err);
    const double first_seconds = trial->seconds;
    const int64_t first_outputs = trial->n_outputs;
    const double per_round = first_seconds / (double)few;
    const int64_t more = lw_min64(all - few, (int64_t)(LW_MEASURE_SECONDS / per_round));
    measure->n_rounds = few + more;
    if (rc == LW_OK && more > 0)
        rc = try_rounds(trial, comm, few, few + more, err);
    const double left = (double)(count_outputs(trial->rounds, 0, all) - first_outputs);
    measure->rounds_seconds = first_seconds + left * trial->seconds / (double)lw_max64(trial->n_outputs, 1);
    return rc;
}

static int open_trial(struct trial *trial, struct lw_setup *setup, const struct lw_plan *plan, struct lw_report *report,
                      struct lw_error *err)
{
    char file[LW_MAX_PATH];
    int rc;
    snprintf(file, sizeof file, "%.*s.measure", LW_MAX_PATH - 20, lw_options_text(setup->options, "output"));
    if ((rc = lw_result_begin(setup, "", &trial->result, err)) || (rc = lw_spectrum_whiten(setup, err)) ||
        (rc = lw_result_create(&trial->result, file, err)) ||
        (rc = lw_noise_is_measured(&setup->job) ? lw_noise_measure(setup, plan, err) : LW_OK))
        return rc;
    const struct lw_loop_spec spec = {.setup = setup, .plan = plan, .writer = trial->result.writer, .report = report};
    return lw_comm_agree(setup->comm, lw_loop_create(&spec, &trial->loop, err), err);
}

int lw_measure(struct lw_setup *setup, const struct lw_plan *plan, struct lw_report *report, struct lw_measure *measure,
               struct lw_error *err)
{
    struct trial trial = {.rounds = &plan->rounds};
    *measure = (struct lw_measure){0};
    int rc = open_trial(&trial, setup, plan, report, err);
    measure->start_seconds = lw_report_elapsed(report);
    if (rc == LW_OK && (rc = try_all(&trial, setup->comm, plan->depth, measure, err)) == LW_OK) {
        /* On its way to the disk after the last round is at most what was written in the trial: systems hold back only so much. */
        const double start = lw_now();
        rc = lw_writer_sync(trial.result.writer, err);
        const double share = (double)count_outputs(trial.rounds, 0, trial.rounds->n_rounds) /
                             (double)count_outputs(trial.rounds, 0, measure->n_rounds);
        measure->disk_seconds = agreed_seconds(setup->comm, start) * share;
    }
    measure->seconds = measure->start_seconds + measure->rounds_seconds + measure->disk_seconds;
    lw_loop_destroy(trial.loop);
    lw_result_close(&trial.result);
    return rc;
}

void lw_measure_print(const struct lw_measure *measure, const struct lw_plan *plan, const struct lw_report *report)
{
    printf("%-16sabout %.3g s: start %.3g s, rounds %.3g s (of %" PRId64 ", %" PRId64 " were tried), until all is on the disk "
           "%.3g s; %s is busy longest\n", "measured", measure->seconds, measure->start_seconds, measure->rounds_seconds,
           plan->rounds.n_rounds, measure->n_rounds, measure->disk_seconds, lw_report_longest(report));
}
