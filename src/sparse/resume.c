/* resume.c - checkpoints of a sparse run, which finds the lines of its channels one group after the other. When a checkpoint is
 * due, the outcomes of channels are appended as records to a file beside the result. The journal holds the number of valid bytes.
 *
 *     record   struct lw_sparse_record, then its lines; the last record of a channel is valid */
#include "sparse/state.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/bytes/transfer.h"
#include "io/write/result_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

/* Least bytes of a rank's buffer for records; it is larger where one record needs more. */
enum { LEAST_BUFFER = 1 << 20 };

static int64_t buffer_bytes(const struct lw_sparse *run)
{
    const int64_t lines = run->request.spec.sparsity * (int64_t)sizeof(struct lw_sfft_line);
    return lw_max64(LEAST_BUFFER, (int64_t)sizeof(struct lw_sparse_record) + lines);
}

int64_t lw_sparse_resume_bytes(const struct lw_sparse *run)
{
    return 2 * buffer_bytes(run) + run->n_channels * (int64_t)sizeof(int64_t);
}

/* State of a channel: its attempts, plus INT32_MAX once it is dense. 0: it has no outcome yet. */
static int64_t state_of(const struct lw_sparse_outcome *outcome)
{
    return (int64_t)outcome->attempts + (outcome->is_dense != 0 ? INT32_MAX : 0);
}

/* ---- records of an earlier run ----------------------------------------------------------------------------------------- */

static int fail_records(const struct lw_sparse *run, struct lw_error *err)
{
    return lw_fail(err, LW_EDATA, "'%.600s' does not hold the lines of the interrupted run: start over with --resume never",
                   run->records.name);
}

static int fail_keep(const struct lw_sparse *run, const char *reason, struct lw_error *err)
{
    return lw_fail(err, LW_EIO, "cannot store the lines found so far in '%.600s': %.200s", run->records.name, reason);
}

/* Read the record at run->records.bytes. Rank 0 only. */
static int read_record(struct lw_sparse *run, int64_t all, struct lw_sparse_record *record, struct lw_sfft_line *lines,
                       struct lw_error *err)
{
    struct lw_sparse_records *const records = &run->records;
    struct lw_error reason;
    const int64_t head = sizeof *record;
    if (records->bytes + head > all || lw_bytes_read(records->fd, record, records->bytes, head, &reason) != LW_OK ||
        record->channel < 0 || record->channel >= run->n_channels || record->n_lines < 0 ||
        record->n_lines > run->request.spec.sparsity || (double)record->n_lines != record->outcome.lines)
        return fail_records(run, err);
    const int64_t bytes = record->n_lines * (int64_t)sizeof *lines;
    records->bytes += head;
    if (records->bytes + bytes > all || lw_bytes_read(records->fd, lines, records->bytes, bytes, &reason) != LW_OK)
        return fail_records(run, err);
    records->bytes += bytes;
    return LW_OK;
}

static int take_records(struct lw_sparse *run, int64_t all, struct lw_error *err)
{
    struct lw_comm *const comm = run->setup.comm;
    struct lw_sparse_record *const record = (struct lw_sparse_record *)run->records.mine;
    struct lw_sfft_line *const lines = (struct lw_sfft_line *)(record + 1);
    int64_t taken = 0;
    while (taken < all) {
        const int rc = lw_comm_agree(comm, run->rank == 0 ? read_record(run, all, record, lines, err) : LW_OK, err);
        if (rc)
            return rc;
        lw_comm_broadcast(comm, record, sizeof *record);
        lw_comm_broadcast(comm, lines, record->n_lines * (int64_t)sizeof *lines);
        const int64_t channel = record->channel;
        run->all[channel] = record->outcome;
        run->records.noted[channel] = state_of(&record->outcome);
        if (lw_sparse_owner(run, channel) == run->rank) {
            run->mine[channel] = record->outcome;
            memcpy(lw_sparse_lines_of(run, channel), lines, (size_t)record->n_lines * sizeof *lines);
        }
        taken += (int64_t)sizeof *record + record->n_lines * (int64_t)sizeof *lines;
    }
    return LW_OK;
}

