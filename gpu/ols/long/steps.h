/* steps.h - the steps of overlap-save around transforms: cut segments, multiply by a spectrum, store the valid outputs.
 *
 * An item is N complex points that are transformed at once: a segment of a complex channel, a segment of each of two adjacent real
 * channels, or two adjacent segments of the only real channel. Its group is its channel or channels. Item q of the block is number
 * q / n_groups on the axis, of group q % n_groups. Work space: items one after the other, in the computing precision. All calls
 * are asynchronous on `stream`. */
#pragma once

#include "gpu/device/narrow.h"
#include "gpu/device/post_args.h"

#include <cuda_runtime_api.h>

LW_C_BEGIN

enum lw_pairing { LW_UNPAIRED, LW_PAIRED_CHANNELS, LW_PAIRED_HOPS };

/* One block and how it is cut into items. */
struct lw_long_geometry {
    enum lw_precision precision;
    enum lw_layout layout;
    enum lw_scalar input;
    bool input_complex, output_complex;
    struct lw_narrowing narrow; /* stored type of the outputs */
    enum lw_pairing pairing;
    int64_t segment, hop;       /* N; outputs that a segment advances, N - M + 1 - reach */
    int64_t reach;              /* samples of the series that --post needs beyond a hop */
    int64_t count, n_channels;  /* outputs and channels of the block */
    int64_t input_pitch;        /* input samples from channel to channel; for [axis][channel]: from axis sample to axis sample */
    int64_t n_groups, n_items;  /* groups of channels; items of the block */
};

/** Load items first .. first + n - 1 of the block to `segments`, [n][N]. Items from n_items on become zero.
 * @param not_finite  device; set to 1 if a sample was not finite and so counted as zero */
cudaError_t lw_long_load(const struct lw_long_geometry *geometry, const void *input, int64_t first, int n,
                         void *segments, unsigned *not_finite, cudaStream_t stream);

/** Multiply n items by a filter's spectrum: products[i] = segments[i] * spectrum[i modulo N], i < n N. */
cudaError_t lw_long_multiply(enum lw_precision precision, const void *segments, const void *spectrum, int64_t segment,
                             int n, void *products, cudaStream_t stream);

/** Store the last `hop` values of items first .. first + n - 1, the valid outputs, to one filter's plane. */
cudaError_t lw_long_store(const struct lw_long_geometry *geometry, const void *products, int64_t first, int n,
                          void *plane, cudaStream_t stream);

/** Store the outputs of --post. The series is an item's values from N - hop - reach on; the hop begins post->before later. */
cudaError_t lw_long_post(const struct lw_long_geometry *geometry, const struct lw_post_args *post, const void *products,
                         int64_t first, int n, void *plane, cudaStream_t stream);

/** Write n spectra in the computing precision, divided by N: spectra[i] = bins[i] / N, i < n N; bins: complex float64. */
cudaError_t lw_long_scale(enum lw_precision precision, const void *bins, int64_t segment, int n, void *spectra,
                          cudaStream_t stream);

LW_C_END
