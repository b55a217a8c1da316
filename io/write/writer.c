#include "io/write/writer.h"

#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/bytes/transfer.h"
#include "io/journal/journal.h"
#include "io/write/structure.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The formats of results, in the order of enum lw_result_format. */
extern const struct lw_structure lw_structure_hdf5, lw_structure_fits;
static const struct lw_structure *const structures[] = {&lw_structure_hdf5, &lw_structure_fits};

struct lw_writer {
    struct lw_comm *comm;
    const struct lw_structure *structure;
    struct lw_result_file result;       /* claimed by rank 0, joined by the other ranks */
    struct lw_pool *pool;               /* borrowed, used with `store`; NULL: the main thread writes */
    struct lw_store *store;             /* used for direct writes; NULL: `file` is used */
    void *file;                         /* file of the format's library, which all ranks write together */
    struct lw_extent *extents;          /* [n_datasets]; growing tables: all zero */
    struct lw_growing **tables;         /* [n_datasets], on rank 0; NULL: the dataset does not grow */
    int n_datasets;
    uint64_t mark;                      /* mark of the file's structure (lw_result_file_mark) */
    struct lw_batch sync;               /* sync under way on an I/O thread */
};

/* ---- create, open -------------------------------------------------------------------------------------------------- */

/* End all ranks after the library could not write the file: it would try again when MPI ends, and crash. */
static void abandon(struct lw_writer *writer, const struct lw_error *err)
{
    lw_result_file_discard(&writer->result);
    lw_comm_abort(writer->comm, err);
}

/* Check that all ranks agree on shapes and types, before any collective call. */
static int check_same(struct lw_comm *comm, const struct lw_writer_spec *spec, struct lw_error *err)
{
    for (int d = 0; d < spec->n_datasets; d++) {
        const struct lw_writer_dataset *const dataset = &spec->datasets[d];
        char type[40], text[256];
        const char *const kind = dataset->n_columns > 0 ? (dataset->grows ? "growing table" : "table")
                                 : dataset->holds_words ? "uint64" : lw_type_text(dataset->type, type);
        snprintf(text, sizeof text, "%.60s %s ", dataset->path, kind);
        const int rc = lw_comm_same(comm, "the result", lw_append_dims(text, sizeof text, dataset->dims, dataset->n_dims), err);
        if (rc)
            return rc;
    }
    return LW_OK;
}

/* Make a new temporary file, on rank 0. @param is_stuck  as lw_structure.create sets it */
static int make_file(struct lw_writer *writer, const struct lw_writer_spec *spec, bool *is_stuck, struct lw_error *err)
{
    const struct lw_structure *const structure = writer->structure;
    int rc;
    (void)((rc = lw_result_file_claim(&writer->result, structure->room(spec), err)) ||
           (rc = structure->create(&writer->result, spec, writer->extents, is_stuck, err)) ||
           (rc = lw_result_file_place(&writer->result, err)));
    return rc;
}

static int take_file(struct lw_writer *writer, const struct lw_writer_spec *spec, struct lw_error *err)
{
    char undo[LW_MAX_PATH];
    int rc = lw_result_file_resume(&writer->result, err);
    lw_result_file_beside(&writer->result, LW_UNDO_SUFFIX, undo);
    rc = rc ? rc : lw_undo_apply(writer->result.fd, undo, err);
    return rc ? rc : writer->structure->check(&writer->result, spec, writer->extents, err);
}

/* Create the growing tables. If a later run may go on, there is at most one; its rows go to OUT.lapwing-rows, too. */
static int make_tables(struct lw_writer *writer, const struct lw_writer_spec *spec, struct lw_error *err)
{
    char log[LW_MAX_PATH];
    int rc = LW_OK, n_tables = 0;
    lw_result_file_beside(&writer->result, LW_ROWS_SUFFIX, log);
    for (int d = 0; d < spec->n_datasets && rc == LW_OK; d++) {
        if (!spec->datasets[d].grows)
            continue;
        rc = lw_growing_create(&spec->datasets[d], writer->result.name, spec->can_resume ? log : "", &writer->tables[d], err);
        n_tables++;
    }
    assert(n_tables < 2 || !spec->can_resume);
    return rc;
}