/* Open the earlier run's records, and cut off bytes behind the valid ones. Rank 0 only. */
static int open_earlier(struct lw_sparse *run, int64_t *all, struct lw_error *err)
{
    struct lw_sparse_records *const records = &run->records;
    struct stat status;
    int rc;
    if ((rc = lw_checkpoint_number(&run->checkpoint, "bytes", all, err)) ||
        (rc = lw_checkpoint_take_flaws(&run->checkpoint, &run->flaws, err)) || *all == 0)
        return rc;
    records->fd = open(records->name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (records->fd < 0 || fstat(records->fd, &status) != 0)
        return lw_fail(err, LW_EIO, "cannot read '%.600s': %s", records->name, strerror(errno));
    if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() || status.st_size < *all)
        return fail_records(run, err);
    return ftruncate(records->fd, *all) == 0 ? LW_OK : fail_keep(run, strerror(errno), err);
}

static int take_earlier(struct lw_sparse *run, struct lw_error *err)
{
    int64_t all = 0;
    int rc = lw_comm_agree(run->setup.comm, run->rank == 0 ? open_earlier(run, &all, err) : LW_OK, err);
    if (rc)
        return rc;
    lw_comm_broadcast(run->setup.comm, &all, sizeof all);
    rc = take_records(run, all, err);
    if (rc == LW_OK)
        lw_log_info("continuing the interrupted run of '%s': %" PRId64 " of %" PRId64 " %s are done",
                    run->checkpoint.output, run->n_channels - lw_sparse_add_up(run).unexplained, run->n_channels,
                    lw_sparse_channels_text(run));
    return rc;
}

static int allocate(struct lw_sparse *run, struct lw_error *err)
{
    struct lw_sparse_records *const records = &run->records;
    records->fd = -1;
    if (!(records->mine = lw_alloc((size_t)buffer_bytes(run), "what was found", err)) ||
        !(records->received = lw_alloc((size_t)buffer_bytes(run), "what was found", err)) ||
        !(records->noted = lw_alloc_array(run->n_channels, sizeof *records->noted, "channels", err)))
        return LW_ESYSTEM;
    return lw_checkpoint_start(&run->checkpoint, 0, err);
}

int lw_sparse_resume_start(struct lw_sparse *run, struct lw_error *err)
{
    int rc;
    if ((rc = lw_checkpoint_open(&run->checkpoint, &run->setup, err)) ||
        (rc = lw_comm_agree(run->setup.comm, allocate(run, err), err)) ||
        (rc = lw_result_hold(&run->result, run->checkpoint.is_resuming, err)))
        return rc;
    run->result.n_runs = run->checkpoint.n_runs;
    lw_writer_beside(run->result.holder, LW_ROWS_SUFFIX, run->records.name);
    return run->checkpoint.is_resuming ? take_earlier(run, err) : LW_OK;
}

void lw_sparse_resume_close(struct lw_sparse *run)
{
    struct lw_sparse_records *const records = &run->records;
    if (records->mine && records->fd >= 0)
        close(records->fd);
    lw_free(records->mine);
    lw_free(records->received);
    lw_free(records->noted);
    lw_checkpoint_close(&run->checkpoint);
}

/* ---- checkpoints ----------------------------------------------------------------------------------------------------------- */

