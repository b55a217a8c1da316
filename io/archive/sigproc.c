/* sigproc.c - SIGPROC's filterbank (.fil) and time series (.tim) files, as PRESTO and its kin read and write them.
 *
 *     /if/0, /if/1, ..     one IF (polarisation) each, [time x channel]; [time] where there is one channel
 *     /if/0+1              the sum of two
 *
 * Nothing in the file says what its IFs are: with more than one, one must be named. Samples go on without gaps, low bits first. */
#include "io/archive/shared.h"
#include "io/archive/sigproc_header.h"
#include "io/archive/spectra.h"

#include "base/file.h"
#include "base/memory.h"
#include "io/notes/recorder.h"
#include "options/parse.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern const struct lw_format lw_format_sigproc;

/* A file open for reading samples. */
struct opened {
    struct lw_dataset_info info;
    struct lw_sigproc_header header;
    struct lw_spectra spectra;
};

/* ---- which IF -------------------------------------------------------------------------------------------------------- */

/* The paths that there are, for messages. */
static void write_paths(const struct lw_sigproc_header *header, char *text, size_t size)
{
    if (header->n_ifs == 1)
        snprintf(text, size, "/if/0");
    else
        snprintf(text, size, "/if/0 to /if/%" PRId64 ", and sums of two, such as /if/0+1", header->n_ifs - 1);
}

/* "3" of "/if/3", or "0" and "1" of "/if/0+1". */
static bool parse_path(const char *path, const struct lw_sigproc_header *header, struct lw_spectra *out)
{
    static const char prefix[] = "/if/";
    char text[64];
    if (strncmp(path, prefix, sizeof prefix - 1) != 0 || strlen(path) >= sizeof text)
        return false;
    snprintf(text, sizeof text, "%s", path + sizeof prefix - 1);
    char *const plus = strchr(text, '+');
    out->n_summed = plus ? 2 : 1;
    if (plus)
        *plus = '\0';
    for (int s = 0; s < out->n_summed; s++)
        if (lw_parse_int(s == 0 ? text : plus + 1, &out->summed[s]) != LW_PARSE_OK || out->summed[s] < 0 ||
            out->summed[s] >= header->n_ifs)
            return false;
    return out->n_summed == 1 || out->summed[0] != out->summed[1];
}

static int choose_ifs(struct lw_dataset_info *info, const struct lw_sigproc_header *header, struct lw_spectra *out,
                      struct lw_error *err)
{
    char paths[96];
    write_paths(header, paths, sizeof paths);
    if (!info->path[0] && header->n_ifs > 1)
        return lw_fail(err, LW_EUSAGE,
                       "'%.400s' has %" PRId64 " IFs (polarisations), and does not say which are which: name one, as "
                       "in '%.128s:/if/0', or the sum of two; it has %s", info->file, header->n_ifs, info->file, paths);
    if (!info->path[0])
        snprintf(info->path, sizeof info->path, "/if/0");
    if (!parse_path(info->path, header, out))
        return lw_fail(err, LW_EDATA, "'%.400s' has no '%.200s'; it has %s", info->file, info->path, paths);
    return LW_OK;
}

/* ---- describe -------------------------------------------------------------------------------------------------------- */

/* Spectra that are there as a whole; what follows the last one is left out. */
static int count_spectra(const struct lw_dataset_info *info, const struct lw_sigproc_header *header, int64_t *out,
                         struct lw_error *err)
{
    int64_t spectrum_bits, bits;
    if (__builtin_mul_overflow(header->n_channels, header->n_ifs * header->bits, &spectrum_bits) ||
        __builtin_mul_overflow(info->file_bytes - header->bytes, (int64_t)8, &bits))
        return lw_fail(err, LW_EDATA, "'%.600s' is damaged: its spectra have more bits than can be counted", info->file);
    *out = bits / spectrum_bits;
    if (*out < 1)
        return lw_fail(err, LW_EDATA, "'%.600s' holds no whole spectrum: behind its header there are %" PRId64 " bytes", info->file,
                       info->file_bytes - header->bytes);
    if (*out < header->n_spectra)
        return lw_fail(err, LW_EDATA,
                       "'%.600s' is cut off: its header says that it holds %" PRId64 " spectra (nsamples), and %" PRId64
                       " are there", info->file, header->n_spectra, *out);
    return LW_OK;
}

