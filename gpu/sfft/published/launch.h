/* launch.h - the published sparse transform's data on the device, and the launchers of its kernels. C and CUDA C.
 *
 * All launchers enqueue on a stream and launch nothing for zero work. Every sum is taken in a fixed order, a bucket's by one thread
 * in that of the window, so results depend neither on the way samples are fetched nor on the order of blocks; where a list is
 * filled in any order, it is sorted before it matters. */
#pragma once

#include "base/linkage.h"
#include "sfft/published/published.h"

#include <cuda_runtime_api.h>

struct lw_published_device_loop {
    int64_t sigma, sigma_inverse, tau;
};

/* What a run counts and sums: all 0 at its beginning, and the host's at its end. */
struct lw_published_device_control {
    double median;              /* of the bucket energies of the first loop */
    struct lw_published_figures figures;
    int n_elected;              /* if more than there is room for, no line counts */
    int n_lines;
    int n_reported;             /* of the lines, the strongest */
    int unused;                 /* up to whole 16 bytes, in which it is cleared */
};

/* What lines are sorted by. */
struct lw_published_device_key {
    double energy;
    int64_t frequency;
};

/* What a line, or the mirror image of a real signal's, gives to a bucket of the loop that checks. */
struct lw_published_device_share {
    int64_t frequency;
    double2 value;
    int next;                   /* 1 + the number of another share of that bucket; 0: there is none */
};

/* Everything that kernels need, by value; pointers are to device memory. */
struct lw_published_device {
    int64_t n, n_buckets, half, n_frequencies, n_selected, capacity;
    int n_loops;                /* all, the last one checks */
    int location_loops, n_estimates, votes_needed;
    int is_real;
    int64_t sparsity;
    double min_magnitude;
    double significance;        /* energy that a line must have in a bucket, in variances of its noise */
    double inverse_n;
    int is_power;               /* n and B are powers of two, */
    int bucket_bits, width_bits;        /* and B and n / B are two to these powers */
    int64_t most_shared_bytes;  /* of a block */

    const double **samples;     /* [1] where the signal is: [n] (re, im), or real */
    const double *const *asked; /* [1] pinned memory of the host, the same when a run begins */
    ulonglong2 *cleared;        /* [n_cleared] all that must be 0 when a run begins */
    int64_t n_cleared;

    const struct lw_published_device_loop *loops;   /* [n_loops] */
    const double *taps;                             /* [2 half + 1] */
    int column_bytes;                               /* of each row of B samples, for the bins by columns; 0: those are not made
                                                       so */
    int taps_pitch;                                 /* ceil((2 half + 1) / B), up to whole sectors of 32 bytes */
    const double *bucket_taps;                      /* [n_buckets][taps_pitch] taps of each bucket, for the bins by columns */
    const double2 *roots;                           /* as lw_published_roots makes them, and */
    double2 *between;                               /* [n_loops][n_buckets] work, for lw_published_transform */
    const double *response;                         /* as in struct lw_sfft_window */
    double2 *planes;                                /* [n_loops][n_buckets] */

    double *energies;                               /* [location_loops][n_buckets] */
    int *places;                                    /* [location_loops][n_selected] */
    int64_t n_words;                                /* ceil(n_buckets / 32) */
    unsigned *chosen;                               /* [location_loops][n_words] a bit for each bucket that is among the places */

    struct lw_sfft_line *lines;                     /* [capacity] */
    struct lw_published_device_key *keys;           /* [capacity] of the lines */
    struct lw_published_device_control *control;
    struct lw_published_device_control *outcome;    /* pinned memory of the host: what `control` is at the end */
    struct lw_sfft_line *reported;                  /* [sparsity] likewise, by frequency */

    struct lw_sfft_line *ordered;                   /* [capacity] lines, strongest first, */
    int64_t *frequencies;                           /* [capacity] and theirs */
    struct lw_published_device_share *shares;       /* [capacity][3 or, of a real signal, 6] */
    int *first_shares;                              /* [n_buckets] 1 + the number of a share; 0: none, before the lines are
                                                       shared */
    double *rest;                                   /* [n_buckets] energies that the lines leave in the loop that checks */
    double *sums;                                   /* [3][n_sums] of a block's buckets: energy before and after, and the largest */
    int64_t n_sums;

    int64_t comb, n_residues;                       /* 0: no comb */
    double2 *teeth;                                 /* [comb] */
    double *tooth_energies;                         /* [comb] */
    int *tooth_places;                              /* [n_residues] */
    unsigned char *approved;                        /* [comb] */
};

LW_C_BEGIN

/** What must be 0 is, and *samples = *asked. */
cudaError_t lw_published_begin(const struct lw_published_device *device, cudaStream_t stream);

/** planes = the folded sums of all loops, samples fetched as they are folded: a thread a bucket. */
cudaError_t lw_published_bin_direct(const struct lw_published_device *device, cudaStream_t stream);

/** column_bytes: 0 where bins by columns are impossible or do not pay. */
int lw_published_column_bytes(const struct lw_published_device *device);

/** The same as the direct way, by columns. The signal is aligned to 16 bytes. */
cudaError_t lw_published_bin_columns(const struct lw_published_device *device, cudaStream_t stream);

/** planes = their forward transforms, in place, and energies of the locating loops; where the device has clusters of 8 blocks and
 * lw_published_transforms says so. */
int lw_published_transforms(int64_t n_buckets);
void lw_published_roots(int64_t n_buckets, double2 *roots);     /* on the host: [LW_PUBLISHED_ROOTS(n_buckets)] */
#define LW_PUBLISHED_ROOTS(n_buckets) ((n_buckets) / 8 * 9)
cudaError_t lw_published_transform(const struct lw_published_device *device, cudaStream_t stream);

/** energies of the locating loops, from their transformed planes. */
cudaError_t lw_published_measure(const struct lw_published_device *device, cudaStream_t stream);

/** places = the n_selected largest energies of the locating loops from first_loop on; their bits in `chosen`, all 0 before, are
 * set; and control->median. */
cudaError_t lw_published_select(const struct lw_published_device *device, int first_loop, cudaStream_t stream);

/** teeth = every (n / comb)-th sample from `first` on; after their transform, approved = 1 for the strongest residues. */
cudaError_t lw_published_comb(const struct lw_published_device *device, int64_t first, cudaStream_t stream);
cudaError_t lw_published_approve(const struct lw_published_device *device, cudaStream_t stream);

/** lines = frequencies that fall into chosen buckets of votes_needed loops, are strong in half of the loops, and on whose median a
 * third of them agree, in any order; and their shares of the loop that checks. */
cudaError_t lw_published_find_lines(const struct lw_published_device *device, cudaStream_t stream);

/** The lines are taken out of the loop that checks, as lw_published_check does it: outcome, and `reported`. */
cudaError_t lw_published_check_lines(const struct lw_published_device *device, cudaStream_t stream);

/** Blocks of that many buckets are summed by themselves. */
#define LW_PUBLISHED_SUMMED 256

LW_C_END
