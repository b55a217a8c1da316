#include "io/writer.h"

#include "base/memory.h"
#include "comm/raw.h"
#include "io/hdf5/error.h"
#include "io/hdf5/parallel.h"
#include "io/hdf5/start.h"
#include "io/hdf5/structure.h"
#include "io/transfers.h"

#include <assert.h>
#include <hdf5.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct output {
    hid_t dataset, type;
    int n_dims;
    int64_t sample_bytes;
};

struct lw_writer {
    struct lw_comm *comm;
    struct lw_result_file result;       /* claimed by rank 0, joined by the others */
    hid_t file, transfer;
    struct output *outputs;
    int n_outputs;
    bool was_reported;
    int64_t bytes_written;
};

/* ---- create, open -------------------------------------------------------------------------------------------------- */

/* After a failure that the other ranks, inside the same collective file call, cannot be told of, or after which HDF5 cannot be
 * used any more: closing the file could hang or crash. */
static void abandon(struct lw_writer *writer, const struct lw_error *err)
{
    lw_result_file_discard(&writer->result);
    lw_comm_abort(writer->comm, err);
}

/* Shape and type, on which all ranks must agree before any collective call. */
static int check_same(struct lw_comm *comm, const struct lw_writer_spec *spec, struct lw_error *err)
{
    for (int d = 0; d < spec->n_datasets; d++) {
        const struct lw_writer_dataset *const dataset = &spec->datasets[d];
        char type[40], text[256];
        int used = snprintf(text, sizeof text, "%.60s %s", dataset->path,
                            dataset->n_columns > 0 ? "table" : lw_type_text(dataset->type, type));
        for (int i = 0; i < dataset->n_dims; i++)
            used += snprintf(text + used, sizeof text - (size_t)used, "%s%" PRId64, i ? " x " : " ", dataset->dims[i]);
        const int rc = lw_comm_same(comm, "the result", text, err);
        if (rc)
            return rc;
    }
    return LW_OK;
}

/* What rank 0 does for the temporary file to be there. @param is_stuck  as lw_structure_create sets it */
typedef int prepare_fn(struct lw_result_file *result, const struct lw_writer_spec *spec, bool *is_stuck, struct lw_error *err);

static int make_file(struct lw_result_file *result, const struct lw_writer_spec *spec, bool *is_stuck, struct lw_error *err)
{
    const int rc = lw_result_file_claim(result, lw_structure_room(spec), err);
    return rc ? rc : lw_structure_create(result, spec, is_stuck, err);
}

static int take_file(struct lw_result_file *result, const struct lw_writer_spec *spec, bool *is_stuck, struct lw_error *err)
{
    (void)is_stuck;
    const int rc = lw_result_file_resume(result, err);
    return rc ? rc : lw_structure_check(result, spec, err);
}

/* By rank 0 alone; then the others try to open what it has prepared, each by itself: MPI-IO does not survive it if some can and
 * some cannot. */
static int prepare_file(struct lw_writer *writer, const struct lw_writer_spec *spec, prepare_fn *prepare, struct lw_error *err)
{
    const bool prepares = lw_comm_rank(writer->comm) == 0;
    bool is_stuck = false;
    int rc = lw_result_file_name(&writer->result, spec->file, spec->overwrite, err);
    if (rc == LW_OK && prepares)
        rc = prepare(&writer->result, spec, &is_stuck, err);
    if (is_stuck)
        abandon(writer, err);
    if ((rc = lw_comm_agree(writer->comm, rc, err)))
        return rc;
    return lw_comm_agree(writer->comm, prepares ? LW_OK : lw_result_file_join(&writer->result, err), err);
}

static int open_output(struct lw_writer *writer, const struct lw_writer_dataset *spec, struct output *output,
                       struct lw_error *err)
{
    output->n_dims = spec->n_dims;
    output->sample_bytes = lw_structure_element_bytes(spec);
    output->dataset = H5Dopen2(writer->file, spec->path, H5P_DEFAULT);
    if (output->dataset < 0)
        return lw_hdf5_fail(err, LW_EIO, "cannot open %s:%s", writer->result.part, spec->path);
    output->type = H5Dget_type(output->dataset);
    return LW_OK;
}

