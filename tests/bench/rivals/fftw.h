/* fftw.h - expert convolution on one core with FFTW, to compare with the cpu engine.
 *
 * Samples are real. Each rival has several ways to cut the work, numbered from 0 on: `open` returns NULL after the last way, and
 * a benchmark takes the fastest. Plans are made with FFTW_PATIENT, within half a second. */
#pragma once

#include <stdint.h>

#define FFTW_RIVAL_TEXT 64

/* Overlap-save in single precision: out[f][o] = sum over m of taps[f][m] x[o + n_taps - 1 - m], o < count. */
struct fftw_ols;

/** @param x [count + n_taps - 1]; copied, so that segments can be transformed in place
 * @param taps [n_filters][n_taps]
 * @param text description of the cut */
struct fftw_ols *fftw_ols_open(const float *x, int64_t count, const double *taps, int64_t n_taps, int n_filters, int way,
                               char text[FFTW_RIVAL_TEXT]);
/** @param out  [n_filters][count] */
void fftw_ols_run(const struct fftw_ols *ols, float *out);
void fftw_ols_close(struct fftw_ols *ols);

/* Overlap-save on tiles of an image of size x size pixels with a square kernel of odd side: mode same, zero beyond the sides. */
struct fftw_image_rival {
    /** @param taps  [side][side] */
    void *(*open)(int64_t size, const double *taps, int64_t side, int way, char text[FFTW_RIVAL_TEXT]);
    /** @param image, out [size][size] in the precision of the rival */
    void (*run)(const void *op, const void *image, void *out);
    void (*close)(void *op);
};

extern const struct fftw_image_rival fftw_image_single, fftw_image_double;
