/* launch.h - what the launcher and the overlap-save kernels agree on. */
#pragma once

#include "gpu/device/post_args.h"
#include "gpu/ols/kernels/kernels.h"

/* Arguments of every overlap-save kernel. "Sample" is one element of input or output (complex: one pair). A segment here is
 * what one transform holds: with real signals a pair. */
struct OlsArgs {
    const void *input;
    void *output;
    const void *bank;               /* powers of the transform's twiddles, then the spectra from value `spectra` on */
    unsigned *not_finite;
    int64_t count, n_channels;      /* outputs of a row; rows */
    int64_t input_row;              /* samples of a row: M - 1 + count */
    int64_t input_pitch;            /* time fast: samples from one row of segments to the next (two channels where paired); */
    int64_t output_pitch;           /* time slow: reals from one axis sample to the next */
    int64_t input_columns;          /* time slow: reals of one axis sample that there are */
    int64_t input_second;           /* time fast, paired: samples from the first to the second of a pair; */
    int64_t output_second;          /* time slow: input reals to a transform, 2 or 1 */
    int64_t plane;                  /* from filter to filter; time fast: samples, time slow: reals */
    int64_t step;                   /* axis samples from segment to segment: hop, or 2 hop */
    enum lw_scalar input_scalar;
    bool input_complex, pairs_hops;
    bool rows_aligned;              /* time slow: every axis sample of the input begins at a multiple of 16 bytes */
    int spectra;
    int lead;                       /* discard - (M - 1) */
    int discard, hop;
    int every;                      /* kernels with `fold`: D; outputs at multiples of it on the axis are stored, of which number */
    int64_t first_kept;             /* first_kept is the block's first one; time fast: then output_pitch, output_second (0 where */
                                    /* hops are paired) and plane count those; time slow: plane does */
    int n_filters;
    int n_steps, n_segments;        /* along the axis; in all */
    int n_groups;                   /* time slow: hops of channels side by side; segment = step x n_groups + group */
    int stride_steps;               /* from pass to pass of a thread block, n_blocks segments: in steps along the axis; */
    int stride_groups;              /* time slow: and in groups; apart from stride_steps, short integers take 3% longer */
    int n_rows;                     /* time fast: rows; segment = row x n_steps + step */
    int stride_rows;                /* and stride_steps in rows */
    int whole_rows;                 /* segments of these rows and of steps whole_begin .. whole_end - 1 lie, with what is */
    int whole_begin, whole_end;     /* copied with their last sample by 16 bytes, wholly in their rows */
    int sample_bytes;               /* of the input */
    int n_blocks, n_passes;         /* thread blocks, or clusters; whole segments that each of them takes, one a pass: see
                                       OlsWalk */
    int n_whole, share, n_larger;
    struct lw_post_args post;       /* epilogues of gpu/ols/kernels/post.cuh; then output_pitch, output_second and plane count
                                       outputs (time slow: reals); and of gpu/ols/kernels/thinned.cuh */
    struct lw_cuda_ols_search search;   /* epilogues of gpu/ols/kernels/search.cuh; then output_pitch, output_second and plane do
                                           not count the filters */
};

/* Who works on a segment. Time fast: threads in step (gpu/ols/kernels/time_fast.cuh), or warps that run ahead of each other
 * (gpu/ols/kernels/decoupled.cuh). Time slow: a team, or the whole block on channels side by side (gpu/ols/kernels/abreast.cuh). */
enum OlsDesign { OLS_PLAIN, OLS_DECOUPLED, OLS_ABREAST };

/* One compiled kernel. */
struct OlsKernel {
    enum lw_precision precision;
    enum lw_layout layout;
    int segment;                    /* N */
    int discard;                    /* -1: given at run time */
    bool paired;                    /* real signal, two to a transform */
    int batch;                      /* time slow: transforms of adjacent channels that a block works on; else 1 */
    bool one_filter;                /* for n_filters = 1 only */
    bool post;                      /* makes something of the series, and only that */
    int fold;                       /* not 0: stores every D-th output of the axis only, or what is made of these, where this
                                       divides D; more than 1: see gpu/ols/kernels/folded.cuh */
    int back_radix, back_outer_radix;   /* of the transform back of a folded spectrum; else 0: it is as the one forward */
    OlsDesign design;
    bool prefetches;                /* copies the next segment's samples to shared memory while one is in work: no more blocks
                                       than the device holds; time slow: only values of two bytes at most, or of four abreast */
    bool reversed;                  /* takes the spectra of taps that are one sample later: see gpu/ols/kernels/pipelined.cuh */
    int radix, outer_radix;         /* E, P: see gpu/device/fft.cuh */
    int cluster;                    /* blocks of a cluster that share a segment; 1: there are no clusters */
    int threads;                    /* of a block */
    int blocks;                     /* that an SM holds at most, by registers */
    int shared_bytes;               /* of a block */
    void (*kernel)(const OlsArgs);
    void (*find)(const OlsArgs);    /* the same with the epilogues of gpu/ols/kernels/search.cuh: crossings; */
    void (*keep)(const OlsArgs);    /* the best filter; NULL: there are none */
    int keep_bytes;                 /* shared memory of a block of the latter */
};

/* The kernels of one .cu file, named like it. */
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

/* How values lie in the bank of an overlap-save kernel, in values of the computing precision (complex). */
struct OlsBankLayout {
    int back_powers;                /* first value of the twiddle powers of a way back that has its own, after the others */
    int spectra;                    /* first value of the spectra, after those of the twiddle powers */
    size_t roots_bytes;             /* where the roots of unity begin, bytes */
    size_t bytes;
};

/** The kernel of a plan whose path is LW_CUDA_SEGMENTS. */
const OlsKernel *lw_ols_kernel_of(const struct lw_cuda_ols_plan *plan);

OlsBankLayout lw_ols_bank_layout(const OlsKernel *kernel, int n_filters);
