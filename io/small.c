/* small.c - a dataset small enough for every rank to hold: read by rank 0 alone, broadcast as float64. */
#include "reader.h"

#include "../src/memory.h"
#include "hdf5_error.h"
#include "hdf5_type.h"
#include "probe.h"

#include <hdf5.h>
#include <inttypes.h>

static int64_t count_doubles(const struct lw_dataset_info *info)
{
    int64_t count = info->type.is_complex ? 2 : 1;
    for (int d = 0; d < info->n_dims; d++)
        count *= info->dims[d];
    return count;
}

/* Types that samples cannot have are reported as the float64 that they become. */
static int read_values(hid_t dataset, struct lw_dataset_info *info, double **values, struct lw_error *err)
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
    else if (!(*values = lw_alloc_array(count_doubles(info), sizeof **values, info->path, err)))
        rc = LW_ESYSTEM;
    else if (H5Dread(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, *values) < 0)
        rc = lw_hdf5_fail(err, LW_EIO, "cannot read %s:%s", info->file, info->path);
    if (memory >= 0)
        H5Tclose(memory);
    H5Tclose(stored);
    return rc;
}

static int check_rank(const struct lw_dataset_info *info, struct lw_error *err)
{
    if (info->n_dims <= 2)
        return LW_OK;
    return lw_fail(err, LW_EDATA, "%s:%s has %d dimensions: it must have 1 or 2", info->file, info->path, info->n_dims);
}

static int read_alone(const char *name, struct lw_dataset_info *info, double **values, struct lw_error *err)
{
    char file_name[LW_MAX_PATH], path[LW_MAX_PATH];
    hid_t file = -1, dataset = -1;
    int rc;
    if ((rc = lw_probe_parse(name, file_name, path, err)) ||
        (rc = lw_probe_file(file_name, &file, err)) ||
        (rc = lw_probe_dataset(file, file_name, path, &dataset, err)) ||
        (rc = lw_probe_describe(file, file_name, path, dataset, info, err)) ||
        (rc = check_rank(info, err)) ||
        (rc = read_values(dataset, info, values, err)))
        goto close;
close:
    if (dataset >= 0)
        H5Dclose(dataset);
    if (file >= 0)
        H5Fclose(file);
    return rc;
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