/* Append bytes of any rank's records, split anywhere but in order. Rank 0 only. */
static int append(void *context, const void *bytes, int64_t n, struct lw_error *err)
{
    struct lw_sparse *const run = context;
    struct lw_sparse_records *const records = &run->records;
    struct lw_error reason;
    if (records->fd < 0)
        records->fd = open(records->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (records->fd < 0)
        return fail_keep(run, strerror(errno), err);
    if (lw_bytes_write(records->fd, bytes, records->bytes, n, &reason) != LW_OK)
        return fail_keep(run, reason.message, err);
    records->bytes += n;
    return LW_OK;
}

/* Pack records of this rank's channels from *next on whose state has changed, as many as fit. @return  bytes packed */
static int64_t pack(struct lw_sparse *run, int64_t *next)
{
    const int64_t room = buffer_bytes(run);
    int64_t used = 0;
    for (; *next < run->n_channels; (*next)++) {
        const int64_t c = *next;
        const struct lw_sparse_outcome *const outcome = &run->mine[c];
        if (lw_sparse_owner(run, c) != run->rank || state_of(outcome) == run->records.noted[c])
            continue;
        const struct lw_sparse_record record = {c, (int64_t)outcome->lines, *outcome};
        const int64_t bytes = record.n_lines * (int64_t)sizeof(struct lw_sfft_line);
        if (used + (int64_t)sizeof record + bytes > room)
            return used;
        memcpy(run->records.mine + used, &record, sizeof record);
        memcpy(run->records.mine + used + sizeof record, lw_sparse_lines_of(run, c), (size_t)bytes);
        used += (int64_t)sizeof record + bytes;
        run->records.noted[c] = state_of(outcome);
    }
    return used;
}

/* Bring all new records to the file, rank after rank, so that the parts of a record stay together. */
static int bring(struct lw_sparse *run, struct lw_error *err)
{
    struct lw_comm *const comm = run->setup.comm;
    int64_t next = 0;
    int rc = LW_OK;
    while (rc == LW_OK && lw_comm_min(comm, next) < run->n_channels)
        rc = lw_comm_agree(
            comm,
            lw_comm_bring(comm, run->records.mine, pack(run, &next), run->records.received, buffer_bytes(run), append, run, err),
            err);
    if (rc == LW_OK && run->rank == 0 && run->records.fd >= 0 && fsync(run->records.fd) != 0)
        rc = fail_keep(run, strerror(errno), err);
    return lw_comm_agree(comm, rc, err);
}

/* Figures of all ranks for the journal. */
struct noted {
    const struct lw_sparse *run;
    int64_t n_channels;
    struct lw_flaws flaws;
};

static void fill(void *context, struct lw_journal *journal)
{
    const struct noted *const noted = context;
    const struct lw_sparse *const run = noted->run;
    lw_journal_add_format(journal, "done", "%" PRId64 " of %" PRId64 " %s", noted->n_channels, run->n_channels,
                          lw_sparse_channels_text(run));
    lw_journal_add_format(journal, "bytes", "%" PRId64, run->records.bytes);
    lw_checkpoint_add_flaws(journal, &noted->flaws);
}

/* Write a checkpoint. After a failure no more follow: the file's state is unknown, and a second fsync hides the failure. */
static int note(struct lw_sparse *run, struct lw_error *err)
{
    struct noted noted = {.run = run, .flaws = run->flaws};
    int rc = bring(run, err);
    run->records.has_failed = rc != LW_OK;
    if (rc)
        return rc;
    for (int64_t c = 0; c < run->n_channels; c++)
        noted.n_channels += lw_sparse_owner(run, c) == run->rank && run->records.noted[c] != 0;
    noted.n_channels = lw_comm_sum(run->setup.comm, noted.n_channels);
    lw_flaws_sum(run->setup.comm, &noted.flaws);
    rc = lw_checkpoint_store(&run->checkpoint, fill, &noted, err);
    run->records.has_failed = rc != LW_OK;
    if (run->result.holder && run->checkpoint.is_stored)
        lw_writer_keep(run->result.holder);
    return rc;
}

int lw_sparse_checkpoint(struct lw_sparse *run, struct lw_error *err)
{
    struct lw_checkpoint_news news;
    if (!run->result.holder)            /* the run is only being measured */
        return LW_OK;
    const int rc = lw_checkpoint_poll(&run->checkpoint, false, &news, err);
    return rc == LW_OK && news.is_due ? note(run, err) : rc;
}

void lw_sparse_resume_save(struct lw_sparse *run, int rc, struct lw_error *err)
{
    struct lw_error why;
    bool is_begun = false;
    for (int64_t c = 0; c < run->n_channels; c++)
        is_begun = is_begun || state_of(&run->mine[c]) != 0;
    if (lw_checkpoint_may_go_on(rc) && !run->records.has_failed && lw_comm_or(run->setup.comm, is_begun) &&
        note(run, &why) != LW_OK && run->rank == 0)
        lw_log_warn("the last checkpoint failed; a later run would repeat the work since the one before: %s", why.message);
    lw_checkpoint_explain(&run->checkpoint, err);
}
