#include "gpu/host/fft.h"

#include "gpu/host/error.h"

typedef cufftResult (*plan_call)(cufftHandle, int, long long *, long long *, long long, long long, long long *, long long,
                                 long long, cufftType, long long, size_t *);

/* Plan one transform of rows x columns points in place, or only ask for its work memory. */
static cufftResult plan_image(plan_call call, cufftHandle handle, int64_t rows, int64_t columns, cufftType type, size_t *bytes)
{
    const bool is_complex = type == CUFFT_C2C || type == CUFFT_Z2Z, is_back = type == CUFFT_C2R || type == CUFFT_Z2D;
    const long long n_bins = is_complex ? columns : columns / 2 + 1;
    long long n[] = {rows, columns}, values[] = {rows, is_complex ? n_bins : 2 * n_bins}, bins[] = {rows, n_bins};
    long long *const in = is_back ? bins : values, *const out = is_back ? values : bins;
    return call(handle, 2, n, in, 1, rows * in[1], out, 1, rows * out[1], type, 1, bytes);
}

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

int64_t lw_cuda_fft2d_bytes(int64_t rows, int64_t columns, cufftType type)
{
    size_t bytes = 0;
    cufftHandle handle;
    if (cufftCreate(&handle) != CUFFT_SUCCESS)
        return 0;
    cufftSetAutoAllocation(handle, 0);
    plan_image(cufftGetSizeMany64, handle, rows, columns, type, &bytes);
    cufftDestroy(handle);
    return (int64_t)bytes;
}

int lw_cuda_fft2d_create(struct lw_cuda_fft *fft, int64_t rows, int64_t columns, cufftType type, void *work, int64_t work_bytes,
                         const char *what, struct lw_error *err)
{
    size_t bytes = 0;
    int rc = lw_cufft_check(cufftCreate(&fft->handle), what, err);
    if (rc)
        return rc;
    fft->is_open = true;
    if ((rc = lw_cufft_check(cufftSetAutoAllocation(fft->handle, 0), what, err)) ||
        (rc = lw_cufft_check(plan_image(cufftMakePlanMany64, fft->handle, rows, columns, type, &bytes), what, err)))
        return rc;
    if ((int64_t)bytes > work_bytes)
        return lw_fail(err, LW_ESYSTEM, "%s: cuFFT needs %zu bytes of work memory, but asked for %lld: use another --algorithm",
                       what, bytes, (long long)work_bytes);
    return lw_cufft_check(cufftSetWorkArea(fft->handle, work), what, err);
}

void lw_cuda_fft_destroy(struct lw_cuda_fft *fft)
{
    if (fft->is_open)
        cufftDestroy(fft->handle);
}
