#include "writer.h"

#include "../src/comm_mpi.h"
#include "../src/memory.h"
#include "attribute.h"
#include "hdf5_error.h"
#include "hdf5_type.h"
#include "parallel.h"
#include "pieces.h"
#include "result_file.h"

#include <assert.h>
#include <errno.h>
#include <hdf5.h>
#include <hdf5_hl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Of the root group: 0 until lw_writer_finish makes it 1. */
#define COMPLETE "lapwing_complete"

struct output {
    hid_t dataset, type;
    int n_dims;
    int64_t sample_bytes;
};

struct lw_writer {
    struct lw_comm *comm;
    struct lw_result_file result;       /* its descriptor is rank 0's */
    hid_t file, transfer;
    struct output *outputs;
    int n_outputs;
    bool was_reported;
    int64_t bytes_written;
};

/* ---- structure ----------------------------------------------------------------------------------------------------- */

static int64_t element_bytes(const struct lw_writer_dataset *dataset)
{
    return dataset->n_columns > 0 ? dataset->n_columns * 8 : (int64_t)lw_type_bytes(dataset->type);
}

static hid_t make_table_type(const struct lw_column *columns, int count)
{
    const hid_t type = H5Tcreate(H5T_COMPOUND, (size_t)count * 8);
    for (int c = 0; c < count; c++)
        H5Tinsert(type, columns[c].name, (size_t)c * 8,
                  columns[c].kind == LW_COLUMN_INT ? H5T_STD_I64LE : H5T_IEEE_F64LE);
    return type;
}

/* More than any disk has where the product does not fit: the claim then says that there is no room. */
static int64_t dataset_bytes(const struct lw_writer_dataset *dataset)
{
    int64_t bytes = element_bytes(dataset);
    for (int d = 0; d < dataset->n_dims; d++)
        if (__builtin_mul_overflow(bytes, dataset->dims[d], &bytes))
            return INT64_MAX;
    return bytes;
}

/* With the structure and the alignment, generously. */
static int64_t room_for(const struct lw_writer_spec *spec)
{
    int64_t bytes = LW_FILE_ALIGNMENT;
    for (int d = 0; d < spec->n_datasets; d++)
        if (__builtin_add_overflow(bytes, dataset_bytes(&spec->datasets[d]), &bytes) ||
            __builtin_add_overflow(bytes, LW_FILE_ALIGNMENT, &bytes))
            return INT64_MAX;
    return bytes;
}

