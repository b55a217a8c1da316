#include "io/hdf5/inspect.h"

#include "base/text.h"
#include "io/hdf5/conventions/conventions.h"
#include "io/hdf5/library.h"
#include "options/parse.h"

#include <inttypes.h>
#include <stdio.h>

struct walk {
    lw_list_fn *visit;
    void *context;
};

static void dims_text(const hsize_t *dims, int n_dims, char *text, size_t size)
{
    lw_append(text, size, "[");
    for (int d = 0; d < n_dims; d++)
        lw_append(text, size, "%s%" PRIu64, d ? " x " : "", (uint64_t)dims[d]);
    lw_append(text, size, "]");
}

static void describe_storage(hid_t dataset, struct lw_listing *row)
{
    static const char *const names[] = {
        [H5D_COMPACT] = "compact", [H5D_CONTIGUOUS] = "contiguous", [H5D_CHUNKED] = "chunks ", [H5D_VIRTUAL] = "virtual",
    };
    char filters[sizeof row->storage];
    hsize_t chunk[H5S_MAX_RANK];
    LW_CLOSED const hid_t creation = H5Dget_create_plist(dataset);
    const H5D_layout_t layout = H5Pget_layout(creation);
    if (layout >= H5D_COMPACT && layout <= H5D_VIRTUAL)
        lw_append(row->storage, sizeof row->storage, "%s", names[layout]);
    if (layout == H5D_CHUNKED)
        dims_text(chunk, H5Pget_chunk(creation, H5S_MAX_RANK, chunk), row->storage, sizeof row->storage);
    lw_hdf5_filters_text(creation, filters, sizeof filters);
    lw_append(row->storage, sizeof row->storage, "%s%s", filters[0] ? ", " : "", filters);
    row->stored_bytes = (int64_t)H5Dget_storage_size(dataset);
}

static void describe_sampling(hid_t file, hid_t dataset, struct lw_listing *row)
{
    struct lw_dataset_info info = {0};
    struct lw_error broken;
    hsize_t dims[H5S_MAX_RANK];
    snprintf(info.path, sizeof info.path, "%s", row->path);
    info.n_dims = lw_hdf5_shape(dataset, dims);
    if (info.n_dims < 1 || info.n_dims > LW_MAX_DIMS)
        return;
    for (int d = 0; d < info.n_dims; d++)
        info.dims[d] = (int64_t)dims[d];
    if (lw_hdf5_sampling_find(file, dataset, &info, &broken) == LW_OK && lw_sampling_settle(&info, &broken) == LW_OK)
        lw_sampling_text(&info.axis, row->sampling, sizeof row->sampling);
    else
        snprintf(row->sampling, sizeof row->sampling, "%.120s", broken.message);
}

static void describe_shape_and_type(hid_t dataset, struct lw_listing *row)
{
    struct lw_dataset_info info = {0};
    struct lw_error broken;
    hsize_t dims[H5S_MAX_RANK];
    LW_CLOSED const hid_t space = H5Dget_space(dataset), type = H5Dget_type(dataset);
    const H5S_class_t class = H5Sget_simple_extent_type(space);
    if (class == H5S_SIMPLE)
        dims_text(dims, H5Sget_simple_extent_dims(space, dims, NULL), row->shape, sizeof row->shape);
    else
        lw_append(row->shape, sizeof row->shape, "%s", class == H5S_NULL ? "no data" : "single value");
    lw_hdf5_type_text(type, row->type, sizeof row->type);
    const bool is_packed =
        lw_hdf5_type_parse(type, &info.type) && lw_hdf5_packing_find(dataset, &info, &broken) == LW_OK && info.packing.is_on;
    lw_append(row->storage, sizeof row->storage, "%s", is_packed ? ", packed" : "");
}

static herr_t visit_link(hid_t file, const char *name, const H5L_info_t *link, void *context)
{
    const struct walk *const walk = context;
    if (link->type != H5L_TYPE_HARD)
        return 0;
    LW_CLOSED const hid_t object = H5Oopen(file, name, H5P_DEFAULT);
    char path[LW_MAX_PATH];
    snprintf(path, sizeof path, "/%s", name);
    struct lw_listing row = {.path = path};
    if (object < 0) {
        snprintf(row.storage, sizeof row.storage, "damaged");
        walk->visit(&row, walk->context);
    } else if (H5Iget_type(object) == H5I_DATASET) {
        describe_storage(object, &row);
        describe_shape_and_type(object, &row);
        describe_sampling(file, object, &row);
        walk->visit(&row, walk->context);
    }
    return 0;
}

bool lw_listing_walk(hid_t file, lw_list_fn *visit, void *context)
{
    struct walk walk = {visit, context};
    return H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, visit_link, &walk) >= 0;
}

/* ---- datasets listed in messages ----------------------------------------------------------------------------------- */

enum { MOST_SHOWN = 20, FAR = 1000 };

/* The datasets to show: similar names first, equally similar names in the order of the file. */
struct choice {
    const char *wanted;
    int n_datasets, n_shown;
    struct shown {
        int distance;
        char path[256], text[300];      /* "/signal", "/signal float32 [1000]" */
    } shown[MOST_SHOWN];
};

/* Return how much a dataset's path differs from the wanted name, or their last parts, if less; 0: it lies in a group so named. */
static int find_distance(const char *wanted, const char *path)
{
    const size_t length = strlen(wanted);
    if (length > 1 && strncmp(path, wanted, length) == 0)
        return 0;
    const int whole = lw_nearness(wanted, path), last = lw_nearness(lw_last_part(wanted), lw_last_part(path));
    if (whole >= 0 && (last < 0 || whole <= last))
        return whole;
    return last >= 0 ? last : FAR;
}

static void choose_dataset(const struct lw_listing *dataset, void *context)
{
    struct choice *const choice = context;
    const int distance = find_distance(choice->wanted, dataset->path);
    choice->n_datasets++;
    int place = choice->n_shown;
    while (place > 0 && choice->shown[place - 1].distance > distance)
        place--;
    if (place == MOST_SHOWN)
        return;
    const int n_moved = (choice->n_shown < MOST_SHOWN ? choice->n_shown++ : MOST_SHOWN - 1) - place;
    struct shown *const shown = &choice->shown[place];
    memmove(shown + 1, shown, (size_t)n_moved * sizeof *shown);
    shown->distance = distance;
    snprintf(shown->path, sizeof shown->path, "%s", dataset->path);
    snprintf(shown->text, sizeof shown->text, "%.200s %.40s %.50s", dataset->path, dataset->type[0] ? dataset->type : "damaged",
             dataset->shape);
}

int lw_listing_fail(hid_t file, const char *wanted, enum lw_code code, const char *mistake, struct lw_error *err)
{
    struct choice choice = {.wanted = wanted};
    lw_listing_walk(file, choose_dataset, &choice);
    if (choice.n_datasets == 0)
        return lw_fail(err, code, "%s; the file has no datasets", mistake);
    const char *const near = choice.shown[0].distance < FAR ? choice.shown[0].path : NULL;
    lw_fail(err, code, "%s; the file has %d dataset%s%s%s%s", mistake, choice.n_datasets, choice.n_datasets == 1 ? "" : "s",
            near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    int n_listed = 0;
    while (n_listed < choice.n_shown && lw_error_add(err, "%s", choice.shown[n_listed].text))
        n_listed++;
    if (n_listed < choice.n_datasets)
        lw_error_add(err, "and %d more; 'lapwing info FILE' lists them", choice.n_datasets - n_listed);
    return code;
}
