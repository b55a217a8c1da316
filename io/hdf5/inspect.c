#include "io/hdf5/inspect.h"

#include "base/file.h"
#include "io/hdf5/attribute.h"
#include "io/hdf5/conventions/conventions.h"
#include "io/hdf5/library.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the file ------------------------------------------------------------------------------------------------------ */

/* Explain why HDF5 has just failed to open a file. */
static int fail_open(const char *file, struct lw_error *err)
{
    char reason[256];
    lw_hdf5_reason(reason, sizeof reason);
    if (strstr(reason, "lock file"))
        return lw_fail(err, LW_EIO, "cannot read '%s': another program writes it (%s)", file, reason);
    if (lw_hdf5_errno() != 0)
        return lw_fail(err, LW_EIO, "cannot read '%s': %s", file, reason);
    return lw_fail(err, LW_EDATA, "'%s' is a damaged HDF5 file: %s", file, reason);
}

/* The second attempt is for a file that a logger, which lets others read (SWMR), has marked as open; a killed logger leaves the
 * mark. HDF5 locks the file against writers, except on file systems without locks. */
int lw_probe_file(const char *file, hid_t *out, struct lw_error *err)
{
    LW_CLOSED const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    int rc = LW_OK;
#if H5_VERSION_GE(1, 10, 7)
    H5Pset_file_locking(access, true, true);
#endif
    *out = H5Fopen(file, H5F_ACC_RDONLY, access);
    if (*out < 0) {
        rc = fail_open(file, err);
        *out = H5Fopen(file, H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, access);
    }
    return *out >= 0 ? LW_OK : rc;
}

/* ---- virtual datasets --------------------------------------------------------------------------------------------------
 *
 * A virtual dataset consists of parts of other datasets. If it contains itself, HDF5 recurses without end. */

enum { DEEPEST = 8 };

/* A dataset on the way down from a virtual dataset through its sources. */
struct node {
    const struct node *above;
    int depth;
    hid_t file, dataset;
    char file_name[LW_MAX_PATH];
    struct stat status;         /* file and address, which identify the dataset under any name */
    hobj_ref_t address;
};

static int check_node(struct node *node, struct lw_error *err);

/* Open a regular HDF5 file; -1: there is none. HDF5 reads missing sources as fill values. */
static hid_t open_if_regular(const char *name)
{
    char why[96];
    const int fd = lw_file_open(name, why);
    if (fd < 0)
        return -1;
    close(fd);
    return H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
}

/* Open a source's file where HDF5 looks: beside the virtual dataset's file, then from the working folder. "." is the same file. */
static hid_t open_source_file(const struct node *node, const char *name, char found[LW_MAX_PATH])
{
    const char *const slash = strrchr(node->file_name, '/');
    const int folder = slash ? (int)(slash - node->file_name) + 1 : 0;
    snprintf(found, LW_MAX_PATH, "%s", node->file_name);
    if (strcmp(name, ".") == 0)
        return H5Freopen(node->file);
    if (snprintf(found, LW_MAX_PATH, "%.*s%s", name[0] == '/' ? 0 : folder, node->file_name, name) >= LW_MAX_PATH)
        return -1;
    const hid_t file = open_if_regular(found);
    if (file >= 0)
        return file;
    snprintf(found, LW_MAX_PATH, "%s", name);
    return open_if_regular(found);
}

/* The name of a source. Neighbouring parts often have the same source, which is then checked once. */
struct source {
    char file[LW_MAX_PATH], path[LW_MAX_PATH];
};

static int check_sources(const struct node *node, hid_t creation, size_t count, struct lw_error *err)
{
    struct source last = {"", ""}, source = {"", ""};
    int rc = LW_OK;
    for (size_t i = 0; i < count && rc == LW_OK; i++) {
        if (H5Pget_virtual_filename(creation, i, source.file, sizeof source.file) < 0 ||
            H5Pget_virtual_dsetname(creation, i, source.path, sizeof source.path) < 0 || memcmp(&source, &last, sizeof source) == 0)
            continue;
        struct node next = {.above = node, .depth = node->depth + 1};
        LW_CLOSED const hid_t file = next.file = open_source_file(node, source.file, next.file_name);
        LW_CLOSED const hid_t dataset = next.dataset = file >= 0 ? H5Dopen2(file, source.path, H5P_DEFAULT) : -1;
        rc = dataset >= 0 ? check_node(&next, err) : LW_OK;
        last = source;
    }
    return rc;
}

