#include "io/hdf5/conventions/conventions.h"

#include "io/hdf5/library.h"
#include "io/hdf5/scale.h"
#include "io/hdf5/shape.h"
#include "io/hdf5/type.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* In the order in which they are tried: special ones before those that ask for little. */
#define CONVENTIONS(X)          \
    X(lw_convention_gwosc)      \
    X(lw_convention_fbh5)       \
    X(lw_convention_prodml)     \
    X(lw_convention_gdr)        \
    X(lw_convention_neubrex)    \
    X(lw_convention_neubrex_rfs) \
    X(lw_convention_silixa)     \
    X(lw_convention_terra15)    \
    X(lw_convention_optodas)    \
    X(lw_convention_febus)      \
    X(lw_convention_apsensing)  \
    X(lw_convention_dasdae)     \
    X(lw_convention_xdas)       \
    X(lw_convention_simple)

#define X(convention) extern const struct lw_convention convention;
CONVENTIONS(X)
#undef X

static const struct lw_convention *const conventions[] = {
#define X(convention) &convention,
    CONVENTIONS(X)
#undef X
    NULL,
};

/* ---- which dataset ---------------------------------------------------------------------------------------------------- */

static bool has_marks(const struct lw_convention *convention, hid_t file)
{
    bool has = true;
    for (size_t m = 0; m < sizeof convention->mark / sizeof *convention->mark && convention->mark[m] && has; m++)
        has = lw_place_exists(file, "", convention->mark[m]);
    return has;
}

/* @param path  with a slash at its beginning or without */
static bool is_data(const struct lw_convention *convention, hid_t file, const char *path)
{
    const char *const name = path[0] == '/' ? path + 1 : path;
    return fnmatch(convention->pattern, name, FNM_PATHNAME | FNM_NOESCAPE) == 0 &&
           (!convention->is_data || convention->is_data(file, path));
}

/* What a walk through the datasets has found. */
struct search {
    const struct lw_convention *convention;     /* NULL: any numbers do */
    int n_data;                                 /* of the convention, or all datasets of numbers */
    char data[LW_MAX_PATH];
    int n_fields;                               /* with two dimensions or more */
    int n_dims;                                 /* of the last field */
    hsize_t dims[H5S_MAX_RANK];
    char field[LW_MAX_PATH];
};

static bool holds_numbers(hid_t dataset)
{
    bool is_complex;
    hsize_t dims[H5S_MAX_RANK];
    const hid_t type = H5Dget_type(dataset), number = lw_hdf5_type_as_float64(type, &is_complex);
    const bool holds = number >= 0 && lw_hdf5_shape(dataset, dims) > 0;
    lw_hdf5_close(number);
    H5Tclose(type);
    return holds;
}

static void note_dataset(hid_t dataset, const char *path, struct search *search)
{
    if (!holds_numbers(dataset) || lw_scale_is_one(dataset))
        return;
    hsize_t dims[H5S_MAX_RANK] = {0};
    search->n_data++;
    snprintf(search->data, sizeof search->data, "%s", path);
    const int n_dims = lw_hdf5_shape(dataset, dims);
    if (n_dims > 1) {
        search->n_fields++;
        search->n_dims = n_dims;
        memcpy(search->dims, dims, sizeof dims);
        snprintf(search->field, sizeof search->field, "%s", path);
    }
}

static herr_t look_at_link(hid_t file, const char *name, const H5L_info_t *link, void *context)
{
    struct search *const search = context;
    char path[LW_MAX_PATH];
    if (link->type != H5L_TYPE_HARD || strlen(name) + 2 > sizeof path)
        return 0;
    snprintf(path, sizeof path, "/%s", name);
    const bool is_wanted = !search->convention || is_data(search->convention, file, path);
    const hid_t object = is_wanted ? H5Oopen(file, name, H5P_DEFAULT) : -1;
    if (object >= 0 && H5Iget_type(object) == H5I_DATASET) {
        if (!search->convention) {
            note_dataset(object, path, search);
        } else {
            search->n_data++;
            snprintf(search->data, sizeof search->data, "%s", path);
        }
    }
    lw_hdf5_close(object);
    return 0;
}

static bool search_file(hid_t file, struct search *search)
{
    return H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, look_at_link, search) >= 0;
}

/* Datasets beside the one with dimensions, which are as long as one of these: coordinates. */
struct companions {
    const struct search *search;
    bool all_fit;
};

static bool fits(const struct search *search, hid_t dataset)
{
    hsize_t length[H5S_MAX_RANK] = {0};
    bool is_as_long = false;
    const int n_dims = lw_hdf5_shape(dataset, length);
    for (int d = 0; d < search->n_dims; d++)
        is_as_long = is_as_long || length[0] == search->dims[d];
    return n_dims == 1 && is_as_long;
}

static herr_t look_at_companion(hid_t file, const char *name, const H5L_info_t *link, void *context)
{
    struct companions *const companions = context;
    const hid_t object = link->type == H5L_TYPE_HARD ? H5Oopen(file, name, H5P_DEFAULT) : -1;
    if (object < 0)
        return 0;
    if (H5Iget_type(object) == H5I_DATASET && strcmp(name, companions->search->field + 1) != 0 && holds_numbers(object) &&
        !lw_scale_is_one(object))
        companions->all_fit = companions->all_fit && fits(companions->search, object);
    H5Oclose(object);
    return 0;
}

