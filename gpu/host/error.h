/* error.h - turns the statuses of CUDA and cuFFT into errors of the program. */
#pragma once

#include "base/error.h"

#include <cuda_runtime_api.h>
#include <cufft.h>
#include <stdint.h>

LW_C_BEGIN

/** Return LW_OK for cudaSuccess, else LW_ESYSTEM. The message is "what: CUDA's text (name)", and the remedy where there is one.
 * @param what  the step that failed, e.g. "copying a block to the device" */
int lw_cuda_check(cudaError_t status, const char *what, struct lw_error *err);

/** Return LW_OK for CUFFT_SUCCESS, else LW_ESYSTEM. The message is "what: cause and remedy (cuFFT error number)". */
int lw_cufft_check(cufftResult status, const char *what, struct lw_error *err);

/** Return LW_ESYSTEM for an allocation that failed. The message has its purpose `what`, the bytes needed, and the remedy.
 * @param is_device  whether the memory is device memory (the message has the free bytes, too), else pinned host memory */
int lw_cuda_no_memory(cudaError_t status, const char *what, int64_t bytes, int is_device, struct lw_error *err);

/** Allocate device memory. For 0 bytes nothing is allocated, and *memory keeps its value. LW_ESYSTEM. */
int lw_cuda_allocate(int64_t bytes, const char *what, void **memory, struct lw_error *err);

/** Copy host memory to the device on `stream`, and wait for the copy. LW_ESYSTEM; `what` is the step that its message names. */
int lw_cuda_upload(void *to, const void *from, int64_t bytes, cudaStream_t stream, const char *what, struct lw_error *err);

LW_C_END
