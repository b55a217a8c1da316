/* ols.h - overlap-save filtering on the CPU: methods, sizes that follow from a spec, and the work of a thread on a segment.
 *
 *     segment s of a block     |<- n_taps - 1 ->|<------- hop outputs ------->|        `length` working samples
 *                              |<- n_taps - 1 ->| before |<--- hop --->| after |       with interpolation
 *
 * "Sums" are the samples of the filtered series that a segment computes: before + hop + after of them. --post (signal/post.h) is
 * applied in the segment, while the sums are in the caches, so that no output depends on how a block is cut.
 *
 * There are three methods. DIRECT sums in the time domain. COMPLEX transforms a segment as complex points. PACKED takes a real
 * segment as half as many complex points z[j] = x[2j] + i x[2j+1] with transform Z. Let E and O be the transforms of the filter's
 * even and odd taps, and W = exp(-2 pi i / points). The filtered segment, packed alike, has the transform
 *
 *     A[k] Z[k] + B[k] conj(Z[-k]),    A[k] = E[k] + i/2 (1 - W^k) O[k],    B[k] = i/2 (1 + W^k) O[k],
 *
 * so that spectra are never separated, and no channel or segment needs a partner.
 *
 * Transforms with large prime factors are slow, and their errors several times as large. A segment of that length, which only a
 * user asks for, is padded with zeros to the next better length.
 *
 * Arrays (signal/array.h): outputs are normalized, channel by channel, behind the inverse transform (norm.c). A stack's task makes
 * the sums of several segments (stack.c). A lane then holds the spectra of all channels in all segments that the delays reach, a
 * *row* of buffers each.
 *
 * Files of this folder, each of which calls only those before it: choose (sizes), bank (spectra and taps), samples (load and
 * store), norm, post (--post), search, stack, ols (a block, segment by segment). */
#pragma once

#include "cpu/crossings.h"
#include "cpu/lanes.h"
#include "cpu/op.h"

/* ---- sizes (choose.c) -------------------------------------------------------------------------------------------- */

/* Channels in a tile if time is slow: 16 samples of float32 are a cache line of output. */
#define LW_CPU_TILE_CHANNELS 16

/* Most segments of a stack's task, and filters whose sums are made together. */
#define LW_CPU_MOST_RUN 16
#define LW_CPU_MOST_BLOCK 4

/* Outputs that are summed directly at a time because the transform is not exact enough for them. */
#define LW_CPU_EXACT 64

enum lw_cpu_ols_method { LW_CPU_OLS_DIRECT, LW_CPU_OLS_COMPLEX, LW_CPU_OLS_PACKED };

/* Sizes that follow from a spec and a segment length. */
struct lw_cpu_ols_shape {
    const struct lw_cpu_kernels *kernels;
    enum lw_cpu_ols_method method;
    int width;                  /* reals of a working sample */
    int series_width;           /* reals of a sample of the filtered series */
    int64_t n_filters, n_bank;  /* filters held, and of the whole bank */
    int64_t n_taps;             /* taps of a filter, which may have a folded derivative */
    int64_t before, after;      /* samples of the series that interpolation needs beyond a segment's own `hop` */
    int rate;                   /* outputs per sample of the series */
    int64_t length, hop;
    int64_t halo;               /* samples that a segment needs before those of its outputs */
    int64_t turned;             /* DIRECT with complex taps: reals from a sample to its copy times i in the same buffer */
    int64_t points;             /* points of the complex transform, perhaps beyond the segment; 0: none */
    int64_t tile;               /* channels loaded together: several only if time is slow */
    int64_t own;                /* channels with taps of their own; 1: all share them */
    bool keeps;                 /* spectra are kept for several filters */

    /* stacks; else `summed` is 0, and a task has one segment */
    int64_t summed;             /* channels of a stack */
    bool folded;                /* delays are folded into taps: products of spectra are added, and the sum is transformed back */
    int64_t run;                /* segments of a task's outputs */
    int64_t rows;               /* rows of buffers: channels, times segments that a task needs for its delays */
    int64_t block;              /* filters whose sums are made together */
    bool widens, narrows;       /* real samples in complex arithmetic, on the way in; on the way out */
};

/** Return the sizes. @param segment  FFT length, 0: direct */
struct lw_cpu_ols_shape lw_cpu_ols_shape(const struct lw_op_spec *spec, int segment);