static bool has_companions_only(hid_t file, const struct search *search)
{
    struct companions companions = {search, true};
    return H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, look_at_companion, &companions) >= 0 && companions.all_fit;
}

static bool find_only(hid_t file, char path[LW_MAX_PATH])
{
    struct search search = {0};
    if (!search_file(file, &search))
        return false;
    if (search.n_data == 1)
        snprintf(path, LW_MAX_PATH, "%s", search.data);
    else if (search.n_fields == 1 && has_companions_only(file, &search))
        snprintf(path, LW_MAX_PATH, "%s", search.field);
    return path[0] != '\0';
}

bool lw_conventions_find_data(hid_t file, char path[LW_MAX_PATH])
{
    path[0] = '\0';
    for (int c = 0; conventions[c]; c++) {
        struct search search = {.convention = conventions[c]};
        if (!has_marks(conventions[c], file) || !search_file(file, &search) || search.n_data == 0)
            continue;
        if (search.n_data == 1)
            snprintf(path, LW_MAX_PATH, "%s", search.data);
        return search.n_data == 1;
    }
    return find_only(file, path);
}

int lw_conventions_describe(struct lw_subject *subject)
{
    for (int c = 0; conventions[c]; c++)
        if (is_data(conventions[c], subject->file, subject->info->path) && has_marks(conventions[c], subject->file))
            return lw_convention_describe(conventions[c], subject);
    return LW_OK;
}

/* ---- times beside the data ---------------------------------------------------------------------------------------------- */

bool lw_conventions_name_times(const char *name)
{
    return lw_scale_is_time(name) || strcasestr(name, "time") || strcasestr(name, "stamp");
}

static int64_t length_of(hid_t file, const char *path)
{
    const hid_t dataset = lw_place_open_dataset(file, path);
    const hsize_t length = dataset >= 0 ? lw_hdf5_length(dataset) : 0;
    lw_hdf5_close(dataset);
    return (int64_t)length;
}

/* The one dimension that is as long, where the axis is not known. -1: none, or several. */
static int find_dimension(const struct lw_dataset_info *info, int64_t length)
{
    int found = -1, count = 0;
    for (int d = 0; d < info->n_dims; d++)
        if (info->dims[d] == length) {
            found = d;
            count++;
        }
    if (info->metadata_axis >= 0)
        return info->dims[info->metadata_axis] == length ? info->metadata_axis : -1;
    return count == 1 ? found : -1;
}

/* A search through one group: the times that are as long as a dimension. */
struct beside {
    struct lw_subject *subject;
    int n, n_own;                       /* all of them, and those that begin with the dataset's own name: RawData, RawDataTime */
    char any[LW_MAX_PATH], own[LW_MAX_PATH];
};

static herr_t look_beside(hid_t group, const char *name, const H5L_info_t *link, void *context)
{
    struct beside *const beside = context;
    const struct lw_dataset_info *const info = beside->subject->info;
    const char *const slash = strrchr(info->path, '/'), *const own = slash ? slash + 1 : info->path;
    char place[LW_MAX_PATH], path[LW_PLACE];
    (void)group;
    if (link->type != H5L_TYPE_HARD || !lw_conventions_name_times(name) || strcmp(name, own) == 0 || strchr(name, '@'))
        return 0;
    snprintf(place, sizeof place, "../%.1000s", name);
    lw_place_from(info->path, place, path);
    if (strlen(path) >= LW_MAX_PATH || find_dimension(info, length_of(beside->subject->file, path)) < 0)
        return 0;
    const bool is_own = strncmp(name, own, strlen(own)) == 0;
    beside->n++;
    beside->n_own += is_own;
    memcpy(is_own ? beside->own : beside->any, path, strlen(path) + 1);
    return 0;
}

static void search_beside(struct beside *beside)
{
    char group[LW_MAX_PATH];
    snprintf(group, sizeof group, "%s", beside->subject->info->path);
    char *const slash = strrchr(group, '/');
    if (slash)
        *slash = '\0';
    const hid_t opened = H5Oopen(beside->subject->file, slash && group[0] ? group : "/", H5P_DEFAULT);
    if (opened >= 0 && H5Iget_type(opened) == H5I_GROUP)
        H5Literate(opened, H5_INDEX_NAME, H5_ITER_INC, NULL, look_beside, beside);
    lw_hdf5_close(opened);
}

bool lw_conventions_find_times(struct lw_subject *subject, struct lw_times *times)
{
    struct beside beside = {.subject = subject};
    search_beside(&beside);
    const char *const path = beside.n_own == 1 ? beside.own : beside.n == 1 ? beside.any : "";
    if (!path[0] || !lw_times_read(subject->file, path, "", times, subject->err) || times->n < 3)
        return false;
    subject->info->metadata_axis = find_dimension(subject->info, times->n);
    return subject->info->metadata_axis >= 0;
}
