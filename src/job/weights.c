#include "job/weights.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/format.h"
#include "job/hints.h"
#include "options/words.h"

#include <stdio.h>
#include <strings.h>

static const char *const kind_texts[] = {
    [LW_MAP_SIGMA] = "sigma", [LW_MAP_INVERSE] = "weights", [LW_MAP_VARIANCE] = "variances", [LW_MAP_MASK] = "marks of bad pixels",
};

/* Names that tell what a map holds; `auto` takes the first of them that a file has. HST, JWST: SCI with ERR, WHT, DQ, where WHT may
 * be an exposure time; DESI, MaNGA: IVAR, MASK; DES: WGT, MSK; Gemini: VAR, DQ; LSST: VARIANCE, MASK. */
static const struct {
    const char *name;
    enum lw_map_kind kind;
} known[] = {
    {"IVAR", LW_MAP_INVERSE}, {"INVVAR", LW_MAP_INVERSE},  {"WGT", LW_MAP_INVERSE},  {"ERR", LW_MAP_SIGMA},
    {"ERROR", LW_MAP_SIGMA},  {"SIGMA", LW_MAP_SIGMA},     {"RMS", LW_MAP_SIGMA},    {"STDDEV", LW_MAP_SIGMA},
    {"NOISE", LW_MAP_SIGMA},  {"VARIANCE", LW_MAP_VARIANCE}, {"VAR", LW_MAP_VARIANCE}, {"WHT", LW_MAP_INVERSE},
    {"WEIGHT", LW_MAP_INVERSE}, {"DQ", LW_MAP_MASK},       {"MASK", LW_MAP_MASK},    {"MSK", LW_MAP_MASK},
    {"FLAG", LW_MAP_MASK},
};
enum { N_KNOWN = sizeof known / sizeof *known };

/* Return the number of the known name that a path ends with, before its EXTVER; N_KNOWN: there is none. */
static int find_known(const char *path)
{
    const char *const name = lw_last_part(path);
    const size_t length = strcspn(name, ",");
    int k = 0;
    while (k < N_KNOWN && (strlen(known[k].name) != length || strncasecmp(name, known[k].name, length) != 0))
        k++;
    return k;
}

static void set_kind(struct lw_job *job, enum lw_map_kind kind)
{
    job->map_kind = kind;
    job->op.conv2d.weights = kind == LW_MAP_SIGMA ? LW_WEIGHTS_SIGMA : LW_WEIGHTS_INVERSE;
}

static const char *option_of(const struct lw_options *given)
{
    return lw_options_given(given, "noise-map") ? "noise-map" : "weight-map";
}

int lw_weights_choose(const struct lw_options *given, struct lw_job *job, struct lw_error *err)
{
    const bool has_noise = lw_options_given(given, "noise-map"), has_weights = lw_options_given(given, "weight-map");
    const struct lw_conv2d_spec *const c = &job->op.conv2d;
    const char *const option = option_of(given);
    if (!has_noise && !has_weights)
        return LW_OK;
    if (has_noise && has_weights)
        return lw_fail(err, LW_EUSAGE, "--noise-map and --weight-map exclude each other: give one of them");
    if (job->op.nan == LW_NAN_ZERO || job->op.nan == LW_NAN_INTERPOLATE)
        return lw_fail(err, LW_EUSAGE, "--nan %s goes without --%s, with which pixels that are not finite have weight 0",
                       lw_options_text(given, "nan"), option);
    if (job->op.input.is_complex || c->kernel_complex)
        return lw_fail(err, LW_ECONFIG, "--%s needs a real image and a real kernel; the %s is complex", option,
                       c->kernel_complex ? "kernel" : "image");
    job->map = lw_options_text(given, option);
    set_kind(job, has_noise ? LW_MAP_SIGMA : LW_MAP_INVERSE);
    return LW_OK;
}

/* ---- auto: the map beside the image -------------------------------------------------------------------------------------- */

struct finding {
    const char *image;                  /* path of the image */
    int best;                           /* number of the best name so far; N_KNOWN: none */
    char path[LW_MAX_PATH];
};