/** Choose method and segment length: see op_plan of engine/engine.h. */
int lw_cpu_ols_plan(const struct lw_op_spec *spec, struct lw_op_plan *plan, struct lw_error *err);

/* ---- the filters in the form of the method, made once (bank.c) ---------------------------------- */

/* Filters in the form of a method. The creator owns them. */
struct lw_cpu_filters {
    void *data;                 /* rows of taps: filters, times their channels' own. DIRECT: [rows x n_terms] reals. Else
                                   spectra, prescaled by 1 / points, in the transform's order: COMPLEX [rows x points] complex,
                                   PACKED [rows][A, B][points] complex */
    int64_t *offsets;           /* DIRECT: [n_terms] */
    int64_t n_terms;
    int64_t stride;             /* reals from row to row */
    int *exponents;             /* [rows]: outputs must still be multiplied by 2^exponent */
    double *taps;               /* normalized outputs: [rows of taps][n_exact], in the order of DIRECT; else NULL */
    int64_t n_exact;
    int64_t *exact_offsets;     /* [n_exact] */
    int64_t exact_turned;       /* doubles from a window's sample to its copy times i */
    double *gains;              /* normalized outputs: [rows of taps], bound of |h|'s spectrum; else NULL */
    double *ends;               /* folded derivative: [n_filters x lw_post_end_taps (x 2 if complex)], for the ends; else NULL */
};

int64_t lw_cpu_filters_bytes(const struct lw_cpu_ols_shape *shape, const struct lw_ols_spec *ols);
/** Allocate filters that lw_cpu_filters_fill fills. */
int lw_cpu_filters_create(const struct lw_cpu_ols_shape *shape, const struct lw_ols_spec *ols,
                          struct lw_cpu_filters *out, struct lw_error *err);
void lw_cpu_filters_release(struct lw_cpu_filters *filters);

/** Return the doubles from a sample of LW_CPU_EXACT windows to its copy times i, with those that direct() reads beyond them; 0:
 * outputs are not normalized. */
int64_t lw_cpu_exact_turned(const struct lw_cpu_ols_shape *shape, const struct lw_ols_spec *ols);

/* ---- an operation, and the memory of one of its threads ---------------------------------------------------------------- */

/* Rows of a tile converted and transposed at a time. */
#define LW_CPU_PANEL_ROWS 64

/* Interpolated outputs of a channel made at a time; if time is slow, at most the rows of a panel. */
#define LW_CPU_POST_OUTPUTS 1024

/* Distances from channel to channel of a tile in a lane's buffers, in reals. With one filter all share a spectrum: `z` is 0. */
struct lw_cpu_ols_strides {
    int64_t x, y, z;
    int64_t post;               /* interpolated outputs; 0: none */
    int64_t best_values, best_strengths, best_filters;  /* bytes; 0: not wanted */
    int64_t touched;            /* bytes; 0: not wanted */
    int64_t gains;              /* normalized outputs; else 0 */
    int64_t wide;               /* doubles; normalized outputs; else 0 */
    int64_t sums;               /* stacks: from filter to filter; else 0 */
};

/* Samples of a channel of a segment, as they are in the lane. */
struct lw_cpu_row {
    int exponent;               /* samples were divided by 2^exponent */
    bool is_blanked;            /* `touched` marks outputs that must be NaN */
    double rms, most_gain;      /* normalized outputs: of the samples; the largest gain */
};

/* Work memory of one thread. */
struct lw_cpu_ols_lane {
    struct lw_cpu_lane base;
    char *x;                    /* samples; later, with PACKED, the mirrored spectrum */
    char *z;                    /* spectrum */
    char *y;                    /* outputs of one filter; with a single filter, in place of the samples */
    char *work, *panel;
    char *post;                 /* interpolated outputs */
    char *best;                 /* best outputs of a tile's channels: values, then strengths, then filters */
    uint8_t *touched;           /* 1 for a sum with a tap that touches a sample that is not finite */
    struct lw_cpu_row *rows;
    char *gains;                /* [row][hop] reals: inverse roots of the windows' energies */
    double *wide;               /* [channel of the tile]: samples in double */
    double *energies, *scratch; /* [hop]; for the energies' sums */
    char *quiet;                /* samples, spectrum and outputs of a segment's quiet windows */
    double quiet_rms;           /* rms of those samples */
    int64_t quiet_row;          /* row that they belong to; -1: none */
    double *exact;              /* samples and outputs of LW_CPU_EXACT windows, in double */
    char *sums;                 /* [filter] sums of a task's segments; with folded delays [segment] sums of spectra */
    struct lw_cpu_found found;
};