/* Prepare the file on rank 0. The other ranks first open it by POSIX calls: MPI-IO does not survive ranks that cannot open it. */
static int prepare_file(struct lw_writer *writer, const struct lw_writer_spec *spec, bool is_new, struct lw_error *err)
{
    const bool prepares = lw_comm_rank(writer->comm) == 0;
    bool is_stuck = false;
    int rc = lw_result_file_name(&writer->result, spec->file, spec->overwrite, err);
    writer->result.is_kept = spec->has_journal;
    if (rc == LW_OK && prepares)
        rc = make_tables(writer, spec, err);
    if (rc == LW_OK && prepares)
        rc = is_new ? make_file(writer, spec, &is_stuck, err) : take_file(writer, spec, err);
    if (is_stuck)
        abandon(writer, err);
    if (rc == LW_OK && prepares)
        rc = lw_result_file_mark(&writer->result, &writer->mark, err);
    if ((rc = lw_comm_agree(writer->comm, rc, err)))
        return rc;
    lw_comm_broadcast(writer->comm, &writer->mark, sizeof writer->mark);
    lw_comm_broadcast(writer->comm, writer->extents, writer->n_datasets * (int64_t)sizeof *writer->extents);
    return lw_comm_agree(writer->comm, prepares ? LW_OK : lw_result_file_join(&writer->result, writer->mark, err), err);
}

/* Return whether each rank writes its samples to their places by itself, not by collective calls; log the reason. */
static bool is_direct(struct lw_writer *writer, const struct lw_writer_spec *spec, const struct lw_storage *storage)
{
    struct lw_error why;
    const bool has_choice = writer->structure->open_together;
    if (has_choice && (!spec->pool || spec->io == LW_IO_COLLECTIVE))
        return false;
    const int here = storage->is_coherent
                         ? LW_OK
                         : lw_fail(&why, LW_EIO, "%s is not known to keep a file coherent that several nodes write", storage->name);
    const bool is_coherent = lw_comm_agree(writer->comm, here, &why) == LW_OK;
    if (!is_coherent && has_choice && spec->io == LW_IO_AUTO) {
        lw_log_info("the result is written by collective calls: %s", why.message);
        return false;
    }
    if (!is_coherent && lw_comm_node_size(writer->comm) < lw_comm_size(writer->comm) && lw_comm_rank(writer->comm) == 0)
        lw_log_warn("%s: samples at the seams of two nodes may be lost; %s", why.message,
                    has_choice ? "--io collective loses none" : "results in HDF5 with --io collective lose none");
    if (spec->pool)
        lw_log_info("the result is written directly by %d threads a rank (%s, %s)", lw_pool_threads(spec->pool), storage->name,
                    lw_store_way_text(storage->way));
    return true;
}

static int open_way(struct lw_writer *writer, const struct lw_writer_spec *spec, struct lw_error *err)
{
    struct lw_storage storage;
    lw_storage_find(writer->result.fd, &storage);
    if (!is_direct(writer, spec, &storage))
        return writer->structure->open_together(writer->comm, &writer->result, spec, &writer->file, err);
    writer->pool = spec->io == LW_IO_COLLECTIVE ? NULL : spec->pool;
    return lw_comm_agree(writer->comm, lw_store_open(writer->result.fd, &storage, storage.way, &writer->store, err), err);
}

