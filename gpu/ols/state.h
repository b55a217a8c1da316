/* state.h - what the operation `ols` keeps, and the steps of a block that the series and what is sought in it share. */
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
    void *scales, *strengths;       /* of a search, see gpu/ols/search.h */
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

/** The type in which outputs are computed. */
enum lw_scalar lw_ols_computed_scalar(const struct lw_op_spec *spec);

/** Whether a kernel stores only what is kept of the series. */
bool lw_ols_is_thin(const struct lw_ols_resolved *resolved);

/** Numbers of the series of all filters, for so many outputs, and their bytes as they are computed. */
int64_t lw_ols_output_scalars(const struct lw_op_spec *spec, int64_t count, int64_t n_channels);
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
