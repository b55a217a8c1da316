/* fftw_ols.c - overlap-save through FFTW on one core. Real transforms read segments in place; their distances are multiples of a
 * cache line, so that FFTW may use aligned loads. A segment or a batch of segments stays in the caches from its samples to its
 * outputs, and its spectrum is computed once for all filters. */
#include "fftw.h"

#include <fftw3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 16 };                     /* floats of a cache line */

struct fftw_ols {
    int64_t count;
    int n, hop, batch, n_filters;
    int bins;                           /* distance between spectra */
    float *x, *points;                  /* x: the signal after n - hop samples, the first of them zero; points: [batch][n] */
    fftwf_complex *spectra, *products, *bank;       /* [batch][bins], [batch][bins], [n_filters][bins] */
    fftwf_plan forward, inverse;
};

static void *checked(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

/* Segment length and batch of a way. Ways 0, 1, 2 have the least sensible length and one, four and sixteen segments at a time;
 * each next three ways have twice the length. */
static bool way_of(int64_t n_taps, int way, int *n, int *batch)
{
    int least = 256;
    while (least < 2 * (n_taps - 1))
        least *= 2;
    *n = least << way / 3;
    *batch = 1 << 2 * (way % 3);
    return way / 3 < 6;
}

static void transform_taps(struct fftw_ols *o, const double *taps, int64_t n_taps)
{
    const fftwf_plan plan = fftwf_plan_dft_r2c_1d(o->n, o->points, o->spectra, FFTW_ESTIMATE);
    for (int f = 0; f < o->n_filters; f++) {
        memset(o->points, 0, (size_t)o->n * sizeof *o->points);
        for (int64_t m = 0; m < n_taps; m++)
            o->points[m] = (float)(taps[f * n_taps + m] / o->n);
        fftwf_execute_dft_r2c(plan, o->points, o->bank + (int64_t)f * o->bins);
    }
    fftwf_destroy_plan(plan);
}

struct fftw_ols *fftw_ols_open(const float *x, int64_t count, const double *taps, int64_t n_taps, int n_filters, int way,
                               char text[FFTW_RIVAL_TEXT])
{
    int n, batch;
    if (!way_of(n_taps, way, &n, &batch))
        return NULL;
    struct fftw_ols *const o = checked(calloc(1, sizeof *o));
    *o = (struct fftw_ols){.count = count, .n = n, .hop = (int)((n - n_taps + 1) / LINE * LINE), .batch = batch,
                           .n_filters = n_filters, .bins = n / 2 + LINE / 2};
    const int64_t ahead = o->n - o->hop - (n_taps - 1), round = (int64_t)o->hop * batch;
    const int64_t padded = (count + round - 1) / round * round + n;
    o->x = checked(fftwf_alloc_real((size_t)padded));
    memset(o->x, 0, (size_t)padded * sizeof *o->x);
    memcpy(o->x + ahead, x, (size_t)(count + n_taps - 1) * sizeof *x);
    o->points = checked(fftwf_alloc_real((size_t)n * (size_t)batch));
    o->spectra = checked(fftwf_alloc_complex((size_t)o->bins * (size_t)batch));
    o->products = checked(fftwf_alloc_complex((size_t)o->bins * (size_t)batch));
    o->bank = checked(fftwf_alloc_complex((size_t)o->bins * (size_t)n_filters));
    fftwf_set_timelimit(0.5);
    float *const scratch = checked(fftwf_alloc_real((size_t)round + (size_t)n));    /* planning overwrites its arrays */
    o->forward = fftwf_plan_many_dft_r2c(1, &n, batch, scratch, NULL, 1, o->hop, o->spectra, NULL, 1, o->bins,
                                         FFTW_PATIENT | FFTW_PRESERVE_INPUT);
    fftwf_free(scratch);
    o->inverse = fftwf_plan_many_dft_c2r(1, &n, batch, o->products, NULL, 1, o->bins, o->points, NULL, 1, n,
                                         FFTW_PATIENT | FFTW_DESTROY_INPUT);
    transform_taps(o, taps, n_taps);
    snprintf(text, FFTW_RIVAL_TEXT, "N = %d, %d at a time", n, batch);
    return o;
}

/* Compute products = spectra times one filter's spectrum. */
static void multiply(const struct fftw_ols *o, const fftwf_complex *filter)
{
    for (int j = 0; j < o->batch; j++) {
        const fftwf_complex *const restrict a = o->spectra + (int64_t)j * o->bins;
        fftwf_complex *const restrict out = o->products + (int64_t)j * o->bins;
        for (int k = 0; k <= o->n / 2; k++) {
            const float re = a[k][0] * filter[k][0] - a[k][1] * filter[k][1];
            out[k][1] = a[k][0] * filter[k][1] + a[k][1] * filter[k][0];
            out[k][0] = re;
        }
    }
}

void fftw_ols_run(const struct fftw_ols *o, float *out)
{
    for (int64_t first = 0; first < o->count; first += (int64_t)o->batch * o->hop) {
        fftwf_execute_dft_r2c(o->forward, o->x + first, o->spectra);
        for (int f = 0; f < o->n_filters; f++) {
            multiply(o, o->bank + (int64_t)f * o->bins);
            fftwf_execute(o->inverse);
            for (int j = 0; j < o->batch; j++) {
                const int64_t at = first + (int64_t)j * o->hop, left = o->count - at;
                if (left > 0)
                    memcpy(out + f * o->count + at, o->points + (int64_t)j * o->n + o->n - o->hop,
                           (size_t)(left < o->hop ? left : o->hop) * sizeof *out);
            }
        }
    }
}

void fftw_ols_close(struct fftw_ols *o)
{
    fftwf_destroy_plan(o->forward);
    fftwf_destroy_plan(o->inverse);
    fftwf_free(o->x);
    fftwf_free(o->points);
    fftwf_free(o->spectra);
    fftwf_free(o->products);
    fftwf_free(o->bank);
    free(o);
}
