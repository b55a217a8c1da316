/* launch.h - data of the sparse transform on the device, and the launchers of its kernels. C and CUDA C.
 *
 * All data is normalised: a power of two scales the measured values so that the largest bucket is about 1. Squares then stay in
 * range, and sums fit into 64-bit fixed point, which makes them independent of their order. */
#pragma once

#include "base/linkage.h"
#include "base/type.h"
#include "sfft/sfft.h"

#include <cuda_runtime_api.h>
#include <stdint.h>

/* A stage (sfft/stage.h), with derived values that the kernels need. */
struct lw_sfft_device_stage {
    int64_t n, n_buckets;
    double inverse_n, inverse_n_buckets, inverse_n_shifts;
    int64_t sigma, sigma_inverse, tau;
    int64_t half;
    int64_t shift[LW_SFFT_SHIFTS];
    double inverse_shift[LW_SFFT_SHIFTS];           /* 1 / shift; 0 where the shift is 0 */
    int n_shifts, first_plane;
    int window;                 /* number of its window, which is the attempt's */
    int64_t first_bucket;       /* its first bucket among the buckets of all stages */
    int64_t first_value;        /* its first value among the values of all planes */
    int64_t first_sample;       /* its first sample among the rows of all planes */
    double window_energy;
    double least, spread;       /* least: energy of a line in all its shifts together; spread: energy that noise may leave beside
                                   a fraction of all; both for noise of variance 1 per sample */
    double noise_per_energy;    /* variance per sample of white noise whose bucket energies have the median 1 */
    const double *taps;         /* [2 half + 1], g[i] at i + half */
    const double *response;     /* layout as in struct lw_sfft_window */
};

/* A signal on the device: the alternative to rows of samples that the host has gathered. */
struct lw_sfft_device_signal {
    struct lw_type type;        /* float32 or float64 */
    const void *samples;        /* [n], on the device */
};

/* The stages of one attempt, which are consecutive. */
struct lw_sfft_device_range {
    const struct lw_sfft_device_stage *stages;      /* stages of all attempts, on the device */
    int n_planes;
    int first_stage, end_stage;
    int n_shifts;               /* shifts of each stage, except the last, which checks and has one */
    int64_t n_buckets;          /* buckets of each stage of the range */
    int64_t first_value;        /* start of its planes, which are consecutive */
    const double2 *roots;       /* [n_buckets] exp(-2 pi i k / B), on the device */
    int has_clusters;           /* the device has clusters of 8 blocks, for the transform */
};

/* Results of recovery, beside the lines. */
struct lw_sfft_device_result {
    int64_t n_lines, n_found;
    struct lw_sfft_figures figures;
    unsigned long long not_finite;          /* samples of a signal on the device that are not finite, since the last result */
    int n_rounds, n_steps;                  /* rounds of peeling, steps of the fits */
};

/* The line that one bucket was found to hold. */
struct lw_sfft_device_candidate {
    double2 amplitude;
    int64_t frequency;
    unsigned long long claim;   /* among the claims of a frequency, the least wins */
    int64_t slot;               /* slot of its frequency in the table */
    int64_t level;              /* index of the strictest tolerance that admits it */
};

#define LW_SFFT_DEVICE_ROW 16           /* neighbours of a line in one stage */
#define LW_SFFT_DEVICE_CLUSTER 16       /* most blocks of a cluster */
#define LW_SFFT_DEVICE_BLOCKS 128       /* most blocks of a grid that works together */
#define LW_SFFT_DEVICE_THREADS 512      /* threads of a block of recovery */

/* State that all threads of recovery share. */
struct lw_sfft_device_control {
    unsigned long long largest;             /* largest part of all measured buckets, as bits of a double */
    unsigned long long not_finite;
    unsigned arrivals;                      /* count at the barriers of a grid; the fold resets it */
    int n_lines, n_keys;                    /* n_keys: frequencies in the table, without mirror images */
    int n_of_level[2][4];                   /* candidates of this round, and of the next or the last */
    int n_dropped;
    double noise[LW_SFFT_STAGES];
    double2 partial[4][LW_SFFT_DEVICE_BLOCKS];      /* partial sums over the team, one per block */
    float energy[2][LW_SFFT_DEVICE_BLOCKS];
};

