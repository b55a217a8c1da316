/* gpu_memory.h - device memory for tests that call kernels' launchers themselves. */
#pragma once

#include "../check.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>

/* The end of the program where there is none. */
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
