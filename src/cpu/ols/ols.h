/* ols.h - overlap-save filtering on the CPU: the methods, the sizes that follow from a spec, and a segment in a thread's hands.
 *
 *     segment s of a block     |<- n_taps - 1 ->|<------- hop outputs ------->|        `length` working samples
 *                              |<- n_taps - 1 ->| before |<--- hop --->| after |       where outputs are interpolated
 *
 * "Sums" are the samples of the filtered series that a segment computes, before + hop + after of them. What signal/post.h
 * makes of them is made in the segment, while they are in the caches, so that no output depends on how a block is cut.
 *
 * There are three methods. DIRECT sums in the time domain. COMPLEX transforms a segment as complex points. PACKED takes a
 * real segment as half as many complex points z[j] = x[2j] + i x[2j+1] with transform Z; with the transforms E and O of the
 * filter's even and odd taps and W = exp(-2 pi i / points), the filtered segment, packed alike, has the transform
 *
 *     A[k] Z[k] + B[k] conj(Z[-k]),    A[k] = E[k] + i/2 (1 - W^k) O[k],    B[k] = i/2 (1 + W^k) O[k],
 *
 * so that spectra are never separated, and no channel or segment needs a partner.
 *
 * Transforms with large prime factors are slow, and their errors several times as large. So a segment of such a length,
 * which only a user asks for, is followed by zeros up to the next better length.
 *
 * The files of this folder, each of which calls only those before it: choose (sizes), bank (spectra and taps), samples (into a
 * thread's memory and out of it), post (what is made of the sums), search (what is found in them), ols (a block, segment by
 * segment). */
#pragma once

#include "cpu/crossings.h"
#include "cpu/lanes.h"
#include "cpu/op.h"

/* ---- sizes (choose.c) -------------------------------------------------------------------------------------------- */

/* Channels worked on together where time is slow: 16 samples of float32 are a cache line of output. */
#define LW_CPU_TILE_CHANNELS 16

enum lw_cpu_ols_method { LW_CPU_OLS_DIRECT, LW_CPU_OLS_COMPLEX, LW_CPU_OLS_PACKED };

/* What follows from a spec and a segment length. */
struct lw_cpu_ols_shape {
    const struct lw_cpu_kernels *kernels;
    enum lw_cpu_ols_method method;
    int width;                  /* reals of a working sample */
    int series_width;           /* and of a sample of the filtered series */
    int64_t n_filters, n_taps;  /* n_taps: with a derivative that is folded in */
    int64_t before, after;      /* samples of the series that interpolation needs beyond a segment's own `hop` */
    int rate;                   /* outputs made of a sample of the series */
    int64_t length, hop;
    int64_t halo;               /* samples that a segment needs before those of its outputs */
    int64_t turned;             /* DIRECT: reals from a sample to its copy turned by i in one buffer, which complex taps need */
    int64_t points;             /* of the complex transform, which may reach beyond the segment; 0: none */
    int64_t tile;               /* channels worked on together: more than one only where time is slow */
    bool widens, narrows;       /* real samples in complex arithmetic: on the way in, and on the way out */
};

/** @param segment  FFT length, 0: direct */
struct lw_cpu_ols_shape lw_cpu_ols_shape(const struct lw_op_spec *spec, int segment);

/** Choose method and segment length: see op_plan of engine/engine.h. */
int lw_cpu_ols_plan(const struct lw_op_spec *spec, struct lw_op_plan *plan, struct lw_error *err);

/* ---- the filters as the method wants them: transformed once, in double precision (bank.c) ----------------------------- */

/* Owned by whoever created them. */
struct lw_cpu_filters {
    void *data;                 /* DIRECT: [n_filters x n_terms] reals; else spectra, prescaled by 1 / points, in
                                   the transform's order: COMPLEX [n_filters x points] complex, PACKED [n_filters][A, B]
                                   [points] complex */
    int64_t *offsets;           /* DIRECT: [n_terms] */
    int64_t n_terms;
    int64_t stride;             /* reals from one filter to the next */
    int *exponents;             /* [n_filters]: outputs are still to be multiplied by 2^exponent */
    double *ends;               /* where a derivative is folded in: [n_filters x (n_taps - 1)], the filters for the
                                   axis' two ends; else NULL */
};

