#include "io/hdf5/conventions/conventions.h"

#include "io/hdf5/attribute.h"
#include "io/hdf5/library.h"

#include <strings.h>

/* A dataset whose attributes are read. */
struct subject {
    hid_t dataset;
    struct lw_dataset_info *info;
};

static int fail(const struct subject *subject, const char *name, const char *what, struct lw_error *err)
{
    return lw_fail(err, LW_EDATA, "attribute %s of %.600s %s: --as-stored reads its samples unscaled", name,
                   lw_dataset_name(subject->info).text, what);
}

/* Read `count` numbers. Complex numbers must be real or NaN. */
static int read_values(const struct subject *subject, const char *name, hid_t attribute, hid_t type, int count, double *values,
                       struct lw_error *err)
{
    double pairs[2 * LW_MOST_MISSING] = {0};
    bool is_complex, are_real = true;
    LW_CLOSED const hid_t memory = lw_hdf5_type_as_float64(type, &is_complex);
    const bool is_read = memory >= 0 && H5Aread(attribute, memory, pairs) >= 0;
    for (int i = 0; i < count; i++) {
        values[i] = pairs[is_complex ? 2 * i : i];
        are_real = are_real && (!is_complex || pairs[2 * i + 1] == 0 || isnan(values[i]));
    }
    return is_read && are_real ? LW_OK : fail(subject, name, "is not a number", err);
}

/* Read up to `most` numbers of an attribute. A text that is no number counts as none. @param n  set to how many there are
 * @param kind  set to the stored class; H5T_NO_CLASS: the attribute is missing */
static int read_numbers(const struct subject *subject, const char *name, int most, double *values, int *n, H5T_class_t *kind,
                        struct lw_error *err)
{
    struct lw_error none = {0};
    char text[64] = "";
    *n = 0;
    *kind = H5T_NO_CLASS;
    LW_CLOSED const hid_t attribute = H5Aexists(subject->dataset, name) > 0 ? H5Aopen(subject->dataset, name, H5P_DEFAULT) : -1;
    if (attribute < 0)
        return LW_OK;
    LW_CLOSED const hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    int rc = LW_OK;
    *kind = H5Tget_class(type);
    if (count > most)
        rc = fail(subject, name, "has more numbers than can be taken", err);
    else if (*kind == H5T_STRING)
        *n = lw_attribute_read_text(subject->dataset, name, text, sizeof text, &none) && lw_attribute_parse_number(text, values);
    else if (count > 0 && (rc = read_values(subject, name, attribute, type, (int)count, values, err)) == LW_OK)
        *n = (int)count;
    return rc;
}

/* Read scale_factor or add_offset; a missing attribute leaves *value alone. */
static int read_factor(const struct subject *subject, const char *name, double *value, struct lw_error *err)
{
    double found;
    int n;
    H5T_class_t kind;
    const int rc = read_numbers(subject, name, 1, &found, &n, &kind, err);
    if (rc || kind == H5T_NO_CLASS)
        return rc;
    if (n == 0 || !isfinite(found))
        return fail(subject, name, "is not a finite number", err);
    *value = found;
    return LW_OK;
}

/* ---- stored numbers --------------------------------------------------------------------------------------------------- */

/* Return the stored number that an attribute's number stands for, with the sign of the type or of _Unsigned; NaN: there is none. */
static double as_stored(const struct subject *subject, double number)
{
    const enum lw_scalar scalar = subject->info->type.scalar;
    const double all = ldexp(1, 8 * (int)lw_scalar_bytes(scalar));
    const bool is_signed = lw_scalar_is_signed(scalar) != subject->info->packing.has_other_sign;
    if (scalar == LW_FLOAT32)
        return (double)(float)number;
    if (!lw_scalar_is_integer(scalar))
        return number;
    if (subject->info->packing.has_other_sign && !is_signed && number < 0)
        number += all;
    if (subject->info->packing.has_other_sign && is_signed && number >= all / 2)
        number -= all;
    const double least = is_signed ? -all / 2 : 0;
    return number == rint(number) && number >= least && number < least + all ? number : (double)NAN;
}