/* Check a dataset and its sources. LW_EDATA: a virtual dataset contains itself, or the sources lie more than DEEPEST deep. */
static int check_node(struct node *node, struct lw_error *err)
{
    size_t count = 0;
    LW_CLOSED const hid_t creation = H5Dget_create_plist(node->dataset);
    if (H5Pget_layout(creation) != H5D_VIRTUAL)
        return LW_OK;
    if (stat(node->file_name, &node->status) != 0)
        return lw_fail(err, LW_EIO, "cannot read '%s': %s", node->file_name, strerror(errno));
    if (H5Rcreate(&node->address, node->dataset, ".", H5R_OBJECT, -1) < 0)
        return lw_hdf5_fail(err, LW_EDATA, "a virtual dataset in '%.600s' cannot be located", node->file_name);
    bool is_above = false;
    for (const struct node *above = node->above; above && !is_above; above = above->above)
        is_above = above->status.st_dev == node->status.st_dev && above->status.st_ino == node->status.st_ino &&
                   above->address == node->address;
    if (is_above)
        return lw_fail(err, LW_EDATA, "a virtual dataset in '%.600s' is made of itself: make it anew with other sources",
                       node->file_name);
    if (node->depth > DEEPEST)
        return lw_fail(err, LW_EDATA, "a virtual dataset in '%.600s' is made of virtual datasets more than %d deep",
                       node->file_name, DEEPEST);
    H5Pget_virtual_count(creation, &count);
    return check_sources(node, creation, count, err);
}

/* ---- the dataset --------------------------------------------------------------------------------------------------- */

int lw_probe_dataset(hid_t file, const char *file_name, const char *path, hid_t *out, struct lw_error *err)
{
    char mistake[400];
    if (!path[0]) {
        snprintf(mistake, sizeof mistake, "name a dataset of the file, as in '%.128s:/path'", file_name);
        return lw_listing_fail(file, path, LW_EUSAGE, mistake, err);
    }
    LW_CLOSED hid_t object = H5Oopen(file, path, H5P_DEFAULT);
    if (object < 0 && lw_hdf5_errno() != 0 && lw_hdf5_errno() != ENOENT)
        return lw_hdf5_fail(err, LW_EIO, "cannot read %.600s", lw_name_of(file_name, path).text);
    if (object < 0) {
        snprintf(mistake, sizeof mistake, "'%.128s' has no dataset '%.128s'", file_name, path);
        return lw_listing_fail(file, path, LW_EDATA, mistake, err);
    }
    const H5I_type_t type = H5Iget_type(object);
    if (type != H5I_DATASET) {
        snprintf(mistake, sizeof mistake, "'%.128s' in '%.128s' is %s, not a dataset", path, file_name,
                 type == H5I_GROUP ? "a group" : type == H5I_DATATYPE ? "a named type" : "no dataset");
        return lw_listing_fail(file, path, LW_EDATA, mistake, err);
    }
    LW_CLOSED const hid_t creation = H5Dget_create_plist(object);
    struct node node = {.file = file, .dataset = object};
    snprintf(node.file_name, sizeof node.file_name, "%s", file_name);
    int rc;
    if ((rc = lw_hdf5_filters_check(creation, file_name, path, err)) || (rc = check_node(&node, err)))
        return rc;
    *out = object;
    object = -1;                /* the dataset is the caller's from now on */
    return LW_OK;
}

/* ---- shape and storage ------------------------------------------------------------------------------------------------- */

static int describe_shape(hid_t dataset, struct lw_dataset_info *info, struct lw_error *err)
{
    hsize_t dims[H5S_MAX_RANK] = {0};
    LW_CLOSED const hid_t space = H5Dget_space(dataset);
    const int n_dims = H5Sget_simple_extent_dims(space, dims, NULL);
    if (H5Sget_simple_extent_type(space) == H5S_NULL)
        return lw_fail(err, LW_EDATA, "%s is empty", lw_dataset_name(info).text);
    if (n_dims < 1 || n_dims > LW_MAX_DIMS)
        return lw_fail(err, LW_EDATA, "%s has %d dimensions, not 1 to %d%s", lw_dataset_name(info).text, n_dims, LW_MAX_DIMS,
                       n_dims == 0 ? ": it is a single value" : "");
    info->n_dims = n_dims;
    for (int d = 0; d < n_dims; d++) {
        info->dims[d] = (int64_t)dims[d];
        if (dims[d] == 0)
            return lw_fail(err, LW_EDATA, "%s is empty: its dimension %d has length 0", lw_dataset_name(info).text, d);
    }
    return LW_OK;
}