static int open_file(struct lw_writer *writer, const struct lw_writer_spec *spec, struct lw_error *err)
{
    const hid_t access = lw_parallel_access(writer->comm);
    writer->file = H5Fopen(writer->result.part, H5F_ACC_RDWR, access);
    H5Pclose(access);
    if (writer->file < 0) {
        lw_hdf5_fail(err, LW_EIO, "cannot open '%s' with MPI-IO", writer->result.part);
        abandon(writer, err);
    }
    writer->transfer = lw_parallel_transfer();
    int rc = LW_OK;
    for (int d = 0; d < spec->n_datasets && rc == LW_OK; d++)
        rc = open_output(writer, &spec->datasets[d], &writer->outputs[d], err);
    return lw_comm_agree(writer->comm, rc, err);
}

static struct lw_writer *allocate(struct lw_comm *comm, int n_outputs, struct lw_error *err)
{
    struct lw_writer *const writer = lw_alloc(sizeof *writer, "the writer", err);
    struct output *const outputs = lw_alloc_array(n_outputs, sizeof *outputs, "the writer", err);
    if (!writer || !outputs) {
        lw_free(writer);
        lw_free(outputs);
        return NULL;
    }
    *writer = (struct lw_writer){.comm = comm, .result = {.fd = -1}, .file = -1, .transfer = -1,
                                 .outputs = outputs, .n_outputs = n_outputs};
    for (int d = 0; d < n_outputs; d++)
        outputs[d] = (struct output){.dataset = -1, .type = -1};
    return writer;
}

static int start(struct lw_comm *comm, const struct lw_writer_spec *spec, prepare_fn *prepare, struct lw_writer **out,
                 struct lw_error *err)
{
    int rc;
    lw_hdf5_start();
    struct lw_writer *const writer = allocate(comm, spec->n_datasets, err);
    if ((rc = lw_comm_agree(comm, writer ? LW_OK : LW_ESYSTEM, err)) ||
        (rc = check_same(comm, spec, err)) ||
        (rc = prepare_file(writer, spec, prepare, err)) ||
        (rc = open_file(writer, spec, err))) {
        lw_writer_destroy(writer);
        return rc;
    }
    *out = writer;
    return LW_OK;
}

int lw_writer_create(struct lw_comm *comm, const struct lw_writer_spec *spec, struct lw_writer **out, struct lw_error *err)
{
    return start(comm, spec, make_file, out, err);
}

int lw_writer_open(struct lw_comm *comm, const struct lw_writer_spec *spec, struct lw_writer **out, struct lw_error *err)
{
    return start(comm, spec, take_file, out, err);
}

/* ---- write --------------------------------------------------------------------------------------------------------- */

/* @param start, count  the hyperslab; NULL: nothing */
static void write_selected(struct lw_writer *writer, const struct output *output, const hsize_t *start,
                           const hsize_t *count, hid_t memory, hid_t space, const void *data, struct lw_error *err)
{
    if (H5Dwrite(output->dataset, output->type, memory, space, writer->transfer, data) >= 0)
        return;
    char where[128] = "";
    for (int d = 0; start && d < output->n_dims; d++)
        snprintf(where + strlen(where), sizeof where - strlen(where), "%s%" PRIu64 "..%" PRIu64, d ? " x " : " at ",
                 (uint64_t)start[d], (uint64_t)(start[d] + count[d] - 1));
    lw_hdf5_fail(err, LW_EIO, "cannot write '%s'%s", writer->result.part, where);
    abandon(writer, err);
}

