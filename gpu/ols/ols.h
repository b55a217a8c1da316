/* ols.h - what the operation `ols` keeps, and the steps of a block that the series (ols.c) and what is sought in it (search.c)
 * share. C. */
#pragma once

#include "gpu/host/op.h"
#include "gpu/ols/long/method.h"
#include "gpu/ols/repair_nan.h"

/* One of the two plans is in use. */
struct lw_ols_resolved {
    bool is_long;
    struct lw_cuda_ols_plan kernel;
    struct lw_long_ols_plan long_plan;
};

struct lw_ols_state {
    struct lw_ols_resolved resolved;
    void *memory;                   /* device: the kernel's bank, or all that the long path keeps; then: */
    void *weights;                  /* of interpolation */
    void *ends;                     /* filters for the ends of a derivative that is folded in */
    void *scales, *strengths;       /* of a search */
    struct lw_post_args post;
    struct lw_long_ols *long_ols;   /* NULL: a kernel does it */
};

/* Outputs of the series that are computed together: whole units on the axis, but where the axis ends. */
struct lw_ols_piece {
    int64_t first, count;           /* on the axis */
    int64_t channel, n_channels;    /* of the block */
    int64_t skip;                   /* samples of a channel of the block's input before the first that is needed */
    int64_t more, pitch;            /* of a search, see struct lw_cuda_ols_block */
};

/** Bytes of the series of all filters as it is computed, for so many outputs. */
int64_t lw_ols_series_bytes(const struct lw_op_spec *spec, int64_t count, int64_t n_channels);

/** Enqueue the filtering of a piece, for its series or for what is sought in it (see struct lw_cuda_ols_search).
 * @param output  packed as struct lw_slot says, with the piece's count and channels
 * @param search  NULL, or instead of `output` */
int lw_ols_filter(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece, void *output,
                  const struct lw_cuda_ols_search *search, struct lw_error *err);

/** What marks those of a piece's outputs whose taps touch what is not a number. */
struct lw_repair lw_ols_repair(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece,
                               void *output);

/** Enqueue the marking of a piece's outputs whose taps touch what is not a number; none with lw_op_spec.nan ZERO.
 * @param is_silent  such samples are not reported */
int lw_ols_mark(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece, void *output,
                bool is_silent, struct lw_error *err);

/* ---- search.c ---- */

/** Bytes of the scales that are kept, [stretches][n_channels][n_filters] reals of the computing precision: 1 / (threshold sigma),
 * and 0 where sigma is 0. */
int64_t lw_ols_scales_bytes(const struct lw_op_spec *spec);

/** Make them. @param scales  host */
void lw_ols_scales(const struct lw_op_spec *spec, void *scales);

/** The same for the best filter: 1 / sigma with a factor for each channel, so that the strongest output of a signal of size 1 is of
 * that size; negative where outputs of the negative sign are sought, NaN where sigma is 0. No bytes where it is not wanted. */
int64_t lw_ols_strengths_bytes(const struct lw_op_spec *spec);
void lw_ols_strengths(const struct lw_op_spec *spec, void *strengths);

/** Whether a kernel may find what is wanted. Statistics of blocks need the series. */
bool lw_ols_may_find(const struct lw_op_spec *spec);

/** Bytes of a slot's work memory, where the series is needed, for blocks of at most so many outputs and channels. */
int64_t lw_ols_search_bytes(const struct lw_op_spec *spec, const struct lw_op_plan *plan, int64_t count, int64_t n_channels);

/** Enqueue the search in one block. @param memory  lw_ols_search_bytes of the slot's work memory, where the series is needed */
int lw_ols_search(const struct lw_op *op, const struct lw_cuda_op_block *work, void *memory, struct lw_error *err);

/** Enqueue the search for the crossings of a part of it, whose input is still there. */
int lw_ols_search_again(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_part *part, void *memory,
                        struct lw_error *err);
