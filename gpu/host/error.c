#include "gpu/host/error.h"

#include "base/memory.h"

static const char *remedy_of(cudaError_t status)
{
    switch (status) {
    case cudaErrorMemoryAllocation:
        return ": lower --gpu-memory or --memory, or free the device";
    case cudaErrorInsufficientDriver:
    case cudaErrorSystemDriverMismatch:
        return ": install a newer NVIDIA driver, or use --engine cpu";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
        return ": lapwing was not built for this device: build it with CMAKE_CUDA_ARCHITECTURES set, or use --engine cpu";
    case cudaErrorDevicesUnavailable:
        return ": another process holds the device exclusively; use another device, or --engine cpu";
    case cudaErrorNoDevice:
        return ": use --engine cpu";
    default:
        return "";
    }
}

int lw_cuda_check(cudaError_t status, const char *what, struct lw_error *err)
{
    if (status == cudaSuccess)
        return LW_OK;
    return lw_fail(err, LW_ESYSTEM, "%s: %s (%s)%s", what, cudaGetErrorString(status), cudaGetErrorName(status), remedy_of(status));
}

static const char *const cufft_texts[CUFFT_NOT_SUPPORTED + 1] = {
    [CUFFT_ALLOC_FAILED] = "no memory for the plan: lower --gpu-memory or --memory",
    [CUFFT_INVALID_SIZE] = "cuFFT does not support this transform length",
    [CUFFT_SETUP_FAILED] = "cuFFT could not start on this device",
    [CUFFT_EXEC_FAILED] = "a transform failed on the device",
    [CUFFT_NOT_SUPPORTED] = "this version of cuFFT does not support the transform",
};

int lw_cufft_check(cufftResult status, const char *what, struct lw_error *err)
{
    if (status == CUFFT_SUCCESS)
        return LW_OK;
    const char *const text = status <= CUFFT_NOT_SUPPORTED ? cufft_texts[status] : NULL;
    return lw_fail(err, LW_ESYSTEM, "%s: %s (cuFFT error %d)", what, text ? text : "cuFFT failed", (int)status);
}

int lw_cuda_no_memory(cudaError_t status, const char *what, int64_t bytes, int is_device, struct lw_error *err)
{
    if (status != cudaErrorMemoryAllocation)
        return lw_cuda_check(status, what, err);
    cudaGetLastError();         /* clears the runtime's status, else the next check of a launch would report it again */
    char needed[24], room[24];
    lw_bytes_text(bytes, needed);
    if (!is_device)
        return lw_fail(err, LW_ESYSTEM, "no pinned memory for %s: %s needed; lower --memory or run fewer ranks on a "
                       "node", what, needed);
    size_t free_bytes = 0, total_bytes = 0;
    cudaMemGetInfo(&free_bytes, &total_bytes);
    return lw_fail(err, LW_ESYSTEM, "no device memory for %s: %s needed, %s free; lower --gpu-memory or --memory", what,
                   needed, lw_bytes_text((int64_t)free_bytes, room));
}

int lw_cuda_allocate(int64_t bytes, const char *what, void **memory, struct lw_error *err)
{
    const cudaError_t status = bytes > 0 ? cudaMalloc(memory, (size_t)bytes) : cudaSuccess;
    return status == cudaSuccess ? LW_OK : lw_cuda_no_memory(status, what, bytes, 1, err);
}

int lw_cuda_upload(void *to, const void *from, int64_t bytes, cudaStream_t stream, const char *what, struct lw_error *err)
{
    const cudaError_t status = cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyHostToDevice, stream);
    return lw_cuda_check(status == cudaSuccess ? cudaStreamSynchronize(stream) : status, what, err);
}
