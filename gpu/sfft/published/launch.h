/* launch.h - data of the published sparse transform on the device, and the launchers of its kernels. C and CUDA C.
 *
 * All launchers enqueue on a stream, and launch nothing for zero work. Every sum has a fixed order; one thread adds up a bucket in
 * the order of the window. So results depend neither on how samples are loaded nor on the order of blocks. A list that is filled
 * in any order is sorted before its order matters. */
#pragma once

#include "base/linkage.h"
#include "sfft/published/published.h"

#include <cuda_runtime_api.h>

struct lw_published_device_loop {
    int64_t sigma, sigma_inverse, tau;
};

/* Counts and sums of a run. All are 0 when a run begins; they are copied to the host at its end. */
struct lw_published_device_control {
    double median;              /* energy in the first loop that n_louder others exceed: the median of buckets with noise alone */
    struct lw_published_figures figures;
    int n_elected;              /* frequencies elected; no line counts if there are more than there is room for */
    int n_lines;
    int n_reported;             /* number of lines to report, the strongest */
    int unused;                 /* padding to whole 16 bytes, the unit of clearing */
};

/* The key that lines are sorted by. */
struct lw_published_device_key {
    double energy;
    int64_t frequency;
};

/* The share of a line, or of its mirror image in a real signal, in a bucket of the loop that checks. */
struct lw_published_device_share {
    int64_t frequency;
    double2 value;
    int next;                   /* 1 + the number of the next share of the same bucket; 0: none */
};

/* All arguments of the kernels, passed by value; pointers are to device memory. */
struct lw_published_device {
    int64_t n, n_buckets, half, n_frequencies, n_selected, n_louder, capacity;
    int n_loops;                /* number of all loops; the last one checks */
    int location_loops, n_estimates, votes_needed;
    int is_real;
    int64_t sparsity;
    double min_magnitude;
    double significance;        /* energy that a line must have in a bucket, in variances of the bucket's noise */
    double inverse_n;
    int is_power;               /* n and B are powers of two */
    int bucket_bits, width_bits;        /* then log2 of B and of n / B */
    int64_t most_shared_bytes;  /* largest shared memory of a block */

    const double **samples;     /* [1] address of the signal: [n] (re, im), or real */
    const double *const *asked; /* [1] host, pinned: the signal's address for the run that begins */
    ulonglong2 *cleared;        /* [n_cleared] all memory that must be 0 when a run begins */
    int64_t n_cleared;

    const struct lw_published_device_loop *loops;   /* [n_loops] */
    const double *taps;                             /* [2 half + 1] */
    int column_bytes;                               /* bytes per row of B samples that a block takes, for bins by columns; 0:
                                                       bins are made directly */
    int taps_pitch;                                 /* ceil((2 half + 1) / B), rounded up to whole sectors of 32 bytes */
    const double *bucket_taps;                      /* [n_buckets][taps_pitch] taps of each bucket, for bins by columns */
    const double2 *roots;                           /* roots of unity from lw_published_roots */
    double2 *between;                               /* [n_loops][n_buckets] work memory of lw_published_transform */
    const double *response;                         /* window response, layout as in struct lw_sfft_window */
    double2 *planes;                                /* [n_loops][n_buckets] folded sums, later their transforms */

    double *energies;                               /* [location_loops][n_buckets] of the transformed sums */
    int *places;                                    /* [location_loops][n_selected] buckets of largest energy; after the last
                                                       of fewer, -1 */
    int64_t n_words;                                /* ceil(n_buckets / 32) */
    unsigned *chosen;                               /* [location_loops][n_words] a bit per bucket: set if its place is listed */

    struct lw_sfft_line *lines;                     /* [capacity] */
    struct lw_published_device_key *keys;           /* [capacity] sort keys of the lines */
    struct lw_published_device_control *control;
    struct lw_published_device_control *outcome;    /* host, pinned: copy of `control` at the end */
    struct lw_sfft_line *reported;                  /* [sparsity] host, pinned: lines to report, by frequency */