/* Take a dataset that lies in the image's group, with the image's EXTVER, if its name is better than the one so far. */
static void look_at(const struct lw_listing *dataset, void *context)
{
    struct finding *const finding = context;
    const char *const name = lw_last_part(dataset->path), *const image = lw_last_part(finding->image);
    const size_t group = (size_t)(name - dataset->path);
    const int number = find_known(dataset->path);
    if (number >= finding->best || group != (size_t)(image - finding->image) ||
        strncasecmp(dataset->path, finding->image, group) != 0 ||
        strcmp(name + strcspn(name, ","), image + strcspn(image, ",")) != 0 || strlen(dataset->path) >= LW_MAX_PATH)
        return;
    finding->best = number;
    snprintf(finding->path, sizeof finding->path, "%s", dataset->path);
}

/* Find the path of the map in the input's first file. */
static int find_beside(const struct lw_dataset_info *input, struct finding *finding, struct lw_error *err)
{
    int rc;
    *finding = (struct finding){.image = input->path, .best = N_KNOWN};
    if ((rc = lw_list_check(input->file, err)) || (rc = lw_list_file(input->file, look_at, finding, err)))
        return rc;
    if (finding->best < N_KNOWN)
        return LW_OK;
    return lw_fail(err, LW_EDATA, "--weight-map auto: no dataset beside %.600s has the name of a map, such as IVAR, ERR, WHT or "
                   "DQ: name the map as FILE:/dataset", lw_dataset_name(input).text);
}

/* Return the names of the map of each file of the input, as a text for struct lw_reader_request; NULL: no memory. */
static char *names_beside(const struct lw_reader *input, const char *path, struct lw_error *err)
{
    const int64_t n = lw_reader_info(input)->n_files;
    struct lw_dataset_info info;
    size_t room = 1;
    for (int64_t f = 0; f < n; f++) {
        lw_reader_file(input, f, &info);
        room += lw_words_room(lw_name_of(info.file, path).text);
    }
    char *const names = lw_alloc(room, "the names of maps", err);
    char *end = names;
    for (int64_t f = 0; names && f < n; f++) {
        lw_reader_file(input, f, &info);
        end = lw_words_append(lw_name_of(info.file, path).text, names, end);
    }
    return names;
}

/* Find the map beside the image. @param names  set; release it with lw_free */
static int choose_beside(struct lw_comm *comm, const struct lw_reader *input, char **names, struct lw_error *err)
{
    struct finding finding = {0};
    int rc = lw_comm_rank(comm) == 0 ? find_beside(lw_reader_info(input), &finding, err) : LW_OK;
    if ((rc = lw_comm_agree(comm, rc, err)))
        return rc;
    lw_comm_broadcast(comm, finding.path, sizeof finding.path);
    *names = names_beside(input, finding.path, err);
    return lw_comm_agree(comm, *names ? LW_OK : LW_ESYSTEM, err);
}

/* ---- the map's file -------------------------------------------------------------------------------------------------------- */

/* Open the files of a map, without the input's --format; if that fails, with it. */
static int open_files(struct lw_comm *comm, const struct lw_options *given, const char *names, const struct lw_job *job,
                      struct lw_reader **out, struct lw_error *err)
{
    struct lw_reader_request request = {
        .names = names, .least_dims = job->ops->least_dims, .most_dims = job->inputs[0].n_dims, .join = job->ops->join,
        .precision = job->op.precision,
    };
    struct lw_hints hints;
    int rc = lw_hints_take(given, &hints, err);
    rc = rc ? rc : lw_reader_open_all(comm, &request, out, err);
    if (rc == LW_EDATA && hints.format[0]) {
        request.hints = hints;
        rc = lw_reader_open_all(comm, &request, out, err);
    }
    return rc;
}

