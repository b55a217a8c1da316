/* tiles.c - read samples of tiled images (image.h): find the tiles of a box, decode them, and copy their samples. */
#include "io/archive/fits/image.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/archive/shared.h"
#include "io/bytes/transfer.h"

#include <inttypes.h>
#include <pthread.h>
#include <unistd.h>

enum { N_RANDOM = 10000, MOST_NUMBER_BYTES = 8 };

/* Tiles larger than this are decoded one at a time. */
#define SMALL_PIXELS ((int64_t)1 << 16)

/* Memory in which one thread decodes a tile. */
struct place {
    struct lw_gunzip *gunzip;
    unsigned char *code;                /* code of the tile */
    unsigned char *bytes;               /* bytes that gzip has decompressed; work of HCOMPRESS */
    int32_t *integers;
    char *numbers;                      /* decoded numbers: values.number, in this machine's byte order */
    int64_t tile;                       /* index of the decoded tile; -1: none */
};

struct lw_fits_tiles {
    int fd;
    struct lw_fits_tiling tiling;
    struct lw_values values;
    int n_dims;                         /* dimensions of boxes; the image's further axes have length 1 */
    float *random;                      /* [N_RANDOM] in (0, 1), for subtractive dither; NULL: no dither */
    pthread_mutex_t lock;               /* guards `shared` */
    struct place *shared;               /* place for large tiles; NULL: tiles are small, and each read has its own place */
};

/* ---- places ------------------------------------------------------------------------------------------------------------ */

/* Return the most bytes of a tile's code. Incompressible pixels grow a little. */
static int64_t most_code_bytes(const struct lw_fits_tiling *tiling)
{
    return tiling->tile_pixels * MOST_NUMBER_BYTES * 5 / 4 + 4096;
}

static void close_place(struct place *place)
{
    if (!place)
        return;
    lw_gunzip_destroy(place->gunzip);
    lw_free(place->code);
    lw_free(place->bytes);
    lw_free(place->integers);
    lw_free(place->numbers);
    lw_free(place);
}

static int open_place(const struct lw_fits_tiling *tiling, struct place **out, struct lw_error *err)
{
    const int64_t n = tiling->tile_pixels;
    struct place *const place = lw_alloc(sizeof *place, "a tile", err);
    if (!place)
        return LW_ESYSTEM;
    *place = (struct place){.code = lw_alloc_array(most_code_bytes(tiling), 1, "the code of a tile", err),
                            .bytes = lw_alloc_array(n, MOST_NUMBER_BYTES, "a tile", err),
                            .integers = lw_alloc_array(n, sizeof *place->integers, "a tile", err),
                            .numbers = lw_alloc_array(n, MOST_NUMBER_BYTES, "a tile", err), .tile = -1};
    if (!place->code || !place->bytes || !place->integers || !place->numbers || lw_gunzip_create(&place->gunzip, err) != LW_OK) {
        close_place(place);
        return LW_ESYSTEM;
    }
    *out = place;
    return LW_OK;
}

/* ---- decoding -------------------------------------------------------------------------------------------------------- */

static int fail_tile(int64_t tile, const char *what, struct lw_error *err)
{
    return lw_fail(err, LW_EDATA, "tile %" PRId64 " %s", tile + 1, what);
}

/* Read a tile's cell in a column of the table. @param bytes  size of the cell */
static int read_cell(const struct lw_fits_tiles *tiles, int64_t tile, const struct lw_tile_column *column, unsigned char *cell,
                     int bytes, struct lw_error *err)
{
    const struct lw_fits_tiling *const tiling = &tiles->tiling;
    return lw_bytes_read(tiles->fd, cell, tiling->table_offset + tile * tiling->row_bytes + column->offset, bytes, err);
}

