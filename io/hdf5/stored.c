#include "io/hdf5/inspect.h"

#include "base/memory.h"
#include "io/bytes/transfer.h"
#include "io/hdf5/library.h"

#include <sys/stat.h>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

/* ---- properties of the dataset -------------------------------------------------------------------------------------- */

/* Get the bytes of a chunk. HDF5's chunks have less than 4 GiB, but a damaged file may claim more. */
static bool take_chunk_bytes(hid_t creation, hid_t type, int64_t *bytes)
{
    hsize_t chunk[H5S_MAX_RANK];
    const int n_dims = H5Pget_chunk(creation, H5S_MAX_RANK, chunk);
    bool fits = n_dims >= 1;
    *bytes = (int64_t)H5Tget_size(type);
    for (int d = 0; d < n_dims; d++)
        fits = fits && !__builtin_mul_overflow(*bytes, chunk[d], bytes);
    return fits && 0 < *bytes && *bytes <= UINT32_MAX;
}

/* Get the value of samples that were never written: 0, unless the dataset defines another value. */
static bool take_fill(hid_t creation, hid_t type, char fill[LW_MAX_SAMPLE_BYTES])
{
    H5D_fill_value_t status;
    memset(fill, 0, LW_MAX_SAMPLE_BYTES);
    if (H5Tget_size(type) > LW_MAX_SAMPLE_BYTES || H5Pfill_value_defined(creation, &status) < 0)
        return false;
    return status != H5D_FILL_VALUE_USER_DEFINED || H5Pget_fill_value(creation, type, fill) >= 0;
}

/* Get the descriptor of a file. @return  false: HDF5 has not opened it by its driver for plain files */
static bool take_descriptor(hid_t file, int *fd)
{
    LW_CLOSED const hid_t access = H5Fget_access_plist(file);
    void *handle = NULL;
    const bool is_plain = H5Pget_driver(access) == H5FD_SEC2 && H5Fget_vfd_handle(file, access, &handle) >= 0 && handle;
    if (is_plain)
        *fd = *(const int *)handle;
    return is_plain;
}

/* HDF5 must read datasets that were never written, lie in other files, or have edge chunks without filters (an option). */
bool lw_stored_locate(hid_t file, hid_t dataset, struct lw_stored *out)
{
    unsigned options = 0;
    LW_CLOSED const hid_t creation = H5Dget_create_plist(dataset), type = H5Dget_type(dataset);
    const H5D_layout_t layout = H5Pget_layout(creation);
    bool found = take_descriptor(file, &out->fd);
    out->is_chunked = layout == H5D_CHUNKED;
    if (out->is_chunked) {
        found = found && H5Pget_chunk_opts(creation, &options) >= 0 && options == 0 &&
                lw_hdf5_filters_take(creation, &out->filters) && take_fill(creation, type, out->fill) &&
                take_chunk_bytes(creation, type, &out->filters.chunk_bytes);
    } else {
        const haddr_t address = H5Dget_offset(dataset);
        out->offset = (int64_t)address;
        found = found && layout == H5D_CONTIGUOUS && H5Pget_external_count(creation) == 0 && address != HADDR_UNDEF &&
                address <= INT64_MAX && lw_hdf5_is_all_there(dataset);
    }
    return found;
}

/* ---- the driver ------------------------------------------------------------------------------------------------------- */

struct lw_finder {
    int fd, n_dims;
    hid_t file, dataset;
    bool is_noting, has_noted;  /* reads of raw data are noted, not done; a read was noted */
    int64_t offset, bytes;      /* place of the noted read */
};