/* All device memory of recovery. n_buckets counts all stages, n_values all planes. */
struct lw_sfft_recovery {
    const struct lw_sfft_device_stage *stages;
    int64_t n, sparsity;
    double min_magnitude, tolerance;        /* tolerance: tolerance of the windows */
    int is_real;
    int64_t capacity;                       /* room for lines */
    int table_bits;                         /* the table has 2^table_bits slots, as many as the current attempt needs */

    const double2 *values;                  /* [n_values] measured values of the buckets */
    long long *rest;                        /* [n_values][2] measured values less the lines found; fixed point */
    float *energies;                        /* [n_buckets] mean over shifts of |rest|^2 */
    struct lw_sfft_device_candidate *candidates;    /* each block has its own part, as long as its number of buckets */

    unsigned long long *key;                /* [slots] frequency + 1; 0 is free */
    unsigned long long *claim;              /* [slots] least of the claims; later rounds are lower */
    int *line;                              /* [slots] number of the line; -1: none yet */

    int64_t *frequency[2];                  /* [capacity] lines, and space to sort them */
    double2 *amplitude[2];
    int *keep;                              /* [capacity] not 0: the line is kept */

    /* The next arrays cover the stages up to the one that checks, and their planes; the values of a line are adjacent. */
    int *bucket;                            /* [capacity][stages] nearest bucket */
    double *gain;                           /* [capacity][stages][3] gains of the left neighbour, the bucket, the right one */
    double2 *phase;                         /* [capacity][planes] phase of the line in a plane */
    int *head;                              /* [n_buckets] first line of a bucket; -1: none */
    int *next;                              /* [capacity][stages] next line of the same bucket; -1: none */

    int *row_line;                          /* [capacity][stages][LW_SFFT_DEVICE_ROW] lines sharing its buckets; -1: none */
    double2 *row_value;                     /* likewise: products with these lines over the stage's planes */
    double *diagonal;                       /* [capacity] energy of a line of amplitude 1 in all stages */
    double2 *residue;                       /* [capacity], of the normal equations A x = y, like the following */
    double2 *image[2];                      /* A residue, for this step and the last */
    double2 *direction, *direction_image, *direction_image_image;       /* d, A d, A A d */

    struct lw_sfft_device_control *control;
    struct lw_sfft_device_result *result;
    struct lw_sfft_line *lines;      /* [sparsity] */
};

LW_C_BEGIN

/** Set values[plane][b] = sum over i = b mod B of g[i] x[(sigma (s + i) + tau) mod n] for the planes of a range. Samples that are
 * not finite count as zero. Resets control->arrivals, and control->largest with the first range.
 * @param rows     samples gathered by the host, (re, im), at stage.first_sample; NULL: read `signal`
 * @param control  not_finite is raised by the number of samples that are not finite */
cudaError_t lw_sfft_fold(const struct lw_sfft_device_range *range, const struct lw_sfft_device_signal *signal,
                         const double2 *rows, double2 *values, struct lw_sfft_device_control *control, cudaStream_t stream);

/** Return whether lw_sfft_transform has a kernel for B: 2^a or 3 2^a, in shared memory. */
int lw_sfft_transform_fits(int64_t n_buckets, int shared_bytes);

/** Transform the planes of a range forward, in place; raise *largest to the largest |re| or |im|, as bits of a double. */
cudaError_t lw_sfft_transform(const struct lw_sfft_device_range *range, double2 *values, unsigned long long *largest,
                              cudaStream_t stream);

/** Only raise *largest, for planes that cuFFT has transformed. */
cudaError_t lw_sfft_largest(const struct lw_sfft_device_range *range, const double2 *values, unsigned long long *largest,
                            cudaStream_t stream);

/* How lw_sfft_recovery_run uses a device. */
struct lw_sfft_recovery_shape {
    int cluster_blocks;         /* blocks for small work: the largest possible cluster; 1 without clusters */
    int grid_blocks;            /* blocks for larger work: a grid; 0: no larger grid is possible */
    int most_windows;           /* windows whose responses fit into a block's shared memory */
};

/** Return the shape for the current device, and allow the recovery kernel its shared memory. */
struct lw_sfft_recovery_shape lw_sfft_recovery_shape_of(int major, int n_multiprocessors, int shared_bytes);

/** Do lw_sfft_recover with all stages before `check`, and that stage as the check. Result and lines stay on the device.
 * @param n_buckets  buckets of all stages before `check` */
cudaError_t lw_sfft_recovery_run(const struct lw_sfft_recovery *recovery, int check, int64_t n_buckets,
                                 const struct lw_sfft_recovery_shape *shape, cudaStream_t stream);

LW_C_END