struct lw_cpu_ols {
    struct lw_cpu_lanes lanes;  /* lanes of struct lw_cpu_ols_lane */
    struct lw_op_spec spec;
    struct lw_op_plan plan;
    struct lw_cpu_ols_shape shape;
    struct lw_cpu_filters filters;
    struct lw_cpu_fft *fft;     /* NULL: direct */
    struct lw_cpu_ols_strides strides;
    struct lw_cpu_post *post;   /* NULL: outputs are stored as they are */
    struct lw_cpu_search *search;       /* NULL: no search */
    enum lw_layout layout;              /* layout of products */
    int64_t lead;                       /* sample of a block with which output 0 of the series begins */
    int first, n_held;                  /* filters of the bank that are held */
};

/** Fill the filters of an operation, whose lanes and transform are ready. Uses the lanes' memory. */
int lw_cpu_filters_fill(struct lw_cpu_ols *ols, const struct lw_ols_part *part, struct lw_error *err);

/* Work on a slot's block: all products, or the crossings of a part of it again. */
struct lw_cpu_work {
    const struct lw_cpu_ols *ols;
    unsigned products;                  /* products in the form of lw_search_products */
    int64_t begin, end;                 /* outputs on the axis that are needed; the first is a segment's first */
    int64_t crossings_begin, crossings_end;     /* those of them that may cross */
    int64_t axis_end;                   /* segments end here at the latest */
    int64_t channel, n_channels;        /* channels of the block */
    int filter, n_filters;
    int64_t n_parts;                    /* tasks that share the filters of a segment */
};

/* One segment of one tile of channels of a block behind some filters, in the lane of the thread that works on it. */
struct lw_cpu_segment {
    const struct lw_cpu_ols *ols;
    const struct lw_cpu_work *work;
    const struct lw_slot *slot;
    struct lw_cpu_ols_lane *lane;
    int64_t first, n_outputs;           /* samples of the series that it owns, on the axis of the block. `first` is negative before
                                           the block, and at least the block's `count` after it */
    int64_t n_sums;                     /* sums that it computes */
    int64_t n_samples;                  /* working samples that the block holds; zeros follow */
    int64_t channel;
    int n_channels;
    int64_t row;                        /* row of buffers of its first channel; stacks: number of an output's segment in its task */
    int filter, filter_end;
    bool counts;                        /* one of the tasks that share a segment counts its samples */
};

static inline void *lw_cpu_real_at(const struct lw_cpu_ols *ols, void *buffer, int64_t real)
{
    return (char *)buffer + (size_t)real * ols->shape.kernels->real_bytes;
}

/* Return the samples and the spectrum of channel c of the tile, what is known of them, and its outputs that are to be NaN. */
static inline void *lw_cpu_x(const struct lw_cpu_segment *s, int c)
{
    return lw_cpu_real_at(s->ols, s->lane->x, (s->row + c) * s->ols->strides.x);
}

static inline void *lw_cpu_z(const struct lw_cpu_segment *s, int c)
{
    return lw_cpu_real_at(s->ols, s->lane->z, (s->row + c) * s->ols->strides.z);
}

static inline struct lw_cpu_row *lw_cpu_row(const struct lw_cpu_segment *s, int c) { return &s->lane->rows[s->row + c]; }

static inline uint8_t *lw_cpu_touched(const struct lw_cpu_segment *s, int c)
{
    return s->lane->touched + (s->row + c) * s->ols->strides.touched;
}

/* Return the row of taps of a filter and channel c of the tile. */
static inline int64_t lw_cpu_taps_row(const struct lw_cpu_segment *s, int filter, int c)
{
    const int64_t own = s->ols->shape.own;
    return filter * own + (own == 1 ? 0 : s->ols->shape.summed > 0 ? s->channel + c : s->slot->block.channel + s->channel + c);
}

/* Return whether a segment's outputs are the block's own. */
static inline bool lw_cpu_segment_is_own(const struct lw_cpu_segment *s)
{
    return s->first >= 0 && s->first < s->slot->block.count;
}

