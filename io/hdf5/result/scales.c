#include "io/hdf5/result/parts.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/hdf5/attribute.h"
#include "io/hdf5/library.h"

#include <hdf5_hl.h>
#include <inttypes.h>
#include <stdio.h>

__extension__ typedef __int128 wide;

enum { CHUNK_VALUES = 1 << 16, SMALL_VALUES = 1 << 12, NAME_SIZE = 2 * LW_MAX_PATH };

/* ---- values ---------------------------------------------------------------------------------------------------------- */

/* Return the time of number k, s. Without an origin, the quotient of two integers below 2^53 is the double nearest to the time. */
static double time_of(const struct lw_writer_scale *scale, int64_t k)
{
    const wide ticks = (wide)k * scale->period.numerator, most = (wide)1 << 53;
    const int64_t per_second = scale->period.denominator;
    if (scale->origin == 0 && ticks < most && ticks > -most && per_second < most)
        return (double)ticks / (double)per_second;
    const int64_t seconds = (int64_t)(ticks / per_second), rest = (int64_t)(ticks % per_second);
    return (double)((long double)seconds + ((long double)rest / (long double)per_second + (long double)scale->origin));
}

static int64_t nanosecond_of(const struct lw_writer_scale *scale, int64_t k)
{
    const int64_t per_second = 1000000000, attoseconds = LW_ATTOSECONDS / per_second;
    const struct lw_instant at = lw_instant_of_sample(scale->start, scale->period, k);
    return at.seconds * per_second + (at.attoseconds + attoseconds / 2) / attoseconds;
}

/* Return the coordinate of element i; integers become doubles. */
static double value_of(const struct lw_writer_scale *scale, int64_t i)
{
    const int64_t k = scale->first + i * scale->step;
    switch (scale->kind) {
    case LW_SCALE_NONE: return NAN;
    case LW_SCALE_NUMBERS: return (double)k;
    case LW_SCALE_PLACES: return scale->origin + (double)k * scale->distance;
    case LW_SCALE_TIMES: return time_of(scale, k);
    case LW_SCALE_DATES: return (double)nanosecond_of(scale, k);
    case LW_SCALE_VALUES: return scale->values[k];
    }
    return NAN;
}

static void fill(const struct lw_writer_scale *scale, int64_t first, int64_t count, void *into)
{
    int64_t *const numbers = into;
    double *const values = into;
    for (int64_t i = 0; i < count; i++)
        if (scale->kind == LW_SCALE_NUMBERS)
            numbers[i] = scale->first + (first + i) * scale->step;
        else if (scale->kind == LW_SCALE_DATES)
            numbers[i] = nanosecond_of(scale, scale->first + (first + i) * scale->step);
        else
            values[i] = value_of(scale, first + i);
}

bool lw_scale_is_written(const struct lw_writer_dataset *spec, int d)
{
    int64_t bytes = (int64_t)lw_type_bytes(spec->type);         /* bytes of the dataset per value of the scale */
    if (spec->scales[d].kind == LW_SCALE_NONE || spec->dims[d] <= 0)
        return false;
    if (spec->dims[d] <= LW_SCALE_SHORT_VALUES || spec->scales[d].kind == LW_SCALE_VALUES)
        return true;
    for (int other = 0; other < spec->n_dims; other++)
        if (other != d && __builtin_mul_overflow(bytes, spec->dims[other], &bytes))
            return true;
    return bytes >= LW_SCALE_LEAST_BYTES && spec->dims[d] <= LW_SCALE_MOST_VALUES;
}

int64_t lw_scales_room(const struct lw_writer_dataset *spec)
{
    int64_t bytes = 0;
    for (int d = 0; d < spec->n_dims && spec->has_scales; d++)
        if (lw_scale_is_written(spec, d))
            bytes += (spec->dims[d] + CHUNK_VALUES) * 8;
    return bytes;
}

/* ---- its dataset ----------------------------------------------------------------------------------------------------- */

static hid_t stored_type(const struct lw_writer_scale *scale)
{
    return scale->kind == LW_SCALE_NUMBERS || scale->kind == LW_SCALE_DATES ? H5T_STD_I64LE : H5T_IEEE_F64LE;
}

