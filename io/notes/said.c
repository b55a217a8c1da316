#include "io/notes/said.h"

#include <strings.h>

/* ---- add ------------------------------------------------------------------------------------------------------------- */

static int copy_bytes(struct lw_said *said, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    const int at = said->n_bytes;
    memcpy(said->bytes + at, text, bytes);
    said->n_bytes += (int)bytes;
    return at;
}

void lw_said_add(const struct lw_attribute *attribute, void *context)
{
    struct lw_said *const said = context;
    struct lw_attribute known;
    const bool is_text = attribute->kind == LW_ATTRIBUTE_TEXT;
    const double number = attribute->kind == LW_ATTRIBUTE_INT ? (double)attribute->integer : attribute->real;
    const double *const reals = attribute->kind == LW_ATTRIBUTE_REALS ? attribute->reals : &number;
    const int n_reals = is_text ? 0 : attribute->kind == LW_ATTRIBUTE_REALS ? attribute->n_reals : 1;
    const size_t bytes = strlen(attribute->name) + 1 + (is_text ? strlen(attribute->text) + 1 : 0);
    if (said->n == LW_SAID_MOST || bytes > (size_t)(LW_SAID_BYTES - said->n_bytes) || n_reals > LW_SAID_REALS - said->n_reals ||
        lw_said_find(said, attribute->name, &known))
        return;
    struct lw_said_one *const one = &said->all[said->n++];
    *one = (struct lw_said_one){.kind = attribute->kind, .first = said->n_reals, .count = n_reals, .integer = attribute->integer,
                                .real = attribute->real};
    one->name = copy_bytes(said, attribute->name);
    one->text = is_text ? copy_bytes(said, attribute->text) : one->name;
    if (n_reals > 0)
        memcpy(said->reals + one->first, reals, (size_t)n_reals * sizeof *reals);
    said->n_reals += n_reals;
}

/* ---- find ------------------------------------------------------------------------------------------------------------ */

struct lw_attribute lw_said_get(const struct lw_said *said, int a)
{
    const struct lw_said_one *const one = &said->all[a];
    return (struct lw_attribute){
        .name = said->bytes + one->name, .kind = one->kind, .text = said->bytes + one->text, .integer = one->integer,
        .real = one->real, .reals = said->reals + one->first, .n_reals = one->count,
    };
}

bool lw_said_find(const struct lw_said *said, const char *name, struct lw_attribute *out)
{
    for (int a = 0; a < said->n; a++)
        if (strcmp(said->bytes + said->all[a].name, name) == 0) {
            *out = lw_said_get(said, a);
            return true;
        }
    return false;
}

const char *lw_said_text(const struct lw_said *said, const char *name)
{
    struct lw_attribute found;
    return lw_said_find(said, name, &found) && found.kind == LW_ATTRIBUTE_TEXT ? found.text : "";
}

double lw_said_real(const struct lw_said *said, const char *name, double fallback)
{
    struct lw_attribute found;
    return lw_said_find(said, name, &found) && found.n_reals > 0 ? found.reals[0] : fallback;
}

/* ---- attributes that a result keeps ------------------------------------------------------------------------------------ */

enum { KEPT_NAME = 64, KEPT_TEXT_BYTES = 16384, KEPT_REALS = 1024, KEPT_MOST_TEXT = 1024, KEPT_MOST_REALS = 64 };

/* Names of attributes that a result does not keep, in upper or lower case. The first group, of HDF5, netCDF and CF, tells how to
 * interpret the stored values. The second tells when and where the input was sampled; the result has its own. */
