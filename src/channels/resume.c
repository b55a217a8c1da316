/* resume.c - checkpoints of a run over whole channels. Its table grows: rows of candidates, hits of channels that are searched in
 * parts, and rows that tell how far a channel is done (lw_channels_hit). The journal holds the number of rows that are safe. Ranges
 * of parts are free: a later run goes on from the point that was reached, in parts of its own. */
#include "channels/state.h"

#include "base/log.h"

#include <inttypes.h>

static void see_rows(void *context, const void *rows, int64_t n)
{
    struct lw_channels *const run = context;
    const struct lw_accel_row *const row = rows;
    lw_channels_note(run, row, n);
    for (int64_t i = 0; i < n; i++)
        if (row[i].harmonics < 0 && run->n_earlier++ < LW_CHANNELS_MOST_EARLIER)
            run->earlier[run->n_earlier - 1] = (struct lw_channels_earlier){row[i].channel, lw_channels_hit(&row[i])};
}

/* Take over the rows of an interrupted run. If there are too many hits, channels that are done in part start anew; finding a hit
 * twice does no harm. Rank 0 only. */
static int take_earlier(struct lw_channels *run, struct lw_error *err)
{
    int rc;
    if ((rc = lw_checkpoint_number(&run->checkpoint, "rows", &run->n_rows, err)) ||
        (rc = lw_checkpoint_take_flaws(&run->checkpoint, &run->flaws, err)))
        return rc;
    rc = lw_writer_recall(run->result.writer, LW_ACCEL_CANDIDATES, run->n_rows, see_rows, run, err);
    if (run->n_earlier <= LW_CHANNELS_MOST_EARLIER)
        return rc;
    run->n_earlier = 0;
    for (int64_t c = 0; c < run->setup.job.op.n_channels; c++)
        if (run->reached[c] < run->request->plan.end)
            run->reached[c] = run->request->plan.begin;
    return rc;
}

int lw_channels_start(struct lw_channels *run, struct lw_error *err)
{
    struct lw_comm *const comm = run->setup.comm;
    const int64_t n_channels = run->setup.job.op.n_channels;
    int rc;
    if ((rc = lw_checkpoint_open(&run->checkpoint, &run->setup, err)))
        return rc;
    const bool goes_on = run->checkpoint.is_resuming;
    run->result.n_runs = run->checkpoint.n_runs;
    if ((rc = goes_on ? lw_result_open(&run->result, err) : lw_result_create(&run->result, NULL, err)) ||
        (rc = lw_comm_agree(comm, lw_checkpoint_start(&run->checkpoint, 0, err), err)) ||
        (rc = lw_comm_agree(comm, goes_on && run->rank == 0 ? take_earlier(run, err) : LW_OK, err)))
        return rc;
    lw_comm_broadcast(comm, run->reached, n_channels * (int64_t)sizeof *run->reached);
    lw_comm_broadcast(comm, &run->n_earlier, sizeof run->n_earlier);
    lw_comm_broadcast(comm, run->earlier, run->n_earlier * (int64_t)sizeof *run->earlier);
    run->n_todo = 0;
    int64_t n_begun = 0;
    for (int64_t c = 0; c < n_channels; c++)
        if (run->reached[c] < run->request->plan.end) {
            run->todo[run->n_todo++] = c;
            n_begun += run->reached[c] > run->request->plan.begin;
        }
    if (goes_on)
        lw_log_info("continuing the interrupted run of '%s': %" PRId64 " of %" PRId64 " channels are done, %" PRId64 " in part",
                    run->checkpoint.output, n_channels - run->n_todo, n_channels, n_begun);
    return LW_OK;
}

/* Figures of all ranks for the journal. */
struct noted {
    const struct lw_channels *run;
    struct lw_flaws flaws;
};

static void fill(void *context, struct lw_journal *journal)
{
    const struct noted *const noted = context;
    const int64_t n_channels = noted->run->setup.job.op.n_channels;
    int64_t n_done = 0;
    for (int64_t c = 0; c < n_channels; c++)
        n_done += noted->run->reached[c] >= noted->run->request->plan.end;
    lw_journal_add_format(journal, "done", "%" PRId64 " of %" PRId64 " channels", n_done, n_channels);
    lw_journal_add_format(journal, "rows", "%" PRId64, noted->run->n_rows);
    lw_checkpoint_add_flaws(journal, &noted->flaws);
}

/* Write a checkpoint. After a failure no more follow: a second flush would hide it. */
static int note(struct lw_channels *run, struct lw_error *err)
{
    struct noted noted = {run, run->flaws};
    lw_flaws_sum(run->setup.comm, &noted.flaws);
    int rc = lw_writer_sync(run->result.writer, err);
    rc = rc ? rc : lw_checkpoint_store(&run->checkpoint, fill, &noted, err);
    run->has_failed = rc != LW_OK;
    if (run->checkpoint.is_stored)
        lw_writer_keep(run->result.writer);
    return rc;
}

int lw_channels_checkpoint(struct lw_channels *run, struct lw_error *err)
{
    struct lw_checkpoint_news news;
    if (!run->result.writer)            /* the run is only being measured */
        return LW_OK;
    const int rc = lw_checkpoint_poll(&run->checkpoint, false, &news, err);
    return rc == LW_OK && news.is_due ? note(run, err) : rc;
}

void lw_channels_save(struct lw_channels *run, int rc, struct lw_error *err)
{
    struct lw_error why;
    if (lw_checkpoint_may_go_on(rc) && !run->has_failed && lw_comm_max(run->setup.comm, run->n_rows) > 0 &&
        note(run, &why) != LW_OK && run->rank == 0)
        lw_log_warn("the last checkpoint failed; a later run would repeat the work since the one before: %s", why.message);
    lw_checkpoint_explain(&run->checkpoint, err);
}
