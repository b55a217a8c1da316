/* conventions.c - find the convention that a file follows, its data, and the times beside them. */
#include "io/hdf5/conventions/conventions.h"

#include "io/hdf5/library.h"
#include "io/hdf5/scale.h"
#include "io/notes/recorder.h"

#include <fnmatch.h>
#include <stdio.h>

/* ---- one convention -------------------------------------------------------------------------------------------------- */

static void take_distance(const struct lw_convention *row, struct lw_subject *subject)
{
    double first = 0, step;
    char unit[64] = "";
    if (row->distances)
        lw_subject_distances(subject, row->distances, "m");
    if (!lw_subject_real(subject, row->step, &step))
        return;
    lw_subject_real(subject, row->first, &first);
    lw_subject_text(subject, row->step_unit, unit, sizeof unit);
    lw_subject_distance(subject, first, step, unit);
}

static void take_times(const struct lw_convention *row, struct lw_subject *subject)
{
    char text[64];
    bool found = false;
    if (row->are_times_checked)
        lw_place_from(subject->info->path, row->times[0], subject->times);
    for (int t = 0; t < 2 && row->times[t] && !found; t++)
        found = lw_subject_times(subject, row->times[t], row->times_unit ? row->times_unit : "");
    for (int s = 0; s < 2 && !found; s++)
        found = lw_subject_text(subject, row->start[s], text, sizeof text) && lw_subject_start(subject, text);
}

static const char *source_of(const char *place, char text[96])
{
    const char *const name = strchr(place, '@');
    snprintf(text, 96, "%s%.80s", name ? "attribute " : "", name ? name + 1 : place);
    return text;
}

static void take_gauge(const struct lw_convention *row, struct lw_subject *subject)
{
    double length;
    struct lw_coordinate metres;
    char unit[32] = "m";
    if (!lw_subject_text(subject, row->gauge_unit[0], unit, sizeof unit))
        lw_subject_text(subject, row->gauge_unit[1], unit, sizeof unit);
    lw_coordinate_name_unit(&metres, unit[0] ? unit : "m");
    if (strcmp(metres.unit, "m") == 0 && lw_subject_real(subject, row->gauge, &length) && length > 0)
        subject->info->gauge_length_m = length;
}

static int describe(const struct lw_convention *row, struct lw_subject *subject)
{
    char unit[64], source[96], text[256];
    double version, value;
    struct lw_period period;
    const int time = row->find_time    ? row->find_time(subject)
                     : row->dimensions ? lw_subject_find_time_by(subject, row->dimensions)
                                       : 0;
    snprintf(subject->info->convention, sizeof subject->info->convention, "%s", row->name);
    subject->info->is_das = row->is_das;
    if (lw_subject_real(subject, row->version, &version))
        snprintf(subject->info->convention, sizeof subject->info->convention, "%s %.0f", row->name, version);
    if (row->other)
        lw_subject_name(subject, time > 0 ? time : 0, row->other);
    take_distance(row, subject);
    take_times(row, subject);
    if (lw_subject_real(subject, row->rate, &value))
        lw_subject_rate(subject, value, source_of(row->rate, source));
    if (lw_subject_real(subject, row->interval, &value) && lw_times_step(value, &period))
        lw_subject_period(subject, period, source_of(row->interval, source));
    if (lw_subject_text(subject, row->unit, unit, sizeof unit) && strcmp(unit, "NaN") != 0)
        lw_subject_unit(subject, unit);
    take_gauge(row, subject);
    for (int r = 0; r < 3 && row->recorder[r].what; r++)
        if (lw_subject_text(subject, row->recorder[r].place, text, sizeof text))
            lw_recorder_add(&subject->info->recorder, row->recorder[r].what, text);
        else if (lw_subject_real(subject, row->recorder[r].place, &value))
            lw_recorder_add_number(&subject->info->recorder, row->recorder[r].what, value);
    return row->describe ? row->describe(subject) : LW_OK;
}

/* ---- all conventions --------------------------------------------------------------------------------------------------- */

/* All conventions, in the order in which they are tried: special conventions before those with few marks. */
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

/* Return whether a path is that of a convention's data. @param path  with or without a slash at its beginning */
static bool is_data(const struct lw_convention *convention, hid_t file, const char *path)
{
    const char *const name = path[0] == '/' ? path + 1 : path;
    return fnmatch(convention->pattern, name, FNM_PATHNAME | FNM_NOESCAPE) == 0 &&
           (!convention->is_data || convention->is_data(file, path));
}

/* The findings of two walks through the datasets of a file. */
struct search {
    const struct lw_convention *convention;     /* NULL: every dataset of numbers counts */
    int n_data;                                 /* datasets of the convention, or of numbers */
    char data[LW_MAX_PATH];
    int n_fields;                               /* datasets with two dimensions or more, called fields */
    int n_dims;                                 /* dimensions of the last field */
    hsize_t dims[H5S_MAX_RANK];
    char field[LW_MAX_PATH];
    bool has_others;                            /* set by the second walk: some dataset is no coordinate of the field */
};

static bool holds_numbers(hid_t dataset)
{
    bool is_complex;
    hsize_t dims[H5S_MAX_RANK];
    LW_CLOSED const hid_t type = H5Dget_type(dataset), number = lw_hdf5_type_as_float64(type, &is_complex);
    return number >= 0 && lw_hdf5_shape(dataset, dims) > 0;
}