/* Write the values of a scale. HDF5 caches them; without the flush, only H5Dclose would report a failure. */
static int write_values(hid_t dataset, const struct lw_writer_scale *scale, int64_t length, void *buffer, const char *name,
                        struct lw_error *err)
{
    int rc = LW_OK;
    LW_CLOSED const hid_t stored = H5Dget_space(dataset);
    for (int64_t first = 0; first < length && rc == LW_OK; first += CHUNK_VALUES) {
        const hsize_t start = (hsize_t)first, count = (hsize_t)lw_min64(CHUNK_VALUES, length - first);
        LW_CLOSED const hid_t memory = H5Screate_simple(1, &count, NULL);
        fill(scale, first, (int64_t)count, buffer);
        H5Sselect_hyperslab(stored, H5S_SELECT_SET, &start, NULL, &count, NULL);
        if (H5Dwrite(dataset, stored_type(scale), memory, stored, H5P_DEFAULT, buffer) < 0)
            rc = lw_hdf5_fail(err, LW_EIO, "cannot write the coordinates %s", name);
    }
    if (rc == LW_OK && H5Dflush(dataset) < 0)
        rc = lw_hdf5_fail(err, LW_EIO, "cannot write the coordinates %s", name);
    return rc;
}

static hid_t make_dataset(hid_t file, const char *name, hid_t type, int64_t length, hid_t creation)
{
    const hsize_t dims = (hsize_t)length;
    LW_CLOSED const hid_t space = H5Screate_simple(1, &dims, NULL);
    const hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Pclose(creation);
    return dataset;
}

static int note(hid_t object, const char *name, const char *text, struct lw_error *err)
{
    return text && text[0] ? lw_attribute_write_text(object, name, text, err) : LW_OK;
}

static int describe_values(hid_t dataset, const struct lw_writer_scale *scale, struct lw_error *err)
{
    const bool is_time = scale->kind == LW_SCALE_TIMES, has_date = is_time && strstr(scale->units, " since ");
    int rc;
    (void)((rc = note(dataset, "units", scale->units, err)) || (rc = note(dataset, "long_name", scale->long_name, err)) ||
           (rc = note(dataset, "axis", is_time ? "T" : NULL, err)) ||
           (rc = note(dataset, "standard_name", has_date ? "time" : NULL, err)) ||
           (rc = note(dataset, "calendar", has_date ? "standard" : NULL, err)));
    return rc;
}

/* ---- attach them to datasets ----------------------------------------------------------------------------------------- */

int lw_scale_create(hid_t file, const char *name, const struct lw_writer_scale *scale, int64_t length, hid_t *out,
                    struct lw_error *err)
{
    LW_FREED void *const buffer = lw_alloc(CHUNK_VALUES * 8, "coordinates", err);
    if (!buffer)
        return LW_ESYSTEM;
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    if (length > SMALL_VALUES) {
        const hsize_t chunk = (hsize_t)lw_min64(CHUNK_VALUES, length);
        H5Pset_chunk(creation, 1, &chunk);
        H5Pset_shuffle(creation);
        H5Pset_deflate(creation, 1);
    }
    *out = make_dataset(file, name, stored_type(scale), length, creation);
    const int rc = *out < 0 ? lw_hdf5_fail(err, LW_EIO, "cannot create %s", name)
                            : write_values(*out, scale, length, buffer, name, err);
    if (rc && *out >= 0)
        H5Dclose(*out);
    return rc;
}

/* Create the dataset of a scale without values, which reads as NaN and has netCDF's type for it. */
static int create_empty(hid_t file, const char *name, int64_t length, hid_t *out, struct lw_error *err)
{
    static const float none = NAN;
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_alloc_time(creation, H5D_ALLOC_TIME_LATE);
    H5Pset_fill_value(creation, H5T_NATIVE_FLOAT, &none);
    *out = make_dataset(file, name, H5T_IEEE_F32BE, length, creation);
    return *out < 0 ? lw_hdf5_fail(err, LW_EIO, "cannot create %s", name) : LW_OK;
}