int64_t lw_cpu_filters_bytes(const struct lw_cpu_ols_shape *shape, const struct lw_ols_spec *ols);
int lw_cpu_filters_create(const struct lw_cpu_ols_shape *shape, const struct lw_ols_spec *ols,
                          struct lw_cpu_filters *out, struct lw_error *err);
void lw_cpu_filters_release(struct lw_cpu_filters *filters);

/* ---- an operation, and what one of its threads works in ---------------------------------------------------------------- */

/* Rows of a tile that are converted and transposed at a time. */
#define LW_CPU_PANEL_ROWS 64

/* Outputs of a channel that are interpolated at a time; where time is slow, no more than the rows of a panel. */
#define LW_CPU_POST_OUTPUTS 1024

/* From channel to channel of a tile, in a lane's buffers. In reals; with one filter a channel is done before the next needs the
 * spectrum, and `z` is 0. */
struct lw_cpu_ols_strides {
    int64_t x, y, z;
    int64_t post;               /* interpolated outputs, some at a time; 0: none */
    int64_t best_values, best_strengths, best_filters;  /* bytes; 0: not wanted */
    int64_t touched;            /* likewise */
};

/* What one thread works in. */
struct lw_cpu_ols_lane {
    struct lw_cpu_lane base;
    char *x;                    /* samples; then, for PACKED, the mirrored spectrum */
    char *z;                    /* spectrum */
    char *y;                    /* outputs of one filter; where there is no other, in the place of the samples */
    char *product, *work, *panel;
    char *post;                 /* interpolated outputs */
    char *best;                 /* of a tile's channels: values, then what they are compared by, then their filters */
    uint8_t *touched;           /* per sum: whether a tap touches a sample that is not finite */
    int exponents[LW_CPU_TILE_CHANNELS]; /* per channel of the tile: samples were divided by 2^exponent */
    bool is_blanked[LW_CPU_TILE_CHANNELS];
    struct lw_cpu_found found;
};

