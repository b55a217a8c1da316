/* launch.h - the sparse transform's data on the device, and the launchers of its kernels. C and CUDA C.
 *
 * Everything is normalised: what is measured is scaled by a power of two that brings the largest bucket to about 1, so
 * that squares stay in range and sums can be kept in 64-bit fixed point, which makes them independent of their order. */
#pragma once

#include "base/linkage.h"
#include "base/type.h"
#include "sfft/sfft.h"

#include <cuda_runtime_api.h>
#include <stdint.h>

/* A stage (sfft/stage.h), with what the kernels need at hand. */
struct lw_sfft_device_stage {
    int64_t n, n_buckets;
    double inverse_n, inverse_n_buckets, inverse_n_shifts;
    int64_t sigma, sigma_inverse, tau;
    int64_t half;
    int64_t shift[LW_SFFT_SHIFTS];
    double inverse_shift[LW_SFFT_SHIFTS];           /* 1 / shift; 0 where the shift is 0 */
    int n_shifts, first_plane;
    int window;                 /* number of its window: the attempt */
    int64_t first_bucket;       /* of the stage, among the buckets of all stages, */
    int64_t first_value;        /* among those of all planes, */
    int64_t first_sample;       /* and its samples among the rows of all planes */
    double window_energy;
    double least, spread;       /* energy that a line must have in all its shifts together, and that noise may leave besides
                                 * a part of all: for noise of variance 1 per sample */
    double noise_per_energy;    /* variance of white noise per sample whose bucket energies have the median 1 */
    const double *taps;         /* [2 half + 1], g[i] at i + half */
    const double *response;     /* as in struct lw_sfft_window */
};

/* Where the samples are: a signal on the device, or rows of samples gathered by the host. */
struct lw_sfft_device_signal {
    struct lw_type type;        /* float32 or float64 */
    const void *samples;        /* [n], on the device */
};

/* Some stages, one after another. */
struct lw_sfft_device_range {
    const struct lw_sfft_device_stage *stages;      /* of all attempts, on the device */
    int n_planes;
    int first_stage, end_stage;
    int n_shifts;               /* of each stage but the last, which checks and has one */
    int64_t n_buckets;          /* of each stage of the range */
    int64_t first_value;        /* of its planes, which stand one after another */
    const double2 *roots;       /* [n_buckets] exp(-2 pi i k / B), on the device */
    int has_clusters;           /* of 8 blocks, for the transform */
};

/* What recovery takes and gives, beside the buckets. */
struct lw_sfft_device_result {
    int64_t n_lines, n_found;
    struct lw_sfft_figures figures;
    unsigned long long not_finite;          /* samples of a signal on the device, since the last result */
    int n_rounds, n_steps;                  /* how long it took: of peeling, of the fits */
};

/* What one bucket was found to hold. */
struct lw_sfft_device_candidate {
    double2 amplitude;
    int64_t frequency;
    unsigned long long claim;   /* the least claim of a frequency wins */
    int64_t slot;               /* of its frequency in the table */
    int64_t level;              /* the tolerance that it needs */
};

#define LW_SFFT_DEVICE_ROW 16           /* neighbours of a line in one stage */
#define LW_SFFT_DEVICE_CLUSTER 16       /* most blocks of a cluster, */
#define LW_SFFT_DEVICE_BLOCKS 128       /* and of a grid that works together */
#define LW_SFFT_DEVICE_THREADS 512      /* of a block of recovery */

/* Shared by all threads of recovery. */
struct lw_sfft_device_control {
    unsigned long long largest;             /* of all buckets measured, as bits of a double */
    unsigned long long not_finite;
    unsigned arrivals;                      /* at the barriers of a grid; the fold begins anew */
    int n_lines, n_keys;                    /* n_keys: frequencies in the table, without mirror images */
    int n_of_level[2][4];                   /* candidates of this round, and of the next or the last */
    int n_dropped;
    double noise[LW_SFFT_STAGES];
    double2 partial[4][LW_SFFT_DEVICE_BLOCKS];      /* of sums over the team, by block */
    float energy[2][LW_SFFT_DEVICE_BLOCKS];
};

