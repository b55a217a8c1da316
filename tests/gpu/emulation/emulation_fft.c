/* emulation_fft.c - cuFFT's batched complex transforms for the emulation, by FFTW. */
#include <cufft.h>
#include <fftw3.h>

#include <stdlib.h>

/* Whether a graph is being captured; then the graph will make this call later (emulation.cpp). */
int lw_emulation_captures_fft(cufftResult (*exec)(cufftHandle, cufftDoubleComplex *, cufftDoubleComplex *, int), cufftHandle handle,
                              cufftDoubleComplex *in, cufftDoubleComplex *out, int direction);

enum { MAX_PLANS = 64 };

static struct plan {
    cufftType type;
    int n, batch;
} plans[MAX_PLANS];
static int n_plans;

cufftResult cufftCreate(cufftHandle *handle)
{
    if (n_plans == MAX_PLANS)
        n_plans = 0;            /* old plans are reused: tests use few at a time */
    *handle = ++n_plans;
    return CUFFT_SUCCESS;
}

cufftResult cufftDestroy(cufftHandle handle)
{
    (void)handle;
    return CUFFT_SUCCESS;
}

cufftResult cufftSetAutoAllocation(cufftHandle handle, int automatic)
{
    (void)handle;
    (void)automatic;
    return CUFFT_SUCCESS;
}

cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream)
{
    (void)handle;
    (void)stream;
    return CUFFT_SUCCESS;
}

cufftResult cufftSetWorkArea(cufftHandle handle, void *area)
{
    (void)handle;
    (void)area;
    return CUFFT_SUCCESS;
}

cufftResult cufftGetSizeMany(cufftHandle handle, int rank, int *n, int *inembed, int istride, int idist, int *onembed,
                             int ostride, int odist, cufftType type, int batch, size_t *bytes)
{
    (void)handle;
    (void)inembed, (void)onembed;
    if (rank != 1 || istride != 1 || ostride != 1 || idist != *n || odist != *n)
        return CUFFT_INVALID_VALUE;
    *bytes = (size_t)*n * (size_t)batch * (type == CUFFT_Z2Z ? 16 : 8);
    return CUFFT_SUCCESS;
}

cufftResult cufftMakePlanMany(cufftHandle handle, int rank, int *n, int *inembed, int istride, int idist, int *onembed,
                              int ostride, int odist, cufftType type, int batch, size_t *bytes)
{
    plans[handle - 1] = (struct plan){type, *n, batch};
    return cufftGetSizeMany(handle, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, bytes);
}

cufftResult cufftExecC2C(cufftHandle handle, cufftComplex *in, cufftComplex *out, int direction)
{
    const struct plan *const p = &plans[handle - 1];
    fftwf_plan plan = fftwf_plan_many_dft(1, &p->n, p->batch, (fftwf_complex *)in, NULL, 1, p->n, (fftwf_complex *)out, NULL, 1,
                                          p->n, direction == CUFFT_FORWARD ? FFTW_FORWARD : FFTW_BACKWARD, FFTW_ESTIMATE);
    fftwf_execute(plan);
    fftwf_destroy_plan(plan);
    return CUFFT_SUCCESS;
}

cufftResult cufftExecZ2Z(cufftHandle handle, cufftDoubleComplex *in, cufftDoubleComplex *out, int direction)
{
    if (lw_emulation_captures_fft(cufftExecZ2Z, handle, in, out, direction))
        return CUFFT_SUCCESS;
    const struct plan *const p = &plans[handle - 1];
    fftw_plan plan = fftw_plan_many_dft(1, &p->n, p->batch, (fftw_complex *)in, NULL, 1, p->n, (fftw_complex *)out, NULL, 1,
                                        p->n, direction == CUFFT_FORWARD ? FFTW_FORWARD : FFTW_BACKWARD, FFTW_ESTIMATE);
    fftw_execute(plan);
    fftw_destroy_plan(plan);
    return CUFFT_SUCCESS;
}

/* ---- one long transform ---- */

cufftResult cufftGetSizeMany64(cufftHandle handle, int rank, long long *n, long long *inembed, long long istride, long long idist,
                               long long *onembed, long long ostride, long long odist, cufftType type, long long batch,
                               size_t *bytes)
{
    (void)handle;
    (void)inembed, (void)onembed;
    if (rank != 1 || batch != 1 || istride != 1 || ostride != 1 || idist != *n || odist != *n)
        return CUFFT_INVALID_VALUE;
    *bytes = (size_t)*n * (type == CUFFT_Z2Z ? 16 : 8);
    return CUFFT_SUCCESS;
}

cufftResult cufftMakePlanMany64(cufftHandle handle, int rank, long long *n, long long *inembed, long long istride, long long idist,
                                long long *onembed, long long ostride, long long odist, cufftType type, long long batch,
                                size_t *bytes)
{
    plans[handle - 1] = (struct plan){type, (int)*n, 1};
    return cufftGetSizeMany64(handle, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, bytes);
}

cufftResult cufftExecD2Z(cufftHandle handle, cufftDoubleReal *in, cufftDoubleComplex *out)
{
    fftw_plan plan = fftw_plan_dft_r2c_1d(plans[handle - 1].n, in, (fftw_complex *)out, FFTW_ESTIMATE);
    fftw_execute(plan);
    fftw_destroy_plan(plan);
    return CUFFT_SUCCESS;
}
