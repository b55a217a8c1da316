#include "stream/resume.h"

#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>

/* Most bytes of a stripe in the journal: six numbers, each with a separator. */
enum { STRIPE_TEXT = 6 * 21 };

/* ---- the outputs that an interrupted run has left ----------------------------------------------------------------------- */

/* Parse stripes such as "3840 9000 0 2 0 1,0 9000 2 30 0 1": first output and their end, first channel, channels, first filter,
 * filters. @return  their number; 0: not a valid list */
static int64_t parse(const char *text, struct lw_stripe *stripes, int64_t most)
{
    int64_t n = 0;
    int used = 0;
    for (; n < most && *text; n++, text += used) {
        struct lw_stripe *const s = &stripes[n];
        int64_t *const numbers[] = {&s->first, &s->end, &s->channel, &s->n_channels, &s->filter, &s->n_filters};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++, text += used)
            if (sscanf(text, " %" SCNd64 "%n", numbers[i], &used) != 1)
                return 0;
        used = *text == ',';
    }
    return *text ? 0 : n;
}

/* Return whether [begin, begin + n) is a part of [0, all) that begins at a multiple of the unit. */
static bool is_part(int64_t begin, int64_t n, int64_t all, int64_t unit)
{
    return begin >= 0 && n >= 1 && begin < all && n <= all - begin && begin % unit == 0;
}

static bool are_sound(const struct lw_grid *grid, const struct lw_stripe *stripes, int64_t n)
{
    for (int64_t s = 0; s < n; s++) {
        const struct lw_stripe *const stripe = &stripes[s];
        if (!is_part(stripe->first, stripe->end - stripe->first, grid->n_outputs, grid->unit) ||
            !is_part(stripe->channel, stripe->n_channels, grid->n_channels, grid->channel_unit) ||
            !is_part(stripe->filter, stripe->n_filters, lw_max64(1, grid->n_filters), 1) ||
            (stripe->end < grid->n_outputs && stripe->end % grid->unit != 0))
            return false;
    }
    return n > 0 && lw_stripes_outputs(stripes, n) <= lw_grid_outputs(grid);
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
                100 * (1 - (double)lw_rounds_all_outputs(rounds) / (double)lw_grid_outputs(grid)));
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
    const int64_t most = lw_rounds_most_left(rounds), all = lw_grid_outputs(&rounds->grid);
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
    for (int64_t s = 0; s < n; s++) {
        const struct lw_stripe *const left = &streamed->left[s];
        const int64_t numbers[] = {left->first, left->end, left->channel, left->n_channels, left->filter, left->n_filters};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            used += snprintf(streamed->text + used, STRIPE_TEXT, "%s%" PRId64, i > 0 ? " " : s > 0 ? "," : "", numbers[i]);
    }
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
