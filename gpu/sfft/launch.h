/* launch.h - data of the sparse transform on the device, and the launchers of its kernels. C and CUDA C.
 *
 * Terms (sfft/sfft.h, sfft/stage.h): an attempt has several stages. A stage permutes the spectrum and folds the windowed signal
 * into B buckets, once for each of its D shifts. The B values of one shift are a plane; the 2 h + 1 samples behind them are a row.
 * A line, one strong coefficient, has the same magnitude in all planes of a stage; its phases between shifts locate it. The last
 * stage of an attempt has one shift and only checks; the others locate. The rest is the measured values less the lines found.
 * Recovery is normalised: a power of two scales the measured values so that the largest bucket is about 1. Squares then stay in
 * range, and sums fit into 64-bit fixed point, which makes them independent of their order. */
#pragma once

#include "sfft/sfft.h"

#include <cuda_runtime_api.h>

/* A stage (sfft/stage.h), with derived values that the kernels need. */
struct lw_sfft_device_stage {
    int64_t n, n_buckets;
    double inverse_n, inverse_n_buckets, inverse_n_shifts;
    int64_t sigma, sigma_inverse, tau;
    int64_t half;
    int64_t shift[LW_SFFT_SHIFTS];
    double inverse_shift[LW_SFFT_SHIFTS];           /* 1 / shift; 0 where the shift is 0 */
    int n_shifts, first_plane;
    int window;                 /* number of its window: the number of its attempt */
    int64_t first_bucket;       /* its first bucket among the buckets of all stages */
    int64_t first_value;        /* its first value among the values of all planes */
    int64_t first_sample;       /* its first sample among the rows of all planes */
    double window_energy;
    double least, spread;       /* least energy that a line needs to be located; energy that noise may leave beside a line;
                                   both over all shifts of a bucket, for noise of variance 1 per sample */
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
    int64_t first_value;        /* first value of the range's planes, which are consecutive */
    const double2 *roots;       /* [n_buckets] exp(-2 pi i k / B), on the device */
    int has_clusters;           /* not 0: lw_sfft_transform may use clusters of up to 8 blocks */
};

/* Results of recovery, beside the lines. */
struct lw_sfft_device_result {
    int64_t n_lines, n_found;
    struct lw_sfft_figures figures;
    unsigned long long not_finite;          /* count of samples not finite in signals on the device, since the last result */
    int n_rounds, n_steps;                  /* rounds of peeling, steps of the fits */
};

/* The line that one bucket was found to hold. */
struct lw_sfft_device_candidate {
    double2 amplitude;
    int64_t frequency;
    unsigned long long claim;   /* this bucket's bid for the frequency (peel.cuh); the least bid wins */
    int64_t slot;               /* slot of its frequency in the hash table `key` */
    int64_t level;              /* index of the strictest of LW_SFFT_TOLERANCE_VALUES that admits it */
};

#define LW_SFFT_DEVICE_ROW 16           /* most lines kept that share buckets with a line in one stage */
#define LW_SFFT_DEVICE_CLUSTER 16       /* most blocks of a cluster */
#define LW_SFFT_DEVICE_BLOCKS 128       /* most blocks of a grid that works together */
#define LW_SFFT_DEVICE_THREADS 512      /* threads of a block of recovery */

/* State that all threads of recovery share. */
struct lw_sfft_device_control {
    unsigned long long largest;             /* largest |re| or |im| of all measured buckets, as bits of a double */
    unsigned long long not_finite;
    unsigned arrivals;                      /* blocks that have arrived at barriers of a grid; fold.cu resets it */
    int n_lines, n_keys;                    /* n_keys: frequencies in the hash table; a real signal's f and n - f are one */
    int n_of_level[2][4];                   /* candidates by tolerance: [round % 2] of this round; the other is reset */
    int n_dropped;
    double noise[LW_SFFT_STAGES];
    double2 partial[4][LW_SFFT_DEVICE_BLOCKS];      /* partial sums, one per block of the team (team.cuh) */
    float energy[2][LW_SFFT_DEVICE_BLOCKS];
};

/* All device memory of recovery. n_buckets counts all stages, n_values all planes. */
struct lw_sfft_recovery {
    const struct lw_sfft_device_stage *stages;
    int64_t n, sparsity;
    double min_magnitude, tolerance;        /* tolerance: largest |G| of a window beyond its reach */
    int is_real;
    int64_t capacity;                       /* most lines that the arrays below hold */
    int table_bits;                         /* the hash table of frequencies has 2^table_bits slots in this attempt */

    const double2 *values;                  /* [n_values] measured values of the buckets */
    long long *rest;                        /* [n_values][2] measured values less the lines found; fixed point */
    float *energies;                        /* [n_buckets] mean over shifts of |rest|^2 */
    struct lw_sfft_device_candidate *candidates;    /* a part per block of the team, an entry for each bucket it searches */

    unsigned long long *key;                /* [slots] hash table: frequency + 1; 0: free */
    unsigned long long *claim;              /* [slots] least claim on the frequency; a later round's claims are lower */
    int *line;                              /* [slots] number of the line; -1: none yet */

    int64_t *frequency[2];                  /* [capacity] lines; sorting copies them from one array to the other */
    double2 *amplitude[2];
    int *keep;                              /* [capacity] not 0: the line is kept */

    /* The next arrays cover the stages up to the one that checks, and their planes; the values of a line are adjacent. */
    int *bucket;                            /* [capacity][stages] nearest bucket */
    double *gain;                           /* [capacity][stages][3] gains of the left neighbour, the bucket, the right one */
    double2 *phase;                         /* [capacity][planes] phase of the line in a plane */
    int *head;                              /* [n_buckets] first line of a bucket; -1: none */
    int *next;                              /* [capacity][stages] next line of the same bucket; -1: none */

    int *row_line;                          /* [capacity][stages][LW_SFFT_DEVICE_ROW] lines with buckets in common; -1: none */
    double2 *row_value;                     /* likewise: entries of M (fit.cuh) for these lines, summed over the stage's planes */
    double *diagonal;                       /* [capacity] energy of a line of amplitude 1 in all stages */
    double2 *residue;                       /* [capacity], like the next ones: residue A* u - M x (fit.cuh) */
    double2 *image[2];                      /* M times the residue, for this step and the last */
    double2 *direction, *direction_image, *direction_image_image;       /* d, M d, M M d */

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

/** Raise *largest likewise, for planes that cuFFT has transformed. */
cudaError_t lw_sfft_largest(const struct lw_sfft_device_range *range, const double2 *values, unsigned long long *largest,
                            cudaStream_t stream);

/* How lw_sfft_recovery_run uses a device. */
struct lw_sfft_recovery_shape {
    int cluster_blocks;         /* blocks of a team for small work: the largest possible cluster; 1 without clusters */
    int grid_blocks;            /* blocks of a team for larger work: a grid; 0: none larger than a cluster is possible */
    int most_windows;           /* windows whose responses fit into a block's shared memory */
};

/** Return the shape for the current device, and allow the recovery kernel its shared memory. */
struct lw_sfft_recovery_shape lw_sfft_recovery_shape_of(int major, int n_multiprocessors, int shared_bytes);

/** Recover lines as lw_sfft_recover does, from the stages before `check`; that stage checks. Result and lines stay on the device.
 * @param n_buckets  buckets of all stages before `check` */
cudaError_t lw_sfft_recovery_run(const struct lw_sfft_recovery *recovery, int check, int64_t n_buckets,
                                 const struct lw_sfft_recovery_shape *shape, cudaStream_t stream);

LW_C_END
