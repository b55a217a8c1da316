/* launch.h - arguments and table entries of the overlap-save kernels, which their launcher and the kernels share. */
#pragma once

#include "gpu/ols/kernels/kernels.h"

/* Arguments of every overlap-save kernel. Terms: a sample is one element of input or output (complex: one pair). A segment is what
 * one transform takes: for real signals a pair of segments. A row is a channel, or two channels that are paired. */
struct OlsArgs {
    const void *input;
    void *output;
    const void *bank;               /* powers of the transform's twiddles, then the filters' spectra from value `spectra` on */
    unsigned *not_finite;
    int64_t count, n_channels;      /* outputs of a channel; channels of the block */
    int64_t input_row;              /* samples of a channel in the input: M - 1 + reach + count + more */
    int64_t input_pitch;            /* time fast: samples from row to row; time slow: reals from axis sample to axis sample */
    int64_t output_pitch;           /* the same distances in the output */
    int64_t input_columns;          /* time slow: reals of one axis sample of the block */
    int64_t input_second;           /* time fast, paired: samples from first to second segment; time slow: stored reals per point */
    int64_t output_second;          /* time fast, paired: samples from first to second segment in the output */
    int64_t plane;                  /* distance from filter to filter in the output: time fast in samples, time slow in reals */
    int64_t step;                   /* axis samples from segment to segment: hop, or 2 hop if pairs_hops */
    enum lw_scalar input_scalar;
    bool input_complex, pairs_hops; /* pairs_hops: a pair is two adjacent segments of a channel, not segments of two channels */
    bool rows_aligned;              /* time slow: every axis sample of the input begins at a multiple of 16 bytes */
    int spectra;
    int lead;                       /* leading samples of a segment that count as zero: discard - (M - 1) */
    int discard, hop;
    int every;                      /* kernels with `fold`: D; only outputs at multiples of D on the axis are stored */
    int64_t first_kept;             /* axis index of the block's first stored output, divided by D, with `fold`. `plane` and, */
                                    /* time fast, output_pitch and output_second (0 if pairs_hops) then count stored outputs */
    int n_filters;
    int n_steps, n_segments;        /* segments along the axis (steps); segments in all */
    int n_groups;                   /* time slow: groups of adjacent channels; segment = step x n_groups + group */
    int stride_steps;               /* steps from a thread block's segment to its next segment, n_blocks further */
    int stride_groups;              /* time slow: groups likewise; stays beside stride_steps, else short integers take 3% longer */
    int n_rows;                     /* time fast: rows; segment = row x n_steps + step */
    int stride_rows;                /* time fast: rows likewise */
    int whole_rows;                 /* time fast: rows that may have whole segments: the first whole_rows of them */
    int whole_begin, whole_end;     /* steps whole_begin .. whole_end - 1 have whole segments: all samples exist in their row, and
                                       so do the bytes that 16-byte copies read beyond the segment's end */
    int sample_bytes;               /* bytes of an input sample */
    int n_blocks, n_passes;         /* thread blocks, or clusters; whole segments that each takes, one a pass: see OlsWalk */
    int n_whole, share, n_larger;   /* see OlsWalk */
    struct lw_narrowing narrow;     /* stored type of the outputs; distances in the output count numbers of this type */
    struct lw_post_args post;       /* arguments of post.cuh and thinned.cuh. With post.cuh, output_pitch, output_second and plane
                                       count outputs of --post (time slow: reals) */
    struct lw_cuda_ols_search search;   /* arguments of search.cuh; output_pitch and output_second are then those of its arrays */
};

/* How threads share segments. PLAIN: a team of threads for each transform, with barriers (time_fast.cuh, time_slow.cuh). DECOUPLED
 * (time fast): warps that run ahead of each other (decoupled.cuh). ABREAST (time slow): a block for many channels (abreast.cuh). */
enum OlsDesign { OLS_PLAIN, OLS_DECOUPLED, OLS_ABREAST };

/* Table entry of one compiled kernel. */
struct OlsKernel {
    enum lw_precision precision;
    enum lw_layout layout;
    int segment;                    /* N */
    int discard;                    /* values dropped at the front of a filtered segment; -1: chosen at run time */
    bool paired;                    /* two real segments share a transform */
    int batch;                      /* time slow: transforms of adjacent channels in a block; else 1 */
    bool one_filter;                /* only for n_filters = 1 */
    bool post;                      /* stores outputs of --post, and no series */
    int fold;                       /* not 0: stores only every D-th output of the axis, or its power or amplitude, if `fold`
                                       divides D; more than 1: by folded.cuh */
    int back_radix, back_outer_radix;   /* radices of the backward transform of a folded spectrum; 0: as forward */
    OlsDesign design;
    bool prefetches;                /* copies samples of a block's next segment to shared memory early; all blocks are resident.
                                       Only for stored values of at most four bytes; time slow and PLAIN: two bytes */
    bool reversed;                  /* needs spectra of taps that are delayed by a sample: see pipelined.cuh */
    int radix, outer_radix;         /* E, P: see gpu/device/fft.cuh */
    int cluster;                    /* blocks of a cluster that share a segment; 1: no cluster */
    int threads;                    /* threads of a block */
    int blocks;                     /* blocks that registers allow on an SM */
    int shared_bytes;               /* dynamic shared memory of a block */
    void (*kernel)(const OlsArgs);
    void (*narrow)(const OlsArgs);  /* the same kernel for outputs of a narrow type; NULL: `kernel` stores these, too */
    void (*find)(const OlsArgs);    /* the same kernel, finding crossings (search.cuh) instead of storing; NULL: none */
    void (*keep)(const OlsArgs);    /* the same kernel, keeping the best filter (search.cuh); NULL: none */
    int keep_bytes;                 /* dynamic shared memory of a block of `keep` */
};

/* A group of kernels, which one .cu file compiles: see instances.cuh. */
struct OlsKernels {
    const OlsKernel *list;
    int n;
};

extern const OlsKernels lw_ols_f256, lw_ols_f512, lw_ols_f1024, lw_ols_f2048, lw_ols_f4096, lw_ols_f8192, lw_ols_f12288,
    lw_ols_f24576;
extern const OlsKernels lw_ols_d256, lw_ols_d512, lw_ols_d1024, lw_ols_d2048, lw_ols_d4096;
extern const OlsKernels lw_ols_time_slow_f, lw_ols_time_slow_d;
extern const OlsKernels lw_ols_thinned_f, lw_ols_thinned_d, lw_ols_thinned_time_slow_f, lw_ols_thinned_time_slow_d;
extern const OlsKernels lw_ols_folded_f, lw_ols_folded_f4096;
extern const OlsKernels lw_ols_post_f, lw_ols_post_f8192, lw_ols_post_d, lw_ols_post_time_slow_f, lw_ols_post_time_slow_d;

/* Layout of the bank of an overlap-save kernel: twiddle powers, spectra. */
struct OlsBankLayout {
    int back_powers;                /* offset of the backward transform's own twiddle powers, if any, in complex values */
    int spectra;                    /* offset of the filters' spectra, in complex values of the computing precision */
    size_t bytes;                   /* bytes of the bank */
};

/** Return the kernel of a plan whose path is LW_CUDA_SEGMENTS. */
const OlsKernel *lw_ols_kernel_of(const struct lw_cuda_ols_plan *plan);

OlsBankLayout lw_ols_bank_layout(const OlsKernel *kernel, int n_filters);
