#include "io/notes/kept.h"

#include "base/log.h"
#include "io/format.h"
#include "io/shield.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- which ----------------------------------------------------------------------------------------------------------- */

/* In any case of letters. The first are the file format's own and those of the netCDF and CF conventions that tell readers how to
 * take the values; the others say when and where the input's samples were taken, of which the result has its own. */
static const char *const left_out[] = {
    "CLASS", "NAME", "DIMENSION_LIST", "DIMENSION_LABELS", "REFERENCE_LIST", "_FillValue", "missing_value", "scale_factor", "add_offset",
    "valid_min", "valid_max", "valid_range", "actual_range", "coordinates", "bounds", "grid_mapping", "ancillary_variables",
    "cell_methods", "flag_values", "flag_masks", "flag_meanings", "axis", "calendar", "standard_name", "long_name", "Conventions", "unit",
    "units", "Yunits", "dtype",
    "sample_rate_hz", "sample_rate", "sampling_rate", "sampling_frequency", "SampleRate", "SamplingRate", "SamplingFrequency",
    "SamplingFrequency[Hz]", "OutputDataRate", "fs", "dt", "delta_t", "dx", "x0", "t0", "sampling_interval", "tsamp", "tstart", "nsamples",
    "Xspacing", "Xstart", "Xunits", "Xlabel", "Npoints", "start_time", "start_unit", "end_time", "ISO8601 Timestamp", "PartStartTime",
    "PartEndTime", "Count", "StartIndex", "NumberOfLoci", "StartLocusIndex", "lapwing_complete",
};

/* Of images in FITS: structure, and where pixels lie in the sky. */
static const char *const prefixes[] = {
    "NAXIS", "BITPIX", "BSCALE", "BZERO", "BLANK", "CRPIX", "CRVAL", "CDELT", "CTYPE", "CUNIT", "CROTA", "CD1_", "CD2_", "CD3_", "PC1_",
    "PC2_", "PC3_", "_N",
};

static bool is_left_out(const char *name)
{
    bool is_one = name[0] == '\0' || strlen(name) >= LW_KEPT_NAME;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes && !is_one; i++)
        is_one = strncmp(name, prefixes[i], strlen(prefixes[i])) == 0;
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out && !is_one; i++)
        is_one = strcasecmp(name, left_out[i]) == 0;
    return is_one;
}

static bool is_known(const struct lw_kept *kept, const char *name)
{
    for (int a = 0; a < kept->n; a++)
        if (strcmp(kept->all[a].name, name) == 0)
            return true;
    return false;
}

/* ---- collect --------------------------------------------------------------------------------------------------------- */

static bool keep_text(const char *text, struct lw_kept *kept, struct lw_kept_one *one)
{
    const size_t bytes = strlen(text) + 1;
    if (bytes > LW_KEPT_MOST_TEXT || kept->n_text_bytes + (int)bytes > LW_KEPT_TEXT_BYTES)
        return false;
    one->first = kept->n_text_bytes;
    memcpy(kept->texts + one->first, text, bytes);
    kept->n_text_bytes += (int)bytes;
    return true;
}

static bool keep_reals(const double *reals, int n, struct lw_kept *kept, struct lw_kept_one *one)
{
    if (n < 1 || n > LW_KEPT_MOST_REALS || kept->n_reals + n > LW_KEPT_REALS)
        return false;
    one->first = kept->n_reals;
    one->count = n;
    memcpy(kept->reals + one->first, reals, (size_t)n * sizeof *reals);
    kept->n_reals += n;
    return true;
}

static void keep(const struct lw_attribute *attribute, void *context)
{
    struct lw_kept *const kept = context;
    if (kept->n == LW_KEPT_MOST || is_left_out(attribute->name) || is_known(kept, attribute->name))
        return;
    struct lw_kept_one *const one = &kept->all[kept->n];
    *one = (struct lw_kept_one){.kind = attribute->kind, .integer = attribute->integer, .real = attribute->real};
    snprintf(one->name, sizeof one->name, "%s", attribute->name);
    if ((one->kind == LW_ATTRIBUTE_TEXT && !keep_text(attribute->text, kept, one)) ||
        (one->kind == LW_ATTRIBUTE_REALS && !keep_reals(attribute->reals, attribute->n_reals, kept, one)))
        return;
    kept->n++;
}

static int look(const struct lw_object *object, void *result, struct lw_error *err)
{
    const struct lw_format *format;
    struct lw_kept *const kept = result;
    struct lw_dataset_info info = {.hints = object->hints, .metadata_axis = -1};
    memset(kept, 0, sizeof *kept);
    snprintf(info.file, sizeof info.file, "%s", object->file);
    snprintf(info.path, sizeof info.path, "%s", object->path);
    const int rc = lw_formats_find(info.file, &info.hints, &format, err);
    if (rc == LW_OK && format->visit_attributes)
        format->visit_attributes(&info, keep, kept);
    return rc;
}

void lw_kept_collect(const struct lw_dataset_info *info, struct lw_kept *kept)
{
    struct lw_error reason;
    struct lw_object object = {.name = info->file, .hints = info->hints};
    snprintf(object.file, sizeof object.file, "%s", info->file);
    snprintf(object.path, sizeof object.path, "%s", info->path);
    memset(kept, 0, sizeof *kept);
    if (lw_shield(look, &object, kept, sizeof *kept, &reason) == LW_OK)
        return;
    lw_log_detail("no attributes of the input are kept: %s", reason.message);
    memset(kept, 0, sizeof *kept);
}

/* ---- add ------------------------------------------------------------------------------------------------------------- */

static bool is_taken(const struct lw_attribute *attributes, int n, const char *name)
{
    for (int a = 0; a < n; a++)
        if (strcmp(attributes[a].name, name) == 0)
            return true;
    return false;
}

int lw_kept_add(const struct lw_kept *kept, struct lw_attribute *attributes, int n)
{
    int count = n;
    for (int a = 0; a < kept->n; a++) {
        const struct lw_kept_one *const one = &kept->all[a];
        if (!is_taken(attributes, n, one->name))
            attributes[count++] = (struct lw_attribute){
                .name = one->name, .kind = one->kind, .integer = one->integer, .real = one->real,
                .text = kept->texts + (one->kind == LW_ATTRIBUTE_TEXT ? one->first : 0),
                .reals = kept->reals + (one->kind == LW_ATTRIBUTE_REALS ? one->first : 0), .n_reals = one->count,
            };
    }
    return count;
}
