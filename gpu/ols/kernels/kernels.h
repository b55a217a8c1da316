/* kernels.h - the CUDA engine's convolution kernels: which one suits a job, its filter bank, its launch. C.
 *
 *     lw_cuda_ols_choose (pure) -> lw_cuda_ols_prepare (once) -> lw_cuda_ols_launch (per block, allocates nothing)
 *
 * One kernel computes  y[f][c][o] = sum_m taps[f][m] x[c][o + M - 1 - m]  for all filters f of a block: x is the block's
 * input, M - 1 samples of halo before its own, so o = 0 is the block's first output. It reads the stored samples and
 * writes float (single) or double, complex where input or taps are.
 *
 *   LW_CUDA_SEGMENTS   overlap-save in registers and shared memory. Segment j covers the samples j hop - (discard - (M - 1)) ..
 *                      + N - 1 of the input; the discard - (M - 1) leading ones count as zero, as do those beyond the block,
 *                      so that an output's bits depend on its place in the global segment grid alone.
 *   LW_CUDA_DIRECT     the sum itself, for short filters; any block gives the same bits.
 *   LW_CUDA_TOO_LONG   more taps than a segment holds on this architecture: not computed here.
 *
 * With power, amplitude or interpolation (lw_cuda_post_is_needed) the kernels of gpu/ols/kernels/post.cuh take the segments'
 * part: the halo is M - 1 + reach, and the output holds what lw_post_outputs says of all the series. Where every D-th output
 * is wanted and a kernel stores only these, or what is made of them (lw_cuda_ols_plan.fold), that takes the segments' part;
 * elsewhere the output holds all the others, too. The direct path has neither.
 *
 * Two real segments share one complex transform: the same hop of channels 2 i and 2 i + 1 where there are several channels,
 * else the hops 2 j and 2 j + 1. Blocks are cut at multiples of `unit` and `channel_unit`, which keep pairs together. */
#pragma once

#include "base/linkage.h"
#include "engine/engine.h"
#include "gpu/device/post_args.h"
#include "gpu/ols/find.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LW_C_BEGIN

struct CUstream_st;                     /* cudaStream_t is a pointer to it */

enum lw_cuda_path { LW_CUDA_SEGMENTS, LW_CUDA_DIRECT, LW_CUDA_TOO_LONG };

struct lw_cuda_arch {
    int major, minor;                   /* compute capability */
    int shared_bytes;                   /* largest dynamic shared memory of a block (cudaDevAttrMaxSharedMemoryPerBlockOptin) */
};

/* What is asked for. Complex input is (re, im) pairs of `input`; every scalar is read directly, in this machine's byte order.
 * Real input with complex taps is computed as complex input without imaginary part. */
struct lw_cuda_ols_spec {
    enum lw_precision precision;
    enum lw_layout layout;              /* of input and output; with one channel both are the same */
    enum lw_scalar input;
    bool input_complex, taps_complex;
    int64_t n_channels;                 /* of the whole data set: decides what is paired */
    int64_t n_outputs;                  /* of a channel and filter, of the whole data set; 0: not known, taken as many */
    int n_filters;
    int64_t n_taps;                     /* M */
    bool is_searched;                   /* crossings or the best filter are wanted, by kernels that find them if possible */
    struct lw_post post;                /* what kernels are to make of the series; a derivative at rate 1 is in the taps instead;
                                           of which outputs, if they can */
    int segment;                        /* FFT length N wanted; 0: the table's choice, or the direct path */
    int nth_best;                       /* 0: the best kernel by the model; 1, 2 ..: for a benchmark, the next ones */
};

/* What will be done. It depends on spec and architecture alone. */
struct lw_cuda_ols_plan {
    struct lw_cuda_ols_spec spec;
    struct lw_cuda_arch arch;
    enum lw_cuda_path path;
    int kernel;                         /* number of the compiled kernel; LW_CUDA_SEGMENTS */
    const char *design;                 /* what sets the kernel apart from others of its segment length; static */
    int segment;                        /* N; 0 for the direct path */
    int blocks;                         /* thread blocks that hold a segment: those of a cluster; 0 for the direct path */
    int discard;                        /* outputs dropped at the front of a segment, >= M - 1 */
    int hop;                            /* segment - discard, less the reach of `post` */
    int reach;                          /* samples of the series that it needs beyond a hop */
    int64_t unit, channel_unit;         /* see struct lw_grid */
    bool output_complex;
    int fold;                           /* not 0: only what post.every leaves is stored; more than 1: and computed from a spectrum
                                           that is folded so many times */
    bool finds;                         /* a launch may look for something instead of storing the series */
    size_t bank_bytes;                  /* device memory that lw_cuda_ols_prepare fills and every launch reads */
    int least_segment, most_segment;    /* the legal lengths for this many taps; 0, 0: none */
    int most_blocks;                    /* that hold a segment of the longest length */
    double seconds_per_output;          /* model, on one H200, per output sample of one filter */
};

