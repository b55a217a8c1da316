#include "io/hdf5/result/parts.h"

#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "comm/raw.h"
#include "io/hdf5/library.h"

#include <inttypes.h>
#include <stdio.h>

#ifndef H5_HAVE_PARALLEL
#error "lapwing needs HDF5 with MPI: install libhdf5-openmpi-dev, or set HDF5_ROOT"
#endif

struct output {
    hid_t dataset, type;
    int n_dims;
    int64_t dims[LW_MAX_DIMS], sample_bytes;
};

struct collective {
    struct lw_comm *comm;               /* borrowed, like `result` */
    struct lw_result_file *result;
    hid_t file, transfer;
    char failure[900];                  /* message for a failure of the present step */
    bool aggregates;            /* some ranks write for all, in dense writes */
    bool was_reported;          /* the log has the cause of independent transfers */
    int n_outputs;
    struct output outputs[];
};

/* ---- failures -------------------------------------------------------------------------------------------------------- */

static void abandon(struct collective *file, const struct lw_error *err)
{
    lw_result_file_discard(file->result);
    lw_comm_abort(file->comm, err);
}

static void fail_in_hdf5(struct collective *file)
{
    struct lw_error err;
    lw_hdf5_fail(&err, LW_EIO, "%s", file->failure);
    abandon(file, &err);
}

/* The open file. MPI passes no context to its error handlers, so only one file is open for collective calls at a time. */
static struct collective *in_mpi;

/* End all ranks after a failed MPI call. HDF5 would return; this rank would then wait in a later call, the others in this call. */
static void fail_in_mpi(MPI_File *handle, int *code, ...)
{
    char reason[MPI_MAX_ERROR_STRING];
    int length;
    struct lw_error err;
    (void)handle;
    MPI_Error_string(*code, reason, &length);
    lw_fail(&err, LW_EIO, "%.890s: %.100s", in_mpi->failure, reason);
    abandon(in_mpi, &err);
}

/* ---- open, close --------------------------------------------------------------------------------------------------- */

/* Open a dataset for writing. Growing tables do not exist yet. */
static int open_output(struct collective *file, const struct lw_writer_dataset *spec, struct output *output, struct lw_error *err)
{
    if (spec->grows)
        return LW_OK;
    output->n_dims = spec->n_dims;
    memcpy(output->dims, spec->dims, sizeof output->dims);
    output->dataset = H5Dopen2(file->file, spec->path, H5P_DEFAULT);
    if (output->dataset < 0)
        return lw_hdf5_fail(err, LW_EIO, "cannot open %s", lw_name_of(file->result->part, spec->path).text);
    output->type = H5Dget_type(output->dataset);
    output->sample_bytes = (int64_t)H5Tget_size(output->type);
    return LW_OK;
}

/* A striped file system gives nodes locks on stripes. Where several nodes write one stripe, its lock goes to and fro. So a few
 * ranks write whole stripes for all: at least one on each node and one for each stripe, which keeps all nodes and servers busy. A
 * divisor of the ranks gives each the parts of equally many. A single node has no rival for its locks. */
int lw_collective_aggregators(const struct lw_storage *storage, int n_ranks, int n_nodes)
{
    int n = storage->is_striped && n_nodes > 1 ? (int)lw_min64(n_ranks, lw_max64(storage->n_stripes, n_nodes)) : 0;
    while (n > n_nodes && n_ranks % n != 0)
        n--;
    return n;
}

/* Choose how to write, log it, and make MPI's hints, by ROMIO's names. They come from rank 0's view of the file system, because all
 * ranks need the same. Where aggregators ("cb") do not pay, they would only delay the large parts of ranks. Data sieving ("ds")
 * must not read, change and write back the pieces that other ranks write in between. The number of stripes is no hint, because the
 * file exists already. */
static MPI_Info choose_way(struct collective *file)
{
    MPI_Info hints;
    struct lw_storage storage;
    char number[3][32], stripes[60] = "", bytes[24];
    const int size = lw_comm_size(file->comm), n_nodes = (int)lw_comm_nodes(file->comm);
    lw_storage_find(file->result->fd, &storage);
    lw_comm_broadcast(file->comm, &storage, sizeof storage);
    const int n = lw_collective_aggregators(&storage, size, n_nodes);
    file->aggregates = n > 0;
    snprintf(number[0], sizeof number[0], "%d", n);
    snprintf(number[1], sizeof number[1], "*:%d", (int)lw_divide_up(n, n_nodes));
    snprintf(number[2], sizeof number[2], "%" PRId64, storage.stripe_bytes);
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "romio_cb_write", n > 0 ? "enable" : "disable");
    MPI_Info_set(hints, "romio_ds_write", "disable");
    if (n > 0) {
        MPI_Info_set(hints, "cb_nodes", number[0]);
        MPI_Info_set(hints, "cb_config_list", number[1]);
        MPI_Info_set(hints, "striping_unit", number[2]);
    }
    snprintf(file->result->way, sizeof file->result->way, n > 0 ? "collective, aggregators: %d" : "collective", n);
    if (storage.stripe_bytes > 0)
        snprintf(stripes, sizeof stripes, ", %.0d%sstripes of %s", storage.n_stripes, storage.n_stripes ? " " : "",
                 lw_bytes_text(storage.stripe_bytes, bytes));
    lw_log_info("the result is written by collective calls (%s%s; ranks: %d, %s%s)", storage.name, stripes, size,
                n > 0 ? "aggregators: " : "each its own part", n > 0 ? number[0] : "");
    return hints;
}

