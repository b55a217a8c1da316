/* format.c - HDF5 as one of the formats of archive files. */

#include "base/integers.h"
#include "io/hdf5/conventions/conventions.h"
#include "io/hdf5/inspect.h"
#include "io/hdf5/library.h"

#define MIB ((int64_t)1 << 20)

/* A dataset open for reading samples. */
struct opened {
    const struct lw_dataset_info *info;
    hid_t file, dataset, type;
    bool is_converted;                  /* `type` is not the stored type */
    struct lw_finder *finder;           /* finder of the chunks' places; NULL: not needed so far */
};

static int recognise(const char *file, bool *is_one, struct lw_error *err)
{
    lw_hdf5_start();
    const htri_t is_hdf5 = H5Fis_hdf5(file);
    if (is_hdf5 < 0 && lw_hdf5_errno() != 0)
        return lw_hdf5_fail(err, LW_EIO, "cannot read '%s'", file);
    *is_one = is_hdf5 > 0;
    return LW_OK;
}

/* ---- describe ------------------------------------------------------------------------------------------------------ */

static int check_samples(hid_t stored, struct lw_dataset_info *info, struct lw_error *err)
{
    char found[96];
    if (lw_hdf5_type_parse(stored, &info->type))
        return LW_OK;
    return lw_fail(err, LW_EDATA, "%s holds %s; samples must be %s: convert it first", lw_dataset_name(info).text,
                   lw_hdf5_type_text(stored, found, sizeof found), LW_LEGAL_TYPES);
}

static int check_numbers(hid_t stored, struct lw_dataset_info *info, struct lw_error *err)
{
    char found[96];
    bool is_complex;
    LW_CLOSED const hid_t memory = lw_hdf5_type_as_float64(stored, &is_complex);
    if (!lw_hdf5_type_parse(stored, &info->type))
        info->type = (struct lw_type){.scalar = LW_FLOAT64, .is_complex = is_complex};
    if (memory < 0)
        return lw_fail(err, LW_EDATA, "%s holds %s, not numbers: it must be of an integer or floating-point type, or a "
                       "complex compound {r, i}, {re, im} or {real, imag}", lw_dataset_name(info).text,
                       lw_hdf5_type_text(stored, found, sizeof found));
    return LW_OK;
}

/* Undo the joining of blocks, because numbers are read in their stored shape. */
static void part_blocks(struct lw_dataset_info *info)
{
    if (info->blocks.n == 0)
        return;
    info->dims[2] = info->dims[1];
    info->dims[1] = info->blocks.rows;
    info->dims[0] = info->blocks.n;
    info->n_dims = 3;
    info->metadata_axis = -1;
    info->blocks = (struct lw_blocks){0};
}

static int check_type(hid_t dataset, struct lw_dataset_info *info, struct lw_error *err)
{
    LW_CLOSED const hid_t stored = H5Dget_type(dataset);
    const int rc = (info->use == LW_USE_SAMPLES ? check_samples : check_numbers)(stored, info, err);
    return rc ? rc : lw_hdf5_packing_find(dataset, info, err);
}

/* H5Dget_storage_size makes HDF5 read the chunks' index here, so that a damaged index crashes only the child process (shield.h). */
static int describe(struct lw_dataset_info *info, struct lw_error *err)
{
    LW_CLOSED hid_t file = -1, dataset = -1;
    struct lw_stored stored = {0};
    int rc;
    if ((rc = lw_probe_open(info, &file, &dataset, err)) || (rc = check_type(dataset, info, err)))
        return rc;
    if (info->use == LW_USE_NUMBERS) {
        part_blocks(info);
        H5Dget_storage_size(dataset);
    } else {
        info->is_flat = info->chunk[0] == 0 && info->blocks.n == 0 && lw_stored_locate(file, dataset, &stored) &&
                        !stored.is_chunked;
        info->flat_offset = stored.offset;
    }
    return LW_OK;
}

/* ---- samples ------------------------------------------------------------------------------------------------------- */

static void close_dataset(void *dataset)
{
    struct opened *const opened = dataset;
    lw_finder_destroy(opened->finder);
    lw_hdf5_close(opened->type);
    lw_hdf5_close(opened->dataset);
    lw_hdf5_close(opened->file);
}

