/* emulation_fft.c - cuFFT's transforms for the emulation, by FFTW: batched complex rows, one long row, one image in place. */
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
    int rows;                   /* rows of an image; 0: no image */
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

#define SIGN(direction) ((direction) == CUFFT_FORWARD ? FFTW_FORWARD : FFTW_BACKWARD)

#define EXECUTE(prefix, expression)              \
    do {                                         \
        prefix##_plan plan = expression;         \
        prefix##_execute(plan);                  \
        prefix##_destroy_plan(plan);             \
    } while (0)

cufftResult cufftExecC2C(cufftHandle handle, cufftComplex *in, cufftComplex *out, int direction)
{
    const struct plan *const p = &plans[handle - 1];
    fftwf_complex *const from = (fftwf_complex *)in, *const to = (fftwf_complex *)out;
    if (p->rows)
        EXECUTE(fftwf, fftwf_plan_dft_2d(p->rows, p->n, from, to, SIGN(direction), FFTW_ESTIMATE));
    else
        EXECUTE(fftwf, fftwf_plan_many_dft(1, &p->n, p->batch, from, NULL, 1, p->n, to, NULL, 1, p->n, SIGN(direction),
                                           FFTW_ESTIMATE));
    return CUFFT_SUCCESS;
}

cufftResult cufftExecZ2Z(cufftHandle handle, cufftDoubleComplex *in, cufftDoubleComplex *out, int direction)
{
    if (lw_emulation_captures_fft(cufftExecZ2Z, handle, in, out, direction))
        return CUFFT_SUCCESS;
    const struct plan *const p = &plans[handle - 1];
    fftw_complex *const from = (fftw_complex *)in, *const to = (fftw_complex *)out;
    if (p->rows)
        EXECUTE(fftw, fftw_plan_dft_2d(p->rows, p->n, from, to, SIGN(direction), FFTW_ESTIMATE));
    else
        EXECUTE(fftw, fftw_plan_many_dft(1, &p->n, p->batch, from, NULL, 1, p->n, to, NULL, 1, p->n, SIGN(direction),
                                         FFTW_ESTIMATE));
    return CUFFT_SUCCESS;
}

/* ---- plans: rows, or an image in place, whose real rows FFTW and cuFFT pad alike ---- */

cufftResult cufftGetSizeMany64(cufftHandle handle, int rank, long long *n, long long *inembed, long long istride, long long idist,
                               long long *onembed, long long ostride, long long odist, cufftType type, long long batch,
                               size_t *bytes)
{
    (void)handle;
    const long long bins = type == CUFFT_C2C || type == CUFFT_Z2Z ? n[rank - 1] : n[rank - 1] / 2 + 1;
    const int is_image = rank == 2 && (inembed[1] == bins || inembed[1] == 2 * bins) && idist == n[0] * inembed[1] &&
                         (onembed[1] == bins || onembed[1] == 2 * bins) && odist == n[0] * onembed[1];
    if (!(is_image && batch == 1) && (rank != 1 || idist != *n || odist != *n || istride != 1 || ostride != 1))
        return CUFFT_INVALID_VALUE;
    const int is_double = type == CUFFT_Z2Z || type == CUFFT_D2Z || type == CUFFT_Z2D;
    *bytes = (size_t)(rank == 2 ? n[0] * bins : *n * batch) * (is_double ? 16 : 8);
    return CUFFT_SUCCESS;
}

cufftResult cufftMakePlanMany64(cufftHandle handle, int rank, long long *n, long long *inembed, long long istride, long long idist,
                                long long *onembed, long long ostride, long long odist, cufftType type, long long batch,
                                size_t *bytes)
{
    plans[handle - 1] = (struct plan){type, (int)n[rank - 1], (int)batch, rank == 2 ? (int)n[0] : 0};
    return cufftGetSizeMany64(handle, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, bytes);
}

cufftResult cufftExecD2Z(cufftHandle handle, cufftDoubleReal *in, cufftDoubleComplex *out)
{
    const struct plan *const p = &plans[handle - 1];
    if (p->rows)
        EXECUTE(fftw, fftw_plan_dft_r2c_2d(p->rows, p->n, in, (fftw_complex *)out, FFTW_ESTIMATE));
    else
        EXECUTE(fftw, fftw_plan_dft_r2c_1d(p->n, in, (fftw_complex *)out, FFTW_ESTIMATE));
    return CUFFT_SUCCESS;
}

cufftResult cufftExecR2C(cufftHandle handle, cufftReal *in, cufftComplex *out)
{
    const struct plan *const p = &plans[handle - 1];
    if (p->rows == 0)
        EXECUTE(fftwf, fftwf_plan_dft_r2c_1d(p->n, in, (fftwf_complex *)out, FFTW_ESTIMATE));
    else
        EXECUTE(fftwf, fftwf_plan_dft_r2c_2d(p->rows, p->n, in, (fftwf_complex *)out, FFTW_ESTIMATE));
    return CUFFT_SUCCESS;
}

cufftResult cufftExecC2R(cufftHandle handle, cufftComplex *in, cufftReal *out)
{
    const struct plan *const p = &plans[handle - 1];
    EXECUTE(fftwf, fftwf_plan_dft_c2r_2d(p->rows, p->n, (fftwf_complex *)in, out, FFTW_ESTIMATE));
    return CUFFT_SUCCESS;
}

cufftResult cufftExecZ2D(cufftHandle handle, cufftDoubleComplex *in, cufftDoubleReal *out)
{
    const struct plan *const p = &plans[handle - 1];
    EXECUTE(fftw, fftw_plan_dft_c2r_2d(p->rows, p->n, (fftw_complex *)in, out, FFTW_ESTIMATE));
    return CUFFT_SUCCESS;
}