static int open_file(struct collective *file, const struct lw_writer_spec *spec, struct lw_error *err)
{
    MPI_Errhandler handler;
    MPI_Info hints = choose_way(file);
    snprintf(file->failure, sizeof file->failure, "cannot open '%.600s' with MPI-IO", file->result->part);
    /* MPI gives the handler of MPI_FILE_NULL to files opened from now on. */
    in_mpi = file;
    MPI_File_create_errhandler(fail_in_mpi, &handler);
    MPI_File_set_errhandler(MPI_FILE_NULL, handler);
    MPI_Errhandler_free(&handler);
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, lw_comm_mpi(file->comm), hints);
    MPI_Info_free(&hints);
    file->file = H5Fopen(file->result->part, H5F_ACC_RDWR, access);
    H5Pclose(access);
    if (file->file < 0)
        fail_in_hdf5(file);
    file->transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(file->transfer, H5FD_MPIO_COLLECTIVE);
    int rc = LW_OK;
    for (int d = 0; d < spec->n_datasets && rc == LW_OK; d++)
        rc = open_output(file, &spec->datasets[d], &file->outputs[d], err);
    return lw_comm_agree(file->comm, rc, err);
}

int lw_collective_open(struct lw_comm *comm, struct lw_result_file *result, const struct lw_writer_spec *spec, void **out,
                       struct lw_error *err)
{
    struct collective *const file = lw_alloc(sizeof *file + (size_t)spec->n_datasets * sizeof(struct output), "the writer", err);
    int rc = lw_comm_agree(comm, file ? LW_OK : LW_ESYSTEM, err);
    if (rc) {
        lw_free(file);
        return rc;
    }
    *file = (struct collective){.comm = comm, .result = result, .file = -1, .transfer = -1, .n_outputs = spec->n_datasets};
    for (int d = 0; d < spec->n_datasets; d++)
        file->outputs[d] = (struct output){.dataset = -1, .type = -1};
    if ((rc = open_file(file, spec, err)))
        lw_collective_close(file, false);
    else
        *out = file;
    return rc;
}

static void expect_sync(struct collective *file)
{
    snprintf(file->failure, sizeof file->failure, "cannot write '%.600s' to disk", file->result->part);
}

void lw_collective_flush(void *opened)
{
    struct collective *const file = opened;
    expect_sync(file);
    if (H5Fflush(file->file, H5F_SCOPE_GLOBAL) < 0)
        fail_in_hdf5(file);
}

void lw_collective_close(void *opened, bool is_whole)
{
    struct collective *const file = opened;
    if (!file)
        return;
    if (is_whole)
        expect_sync(file);
    for (int d = 0; d < file->n_outputs; d++) {
        if (file->outputs[d].dataset >= 0)
            H5Dclose(file->outputs[d].dataset);
        lw_hdf5_close(file->outputs[d].type);
    }
    lw_hdf5_close(file->transfer);
    if (file->file >= 0 && H5Fclose(file->file) < 0 && is_whole)
        fail_in_hdf5(file);
    lw_free(file);
}

/* ---- transfers --------------------------------------------------------------------------------------------------------- */

static int64_t transfers_per_row(const struct lw_transfers *transfers)
{
    return (transfers->count[transfers->cut_dim] + transfers->rows - 1) / transfers->rows;
}

struct lw_transfers lw_transfers_plan(int n_dims, const int64_t *count, int64_t sample_bytes, int64_t limit)
{
    struct lw_transfers transfers = {.n_dims = n_dims, .row_bytes = sample_bytes};
    int64_t samples = 1;
    for (int d = 0; d < n_dims; d++)
        samples *= transfers.count[d] = count[d];
    if (samples == 0)
        return transfers;

    transfers.cut_dim = n_dims - 1;
    while (transfers.cut_dim > 0 && transfers.row_bytes * count[transfers.cut_dim] <= limit)
        transfers.row_bytes *= count[transfers.cut_dim--];
    transfers.rows = lw_min64(limit / transfers.row_bytes, count[transfers.cut_dim]);
    transfers.n_transfers = transfers_per_row(&transfers);
    for (int d = 0; d < transfers.cut_dim; d++)
        transfers.n_transfers *= count[d];
    return transfers;
}