static int open_dataset(void *dataset, const struct lw_dataset_info *info, struct lw_error *err)
{
    struct lw_type type;
    bool is_complex;
    struct opened *const opened = dataset;
    *opened = (struct opened){.info = info, .file = -1, .dataset = -1, .type = -1};
    int rc = lw_probe_file(info->file, &opened->file, err);
    if (rc == LW_OK && (opened->dataset = H5Dopen2(opened->file, info->path, H5P_DEFAULT)) < 0)
        rc = lw_hdf5_fail(err, LW_EIO, "cannot open %s", lw_dataset_name(info).text);
    if (rc)
        return rc;
    opened->type = H5Dget_type(opened->dataset);
    opened->is_converted = !lw_hdf5_type_parse(opened->type, &type);
    if (opened->is_converted) {     /* described for LW_USE_NUMBERS, of a type that no sample has */
        const hid_t stored = opened->type;
        opened->type = lw_hdf5_type_as_float64(stored, &is_complex);
        H5Tclose(stored);
    }
    return LW_OK;
}

/* Read a box of the dataset as stored. @param n_dims  number of its stored dimensions */
static int read_stored(const struct opened *opened, const struct lw_box *box, int n_dims, struct lw_error *err)
{
    hsize_t start[LW_MAX_DIMS], stride[LW_MAX_DIMS], count[LW_MAX_DIMS];
    for (int d = 0; d < n_dims; d++) {
        start[d] = (hsize_t)box->first[d];
        stride[d] = (hsize_t)box->step[d];
        count[d] = (hsize_t)box->count[d];
    }
    const hsize_t dims[2] = {(hsize_t)box->n_runs, (hsize_t)box->pitch}, runs[2] = {(hsize_t)box->n_runs, (hsize_t)box->run};
    LW_CLOSED const hid_t space = H5Dget_space(opened->dataset), memory = H5Screate_simple(2, dims, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, NULL);
    if (box->pitch > box->run)
        H5Sselect_hyperslab(memory, H5S_SELECT_SET, (hsize_t[2]){0, 0}, NULL, runs, NULL);
    if (H5Dread(opened->dataset, opened->type, memory, space, H5P_DEFAULT, box->into) < 0)
        return lw_hdf5_fail_plainly(err, LW_EIO);
    return LW_OK;
}

/* Read a box. Joined blocks are read one after the other; rows of the box are `pitch` elements apart in memory. */
static int read_box(void *dataset, const struct lw_box *box, struct lw_error *err)
{
    const struct opened *const opened = dataset;
    const struct lw_blocks *const blocks = &opened->info->blocks;
    const int64_t pitch = box->n_runs > 1 ? box->pitch : box->count[1];
    if (blocks->n == 0)
        return read_stored(opened, box, opened->info->n_dims, err);
    int rc = LW_OK;
    for (int64_t i = 0, count; i < box->count[0] && rc == LW_OK; i += count) {
        const int64_t at = blocks->skip + box->first[0] + i * box->step[0], in_block = at % blocks->period;
        count = lw_min64(box->count[0] - i, lw_divide_up(blocks->period - in_block, box->step[0]));
        const struct lw_box part = {
            .first = {at / blocks->period, blocks->lead + in_block, box->first[1]}, .step = {1, box->step[0], box->step[1]},
            .count = {1, count, box->count[1]}, .run = box->count[1], .pitch = pitch, .n_runs = count,
            .into = (char *)box->into + i * pitch * (int64_t)lw_type_bytes(opened->info->type)};
        rc = read_stored(opened, &part, 3, err);
    }
    return rc;
}

/* A damaged file may now claim other chunks than described. If the finder cannot open the file, HDF5 reads and reports why. */
static bool locate(void *dataset, struct lw_stored *out)
{
    struct opened *const opened = dataset;
    const struct lw_dataset_info *const info = opened->info;
    unsigned intent = 0;
    /* While a logger writes a file, the length recorded in it lags behind the data, and the finder would find no chunk. */
    const bool is_being_written = H5Fget_intent(opened->file, &intent) >= 0 && (intent & H5F_ACC_SWMR_READ);
    *out = (struct lw_stored){0};
    if (info->blocks.n > 0 || opened->is_converted || is_being_written || !lw_stored_locate(opened->file, opened->dataset, out))
        return false;
    if (!out->is_chunked)
        return info->chunk[0] == 0;
    return out->filters.chunk_bytes == lw_dataset_chunk_bytes(info) &&
           (opened->finder || (opened->finder = lw_finder_create(info->file, info->path, info->n_dims, out->fd)));
}