/* Return whether a segment's outputs are stored. */
static inline bool lw_cpu_segment_is_put(const struct lw_cpu_segment *s)
{
    return s->work->products & LW_FILTERED && lw_cpu_segment_is_own(s);
}

/* ---- load and store (samples.c) ---------------------------------------------------------------------------------------- */

/** Convert a segment's samples into the lane's x, transposed if time is slow. */
void lw_cpu_segment_load(const struct lw_cpu_segment *s);

/** Count those of the block's own samples that are not finite, n_outputs of them per segment, if they are not among the segment's
 * own samples. Overwrites x. */
void lw_cpu_segment_count(const struct lw_cpu_segment *s);

/** Transform a row of samples x into z. With DIRECT and complex taps make their copy times i; with PACKED x becomes z's mirror. */
void lw_cpu_forward(const struct lw_cpu_segment *s, void *x, void *z);

/** Filter the n_sums outputs of a row of samples into y. The first n_taps - 1 points of a transform are wrapped.
 * @param row  row of taps @return  the first output */
void *lw_cpu_backward(const struct lw_cpu_segment *s, int64_t row, const void *x, const void *z, void *y);

/** Load n samples from number `first` of a channel of the block on, in the precision of `kernels`, to be made finite. */
void lw_cpu_load_channel(const struct lw_cpu_ols *ols, const struct lw_cpu_kernels *kernels, const struct lw_slot *slot,
                         int64_t channel, int64_t first, int64_t n, void *to);

/** Make channel c's samples finite, of a magnitude that the transforms can take, and zero beyond the block. */
void lw_cpu_segment_condition(const struct lw_cpu_segment *s, int c);

/** Undo the scaling on channel c's outputs, drop the imaginary parts of real outputs, and set those to NaN that touch samples that
 * are not finite. Normalized outputs still lack their gains. */
void lw_cpu_segment_finish(const struct lw_cpu_segment *s, int filter, int c, void *y);

/* Outputs of a segment to be stored in the slot. */
struct lw_cpu_segment_outputs {
    int filter;
    int64_t first, count;       /* range of outputs on the axis of the block's output */
    void *y;                    /* outputs of the tile's first channel */
    int64_t pitch;              /* reals from channel to channel */
    bool squares;               /* square them in the stored type, float64 */
};

/** Convert outputs of a segment and store them in the slot. */
void lw_cpu_segment_store(const struct lw_cpu_segment *s, const struct lw_cpu_segment_outputs *outputs);

/** Prefetch the memory of outputs that are about to be computed, if they are stored contiguously. */
void lw_cpu_segment_fetch(const struct lw_cpu_segment *s, int filter);

/** Return where an output is stored in a slot. @param channel, output  counted in the block */
char *lw_cpu_output_at(const struct lw_cpu_ols *ols, const struct lw_slot *slot, int filter, int64_t channel, int64_t output);

/* ---- normalized outputs (norm.c) ------------------------------------------------------------------------------------------
 *
 * The transform's errors are those of the loudest samples of a segment. Windows that are too quiet beside them are transformed
 * alone, all other samples being 0, and what is still too quiet is summed directly, in double. Levels are taken off before samples
 * are rounded to the computing precision. */

/** Set a row's gains and its samples in the computing precision from those in double, `wide`, which are finite: less a level with
 * DEMEANED. Overwrites `wide`. Counts the segment's own windows whose outputs are 0. */
void lw_cpu_segment_weigh(const struct lw_cpu_segment *s, int c, double *wide);

/** Return the least gain of outputs that the transform is not exact enough for.
 * @param y  outputs as the transform leaves them, without their gains */
double lw_cpu_segment_least_gain(const struct lw_cpu_segment *s, int filter, int c, const void *y);

/** Make the outputs of a filter anew whose gains are `least` or more. */
void lw_cpu_segment_refine(const struct lw_cpu_segment *s, int filter, int c, double least, void *y);

/** Return the gains of channel c's outputs; NULL: outputs are not normalized. */
static inline const void *lw_cpu_gains(const struct lw_cpu_segment *s, int c)
{
    return s->ols->strides.gains == 0 ? NULL : lw_cpu_real_at(s->ols, s->lane->gains, (s->row + c) * s->ols->strides.gains);
}

/** Turn a filter's taps into a template of norm 1, less its mean with DEMEANED. */
void lw_cpu_taps_normalize(enum lw_normalize normalize, double *taps, int64_t n_taps, int parts);