static struct lw_writer *allocate(struct lw_comm *comm, const struct lw_writer_spec *spec, struct lw_error *err)
{
    const int n_datasets = spec->n_datasets;
    struct lw_writer *const writer = lw_alloc(sizeof *writer, "the writer", err);
    struct lw_extent *const extents = lw_alloc_array(n_datasets, sizeof *extents, "the writer", err);
    struct lw_growing **const tables = lw_alloc_array(n_datasets, sizeof *tables, "the writer", err);
    if (!writer || !extents || !tables) {
        lw_free(writer);
        lw_free(extents);
        lw_free(tables);
        return NULL;
    }
    *writer = (struct lw_writer){.comm = comm, .structure = structures[spec->format], .result = {.fd = -1}, .extents = extents,
                                 .tables = tables, .n_datasets = n_datasets};
    return writer;
}

static int start(struct lw_comm *comm, const struct lw_writer_spec *spec, bool is_new, struct lw_writer **out, struct lw_error *err)
{
    int rc;
    if (structures[spec->format]->start)
        structures[spec->format]->start();
    struct lw_writer *const writer = allocate(comm, spec, err);
    if ((rc = lw_comm_agree(comm, writer ? LW_OK : LW_ESYSTEM, err)) ||
        (rc = check_same(comm, spec, err)) ||
        (rc = prepare_file(writer, spec, is_new, err)) ||
        (rc = open_way(writer, spec, err))) {
        lw_writer_destroy(writer);
        return rc;
    }
    *out = writer;
    return LW_OK;
}

int lw_writer_create(struct lw_comm *comm, const struct lw_writer_spec *spec, struct lw_writer **out, struct lw_error *err)
{
    return start(comm, spec, true, out, err);
}

int lw_writer_open(struct lw_comm *comm, const struct lw_writer_spec *spec, struct lw_writer **out, struct lw_error *err)
{
    return start(comm, spec, false, out, err);
}

/* ---- write --------------------------------------------------------------------------------------------------------- */

void lw_writer_begin(struct lw_writer *writer, int dataset, const int64_t *first, const int64_t *count, const void *data,
                     struct lw_write *write)
{
    assert(dataset >= 0 && dataset < writer->n_datasets);
    const struct lw_extent *const extent = &writer->extents[dataset];
    assert(extent->n_dims > 0);
    write->n_dims = extent->n_dims;
    for (int d = 0; d < extent->n_dims; d++) {
        write->first[d] = first[d];
        write->count[d] = count[d];
    }
    if (writer->store)
        lw_put_begin(writer->pool, writer->store, extent, first, count, data, &write->put);
    else
        writer->structure->write_together(writer->file, dataset, first, count, data);
}

int lw_writer_end(struct lw_writer *writer, struct lw_write *write, struct lw_error *err)
{
    struct lw_error reason;
    char where[128] = "";
    if (!writer->store || lw_put_end(writer->pool, &write->put, &reason) == LW_OK)
        return LW_OK;
    for (int d = 0; d < write->n_dims; d++)
        lw_append(where, sizeof where, "%s%" PRId64 "..%" PRId64, d ? " x " : " at ", write->first[d],
                  write->first[d] + write->count[d] - 1);
    return lw_fail(err, LW_EIO, "cannot write '%.600s'%s: %.200s", writer->result.part, where, reason.message);
}

int lw_writer_write(struct lw_writer *writer, int dataset, const int64_t *first, const int64_t *count, const void *data,
                    struct lw_error *err)
{
    struct lw_write write;
    lw_writer_begin(writer, dataset, first, count, data, &write);
    return lw_comm_agree(writer->comm, lw_writer_end(writer, &write, err), err);
}

