/* launch.h - arguments and table entries of the overlap-save kernels, shared by launcher and kernels. */
#pragma once

#include "gpu/device/post_args.h"
#include "gpu/ols/kernels/kernels.h"

/* Arguments of every overlap-save kernel. "Sample" is one element of input or output (complex: one pair). A segment here is the
 * content of one transform: a pair of segments if the signal is real. A row is a channel, or two channels that are paired. */
struct OlsArgs {
    const void *input;
    void *output;
    const void *bank;               /* powers of the transform's twiddles, then the spectra from value `spectra` on */
    unsigned *not_finite;
    int64_t count, n_channels;      /* outputs of a channel; channels of the block */
    int64_t input_row;              /* samples of a channel: M - 1 + reach + count + more */
    int64_t input_pitch;            /* time fast: samples from row to row; time slow: reals from axis sample to axis sample */
    int64_t output_pitch;           /* the same for the output */
    int64_t input_columns;          /* time slow: reals of one axis sample of the block */
    int64_t input_second;           /* paired, time fast: samples from first to second segment; time slow: 1 or 2 reals per point */
    int64_t output_second;          /* paired, time fast: samples from first to second segment in the output */
    int64_t plane;                  /* time fast: samples from filter to filter; time slow: reals */
    int64_t step;                   /* axis samples from segment to segment: hop, or 2 hop */
    enum lw_scalar input_scalar;
    bool input_complex, pairs_hops;
    bool rows_aligned;              /* time slow: every axis sample of the input begins at a multiple of 16 bytes */
    int spectra;
    int lead;                       /* leading samples of a segment that count as zero: discard - (M - 1) */
    int discard, hop;
    int every;                      /* kernels with `fold`: D; only outputs at multiples of D on the axis are stored */
    int64_t first_kept;             /* number of the block's first stored output. With `fold`, plane counts stored outputs; */
                                    /* time fast, so do output_pitch and output_second (0 where hops are paired) */
    int n_filters;
    int n_steps, n_segments;        /* segments along the axis; segments in all */
    int n_groups;                   /* time slow: groups of adjacent channels; segment = step x n_groups + group */
    int stride_steps;               /* axis steps from a thread block's segment to its next one, n_blocks segments on */
    int stride_groups;              /* time slow: groups, likewise; stays beside stride_steps, else short integers take 3% longer */
    int n_rows;                     /* time fast: rows; segment = row x n_steps + step */
    int stride_rows;                /* time fast: rows, likewise */
    int whole_rows;                 /* time fast: rows whose segments at steps whole_begin .. whole_end - 1 lie wholly in it, */
    int whole_begin, whole_end;     /* including the bytes that 16-byte copies read beyond the segment's end */
    int sample_bytes;               /* bytes of an input sample */
    int n_blocks, n_passes;         /* thread blocks, or clusters; whole segments that each takes, one a pass: see OlsWalk */
    int n_whole, share, n_larger;
    struct lw_post_args post;       /* arguments of post.cuh and thinned.cuh. With post.cuh, output_pitch, output_second and plane
                                       count outputs of --post (time slow: reals) */
    struct lw_cuda_ols_search search;   /* arguments of search.cuh; output_pitch and output_second then belong to its arrays */
};

/* How threads share a segment. Time fast: PLAIN, a team in step (time_fast.cuh), or DECOUPLED, warps that run ahead of each other
 * (decoupled.cuh). Time slow: PLAIN, a team per transform, or ABREAST, a whole block for adjacent channels (abreast.cuh). */
enum OlsDesign { OLS_PLAIN, OLS_DECOUPLED, OLS_ABREAST };

/* Table entry of one compiled kernel. */
struct OlsKernel {
    enum lw_precision precision;
    enum lw_layout layout;
    int segment;                    /* N */
    int discard;                    /* dropped outputs; -1: given at run time */
    bool paired;                    /* real signal, two segments in a transform */
    int batch;                      /* time slow: transforms of adjacent channels in a block; else 1 */
    bool one_filter;                /* only for n_filters = 1 */
    bool post;                      /* stores what --post makes of the series, and only that */
    int fold;                       /* not 0: stores every D-th output of the axis only, or what --post makes of it, if `fold`
                                       divides D; more than 1: by folded.cuh */
    int back_radix, back_outer_radix;   /* radices of the backward transform of a folded spectrum; 0: as forward */
    OlsDesign design;
    bool prefetches;                /* copies the next segment's samples to shared memory during a segment's work, with no more
                                       blocks than fit on the device; time slow: only values of at most two bytes, or four if
                                       abreast */
    bool reversed;                  /* needs spectra of taps that are delayed by a sample: see pipelined.cuh */
    int radix, outer_radix;         /* E, P: see gpu/device/fft.cuh */
    int cluster;                    /* blocks of a cluster that share a segment; 1: no cluster */
    int threads;                    /* threads of a block */
    int blocks;                     /* blocks that registers allow on an SM */
    int shared_bytes;               /* dynamic shared memory of a block */
    void (*kernel)(const OlsArgs);
    void (*find)(const OlsArgs);    /* the same kernel with an epilogue of search.cuh that finds crossings; NULL: none */
    void (*keep)(const OlsArgs);    /* and with the one that keeps the best filter; NULL: none */
    int keep_bytes;                 /* dynamic shared memory of a block of `keep` */
};

/* The kernels of one .cu file, which has their name. */
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

/* Layout of the bank of an overlap-save kernel. The unit is a complex value of the computing precision, if not given. */
struct OlsBankLayout {
    int back_powers;                /* the backward transform's own twiddle powers, if it has any, behind the others */
    int spectra;                    /* the spectra, behind the twiddle powers */
    size_t roots_bytes;             /* offset of the roots of unity in bytes */
    size_t bytes;
};

/** Return the kernel of a plan whose path is LW_CUDA_SEGMENTS. */
const OlsKernel *lw_ols_kernel_of(const struct lw_cuda_ols_plan *plan);

OlsBankLayout lw_ols_bank_layout(const OlsKernel *kernel, int n_filters);