static void write_transfer(struct lw_writer *writer, const struct output *output, const struct lw_transfer *transfer,
                        const int64_t *first, const void *data, struct lw_error *err)
{
    hsize_t start[LW_MAX_DIMS], count[LW_MAX_DIMS];
    for (int d = 0; d < output->n_dims; d++) {
        start[d] = (hsize_t)(first[d] + transfer->first[d]);
        count[d] = (hsize_t)transfer->count[d];
    }
    const hid_t space = H5Dget_space(output->dataset);
    const hid_t memory = H5Screate_simple(output->n_dims, count, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    write_selected(writer, output, start, count, memory, space, (const char *)data + transfer->offset_bytes, err);
    writer->bytes_written += transfer->bytes;
    H5Sclose(memory);
    H5Sclose(space);
}

static void write_nothing(struct lw_writer *writer, const struct output *output, struct lw_error *err)
{
    static const char unused[16];
    const hid_t space = H5Dget_space(output->dataset);
    const hid_t memory = H5Screate_simple(1, &(hsize_t){1}, NULL);
    H5Sselect_none(space);
    H5Sselect_none(memory);
    write_selected(writer, output, NULL, NULL, memory, space, unused, err);
    H5Sclose(memory);
    H5Sclose(space);
}

int lw_writer_write(struct lw_writer *writer, int dataset, const int64_t *first, const int64_t *count, const void *data,
                    struct lw_error *err)
{
    assert(dataset >= 0 && dataset < writer->n_outputs);
    const struct output *const output = &writer->outputs[dataset];
    const struct lw_transfers transfers = lw_transfers_plan(output->n_dims, count, output->sample_bytes, LW_MESSAGE_BYTES);
    const int64_t n_calls = lw_comm_max(writer->comm, transfers.n_transfers);
    for (int64_t call = 0; call < n_calls; call++) {
        if (call < transfers.n_transfers) {
            const struct lw_transfer transfer = lw_transfers_get(&transfers, call);
            write_transfer(writer, output, &transfer, first, data, err);
        } else {
            write_nothing(writer, output, err);
        }
    }
    if (n_calls > 0 && !writer->was_reported) {
        lw_parallel_report(writer->transfer, writer->result.name);
        writer->was_reported = true;
    }
    return LW_OK;
}

/* ---- finish -------------------------------------------------------------------------------------------------------- */

static herr_t close_objects(struct lw_writer *writer)
{
    for (int d = 0; d < writer->n_outputs; d++) {
        struct output *const output = &writer->outputs[d];
        if (output->dataset >= 0)
            H5Dclose(output->dataset);
        if (output->type >= 0)
            H5Tclose(output->type);
        output->dataset = output->type = -1;
    }
    if (writer->transfer >= 0)
        H5Pclose(writer->transfer);
    writer->transfer = -1;
    const hid_t file = writer->file;
    writer->file = -1;
    return file >= 0 ? H5Fclose(file) : 0;
}

/* Every rank's samples reach the disk. */
static void flush_and_close(struct lw_writer *writer, struct lw_error *err)
{
    if (H5Fflush(writer->file, H5F_SCOPE_GLOBAL) >= 0 && close_objects(writer) >= 0)
        return;
    lw_hdf5_fail(err, LW_EIO, "cannot write '%s' to disk", writer->result.part);
    abandon(writer, err);
}

/* The mark of completion follows the samples that it speaks of. */
int lw_writer_finish(struct lw_writer *writer, const struct lw_attribute *attributes, int n_attributes,
                     struct lw_error *err)
{
    int rc = LW_OK;
    bool is_stuck = false;
    flush_and_close(writer, err);
    lw_comm_barrier(writer->comm);
    if (lw_comm_rank(writer->comm) == 0)
        (void)((rc = lw_structure_complete(&writer->result, attributes, n_attributes, &is_stuck, err)) ||
               (rc = lw_result_file_publish(&writer->result, err)));
    if (is_stuck)
        abandon(writer, err);
    return lw_comm_agree(writer->comm, rc, err);
}

int64_t lw_writer_bytes_written(const struct lw_writer *writer)
{
    return writer->bytes_written;
}

void lw_writer_destroy(struct lw_writer *writer)
{
    if (!writer)
        return;
    close_objects(writer);
    if (lw_comm_rank(writer->comm) == 0)
        lw_result_file_discard(&writer->result);
    else
        lw_result_file_leave(&writer->result);
    lw_free(writer->outputs);
    lw_free(writer);
}

const char *lw_hdf5_text(void)
{
    static char text[64];
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    snprintf(text, sizeof text, "HDF5 %u.%u.%u, parallel", major, minor, release);
    return text;
}