int lw_writer_recall_array(const struct lw_writer *writer, int dataset, const int64_t *first, const int64_t *count, void *data,
                           struct lw_error *err)
{
    const struct lw_extent *const extent = &writer->extents[dataset];
    const struct lw_runs runs = lw_runs_plan(extent, first, count, LW_PUT_PIECE_BYTES);
    int rc = LW_OK;
    assert(writer->store && !extent->is_swapped && !extent->is_about_middle);
    for (int64_t piece = 0; piece < runs.n_pieces; piece++) {
        for (int64_t r = 0; r < lw_runs_in_piece(&runs, piece) && rc == LW_OK; r++) {
            const struct lw_run run = lw_runs_get(&runs, piece, r);
            rc = lw_bytes_read_file(writer->result.fd, writer->result.part, (char *)data + run.memory, run.file, run.bytes, err);
        }
    }
    return rc;
}

int lw_writer_rows(struct lw_writer *writer, int dataset, const struct lw_table_rows *rows, void *buffer, int64_t buffer_rows,
                 struct lw_error *err)
{
    int64_t at = 0;
    int rc = LW_OK;
    for (int64_t run = 0; run < rows->n_runs && rc == LW_OK; run++) {
        /* the rank that has the run writes it; the others take part in the calls */
        const bool is_mine = rows->is_mine(rows->context, run);
        const int64_t all = rows->count(rows->context, run);
        for (int64_t first = 0; first < all && rc == LW_OK; first += buffer_rows) {
            const int64_t count = is_mine ? lw_min64(buffer_rows, all - first) : 0;
            if (is_mine)
                rows->fill(rows->context, run, first, count, buffer);
            rc = lw_writer_write(writer, dataset, &(int64_t){is_mine ? at + first : 0}, &count, buffer, err);
        }
        at += all;
    }
    return rc;
}

int lw_writer_append(struct lw_writer *writer, int dataset, const void *rows, int64_t n, struct lw_error *err)
{
    assert(dataset >= 0 && dataset < writer->n_datasets && writer->tables[dataset]);
    return lw_growing_append(writer->tables[dataset], rows, n, err);
}

int lw_writer_recall(struct lw_writer *writer, int dataset, int64_t n, lw_rows_fn *see, void *context, struct lw_error *err)
{
    assert(dataset >= 0 && dataset < writer->n_datasets && writer->tables[dataset]);
    return lw_growing_recall(writer->tables[dataset], n, see, context, err);
}

int lw_writer_sift(struct lw_writer *writer, int dataset, lw_sift_fn *sift, void *context, struct lw_error *err)
{
    assert(dataset >= 0 && dataset < writer->n_datasets && writer->tables[dataset]);
    return lw_growing_sift(writer->tables[dataset], sift, context, err);
}

const char *lw_writer_way(const struct lw_writer *writer) { return writer->result.way; }

/* ---- sync ---------------------------------------------------------------------------------------------------------- */

/* Sync the data of this rank: each node has a page cache of its own, and rank 0 has the rows of growing tables. */
static int sync_own(void *context, int64_t piece, int thread, struct lw_error *err)
{
    const struct lw_writer *const writer = context;
    int rc = LW_OK;
    (void)piece;
    (void)thread;
    for (int d = 0; d < writer->n_datasets && rc == LW_OK; d++)
        rc = writer->tables[d] ? lw_growing_sync(writer->tables[d], err) : LW_OK;
    if (rc == LW_OK && writer->store && fsync(writer->result.fd) != 0)
        rc = lw_fail(err, LW_EIO, "cannot write '%s' to disk: %s", writer->result.part, strerror(errno));
    return rc;
}

static void flush_together(struct lw_writer *writer)
{
    if (writer->store)
        return;
    writer->structure->flush_together(writer->file);
    lw_comm_barrier(writer->comm);
}

int lw_writer_sync(struct lw_writer *writer, struct lw_error *err)
{
    flush_together(writer);
    return lw_comm_agree(writer->comm, sync_own(writer, 0, 0, err), err);
}

void lw_writer_sync_begin(struct lw_writer *writer)
{
    flush_together(writer);
    writer->sync = (struct lw_batch){.lane = LW_LANE_WRITE, .n_pieces = 1, .work = sync_own, .context = writer};
    if (writer->pool)
        lw_pool_start(writer->pool, &writer->sync);
}

