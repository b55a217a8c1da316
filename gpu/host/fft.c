#include "gpu/host/fft.h"

#include "base/integers.h"
#include "gpu/host/error.h"

/* Transforms of one plan: `batch` rows of `columns` points, or, if rows > 0, one image. */
struct shape {
    int64_t rows, columns;
    cufftType type;
    int batch;
};

/* Make the plan, or only ask for the bytes of its work memory. */
static cufftResult plan(cufftHandle handle, const struct shape *shape, bool is_made, size_t *bytes)
{
    const cufftType type = shape->type;
    if (shape->rows == 0) {
        long long n = shape->columns;
        return (is_made ? cufftMakePlanMany64 : cufftGetSizeMany64)(handle, 1, &n, NULL, 1, n, NULL, 1, n, type, shape->batch,
                                                                    bytes);
    }
    const bool is_complex = type == CUFFT_C2C || type == CUFFT_Z2Z, is_back = type == CUFFT_C2R || type == CUFFT_Z2D;
    const long long rows = shape->rows, n_bins = is_complex ? shape->columns : shape->columns / 2 + 1;
    long long n[] = {rows, shape->columns}, values[] = {rows, is_complex ? n_bins : 2 * n_bins}, bins[] = {rows, n_bins};
    long long *const in = is_back ? bins : values, *const out = is_back ? values : bins;
    return (is_made ? cufftMakePlanMany64 : cufftGetSizeMany64)(handle, 2, n, in, 1, rows * in[1], out, 1, rows * out[1], type, 1,
                                                                bytes);
}

/* Return the bytes of cuFFT's work memory; where no device is here, those of the transformed values, which are the usual ones. A
 * dense transform of real samples has only the bins from 0 on. */
static int64_t work_bytes_of(const struct shape *shape)
{
    const int64_t values = shape->rows == 0 && shape->type == CUFFT_D2Z ? shape->columns / 2 + 1 : shape->columns;
    size_t bytes = 0;
    cufftHandle handle;
    cufftResult status = cufftCreate(&handle);
    if (status == CUFFT_SUCCESS) {
        cufftSetAutoAllocation(handle, 0);
        status = plan(handle, shape, false, &bytes);
        cufftDestroy(handle);
    }
    return status == CUFFT_SUCCESS ? (int64_t)bytes : lw_max64(shape->rows, 1) * values * shape->batch * 16;
}

static int create(struct lw_cuda_fft *fft, const struct shape *shape, void *work, int64_t work_bytes, const char *what,
                  struct lw_error *err)
{
    size_t bytes = 0;
    int rc = lw_cufft_check(cufftCreate(&fft->handle), what, err);
    if (rc)
        return rc;
    fft->is_open = true;
    if ((rc = lw_cufft_check(cufftSetAutoAllocation(fft->handle, 0), what, err)) ||
        (rc = lw_cufft_check(plan(fft->handle, shape, true, &bytes), what, err)))
        return rc;
    if ((int64_t)bytes > work_bytes)
        return lw_fail(err, LW_ESYSTEM, "%s: cuFFT needs %zu bytes of work memory, but asked for %lld: use another --algorithm",
                       what, bytes, (long long)work_bytes);
    return lw_cufft_check(cufftSetWorkArea(fft->handle, work), what, err);
}

int64_t lw_cuda_fft_bytes(int64_t length, cufftType type, int batch)
{
    return work_bytes_of(&(struct shape){0, length, type, batch});
}

int lw_cuda_fft_create(struct lw_cuda_fft *fft, int64_t length, cufftType type, int batch, void *work, const char *what,
                       struct lw_error *err)
{
    return create(fft, &(struct shape){0, length, type, batch}, work, INT64_MAX, what, err);
}

int64_t lw_cuda_fft2d_bytes(int64_t rows, int64_t columns, cufftType type)
{
    return work_bytes_of(&(struct shape){rows, columns, type, 1});
}

int lw_cuda_fft2d_create(struct lw_cuda_fft *fft, int64_t rows, int64_t columns, cufftType type, void *work, int64_t work_bytes,
                         const char *what, struct lw_error *err)
{
    return create(fft, &(struct shape){rows, columns, type, 1}, work, work_bytes, what, err);
}

void lw_cuda_fft_destroy(struct lw_cuda_fft *fft)
{
    if (fft->is_open)
        cufftDestroy(fft->handle);
}