/** Resolve a spec. A pure function; needs no device.
 * @return LW_OK; LW_ECONFIG if `segment` is no length that a kernel exists for or is too short for the taps, naming the legal
 *         ones, or if there are no more than `nth_best` kernels. With too many taps for any segment: LW_OK and
 *         LW_CUDA_TOO_LONG, and `segment` is not looked at */
int lw_cuda_ols_choose(const struct lw_cuda_ols_spec *spec, const struct lw_cuda_arch *arch, struct lw_cuda_ols_plan *out,
                       struct lw_error *err);

/** Seconds per output of the series that thinning it out takes once it has been stored; 0 where all of it is wanted. Pure. */
double lw_cuda_ols_thinning_seconds(const struct lw_cuda_ols_spec *spec);

/** Fill the bank and make the kernel ready on the current device. May be repeated; asynchronous on `stream`.
 * @param taps  [n_filters x n_taps], or [n_filters x n_taps x 2] if complex; float64, device, borrowed until `stream` is done
 * @param bank  bank_bytes of device memory, 256-byte aligned
 * @return cudaSuccess (0) or a cudaError_t */
int lw_cuda_ols_prepare(const struct lw_cuda_ols_plan *plan, const double *taps, void *bank, struct CUstream_st *stream);

/* What a launch looks for: crossings, or the best filter if `values` is not NULL; among the filters of the table's range. */
struct lw_cuda_ols_search {
    const void *scales;                 /* device: [channels of the data set][n_filters] reals of the computing precision: for
                                           crossings as lw_ols_scales, for the best filter of any common factor, but about 1 for
                                           the strongest output of a signal of size 1 */
    int n_filters;                      /* of the bank */
    int64_t channel, index;             /* of the data set, and on the axis: the first of the block */
    struct lw_crossings table;
    void *values;                       /* device: [n_channels][count] or [count][n_channels], all bits of it set before */
    int32_t *filters;                   /* likewise */
    bool is_signed;                     /* of real outputs y scale is compared, not |y| scale */
};

/* One block, or a part of one. All pointers are device memory, `output` and `bank` 16-byte aligned. The output is packed as struct
 * lw_slot says, planes = filters. */
struct lw_cuda_ols_block {
    const void *input;                  /* [n_channels][M - 1 + count] or [M - 1 + count][n_channels], stored type */
    void *output;                       /* [n_filters][n_channels][count] or [n_filters][count][n_channels], float or double */
    const void *bank;
    unsigned *not_finite;               /* one word: set to 1 where a sample that is not finite (in the computing precision)
                                           was met and counted as zero; never cleared here. May be NULL for integer input */
    int64_t count;                      /* outputs on the axis (of the series), >= 0 */
    int64_t more;                       /* of a search: outputs behind them whose samples are there, too */
    int64_t best_pitch;                 /* of a search, [n_channels][axis]: from one channel of the best to the next; 0: they are
                                           packed */
    int64_t input_pitch;                /* of a part: samples from one channel of the input to the next; [axis][channel]: channels
                                           of an axis sample; 0: the input is packed */
    int64_t n_channels;                 /* of the block, >= 0; even, except for the data set's last ones, where paired */
    const struct lw_post_args *post;    /* host; complete, with those of the spec's post that is needed, and with plan.fold; else
                                           NULL */
    const struct lw_cuda_ols_search *search;    /* host; NULL: the series is stored. Only with plan.finds */
};

/** Convolve one block with all filters. Nothing is launched for no outputs.
 * @return cudaSuccess (0) or a cudaError_t */
int lw_cuda_ols_launch(const struct lw_cuda_ols_plan *plan, const struct lw_cuda_ols_block *block, struct CUstream_st *stream);

LW_C_END
