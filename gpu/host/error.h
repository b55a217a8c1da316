/* error.h - the one place where a CUDA or cuFFT status becomes the program's error. */
#pragma once

#include "base/error.h"
#include "base/linkage.h"

#include <cuda_runtime_api.h>
#include <cufft.h>
#include <stdint.h>

LW_C_BEGIN

/** LW_OK for cudaSuccess; else LW_ESYSTEM: "what: CUDA's text (name)" and, where there is one, the remedy.
 * @param what  the step that was tried, "copying a block to the device" */
int lw_cuda_check(cudaError_t status, const char *what, struct lw_error *err);

/** The same for cuFFT. */
int lw_cufft_check(cufftResult status, const char *what, struct lw_error *err);

/** LW_ESYSTEM for an allocation that failed: what it was for, the bytes needed, the bytes free and the remedy.
 * @param is_device  device memory, else pinned host memory */
int lw_cuda_no_memory(cudaError_t status, const char *what, int64_t bytes, int is_device, struct lw_error *err);

/** Take device memory; of 0 bytes none, and *memory stays as it is. */
int lw_cuda_allocate(int64_t bytes, const char *what, void **memory, struct lw_error *err);

/** Copy host memory to the device; done at return. */
int lw_cuda_upload(void *to, const void *from, int64_t bytes, cudaStream_t stream, const char *what, struct lw_error *err);

LW_C_END
