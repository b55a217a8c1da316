/* kernels.h - the CUDA engine's convolution kernels: which one suits a job, its filter bank, its launch. C header.
 *
 *     lw_cuda_ols_choose (pure) -> lw_cuda_ols_prepare (once) -> lw_cuda_ols_put (filters, by gpu/ols/filler.h)
 *                                                             -> lw_cuda_ols_launch (per block, allocates nothing)
 *
 * A kernel computes the series y[f][c][o] = sum_m taps[f][m] x[c][o + M - 1 - m] for all filters f and channels c of a block. x is
 * the block's input: M - 1 samples of halo, then its own, so that o = 0 is the block's first output. Samples are read as stored;
 * outputs are float (single) or double, or narrow (gpu/device/narrow.h), complex if input or taps are. Time fast is the layout
 * [channel][axis], time slow the other.
 *
 *   LW_CUDA_SEGMENTS   overlap-save in registers and shared memory. Segment j is the N input samples from j hop - lead on, lead =
 *                      discard - (M - 1). Its first `lead` samples count as zero, as do samples beyond the block. So an output's
 *                      bits depend only on its place in the global grid of segments.
 *   LW_CUDA_DIRECT     the sum itself, for short filters; any block gives the same bits.
 *   LW_CUDA_TOO_LONG   the taps exceed the longest segment on this architecture: nothing is computed here.
 *
 * Three kinds of kernels on the path of segments do more than store the series:
 *   --post         store power, amplitude or interpolation of the series (lw_cuda_post_is_needed; post.cuh). The halo is M - 1 +
 *                  reach, and the output has the length that lw_post_outputs gives for the block's part of the series
 *   decimation     store every D-th output only, or its power or amplitude (lw_cuda_ols_plan.fold > 0). Where no kernel does so,
 *                  all outputs are stored, and the caller picks every D-th
 *   search         look for crossings or the best filter (lw_cuda_ols_plan.finds; search.cuh)
 *
 * Two real segments share one complex transform, a pair: segments j of channels 2 i and 2 i + 1 if there are several channels, else
 * segments 2 j and 2 j + 1. Blocks are cut at multiples of `unit` and `channel_unit`, which keep pairs together. */
#pragma once

#include "gpu/device/narrow.h"
#include "gpu/device/post_args.h"
#include "gpu/ols/find.h"

LW_C_BEGIN

struct CUstream_st;                     /* cudaStream_t is a pointer to it */

enum lw_cuda_path { LW_CUDA_SEGMENTS, LW_CUDA_DIRECT, LW_CUDA_TOO_LONG };

struct lw_cuda_arch {
    int major, minor;                   /* compute capability */
    int shared_bytes;                   /* largest dynamic shared memory of a block (cudaDevAttrMaxSharedMemoryPerBlockOptin) */
};

/* The wanted convolution. Complex input is (re, im) pairs of type `input`; scalars are in this machine's byte order. Real input
 * with complex taps is treated as complex input with imaginary part 0. */
struct lw_cuda_ols_spec {
    enum lw_precision precision;
    enum lw_layout layout;              /* layout of input and output; with one channel both layouts are the same */
    enum lw_scalar input;
    bool input_complex, taps_complex;
    int64_t n_channels;                 /* channels of the whole data set; if several, channels are paired, else segments */
    int64_t n_outputs;                  /* outputs per channel and filter of the whole data set; 0: unknown, assumed to be many */
    int n_filters;
    int64_t n_taps;                     /* taps of a filter, M */
    bool is_searched;                   /* crossings or the best filter are wanted, from kernels that can search if there are any */
    struct lw_post post;                /* operation and decimation that kernels should do if they can; a derivative at rate 1 is
                                           not here, but in the taps */
    int segment;                        /* wanted FFT length N; 0: the model chooses the length, or the direct path */
    int nth_best;                       /* 0: the best kernel by the model; 1, 2, ..: the next ones, for benchmarks */
};

/* The kernel that a spec resolves to. It depends on spec and architecture alone. */
struct lw_cuda_ols_plan {
    struct lw_cuda_ols_spec spec;
    struct lw_cuda_arch arch;
    enum lw_cuda_path path;
    int kernel;                         /* number of the compiled kernel, with LW_CUDA_SEGMENTS */
    const char *design;                 /* static text that tells the kernel from others of its segment length */
    int segment;                        /* N; 0 on the direct path */
    int blocks;                         /* thread blocks that share a segment: 1, or a cluster's blocks; 0 on the direct path */
    int discard;                        /* values dropped at the front of a filtered segment, >= M - 1 */
    int hop;                            /* outputs that a segment advances: segment - discard - reach */
    int reach;                          /* samples of the series that `post` needs beyond a hop */
    int64_t unit, channel_unit;         /* see struct lw_grid */
    bool output_complex;
    int fold;                           /* 0: all outputs are stored; 1: only every D-th; G > 1: only every D-th, computed from a
                                           spectrum that is folded by G (folded.cuh) */
    bool finds;                         /* a launch may search instead of storing the series */
    int delay;                          /* samples by which the kernel wants the taps delayed, 0 or 1: see pipelined.cuh */
    size_t bank_bytes;                  /* bytes of the bank: device memory that is prepared, filled, and read by launches */
    int least_segment, most_segment;    /* shortest and longest segment of a kernel that can do the job; 0: there is none */
    int most_blocks;                    /* thread blocks that share a segment of the longest length */
    double seconds_per_output;          /* model: seconds per output of one filter on one H200 */
};

