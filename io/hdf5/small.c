/* small.c - a dataset small enough for every rank to hold: read by rank 0 alone, broadcast as float64. */
#include "io/reader.h"

#include "base/memory.h"
#include "io/hdf5/error.h"
#include "io/hdf5/probe.h"
#include "io/hdf5/shield.h"
#include "io/hdf5/type.h"

#include <hdf5.h>
#include <inttypes.h>
#include <string.h>

/* Doubles that all elements are; -1 if that is more than can be counted. */
static int64_t count_doubles(const struct lw_dataset_info *info)
{
    int64_t count = info->type.is_complex ? 2 : 1;
    for (int d = 0; d < info->n_dims; d++)
        if (__builtin_mul_overflow(count, info->dims[d], &count))
            return -1;
    return count;
}

/* Types that samples cannot have are reported as the float64 that they become. */
static int describe_type(hid_t dataset, struct lw_dataset_info *info, struct lw_error *err)
{
    char found[96];
    bool is_complex;
    int rc = LW_OK;
    const hid_t stored = H5Dget_type(dataset);
    const hid_t memory = lw_hdf5_type_as_float64(stored, &is_complex);
    if (!lw_hdf5_type_parse(stored, &info->type))
        info->type = (struct lw_type){.scalar = LW_FLOAT64, .is_complex = is_complex};
    if (memory < 0)
        rc = lw_fail(err, LW_EDATA, "%s:%s holds %s, not numbers: it must be of an integer or floating-point type, or a "
                     "complex compound {r, i}, {re, im} or {real, imag}", info->file, info->path,
                     lw_hdf5_type_text(stored, found, sizeof found));
    else
        H5Tclose(memory);
    H5Tclose(stored);
    return rc;
}

static int check_shape(const struct lw_dataset_info *info, struct lw_error *err)
{
    if (info->n_dims > 2)
        return lw_fail(err, LW_EDATA, "%s:%s has %d dimensions: it must have 1 or 2", info->file, info->path, info->n_dims);
    if (count_doubles(info) < 0)
        return lw_fail(err, LW_EDATA, "%s:%s has %" PRId64 " x %" PRId64 " elements: more than any memory holds", info->file,
                       info->path, info->dims[0], info->dims[1]);
    return LW_OK;
}

/* The chunks are counted so that their index is read here, where it may be damaged. */
static int examine(const char *name, void *result, struct lw_error *err)
{
    struct lw_probe probe;
    int rc = lw_probe_open(name, &probe, err);
    if (rc)
        return rc;
    if ((rc = describe_type(probe.dataset, &probe.info, err)) == LW_OK)
        rc = check_shape(&probe.info, err);
    H5Dget_storage_size(probe.dataset);
    *(struct lw_dataset_info *)result = probe.info;
    lw_probe_close(&probe);
    return rc;
}

static int read_values(hid_t dataset, const struct lw_dataset_info *info, double *values, struct lw_error *err)
{
    bool is_complex;
    const hid_t stored = H5Dget_type(dataset);
    const hid_t memory = lw_hdf5_type_as_float64(stored, &is_complex);
    int rc = LW_OK;
    if (H5Dread(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
        rc = lw_hdf5_fail(err, LW_EIO, "cannot read %s:%s", info->file, info->path);
    H5Tclose(memory);
    H5Tclose(stored);
    return rc;
}

/* Should the file have changed since it was examined, its shape is no longer that of the memory. */
static int read_dataset(const char *name, const struct lw_dataset_info *info, double *values, struct lw_error *err)
{
    struct lw_probe probe;
    int rc = lw_probe_open(name, &probe, err);
    if (rc)
        return rc;
    if ((rc = describe_type(probe.dataset, &probe.info, err)) == LW_OK)
        rc = memcmp(probe.info.dims, info->dims, sizeof info->dims) == 0 && probe.info.type.is_complex == info->type.is_complex
                 ? read_values(probe.dataset, info, values, err)
                 : lw_fail(err, LW_EDATA, "'%s' changed while it was read", info->file);
    lw_probe_close(&probe);
    return rc;
}

static int read_alone(const char *name, struct lw_dataset_info *info, double **values, struct lw_error *err)
{
    const int rc = lw_shield(examine, name, info, sizeof *info, err);
    if (rc)
        return rc;
    *values = lw_alloc_array(count_doubles(info), sizeof **values, info->path, err);
    return *values ? read_dataset(name, info, *values, err) : LW_ESYSTEM;
}

int lw_read_small(struct lw_comm *comm, const char *name, struct lw_dataset_info *info, double **values,
                  struct lw_error *err)
{
    const bool reads = lw_comm_rank(comm) == 0;
    struct lw_dataset_info found = {0};
    double *all = NULL;
    int rc = lw_comm_agree(comm, reads ? read_alone(name, &found, &all, err) : LW_OK, err);
    if (rc)
        goto fail;
    lw_comm_broadcast(comm, &found, sizeof found);
    const int64_t count = count_doubles(&found);
    if (!reads)
        all = lw_alloc_array(count, sizeof *all, found.path, err);
    if ((rc = lw_comm_agree(comm, all ? LW_OK : LW_ESYSTEM, err)))
        goto fail;
    lw_comm_broadcast(comm, all, count * (int64_t)sizeof *all);
    *info = found;
    *values = all;
    return LW_OK;
fail:
    lw_free(all);
    return rc;
}
