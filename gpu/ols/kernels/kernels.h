/* kernels.h - the CUDA engine's convolution kernels: which one suits a job, its filter bank, its launch. C.
 *
 *     lw_cuda_ols_choose (pure) -> lw_cuda_ols_prepare (once) -> lw_cuda_ols_launch (per block, allocates nothing)
 *
 * A kernel computes  y[f][c][o] = sum_m taps[f][m] x[c][o + M - 1 - m]  for all filters f of a block. x is the block's input with
 * M - 1 samples of halo before its own, so that o = 0 is the block's first output. The kernel reads the stored samples and writes
 * float (single) or double, complex if input or taps are.
 *
 *   LW_CUDA_SEGMENTS   overlap-save in registers and shared memory. Segment j covers the samples j hop - (discard - (M - 1)) ..
 *                      + N - 1 of the input. The discard - (M - 1) leading ones count as zero, as do those beyond the block, so
 *                      that an output's bits depend only on its place in the global grid of segments.
 *   LW_CUDA_DIRECT     the sum itself, for short filters; any block gives the same bits.
 *   LW_CUDA_TOO_LONG   the taps exceed the longest segment on this architecture: nothing is computed here.
 *
 * Three kinds of kernels on the path of segments do more than store the series:
 *   --post         power, amplitude, interpolation (lw_cuda_post_is_needed): the halo is M - 1 + reach, and the output has the
 *                  length that lw_post_outputs gives for the block's part of the series. See post.cuh
 *   decimation     only every D-th output, or what --post makes of it, is stored (lw_cuda_ols_plan.fold > 0). Other kernels store
 *                  all outputs, and the caller picks every D-th
 *   search         crossings or the best filter are looked for (lw_cuda_ols_plan.finds). See search.cuh
 *
 * Two real segments share one complex transform: the same hop of channels 2 i and 2 i + 1 if there are several channels, else the
 * hops 2 j and 2 j + 1. Blocks are cut at multiples of `unit` and `channel_unit`, which keep pairs together. */
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

/* The convolution that is asked for. Complex input is (re, im) pairs of `input`; every scalar is read directly, in this machine's
 * byte order. Real input with complex taps is computed as complex input without imaginary part. */
struct lw_cuda_ols_spec {
    enum lw_precision precision;
    enum lw_layout layout;              /* layout of input and output; with one channel both layouts are the same */
    enum lw_scalar input;
    bool input_complex, taps_complex;
    int64_t n_channels;                 /* channels of the whole data set; decides what is paired */
    int64_t n_outputs;                  /* outputs per channel and filter of the whole data set; 0: unknown, taken as many */
    int n_filters;
    int64_t n_taps;                     /* taps of a filter, M */
    bool is_searched;                   /* crossings or the best filter are wanted, if possible from kernels that find them */
    struct lw_post post;                /* what kernels make of the series, and which outputs they keep, if they can; a derivative
                                           at rate 1 is in the taps instead */
    int segment;                        /* wanted FFT length N; 0: the model's choice, or the direct path */
    int nth_best;                       /* 0: the best kernel by the model; 1, 2, ..: the next ones, for benchmarks */
};

/* The kernel that a spec resolves to. It depends on spec and architecture alone. */
struct lw_cuda_ols_plan {
    struct lw_cuda_ols_spec spec;
    struct lw_cuda_arch arch;
    enum lw_cuda_path path;
    int kernel;                         /* number of the compiled kernel, with LW_CUDA_SEGMENTS */
    const char *design;                 /* text that sets the kernel apart from others of its segment length; static */
    int segment;                        /* N; 0 on the direct path */
    int blocks;                         /* thread blocks that hold a segment: 1, or the blocks of a cluster; 0 on the direct path */
    int discard;                        /* outputs dropped at the front of a segment, >= M - 1 */
    int hop;                            /* segment - discard - reach: outputs that a segment advances */
    int reach;                          /* samples of the series that `post` needs beyond a hop */
    int64_t unit, channel_unit;         /* see struct lw_grid */
    bool output_complex;
    int fold;                           /* 0: all outputs are stored; 1: only those that post.every keeps; more than 1: the same,
                                           computed from a spectrum that is folded by this factor */
    bool finds;                         /* a launch may search instead of storing the series */
    size_t bank_bytes;                  /* device memory that lw_cuda_ols_prepare fills and every launch reads */
    int least_segment, most_segment;    /* legal lengths for this many taps; 0, 0: none */
    int most_blocks;                    /* thread blocks that hold a segment of the longest length */
    double seconds_per_output;          /* model: seconds per output of one filter on one H200 */
};