static void describe_time(const struct lw_sigproc_header *header, struct lw_axis_metadata *axis)
{
    axis->sample_rate_hz = 1 / header->period_s;
    lw_period_from_seconds(header->period_s, &axis->period);
    snprintf(axis->source, sizeof axis->source, "tsamp of the header");
    if (!(header->start_mjd > 0))
        return;
    if (!header->is_barycentric && lw_instant_from_mjd(header->start_mjd, &axis->instant)) {
        axis->scale = LW_TIME_UTC;
        return;
    }
    axis->has_start = true;
    axis->start = header->start_mjd;
    snprintf(axis->start_unit, sizeof axis->start_unit, "%sMJD", header->is_barycentric ? "barycentric " : "");
}

static void describe_frequency(const struct lw_sigproc_header *header, struct lw_coordinate *frequency)
{
    const bool is_listed = header->n_listed > 0 && header->n_listed != header->n_channels;
    snprintf(frequency->name, sizeof frequency->name, "frequency");
    snprintf(frequency->unit, sizeof frequency->unit, "MHz");
    frequency->is_regular = isfinite(header->first_mhz) && isfinite(header->step_mhz) && header->step_mhz != 0 && !is_listed;
    if (frequency->is_regular) {
        frequency->first = header->first_mhz;
        frequency->step = header->step_mhz;
    }
}

/* Of hhmmss.s or ddmmss.s the hours or degrees. */
static double from_sexagesimal(double value)
{
    const double size = fabs(value), whole = floor(size / 1e4), minutes = floor(size / 100 - whole * 100);
    return copysign(whole + minutes / 60 + (size - whole * 1e4 - minutes * 100) / 3600, value);
}

static void describe_recorder(const struct lw_sigproc_header *header, struct lw_dataset_info *info)
{
    struct lw_recorder *const recorder = &info->recorder;
    const struct {
        const char *what;
        double value;
    } numbers[] = {{"telescope", (double)header->telescope}, {"back end", (double)header->machine}, {"beam", (double)header->beam},
                   {"dispersion measure", header->dispersion}};
    lw_recorder_add(recorder, "telescope", header->telescope_name);
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
        if (numbers[n].value != 0)
            lw_recorder_add_number(recorder, numbers[n].what, numbers[n].value);
    if (header->n_ifs > 1)
        lw_recorder_add(recorder, "polarisation", info->path);
    lw_recorder_point(recorder, 15 * from_sexagesimal(header->ra), from_sexagesimal(header->dec));
}

/* @param spectra  of a file that is not open */
static int examine(struct lw_dataset_info *info, struct lw_sigproc_header *header, struct lw_spectra *spectra, struct lw_error *err)
{
    int64_t n_spectra = 0;
    int rc;
    *spectra = (struct lw_spectra){.fd = -1};
    if ((rc = lw_sigproc_header_read(info->file, header, err)) || (rc = choose_ifs(info, header, spectra, err)) ||
        (rc = count_spectra(info, header, &n_spectra, err)))
        return rc;
    spectra->bits = (int)header->bits;
    spectra->stored = lw_spectra_type(spectra->bits, header->is_signed, 1);
    spectra->stored.is_swapped = header->is_swapped && spectra->bits > 8;
    spectra->given = spectra->n_summed > 1 ? lw_spectra_type(spectra->bits, header->is_signed, spectra->n_summed) : spectra->stored;
    spectra->n_ifs = header->n_ifs;
    spectra->n_channels = header->n_channels;
    info->type = spectra->given;
    info->n_dims = header->n_channels == 1 && header->n_ifs == 1 ? 1 : 2;
    info->dims[0] = n_spectra;
    if (info->n_dims == 2)
        info->dims[1] = header->n_channels;
    return LW_OK;
}

static int describe(struct lw_dataset_info *info, enum lw_use use, struct lw_error *err)
{
    struct lw_sigproc_header header;
    struct lw_spectra spectra;
    (void)use;
    const int rc = examine(info, &header, &spectra, err);
    if (rc)
        return rc;
    info->metadata_axis = 0;
    describe_time(&header, &info->axis);
    describe_recorder(&header, info);
    lw_archive_name(info, 0, "time");
    if (info->n_dims == 2)
        describe_frequency(&header, &info->coordinates[1]);
    return LW_OK;
}