/* A file that the driver has opened. */
struct driver_file {
    H5FD_t base;                /* HDF5's part of the struct, which must come first */
    struct lw_finder *finder;
    haddr_t allocated, size;
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"     /* HDF5 gives these functions more than they need */

static H5FD_t *driver_open(const char *name, unsigned flags, hid_t access, haddr_t most)
{
    struct lw_finder *const *const finder = H5Pget_driver_info(access);
    struct stat status;
    struct driver_file *const file = fstat((*finder)->fd, &status) == 0 ? lw_alloc(sizeof *file, "a file", NULL) : NULL;
    if (!file)
        return NULL;
    file->finder = *finder;
    file->size = (haddr_t)status.st_size;
    return &file->base;
}

static herr_t driver_close(H5FD_t *file)
{
    lw_free(file);
    return 0;
}

static haddr_t driver_allocated(const H5FD_t *file, H5FD_mem_t type) { return ((const struct driver_file *)file)->allocated; }

static herr_t driver_allocate(H5FD_t *file, H5FD_mem_t type, haddr_t end)
{
    ((struct driver_file *)file)->allocated = end;
    return 0;
}

static haddr_t driver_size(const H5FD_t *file, H5FD_mem_t type) { return ((const struct driver_file *)file)->size; }

static herr_t driver_read(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t bytes, void *into)
{
    struct lw_finder *const finder = ((struct driver_file *)file)->finder;
    if (!finder->is_noting || type != H5FD_MEM_DRAW)
        return lw_bytes_read(finder->fd, into, (int64_t)address, (int64_t)bytes, NULL) == LW_OK ? 0 : -1;
    finder->has_noted = true;
    finder->offset = (int64_t)address;
    finder->bytes = (int64_t)bytes;
    return 0;
}

static herr_t driver_write(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t bytes, const void *from)
{
    return -1;
}

#pragma GCC diagnostic pop

/* The driver has no function that compares files, so HDF5 never takes one of its files for another that is open already. */
static const H5FD_class_t driver = {
#ifdef H5FD_CLASS_VERSION
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)300,
#endif
    .name = "lapwing's finder", .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_STRONG, .fapl_size = sizeof(struct lw_finder *), .fl_map = H5FD_FLMAP_DICHOTOMY,
    .open = driver_open, .close = driver_close, .read = driver_read, .write = driver_write,
    .get_eoa = driver_allocated, .set_eoa = driver_allocate, .get_eof = driver_size,
};

/* ---- the finder ------------------------------------------------------------------------------------------------------- */

/* The driver stays registered: HDF5 1.10.8 releases a file's driver, and perhaps its memory, before it closes the file. */
struct lw_finder *lw_finder_create(const char *file, const char *path, int n_dims, int fd)
{
    static hid_t driver_number = H5I_INVALID_HID;
    struct lw_finder *const finder = lw_alloc(sizeof *finder, "the places of chunks", NULL);
    if (!finder)
        return NULL;
    if (driver_number < 0)
        driver_number = H5FDregister(&driver);
    *finder = (struct lw_finder){.fd = fd, .n_dims = n_dims, .file = -1, .dataset = -1};
    LW_CLOSED const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_driver(access, driver_number, &finder);
    if ((finder->file = H5Fopen(file, H5F_ACC_RDONLY, access)) < 0 ||
        (finder->dataset = H5Dopen2(finder->file, path, H5P_DEFAULT)) < 0) {
        lw_finder_destroy(finder);
        return NULL;
    }
    return finder;
}

void lw_finder_destroy(struct lw_finder *finder)
{
    if (!finder)
        return;
    lw_hdf5_close(finder->dataset);
    lw_hdf5_close(finder->file);
    lw_free(finder);
}

/* Note whether HDF5's function for raw chunks itself has failed, which means that the chunk does not exist. */
static herr_t look_innermost(unsigned position, const H5E_error2_t *entry, void *is_missing)
{
    if (position == 0)
        *(bool *)is_missing = entry->func_name && strcmp(entry->func_name, "H5D__chunk_direct_read") == 0;
    return 0;
}

/* Explain why HDF5 has read no chunk: it was never written, or else a search of all chunks shows the error. */
static int find_missing(const struct lw_finder *finder, const hsize_t *first, struct lw_stored_chunk *out, struct lw_error *err)
{
    bool is_missing = false;
    haddr_t address = HADDR_UNDEF;
    hsize_t bytes;
    *out = (struct lw_stored_chunk){0};
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, look_innermost, &is_missing);
    if (is_missing)
        return LW_OK;
    if (H5Dget_chunk_info_by_coord(finder->dataset, first, &out->skipped, &address, &bytes) < 0)
        return lw_hdf5_fail_plainly(err, LW_EIO);
    return address == HADDR_UNDEF ? LW_OK : lw_fail(err, LW_EDATA, "HDF5 finds a chunk but cannot read it");
}

int lw_finder_find(struct lw_finder *finder, const int64_t first[LW_MAX_DIMS], struct lw_stored_chunk *out, struct lw_error *err)
{
    hsize_t at[LW_MAX_DIMS];
    char nothing;               /* stands for the buffer, which the driver does not fill */
    for (int d = 0; d < finder->n_dims; d++)
        at[d] = (hsize_t)first[d];
    finder->has_noted = false;
    finder->is_noting = true;
    const herr_t read = H5Dread_chunk(finder->dataset, H5P_DEFAULT, at, &out->skipped, &nothing);
    finder->is_noting = false;
    if (read < 0 || !finder->has_noted)
        return find_missing(finder, at, out, err);
    out->offset = finder->offset;
    out->bytes = finder->bytes;
    return LW_OK;
}