/** Resolve a spec. A pure function; needs no device.
 * @return LW_OK; LW_ECONFIG if there is no kernel of length `segment`, or it is too short for the taps (the message names the
 *         legal lengths), or if there are no more than `nth_best` kernels. If the taps are too many for any segment: LW_OK, with
 *         path LW_CUDA_TOO_LONG, whatever `segment` is */
int lw_cuda_ols_choose(const struct lw_cuda_ols_spec *spec, const struct lw_cuda_arch *arch, struct lw_cuda_ols_plan *out,
                       struct lw_error *err);

/** Return the seconds per output of the series that it takes to thin out a stored series; 0 if all of it is wanted. Pure. */
double lw_cuda_ols_thinning_seconds(const struct lw_cuda_ols_spec *spec);

/** Fill the bank and make the kernel ready on the current device. May be repeated; asynchronous on `stream`.
 * @param taps  [n_filters x n_taps (x 2 if complex)], float64, device, borrowed until the work on `stream` is done
 * @param bank  bank_bytes of device memory, 256-byte aligned
 * @return cudaSuccess (0) or a cudaError_t */
int lw_cuda_ols_prepare(const struct lw_cuda_ols_plan *plan, const double *taps, void *bank, struct CUstream_st *stream);

/* A search that a launch makes with the table's range of filters: for the best one if `values` is set, else for crossings. */
struct lw_cuda_ols_search {
    const void *scales;                 /* device: [channels of the data set][n_filters] reals of the computing precision.
                                           Crossings: as lw_ols_scales. Best filter: any common factor, but about 1 for the
                                           strongest output of a signal of size 1 */
    int n_filters;                      /* filters of the bank */
    int64_t channel, index;             /* channel in the data set and index on the axis of the block's first output */
    struct lw_crossings table;
    void *values;                       /* device: [n_channels][count] or [count][n_channels]; the caller has set all bits of it */
    int32_t *filters;                   /* device: numbers of the best filters, likewise */
    bool is_signed;                     /* real outputs are compared by y scale instead of |y| scale */
};

/* One block, or a part of it. All pointers are device memory; `output` and `bank` are 16-byte aligned. The output is packed as
 * struct lw_slot describes, with filters as planes. */
struct lw_cuda_ols_block {
    const void *input;                  /* [n_channels][M - 1 + count] or [M - 1 + count][n_channels], stored type */
    void *output;                       /* [n_filters][n_channels][count] or [n_filters][count][n_channels], float or double */
    const void *bank;
    unsigned *not_finite;               /* one word, set to 1 if a sample was not finite (in the computing precision) and counted as
                                           zero; never cleared here. May be NULL for integer input */
    int64_t count;                      /* outputs of the series on the axis, >= 0 */
    int64_t more;                       /* search: outputs after these whose samples are in the input, too */
    int64_t best_pitch;                 /* search, [n_channels][axis]: outputs from channel to channel of the best; 0: packed */
    int64_t input_pitch;                /* part of a block: input samples from channel to channel; [axis][channel]: channels of an
                                           axis sample; 0: the input is packed */
    int64_t n_channels;                 /* channels of the block, >= 0; even if paired, except at the data set's end */
    const struct lw_post_args *post;    /* host; the complete arguments if the spec's post is needed or plan.fold > 0; else NULL */
    const struct lw_cuda_ols_search *search;    /* host; NULL: the series is stored. Needs plan.finds */
};

/** Convolve one block with all filters. Launches nothing if there are no outputs.
 * @return cudaSuccess (0) or a cudaError_t */
int lw_cuda_ols_launch(const struct lw_cuda_ols_plan *plan, const struct lw_cuda_ols_block *block, struct CUstream_st *stream);

LW_C_END
