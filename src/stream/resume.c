#include "stream/resume.h"

#include "base/log.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>

/* Most bytes of a stripe in the journal: three numbers, each with a separator. */
enum { STRIPE_TEXT = 3 * 21 };

/* ---- the outputs that an interrupted run has left ----------------------------------------------------------------------- */

/* Parse stripes such as "3840 0 2,0 2 30": first output, first channel, channels. @return  their number; 0: not a valid list */
static int64_t parse(const char *text, struct lw_stripe *stripes, int64_t most)
{
    int64_t n = 0;
    int used = 0;
    for (; n < most && *text; n++, text += used) {
        struct lw_stripe *const s = &stripes[n];
        if (sscanf(text, "%" SCNd64 " %" SCNd64 " %" SCNd64 "%n", &s->first, &s->channel, &s->n_channels, &used) != 3)
            return 0;
        used += text[used] == ',';
    }
    return *text ? 0 : n;
}

static bool are_sound(const struct lw_grid *grid, const struct lw_stripe *stripes, int64_t n)
{
    int64_t channel = 0;
    for (int64_t s = 0; s < n; s++) {
        const struct lw_stripe *const stripe = &stripes[s];
        if (stripe->first < 0 || stripe->first >= grid->n_outputs || stripe->first % grid->unit != 0 || stripe->channel < channel ||
            stripe->channel % grid->channel_unit != 0 || stripe->n_channels < 1 ||
            stripe->n_channels > grid->n_channels - stripe->channel)
            return false;
        channel = stripe->channel + stripe->n_channels;
    }
    return n > 0;
}

int lw_streamed_take(struct lw_streamed *streamed, const struct lw_grid *grid, struct lw_error *err)
{
    const struct lw_checkpoint *const checkpoint = &streamed->checkpoint;
    const char *const text = lw_journal_find(checkpoint->earlier, "left");
    int64_t most = 1;
    int rc;
    if ((rc = lw_checkpoint_take_flaws(checkpoint, &streamed->flaws, err)) ||
        (rc = lw_checkpoint_number(checkpoint, "rows", &streamed->n_rows, err)))
        return rc;
    for (const char *c = text; c && *c; c++)
        most += *c == ',';
    streamed->stripes = lw_alloc_array(most, sizeof *streamed->stripes, "what an earlier run has left", err);
    if (!streamed->stripes)
        return LW_ESYSTEM;
    streamed->n_stripes = text ? parse(text, streamed->stripes, most) : 0;
    return are_sound(grid, streamed->stripes, streamed->n_stripes) ? LW_OK : lw_checkpoint_fail(checkpoint, "left", err);
}

int lw_streamed_open(struct lw_streamed *streamed, struct lw_setup *setup, struct lw_rounds *rounds, struct lw_error *err)
{
    const struct lw_grid *const grid = &rounds->grid;
    *streamed = (struct lw_streamed){0};
    int rc = lw_checkpoint_open(&streamed->checkpoint, setup, err);
    if (rc || !streamed->checkpoint.is_resuming)
        return rc;
    rc = lw_comm_agree(setup->comm, lw_comm_rank(setup->comm) == 0 ? lw_streamed_take(streamed, grid, err) : LW_OK, err);
    if (rc)
        return rc;
    lw_comm_broadcast(setup->comm, &streamed->n_stripes, sizeof streamed->n_stripes);
    if (!streamed->stripes)
        streamed->stripes = lw_alloc_array(streamed->n_stripes, sizeof *streamed->stripes, "what an earlier run has left", err);
    if ((rc = lw_comm_agree(setup->comm, streamed->stripes ? LW_OK : LW_ESYSTEM, err)))
        return rc;
    lw_comm_broadcast(setup->comm, streamed->stripes, streamed->n_stripes * (int64_t)sizeof *streamed->stripes);
    lw_rounds_limit(rounds, streamed->stripes, streamed->n_stripes);
    lw_log_info("continuing the interrupted run of '%s': %.3g%% is done", streamed->checkpoint.output,
                100 * (1 - (double)lw_rounds_all_outputs(rounds) / ((double)grid->n_outputs * (double)grid->n_channels)));
    return LW_OK;
}

void lw_streamed_close(struct lw_streamed *streamed)
{
    if (streamed->is_syncing)
        lw_writer_sync_end(streamed->writer, NULL);
    streamed->is_syncing = false;
    lw_checkpoint_close(&streamed->checkpoint);
    lw_free(streamed->stripes);
    lw_free(streamed->left);
    lw_free(streamed->text);
}

/* ---- checkpoints ----------------------------------------------------------------------------------------------------------- */

