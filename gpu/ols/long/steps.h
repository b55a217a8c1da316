/* steps.h - the steps of overlap-save around cuFFT: cut segments, multiply by a spectrum, keep the valid part.
 *
 * A work buffer holds `batch` segments of N complex numbers of the computing precision. Item q of the block is segment q / n_groups
 * of group q % n_groups. A group shares one transform: a channel, two adjacent real channels, or (one real channel) two adjacent
 * hops. All calls are asynchronous on the stream. */
#pragma once

#include "base/linkage.h"
#include "engine/engine.h"
#include "gpu/device/post_args.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

LW_C_BEGIN

enum lw_pairing { LW_UNPAIRED, LW_PAIRED_CHANNELS, LW_PAIRED_HOPS };

/* One block and how it is cut into items. */
struct lw_long_geometry {
    enum lw_precision precision;
    enum lw_layout layout;
    enum lw_scalar input;
    bool input_complex, output_complex;
    enum lw_pairing pairing;
    int64_t segment, hop;       /* N; N - M + 1 - reach */
    int64_t reach;              /* samples of the series that --post needs beyond a hop */
    int64_t count, n_channels;  /* outputs and channels of the block */
    int64_t input_pitch;        /* input samples from channel to channel; [axis][channel]: channels of an axis sample */
    int64_t n_groups, n_items;
};

/** Load items first .. first + n - 1 of the block to the work buffer; items from n_items on are zero.
 * @param not_finite  set to 1 if a sample was not finite and counted as zero */
cudaError_t lw_long_load(const struct lw_long_geometry *geometry, const void *input, int64_t first, int n,
                         void *segments, unsigned *not_finite, cudaStream_t stream);

/** products[i] = segments[i] * spectrum[i modulo N], i < n N. */
cudaError_t lw_long_multiply(enum lw_precision precision, const void *segments, const void *spectrum, int64_t segment,
                             int n, void *products, cudaStream_t stream);

/** Store the valid outputs of items first .. first + n - 1 to one plane of the output, float or double. */
cudaError_t lw_long_store(const struct lw_long_geometry *geometry, const void *products, int64_t first, int n,
                          void *plane, cudaStream_t stream);

/** Store what `post` makes of the series. An item's series is products[N - hop - reach .. N); its hop begins `before` later. */
cudaError_t lw_long_post(const struct lw_long_geometry *geometry, const struct lw_post_args *post, const void *products,
                         int64_t first, int n, void *plane, cudaStream_t stream);

/** Write one filter's taps (float64, complex as pairs) followed by zeros as N double2. */
cudaError_t lw_long_pad(const double *taps, bool is_complex, int64_t n_taps, int64_t segment, void *padded, cudaStream_t stream);

/** spectrum[i] = padded[i] / N in the computing precision. */
cudaError_t lw_long_scale(enum lw_precision precision, const void *padded, int64_t segment, void *spectrum, cudaStream_t stream);

LW_C_END
