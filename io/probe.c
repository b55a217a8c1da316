#include "probe.h"

#include "hdf5_error.h"
#include "listing.h"
#include "sampling.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- names --------------------------------------------------------------------------------------------------------- */

static const char *find_path(const char *name)
{
    const char *found = NULL;
    for (const char *at = name; (at = strstr(at, ":/")); at++)
        found = at;
    return found;
}

int lw_probe_parse(const char *name, char file[LW_MAX_PATH], char path[LW_MAX_PATH], struct lw_error *err)
{
    const char *const colon = find_path(name);
    const size_t length = colon ? (size_t)(colon - name) : strlen(name);
    const char *const rest = colon ? colon + 1 : "";
    if (length == 0)
        return lw_fail(err, LW_EUSAGE, "'%.200s' names no file: give FILE:/path/in/file", name);
    if (length >= LW_MAX_PATH || strlen(rest) >= LW_MAX_PATH)
        return lw_fail(err, LW_EUSAGE, "the name '%.200s...' is longer than %d characters", name, LW_MAX_PATH - 1);
    memcpy(file, name, length);
    file[length] = '\0';
    memcpy(path, rest, strlen(rest) + 1);
    return LW_OK;
}

/* ---- the file ------------------------------------------------------------------------------------------------------ */

/* Ask the system before HDF5, whose messages for these are of no use. */
static int check_readable(const char *file, struct lw_error *err)
{
    struct stat status;
    const int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return lw_fail(err, LW_EIO, "cannot read '%s': %s", file, strerror(errno));
    const int rc = fstat(fd, &status);
    close(fd);
    if (rc != 0)
        return lw_fail(err, LW_EIO, "cannot read '%s': %s", file, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return lw_fail(err, LW_EIO, "cannot read '%s': it is a %s, not a file", file,
                       S_ISDIR(status.st_mode) ? "folder" : "device or pipe");
    return LW_OK;
}

/* A file that somebody writes is locked; on file systems without locks HDF5 must not insist on them. */
static hid_t reading_access(void)
{
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
#if H5_VERSION_GE(1, 10, 7)
    H5Pset_file_locking(access, true, true);
#endif
    return access;
}

int lw_probe_file(const char *file, hid_t *out, struct lw_error *err)
{
    lw_hdf5_quiet();
    const int rc = check_readable(file, err);
    if (rc)
        return rc;
    if (H5Fis_hdf5(file) <= 0)
        return lw_fail(err, LW_EDATA, "'%s' is not an HDF5 file", file);

    const hid_t access = reading_access();
    const hid_t opened = H5Fopen(file, H5F_ACC_RDONLY, access);
    char reason[256];
    if (opened < 0)
        lw_hdf5_reason(reason, sizeof reason);
    H5Pclose(access);
    if (opened < 0 && strstr(reason, "lock file"))
        return lw_fail(err, LW_EIO, "cannot read '%s': another program writes it (%s)", file, reason);
    if (opened < 0)
        return lw_fail(err, LW_EDATA, "'%s' is a damaged HDF5 file: %s", file, reason);
    *out = opened;
    return LW_OK;
}

/* ---- the dataset --------------------------------------------------------------------------------------------------- */

static int check_filters(const char *file_name, const char *path, hid_t creation, struct lw_error *err)
{
    const int n_filters = H5Pget_nfilters(creation);
    for (int f = 0; f < n_filters; f++) {
        char name[64] = "";
        unsigned flags, settings;
        size_t n_values = 0;
        const H5Z_filter_t filter = H5Pget_filter2(creation, (unsigned)f, &flags, &n_values, NULL, sizeof name, name,
                                                   &settings);
        if (filter >= 0 && H5Zfilter_avail(filter) <= 0)
            return lw_fail(err, LW_EDATA, "%s:%s is compressed with filter %d ('%s'), which HDF5 does not find: install "
                           "its plugin and set HDF5_PLUGIN_PATH, or decompress the file with h5repack -f NONE",
                           file_name, path, (int)filter, name);
    }
    return LW_OK;
}

static const char *object_text(H5I_type_t type)
{
    return type == H5I_GROUP ? "a group" : type == H5I_DATATYPE ? "a named type" : "no dataset";
}

int lw_probe_dataset(hid_t file, const char *file_name, const char *path, hid_t *out, struct lw_error *err)
{
    char there[600];
    if (!path[0])
        return lw_fail(err, LW_EUSAGE, "name a dataset of the file, as in '%.128s:/path'; it has %s", file_name,
                       lw_listing_line(file, there, sizeof there));
    const hid_t object = H5Oopen(file, path, H5P_DEFAULT);
    if (object < 0)
        return lw_fail(err, LW_EDATA, "'%.128s' has no dataset '%.128s'; it has %s", file_name, path,
                       lw_listing_line(file, there, sizeof there));
    const H5I_type_t type = H5Iget_type(object);
    if (type != H5I_DATASET) {
        H5Oclose(object);
        return lw_fail(err, LW_EDATA, "'%.128s' in '%.128s' is %s, not a dataset; the file has %s", path, file_name,
                       object_text(type), lw_listing_line(file, there, sizeof there));
    }
    const hid_t creation = H5Dget_create_plist(object);
    const int rc = check_filters(file_name, path, creation, err);
    H5Pclose(creation);
    if (rc) {
        H5Oclose(object);
        return rc;
    }
    *out = object;
    return LW_OK;
}

/* ---- what it holds ------------------------------------------------------------------------------------------------- */

static int describe_shape(hid_t dataset, struct lw_dataset_info *info, struct lw_error *err)
{
    hsize_t dims[H5S_MAX_RANK] = {0};
    const hid_t space = H5Dget_space(dataset);
    const int n_dims = H5Sget_simple_extent_dims(space, dims, NULL);
    const bool is_null = H5Sget_simple_extent_type(space) == H5S_NULL;
    H5Sclose(space);

    if (is_null)
        return lw_fail(err, LW_EDATA, "%s:%s is empty", info->file, info->path);
    if (n_dims < 1 || n_dims > LW_MAX_DIMS)
        return lw_fail(err, LW_EDATA, "%s:%s has %d dimensions, not 1 to %d%s", info->file, info->path, n_dims, LW_MAX_DIMS,
                       n_dims == 0 ? ": it is a single value" : "");
    info->n_dims = n_dims;
    for (int d = 0; d < n_dims; d++) {
        info->dims[d] = (int64_t)dims[d];
        if (dims[d] == 0)
            return lw_fail(err, LW_EDATA, "%s:%s is empty: its dimension %d has length 0", info->file, info->path, d);
    }
    return LW_OK;
}

static void describe_storage(hid_t dataset, struct lw_dataset_info *info)
{
    const hid_t creation = H5Dget_create_plist(dataset);
    hsize_t chunk[H5S_MAX_RANK] = {0};
    if (H5Pget_layout(creation) == H5D_CHUNKED && H5Pget_chunk(creation, H5S_MAX_RANK, chunk) == info->n_dims) {
        for (int d = 0; d < info->n_dims; d++)
            info->chunk[d] = (int64_t)chunk[d];
        info->is_compressed = H5Pget_nfilters(creation) > 0;
    }
    H5Pclose(creation);
}

static int describe_file(struct lw_dataset_info *info, struct lw_error *err)
{
    struct stat status;
    if (stat(info->file, &status) != 0)
        return lw_fail(err, LW_EIO, "cannot read '%s': %s", info->file, strerror(errno));
    info->file_bytes = status.st_size;
    info->modified_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    return LW_OK;
}

int lw_probe_describe(hid_t file, const char *file_name, const char *path, hid_t dataset, struct lw_dataset_info *info,
                      struct lw_error *err)
{
    *info = (struct lw_dataset_info){.metadata_axis = -1};
    snprintf(info->file, sizeof info->file, "%s", file_name);
    snprintf(info->path, sizeof info->path, "%s", path);
    int rc;
    if ((rc = describe_file(info, err)) || (rc = describe_shape(dataset, info, err)))
        return rc;
    describe_storage(dataset, info);
    lw_sampling_find(file, dataset, info);
    return LW_OK;
}
