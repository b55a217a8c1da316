/* fft.h - plans of cuFFT, for batched transforms in place that work in memory of the caller. */
#pragma once

#include "base/error.h"
#include "base/linkage.h"

#include <cufft.h>
#include <stdbool.h>
#include <stdint.h>

LW_C_BEGIN

struct lw_cuda_fft {
    cufftHandle handle;
    bool is_open;               /* there is a handle to destroy */
};

/** Bytes that cuFFT works in, for `batch` transforms of `length` points. 0 where it cannot tell: lw_cuda_fft_create makes the
 * plan again, and says why it cannot. Needs the device's context. */
int64_t lw_cuda_fft_bytes(int64_t length, cufftType type, int batch);

/** @param work  lw_cuda_fft_bytes of device memory, borrowed for the plan's life
 *  @param what  the step for the message of an error */
int lw_cuda_fft_create(struct lw_cuda_fft *fft, int64_t length, cufftType type, int batch, void *work, const char *what,
                       struct lw_error *err);
void lw_cuda_fft_destroy(struct lw_cuda_fft *fft);      /* accepts one that was never created, all zero */

LW_C_END