/* Find a tile's code by its descriptor in one column: count and offset in the heap. @param bytes  set; 0: the cell has no code */
static int find_code(const struct lw_fits_tiles *tiles, int64_t tile, const struct lw_tile_column *column, int64_t *offset,
                     int64_t *bytes, struct lw_error *err)
{
    const struct lw_fits_tiling *const tiling = &tiles->tiling;
    const int width = column->is_wide ? 8 : 4;
    unsigned char descriptor[16];
    *bytes = 0;
    if (column->offset < 0)
        return LW_OK;
    const int rc = read_cell(tiles, tile, column, descriptor, 2 * width, err);
    if (rc)
        return rc;
    *bytes = lw_field_signed(descriptor, width, true);
    *offset = lw_field_signed(descriptor + width, width, true);
    if (*bytes < 0 || __builtin_mul_overflow(*bytes, (int64_t)column->element_bytes, bytes) || *bytes > most_code_bytes(tiling) ||
        *offset < 0 || *offset > tiling->heap_bytes - *bytes)
        return fail_tile(tile, "claims a code that is too long or not in the heap", err);
    *offset += tiling->heap_offset;
    return LW_OK;
}

/* Decompress a tile's n big-endian numbers to place->bytes. @param width  set to the bytes of a number: all bytes / n */
static int unpack(struct place *place, enum lw_tile_code code, int64_t tile, int64_t bytes, int64_t n, int *width,
                  struct lw_error *err)
{
    size_t taken, got = (size_t)bytes;
    if (code == LW_TILE_PLAIN) {
        if (bytes > n * MOST_NUMBER_BYTES)
            return fail_tile(tile, "has more bytes than its pixels", err);
        memcpy(place->bytes, place->code, (size_t)bytes);
    } else if (lw_gunzip_member(place->gunzip, place->code, (size_t)bytes, place->bytes, (size_t)(n * MOST_NUMBER_BYTES), &taken,
                                &got) != LW_GUNZIP_DONE) {
        return fail_tile(tile, "is damaged: gzip does not decode it", err);
    }
    *width = (int)((int64_t)got / n);
    if ((int64_t)got % n != 0 || (*width != 1 && *width != 2 && *width != 4 && *width != 8))
        return fail_tile(tile, "does not hold as many numbers as it has pixels", err);
    if (code != LW_TILE_GZIP_2 || *width == 1)
        return LW_OK;
    /* GZIP_2 stores the first bytes of all numbers, then the second bytes, and so on. */
    for (int b = 0; b < *width; b++)
        for (int64_t i = 0; i < n; i++)
            place->numbers[i * *width + b] = (char)place->bytes[b * n + i];
    memcpy(place->bytes, place->numbers, got);
    return LW_OK;
}

static int decode_integers(const struct lw_fits_tiles *tiles, struct place *place, int64_t tile, int64_t bytes, int64_t n,
                           struct lw_error *err)
{
    const struct lw_fits_tiling *const tiling = &tiles->tiling;
    int width;
    if (tiling->code == LW_TILE_PLIO)
        return lw_plio_decode(place->code, bytes, n, place->integers)
                   ? LW_OK
                   : fail_tile(tile, "is damaged: its PLIO line list cannot be decoded", err);
    if (tiling->code == LW_TILE_HCOMPRESS)
        return lw_hcompress_decode(place->code, bytes, n, (int64_t *)(void *)place->bytes, place->numbers, place->integers)
                   ? LW_OK
                   : fail_tile(tile, "is damaged: HCOMPRESS does not decode it", err);
    if (tiling->code == LW_TILE_RICE)
        return lw_rice_decode(place->code, bytes, tiling->rice_bytes, tiling->rice_block, n, place->integers)
                   ? LW_OK
                   : fail_tile(tile, "is damaged: Rice's code ends too early", err);
    const int rc = unpack(place, tiling->code, tile, bytes, n, &width, err);
    if (rc)
        return rc;
    if (width == 8)
        return fail_tile(tile, "holds integers of 64 bits", err);
    for (int64_t i = 0; i < n; i++) {
        const unsigned char *const at = place->bytes + i * width;
        place->integers[i] = width == 4   ? (int32_t)lw_field_signed(at, 4, true)
                             : width == 2 ? (int32_t)lw_field_signed(at, 2, true)
                                          : (int32_t)at[0];
    }
    return LW_OK;
}

/* Convert the decoded integers to the image's stored type. */
static void narrow(const struct lw_fits_tiles *tiles, struct place *place, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const int32_t number = place->integers[i];
        if (tiles->values.number == LW_NUMBER_UINT8)
            place->numbers[i] = (char)(unsigned char)number;
        else if (tiles->values.number == LW_NUMBER_INT16)
            ((int16_t *)(void *)place->numbers)[i] = (int16_t)number;
        else
            ((int32_t *)(void *)place->numbers)[i] = number;
    }
}

