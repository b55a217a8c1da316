/* lane.h - an overlap-save operation, and what one of its threads works in. Opened by cpu/ols/ols.c; cpu/ols/samples.c and
 * cpu/ols/post.c work in it. */
#pragma once

#include "cpu/crossings.h"
#include "cpu/lanes.h"
#include "cpu/ols/bank.h"

/* Rows of a tile that are converted and transposed at a time. */
#define LW_CPU_PANEL_ROWS 64

/* Outputs of a channel that are interpolated at a time; where time is slow, no more than the rows of a panel. */
#define LW_CPU_POST_OUTPUTS 1024

/* Sizes of a lane's buffers, in reals. A tile's channels lie `x` and `y` apart in theirs, and `z` in the spectra;
 * with one filter a channel is done before the next needs the spectrum, and `z` is 0. */
struct lw_cpu_ols_lane_sizes {
    int64_t x, y, z;
    int64_t spectra, product, work, panel;
    int64_t post;               /* interpolated outputs of a channel, some at a time; 0: none */
    int64_t best_values, best_strengths, best_filters;  /* bytes, per channel; 0: not wanted */
    int64_t touched;            /* likewise */
    bool y_is_x;                /* outputs take the place of the samples */
    int64_t total_bytes;
};

/* What one thread works in. */
struct lw_cpu_ols_lane {
    struct lw_cpu_lane base;
    char *x;                    /* samples; then, for PACKED, the mirrored spectrum */
    char *z;                    /* spectrum */
    char *y;                    /* outputs of one filter */
    char *product, *work, *panel;
    char *post;                 /* interpolated outputs */
    char *best;                 /* of a tile's channels: values, then what they are compared by, then their filters */
    uint8_t *touched;           /* per sum: whether a tap touches a sample that is not finite */
    int exponents[LW_CPU_TILE_CHANNELS]; /* per channel of the tile: samples were divided by 2^exponent */
    bool is_blanked[LW_CPU_TILE_CHANNELS];
    struct lw_cpu_found found;
};

struct lw_cpu_search;

struct lw_cpu_ols {
    struct lw_op_spec spec;
    struct lw_op_plan plan;
    struct lw_cpu_ols_shape shape;
    struct lw_cpu_filters filters;
    struct lw_cpu_fft *fft;     /* NULL: direct */
    struct lw_cpu_ols_lane_sizes sizes;
    struct lw_cpu_lanes lanes;  /* of struct lw_cpu_ols_lane */
    struct lw_cpu_post *post;   /* NULL: outputs are stored as they are */
    struct lw_cpu_search *search;       /* NULL: nothing is searched */
};

/* What is computed of a slot's block: all products, or the crossings of a part of it again. */
struct lw_cpu_work {
    const struct lw_cpu_ols *ols;
    unsigned products;                  /* as lw_search_products */
    int64_t begin, end;                 /* outputs on the axis that are needed; the first is a segment's first */
    int64_t crossings_begin, crossings_end;     /* of these, those that may cross */
    int64_t axis_end;                   /* segments end here at the latest */
    int64_t channel, n_channels;        /* of the block */
    int filter, n_filters;
};

/* One segment of one tile of channels of a block. */
struct lw_cpu_segment {
    const struct lw_slot *slot;
    const struct lw_cpu_work *work;
    int64_t first, n_outputs;           /* samples of the series on the axis of the block that it owns. The first is negative before
                                           the block, and at least its `count` after it */
    int64_t n_sums;                     /* that it computes */
    int64_t n_samples;                  /* working samples that the block holds; beyond them zeros */
    int64_t channel;
    int n_channels;
};

struct lw_cpu_ols_lane_sizes lw_cpu_ols_lane_sizes(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape);

/** Open n lanes of ols->sizes, into ols->lanes, which are to be closed whatever the outcome. */
int lw_cpu_ols_lanes_open(struct lw_cpu_ols *ols, int n, struct lw_error *err);

static inline void *lw_cpu_real_at(const struct lw_cpu_ols *ols, void *buffer, int64_t real)
{
    return (char *)buffer + (size_t)real * ols->shape.kernels->real_bytes;
}

/* Channel c of the tile. */
static inline void *lw_cpu_x(const struct lw_cpu_ols *ols, const struct lw_cpu_ols_lane *lane, int c)
{
    return lw_cpu_real_at(ols, lane->x, c * ols->sizes.x);
}

static inline void *lw_cpu_y(const struct lw_cpu_ols *ols, const struct lw_cpu_ols_lane *lane, int c)
{
    return lw_cpu_real_at(ols, lane->y, c * ols->sizes.y);
}

/* The strongest outputs of channel c of the tile. */
static inline struct lw_cpu_best lw_cpu_ols_best(const struct lw_cpu_ols *ols, const struct lw_cpu_ols_lane *lane, int c)
{
    const struct lw_cpu_ols_lane_sizes *const s = &ols->sizes;
    char *const at = lane->best + c * (s->best_values + s->best_strengths + s->best_filters);
    char *const strengths = at + s->best_values, *const filters = strengths + s->best_strengths;
    return (struct lw_cpu_best){at, (double *)(void *)strengths, (int32_t *)(void *)filters};
}

/* Whether a segment's outputs are the block's own. */
static inline bool lw_cpu_segment_is_own(const struct lw_cpu_segment *segment)
{
    return segment->first >= 0 && segment->first < segment->slot->block.count;
}

/* Whether they are stored. */
static inline bool lw_cpu_segment_is_put(const struct lw_cpu_segment *segment)
{
    return segment->work->products & LW_FILTERED && lw_cpu_segment_is_own(segment);
}

static inline void *lw_cpu_z(const struct lw_cpu_ols *ols, const struct lw_cpu_ols_lane *lane, int c)
{
    return lw_cpu_real_at(ols, lane->z, c * ols->sizes.z);
}
