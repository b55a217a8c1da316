#include "resume/checkpoint.h"

#include "base/instant.h"
#include "base/log.h"
#include "io/write/result_file.h"
#include "resume/grant.h"
#include "resume/stop.h"
#include "version.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* Part of --time-limit that is reserved for the last checkpoint. */
#define RESERVE 0.02

/* ---- the identity of a run ----------------------------------------------------------------------------------------------- */

/* Identity of a run: program, job, processor or GPU, algorithm, inputs, and the options that matter to the result. Runs of one
 * identity have the same result, bit by bit, on any ranks and with any memory. A visitor takes the identity key by key. */
struct visitor {
    void (*take)(struct visitor *visitor, const char *key, const char *value);
    struct lw_journal *journal;             /* add() adds to it */
    const struct lw_journal *earlier;       /* compare() compares with it */
    int64_t bytes;
    char key[80];                           /* first key whose values differ; "": none */
    char was[200], is[200];
};

static void visit_option(const struct lw_option *option, const char *value, void *context)
{
    struct visitor *const visitor = context;
    char key[80];
    if (option->is_neutral)
        return;
    snprintf(key, sizeof key, "--%s%s%s", option->within ? option->within : option->name, option->within ? ", " : "",
             option->within ? option->word : "");
    visitor->take(visitor, key, value ? value : "");
}

static void visit_all(const struct lw_setup *setup, struct visitor *visitor)
{
    char architecture[128];
    lw_setup_architecture(setup, architecture, sizeof architecture);
    visitor->take(visitor, "version", LW_VERSION " " LW_COMMIT);
    visitor->take(visitor, "job", setup->job.ops->name);
    visitor->take(visitor, LW_ARCHITECTURE_KEY, architecture);
    visitor->take(visitor, "algorithm", setup->algorithm);
    char value[LW_MAX_PATH + 128];
    for (int i = 0; i < setup->job.n_inputs; i++) {
        const struct lw_dataset_info *const info = &setup->job.inputs[i];
        snprintf(value, sizeof value, "%.*s, %" PRId64 " bytes, modified %" PRId64 ".%09" PRId64, LW_MAX_PATH,
                 lw_dataset_name(info).text, info->file_bytes, info->modified_ns / 1000000000, info->modified_ns % 1000000000);
        visitor->take(visitor, setup->job.input_names[i], value);
    }
    lw_options_each(setup->options, visit_option, visitor);
}

static void count(struct visitor *visitor, const char *key, const char *value)
{
    visitor->bytes += (int64_t)(strlen(key) + 4 * strlen(value) + sizeof " = \n");
}

static void add(struct visitor *visitor, const char *key, const char *value) { lw_journal_add(visitor->journal, key, value); }

static void keep(char into[200], const char *value)
{
    snprintf(into, 200, "%.160s%s", value[0] ? value : "not given", strlen(value) > 160 ? " ..." : "");
}

static void compare(struct visitor *visitor, const char *key, const char *value)
{
    const char *const was = lw_journal_find(visitor->earlier, key);
    if (visitor->key[0] || (was && strcmp(was, value) == 0))
        return;
    snprintf(visitor->key, sizeof visitor->key, "%s", key);
    keep(visitor->was, was ? was : "");
    keep(visitor->is, value);
}

static int check_identity(const struct lw_setup *setup, const struct lw_journal *journal, const char *result, struct lw_error *err)
{
    struct visitor visitor = {.take = compare, .earlier = journal};
    visit_all(setup, &visitor);
    if (!visitor.key[0])
        return LW_OK;
    return lw_fail(err, LW_ECONFIG, "'%.300s' was begun by another run: %s was %s, now it is %s; use the former to go on, or start "
                   "over with --resume never", result, visitor.key, visitor.was, visitor.is);
}

/* ---- the journal of an earlier run --------------------------------------------------------------------------------------- */

int lw_checkpoint_fail(const struct lw_checkpoint *checkpoint, const char *key, struct lw_error *err)
{
    return lw_fail(err, LW_EDATA, "the journal '%.600s' has no valid entry '%s'; start over with --resume never",
                   checkpoint->journal_name, key);
}

int lw_checkpoint_number(const struct lw_checkpoint *checkpoint, const char *key, int64_t *number, struct lw_error *err)
{
    const char *const text = lw_journal_find(checkpoint->earlier, key);
    int used = 0;
    if (text && sscanf(text, "%" SCNd64 "%n", number, &used) == 1 && !text[used] && *number >= 0)
        return LW_OK;
    return lw_checkpoint_fail(checkpoint, key, err);
}

