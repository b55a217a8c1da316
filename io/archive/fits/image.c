#include "io/archive/fits/image.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- units ------------------------------------------------------------------------------------------------------------- */

static bool is_kind(const struct lw_fits_unit *unit, const char *kind)
{
    char extension[16];
    return lw_fits_text(unit, "XTENSION", extension, sizeof extension) && strcmp(extension, kind) == 0;
}

static bool is_tiled(const struct lw_fits_unit *unit)
{
    bool value = false;
    return is_kind(unit, "BINTABLE") && lw_fits_logical(unit, "ZIMAGE", &value) && value;
}

bool lw_fits_has_image(const struct lw_fits_unit *unit)
{
    if (is_tiled(unit))
        return true;
    if (unit->n_axes == 0 || (unit->number > 0 && !is_kind(unit, "IMAGE")))
        return false;
    for (int a = 0; a < unit->n_axes; a++)
        if (unit->axes[a] == 0)
            return false;
    return true;
}

void lw_fits_path(const struct lw_fits_unit *unit, char *path, size_t size)
{
    char name[72];
    int64_t version = 1;
    if (!lw_fits_text(unit, "EXTNAME", name, sizeof name) || !name[0]) {
        snprintf(path, size, "/%d", unit->number);
        return;
    }
    lw_fits_int(unit, "EXTVER", &version);
    if (version == 1)
        snprintf(path, size, "/%s", name);
    else
        snprintf(path, size, "/%s,%" PRId64, name, version);
}

/* A number or a name; "/" alone is the primary unit. */
static bool is_named(const struct lw_fits_unit *unit, const char *path)
{
    char own[128], number[16];
    lw_fits_path(unit, own, sizeof own);
    snprintf(number, sizeof number, "/%d", unit->number);
    return strcasecmp(path, own) == 0 || strcmp(path, number) == 0 || (path[1] == '\0' && unit->number == 0);
}

static void add_unit(const struct lw_fits_unit *unit, char *known, size_t size)
{
    char path[128];
    const size_t used = strlen(known);
    lw_fits_path(unit, path, sizeof path);
    if (used + 160 < size)
        snprintf(known + used, size - used, "%s%s%s", used ? ", " : "", path, lw_fits_has_image(unit) ? "" : " (no image)");
}

int lw_fits_seek(struct lw_fits_walk *walk, const char *path, struct lw_error *err)
{
    char known[512] = "";
    while (walk->unit) {
        const bool has_image = lw_fits_has_image(walk->unit);
        if (path[0] ? is_named(walk->unit, path) : has_image)
            return has_image ? LW_OK : lw_fail(err, LW_EDATA, "%s holds no image", lw_name_of(walk->file, path).text);
        add_unit(walk->unit, known, sizeof known);
        const int rc = lw_fits_next(walk, err);
        if (rc)
            return rc;
    }
    if (path[0])
        return lw_fail(err, LW_EDATA, "'%s' has no unit '%.100s'; there are %s", walk->file, path, known);
    return lw_fail(err, LW_EDATA, "'%s' holds no image; there are %s", walk->file, known);
}

/* ---- the image --------------------------------------------------------------------------------------------------------- */

static enum lw_number number_of(int bitpix)
{
    switch (bitpix) {
    case 8: return LW_NUMBER_UINT8;
    case 16: return LW_NUMBER_INT16;
    case 32: return LW_NUMBER_INT32;
    case 64: return LW_NUMBER_INT64;
    case -32: return LW_NUMBER_FLOAT32;
    default: return LW_NUMBER_FLOAT64;
    }
}

/* Section 4.4.2: the value is BZERO + BSCALE x number, integers equal to BLANK are none. Unsigned 16-bit and signed 8-bit integers
 * are stored about the middle of their range. */
static void find_values(const struct lw_fits_unit *unit, int bitpix, struct lw_values *values)
{
    double scale = 1, zero = 0;
    lw_fits_real(unit, "BSCALE", &scale);
    lw_fits_real(unit, "BZERO", &zero);
    *values = (struct lw_values){.number = number_of(bitpix), .is_swapped = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__};
    values->has_blank = bitpix > 0 && (lw_fits_int(unit, "BLANK", &values->blank) || lw_fits_int(unit, "ZBLANK", &values->blank));
    values->is_about_middle =
        !values->has_blank && scale == 1 && ((bitpix == 16 && zero == 32768) || (bitpix == 8 && zero == -128));
    values->is_scaled = !values->is_about_middle && (scale != 1 || zero != 0);
    values->scale = scale;
    values->zero = zero;
}

static int set_dims(const int64_t *axes, int n_axes, const char *file, struct lw_fits_image *out, struct lw_error *err)
{
    while (n_axes > LW_MAX_DIMS && axes[n_axes - 1] == 1)
        n_axes--;
    if (n_axes > LW_MAX_DIMS)
        return lw_fail(err, LW_EDATA, "'%s': the image in unit %d has %d axes: at most %d can be longer than 1", file, out->unit,
                       n_axes, LW_MAX_DIMS);
    out->flat.n_dims = n_axes;
    for (int a = 0; a < n_axes; a++)
        out->flat.dims[n_axes - 1 - a] = axes[a];
    return LW_OK;
}

/* ---- compressed images --------------------------------------------------------------------------------------------------- */

static int check_room(const struct lw_fits_unit *unit, int64_t file_bytes, const char *file, struct lw_error *err)
{
    int64_t end;
    if (!__builtin_add_overflow(unit->data_offset, unit->data_bytes, &end) && end <= file_bytes)
        return LW_OK;
    return lw_fail(err, LW_EDATA,
                   "'%s' is cut short: unit %d has %" PRId64 " bytes from byte %" PRId64 " on, and the file has %" PRId64, file,
                   unit->number, unit->data_bytes, unit->data_offset, file_bytes);
}

static int find_tiled(const struct lw_fits_walk *walk, struct lw_fits_image *out, struct lw_error *err)
{
    int rc;
    if ((rc = check_room(walk->unit, walk->file_bytes, walk->file, err)) ||
        (rc = lw_fits_find_tiling(walk->unit, walk->file, &out->tiling, err)))
        return rc;
    find_values(walk->unit, out->tiling.bitpix, &out->flat.values);
    out->flat.values.is_swapped = false;
    return set_dims(out->tiling.axes, out->tiling.n_axes, walk->file, out, err);
}

int lw_fits_find_image(const struct lw_fits_walk *walk, struct lw_fits_image *out, struct lw_error *err)
{
    const struct lw_fits_unit *const unit = walk->unit;
    *out = (struct lw_fits_image){
        .unit = unit->number, .is_tiled = is_tiled(unit), .flat = {.offset = unit->data_offset, .file_bytes = walk->file_bytes}};
    if (out->is_tiled)
        return find_tiled(walk, out, err);
    find_values(unit, unit->bitpix, &out->flat.values);
    return set_dims(unit->axes, unit->n_axes, walk->file, out, err);
}