static int find_chunk(void *dataset, const int64_t first[LW_MAX_DIMS], struct lw_stored_chunk *out, struct lw_error *err)
{
    const struct opened *const opened = dataset;
    return lw_finder_find(opened->finder, first, out, err);
}

/* ---- numbers ------------------------------------------------------------------------------------------------------- */

/* The shape is checked again, because the file may have changed since `values` was allocated. */
static int read_numbers(const struct lw_dataset_info *info, double *values, struct lw_error *err)
{
    struct lw_dataset_info now = *info;
    LW_CLOSED hid_t file = -1, dataset = -1;
    bool is_complex;
    int rc;
    if ((rc = lw_probe_open(&now, &file, &dataset, err)))
        return rc;
    part_blocks(&now);
    now.use = LW_USE_NUMBERS;
    if ((rc = check_type(dataset, &now, err)))
        return rc;
    if (memcmp(now.dims, info->dims, sizeof info->dims) != 0 || now.type.is_complex != info->type.is_complex)
        return lw_fail(err, LW_EDATA, "'%s' changed while it was read", info->file);
    LW_CLOSED const hid_t stored = H5Dget_type(dataset);
    LW_CLOSED const hid_t memory = lw_hdf5_type_as_float64(stored, &is_complex);
    if (H5Dread(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
        return lw_hdf5_fail(err, LW_EIO, "cannot read %s", lw_dataset_name(info).text);
    return LW_OK;
}

static int find_quality(const char *file, const char *tests, struct lw_qualities *out, struct lw_error *err)
{
    LW_CLOSED hid_t opened = -1;
    const int rc = lw_probe_file(file, &opened, err);
    return rc ? rc : lw_gwosc_find_quality(opened, file, tests, out, err);
}

/* ---- chunks -------------------------------------------------------------------------------------------------------- */

/* Memory, as measured: a call takes 7 KiB for each chunk that it touches. HDF5 decodes one chunk at a time, in 2.4 times its size:
 * the stored bytes, and a buffer that grows by doubling. A chunk without filters stays cached while the next one is read. */
enum { CALL_BYTES_PER_CHUNK = 8 << 10, DECODING_SIZES = 3, READING_SIZES = 2 };

static int64_t chunks_bytes(const struct lw_dataset_info *info, bool whole, int64_t n_chunks)
{
    const int64_t calls = n_chunks * CALL_BYTES_PER_CHUNK;
    if (!whole)
        return calls + READING_SIZES * MIB;
    return calls + (info->is_compressed ? DECODING_SIZES : READING_SIZES) * lw_dataset_chunk_bytes(info);
}

/* Open the dataset anew, because only this sets its chunk cache. With a preemption of 1, HDF5 would drop only chunks read whole.
 * Decoded chunks in the cache would take up to twice the bytes that HDF5 counts, so none are cached. */
static int prepare_chunks(void *dataset, bool whole, struct lw_error *err)
{
    struct opened *const opened = dataset;
    const struct lw_dataset_info *const info = opened->info;
    const int64_t cache_bytes = info->is_compressed ? 0 : whole ? lw_dataset_chunk_bytes(info) : MIB;
    const hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    H5Pset_chunk_cache(access, H5D_CHUNK_CACHE_NSLOTS_DEFAULT, (size_t)cache_bytes, 0.75);
    H5Dclose(opened->dataset);
    opened->dataset = H5Dopen2(opened->file, info->path, access);
    H5Pclose(access);
    if (opened->dataset < 0)
        return lw_hdf5_fail(err, LW_EIO, "cannot open %s again", lw_dataset_name(info).text);
    return LW_OK;
}

static const struct lw_library library = {
    .read_rows = lw_hdf5_read_rows, .find_quality = find_quality,
    .most_whole_bytes = 16 * MIB,       /* HDF5 reads only the wanted samples of larger chunks */
    .find_chunk = find_chunk, .prepare_chunks = prepare_chunks, .chunks_bytes = chunks_bytes,
};

const struct lw_format lw_format_hdf5 = {
    .name = "HDF5", .file_text = "an HDF5 file",
    .library = &library, .start = lw_hdf5_start,
    .recognise = recognise, .list = lw_probe_list, .find_origin = lw_probe_origin, .describe = describe,
    .open = open_dataset, .open_bytes = sizeof(struct opened), .read = read_box, .close = close_dataset,
    .locate = locate, .visit_attributes = lw_hdf5_visit_attributes,
    .read_numbers = read_numbers, .read_notes = lw_hdf5_read_notes,
};