/* All memory that recovery works in, on the device. n_buckets: of all stages; n_values: of all planes. */
struct lw_sfft_recovery {
    const struct lw_sfft_device_stage *stages;
    int64_t n, sparsity;
    double min_magnitude, tolerance;        /* tolerance: of the windows */
    int is_real;
    int64_t capacity;                       /* lines */
    int table_bits;                         /* the table has 2^table_bits slots: what the attempt at hand needs */

    const double2 *values;                  /* [n_values] measured */
    long long *rest;                        /* [n_values][2] less what has been found; fixed point */
    float *energies;                        /* [n_buckets] mean over shifts of |rest|^2 */
    struct lw_sfft_device_candidate *candidates;    /* each block has a part of its own, as long as it has buckets */

    unsigned long long *key;                /* [slots] frequency + 1; 0 is free */
    unsigned long long *claim;              /* [slots] least of the claims, later rounds first */
    int *line;                              /* [slots] -1: none yet */

    int64_t *frequency[2];                  /* [capacity] lines, and room to sort them */
    double2 *amplitude[2];
    int *keep;                              /* [capacity] */

    /* Of the stages up to that which checks, and their planes; a line's values stand together. */
    int *bucket;                            /* [capacity][stages] nearest */
    double *gain;                           /* [capacity][stages][3] of the left neighbour, it, the right one */
    double2 *phase;                         /* [capacity][planes] */
    int *head;                              /* [n_buckets] first line of a bucket; -1: none */
    int *next;                              /* [capacity][stages] */

    int *row_line;                          /* [capacity][stages][LW_SFFT_DEVICE_ROW] that share buckets with one; -1: none */
    double2 *row_value;                     /* likewise: their products over the planes of the stage */
    double *diagonal;                       /* [capacity] energy that a line of amplitude 1 has in all stages */
    double2 *residue;                       /* [capacity], of the normal equations A x = y, as all that follow */
    double2 *image[2];                      /* A residue, of this step and the last */
    double2 *direction, *direction_image, *direction_image_image;       /* d, A d, A A d */

    struct lw_sfft_device_control *control;
    struct lw_sfft_device_result *result;
    struct lw_sfft_line *lines;      /* [sparsity] */
};

LW_C_BEGIN

/** values[plane][b] = sum over i = b mod B of g[i] x[(sigma (s + i) + tau) mod n], for the planes of a range. Samples
 * that are not finite count as zero.
 * @param rows        samples as the host collected them, (re, im), at stage.first_sample; NULL: take `signal`
 * control->arrivals is set to 0, and of the first range, control->largest.
 * @param control  the number of such samples is added to not_finite */
cudaError_t lw_sfft_fold(const struct lw_sfft_device_range *range, const struct lw_sfft_device_signal *signal,
                         const double2 *rows, double2 *values, struct lw_sfft_device_control *control, cudaStream_t stream);

/** Whether lw_sfft_transform has a kernel for B: 2^a or 3 2^a, in shared memory. */
int lw_sfft_transform_fits(int64_t n_buckets, int shared_bytes);

/** Forward transforms of the planes of a range, in place, and the largest |re| or |im| of all, as bits of a double; largest is
 * raised to it. */
cudaError_t lw_sfft_transform(const struct lw_sfft_device_range *range, double2 *values, unsigned long long *largest,
                              cudaStream_t stream);

/** Only the latter, where cuFFT transforms. */
cudaError_t lw_sfft_largest(const struct lw_sfft_device_range *range, const double2 *values, unsigned long long *largest,
                            cudaStream_t stream);

/* How lw_sfft_recovery_run works on a device. */
struct lw_sfft_recovery_shape {
    int cluster_blocks;         /* that work together: a cluster where there are such, else one; */
    int grid_blocks;            /* where there is more to do, a grid; 0: none larger is possible */
    int most_windows;           /* whose responses find room in a block's shared memory */
};
struct lw_sfft_recovery_shape lw_sfft_recovery_shape_of(int major, int n_multiprocessors, int shared_bytes);

/** lw_sfft_recover with all stages before `check`, and that one to check: to result and lines, both on the device.
 * @param n_buckets  of all stages before `check` */
cudaError_t lw_sfft_recovery_run(const struct lw_sfft_recovery *recovery, int check, int64_t n_buckets,
                                 const struct lw_sfft_recovery_shape *shape, cudaStream_t stream);

LW_C_END