bool lw_writer_is_synced(struct lw_writer *writer)
{
    return !writer->pool || lw_pool_is_done(writer->pool, &writer->sync);
}

int lw_writer_sync_end(struct lw_writer *writer, struct lw_error *err)
{
    return writer->pool ? lw_pool_wait(writer->pool, &writer->sync, err) : sync_own(writer, 0, 0, err);
}

/* ---- finish -------------------------------------------------------------------------------------------------------- */

void lw_writer_keep(struct lw_writer *writer)
{
    writer->result.is_kept = true;
}

void lw_writer_beside(const struct lw_writer *writer, const char *suffix, char name[LW_MAX_PATH])
{
    lw_result_file_beside(&writer->result, suffix, name);
}

static int compare_ranges(const void *a, const void *b)
{
    const struct lw_undo_range *const x = a, *const y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Save for undo everything that completing may change: all of the file except the samples. */
static int guard_structure(const struct lw_writer *writer, struct lw_error *err)
{
    char undo[LW_MAX_PATH];
    LW_FREED struct lw_undo_range *const samples = lw_alloc_array(writer->n_datasets, sizeof *samples, "places of samples", err);
    int n = 0;
    if (!samples)
        return LW_ESYSTEM;
    for (int d = 0; d < writer->n_datasets; d++) {
        const struct lw_extent *const extent = &writer->extents[d];
        const int64_t bytes = extent->n_dims > 0 ? extent->element_bytes * lw_product64(extent->dims, extent->n_dims) : 0;
        if (bytes > 0)
            samples[n++] = (struct lw_undo_range){extent->offset, extent->offset + bytes};
    }
    qsort(samples, (size_t)n, sizeof *samples, compare_ranges);
    lw_result_file_beside(&writer->result, LW_UNDO_SUFFIX, undo);
    return lw_undo_store(writer->result.fd, samples, n, undo, err);
}

static int complete(struct lw_writer *writer, const struct lw_attribute *attributes, int n_attributes, bool *is_stuck,
                    struct lw_error *err)
{
    const int rc = writer->result.is_kept ? guard_structure(writer, err) : LW_OK;
    if (rc)
        return rc;
    const struct lw_structure_end end = {
        .tables = writer->tables, .n_tables = writer->n_datasets, .attributes = attributes, .n_attributes = n_attributes,
    };
    return writer->structure->complete(&writer->result, &end, is_stuck, err);
}

/* The mark of completion is written when all samples are on disk. The files beside the result stay until it has its final name. */
int lw_writer_finish(struct lw_writer *writer, const struct lw_attribute *attributes, int n_attributes, struct lw_error *err)
{
    bool is_stuck = false;
    int rc = lw_writer_sync(writer, err);
    if (rc)
        return rc;
    if (writer->file)
        writer->structure->close_together(writer->file, true);
    writer->file = NULL;
    if (lw_comm_rank(writer->comm) == 0 && (rc = complete(writer, attributes, n_attributes, &is_stuck, err)) == LW_OK &&
        (rc = lw_result_file_publish(&writer->result, err)) == LW_OK)
        lw_result_file_forget(&writer->result);
    if (is_stuck)
        abandon(writer, err);
    return lw_comm_agree(writer->comm, rc, err);
}

void lw_writer_destroy(struct lw_writer *writer)
{
    if (!writer)
        return;
    lw_store_close(writer->store);
    if (writer->file)
        writer->structure->close_together(writer->file, false);
    if (lw_comm_rank(writer->comm) == 0)
        lw_result_file_discard(&writer->result);
    else
        lw_result_file_leave(&writer->result);
    for (int d = 0; d < writer->n_datasets; d++)
        lw_growing_destroy(writer->tables[d]);
    lw_free(writer->tables);
    lw_free(writer->extents);
    lw_free(writer);
}
