/* beams.h - overlap-save filtering of beams on the CPU. The beams of a block are summed into a buffer with time fast, in the
 * computing precision; an operation of ols/ takes this buffer for its block.
 *
 *     slot->input [channels] -> sums.c (stages of signal/beams.h) -> beams [n][halo + count] -> ols/ -> slot->products
 *
 * The axis goes by in chunks, so that the sums of sub-bands stay near. In a chunk, threads take pieces of some sub-bands, and when
 * all sums of sub-bands are ready, tiles of groups of beams.
 *
 * Samples of 8 and 16 bits whose weights in a beam are all equal are summed as integers, which is exact. Their sums have 16 bits up
 * to LW_BEAMS_MOST_WIDTH channels of 8 bits, else 32. Other samples are converted to reals and summed as such. */
#pragma once

#include "cpu/lanes.h"
#include "cpu/op.h"
#include "cpu/dispatch.h"

/* Sizes that follow from a spec, its plan, and the largest block. */
struct lw_cpu_beams_sizes {
    const struct lw_cpu_kernels *kernels;
    enum lw_cpu_sum stages[3];  /* kinds of sums of the stages */
    bool is_integer, is_plain;  /* sums are integers; a beam's weights are all equal */
    int64_t width;              /* numbers of a sample: 2 if it is complex */
    int64_t channel_bytes, sum_bytes, beam_bytes;   /* bytes of a sample: a channel's, a sum's, a beam's */
    int64_t length;             /* samples of a beam */
    int64_t chunk;              /* samples of a chunk */
    int64_t n_rows, row_bytes;  /* most sums of sub-bands of a chunk, and the distance from one to the next */
    int64_t subbands, channels; /* sub-bands and channels of a piece */
    int64_t pitch;              /* bytes from channel to channel of a piece */
};

/* A sum of a band of a tile: samples from `least` before the tile's own on, as its beams need them. */
struct lw_cpu_band_sum {
    const char *samples;
    int64_t least, most, beam;
};

/* Work memory of one thread. */
struct lw_cpu_beams_lane {
    struct lw_cpu_lane base;
    char *channels;             /* [channels][pitch] of a piece */
    char *panel;                /* rows of stored time, converted */
    uint8_t *touched;
    char *bands;                /* sums of bands of a tile */
    struct lw_cpu_band_sum *sums;   /* [group_sums] */
    int32_t *places;            /* [LW_BEAMS_GROUP][n_bands] number of a beam's sum, -1: none */
    int32_t *numbers;           /* [n] number of the sum of the first beam with a pattern */
    const void **rows;          /* [n_inputs] */
    float *weights;             /* [n_inputs] */
};

struct lw_cpu_beams {
    struct lw_cpu_lanes lanes;  /* lanes of struct lw_cpu_beams_lane */
    struct lw_op_spec spec;
    struct lw_op_plan plan;
    struct lw_cpu_beams_sizes sizes;
    struct lw_beams *shared;
    void *inner;                /* state of the filters behind the beams */
    int64_t inner_halo;
    double *scales;             /* [n] factor of a beam's sum */
    int32_t *biases;            /* [n] what integers less half of their range miss in a beam's sum */
    uint8_t *used;              /* [n_inputs] whether a channel has a weight in some beam */
    char *sums;                 /* [n_rows][row_bytes] sums of sub-bands of a chunk */
    int32_t *least, *most;      /* [n_sums] offsets of a sum in the block; least > most: not used */
    int32_t *row;               /* [n_sums] its row */
    char *beams;                /* [beams of the block][halo + count] */
    const struct lw_slot *formed;       /* slot whose beams these are */
    int64_t begin, count;       /* the chunk */
};

/** Return the sizes. */
struct lw_cpu_beams_sizes lw_cpu_beams_sizes(const struct lw_op_spec *spec, const struct lw_op_plan *plan,
                                             const struct lw_cpu_op_size *size);

/** Lay out a lane. @param memory  NULL: only count the bytes @return  the bytes */
int64_t lw_cpu_beams_lay_out(const struct lw_op_spec *spec, const struct lw_op_plan *plan, const struct lw_cpu_beams_sizes *sizes,
                             char *memory, struct lw_cpu_beams_lane *lane);

/** Make the beams of a slot's block. */
void lw_cpu_beams_form(struct lw_cpu_beams *b, const struct lw_slot *slot);

/** Count the block's own samples that are not finite, in the lanes. */
void lw_cpu_beams_count(struct lw_cpu_beams *b, const struct lw_slot *slot);