    struct lw_sfft_line *ordered;                   /* [capacity] lines, strongest first */
    int64_t *frequencies;                           /* [capacity] frequencies of `ordered` */
    struct lw_published_device_share *shares;       /* [capacity][3; real signal: 6] */
    int *first_shares;                              /* [n_buckets] 1 + the number of a bucket's first share; 0: none */
    double *rest;                                   /* [n_buckets] energies that the lines leave in the checking loop */
    double *sums;                                   /* [3][n_sums] per block of buckets: energies before, after; largest */
    int64_t n_sums;

    int64_t comb, n_residues;                       /* 0: no comb */
    double2 *teeth;                                 /* [comb] samples of the comb, later their transform */
    double *tooth_energies;                         /* [comb] energies of that transform */
    int *tooth_places;                              /* [n_residues] the strongest residues */
    unsigned char *approved;                        /* [comb] 1: frequencies of this residue may be lines */
};

LW_C_BEGIN

/** Clear what must be 0, and set *samples = *asked. */
cudaError_t lw_published_begin(const struct lw_published_device *device, cudaStream_t stream);

/** Set the planes to the folded sums of all loops. One thread per bucket loads its samples from the signal. */
cudaError_t lw_published_bin_direct(const struct lw_published_device *device, cudaStream_t stream);

/** Most rows n / B of a signal whose bins can be made by columns. */
#define LW_PUBLISHED_MOST_ROWS 1024

/** Return the value of column_bytes for bins by columns; 0 where these are impossible. */
int lw_published_column_bytes(const struct lw_published_device *device);

/** Return whether bins by columns, where they are possible, are faster than direct ones. */
int lw_published_columns_pay(const struct lw_published_device *device);

/** Do lw_published_bin_direct by columns. The signal must be aligned to 16 bytes. */
cudaError_t lw_published_bin_columns(const struct lw_published_device *device, cudaStream_t stream);

/** Transform the planes forward, in place, and set the energies of the locating loops. Only on devices with clusters of 8 blocks,
 * and if lw_published_transforms accepts n_buckets. */
int lw_published_transforms(int64_t n_buckets);
void lw_published_roots(int64_t n_buckets, double2 *roots);     /* roots: host, [LW_PUBLISHED_ROOTS(n_buckets)] */
#define LW_PUBLISHED_ROOTS(n_buckets) ((n_buckets) / 8 * 9)
cudaError_t lw_published_transform(const struct lw_published_device *device, cudaStream_t stream);

/** Set the energies of the locating loops, from their transformed planes. */
cudaError_t lw_published_measure(const struct lw_published_device *device, cudaStream_t stream);

/** Select the n_selected largest energies of each locating loop from first_loop on: set their `places`, their bits in `chosen`
 * (all 0 before), and control->median. */
cudaError_t lw_published_select(const struct lw_published_device *device, int first_loop, cudaStream_t stream);

/** Set the teeth to every (n / comb)-th sample from `first` on; after their transform, approve the strongest residues. */
cudaError_t lw_published_comb(const struct lw_published_device *device, int64_t first, cudaStream_t stream);
cudaError_t lw_published_approve(const struct lw_published_device *device, cudaStream_t stream);

/** Find the lines, in any order, and their shares of the checking loop. A line's frequency falls into chosen buckets of
 * votes_needed loops and is strong in half of the loops; a third of the loops agree on the median. */
cudaError_t lw_published_find_lines(const struct lw_published_device *device, cudaStream_t stream);

/** Subtract the lines from the checking loop, as lw_published_check does; set `outcome` and `reported`. */
cudaError_t lw_published_check_lines(const struct lw_published_device *device, cudaStream_t stream);

/** Buckets that a block sums. */
#define LW_PUBLISHED_SUMMED 256

LW_C_END
