#include "io/notes/kept.h"

#include <string.h>
#include <strings.h>

/* In any case of letters. The first are the file format's own and those of the netCDF and CF conventions that tell readers how to
 * take the values; the others say when and where the input's samples were taken, of which the result has its own. */
static const char *const left_out[] = {
    "CLASS",
    "NAME",
    "DIMENSION_LIST",
    "DIMENSION_LABELS",
    "REFERENCE_LIST",
    "_FillValue",
    "missing_value",
    "scale_factor",
    "add_offset",
    "_Unsigned",
    "valid_min",
    "valid_max",
    "valid_range",
    "actual_range",
    "coordinates",
    "bounds",
    "grid_mapping",
    "ancillary_variables",
    "cell_methods",
    "flag_values",
    "flag_masks",
    "flag_meanings",
    "axis",
    "calendar",
    "standard_name",
    "long_name",
    "Conventions",
    "unit",
    "units",
    "Yunits",
    "dtype",
    "sample_rate_hz",
    "sample_rate",
    "sampling_rate",
    "sampling_frequency",
    "SampleRate",
    "SamplingRate",
    "SamplingFrequency",
    "SamplingFrequency[Hz]",
    "OutputDataRate",
    "fs",
    "dt",
    "delta_t",
    "dx",
    "x0",
    "t0",
    "sampling_interval",
    "tsamp",
    "tstart",
    "nsamples",
    "Xspacing",
    "Xstart",
    "Xunits",
    "Xlabel",
    "Npoints",
    "start_time",
    "start_unit",
    "end_time",
    "ISO8601 Timestamp",
    "PartStartTime",
    "PartEndTime",
    "Count",
    "StartIndex",
    "NumberOfLoci",
    "StartLocusIndex",
    "lapwing_complete",
    "FLAVOR",
    "PYTABLES_FORMAT_VERSION",
    "_dims",
    "_attrs_coords",
    "_attrs_dims",
    "XPIXELSZ",
    "YPIXELSZ",
    "SECPIX",
    "SECPIX1",
    "SECPIX2",
    "PIXSCALE",
    "PIXSCAL1",
    "PIXSCAL2",
    "DATASEC",
    "TRIMSEC",
    "BIASSEC",
    "CCDSEC",
    "DETSEC",
    "AMPSEC",
};

/* Of images in FITS: structure, and where pixels lie in the sky. Of DASDAE: coordinates. */
static const char *const prefixes[] = {
    "NAXIS", "BITPIX", "BSCALE", "BZERO",   "BLANK",   "CRPIX",        "CRVAL",
    "CDELT", "CTYPE",  "CUNIT",  "CROTA",   "CD1_",    "CD2_",         "CD3_",
    "PC1_",  "PC2_",   "PC3_",   "CNPIX",   "LTM",     "LTV",          "CPDIS",
    "CQDIS", "D2IM",   "_N",     "_coord_", "_cdims_", "_attrs_time_", "_attrs_distance_",
};

/* A polynomial of pixels, as SIP has it in FITS: "A_2_0", "BP_1_1". */
static bool is_polynomial(const char *name)
{
    const char *const at = name + 1 + (name[0] && name[1] == 'P');
    return (name[0] == 'A' || name[0] == 'B') && at[0] == '_' && strchr("0123456789", at[1]) && at[1] && at[2] == '_';
}

static bool is_left_out(const char *name)
{
    bool is_one = name[0] == '\0' || strlen(name) >= LW_KEPT_NAME || is_polynomial(name);
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

/* What is kept so far. */
struct room {
    size_t text_bytes;
    int n_reals;
};

static bool take_room(const struct lw_attribute *attribute, struct room *room)
{
    const size_t bytes = attribute->kind == LW_ATTRIBUTE_TEXT ? strlen(attribute->text) + 1 : 0;
    const int n_reals = attribute->kind == LW_ATTRIBUTE_REALS ? attribute->n_reals : 0;
    if (bytes > LW_KEPT_MOST_TEXT || room->text_bytes + bytes > LW_KEPT_TEXT_BYTES || n_reals > LW_KEPT_MOST_REALS ||
        room->n_reals + n_reals > LW_KEPT_REALS)
        return false;
    room->text_bytes += bytes;
    room->n_reals += n_reals;
    return true;
}

int lw_kept_add(const struct lw_said *said, struct lw_attribute *attributes, int n)
{
    struct room room = {0, 0};
    int n_kept = 0, count = n;
    for (int a = 0; a < said->n && n_kept < LW_KEPT_MOST; a++) {
        const struct lw_attribute attribute = lw_said_get(said, a);
        if (is_left_out(attribute.name) || !take_room(&attribute, &room))
            continue;
        n_kept++;
        if (!is_taken(attributes, n, attribute.name))
            attributes[count++] = attribute;
    }
    return count;
}