static bool has_shape(const struct lw_dataset_info *map, const struct lw_dataset_info *image)
{
    const int64_t *const a = map->dims + map->n_dims - 2, *const b = image->dims + image->n_dims - 2;
    return a[0] == b[0] && a[1] == b[1] && (map->n_dims == 2 || map->dims[0] == 1 || map->dims[0] == image->dims[0]);
}

/* Check that a map fits the image and is what the option says. Set its kind by its name, if that tells. */
static int check(const struct lw_options *given, const struct lw_dataset_info *map, bool is_auto, struct lw_job *job,
                 struct lw_error *err)
{
    const struct lw_dataset_info *const image = &job->inputs[0];
    const struct lw_view_spec *const view = &job->view;
    const char *const option = option_of(given);
    const int number = find_known(map->path);
    char shape[80] = "", wanted[80] = "";
    if (!has_shape(map, image) || map->type.is_complex)
        return lw_fail(err, LW_EDATA, "--%s: %.600s is [%s]%s, the image [%s]: give one real number for each pixel", option,
                       lw_dataset_name(map).text, lw_append_dims(shape, sizeof shape, map->dims, map->n_dims),
                       map->type.is_complex ? " complex numbers" : "",
                       lw_append_dims(wanted, sizeof wanted, image->dims, image->n_dims));
    if (view->start < 0 || view->start + view->count > image->dims[view->axis])
        return lw_fail(err, LW_ECONFIG, "--%s lacks the rows of --beside: give --isolated, or all files as --input", option);
    if (number == N_KNOWN)
        return LW_OK;
    const enum lw_map_kind kind = known[number].kind;
    if (!is_auto && (kind == LW_MAP_SIGMA) != (job->map_kind == LW_MAP_SIGMA))
        return lw_fail(err, LW_EUSAGE, "--%s: by its name %.600s holds %s: give it with --%s, or rename it", option,
                       lw_dataset_name(map).text, kind_texts[kind], kind == LW_MAP_SIGMA ? "noise-map" : "weight-map");
    if (kind == LW_MAP_VARIANCE && lw_scalar_is_integer(map->type.scalar))
        return lw_fail(err, LW_EDATA, "--%s: %.600s holds variances as integers: store them as float32", option,
                       lw_dataset_name(map).text);
    set_kind(job, kind);
    return LW_OK;
}

int lw_weights_open(struct lw_comm *comm, const struct lw_options *given, const struct lw_reader *input, struct lw_pool *pool,
                    struct lw_job *job, struct lw_reader **out, struct lw_error *err)
{
    struct lw_reader *map = NULL;
    LW_FREED char *names = NULL;
    if (!job->map)
        return LW_OK;
    const bool is_auto = strcmp(job->map, "auto") == 0;
    int rc = is_auto ? choose_beside(comm, input, &names, err) : LW_OK;
    rc = rc ? rc : open_files(comm, given, is_auto ? names : job->map, job, &map, err);
    if (rc || (rc = check(given, lw_reader_info(map), is_auto, job, err))) {
        lw_reader_close(map);
        return rc;
    }
    const struct lw_dataset_info *const info = lw_reader_info(map);
    lw_reader_use(map, pool);
    lw_log_info("weights of pixels: %.600s holds %s", lw_dataset_name(info).text, kind_texts[job->map_kind]);
    job->op.conv2d.map = info->type;
    job->inputs[job->n_inputs] = *info;
    job->input_names[job->n_inputs++] = "map";
    *out = map;
    return LW_OK;
}

/* ---- numbers that engines take ---------------------------------------------------------------------------------------------- */

void lw_weights_convert(const struct lw_job *job, void *numbers, int64_t n)
{
    const struct lw_type type = job->op.conv2d.map;
    for (int64_t i = 0; job->map_kind == LW_MAP_MASK && i < n; i++)
        lw_type_put(type, numbers, i, lw_type_number(type, numbers, i) == 0);
    for (int64_t i = 0; job->map_kind == LW_MAP_VARIANCE && i < n; i++) {
        const double variance = lw_type_number(type, numbers, i);
        lw_type_put(type, numbers, i, variance > 0 ? 1 / variance : 0);
    }
}
