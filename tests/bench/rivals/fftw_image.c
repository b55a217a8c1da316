/* fftw_image.c - overlap-save on tiles of an image through FFTW, on one core. A tile that fits stays in the caches from its
 * pixels to its outputs; transforms are real. This file is compiled once for each precision, with RIVAL_DOUBLE 0 or 1. */
#include "fftw.h"

#include <fftw3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if RIVAL_DOUBLE
typedef double real;
#define FFTW(name) fftw_##name
#define RIVAL fftw_image_double
#else
typedef float real;
#define FFTW(name) fftwf_##name
#define RIVAL fftw_image_single
#endif

struct image {
    int64_t size, side;
    int rows, columns, bins;            /* rows and columns of a tile; distance between rows of its spectrum */
    real *points;                       /* [rows][columns] */
    FFTW(complex) *spectrum, *kernel;   /* [rows][bins] */
    FFTW(plan) forward, inverse;
};

static void *checked(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

/* Tile of a way. Rows are 2^a and 3 2^a, from 32 or one and a quarter times the kernel's side up to 1024, or to five times the
 * side; columns are as many, or twice as many. */
static bool way_of(int64_t side, int way, int *rows, int *columns)
{
    const int step = way / 2;
    int least = 32;
    while (4 * least < 5 * side)
        least *= 2;
    *rows = (step % 2 ? least / 2 * 3 : least) << step / 2;
    *columns = *rows << way % 2;
    return *rows <= (least < 256 ? 1024 : 4 * least);
}

static void *open_image(int64_t size, const double *taps, int64_t side, int way, char text[FFTW_RIVAL_TEXT])
{
    int rows, columns;
    if (!way_of(side, way, &rows, &columns))
        return NULL;
    struct image *const o = checked(calloc(1, sizeof *o));
    *o = (struct image){.size = size, .side = side, .rows = rows, .columns = columns, .bins = columns / 2 + 1};
    o->points = checked(FFTW(alloc_real)((size_t)rows * (size_t)columns));
    o->spectrum = checked(FFTW(alloc_complex)((size_t)rows * (size_t)o->bins));
    o->kernel = checked(FFTW(alloc_complex)((size_t)rows * (size_t)o->bins));
    FFTW(set_timelimit)(0.5);
    o->forward = FFTW(plan_dft_r2c_2d)(rows, columns, o->points, o->spectrum, FFTW_PATIENT);
    o->inverse = FFTW(plan_dft_c2r_2d)(rows, columns, o->spectrum, o->points, FFTW_PATIENT);
    memset(o->points, 0, (size_t)rows * (size_t)columns * sizeof *o->points);
    for (int64_t i = 0; i < side * side; i++)
        o->points[i / side * columns + i % side] = (real)(taps[i] / rows / columns);
    FFTW(execute_dft_r2c)(o->forward, o->points, o->kernel);
    snprintf(text, FFTW_RIVAL_TEXT, "tiles of %d x %d", rows, columns);
    return o;
}

/* Copy the tile whose first pixel is (top, left), with zeros beyond the image's sides. */
static void gather(const struct image *o, const real *image, int64_t top, int64_t left)
{
    const int64_t begin = left < 0 ? -left : 0, end = o->size - left < o->columns ? o->size - left : o->columns;
    for (int64_t y = 0; y < o->rows; y++) {
        real *const row = o->points + y * o->columns;
        if (top + y < 0 || top + y >= o->size) {
            memset(row, 0, (size_t)o->columns * sizeof *row);
            continue;
        }
        memset(row, 0, (size_t)begin * sizeof *row);
        memcpy(row + begin, image + (top + y) * o->size + left + begin, (size_t)(end - begin) * sizeof *row);
        memset(row + end, 0, (size_t)(o->columns - end) * sizeof *row);
    }
}

static void multiply(const struct image *o)
{
    FFTW(complex) *const restrict a = o->spectrum;
    const FFTW(complex) *const restrict b = o->kernel;
    for (int64_t i = 0; i < (int64_t)o->rows * o->bins; i++) {
        const real re = a[i][0] * b[i][0] - a[i][1] * b[i][1];
        a[i][1] = a[i][0] * b[i][1] + a[i][1] * b[i][0];
        a[i][0] = re;
    }
}

/* Store the outputs of the tile whose outputs begin at (top, left). */
static void scatter(const struct image *o, real *out, int64_t top, int64_t left)
{
    const int64_t hop_rows = o->rows - o->side + 1, hop_columns = o->columns - o->side + 1;
    const int64_t height = o->size - top < hop_rows ? o->size - top : hop_rows;
    const int64_t width = o->size - left < hop_columns ? o->size - left : hop_columns;
    for (int64_t y = 0; y < height; y++)
        memcpy(out + (top + y) * o->size + left, o->points + (y + o->side - 1) * o->columns + o->side - 1,
               (size_t)width * sizeof *out);
}

static void run_image(const void *op, const void *image, void *out)
{
    const struct image *const o = op;
    const int64_t reach = (o->side - 1) / 2;
    for (int64_t top = 0; top < o->size; top += o->rows - o->side + 1)
        for (int64_t left = 0; left < o->size; left += o->columns - o->side + 1) {
            gather(o, image, top - reach, left - reach);
            FFTW(execute)(o->forward);
            multiply(o);
            FFTW(execute)(o->inverse);
            scatter(o, out, top, left);
        }
}

static void close_image(void *op)
{
    struct image *const o = op;
    FFTW(destroy_plan)(o->forward);
    FFTW(destroy_plan)(o->inverse);
    FFTW(free)(o->points);
    FFTW(free)(o->spectrum);
    FFTW(free)(o->kernel);
    free(o);
}

const struct fftw_image_rival RIVAL = {open_image, run_image, close_image};
