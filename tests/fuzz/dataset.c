#include "dataset.h"

#include "base/memory.h"
#include "io/dataset.h"
#include "io/read/box.h"
#include "target.h"

#include <string.h>
#include <sys/stat.h>

enum { MOST_SAMPLES = 1 << 14 };

static void pass_over(const struct lw_listing *dataset, void *context)
{
    *(size_t *)context += strlen(dataset->path) + strlen(dataset->shape) + strlen(dataset->type) + strlen(dataset->storage) +
                          strlen(dataset->sampling);
}

static void pass_attribute(const struct lw_attribute *attribute, void *context)
{
    *(size_t *)context += strlen(attribute->name) + (attribute->kind == LW_ATTRIBUTE_TEXT ? strlen(attribute->text) : 0);
}

/* Describe the dataset as io/examine.c does. */
static int describe(const struct lw_format *format, struct lw_dataset_info *info, struct lw_error *err)
{
    struct stat status;
    REQUIRE(stat(info->file, &status) == 0, "%s", info->file);
    info->n_files = 1;
    info->file_bytes = status.st_size;
    info->modified_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    const int rc = format->describe(info, err);
    return rc ? rc : lw_sampling_settle(info, err);
}

/* Number of samples of the dataset. REQUIRE ends the process if the dataset's bytes do not fit into int64. */
static int64_t count_samples(const struct lw_dataset_info *info)
{
    int64_t count = 1, bytes;
    REQUIRE(info->n_dims >= 1 && info->n_dims <= LW_MAX_DIMS, "%d dimensions", info->n_dims);
    for (int d = 0; d < info->n_dims; d++) {
        REQUIRE(info->dims[d] >= 1, "dimension %d is %lld", d, (long long)info->dims[d]);
        REQUIRE(!__builtin_mul_overflow(count, info->dims[d], &count), "dimension %d is %lld", d, (long long)info->dims[d]);
    }
    REQUIRE(!__builtin_mul_overflow(count, (int64_t)lw_type_bytes(info->type), &bytes), "%lld samples", (long long)count);
    return count;
}

/* Whether an error code is legal. For HDF5 that includes LW_EIO, as libhdf5 often cannot tell damage from a failed read. */
static bool may_fail(const struct lw_format *format, int rc)
{
    return rc == LW_EDATA || (rc == LW_EIO && strcmp(format->name, "HDF5") == 0);
}

/* Read the last few elements of each dimension, `step` apart. */
static void read_box(const struct lw_format *format, const struct lw_dataset_info *info, void *dataset, int64_t step)
{
    struct lw_box box = {.run = 1, .n_runs = 1};
    struct lw_error err = {0};
    for (int d = info->n_dims - 1; d >= 0; d--) {
        const int64_t there = (info->dims[d] - 1) / step + 1, most = MOST_SAMPLES / box.run;
        box.step[d] = step;
        box.count[d] = there < most ? there : most;
        box.first[d] = info->dims[d] - 1 - (box.count[d] - 1) * step;
        box.run *= box.count[d];
    }
    box.pitch = box.run;
    box.into = malloc((size_t)box.run * lw_type_bytes(info->type));
    const int rc = format->read(dataset, &box, &err);
    REQUIRE(rc == LW_OK || may_fail(format, rc), "reading a described dataset: code %d: %s", rc, err.message);
    free(box.into);
}

static void read_numbers(const struct lw_format *format, const struct lw_dataset_info *info, int64_t count)
{
    struct lw_error err = {0};
    double *const values = malloc((size_t)count * 2 * sizeof *values);
    const int rc = lw_format_read_numbers(format, info, values, &err);
    REQUIRE(rc == LW_OK || may_fail(format, rc), "reading numbers: code %d: %s", rc, err.message);
    free(values);
}

static void read_all(const struct lw_format *format, const struct lw_dataset_info *info)
{
    const int64_t count = count_samples(info);
    struct lw_error err = {0};
    void *dataset;
    size_t n = 0;
    const int rc = lw_format_open(format, info, &dataset, &err);
    REQUIRE(rc == LW_OK || may_fail(format, rc), "opening a described dataset: code %d: %s", rc, err.message);
    if (rc)
        return;
    read_box(format, info, dataset, 1);
    read_box(format, info, dataset, 3);
    lw_format_close(format, dataset);
    if (count <= MOST_SAMPLES)
        read_numbers(format, info, count);
    if (format->visit_attributes)
        format->visit_attributes(info, pass_attribute, &n);
}

void fuzz_dataset(const struct lw_format *format, const char *file, const char *path, const struct lw_hints *hints)
{
    struct lw_dataset_info info = {.metadata_axis = -1};
    struct lw_error err = {0};
    bool is_one = false;
    size_t n = 0;
    if (hints)
        info.hints = *hints;
    snprintf(info.file, sizeof info.file, "%s", file);
    snprintf(info.path, sizeof info.path, "%s", path);
    if (format->recognise)
        REQUIRE(format->recognise(file, &is_one, &err) == LW_OK, "%s", err.message);
    if (!is_one && format->recognise)
        return;                             /* no operation may be called for a file of another format */
    format->list(file, pass_over, &n, &err);
    const int rc = describe(format, &info, &err);
    REQUIRE(rc == LW_OK || ((may_fail(format, rc) || rc == LW_EUSAGE) && err.message[0]), "code %d: %s", rc, err.message);
    if (rc == LW_OK)
        read_all(format, &info);
}