int lw_streamed_start(struct lw_streamed *streamed, struct lw_writer *writer, const struct lw_rounds *rounds, struct lw_error *err)
{
    const int64_t most = lw_rounds_most_left(rounds), all = rounds->grid.n_outputs * rounds->grid.n_channels;
    streamed->rounds = rounds;
    streamed->n_stored = all - lw_rounds_all_outputs(rounds);
    if (!(streamed->left = lw_alloc_array(most, sizeof *streamed->left, "the journal", err)) ||
        !(streamed->text = lw_alloc_array(most, STRIPE_TEXT, "the journal", err)) ||
        lw_checkpoint_start(&streamed->checkpoint, most * STRIPE_TEXT, err))
        return LW_ESYSTEM;
    streamed->writer = writer;
    return LW_OK;
}

static void fill(void *context, struct lw_journal *journal)
{
    struct lw_streamed *const streamed = context;
    const struct lw_written *const safe = &streamed->safe;
    const int64_t n = lw_rounds_left(streamed->rounds, safe->n_rounds, streamed->left);
    int used = 0;
    for (int64_t s = 0; s < n; s++)
        used += snprintf(streamed->text + used, STRIPE_TEXT, "%s%" PRId64 " %" PRId64 " %" PRId64, s ? "," : "",
                         streamed->left[s].first, streamed->left[s].channel, streamed->left[s].n_channels);
    lw_journal_add_format(journal, "done", "%" PRId64 " of %" PRId64, safe->n_outputs, safe->all_outputs);
    lw_journal_add(journal, "left", streamed->text);
    lw_journal_add_format(journal, "rows", "%" PRId64, safe->n_rows);
    lw_checkpoint_add_flaws(journal, &safe->flaws);
}

/* Return whether a checkpoint is of use: there are new outputs, but not all, and there will be a result. Collective. */
static bool is_worth(const struct lw_streamed *streamed, const struct lw_written *written)
{
    const bool is_here = !streamed->has_failed && written->n_rows != LW_ROWS_TOO_MANY &&
                         written->n_outputs > streamed->n_stored && written->n_outputs < written->all_outputs;
    return lw_comm_min(streamed->checkpoint.setup->comm, is_here) > 0;
}

/* Wait for the flush, then record its outputs. A failed flush must not be retried: the system reports lost writes only once, so
 * that a second flush would seem to succeed. */
static int end_sync(struct lw_streamed *streamed, struct lw_error *err)
{
    int rc = lw_comm_agree(streamed->checkpoint.setup->comm, lw_writer_sync_end(streamed->writer, err), err);
    streamed->is_syncing = false;
    rc = rc ? rc : lw_checkpoint_store(&streamed->checkpoint, fill, streamed, err);
    streamed->has_failed = rc != LW_OK;
    if (rc)
        return rc;
    if (streamed->checkpoint.is_stored)
        lw_writer_keep(streamed->writer);
    streamed->n_stored = streamed->safe.n_outputs;
    return LW_OK;
}

static void begin_sync(struct lw_streamed *streamed, const struct lw_written *written)
{
    streamed->safe = *written;
    lw_flaws_sum(streamed->checkpoint.setup->comm, &streamed->safe.flaws);
    lw_writer_sync_begin(streamed->writer);
    streamed->is_syncing = true;
}

int lw_streamed_listen(void *context, const struct lw_written *written, struct lw_error *err)
{
    struct lw_streamed *const streamed = context;
    struct lw_checkpoint_news news;
    const bool is_busy = streamed->is_syncing && !lw_writer_is_synced(streamed->writer);
    int rc = lw_checkpoint_poll(&streamed->checkpoint, is_busy, &news, err);
    if (rc == LW_OK && streamed->is_syncing && !news.is_busy)
        rc = end_sync(streamed, err);
    else if (rc == LW_OK && !streamed->is_syncing && news.is_due && is_worth(streamed, written))
        begin_sync(streamed, written);
    return rc;
}

void lw_streamed_save(struct lw_streamed *streamed, const struct lw_written *written, int rc, struct lw_error *err)
{
    struct lw_error why;
    int failed = streamed->is_syncing ? end_sync(streamed, &why) : LW_OK;
    if (lw_checkpoint_may_go_on(rc) && is_worth(streamed, written)) {
        begin_sync(streamed, written);
        failed = end_sync(streamed, &why);
    }
    if (failed && lw_comm_rank(streamed->checkpoint.setup->comm) == 0)
        lw_log_warn("the last checkpoint failed; a later run would repeat the work since the one before: %s", why.message);
    lw_checkpoint_explain(&streamed->checkpoint, err);
}
