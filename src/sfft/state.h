/* state.h - the inside of struct lw_sfft, for the files that work on it. */
#pragma once

#include "sfft/model.h"
#include "sfft/sfft.h"

/* What one bucket was found to hold. */
struct lw_sfft_candidate {
    int64_t frequency;              /* -1: nothing that could be told */
    double complex amplitude;
};

struct lw_sfft {
    const struct lw_sfft_layout *layout;
    int n_threads;
    double complex *measured[LW_SFFT_PLANES];       /* [B] */
    double complex *rest[LW_SFFT_PLANES];           /* [B] measured less what the model explains */
    struct lw_sfft_model *model;
    double noise_power;                             /* per sample, as estimated so far */

    struct lw_sfft_candidate *candidates;           /* [most buckets of a stage] */
    double *energies;                               /* [most buckets of a stage] */
    int64_t *changed;                               /* [capacity] lines that a step of peeling changed, and by how much */
    double complex *change;                         /* [capacity] */
    bool *keep;                                     /* [capacity] */
    struct lw_sfft_line *lines;                     /* [capacity] */
};

/** Mean over shifts of |rest|^2 in bucket b of a stage. */
double lw_sfft_bucket_energy(const struct lw_sfft *sfft, int stage, int64_t b);

/** Variance that the noise has in a bucket of this stage. */
double lw_sfft_bucket_noise(const struct lw_sfft *sfft, int stage);

/** Look through all buckets of a stage, and move what single lines they hold into the model.
 * @param tolerance  part of a bucket's energy that one line may leave unexplained, beside noise
 * @return lines added or changed */
int64_t lw_sfft_peel(struct lw_sfft *sfft, int stage, double tolerance);
