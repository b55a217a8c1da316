/* rival.h - what convolves beside ours in the GPU benchmarks: a table of functions. cuFFT's stands in the benchmarks; others come
 * as shared libraries that rivals/build.sh makes, each with one table of the name `rival`. A rival knows several ways, of which
 * the benchmark takes the fastest of each case: steps (segment lengths, tile sizes), in rising order, and choices in each step. */
#pragma once

#include <cuda_runtime.h>
#include <stdint.h>

/* Overlap-save: y[f][i] = sum_m taps[f][m] x[n_taps - 1 + i - m], i < count. */
struct RivalOls {
    bool real, is_double;       /* else complex, signal and taps */
    int64_t count, n_taps;
    int n_filters;
};

/* An image, zeros beyond its sides: y[i][j] = sum taps[m][n] x[i + ahead_rows - m][j + ahead_columns - n]. float32. */
struct RivalImage {
    int64_t rows, columns;
    int kernel_rows, kernel_columns;
    int ahead_rows, ahead_columns;
};

enum { RIVAL_TEXT = 96 };

/* Of work space; tests on small signals make it smaller, so that these too are done in chunks. */
#ifndef RIVAL_MEGABYTE
#define RIVAL_MEGABYTE 1e6
#endif

template <class Case> struct RivalOf {
    const char *name;
    bool ascending;             /* steps are worth less and less beyond the best one */
    bool may_capture;           /* in a graph: cuFFT refuses that with callbacks, also to its users */

    /* NULL: no such choice in this step, or with choice 0 no such step. One is open at a time.
     * taps: device, double; text: what it is, for the record */
    void *(*open)(const Case *, int step, int choice, const double *taps, cudaStream_t stream, char text[RIVAL_TEXT]);
    /* ols: x begins with n_taps - 1 samples of halo; beyond the signal's end lies readable memory of any values */
    void (*run)(void *, const void *x, void *y, cudaStream_t stream);
    void (*close)(void *);
};

typedef struct RivalOf<struct RivalOls> OlsRival;
typedef struct RivalOf<struct RivalImage> ImageRival;
