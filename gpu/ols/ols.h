/* ols.h - state of the operation `ols` of the CUDA engine, and the steps of a block that ols.c and search.c share. C.
 *
 *     input -> filter (kernels/kernels.h; if no kernel holds it, long/long.h) -> series -> marked, thinned out, converted -> result
 *                                                                           \-> crossings, best filter, statistics of blocks
 *
 * repair_nan.h treats samples that are not finite, ends.h the two ends of a derivative, find.h searches a stored series. */
#pragma once

#include "gpu/host/op.h"
#include "gpu/ols/long/method.h"
#include "gpu/ols/repair_nan.h"

/* The path that computes an operation: `long_plan` is used if is_long, else `kernel`. */
struct lw_ols_resolved {
    bool is_long;
    struct lw_cuda_ols_plan kernel;
    struct lw_long_ols_plan long_plan;
};

struct lw_ols_state {
    struct lw_ols_resolved resolved;
    void *memory;                   /* device: bank of the kernel or memory of the long path; the next four pointers lead into it */
    void *weights;                  /* weights of the interpolation */
    void *ends;                     /* filters for both ends of the axis, with a derivative that is folded into the filters */
    void *scales, *strengths;       /* scales of a search, see lw_ols_scales and lw_ols_strengths */
    struct lw_post_args post;
    struct lw_long_ols *long_ols;   /* NULL if a kernel does the filtering */
};

/* Outputs of the series that are computed together: whole units of the grid, except at the end of the axis. */
struct lw_ols_piece {
    int64_t first, count;           /* range of outputs on the axis */
    int64_t channel, n_channels;    /* first channel, counted from the block's first; number of channels */
    int64_t skip;                   /* samples per channel of the block's input that come before the first one needed */
    int64_t more, pitch;            /* search only: see more and best_pitch of struct lw_cuda_ols_block */
};

/** Return the bytes of the series of all filters in the computing precision, for `count` outputs of n_channels channels. */
int64_t lw_ols_series_bytes(const struct lw_op_spec *spec, int64_t count, int64_t n_channels);

/** Enqueue the filtering of a piece: store its series, or search it (struct lw_cuda_ols_search).
 * @param output  device, packed as struct lw_slot describes, with the piece's count and channels
 * @param search  NULL to store the series; else the search, and `output` is not used */
int lw_ols_filter(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece, void *output,
                  const struct lw_cuda_ols_search *search, struct lw_error *err);

/** Return the repair (repair_nan.h) of those outputs of a piece whose taps touch a sample that is not finite. */
struct lw_repair lw_ols_repair(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece,
                               void *output);

/** Enqueue the marking (as NaN) of those outputs of a piece whose taps touch a sample that is not finite. Does nothing if
 * lw_op_spec.nan is ZERO.
 * @param is_silent  do not report these samples */
int lw_ols_mark(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece, void *output,
                bool is_silent, struct lw_error *err);

/* ---- search.c ---- */

/** Return the bytes of the scales, [stretches][n_channels][n_filters] reals: 1 / (threshold sigma), and 0 where sigma is 0. */
int64_t lw_ols_scales_bytes(const struct lw_op_spec *spec);

/** Compute the scales. @param scales  host */
void lw_ols_scales(const struct lw_op_spec *spec, void *scales);

/** Bytes and values of the scales for the best filter. A scale is 1 / sigma, times a factor for each channel that makes the
 * strongest output of a signal of size 1 have size 1. It is negative where outputs of the negative sign are sought, and NaN where
 * sigma is 0. There are 0 bytes if the best filter is not wanted. */
int64_t lw_ols_strengths_bytes(const struct lw_op_spec *spec);
void lw_ols_strengths(const struct lw_op_spec *spec, void *strengths);

/** Return whether a kernel may do the search itself. Statistics of blocks need the stored series. */
bool lw_ols_may_find(const struct lw_op_spec *spec);

/** Return the bytes of a slot's work memory for a search in the stored series of blocks of at most this size. */
int64_t lw_ols_search_bytes(const struct lw_op_spec *spec, const struct lw_op_plan *plan, int64_t count, int64_t n_channels);

/** Enqueue the search in one block.
 * @param memory  part of the slot's work memory, lw_ols_search_bytes long; not used if the kernel does the search itself */
int lw_ols_search(const struct lw_op *op, const struct lw_cuda_op_block *work, void *memory, struct lw_error *err);

/** Enqueue the search for the crossings of a part of a block whose input is still on the device. */
int lw_ols_search_again(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_part *part, void *memory,
                        struct lw_error *err);