static int decode_floats(const struct lw_fits_tiles *tiles, struct place *place, enum lw_tile_code code, int64_t tile,
                         int64_t bytes, int64_t n, struct lw_error *err)
{
    const int64_t own = lw_number_bytes(tiles->values.number);
    int width;
    const int rc = unpack(place, code, tile, bytes, n, &width, err);
    if (rc)
        return rc;
    if (width != own)
        return fail_tile(tile, "does not hold as many numbers as it has pixels", err);
    for (int64_t i = 0; i < n; i++)
        lw_copy_ordered(place->numbers + i * own, place->bytes + i * own, (size_t)own, lw_field_is_swapped(true));
    return LW_OK;
}

/* ---- floats from integers ---------------------------------------------------------------------------------------------- */

/* Make the random numbers of subtractive dither by Park and Miller's generator (section 10.2.1, appendix I). */
static float *make_random(struct lw_error *err)
{
    float *const random = lw_alloc_array(N_RANDOM, sizeof *random, "random numbers", err);
    double seed = 1;
    for (int i = 0; random && i < N_RANDOM; i++) {
        const double next = 16807 * seed;
        seed = next - 2147483647 * floor(next / 2147483647);
        random[i] = (float)(seed / 2147483647);
    }
    return random;
}

/* A walk through the random numbers. It begins at index 500 random[start]. After the last number it begins again with start + 1. */
struct walk {
    const float *random;
    int start, at;
};

static void start_walk(struct walk *walk, int start)
{
    walk->start = start % N_RANDOM;
    walk->at = (int)(walk->random[walk->start] * 500);
}

static double step(struct walk *walk)
{
    const double number = walk->random[walk->at];
    if (++walk->at == N_RANDOM)
        start_walk(walk, walk->start + 1);
    return number;
}

static int find_scale(const struct lw_fits_tiles *tiles, int64_t tile, double *scale, double *zero, int64_t *blank,
                      struct lw_error *err)
{
    const struct lw_fits_tiling *const tiling = &tiles->tiling;
    unsigned char cell[8];
    int rc = LW_OK;
    *scale = tiling->scale;
    *zero = tiling->zero;
    *blank = tiling->blank;
    if (tiling->scales.offset >= 0 && (rc = read_cell(tiles, tile, &tiling->scales, cell, 8, err)) == LW_OK)
        *scale = lw_field_float64(cell, true);
    if (rc == LW_OK && tiling->zeros.offset >= 0 && (rc = read_cell(tiles, tile, &tiling->zeros, cell, 8, err)) == LW_OK)
        *zero = lw_field_float64(cell, true);
    if (rc == LW_OK && tiling->blanks.offset >= 0 && (rc = read_cell(tiles, tile, &tiling->blanks, cell, 4, err)) == LW_OK)
        *blank = lw_field_signed(cell, 4, true);
    return rc;
}

static int scale_integers(const struct lw_fits_tiles *tiles, struct place *place, int64_t tile, int64_t n, struct lw_error *err)
{
    const struct lw_fits_tiling *const tiling = &tiles->tiling;
    const int32_t exact_zero = -2147483646;
    double scale, zero;
    int64_t blank;
    struct walk walk = {.random = tiles->random};
    const int rc = find_scale(tiles, tile, &scale, &zero, &blank, err);
    if (rc)
        return rc;
    if (tiling->dither != LW_DITHER_NONE)
        start_walk(&walk, (int)((tile + tiling->dither_seed - 1) % N_RANDOM));
    for (int64_t i = 0; i < n; i++) {
        const int32_t number = place->integers[i];
        const double shift = tiling->dither == LW_DITHER_NONE ? 0 : 0.5 - step(&walk);
        double value = (number + shift) * scale + zero;
        if (number == blank)
            value = NAN;
        else if (tiling->dither == LW_DITHER_2 && number == exact_zero)
            value = 0;
        if (tiles->values.number == LW_NUMBER_FLOAT32)
            ((float *)(void *)place->numbers)[i] = (float)value;
        else
            ((double *)(void *)place->numbers)[i] = value;
    }
    return LW_OK;
}