/* A failure that the other ranks, inside the same collective file call, cannot be told of; closing the file could hang. */
static void abandon(const struct lw_writer *writer, const struct lw_error *err)
{
    unlink(writer->result.part);
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

/* Rank 0's values count. */
static int write_attributes(struct lw_comm *comm, hid_t object, const struct lw_attribute *attributes, int count,
                            struct lw_error *err)
{
    struct lw_attribute *shared;
    int rc = lw_attributes_share(comm, attributes, &count, &shared, err);
    if (rc)
        return rc;
    for (int a = 0; a < count && rc == LW_OK; a++)
        rc = lw_attribute_write(object, &shared[a], err);
    lw_free(shared);
    return lw_comm_agree(comm, rc, err);
}

/* Contiguous, all of it at once, never filled: the room is reserved by the file system, and every sample is written. */
static hid_t create_contiguous(hid_t file, const struct lw_writer_dataset *spec, hid_t type)
{
    hsize_t dims[LW_MAX_DIMS];
    for (int d = 0; d < spec->n_dims; d++)
        dims[d] = (hsize_t)spec->dims[d];
    const hid_t space = H5Screate_simple(spec->n_dims, dims, NULL);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    const hid_t link = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_layout(creation, H5D_CONTIGUOUS);
    H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
    H5Pset_create_intermediate_group(link, 1);
    const hid_t dataset = H5Dcreate2(file, spec->path, type, space, link, creation, H5P_DEFAULT);
    H5Pclose(link);
    H5Pclose(creation);
    H5Sclose(space);
    return dataset;
}

static int label_dimensions(hid_t dataset, const struct lw_writer_dataset *spec, struct lw_error *err)
{
    for (int d = 0; d < spec->n_dims; d++)
        if (spec->dim_names[d] && H5DSset_label(dataset, (unsigned)d, spec->dim_names[d]) < 0)
            return lw_hdf5_fail(err, LW_EIO, "cannot label dimension %d of %s", d, spec->path);
    return LW_OK;
}

static int create_output(struct lw_writer *writer, const struct lw_writer_dataset *spec, struct output *output,
                         struct lw_error *err)
{
    output->n_dims = spec->n_dims;
    output->sample_bytes = element_bytes(spec);
    output->type = spec->n_columns > 0 ? make_table_type(spec->columns, spec->n_columns) : lw_hdf5_type_make(spec->type);
    output->dataset = create_contiguous(writer->file, spec, output->type);
    int rc = LW_OK;
    if (output->dataset < 0)
        rc = lw_hdf5_fail(err, LW_EIO, "cannot create %s:%s", writer->result.part, spec->path);
    else
        rc = label_dimensions(output->dataset, spec, err);
    if ((rc = lw_comm_agree(writer->comm, rc, err)))
        return rc;
    return write_attributes(writer->comm, output->dataset, spec->attributes, spec->n_attributes, err);
}

static struct lw_attribute completion(int64_t value)
{
    return (struct lw_attribute){.name = COMPLETE, .kind = LW_ATTRIBUTE_INT, .integer = value};
}

static int create_structure(struct lw_writer *writer, const struct lw_writer_spec *spec, struct lw_error *err)
{
    const struct lw_attribute incomplete = completion(0);
    int rc;
    if ((rc = write_attributes(writer->comm, writer->file, &incomplete, 1, err)) ||
        (rc = write_attributes(writer->comm, writer->file, spec->attributes, spec->n_attributes, err)))
        return rc;
    for (int d = 0; d < spec->n_datasets; d++)
        if ((rc = create_output(writer, &spec->datasets[d], &writer->outputs[d], err)))
            return rc;
    if (H5Fflush(writer->file, H5F_SCOPE_GLOBAL) < 0) {
        lw_hdf5_fail(err, LW_EIO, "cannot write '%s'", writer->result.part);
        abandon(writer, err);
    }
    return LW_OK;
}

/* ---- create -------------------------------------------------------------------------------------------------------- */

static int claim(struct lw_writer *writer, const struct lw_writer_spec *spec, struct lw_error *err)
{
    int rc = lw_result_file_name(&writer->result, spec->file, spec->overwrite, err);
    if (rc == LW_OK && lw_comm_rank(writer->comm) == 0)
        rc = lw_result_file_claim(&writer->result, room_for(spec), err);
    if ((rc = lw_comm_agree(writer->comm, rc, err)))
        return rc;
    if (access(writer->result.part, W_OK) != 0)
        rc = lw_fail(err, LW_EIO, "cannot write '%s' here (%s): all ranks need it, on a file system that their nodes share",
                     writer->result.part, strerror(errno));
    return lw_comm_agree(writer->comm, rc, err);
}

static int create_file(struct lw_writer *writer, struct lw_error *err)
{
    const hid_t access_list = lw_parallel_access(writer->comm);
    writer->file = H5Fcreate(writer->result.part, H5F_ACC_TRUNC, H5P_DEFAULT, access_list);
    const int rc = writer->file >= 0 ? LW_OK
                                     : lw_hdf5_fail(err, LW_EIO, "cannot create '%s'", writer->result.part);
    H5Pclose(access_list);
    return lw_parallel_opened(writer->comm, rc, err);
}

/* The end of the last dataset: HDF5 has allocated all of them. */
static int64_t data_end(const struct lw_writer *writer)
{
    int64_t end = 0;
    for (int d = 0; d < writer->n_outputs; d++) {
        const hid_t dataset = writer->outputs[d].dataset;
        const int64_t its_end = (int64_t)(H5Dget_offset(dataset) + H5Dget_storage_size(dataset));
        end = its_end > end ? its_end : end;
    }
    return end;
}

/* A collective write to a full disk hangs, so the room is there before the first one. */
static int reserve(struct lw_writer *writer, struct lw_error *err)
{
    const int rc = lw_comm_rank(writer->comm) == 0 ? lw_result_file_reserve(&writer->result, data_end(writer), err) : LW_OK;
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

int lw_writer_create(struct lw_comm *comm, const struct lw_writer_spec *spec, struct lw_writer **out,
                     struct lw_error *err)
{
    int rc;
    lw_hdf5_quiet();
    signal(SIGXFSZ, SIG_IGN);           /* beyond the file-size limit, an error is better than a dead process */
    struct lw_writer *const writer = allocate(comm, spec->n_datasets, err);
    if ((rc = lw_comm_agree(comm, writer ? LW_OK : LW_ESYSTEM, err)) ||
        (rc = check_same(comm, spec, err)) ||
        (rc = claim(writer, spec, err)) ||
        (rc = create_file(writer, err)) ||
        (rc = create_structure(writer, spec, err)) ||
        (rc = reserve(writer, err))) {
        lw_writer_destroy(writer);
        return rc;
    }
    writer->transfer = lw_parallel_transfer();
    *out = writer;
    return LW_OK;
}

/* ---- write --------------------------------------------------------------------------------------------------------- */

/* @param start, count  the hyperslab; NULL: nothing */
static void transfer(struct lw_writer *writer, const struct output *output, const hsize_t *start, const hsize_t *count,
                     hid_t memory, hid_t space, const void *data, struct lw_error *err)
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

static void write_piece(struct lw_writer *writer, const struct output *output, const struct lw_piece *piece,
                        const int64_t *first, const void *data, struct lw_error *err)
{
    hsize_t start[LW_MAX_DIMS], count[LW_MAX_DIMS];
    for (int d = 0; d < output->n_dims; d++) {
        start[d] = (hsize_t)(first[d] + piece->first[d]);
        count[d] = (hsize_t)piece->count[d];
    }
    const hid_t space = H5Dget_space(output->dataset);
    const hid_t memory = H5Screate_simple(output->n_dims, count, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    transfer(writer, output, start, count, memory, space, (const char *)data + piece->offset_bytes, err);
    writer->bytes_written += piece->bytes;
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
    transfer(writer, output, NULL, NULL, memory, space, unused, err);
    H5Sclose(memory);
    H5Sclose(space);
}

int lw_writer_write(struct lw_writer *writer, int dataset, const int64_t *first, const int64_t *count, const void *data,
                    struct lw_error *err)
{
    assert(dataset >= 0 && dataset < writer->n_outputs);
    const struct output *const output = &writer->outputs[dataset];
    const struct lw_pieces pieces = lw_pieces_plan(output->n_dims, count, output->sample_bytes, LW_MESSAGE_BYTES);
    const int64_t n_calls = lw_comm_max(writer->comm, pieces.n_pieces);
    for (int64_t call = 0; call < n_calls; call++) {
        if (call < pieces.n_pieces) {
            const struct lw_piece piece = lw_pieces_get(&pieces, call);
            write_piece(writer, output, &piece, first, data, err);
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

static int overwrite_attributes(struct lw_writer *writer, const struct lw_attribute *attributes, int count,
                                struct lw_error *err)
{
    struct lw_attribute *shared;
    int rc = lw_attributes_share(writer->comm, attributes, &count, &shared, err);
    if (rc)
        return rc;
    for (int a = 0; a < count && rc == LW_OK; a++)
        rc = lw_attribute_overwrite(writer->file, &shared[a], err);
    lw_free(shared);
    return lw_comm_agree(writer->comm, rc, err);
}

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

/* The data reaches the disk before the mark that says so. */
static void flush_and_mark(struct lw_writer *writer, struct lw_error *err)
{
    const struct lw_attribute complete = completion(1);
    if (H5Fflush(writer->file, H5F_SCOPE_GLOBAL) < 0 ||
        lw_attribute_overwrite(writer->file, &complete, err) != LW_OK || close_objects(writer) < 0) {
        lw_hdf5_fail(err, LW_EIO, "cannot complete '%s'", writer->result.part);
        abandon(writer, err);
    }
}

int lw_writer_finish(struct lw_writer *writer, const struct lw_attribute *attributes, int n_attributes,
                     struct lw_error *err)
{
    int rc = overwrite_attributes(writer, attributes, n_attributes, err);
    if (rc)
        return rc;
    flush_and_mark(writer, err);
    rc = lw_comm_rank(writer->comm) == 0 ? lw_result_file_publish(&writer->result, err) : LW_OK;
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
    lw_result_file_discard(&writer->result);
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