struct lw_transfer lw_transfers_get(const struct lw_transfers *transfers, int64_t index)
{
    const int cut = transfers->cut_dim;
    const int64_t row = index % transfers_per_row(transfers) * transfers->rows;
    const int64_t outer = index / transfers_per_row(transfers);
    struct lw_transfer transfer;
    for (int d = 0; d < transfers->n_dims; d++) {
        transfer.first[d] = 0;
        transfer.count[d] = transfers->count[d];
    }
    transfer.first[cut] = row;
    transfer.count[cut] = lw_min64(transfers->rows, transfers->count[cut] - row);
    int64_t left = outer;
    for (int d = cut - 1; d >= 0; d--) {
        transfer.first[d] = left % transfers->count[d];
        transfer.count[d] = 1;
        left /= transfers->count[d];
    }
    transfer.offset_bytes = (outer * transfers->count[cut] + row) * transfers->row_bytes;
    transfer.bytes = transfer.count[cut] * transfers->row_bytes;
    return transfer;
}

/* ---- write --------------------------------------------------------------------------------------------------------- */

/* Write one transfer. @param transfer  NULL: take part in the call without data */
static void write_transfer(struct collective *file, const struct output *output, const struct lw_transfer *transfer,
                           const int64_t *first, const void *data)
{
    static const char unused[16];
    hsize_t start[LW_MAX_DIMS], count[LW_MAX_DIMS] = {1};
    char *const text = file->failure;
    const size_t size = sizeof file->failure;
    snprintf(text, size, "cannot write '%.600s'", file->result->part);
    for (int d = 0; transfer && d < output->n_dims; d++) {
        start[d] = (hsize_t)(first[d] + transfer->first[d]);
        count[d] = (hsize_t)transfer->count[d];
        lw_append(text, size, "%s%" PRIu64 "..%" PRIu64, d ? " x " : " at ", (uint64_t)start[d],
                  (uint64_t)(start[d] + count[d] - 1));
    }
    LW_CLOSED const hid_t space = H5Dget_space(output->dataset);
    LW_CLOSED const hid_t memory = H5Screate_simple(transfer ? output->n_dims : 1, count, NULL);
    if (transfer) {
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    } else {
        H5Sselect_none(space);
        H5Sselect_none(memory);
    }
    const void *const from = transfer ? (const char *)data + transfer->offset_bytes : unused;
    if (H5Dwrite(output->dataset, output->type, memory, space, file->transfer, from) < 0)
        fail_in_hdf5(file);
}

/* Return whether the blocks of all ranks fill at least half of what they span. Aggregators read the gaps and write them back. */
static bool is_dense(struct collective *file, const struct output *output, const int64_t *first, const int64_t *count)
{
    int64_t begin = 0, last = 0, n = 1;
    for (int d = 0; d < output->n_dims; d++) {
        begin = begin * output->dims[d] + first[d];
        last = last * output->dims[d] + first[d] + count[d] - 1;
        n *= count[d];
    }
    const int64_t span = lw_comm_max(file->comm, n > 0 ? last + 1 : 0) - lw_comm_min(file->comm, n > 0 ? begin : INT64_MAX);
    return 2 * lw_comm_sum(file->comm, n) >= span;
}

/* Write a block, and log once (detailed log) why HDF5 has made a collective transfer independent. */
void lw_collective_write(void *opened, int dataset, const int64_t *first, const int64_t *count, const void *data)
{
    struct collective *const file = opened;
    const struct output *const output = &file->outputs[dataset];
    const struct lw_transfers transfers = lw_transfers_plan(output->n_dims, count, output->sample_bytes, LW_MESSAGE_BYTES);
    const int64_t n_calls = lw_comm_max(file->comm, transfers.n_transfers);
    if (file->aggregates && n_calls > 0)
        H5Pset_dxpl_mpio_collective_opt(file->transfer, is_dense(file, output, first, count) ? H5FD_MPIO_COLLECTIVE_IO
                                                                                             : H5FD_MPIO_INDIVIDUAL_IO);
    for (int64_t call = 0; call < n_calls; call++) {
        if (call < transfers.n_transfers) {
            const struct lw_transfer transfer = lw_transfers_get(&transfers, call);
            write_transfer(file, output, &transfer, first, data);
        } else {
            write_transfer(file, output, NULL, first, data);
        }
    }
    if (n_calls == 0 || file->was_reported)
        return;
    uint32_t local = 0, global = 0;
    H5Pget_mpio_no_collective_cause(file->transfer, &local, &global);
    if (local != 0 || global != 0)
        lw_log_detail("%s: HDF5 made the collective transfer independent (cause 0x%x here, 0x%x on all ranks)", file->result->name,
                      (unsigned)local, (unsigned)global);
    file->was_reported = true;
}
