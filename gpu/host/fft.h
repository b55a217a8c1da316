/* fft.h - cuFFT plans for in-place transforms: batches of rows, or one image. The caller provides their work memory. */
#pragma once

#include "base/error.h"

#include <cufft.h>
#include <stdint.h>

LW_C_BEGIN

struct lw_cuda_fft {
    cufftHandle handle;
    bool is_open;               /* there is a handle to destroy */
};

/** Return the bytes of work memory for `batch` transforms of `length` points; 0 if cuFFT fails. lw_cuda_fft_create meets the same
 * failure and reports it. Needs the device's context. */
int64_t lw_cuda_fft_bytes(int64_t length, cufftType type, int batch);

/** Create a plan in *fft, which is all zero. LW_ESYSTEM; *fft must then be destroyed, too.
 * @param work  lw_cuda_fft_bytes of device memory, borrowed for the plan's life
 * @param what  the step that an error message names */
int lw_cuda_fft_create(struct lw_cuda_fft *fft, int64_t length, cufftType type, int batch, void *work, const char *what,
                       struct lw_error *err);
/** The same for one transform of `rows` x `columns` points in place. A row of a real type is 2 (columns / 2 + 1) reals, of which
 * the first `columns` count, or columns / 2 + 1 bins.
 * @param work_bytes  lw_cuda_fft2d_bytes when the memory was planned; LW_ESYSTEM if cuFFT now needs more */
int64_t lw_cuda_fft2d_bytes(int64_t rows, int64_t columns, cufftType type);
int lw_cuda_fft2d_create(struct lw_cuda_fft *fft, int64_t rows, int64_t columns, cufftType type, void *work, int64_t work_bytes,
                         const char *what, struct lw_error *err);
void lw_cuda_fft_destroy(struct lw_cuda_fft *fft);      /* accepts an all-zero plan */

LW_C_END