static int find_missing(const struct subject *subject, const char *name, int most, struct lw_error *err)
{
    struct lw_packing *const packing = &subject->info->packing;
    double numbers[LW_MOST_MISSING];
    int n;
    H5T_class_t kind;
    const int rc = read_numbers(subject, name, most, numbers, &n, &kind, err);
    for (int i = 0; rc == LW_OK && i < n; i++) {
        const double stored = as_stored(subject, numbers[i]);
        bool is_new = !isnan(stored);
        for (int m = 0; m < packing->n_missing; m++)
            is_new = is_new && packing->missing[m] != stored;
        if (is_new)
            packing->missing[packing->n_missing++] = stored;
    }
    return rc;
}

static int read_range(const struct subject *subject, double range[2], H5T_class_t *kind, struct lw_error *err)
{
    static const char *const names[] = {"valid_min", "valid_max"};
    H5T_class_t kinds[2];
    double number;
    int n, rc = read_numbers(subject, "valid_range", 2, range, &n, kind, err);
    if (rc == LW_OK && n == 1)
        rc = fail(subject, "valid_range", "is one number, not two", err);
    if (rc || n == 2)
        return rc;
    for (int i = 0; i < 2; i++) {
        range[i] = i == 0 ? -INFINITY : INFINITY;
        if ((rc = read_numbers(subject, names[i], 1, &number, &n, &kinds[i], err)))
            return rc;
        range[i] = n > 0 ? number : range[i];
    }
    *kind = kinds[0] == H5T_NO_CLASS ? kinds[1] : kinds[0];
    return LW_OK;
}

/* Set the valid range of stored numbers. Floating-point limits of packed integers are limits of the values (NetCDF User's Guide).
 * Stored numbers are whole, so the converted limits are rounded inwards, with room for their own rounding. */
static int find_range(const struct subject *subject, struct lw_error *err)
{
    struct lw_packing *const packing = &subject->info->packing;
    double range[2];
    H5T_class_t kind;
    const int rc = read_range(subject, range, &kind, err);
    if (rc)
        return rc;
    const bool is_scaled = packing->scale != 0 && (packing->scale != 1 || packing->offset != 0);
    const bool are_values = kind == H5T_FLOAT && is_scaled && lw_scalar_is_integer(subject->info->type.scalar);
    for (int i = 0; i < 2; i++) {
        const double stored = are_values ? (range[i] - packing->offset) / packing->scale : as_stored(subject, range[i]);
        range[i] = isnan(stored) ? range[i] : stored;
    }
    packing->low = are_values ? ceil(fmin(range[0], range[1]) - 1e-6) : range[0];
    packing->high = are_values ? floor(fmax(range[0], range[1]) + 1e-6) : range[1];
    return LW_OK;
}

int lw_hdf5_packing_find(hid_t dataset, struct lw_dataset_info *info, struct lw_error *err)
{
    struct lw_packing *const packing = &info->packing;
    const struct subject subject = {dataset, info};
    const enum lw_scalar scalar = info->type.scalar;
    struct lw_error none = {0};
    char text[8] = "";
    int rc;
    if (info->hints.as_stored) {
        *packing = (struct lw_packing){0};
        return LW_OK;
    }
    packing->scale = packing->scale != 0 ? packing->scale : 1;
    packing->low = -INFINITY;
    packing->high = INFINITY;
    /* Files of netCDF's classic model have no unsigned integers, so _Unsigned marks them. */
    if (lw_scalar_is_integer(scalar) && lw_attribute_read_text(dataset, "_Unsigned", text, sizeof text, &none))
        packing->has_other_sign = strcasecmp(text, lw_scalar_is_signed(scalar) ? "true" : "false") == 0;
    if ((rc = read_factor(&subject, "scale_factor", &packing->scale, err)) ||
        (rc = read_factor(&subject, "add_offset", &packing->offset, err)) || (rc = find_missing(&subject, "_FillValue", 1, err)) ||
        (rc = find_missing(&subject, "missing_value", LW_MOST_MISSING - 1, err)) || (rc = find_range(&subject, err)))
        return rc;
    packing->is_on = !lw_packing_is_trivial(packing, info->type);
    return LW_OK;
}