void lw_checkpoint_add_flaws(struct lw_journal *journal, const struct lw_flaws *flaws)
{
    lw_journal_add_format(journal, "flaws", "%" PRId64 " %" PRId64 " %" PRId64 " %d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
                          flaws->n_not_finite, flaws->first, flaws->end, flaws->is_rough, flaws->n_out_of_range,
                          flaws->loss.n_saturated, flaws->loss.n_nan, flaws->n_quiet);
}

int lw_checkpoint_take_flaws(const struct lw_checkpoint *checkpoint, struct lw_flaws *flaws, struct lw_error *err)
{
    const char *const text = lw_journal_find(checkpoint->earlier, "flaws");
    int is_rough;
    if (!text ||
        sscanf(text, "%" SCNd64 " %" SCNd64 " %" SCNd64 " %d %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, &flaws->n_not_finite,
               &flaws->first, &flaws->end, &is_rough, &flaws->n_out_of_range, &flaws->loss.n_saturated, &flaws->loss.n_nan,
               &flaws->n_quiet) != 8)
        return lw_checkpoint_fail(checkpoint, "flaws", err);
    flaws->is_rough = is_rough;
    return LW_OK;
}

/* Find the earlier run's files by --resume, load the journal and check its identity. Rank 0 only. */
static int find_earlier(struct lw_checkpoint *checkpoint, struct lw_error *err)
{
    struct lw_result_file file;
    const int choice = lw_options_choice(checkpoint->setup->options, "resume");
    int rc = lw_result_file_name(&file, checkpoint->output, false, err);
    if (rc)
        return rc;
    lw_result_file_beside(&file, LW_JOURNAL_SUFFIX, checkpoint->journal_name);
    checkpoint->is_resuming =
        choice != LW_RESUME_NEVER && access(checkpoint->journal_name, F_OK) == 0 && access(file.part, F_OK) == 0;
    if (choice == LW_RESUME_REQUIRE && !checkpoint->is_resuming)
        return lw_fail(err, LW_ECONFIG, "--resume require: no run has left a '%.600s' with a journal; start with --resume auto",
                       file.part);
    if (!checkpoint->is_resuming)
        return LW_OK;
    rc = lw_journal_load(checkpoint->journal_name, &checkpoint->earlier, err);
    if (rc == LW_EDATA)
        lw_fail(err, LW_EDATA, "'%.600s' is damaged, or no journal of this version of lapwing; start over with --resume never",
                checkpoint->journal_name);
    (void)(rc || (rc = check_identity(checkpoint->setup, checkpoint->earlier, checkpoint->output, err)) ||
           (rc = lw_checkpoint_number(checkpoint, "runs", &checkpoint->n_runs, err)));
    return rc;
}

int lw_checkpoint_open(struct lw_checkpoint *checkpoint, struct lw_setup *setup, struct lw_error *err)
{
    const bool is_first = lw_comm_rank(setup->comm) == 0;
    *checkpoint = (struct lw_checkpoint){
        .setup = setup, .every_s = lw_options_real(setup->options, "checkpoint"),
        .limit_s = lw_options_real(setup->options, "time-limit"),
    };
    if (is_first && checkpoint->limit_s <= 0)
        lw_grant_ask();
    lw_stop_begin((1 - RESERVE) * checkpoint->limit_s);
    snprintf(checkpoint->output, sizeof checkpoint->output, "%s", lw_options_text(setup->options, "output"));
    const int rc = lw_comm_agree(setup->comm, is_first ? find_earlier(checkpoint, err) : LW_OK, err);
    lw_comm_broadcast(setup->comm, &checkpoint->is_resuming, sizeof checkpoint->is_resuming);
    return rc;
}

void lw_checkpoint_close(struct lw_checkpoint *checkpoint)
{
    lw_grant_end_asking();
    lw_journal_destroy(checkpoint->earlier);
    lw_journal_destroy(checkpoint->journal);
    checkpoint->earlier = checkpoint->journal = NULL;
}

/* ---- this run ------------------------------------------------------------------------------------------------------------ */

