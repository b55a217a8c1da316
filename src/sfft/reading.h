/* reading.h - which samples a rank reads for some stages, in which order and in which pieces. Pure arithmetic.
 *
 *     axis          |.......rank 0.......|.......rank 1.......|
 *     wanted         x    xx x        x    x x   x      xx x       sorted; each belongs to one rank
 *     spans          [x....xx.x]     [x]   [x.x...x]   [xx.x]      joined across short gaps, cut at the longest read
 */
#pragma once

#include "sfft/sfft.h"

/* A sample, and where its value goes. */
struct lw_sfft_wanted {
    int64_t sample;
    int64_t place;                  /* in the stages' rows, all one after another */
};

/* One read, and the wanted samples in it. */
struct lw_sfft_span {
    int64_t first, count;           /* on the axis */
    int64_t begin, end;             /* of the list */
};

struct lw_sfft_samples {
    int64_t total;                  /* of all ranks: length of all rows */
    struct lw_sfft_wanted *wanted;  /* [count], this rank's, sorted; owned */
    int64_t count;
    struct lw_sfft_span *spans;     /* [n_spans]; owned */
    int64_t n_spans;
    int64_t read;                   /* samples in all spans */
};

struct lw_sfft_samples_spec {
    const struct lw_sfft_layout *layout;
    int first_stage, end_stage;
    int rank, n_ranks;
    int64_t gap;                    /* samples between two wanted ones that are rather read than skipped */
    int64_t longest;                /* samples in one span at most */
};

/** `samples` may be released whatever the outcome. */
int lw_sfft_samples_create(const struct lw_sfft_samples_spec *spec, struct lw_sfft_samples *samples, struct lw_error *err);
int64_t lw_sfft_samples_bytes(int64_t count);               /* at most, for a list of so many, sorting included */
void lw_sfft_samples_release(struct lw_sfft_samples *samples);
