#include "io/hdf5/inspect.h"

#include "base/file.h"
#include "io/dataset.h"
#include "io/hdf5/library.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEEPEST = 8 };

/* A dataset on the way down through the sources, and where it lies. */
struct node {
    const struct node *above;
    int depth;
    hid_t file, dataset;
    char file_name[LW_MAX_PATH];
    struct stat status;         /* of the file, and the dataset's address in it: which it is, whatever its names */
    hobj_ref_t address;
};

static bool is_above(const struct node *node)
{
    for (const struct node *above = node->above; above; above = above->above)
        if (above->status.st_dev == node->status.st_dev && above->status.st_ino == node->status.st_ino &&
            above->address == node->address)
            return true;
    return false;
}

static int check(struct node *node, struct lw_error *err);

/* A regular HDF5 file of that name; -1 if there is none. HDF5 reads missing sources as fill values. */
static hid_t open_file(const char *name)
{
    char why[96];
    const int fd = lw_file_open(name, why);
    if (fd < 0)
        return -1;
    close(fd);
    return H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
}

/* Where HDF5 looks: first beside the virtual dataset's file, then from the working folder. "." is that file itself. */
static hid_t open_source_file(const struct node *node, const char *name, char found[LW_MAX_PATH])
{
    const char *const slash = strrchr(node->file_name, '/');
    const int folder = slash ? (int)(slash - node->file_name) + 1 : 0;
    snprintf(found, LW_MAX_PATH, "%s", node->file_name);
    if (strcmp(name, ".") == 0)
        return H5Freopen(node->file);
    if (snprintf(found, LW_MAX_PATH, "%.*s%s", name[0] == '/' ? 0 : folder, node->file_name, name) >= LW_MAX_PATH)
        return -1;
    const hid_t file = open_file(found);
    if (file >= 0)
        return file;
    snprintf(found, LW_MAX_PATH, "%s", name);
    return open_file(found);
}

static int check_source(const struct node *node, const char *file_name, const char *path, struct lw_error *err)
{
    struct node source = {.above = node, .depth = node->depth + 1};
    source.file = open_source_file(node, file_name, source.file_name);
    if (source.file < 0)
        return LW_OK;
    source.dataset = H5Dopen2(source.file, path, H5P_DEFAULT);
    int rc = LW_OK;
    if (source.dataset >= 0) {
        rc = check(&source, err);
        H5Dclose(source.dataset);
    }
    H5Fclose(source.file);
    return rc;
}

/* Neighbouring parts often come from one dataset. */
struct source {
    char file[LW_MAX_PATH], path[LW_MAX_PATH];
};

static int check_sources(const struct node *node, hid_t creation, size_t count, struct lw_error *err)
{
    struct source last = {"", ""}, source = {"", ""};
    int rc = LW_OK;
    for (size_t i = 0; i < count && rc == LW_OK; i++) {
        if (H5Pget_virtual_filename(creation, i, source.file, sizeof source.file) < 0 ||
            H5Pget_virtual_dsetname(creation, i, source.path, sizeof source.path) < 0 ||
            memcmp(&source, &last, sizeof source) == 0)
            continue;
        rc = check_source(node, source.file, source.path, err);
        last = source;
    }
    return rc;
}

static int check_virtual(struct node *node, hid_t creation, struct lw_error *err)
{
    size_t count = 0;
    if (stat(node->file_name, &node->status) != 0)
        return lw_fail(err, LW_EIO, "cannot read '%s': %s", node->file_name, strerror(errno));
    if (H5Rcreate(&node->address, node->dataset, ".", H5R_OBJECT, -1) < 0)
        return lw_hdf5_fail(err, LW_EDATA, "a virtual dataset in '%.600s' cannot be located", node->file_name);
    if (is_above(node))
        return lw_fail(err, LW_EDATA, "a virtual dataset in '%.600s' is made of itself: make it anew with other sources",
                       node->file_name);
    if (node->depth > DEEPEST)
        return lw_fail(err, LW_EDATA, "a virtual dataset in '%.600s' is made of virtual datasets more than %d deep",
                       node->file_name, DEEPEST);
    H5Pget_virtual_count(creation, &count);
    return check_sources(node, creation, count, err);
}

static int check(struct node *node, struct lw_error *err)
{
    const hid_t creation = H5Dget_create_plist(node->dataset);
    const int rc = H5Pget_layout(creation) == H5D_VIRTUAL ? check_virtual(node, creation, err) : LW_OK;
    H5Pclose(creation);
    return rc;
}

int lw_virtual_check(hid_t file, const char *file_name, hid_t dataset, struct lw_error *err)
{
    struct node node = {.file = file, .dataset = dataset};
    snprintf(node.file_name, sizeof node.file_name, "%s", file_name);
    return check(&node, err);
}
