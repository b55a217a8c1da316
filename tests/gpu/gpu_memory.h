/* gpu_memory.h - device memory for tests that call the launchers of kernels directly. */
#pragma once

#include "../check.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>

/* Allocate device memory. The program ends if there is not enough. */
static inline void *on_device(size_t bytes)
{
    void *memory = NULL;
    if (cudaMalloc(&memory, bytes) != cudaSuccess) {
        fprintf(stderr, "no device memory for %zu bytes\n", bytes);
        exit(1);
    }
    return memory;
}

static inline void copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    CHECK(cudaMemcpyAsync(to, from, bytes, kind, NULL) == cudaSuccess && cudaStreamSynchronize(NULL) == cudaSuccess,
          "copy of %zu bytes", bytes);
}