int lw_checkpoint_start(struct lw_checkpoint *checkpoint, int64_t bytes, struct lw_error *err)
{
    enum { REST = 4096 };
    const double now = lw_now();
    checkpoint->due = now + checkpoint->every_s;
    checkpoint->last_poll = now;
    checkpoint->is_stored = checkpoint->is_resuming;
    if (lw_comm_rank(checkpoint->setup->comm) != 0)
        return LW_OK;
    /* Upper bound of the bytes that the identity takes in a journal. */
    struct visitor visitor = {.take = count};
    visit_all(checkpoint->setup, &visitor);
    return lw_journal_create(visitor.bytes + bytes + REST, &checkpoint->journal, err);
}

/* Return whether the run must end now: two more rounds, the last checkpoint and the end must fit into the time left. */
static bool is_time_over(const struct lw_checkpoint *checkpoint)
{
    enum { SLURM_S = 10 };              /* reserve for the last checkpoint and the program's end */
    const double rounds = 2 * checkpoint->longest_s, end = checkpoint->limit_s > 0 ? 0 : lw_grant_end();
    if (checkpoint->limit_s > 0)
        return lw_stop_elapsed() + rounds + RESERVE * checkpoint->limit_s >= checkpoint->limit_s;
    return end > 0 && lw_now() + rounds + SLURM_S >= end;
}

int lw_checkpoint_poll(struct lw_checkpoint *checkpoint, bool is_busy, struct lw_checkpoint_news *news, struct lw_error *err)
{
    enum { DUE = 1, BUSY = 2, OVER = 4, SIGNALS = 8 };
    char why[80] = "the time limit is near";
    const double now = lw_now();
    int64_t bits = (is_busy ? BUSY : 0) | (int64_t)lw_stop_signal() * SIGNALS;
    checkpoint->longest_s = fmax(checkpoint->longest_s, now - checkpoint->last_poll);
    checkpoint->last_poll = now;
    if (lw_comm_rank(checkpoint->setup->comm) == 0)
        bits |= (now >= checkpoint->due ? DUE : 0) | (is_time_over(checkpoint) ? OVER : 0);
    bits = lw_comm_or(checkpoint->setup->comm, bits);
    news->is_due = bits & DUE;
    news->is_busy = bits & BUSY;
    if (bits >= SIGNALS)
        snprintf(why, sizeof why, "%s has come", lw_stop_signal_text((int)(bits / SIGNALS)));
    else if (!(bits & OVER))
        return LW_OK;
    return lw_fail(err, LW_ESTOPPED, "interrupted before the end of '%.300s': %s", checkpoint->output, why);
}

/* Write the journal to disk, or warn. Rank 0 only. @return  whether it is written */
static bool write_journal(struct lw_checkpoint *checkpoint, lw_checkpoint_fill_fn *fill, void *context)
{
    struct lw_journal *const journal = checkpoint->journal;
    struct lw_error err;
    char now[LW_INSTANT_TEXT];
    const double start = lw_now();
    lw_journal_clear(journal);
    struct visitor visitor = {.take = add, .journal = journal};
    visit_all(checkpoint->setup, &visitor);
    lw_journal_add(journal, "time", lw_instant_now(now));
    lw_journal_add_format(journal, "runs", "%" PRId64, checkpoint->n_runs + 1);
    fill(context, journal);
    const int rc = lw_journal_store(journal, checkpoint->journal_name, &err);
    if (rc)
        lw_log_warn("cannot write the journal, so that a run that goes on would repeat some work: %s", err.message);
    else
        lw_log_detail("checkpoint written in %.3f s", lw_now() - start);
    return rc == LW_OK;
}

/* No journal is written if an input has changed: a run on the restored input must not go on with work on the changed one. */
int lw_checkpoint_store(struct lw_checkpoint *checkpoint, lw_checkpoint_fill_fn *fill, void *context, struct lw_error *err)
{
    struct lw_comm *const comm = checkpoint->setup->comm;
    const int rc = lw_setup_check_inputs(checkpoint->setup, err);
    if (rc)
        return rc;
    checkpoint->due = lw_now() + checkpoint->every_s;
    const bool is_written = lw_comm_rank(comm) == 0 && write_journal(checkpoint, fill, context);
    checkpoint->is_stored = lw_comm_or(comm, is_written) || checkpoint->is_stored;
    return LW_OK;
}

void lw_checkpoint_explain(const struct lw_checkpoint *checkpoint, struct lw_error *err)
{
    const size_t used = strlen(err->message);
    if (err->code == LW_ESTOPPED)
        snprintf(err->message + used, sizeof err->message - used, "%s",
                 checkpoint->is_stored ? "; the same command goes on from here" : "; the same command starts over");
}