/* Create a scale. The name of a scale without values is the text that netCDF gives it. */
static int create_scale(hid_t file, const char *name, const struct lw_writer_dataset *spec, int d, hid_t *out, struct lw_error *err)
{
    char empty[96];
    const struct lw_writer_scale *const scale = &spec->scales[d];
    const int64_t length = spec->dims[d];
    const bool has_values = lw_scale_is_written(spec, d);
    int rc = has_values ? lw_scale_create(file, name, scale, length, out, err) : create_empty(file, name, length, out, err);
    if (rc)
        return rc;
    snprintf(empty, sizeof empty, "This is a netCDF dimension but not a netCDF variable. %10" PRId64, length);
    rc = has_values ? describe_values(*out, scale, err) : LW_OK;
    if (rc == LW_OK && H5DSset_scale(*out, has_values ? lw_last_part(name) : empty) < 0)
        rc = lw_hdf5_fail(err, LW_EIO, "cannot make %s a dimension scale", name);
    if (rc)
        H5Dclose(*out);
    return rc;
}

/* Compare an existing scale with a new one. Values with a constant step are equal if the first and the last are equal; so are lists
 * of values, since a group has one list of a name. A scale without values equals every scale of its length. */
static int compare(hid_t there, const char *name, const struct lw_writer_dataset *spec, int d, bool *is_same, struct lw_error *err)
{
    const struct lw_writer_scale *const scale = &spec->scales[d];
    const int64_t length = spec->dims[d];
    double first, last;
    *is_same = lw_hdf5_length(there) == (hsize_t)length && H5DSis_scale(there) > 0;
    if (!*is_same || !lw_scale_is_written(spec, d))
        return LW_OK;
    if (!lw_hdf5_read_list(there, H5T_NATIVE_DOUBLE, 0, 1, 1, &first) ||
        !lw_hdf5_read_list(there, H5T_NATIVE_DOUBLE, (hsize_t)length - 1, 1, 1, &last))
        return lw_hdf5_fail(err, LW_EIO, "cannot read the coordinates %s back", name);
    *is_same = isnan(first) || (first == value_of(scale, 0) && last == value_of(scale, length - 1));
    return LW_OK;
}

/* Open the existing scale of a dimension's name if it is equal, else create a scale. */
static int open_scale(hid_t file, const struct lw_writer_dataset *spec, int d, hid_t *out, struct lw_error *err)
{
    char name[NAME_SIZE];
    bool is_same;
    const int group = (int)(lw_last_part(spec->path) - spec->path);
    snprintf(name, sizeof name, "%.*s%s", group, spec->path, spec->dim_names[d]);
    *out = H5Lexists(file, name, H5P_DEFAULT) > 0 ? H5Dopen2(file, name, H5P_DEFAULT) : -1;
    if (*out >= 0) {
        const int rc = compare(*out, name, spec, d, &is_same, err);
        if (rc == LW_OK && is_same)
            return LW_OK;
        H5Dclose(*out);
        if (rc)
            return rc;
        snprintf(name, sizeof name, "%s_%s", spec->path, spec->dim_names[d]);
    }
    return create_scale(file, name, spec, d, out, err);
}

/* Write _FillValue, the mark of missing samples, in the dataset's type. Readers know no mark in integers and complex numbers. */
static int write_fill_value(hid_t dataset, const struct lw_writer_dataset *spec, struct lw_error *err)
{
    static const double none = NAN;
    const hsize_t one = 1;
    if (spec->n_columns > 0 || spec->type.is_complex || lw_scalar_is_integer(spec->type.scalar))
        return LW_OK;
    LW_CLOSED const hid_t type = lw_hdf5_type_make(spec->type), space = H5Screate_simple(1, &one, NULL);
    LW_CLOSED const hid_t attribute = H5Acreate2(dataset, "_FillValue", type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0 || H5Awrite(attribute, H5T_NATIVE_DOUBLE, &none) < 0)
        return lw_hdf5_fail(err, LW_EIO, "cannot write attribute '_FillValue' of %s", spec->path);
    return LW_OK;
}

int lw_scales_attach(hid_t file, hid_t dataset, const struct lw_writer_dataset *spec, struct lw_error *err)
{
    int rc = spec->has_scales ? write_fill_value(dataset, spec, err) : LW_OK;
    for (int d = 0; d < spec->n_dims && spec->has_scales && rc == LW_OK; d++) {
        hid_t scale;
        if ((rc = open_scale(file, spec, d, &scale, err)))
            return rc;
        if (H5DSattach_scale(dataset, scale, (unsigned)d) < 0)
            rc = lw_hdf5_fail(err, LW_EIO, "cannot attach the coordinates of dimension %d to %s", d, spec->path);
        H5Dclose(scale);
    }
    return rc;
}