/* Decode a tile from the first column that holds a code for it. */
static int decode(const struct lw_fits_tiles *tiles, struct place *place, int64_t tile, int64_t n, struct lw_error *err)
{
    const struct lw_fits_tiling *const tiling = &tiles->tiling;
    const struct lw_tile_column *const columns[] = {&tiling->data, &tiling->exact, &tiling->plain};
    int64_t offset = 0, bytes = 0;
    int c = 0, rc = LW_OK;
    for (; c < 3 && rc == LW_OK; c++)
        if ((rc = find_code(tiles, tile, columns[c], &offset, &bytes, err)) || bytes > 0)
            break;
    if (rc || c == 3)
        return rc ? rc : fail_tile(tile, "has no code", err);
    if ((rc = lw_bytes_read(tiles->fd, place->code, offset, bytes, err)))
        return rc;
    if (tiling->bitpix < 0 && (c > 0 || !tiling->is_quantized))
        return decode_floats(tiles, place, c == 0 ? tiling->code : c == 1 ? LW_TILE_GZIP_1 : LW_TILE_PLAIN, tile, bytes, n, err);
    if ((rc = decode_integers(tiles, place, tile, bytes, n, err)))
        return rc;
    if (tiling->is_quantized)
        return scale_integers(tiles, place, tile, n, err);
    narrow(tiles, place, n);
    return LW_OK;
}

/* ---- boxes ------------------------------------------------------------------------------------------------------------- */

/* A box in the order of FITS' axes: NAXIS1 first. */
struct wanted {
    const struct lw_box *box;
    int64_t first[LW_TILING_MOST_AXES], step[LW_TILING_MOST_AXES], count[LW_TILING_MOST_AXES];
};

/* A tile's pixels [first, end) of the image along each axis, and the elements [low, high) of a box that lie in the tile. */
struct extent {
    int64_t first[LW_TILING_MOST_AXES], end[LW_TILING_MOST_AXES], low[LW_TILING_MOST_AXES], high[LW_TILING_MOST_AXES];
    int64_t n;                  /* pixels of the tile */
    int64_t rows;               /* rows (along axis 1) of the box's elements in the tile; 0: none */
};

static struct extent extent_of(const struct lw_fits_tiling *tiling, const struct wanted *wanted, int64_t tile)
{
    struct extent extent = {.n = 1, .rows = 1};
    for (int a = 0; a < tiling->n_axes; a++) {
        const int64_t first = tile % tiling->n_tiles[a] * tiling->tile[a], step = wanted->step[a];
        const int64_t end = lw_min64(first + tiling->tile[a], tiling->axes[a]);
        extent.first[a] = first;
        extent.end[a] = end;
        extent.n *= end - first;
        extent.low[a] = lw_divide_up(lw_max64(0, first - wanted->first[a]), step);
        extent.high[a] = lw_min64(wanted->count[a], lw_divide_up(lw_max64(0, end - wanted->first[a]), step));
        const int64_t n = lw_max64(0, extent.high[a] - extent.low[a]);
        extent.rows *= a > 0 ? n : n > 0;
        tile /= tiling->n_tiles[a];
    }
    return extent;
}

/* Convert the wanted numbers of a tile to samples at their places in memory, row by row along axis 1. */
static void copy_tile(const struct lw_fits_tiles *tiles, const struct wanted *wanted, const struct extent *extent,
                      const char *numbers)
{
    const struct lw_box *const box = wanted->box;
    const int64_t *const low = extent->low, *const high = extent->high, bytes = lw_number_bytes(tiles->values.number);
    const int64_t sample_bytes = (int64_t)lw_type_bytes(lw_values_type(&tiles->values)), step = wanted->step[0];
    for (int64_t r = 0; r < extent->rows; r++) {
        int64_t rest = r, element = low[0], pitch = wanted->count[0];
        int64_t number = wanted->first[0] + low[0] * step - extent->first[0], width = extent->end[0] - extent->first[0];
        for (int a = 1; a < tiles->tiling.n_axes; a++) {
            const int64_t i = low[a] + rest % (high[a] - low[a]);
            rest /= high[a] - low[a];
            element += i * pitch;
            pitch *= wanted->count[a];
            number += (wanted->first[a] + i * wanted->step[a] - extent->first[a]) * width;
            width *= extent->end[a] - extent->first[a];
        }
        const char *const row = numbers + number * bytes;
        const int64_t at = element / box->run * box->pitch + element % box->run;
        lw_values_convert(&tiles->values, row, step, high[0] - low[0], (char *)box->into + at * sample_bytes, 1);
    }
}