/* ---- --post on a segment's sums (post.c) ------------------------------------------------------------------------------- */

/** Return the bytes of lw_cpu_post_create; 0: there is no --post. */
int64_t lw_cpu_post_bytes(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape);

/** Create the tables of --post; *out stays NULL if there is none. */
int lw_cpu_post_create(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape, struct lw_cpu_post **out,
                       struct lw_error *err);
void lw_cpu_post_destroy(struct lw_cpu_post *post);         /* accepts NULL */

/** Apply --post to the outputs of a filter of a segment, and store them in the slot.
 * @param outputs  the series, already thinned out with decimation; with interpolation, the sums. Overwritten */
void lw_cpu_segment_post(const struct lw_cpu_segment *s, struct lw_cpu_segment_outputs *outputs);

/** Overwrite the axis' first and last output, if the block has them, with a folded derivative. The lane counts losses. */
void lw_cpu_post_ends(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane, const struct lw_slot *slot);

/* ---- search in a segment's sums (signal/search.h, search.c) ------------------------------------------------------------
 *
 *     per block:  lw_cpu_search_begin -> its segments -> lw_cpu_search_end
 *     a segment:  lw_cpu_segment_search_begin -> lw_cpu_segment_search, per filter and channel -> lw_cpu_segment_search_end
 *
 * A block of statistics that lies in one segment is measured there. If seams of segments cut it, each segment measures its piece, a
 * cell, and the cells are added up in their order when all segments are done. So the sums do not depend on the threads. */

/** Return the bytes of lw_cpu_search_create; 0: no search. */
int64_t lw_cpu_search_bytes(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape, const struct lw_op_plan *plan,
                            const struct lw_cpu_op_size *size);

/** Create the search without its noise; *out stays NULL if there is none. */
int lw_cpu_search_create(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape, const struct lw_op_plan *plan,
                         const struct lw_cpu_op_size *size, struct lw_cpu_search **out, struct lw_error *err);
void lw_cpu_search_destroy(struct lw_cpu_search *search);   /* accepts NULL */

/** Take the noise of the filters that the operation is to hold. */
void lw_cpu_search_fill(const struct lw_cpu_ols *ols, const struct lw_ols_part *part);

void lw_cpu_search_begin(const struct lw_cpu_ols *ols, struct lw_slot *slot);
void lw_cpu_segment_search_begin(const struct lw_cpu_segment *s);

/** Search one channel's sums for a filter. @param y  sums of channel c of the tile, after lw_cpu_segment_finish */
void lw_cpu_segment_search(const struct lw_cpu_segment *s, int filter, int c, const void *y);

/** Return whether the search for peaks takes a filter's outputs of channel c strip by strip, so that they are never stored: if
 * nothing else is made of them, and they need no finish. */
bool lw_cpu_segment_is_only_searched(const struct lw_cpu_segment *s, int filter, int c);

/** End the inverse transform that lw_cpu_segment_search would wait for, and search each strip while it is in the caches. */
void lw_cpu_segment_search_strips(const struct lw_cpu_segment *s, int filter, int c);
void lw_cpu_segment_search_end(const struct lw_cpu_segment *s);

/** Let best outputs of other filters compete: join_best of engine/engine.h. @param state  struct lw_cpu_ols */
void lw_cpu_search_join(void *state, struct lw_slot *slot, int64_t first, int64_t n, const void *values, const int32_t *filters);

/** Add up the cells, with all threads, and set the slot's number of crossings. */
void lw_cpu_search_end(const struct lw_cpu_work *work, const struct lw_slot *slot);

/* ---- filtering of a channel, and stacks (stack.c) ------------------------------------------------------------------------ */

/** Prepare channel c for the filters: its spectrum, or with DIRECT and complex taps its copy times i. */
void lw_cpu_segment_prepare(const struct lw_cpu_segment *s, int c);

/** Filter channel c into y. @return  its sums, without gains; NULL if they have been searched and are not needed */
void *lw_cpu_segment_filter(const struct lw_cpu_segment *s, int filter, int c, void *y);

/** Thin out, change and store a filter's outputs. @param y  sums of the tile's first channel. Overwritten */
void lw_cpu_segment_put(const struct lw_cpu_segment *s, int filter, void *y);

/** Make all products of a task with stacks: s has the outputs of all its segments. */
void lw_cpu_segment_stack(const struct lw_cpu_segment *s);
