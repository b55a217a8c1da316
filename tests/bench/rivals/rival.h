/* rival.h - the interface of rivals in the GPU benchmarks: a table of functions. cuFFT's rivals are part of the benchmarks;
 * others are shared libraries that rivals/build.sh makes, each with one table named `rival`. A rival knows several ways: steps
 * (segment lengths, tile sizes), in rising order, and choices in each step. The benchmark takes the fastest way of each case. */
#pragma once

#include <cuda_runtime.h>
#include <stdint.h>

/* Overlap-save: y[f][i] = sum_m taps[f][m] x[n_taps - 1 + i - m], i < count. */
struct RivalOls {
    bool real, is_double;       /* real: signal and taps are real, otherwise complex */
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

/* Bytes that count as a megabyte of work space. Tests on small signals make it smaller, so that these are done in chunks, too. */
#ifndef RIVAL_MEGABYTE
#define RIVAL_MEGABYTE 1e6
#endif

template <class Case> struct RivalOf {
    const char *name;
    bool ascending;             /* whether longer steps beyond the best one only get slower */
    bool may_capture;           /* whether a graph may capture the calls: cuFFT refuses that if there are callbacks */

    /* Open a way. One way is open at a time. NULL: no such choice in this step, or, for choice 0, no such step.
     * taps: device, double; text: description of the way, for the record */
    void *(*open)(const Case *, int step, int choice, const double *taps, cudaStream_t stream, char text[RIVAL_TEXT]);
    /* Run it. ols: x begins with n_taps - 1 samples of halo; beyond the signal's end lies readable memory of any values */
    void (*run)(void *, const void *x, void *y, cudaStream_t stream);
    void (*close)(void *);
};

typedef struct RivalOf<struct RivalOls> OlsRival;
typedef struct RivalOf<struct RivalImage> ImageRival;
