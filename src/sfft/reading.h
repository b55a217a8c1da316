/* reading.h - the samples that a rank needs for some stages, and the pieces in which it reads them. Pure arithmetic.
 *
 *     axis          |.......rank 0.......|.......rank 1.......|
 *     wanted         x    xx x        x    x x   x      xx x       sorted; each belongs to one rank
 *     spans          [x....xx.x]     [x]   [x.x...x]   [xx.x]      joined across short gaps, cut at the longest read */
#pragma once

#include "sfft/sfft.h"

/* A sample that the stages need, and the place of its value. */
struct lw_sfft_wanted {
    int64_t sample;
    int64_t place;                  /* index in the concatenated rows of the stages */
};

/* A span: one contiguous read, and the wanted samples in it. */
struct lw_sfft_span {
    int64_t first, count;           /* first sample on the axis, and number of samples */
    int64_t begin, end;             /* range of its wanted samples in `wanted` */
};

struct lw_sfft_samples {
    int64_t total;                  /* wanted samples of all ranks: the length of all rows together */
    struct lw_sfft_wanted *wanted;  /* [count] this rank's samples, sorted; owned */
    int64_t count;
    struct lw_sfft_span *spans;     /* [n_spans]; owned */
    int64_t n_spans;
    int64_t read;                   /* samples in all spans, wanted or not */
};

struct lw_sfft_samples_spec {
    const struct lw_sfft_layout *layout;
    int first_stage, end_stage;
    int rank, n_ranks;
    int64_t gap;                    /* longest gap between two wanted samples that is read rather than skipped, samples */
    int64_t longest;                /* longest span, samples */
};

/** List the samples and spans of a rank. LW_ESYSTEM: no memory; `samples` must be released even then. */
int lw_sfft_samples_create(const struct lw_sfft_samples_spec *spec, struct lw_sfft_samples *samples, struct lw_error *err);
int64_t lw_sfft_samples_bytes(int64_t count);               /* upper bound for a list of `count`, with sorting */
void lw_sfft_samples_release(struct lw_sfft_samples *samples);
