/* lane.h - inside overlap-save on the CPU: what a thread works in, and how samples come in and outputs go
 * out. */
#ifndef LW_CPU_OLS_LANE_H
#define LW_CPU_OLS_LANE_H

#include "cpu/ols/ols.h"

/* Sizes of a lane's buffers, in reals. A tile's channels lie `x` and `y` apart in theirs, and `z` in the spectra;
 * with one filter a channel is done before the next needs the spectrum, and `z` is 0. */
struct lw_cpu_lane_sizes {
    int64_t x, y, z;
    int64_t spectra, product, work, panel;
    int64_t post;               /* interpolated outputs of a channel, some at a time; 0: none */
    int64_t touched;            /* bytes, per channel */
    bool y_is_x;                /* outputs take the place of the samples */
    int64_t total_bytes;
};

/* Own samples that were not finite, and the earliest of them on the axis. */
struct lw_cpu_tally {
    int64_t n, sample, channel;
};

/* What one thread works in. */
struct lw_cpu_lane {
    char *arena;
    char *x;                    /* samples; then, for HALF, the mirrored spectrum */
    char *z;                    /* spectrum */
    char *y;                    /* outputs of one filter */
    char *product, *work, *panel;
    char *post;                 /* interpolated outputs */
    uint8_t *touched;           /* per sum: whether a tap touches a sample that is not finite */
    int exponents[LW_CPU_TILE_CHANNELS]; /* per channel of the tile: samples were divided by 2^exponent */
    bool is_blanked[LW_CPU_TILE_CHANNELS];
    struct lw_cpu_tally not_finite;     /* of the block so far */
    bool is_out_of_range;               /* some power of the block so far */
    struct lw_loss loss;                /* likewise */
};

struct lw_cpu_ols {
    struct lw_op_spec spec;
    struct lw_cpu_ols_shape shape;
    struct lw_cpu_filters filters;
    struct lw_cpu_fft *fft;     /* NULL: direct */
    struct lw_cpu_lane_sizes sizes;
    int n_lanes;
    struct lw_cpu_lane *lanes;
    struct lw_cpu_post *post;   /* NULL: outputs are stored as they are */
};

/* One segment of one tile of channels of a block. */
struct lw_cpu_segment {
    const struct lw_slot *slot;
    int64_t first, n_outputs;           /* samples of the series on the axis of the block that it owns */
    int64_t n_sums;                     /* that it computes */
    int64_t n_samples;                  /* working samples that the block holds; beyond them zeros */
    int64_t channel;
    int n_channels;
};

/* ---- cpu/ols/lane.c ---- */

/** Segments times tiles of a block. */
int64_t lw_cpu_ols_tasks(const struct lw_cpu_ols_shape *shape, int64_t count, int64_t n_channels);

/** Set ols->sizes and n_lanes, and allocate the lanes. */
int lw_cpu_lanes_open(struct lw_cpu_ols *ols, int64_t count, int64_t n_channels, int n_threads, struct lw_error *err);
void lw_cpu_lanes_close(struct lw_cpu_ols *ols);            /* half-open ones too */

void lw_cpu_tally_add(struct lw_cpu_tally *to, const struct lw_cpu_tally *more);

static inline void *lw_cpu_real_at(const struct lw_cpu_ols *ols, void *buffer, int64_t real)
{
    return (char *)buffer + (size_t)real * ols->shape.kernels->real_bytes;
}

/* Channel c of the tile. */
static inline void *lw_cpu_x(const struct lw_cpu_ols *ols, const struct lw_cpu_lane *lane, int c)
{
    return lw_cpu_real_at(ols, lane->x, c * ols->sizes.x);
}

static inline void *lw_cpu_y(const struct lw_cpu_ols *ols, const struct lw_cpu_lane *lane, int c)
{
    return lw_cpu_real_at(ols, lane->y, c * ols->sizes.y);
}

static inline void *lw_cpu_z(const struct lw_cpu_ols *ols, const struct lw_cpu_lane *lane, int c)
{
    return lw_cpu_real_at(ols, lane->z, c * ols->sizes.z);
}

/* ---- cpu/ols/post.c ---- */

/* Outputs of a channel that are interpolated at a time; where time is slow, no more than the rows of a panel. */
#define LW_CPU_POST_OUTPUTS 1024

/** Bytes of lw_cpu_post_create; 0: nothing is to be made of the series. */
int64_t lw_cpu_post_bytes(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape);
int lw_cpu_post_create(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape, struct lw_cpu_post **out,
                       struct lw_error *err);
void lw_cpu_post_destroy(struct lw_cpu_post *post);         /* NULL is legal */

/** Make the outputs of a filter of a piece from the sums of the tile's channels and put them into the slot.
 * @param y  sums of the first channel; the others lie sizes.y apart. Overwritten */
void lw_cpu_segment_post(const struct lw_cpu_ols *ols, struct lw_cpu_lane *lane, const struct lw_cpu_segment *piece,
                         int filter, void *y);

/** Overwrite the first and the last output of the axis, if the block has them, where a derivative is folded in. */
void lw_cpu_post_ends(const struct lw_cpu_ols *ols, const struct lw_slot *slot);

/* ---- cpu/ols/samples.c ---- */

/** Convert a piece's samples into the lane's x, transposed where time is slow. */
void lw_cpu_segment_load(const struct lw_cpu_ols *ols, struct lw_cpu_lane *lane, const struct lw_cpu_segment *piece);

/** Make channel c's samples finite and of a magnitude that the transforms can take; zeros beyond the block. */
void lw_cpu_segment_condition(const struct lw_cpu_ols *ols, struct lw_cpu_lane *lane, const struct lw_cpu_segment *piece,
                              int c);

/** Undo that on channel c's outputs: the scale, what must be NaN, and imaginary parts that nobody wants. */
void lw_cpu_segment_finish(const struct lw_cpu_ols *ols, const struct lw_cpu_lane *lane, const struct lw_cpu_segment *piece,
                           int filter, int c, void *y);

/* Outputs of a piece on their way into the slot. */
struct lw_cpu_segment_outputs {
    int filter;
    int64_t first, count;       /* outputs on the axis of the block's output */
    void *y;                    /* of the tile's first channel */
    int64_t pitch;              /* reals to those of the next */
    bool squares;               /* to be squared in the stored type, float64 */
};

/** Convert a run of outputs and put them into the slot. */
void lw_cpu_segment_store(const struct lw_cpu_ols *ols, struct lw_cpu_lane *lane, const struct lw_cpu_segment *piece,
                          const struct lw_cpu_segment_outputs *run);

/** Samples [first, first + count) of a channel of a slot's input as working samples. @param x  of the signal's width */
void lw_cpu_slot_load(const struct lw_cpu_ols *ols, const struct lw_slot *slot, int64_t channel, int64_t first,
                      int64_t count, void *x);

/** Convert one output, real or complex as the spec's, and put it into the slot. */
void lw_cpu_slot_store(const struct lw_cpu_ols *ols, const struct lw_slot *slot, int filter, int64_t channel,
                       int64_t output, const void *y);

#endif