static herr_t look_at_link(hid_t file, const char *name, const H5L_info_t *link, void *context)
{
    struct search *const search = context;
    char path[LW_MAX_PATH];
    hsize_t dims[H5S_MAX_RANK] = {0};
    if (link->type != H5L_TYPE_HARD || strlen(name) + 2 > sizeof path)
        return 0;
    snprintf(path, sizeof path, "/%s", name);
    const bool is_wanted = !search->convention || is_data(search->convention, file, path);
    LW_CLOSED const hid_t object = is_wanted ? H5Oopen(file, name, H5P_DEFAULT) : -1;
    if (object < 0 || H5Iget_type(object) != H5I_DATASET ||
        (!search->convention && (!holds_numbers(object) || lw_scale_is_one(object))))
        return 0;
    search->n_data++;
    snprintf(search->data, sizeof search->data, "%s", path);
    const int n_dims = lw_hdf5_shape(object, dims);
    if (n_dims > 1) {
        search->n_fields++;
        search->n_dims = n_dims;
        memcpy(search->dims, dims, sizeof dims);
        snprintf(search->field, sizeof search->field, "%s", path);
    }
    return 0;
}

static bool search_file(hid_t file, struct search *search)
{
    return H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, look_at_link, search) >= 0;
}

/* Note a dataset that is no coordinate of the field. A coordinate has one dimension, as long as one of the field's dimensions. */
static herr_t look_at_companion(hid_t file, const char *name, const H5L_info_t *link, void *context)
{
    struct search *const search = context;
    LW_CLOSED const hid_t object = link->type == H5L_TYPE_HARD ? H5Oopen(file, name, H5P_DEFAULT) : -1;
    if (object >= 0 && H5Iget_type(object) == H5I_DATASET && strcmp(name, search->field + 1) != 0 && holds_numbers(object) &&
        !lw_scale_is_one(object)) {
        hsize_t length[H5S_MAX_RANK] = {0};
        bool is_coordinate = false;
        const int n_dims = lw_hdf5_shape(object, length);
        for (int d = 0; n_dims == 1 && d < search->n_dims; d++)
            is_coordinate = is_coordinate || length[0] == search->dims[d];
        search->has_others = search->has_others || !is_coordinate;
    }
    return 0;
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
    struct search search = {0};
    if (!search_file(file, &search))
        return false;
    if (search.n_data == 1)
        snprintf(path, LW_MAX_PATH, "%s", search.data);
    else if (search.n_fields == 1 && H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, look_at_companion, &search) >= 0 &&
             !search.has_others)
        snprintf(path, LW_MAX_PATH, "%s", search.field);
    return path[0] != '\0';
}

int lw_conventions_describe(struct lw_subject *subject)
{
    for (int c = 0; conventions[c]; c++)
        if (is_data(conventions[c], subject->file, subject->info->path) && has_marks(conventions[c], subject->file))
            return describe(conventions[c], subject);
    return LW_OK;
}

/* ---- times beside the data ---------------------------------------------------------------------------------------------- */

bool lw_conventions_name_times(const char *name)
{
    return lw_scale_is_time(name) || strcasestr(name, "time") || strcasestr(name, "stamp");
}

/* Return the time dimension if it has this length, or if unknown, the only dimension of this length. -1: none, or several. */
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

/* A search in one group for times that are as long as a dimension. */
struct beside {
    struct lw_subject *subject;
    int n, n_own;                       /* number of times, and of times named after the dataset: RawDataTime beside RawData */
    char any[LW_MAX_PATH], own[LW_MAX_PATH];    /* paths of the last found */
};

static herr_t look_beside(hid_t group, const char *name, const H5L_info_t *link, void *context)
{
    struct beside *const beside = context;
    const struct lw_dataset_info *const info = beside->subject->info;
    const char *const own = lw_last_part(info->path);
    char place[LW_MAX_PATH], path[LW_PLACE];
    (void)group;
    if (link->type != H5L_TYPE_HARD || !lw_conventions_name_times(name) || strcmp(name, own) == 0 || strchr(name, '@'))
        return 0;
    snprintf(place, sizeof place, "../%.1000s", name);
    lw_place_from(info->path, place, path);
    LW_CLOSED const hid_t dataset = lw_place_open_dataset(beside->subject->file, path);
    const int64_t length = dataset >= 0 ? (int64_t)lw_hdf5_length(dataset) : 0;
    if (strlen(path) >= LW_MAX_PATH || find_dimension(info, length) < 0)
        return 0;
    const bool is_own = strncmp(name, own, strlen(own)) == 0;
    beside->n++;
    beside->n_own += is_own;
    memcpy(is_own ? beside->own : beside->any, path, strlen(path) + 1);
    return 0;
}

bool lw_conventions_find_times(struct lw_subject *subject, struct lw_times *times)
{
    struct beside beside = {.subject = subject};
    char group[LW_MAX_PATH];
    snprintf(group, sizeof group, "%s", subject->info->path);
    char *const slash = strrchr(group, '/');
    if (slash)
        *slash = '\0';
    LW_CLOSED const hid_t opened = H5Oopen(subject->file, slash && group[0] ? group : "/", H5P_DEFAULT);
    if (opened >= 0 && H5Iget_type(opened) == H5I_GROUP)
        H5Literate(opened, H5_INDEX_NAME, H5_ITER_INC, NULL, look_beside, &beside);
    const char *const path = beside.n_own == 1 ? beside.own : beside.n == 1 ? beside.any : "";
    if (!path[0] || !lw_times_read(subject->file, path, "", times, subject->err) || times->n < 3)
        return false;
    subject->info->metadata_axis = find_dimension(subject->info, times->n);
    return subject->info->metadata_axis >= 0;
}