/* Return the table's row of tile i, counted from the box's first tile to its last; -1: the box has no tile i. */
static int64_t tile_number(const struct lw_fits_tiling *tiling, const struct wanted *wanted, int64_t i)
{
    int64_t tile = 0, pitch = 1;
    for (int a = 0; a < tiling->n_axes; a++) {
        const int64_t first = wanted->first[a] / tiling->tile[a];
        const int64_t n = (wanted->first[a] + (wanted->count[a] - 1) * wanted->step[a]) / tiling->tile[a] - first + 1;
        tile += (first + i % n) * pitch;
        i /= n;
        pitch *= tiling->n_tiles[a];
    }
    return i > 0 ? -1 : tile;
}

static int read_tiles(const struct lw_fits_tiles *tiles, struct place *place, const struct lw_box *box, struct lw_error *err)
{
    struct wanted wanted = {.box = box};
    int rc = LW_OK;
    int64_t tile;
    for (int a = 0; a < tiles->tiling.n_axes; a++) {
        const int d = tiles->n_dims - 1 - a;
        wanted.first[a] = d < 0 ? 0 : box->first[d];
        wanted.step[a] = d < 0 ? 1 : box->step[d];
        wanted.count[a] = d < 0 ? 1 : box->count[d];
    }
    for (int64_t i = 0; rc == LW_OK && (tile = tile_number(&tiles->tiling, &wanted, i)) >= 0; i++) {
        const struct extent extent = extent_of(&tiles->tiling, &wanted, tile);
        if (extent.rows == 0)
            continue;
        if (place->tile != tile) {
            place->tile = -1;
            rc = decode(tiles, place, tile, extent.n, err);
        }
        if (rc == LW_OK) {
            place->tile = tile;
            copy_tile(tiles, &wanted, &extent, place->numbers);
        }
    }
    return rc;
}

int lw_fits_tiles_read(struct lw_fits_tiles *tiles, const struct lw_box *box, struct lw_error *err)
{
    struct place *own;
    int rc;
    if (tiles->shared) {
        pthread_mutex_lock(&tiles->lock);
        rc = read_tiles(tiles, tiles->shared, box, err);
        pthread_mutex_unlock(&tiles->lock);
        return rc;
    }
    if ((rc = open_place(&tiles->tiling, &own, err)))
        return rc;
    rc = read_tiles(tiles, own, box, err);
    close_place(own);
    return rc;
}

/* ---- open, close ------------------------------------------------------------------------------------------------------- */

int lw_fits_tiles_open(int fd, const struct lw_fits_image *image, struct lw_fits_tiles **out, struct lw_error *err)
{
    struct lw_fits_tiles *const tiles = lw_alloc(sizeof *tiles, "the reader", err);
    if (!tiles) {
        close(fd);
        return LW_ESYSTEM;
    }
    *tiles = (struct lw_fits_tiles){.fd = fd, .tiling = image->tiling, .values = image->flat.values,
                                    .n_dims = image->flat.n_dims};
    pthread_mutex_init(&tiles->lock, NULL);
    int rc = LW_OK;
    if (image->tiling.dither != LW_DITHER_NONE && !(tiles->random = make_random(err)))
        rc = LW_ESYSTEM;
    if (rc == LW_OK && image->tiling.tile_pixels > SMALL_PIXELS)
        rc = open_place(&tiles->tiling, &tiles->shared, err);
    if (rc)
        lw_fits_tiles_close(tiles);
    else
        *out = tiles;
    return rc;
}

void lw_fits_tiles_close(struct lw_fits_tiles *tiles)
{
    if (!tiles)
        return;
    if (tiles->fd >= 0)
        close(tiles->fd);
    close_place(tiles->shared);
    lw_free(tiles->random);
    pthread_mutex_destroy(&tiles->lock);
    lw_free(tiles);
}
