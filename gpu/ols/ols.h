/* ols.h - state of the operation `ols` of the CUDA engine, and the steps that ols.c, search.c and gpu/array share. C header.
 *
 *     input -> filter (kernels/kernels.h; if no kernel holds it, long/long.h) -> series -> marked, thinned out, converted -> result
 *                                                                           \-> crossings, best filter, block statistics
 *
 * The series are the filtered signals in the computing precision. Marking (repair_nan.h) sets outputs to NaN whose taps touch a
 * sample that is not finite. ends.h computes the two ends of a derivative, find.h searches a stored series. */
#pragma once

#include "gpu/host/arena.h"
#include "gpu/host/op.h"
#include "gpu/ols/filler.h"
#include "gpu/ols/long/method.h"
#include "gpu/ols/repair_nan.h"

struct lw_ols_state {
    struct lw_ols_resolved resolved;
    int rows;                       /* rows of taps of a filter */
    void *memory;                   /* device: the kernel's bank or the long path's memory, then what the pointers below point to */
    void *weights;                  /* weights of the interpolation (struct lw_post_args) */
    void *ends;                     /* filters for the axis' two ends (struct lw_ends), if a derivative is folded into the taps */
    void *scales;                   /* scales of a search, see lw_ols_scales */
    int first, n_held;              /* place of the first filter that is held in a row of scales; filters that are held */
    struct lw_post_args post;       /* arguments of --post that all blocks share */
    struct lw_long_ols *long_ols;   /* the long path; NULL if a kernel filters */
    struct lw_filler *filler;       /* takes other filters later (lw_engine_ops.op_fill), in `filling`; NULL: these filters stay */
    void *filling;                  /* device */
    void *host_scales;              /* host memory for the scales, if there is a filler */
};

/* A piece: outputs of the series that one call computes, whole units of the grid (struct lw_grid) except at the end of the axis. */
struct lw_ols_piece {
    int64_t first, count;           /* range of outputs on the axis */
    int64_t channel, n_channels;    /* first channel, counted from the block's first; number of channels */
    int64_t skip;                   /* samples per channel in the block's input before the first sample that the piece needs */
    int64_t more, pitch;            /* search only: `more` and `best_pitch` of struct lw_cuda_ols_block */
    struct lw_narrowing narrow;     /* series only: the outputs' type, if it is narrow, else zero */
};

/** Return the bytes of the series of all filters, for `count` outputs of each of n_channels channels. */
int64_t lw_ols_series_bytes(const struct lw_op_spec *spec, int64_t count, int64_t n_channels);

/** Enqueue the filtering of a piece, which stores its series or searches it.
 * @param output  device, packed as struct lw_slot describes, with the piece's count and channels
 * @param search  the search, for which `output` is not used; NULL: the series is stored */
int lw_ols_filter(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece, void *output,
                  const struct lw_cuda_ols_search *search, struct lw_error *err);

/** Return the arguments for marking the outputs of a piece (repair_nan.h). */
struct lw_repair lw_ols_repair(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece,
                               void *output);

/** Enqueue the marking of the outputs of a piece. Does nothing if lw_op_spec.nan is LW_NAN_ZERO.
 * @param is_silent  do not report the samples that are not finite */
int lw_ols_mark(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece, void *output,
                bool is_silent, struct lw_error *err);

/* ---- held.c ---- */

/** Take the memory for scales and for filling from the arena of an operation's device memory; count what filling needs beside
 * it. Of the state, `resolved` and `rows` count. */
void lw_ols_lay_out(const struct lw_op_spec *spec, struct lw_arena *arena, struct lw_ols_state *ols);
void lw_ols_measure(const struct lw_op_spec *spec, const struct lw_ols_state *ols, struct lw_cuda_op_memory *memory);

/** Make what `fill` of the operation needs, and call it if the filters are known. The state's memory is laid out. */
int lw_ols_hold(struct lw_op *op, cudaStream_t stream, struct lw_error *err);

/** Put a part of the bank into the target and its noise into the scales, in place of those before. */
int lw_ols_fill(const struct lw_op *op, const struct lw_ols_part *part, const struct lw_filler_target *target, cudaStream_t stream,
                struct lw_error *err);
void lw_ols_drop(struct lw_ols_state *ols);      /* frees the device memory, too */

/* ---- search.c ---- */

/** Return the bytes of a search's scales, rows of reals of the computing precision for each stretch and channel; write them to host
 * memory. A scale is 1 / (threshold sigma), and NaN where sigma is 0 or there is no filter. A row has the filters that are held.
 * For the best filter it has the whole bank, and then a power of two: that of complex outputs, see gpu/device/search.cuh. */
int64_t lw_ols_scales_bytes(const struct lw_op_spec *spec);
int lw_ols_scales(const struct lw_op_spec *spec, const struct lw_ols_part *part, void *scales, struct lw_error *err);

/** Return a piece of a block's series, `values`, of all filters that are held. */
struct lw_series lw_ols_series(const struct lw_op *op, const struct lw_block *block, const struct lw_ols_piece *piece,
                               const void *values);

/** Enqueue the search of a block's series for what is wanted of n_filters filters, counted among those held: crossings, the best
 * filter, block statistics. @param again  look for the crossings of this part of the block alone; NULL: of the block */
int lw_ols_find(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_series *series,
                const struct lw_part *again, int filter, int n_filters, struct lw_error *err);

/** Return whether a filtering kernel may do the search itself. Block statistics need the stored series. */
bool lw_ols_may_find(const struct lw_op_spec *spec);

/** Return the bytes of a slot's work memory for a search in a stored series, for blocks of at most this size. */
int64_t lw_ols_search_bytes(const struct lw_op_spec *spec, const struct lw_op_plan *plan, int64_t count, int64_t n_channels);

/** Enqueue the search in one block.
 * @param memory  part of the slot's work memory, lw_ols_search_bytes long; not used if a filtering kernel does the search itself */
int lw_ols_search(const struct lw_op *op, const struct lw_cuda_op_block *work, void *memory, struct lw_error *err);

/** Enqueue the comparison of a block's best outputs with others: lw_cuda_op_ops.join_best. */
int lw_ols_join_best(const struct lw_op *op, const struct lw_cuda_op_block *work, int64_t first, int64_t n, const void *values,
                     const int32_t *filters, struct lw_error *err);

/** Enqueue the search for the crossings of a part of a block. The block's input must still be on the device. */
int lw_ols_search_again(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_part *part, void *memory,
                        struct lw_error *err);
