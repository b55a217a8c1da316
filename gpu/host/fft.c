#include "gpu/host/fft.h"

#include "gpu/host/error.h"

int64_t lw_cuda_fft_bytes(int64_t length, cufftType type, int batch)
{
    int n = (int)length;
    size_t bytes = 0;
    cufftHandle handle;
    if (cufftCreate(&handle) != CUFFT_SUCCESS)
        return 0;
    cufftSetAutoAllocation(handle, 0);
    cufftGetSizeMany(handle, 1, &n, NULL, 1, n, NULL, 1, n, type, batch, &bytes);
    cufftDestroy(handle);
    return (int64_t)bytes;
}

int lw_cuda_fft_create(struct lw_cuda_fft *fft, int64_t length, cufftType type, int batch, void *work, const char *what,
                       struct lw_error *err)
{
    int n = (int)length, rc = lw_cufft_check(cufftCreate(&fft->handle), what, err);
    if (rc)
        return rc;
    fft->is_open = true;
    size_t bytes;
    if ((rc = lw_cufft_check(cufftSetAutoAllocation(fft->handle, 0), what, err)) ||
        (rc = lw_cufft_check(cufftMakePlanMany(fft->handle, 1, &n, NULL, 1, n, NULL, 1, n, type, batch, &bytes), what, err)))
        return rc;
    return lw_cufft_check(cufftSetWorkArea(fft->handle, work), what, err);
}

void lw_cuda_fft_destroy(struct lw_cuda_fft *fft)
{
    if (fft->is_open)
        cufftDestroy(fft->handle);
}