struct lw_cpu_ols {
    struct lw_cpu_lanes lanes;  /* of struct lw_cpu_ols_lane */
    struct lw_op_spec spec;
    struct lw_op_plan plan;
    struct lw_cpu_ols_shape shape;
    struct lw_cpu_filters filters;
    struct lw_cpu_fft *fft;     /* NULL: direct */
    struct lw_cpu_ols_strides strides;
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

/* One segment of one tile of channels of a block, in the lane of the thread that works on it. */
struct lw_cpu_segment {
    const struct lw_cpu_ols *ols;
    const struct lw_cpu_work *work;
    const struct lw_slot *slot;
    struct lw_cpu_ols_lane *lane;
    int64_t first, n_outputs;           /* samples of the series on the axis of the block that it owns. The first is negative before
                                           the block, and at least its `count` after it */
    int64_t n_sums;                     /* that it computes */
    int64_t n_samples;                  /* working samples that the block holds; beyond them zeros */
    int64_t channel;
    int n_channels;
};

static inline void *lw_cpu_real_at(const struct lw_cpu_ols *ols, void *buffer, int64_t real)
{
    return (char *)buffer + (size_t)real * ols->shape.kernels->real_bytes;
}

/* Samples of channel c of the tile. */
static inline void *lw_cpu_x(const struct lw_cpu_segment *s, int c)
{
    return lw_cpu_real_at(s->ols, s->lane->x, c * s->ols->strides.x);
}

/* Whether a segment's outputs are the block's own. */
static inline bool lw_cpu_segment_is_own(const struct lw_cpu_segment *s)
{
    return s->first >= 0 && s->first < s->slot->block.count;
}

/* Whether they are stored. */
static inline bool lw_cpu_segment_is_put(const struct lw_cpu_segment *s)
{
    return s->work->products & LW_FILTERED && lw_cpu_segment_is_own(s);
}

/* ---- samples into a lane, and outputs out of it (samples.c) ------------------------------------------------------------ */

/** Convert a segment's samples into the lane's x, transposed where time is slow. */
void lw_cpu_segment_load(const struct lw_cpu_segment *s);

/** Count the block's own samples that are not finite, as many of them as the segment has outputs, where they are not the
 * segment's own. Overwrites x. */
void lw_cpu_segment_count(const struct lw_cpu_segment *s);

/** Make channel c's samples finite and of a magnitude that the transforms can take; zeros beyond the block. */
void lw_cpu_segment_condition(const struct lw_cpu_segment *s, int c);

/** Undo that on channel c's outputs: scale them back, put NaN where samples were not finite, and drop the imaginary parts of
 * real outputs. */
void lw_cpu_segment_finish(const struct lw_cpu_segment *s, int filter, int c, void *y);

/* Outputs of a segment on their way into the slot. */
struct lw_cpu_segment_outputs {
    int filter;
    int64_t first, count;       /* outputs on the axis of the block's output */
    void *y;                    /* of the tile's first channel */
    int64_t pitch;              /* reals to those of the next */
    bool squares;               /* to be squared in the stored type, float64 */
};

/** Convert outputs of a segment and put them into the slot. */
void lw_cpu_segment_store(const struct lw_cpu_segment *s, const struct lw_cpu_segment_outputs *outputs);

/** Ask for the memory of outputs that are about to be computed, if they are stored and lie one after the other. */
void lw_cpu_segment_fetch(const struct lw_cpu_segment *s, int filter);

/** Where an output of a slot is stored. @param channel, output  of the block */
char *lw_cpu_output_at(const struct lw_cpu_ols *ols, const struct lw_slot *slot, int filter, int64_t channel, int64_t output);

/* ---- what signal/post.h makes of a segment's sums (post.c) ------------------------------------------------------------- */

/** Bytes of lw_cpu_post_create; 0: nothing is to be made of the series. */
int64_t lw_cpu_post_bytes(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape);

/** *out stays NULL where nothing is to be made of the series. */
int lw_cpu_post_create(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape, struct lw_cpu_post **out,
                       struct lw_error *err);
void lw_cpu_post_destroy(struct lw_cpu_post *post);         /* NULL is legal */

/** Make the outputs of a filter of a segment and put them into the slot.
 * @param outputs  the series, thinned out if that is asked for; where it is interpolated, as the sums are. Overwritten */
void lw_cpu_segment_post(const struct lw_cpu_segment *s, struct lw_cpu_segment_outputs *outputs);

/** Overwrite the first and the last output of the axis, if the block has them, where a derivative is folded in. What the
 * output's type loses of them counts in the lane. */
void lw_cpu_post_ends(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane, const struct lw_slot *slot);

/* ---- what signal/search.h makes of a segment's sums (search.c) ---------------------------------------------------------
 *
 *     per block:  lw_cpu_search_begin -> its segments -> lw_cpu_search_end
 *     a segment:  lw_cpu_segment_search_begin -> lw_cpu_segment_search, per filter and channel -> lw_cpu_segment_search_end
 *
 * A block of statistics that lies in one segment is measured there. Of one that is cut by seams, each segment measures its piece,
 * a cell, and the cells are added up in their order when all segments are done: so the sums do not depend on who makes them. */

/** Bytes of lw_cpu_search_create; 0: nothing is searched. */
int64_t lw_cpu_search_bytes(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape, const struct lw_op_plan *plan,
                            const struct lw_cpu_op_size *size);

/** *out stays NULL where nothing is searched. The spec's noise is copied. */
int lw_cpu_search_create(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape, const struct lw_op_plan *plan,
                         const struct lw_cpu_op_size *size, struct lw_cpu_search **out, struct lw_error *err);
void lw_cpu_search_destroy(struct lw_cpu_search *search);   /* NULL is legal */

void lw_cpu_search_begin(const struct lw_cpu_ols *ols, struct lw_slot *slot);
void lw_cpu_segment_search_begin(const struct lw_cpu_segment *s);

/** @param y  the sums of channel c of the tile, as lw_cpu_segment_finish leaves them */
void lw_cpu_segment_search(const struct lw_cpu_segment *s, int filter, int c, const void *y);
void lw_cpu_segment_search_end(const struct lw_cpu_segment *s);

/** Add up the cells, by all threads, and set the slot's number of crossings. */
void lw_cpu_search_end(const struct lw_cpu_work *work, const struct lw_slot *slot);