static const char *const left_out[] = {
    "CLASS", "NAME", "DIMENSION_LIST", "DIMENSION_LABELS", "REFERENCE_LIST", "_FillValue", "missing_value", "scale_factor",
    "add_offset", "_Unsigned", "valid_min", "valid_max", "valid_range", "actual_range", "coordinates", "bounds", "grid_mapping",
    "ancillary_variables", "cell_methods", "flag_values", "flag_masks", "flag_meanings", "axis", "calendar", "standard_name",
    "long_name", "Conventions", "unit", "units", "Yunits", "dtype",

    "sample_rate_hz", "sample_rate", "sampling_rate", "sampling_frequency", "SampleRate", "SamplingRate", "SamplingFrequency",
    "SamplingFrequency[Hz]", "OutputDataRate", "fs", "dt", "delta_t", "dx", "x0", "t0", "sampling_interval", "tsamp", "tstart",
    "nsamples", "Xspacing", "Xstart", "Xunits", "Xlabel", "Npoints", "start_time", "start_unit", "end_time", "ISO8601 Timestamp",
    "PartStartTime", "PartEndTime", "Count", "StartIndex", "NumberOfLoci", "StartLocusIndex", "lapwing_complete", "FLAVOR",
    "PYTABLES_FORMAT_VERSION", "_dims", "_attrs_coords", "_attrs_dims", "XPIXELSZ", "YPIXELSZ", "SECPIX", "SECPIX1", "SECPIX2",
    "PIXSCALE", "PIXSCAL1", "PIXSCAL2", "DATASEC", "TRIMSEC", "BIASSEC", "CCDSEC", "DETSEC", "AMPSEC",
};

/* Beginnings of names that a result does not keep: structure and sky coordinates of FITS images, coordinates of DASDAE. */
static const char *const prefixes[] = {
    "NAXIS", "BITPIX", "BSCALE", "BZERO",   "BLANK",   "CRPIX",        "CRVAL",
    "CDELT", "CTYPE",  "CUNIT",  "CROTA",   "CD1_",    "CD2_",         "CD3_",
    "PC1_",  "PC2_",   "PC3_",   "CNPIX",   "LTM",     "LTV",          "CPDIS",
    "CQDIS", "D2IM",   "_N",     "_coord_", "_cdims_", "_attrs_time_", "_attrs_distance_",
};

/* Return whether a name such as "A_2_0" or "BP_1_1" belongs to SIP, the polynomials for distorted pixel coordinates in FITS. */
static bool is_polynomial(const char *name)
{
    const char *const at = name + 1 + (name[0] && name[1] == 'P');
    return (name[0] == 'A' || name[0] == 'B') && at[0] == '_' && strchr("0123456789", at[1]) && at[1] && at[2] == '_';
}

static bool is_left_out(const char *name)
{
    bool is_one = name[0] == '\0' || strlen(name) >= KEPT_NAME || is_polynomial(name);
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes && !is_one; i++)
        is_one = strncmp(name, prefixes[i], strlen(prefixes[i])) == 0;
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out && !is_one; i++)
        is_one = strcasecmp(name, left_out[i]) == 0;
    return is_one;
}

static bool is_taken(const struct lw_attribute *attributes, int n, const char *name)
{
    for (int a = 0; a < n; a++)
        if (strcmp(attributes[a].name, name) == 0)
            return true;
    return false;
}

static bool take_room(const struct lw_attribute *attribute, size_t *text_bytes, int *n_all_reals)
{
    const size_t bytes = attribute->kind == LW_ATTRIBUTE_TEXT ? strlen(attribute->text) + 1 : 0;
    const int n_reals = attribute->kind == LW_ATTRIBUTE_REALS ? attribute->n_reals : 0;
    if (bytes > KEPT_MOST_TEXT || *text_bytes + bytes > KEPT_TEXT_BYTES || n_reals > KEPT_MOST_REALS ||
        *n_all_reals + n_reals > KEPT_REALS)
        return false;
    *text_bytes += bytes;
    *n_all_reals += n_reals;
    return true;
}

int lw_kept_add(const struct lw_said *said, struct lw_attribute *attributes, int n)
{
    size_t text_bytes = 0;
    int n_reals = 0, n_kept = 0, count = n;
    for (int a = 0; a < said->n && n_kept < LW_KEPT_MOST; a++) {
        const struct lw_attribute attribute = lw_said_get(said, a);
        if (is_left_out(attribute.name) || !take_room(&attribute, &text_bytes, &n_reals))
            continue;
        n_kept++;
        if (!is_taken(attributes, n, attribute.name))
            attributes[count++] = attribute;
    }
    return count;
}
