/* stack.h - kernels that sum the filtered channels of an array (signal/array.h): real samples and taps, single precision. C header.
 *
 *     samples --segments--> spectra of tiles ----\
 *        \----windows-----> gains of outputs -----> sums --> series --exact--> series
 *                           filters' spectra ----/
 *
 * Positions are outputs of a filter in a channel, before delays. They are counted from the block's first, which the input's samples
 * 0 .. n_taps - 1 make. A tile is two adjacent hops of them, the real and the imaginary part of one transform. As the block begins
 * with a tile of the axis, bits do not depend on blocks. A stack's output at o adds up positions o + delay, tile after tile, and in
 * each tile channel after channel. Windows that are quiet beside their tile are left to `exact`, which adds sums in double. */
#pragma once

#include "base/linkage.h"
#include "engine/engine.h"
#include "gpu/device/nan_report.h"

#include <cuda_runtime_api.h>

LW_C_BEGIN

/* Transforms of a length, and the outputs of a tile. Outputs that are not normalized may be added up as products of spectra: their
 * filters' taps then are delayed by as much as the channel's delay is less than the filter's largest. */
struct lw_stack_shape {
    int segment, radix, outer;          /* N = radix^2 outer, see gpu/device/fft.cuh */
    bool is_fused;                      /* spectra are added up, before one way back */
    int n_taps;                         /* taps of a transformed filter: with is_fused its own and `span` */
    int discard, hop;                   /* values dropped at the front of a filtered segment; outputs of one */
    int tile;                           /* outputs of a tile, 2 hop */
    int span;                           /* most samples between two delays of a filter */
    int walk, abreast;                  /* tiles of a walk, and filters that walk at the same time: see sums.cuh */
};

/** Choose the shape for a spec with stacks. Pure.
 * @param shared_bytes  most dynamic shared memory of a thread block
 * @return LW_ECONFIG if no length holds the taps and the delays, or if there is none of spec->ols.segment points */
int lw_stack_choose(const struct lw_op_spec *spec, int shared_bytes, struct lw_stack_shape *out, struct lw_error *err);

/** Return the modelled seconds of a position of one filter in one of n_inputs channels. */
double lw_stack_seconds(const struct lw_stack_shape *shape, int64_t n_inputs);

/* A channel of a stack. */
struct lw_stack_term {
    int32_t channel, delay;
    float weight;
};

/* The range of the delays of a stack's channels with a weight; 0 .. 0: it has none. */
struct lw_stack_range {
    int32_t least, most;
};

/* Filters in device memory. A row of spectra belongs to a channel of a filter, or to a filter if its channels share it. */
struct lw_stack_bank {
    void *powers;                       /* twiddles, lw_stack_powers_bytes */
    void *spectra;                      /* [rows][N] complex floats, in the threads' order, divided by N */
    float *peaks;                       /* [rows] largest magnitudes of spectra */
    float *taps;                        /* [rows][n_taps], as they are transformed; NULL: outputs are not normalized */
    struct lw_stack_term *terms;        /* [n_filters][n_inputs] */
    struct lw_stack_range *ranges;      /* [n_filters] */
    struct lw_stack_range most;         /* range of their `most`, on the host */
    int64_t n_taps;
    int n_inputs;
    bool own_taps;
    enum lw_normalize normalize;
};

int64_t lw_stack_powers_bytes(const struct lw_stack_shape *shape);
cudaError_t lw_stack_prepare(const struct lw_stack_shape *shape, const struct lw_stack_bank *bank, cudaStream_t stream);

/** Normalize n rows of taps from row `first` on, as the bank's `normalize` tells, and keep them in bank->taps if it is not NULL.
 * @param values  device, [n][N] complex doubles, of which the first n_taps are given; changed in place */
cudaError_t lw_stack_change(const struct lw_stack_shape *shape, const struct lw_stack_bank *bank, void *values, int64_t first,
                            int n, cudaStream_t stream);

/** Put the bins of n rows of taps into the bank, whose terms and ranges are filled.
 * @param bins  device, [n][N] complex doubles; NULL: the rows are 0 */
cudaError_t lw_stack_put(const struct lw_stack_shape *shape, const struct lw_stack_bank *bank, const void *bins, int64_t first,
                         int n, cudaStream_t stream);

/* A block of samples, and what is made of it. All pointers are device memory. */
struct lw_stack_block {
    const void *input;
    struct lw_type type;                /* type of the input, in this machine's byte order */
    bool is_slow, propagates;           /* [axis][channel]; samples that are not finite spoil outputs */
    int64_t n_samples;                  /* samples of a channel */
    int64_t own_first, own_count;       /* positions whose windows are counted if they are quiet */
    int n_tiles;                        /* lw_stack_tiles(n_samples - n_taps + 1) */
    void *spectra;                      /* [n_inputs][n_tiles][N] complex floats, in the threads' order */
    float *gains;                       /* [n_inputs][n_tiles][tile] factors of positions; NaN: spoilt */
    float *rms;                         /* [n_inputs][n_tiles] root mean squares of the transformed samples; 0: not normalized */
    float *most;                        /* [n_inputs][n_tiles] largest gains */
    void *products;                     /* is_fused: scratch, sums of n_products filters' spectra, [n_products][n_tiles][N] */
    int n_products;
    struct lw_nan_report *report;
};

int64_t lw_stack_tiles(const struct lw_stack_shape *shape, int64_t n_positions);

/** Enqueue spectra and gains of a block. */
cudaError_t lw_stack_load(const struct lw_stack_shape *shape, const struct lw_stack_bank *bank, const struct lw_stack_block *block,
                          cudaStream_t stream);

/* A piece of the stacks: outputs of some filters. */
struct lw_stack_piece {
    int filter, n_filters;              /* among those in the bank */
    int64_t first, count;               /* outputs, counted as positions */
    float *series;                      /* device, [n_filters][count] */
    unsigned *touched;                  /* device, [n_filters]: scratch; whether `exact` has to add to a filter's outputs */
};

/** Enqueue the sums of a piece. */
cudaError_t lw_stack_sum(const struct lw_stack_shape *shape, const struct lw_stack_bank *bank, const struct lw_stack_block *block,
                         const struct lw_stack_piece *piece, cudaStream_t stream);

LW_C_END