/* Samples of a compact dataset lie in its header. HDF5 copies as many as the shape needs, so their number is checked here. */
static int describe_storage(hid_t dataset, struct lw_dataset_info *info, struct lw_error *err)
{
    LW_CLOSED const hid_t creation = H5Dget_create_plist(dataset);
    const H5D_layout_t layout = H5Pget_layout(creation);
    hsize_t chunk[H5S_MAX_RANK] = {0};
    if (layout == H5D_CHUNKED && H5Pget_chunk(creation, H5S_MAX_RANK, chunk) == info->n_dims) {
        for (int d = 0; d < info->n_dims; d++)
            info->chunk[d] = (int64_t)chunk[d];
        info->is_compressed = H5Pget_nfilters(creation) > 0;
    }
    if (layout != H5D_COMPACT || lw_hdf5_is_all_there(dataset))
        return LW_OK;
    return lw_fail(err, LW_EDATA, "damaged HDF5 file: %.600s holds %" PRIu64 " bytes, fewer than its shape and type need",
                   lw_dataset_name(info).text, (uint64_t)H5Dget_storage_size(dataset));
}

/* ---- all of it ----------------------------------------------------------------------------------------------------- */

/* Return whether the file is an incomplete result or synthetic survey of this program. */
static bool is_incomplete(hid_t file)
{
    double complete, accuracy;
    struct lw_error broken = {0};
    return lw_attribute_read_real(file, "lapwing_complete", &complete, &accuracy, &broken) && complete == 0;
}

int lw_probe_check_complete(hid_t file, const char *file_name, struct lw_error *err)
{
    return is_incomplete(file)
               ? lw_fail(err, LW_EDATA, "'%s' is incomplete: the run of lapwing that was to make it did not come to its end; "
                         "run it again ('lapwing info' shows its job file)", file_name)
               : LW_OK;
}

/* An empty path is filled in: the first array of a result of this program, or else the data by the file's convention. */
int lw_probe_open(struct lw_dataset_info *info, hid_t *file, hid_t *dataset, struct lw_error *err)
{
    static const char *const own[] = {"filtered", "convolved", "best"};
    struct lw_error broken;
    int rc;
    if ((rc = lw_probe_file(info->file, file, err)) || (rc = lw_probe_check_complete(*file, info->file, err)))
        return rc;
    const bool is_own = !info->path[0] && H5Aexists(*file, "lapwing_complete") > 0;
    for (size_t o = 0; is_own && o < sizeof own / sizeof *own && !info->path[0]; o++)
        if (H5Lexists(*file, own[o], H5P_DEFAULT) > 0)
            snprintf(info->path, LW_MAX_PATH, "/%s%s", own[o], strcmp(own[o], "best") == 0 ? "/value" : "");
    if (!info->path[0])
        lw_conventions_find_data(*file, info->path);
    if ((rc = lw_probe_dataset(*file, info->file, info->path, dataset, err)) ||
        (rc = describe_shape(*dataset, info, err)) || (rc = describe_storage(*dataset, info, err)))
        return rc;
    rc = lw_hdf5_sampling_find(*file, *dataset, info, &broken);
    return rc ? lw_fail(err, rc, "%.600s: %.500s", lw_dataset_name(info).text, broken.message) : LW_OK;
}

/* ---- for `lapwing info FILE` ---------------------------------------------------------------------------------------- */

int lw_probe_list(const char *file, lw_list_fn *visit, void *context, struct lw_error *err)
{
    LW_CLOSED hid_t opened = -1;
    const int rc = lw_probe_file(file, &opened, err);
    if (rc || lw_listing_walk(opened, visit, context))
        return rc;
    return lw_hdf5_fail(err, LW_EDATA, "'%.600s' is a damaged HDF5 file", file);
}

bool lw_probe_origin(const char *file, struct lw_listing_origin *origin)
{
    struct lw_error err = {0};
    char program[16];
    LW_CLOSED hid_t opened = -1;
    if (lw_probe_file(file, &opened, &err))
        return false;
    origin->command = lw_attribute_take_text(opened, "command_line", &err);
    origin->is_incomplete = is_incomplete(opened);
    return lw_attribute_read_text(opened, "program", program, sizeof program, &err) && strcmp(program, "lapwing") == 0 &&
           lw_attribute_read_text(opened, "version", origin->version, sizeof origin->version, &err) &&
           lw_attribute_read_text(opened, "job", origin->job, sizeof origin->job, &err) &&
           lw_attribute_read_text(opened, "end_time_utc", origin->end, sizeof origin->end, &err) &&
           (origin->configuration = lw_attribute_take_text(opened, "configuration", &err));
}