static void visit_attributes(const struct lw_dataset_info *info, lw_attribute_fn *visit, void *context)
{
    lw_sigproc_header_visit(info->file, visit, context);
}

/* ---- list ------------------------------------------------------------------------------------------------------------ */

static int list_path(const struct lw_dataset_info *file, const char *path, const struct lw_sigproc_header *header,
                     lw_list_fn *visit, void *context, struct lw_error *err)
{
    struct lw_dataset_info info = *file;
    char storage[64];
    snprintf(info.path, sizeof info.path, "%s", path);
    const int rc = describe(&info, LW_USE_SAMPLES, err);
    if (rc)
        return rc;
    snprintf(storage, sizeof storage, "%s%" PRId64 " bit%s", strchr(path, '+') ? "the sum of two IFs, " : "", header->bits,
             header->bits > 1 ? "s" : "");
    lw_archive_list(&info, storage, info.dims[0] * header->n_channels / 8 * header->bits, visit, context);
    return LW_OK;
}

static int list(const char *file, lw_list_fn *visit, void *context, struct lw_error *err)
{
    struct lw_dataset_info info = {.metadata_axis = -1};
    struct lw_sigproc_header header;
    char path[40];
    snprintf(info.file, sizeof info.file, "%s", file);
    int rc;
    if ((rc = lw_sigproc_header_read(file, &header, err)) || (rc = lw_archive_file_bytes(&info, err)))
        return rc;
    for (int64_t i = 0; rc == LW_OK && i < header.n_ifs; i++) {
        snprintf(path, sizeof path, "/if/%" PRId64, i);
        rc = list_path(&info, path, &header, visit, context, err);
    }
    if (rc == LW_OK && header.n_ifs > 1)
        rc = list_path(&info, "/if/0+1", &header, visit, context, err);
    return rc;
}

/* ---- samples --------------------------------------------------------------------------------------------------------- */

static void close_file(void *dataset)
{
    struct opened *const opened = dataset;
    if (opened->spectra.fd >= 0)
        close(opened->spectra.fd);
    lw_free(opened);
}

static int open_described(void *dataset, const struct lw_dataset_info *info, struct lw_error *err)
{
    struct opened *const opened = dataset;
    opened->info = *info;
    const int rc = examine(&opened->info, &opened->header, &opened->spectra, err);
    if (rc)
        return rc;
    if (memcmp(opened->info.dims, info->dims, sizeof info->dims) != 0 || opened->info.type.scalar != info->type.scalar)
        return lw_archive_fail_changed(info->file, err);
    lw_spectra_prepare(&opened->spectra);
    return lw_file_open_input(info->file, &opened->spectra.fd, err);
}

static int open_file(const struct lw_dataset_info *info, void **dataset, struct lw_error *err)
{
    return lw_archive_open(sizeof(struct opened), open_described, close_file, info, dataset, err);
}

static int read_patch(const void *dataset, const struct lw_patch *patch, struct lw_error *err)
{
    const struct opened *const opened = dataset;
    return lw_spectra_read(&opened->spectra, opened->header.bytes, patch, NULL, err);
}

static int read_box(void *dataset, const struct lw_box *box, struct lw_error *err)
{
    const struct opened *const opened = dataset;
    return lw_patches_read(box, opened->info.n_dims, (int64_t)lw_type_bytes(opened->info.type), read_patch, opened, err);
}

/* One IF in whole bytes lies in the file as it is. */
static bool locate(void *dataset, struct lw_stored *out)
{
    const struct opened *const opened = dataset;
    *out = (struct lw_stored){.fd = opened->spectra.fd, .offset = opened->header.bytes};
    return opened->spectra.bits >= 8 && opened->spectra.n_ifs == 1;
}

const struct lw_format lw_format_sigproc = {
    .name = "SIGPROC",
    .file_text = "a SIGPROC filterbank file",
    .recognise = lw_sigproc_recognise,
    .list = list,
    .describe = describe,
    .open = open_file,
    .read = read_box,
    .reads_in_threads = true,
    .close = close_file,
    .locate = locate,
    .visit_attributes = visit_attributes,
};
