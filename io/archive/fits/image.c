#include "io/archive/fits/image.h"

#include "base/integers.h"
#include "io/archive/shared.h"

#include <inttypes.h>
#include <stdio.h>
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

int lw_fits_seek(struct lw_fits_walk *walk, const char *path, struct lw_error *err)
{
    char known[512] = "", own[128], number[16];
    while (walk->unit) {
        const struct lw_fits_unit *const unit = walk->unit;
        const bool has_image = lw_fits_has_image(unit);
        lw_fits_path(unit, own, sizeof own);
        snprintf(number, sizeof number, "/%d", unit->number);
        const bool is_named = strcasecmp(path, own) == 0 || strcmp(path, number) == 0 || (path[0] && !path[1] && unit->number == 0);
        if (path[0] ? is_named : has_image)
            return has_image ? LW_OK : lw_fail(err, LW_EDATA, "%s holds no image", lw_name_of(walk->file, path).text);
        const size_t used = strlen(known);
        if (used + 160 < sizeof known)
            snprintf(known + used, sizeof known - used, "%s%s%s", used ? ", " : "", own, has_image ? "" : " (no image)");
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

/* Find how values are stored (section 4.4.2): value = BZERO + BSCALE x number; an integer equal to BLANK is a missing value.
 * Unsigned 16-bit values are stored as signed integers, less 32768; signed 8-bit values as unsigned integers, plus 128. */
static void find_values(const struct lw_fits_unit *unit, int bitpix, struct lw_values *values)
{
    double scale = 1, zero = 0;
    lw_fits_real(unit, "BSCALE", &scale);
    lw_fits_real(unit, "BZERO", &zero);
    *values = (struct lw_values){.number = number_of(bitpix), .is_swapped = lw_field_is_swapped(true)};
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

/* ---- compressed images: tiles -------------------------------------------------------------------------------------------- */

static int fail(const struct lw_fits_unit *unit, const char *file, const char *what, struct lw_error *err)
{
    return lw_fail(err, LW_EDATA, "'%s': the compressed image in unit %d %s", file, unit->number, what);
}

/* Largest tile in pixels: a tile is decoded as a whole. */
#define MOST_TILE_PIXELS ((int64_t)1 << 24)

/* Find sizes and numbers of tiles. The default tile is one row. */
static int find_tiles(const struct lw_fits_unit *unit, const char *file, struct lw_fits_tiling *out, struct lw_error *err)
{
    int64_t all = 1;
    out->tile_pixels = 1;
    for (int a = 0; a < out->n_axes; a++) {
        if (!lw_fits_int(unit, lw_fits_numbered("ZNAXIS", a + 1).text, &out->axes[a]) || out->axes[a] < 1)
            return fail(unit, file, "lacks the length of an axis (ZNAXIS1, ZNAXIS2, ...)", err);
        if (!lw_fits_int(unit, lw_fits_numbered("ZTILE", a + 1).text, &out->tile[a]))
            out->tile[a] = a == 0 ? out->axes[0] : 1;
        if (out->tile[a] < 1 || out->tile[a] > out->axes[a])
            return fail(unit, file, "has tiles that are empty or larger than the image", err);
        if (__builtin_mul_overflow(out->tile_pixels, out->tile[a], &out->tile_pixels) || out->tile_pixels > MOST_TILE_PIXELS)
            return fail(unit, file, "has tiles of more than 16777216 pixels, the limit: expand it with funpack",
                        err);
        out->n_tiles[a] = lw_divide_up(out->axes[a], out->tile[a]);
        if (__builtin_mul_overflow(all, out->n_tiles[a], &all))
            return fail(unit, file, "claims more tiles than 64 bits can count", err);
    }
    if (unit->n_axes != 2 || unit->axes[1] != all)
        return fail(unit, file, "does not have one row of its table for each tile", err);
    return LW_OK;
}

/* Return a parameter of the compression: ZVALi where ZNAMEi is its name; `fallback`: no such i. */
static int64_t parameter(const struct lw_fits_unit *unit, const char *name, int64_t fallback)
{
    char text[72];
    int64_t value;
    for (int i = 1; lw_fits_text(unit, lw_fits_numbered("ZNAME", i).text, text, sizeof text); i++)
        if (strcmp(text, name) == 0 && lw_fits_int(unit, lw_fits_numbered("ZVAL", i).text, &value))
            return value;
    return fallback;
}

static int find_code(const struct lw_fits_unit *unit, const char *file, struct lw_fits_tiling *out, struct lw_error *err)
{
    static const struct {
        const char *text;
        enum lw_tile_code code;
    } codes[] = {{"RICE_1", LW_TILE_RICE}, {"RICE_ONE", LW_TILE_RICE}, {"GZIP_1", LW_TILE_GZIP_1}, {"GZIP_2", LW_TILE_GZIP_2},
                 {"NOCOMPRESS", LW_TILE_PLAIN}, {"PLIO_1", LW_TILE_PLIO}, {"HCOMPRESS_1", LW_TILE_HCOMPRESS}};
    lw_fits_text(unit, "ZCMPTYPE", out->code_text, sizeof out->code_text);
    size_t c = 0;
    while (c < sizeof codes / sizeof *codes && strcmp(out->code_text, codes[c].text) != 0)
        c++;
    if (c == sizeof codes / sizeof *codes)
        return lw_fail(err, LW_EDATA,
                       "'%s': the image in unit %d is compressed by '%s', not by RICE_1, GZIP_1, GZIP_2, PLIO_1 or "
                       "HCOMPRESS_1: expand it with funpack",
                       file, unit->number, out->code_text);
    out->code = codes[c].code;
    const int64_t bytes = parameter(unit, "BYTEPIX", 4);
    out->rice_block = parameter(unit, "BLOCKSIZE", 32);
    if (out->code == LW_TILE_RICE && ((bytes != 1 && bytes != 2 && bytes != 4) || out->rice_block < 1 || out->rice_block > 1 << 20))
        return fail(unit, file, "has a BYTEPIX or BLOCKSIZE that Rice's code does not allow", err);
    out->rice_bytes = (int)bytes;
    if (out->code == LW_TILE_HCOMPRESS && parameter(unit, "SMOOTH", 0) != 0)
        return fail(unit, file, "is to be smoothed when it is decoded (SMOOTH), which is not supported: expand it with funpack",
                    err);
    return LW_OK;
}

static int find_columns(const struct lw_fits_unit *unit, const char *file, struct lw_fits_tiling *out, struct lw_error *err)
{
    const struct {
        const char *name;
        struct lw_tile_column *column;
        const char *types;
    } known[] = {{"COMPRESSED_DATA", &out->data, "PQ"},
                 {"GZIP_COMPRESSED_DATA", &out->exact, "PQ"},
                 {"UNCOMPRESSED_DATA", &out->plain, "PQ"},
                 {"ZSCALE", &out->scales, "D"},
                 {"ZZERO", &out->zeros, "D"},
                 {"ZBLANK", &out->blanks, "J"}};
    struct lw_fits_column column = {0};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        known[k].column->offset = -1;
    while (lw_fits_next_column(unit, &column))
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            if (column.bytes > 0 && strcmp(column.name, known[k].name) == 0 && strchr(known[k].types, column.type))
                *known[k].column = (struct lw_tile_column){
                    .offset = column.place, .is_wide = column.type == 'Q', .element_bytes = column.element_bytes};
    if (column.bytes < 0)
        return fail(unit, file, "has a column (TFORM) of unknown type, or one that reaches beyond its row", err);
    if (out->data.offset < 0)
        return fail(unit, file, "has no column COMPRESSED_DATA", err);
    return LW_OK;
}

static int find_heap(const struct lw_fits_unit *unit, const char *file, struct lw_fits_tiling *out, struct lw_error *err)
{
    int64_t table, heap;
    out->table_offset = unit->data_offset;
    out->row_bytes = unit->axes[0];
    if (__builtin_mul_overflow(unit->axes[0], unit->axes[1], &table))
        return fail(unit, file, "claims more bytes than 64 bits can count", err);
    heap = table;
    lw_fits_int(unit, "THEAP", &heap);
    if (heap < table || heap > unit->data_bytes)
        return fail(unit, file, "has a heap (THEAP) that is not behind its table", err);
    out->heap_offset = unit->data_offset + heap;
    out->heap_bytes = unit->data_bytes - heap;
    return LW_OK;
}

/* Find how floats are coded (section 10.2): as integers with a scale and a zero if ZSCALE exists, unless ZQUANTIZ is NONE. */
static void find_quantization(const struct lw_fits_unit *unit, struct lw_fits_tiling *out)
{
    char text[72] = "";
    lw_fits_text(unit, "ZQUANTIZ", text, sizeof text);
    out->scale = 1;
    const bool has_scale = lw_fits_real(unit, "ZSCALE", &out->scale) || out->scales.offset >= 0;
    lw_fits_real(unit, "ZZERO", &out->zero);
    out->is_quantized = out->bitpix < 0 && has_scale && strcmp(text, "NONE") != 0;
    out->dither = strcmp(text, "SUBTRACTIVE_DITHER_1") == 0   ? LW_DITHER_1
                  : strcmp(text, "SUBTRACTIVE_DITHER_2") == 0 ? LW_DITHER_2
                                                              : LW_DITHER_NONE;
    out->dither_seed = 1;
    lw_fits_int(unit, "ZDITHER0", &out->dither_seed);
    out->blank = INT32_MIN;
    lw_fits_int(unit, "ZBLANK", &out->blank);
}

static int find_tiling(const struct lw_fits_unit *unit, const char *file, struct lw_fits_tiling *out, struct lw_error *err)
{
    int64_t bitpix, n_axes;
    *out = (struct lw_fits_tiling){0};
    if (!lw_fits_int(unit, "ZBITPIX", &bitpix) || (bitpix != 8 && bitpix != 16 && bitpix != 32 && bitpix != -32 && bitpix != -64))
        return fail(unit, file, "has no ZBITPIX that is 8, 16, 32, -32 or -64", err);
    if (!lw_fits_int(unit, "ZNAXIS", &n_axes) || n_axes < 1 || n_axes > LW_TILING_MOST_AXES)
        return fail(unit, file, "has no ZNAXIS from 1 to 6", err);
    out->bitpix = (int)bitpix;
    out->n_axes = (int)n_axes;
    int rc;
    if ((rc = find_tiles(unit, file, out, err)) || (rc = find_code(unit, file, out, err)) ||
        (rc = find_columns(unit, file, out, err)) || (rc = find_heap(unit, file, out, err)))
        return rc;
    find_quantization(unit, out);
    if (out->dither_seed < 1 || out->dither_seed > 10000)
        return fail(unit, file, "has a ZDITHER0 that is not in 1..10000", err);
    const bool is_of_integers = out->code == LW_TILE_RICE || out->code == LW_TILE_PLIO || out->code == LW_TILE_HCOMPRESS;
    if (out->bitpix < 0 && !out->is_quantized && is_of_integers)
        return fail(unit, file, "holds floats in a code for integers, but has no ZSCALE", err);
    return LW_OK;
}

int lw_fits_find_image(const struct lw_fits_walk *walk, struct lw_fits_image *out, struct lw_error *err)
{
    const struct lw_fits_unit *const unit = walk->unit;
    *out = (struct lw_fits_image){
        .unit = unit->number, .is_tiled = is_tiled(unit), .flat = {.offset = unit->data_offset, .file_bytes = walk->file_bytes}};
    if (!out->is_tiled) {
        find_values(unit, unit->bitpix, &out->flat.values);
        return set_dims(unit->axes, unit->n_axes, walk->file, out, err);
    }
    int64_t end;
    if (__builtin_add_overflow(unit->data_offset, unit->data_bytes, &end) || end > walk->file_bytes)
        return lw_fail(err, LW_EDATA,
                       "'%s' is cut short: unit %d has %" PRId64 " bytes from byte %" PRId64 " on, and the file has %" PRId64,
                       walk->file, unit->number, unit->data_bytes, unit->data_offset, walk->file_bytes);
    const int rc = find_tiling(unit, walk->file, &out->tiling, err);
    if (rc)
        return rc;
    find_values(unit, out->tiling.bitpix, &out->flat.values);
    out->flat.values.is_swapped = false;
    return set_dims(out->tiling.axes, out->tiling.n_axes, walk->file, out, err);
}