/** Choose the kernel for a spec. Pure; needs no device.
 * @return LW_OK. LW_ECONFIG if there is no kernel of length `segment`, or if it is too short for the taps (the message names the
 *         legal lengths), or if there are no more than `nth_best` kernels. If no kernel has segments long enough for the taps:
 *         LW_OK with path LW_CUDA_TOO_LONG, whatever `segment` is */
int lw_cuda_ols_choose(const struct lw_cuda_ols_spec *spec, const struct lw_cuda_arch *arch, struct lw_cuda_ols_plan *out,
                       struct lw_error *err);

/** Let the plan's bank hold n_filters of the filters that it was chosen for. Pure. */
void lw_cuda_ols_hold(struct lw_cuda_ols_plan *plan, int n_filters);

/** Return the modelled seconds of thinning out a stored series, per output of the series; 0 if all outputs are wanted. Pure. */
double lw_cuda_ols_thinning_seconds(const struct lw_cuda_ols_spec *spec);

/** Fill the bank's tables, and allow the kernel its shared memory on the current device. May be repeated; asynchronous on `stream`.
 * @param bank  bank_bytes of device memory, 256-byte aligned
 * @return cudaSuccess (0) or a cudaError_t */
int lw_cuda_ols_prepare(const struct lw_cuda_ols_plan *plan, void *bank, struct CUstream_st *stream);

/** Put filters first .. first + n - 1 into the bank. May be repeated; asynchronous on `stream`.
 * @param values  device, complex float64: on the path of segments [n x segment], the bins 0 .. N - 1 of the taps, which are delayed
 *                by plan->delay samples; on the direct path [n x n_taps], the taps themselves. NULL: the filters are 0
 * @param n       at most 32768
 * @return cudaSuccess (0) or a cudaError_t */
int lw_cuda_ols_put(const struct lw_cuda_ols_plan *plan, const void *values, int64_t first, int n, void *bank,
                    struct CUstream_st *stream);

/* A search that a launch makes instead of storing: for the best filter if `values` is set, else for crossings. */
struct lw_cuda_ols_search {
    const void *scales;                 /* device: [channels of the data set][pitch] reals of the computing precision, from the
                                           first filter that is held on (lw_ols_scales) */
    int64_t pitch;
    int first;                          /* best filter: number in the bank of the first filter that is held */
    bool goes_on;                       /* best filter: `values` and `filters` are those of other filters of the bank */
    int64_t channel, index;             /* channel in the data set, and axis index, of the block's first output */
    struct lw_crossings table;          /* table of crossings; best filter: its `first`, filters and sign count, too */
    void *values;                       /* device: best outputs, [n_channels][count] or [count][n_channels]; before the launch,
                                           the caller sets all bits (NaN) unless the search goes on */
    int32_t *filters;                   /* device: numbers of the best filters, laid out as `values`, with all bits set (-1) */
};

/* One block, or a part of it. All pointers are device memory; `output` and `bank` are 16-byte aligned. The output is packed as
 * struct lw_slot describes, with filters as planes. */
struct lw_cuda_ols_block {
    const void *input;                  /* [n_channels][M - 1 + count] or [M - 1 + count][n_channels], stored type */
    void *output;                       /* [n_filters][n_channels][count] or [n_filters][count][n_channels], see `narrow` */
    struct lw_narrowing narrow;         /* the narrow type of the output; all zero: float or double. Not with `search` */
    const void *bank;
    unsigned *not_finite;               /* one word, set to 1 if a sample was not finite (in the computing precision) and so counted
                                           as zero; never cleared by launches. May be NULL for integer input */
    int64_t count;                      /* outputs of the series per channel, >= 0 */
    int64_t more;                       /* search: further outputs per channel whose samples the input has, too */
    int64_t best_pitch;                 /* search, time fast: outputs from channel to channel of `values`; 0: `count` */
    int64_t input_pitch;                /* part of a block: input samples from channel to channel; time slow: samples from axis
                                           sample to axis sample; 0: the input is packed */
    int64_t n_channels;                 /* channels of the block, >= 0; paired channels: an even number but at the data set's end */
    const struct lw_post_args *post;    /* host; all arguments, if lw_cuda_post_is_needed or plan.fold > 0; else NULL */
    const struct lw_cuda_ols_search *search;    /* host; needs plan.finds. NULL: the series is stored */
};

/** Enqueue the convolution of one block with all filters. Launches nothing if there are no outputs.
 * @return cudaSuccess (0) or a cudaError_t */
int lw_cuda_ols_launch(const struct lw_cuda_ols_plan *plan, const struct lw_cuda_ols_block *block, struct CUstream_st *stream);

LW_C_END
