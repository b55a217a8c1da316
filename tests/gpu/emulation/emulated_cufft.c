/* emulated_cufft.c - cuFFT for the emulated benchmarks, by FFTW in double: batches of 1-D and 2-D transforms, complex and real,
 * in rows any distance apart, with callbacks. It is slow and simple, and serves to check a benchmark's baseline. */
#include <cufftXt.h>
#include <fftw3.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PLANS = 256 };

static struct plan {
    cufftType type;
    int rank, n[2];
    long long idist, odist, batch;
    int in_pitch, out_pitch;        /* distance between rows of a 2-D transform's input and output, in values */
    void *load, *store;
} plans[MAX_PLANS];
static int n_plans;

cufftResult cufftCreate(cufftHandle *handle)
{
    n_plans = n_plans % MAX_PLANS + 1;          /* old plans are reused: few are in use at a time */
    *handle = n_plans;
    plans[n_plans - 1] = (struct plan){0};
    return CUFFT_SUCCESS;
}

cufftResult cufftDestroy(cufftHandle handle)
{
    (void)handle;
    return CUFFT_SUCCESS;
}

cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream)
{
    (void)handle, (void)stream;
    return CUFFT_SUCCESS;
}

static int is_real(cufftType type) { return type != CUFFT_C2C && type != CUFFT_Z2Z; }
static int is_double(cufftType type) { return type == CUFFT_Z2Z || type == CUFFT_D2Z || type == CUFFT_Z2D; }
static int gives_real(cufftType type) { return type == CUFFT_C2R || type == CUFFT_Z2D; }

/* Number of values in a row of the last dimension, of a real or a complex side of the transform. */
static int row_length(const struct plan *p, int side_is_real)
{
    const int last = p->n[p->rank - 1];
    return is_real(p->type) && !side_is_real ? last / 2 + 1 : last;
}

static long long values(const struct plan *p, int side_is_real)
{
    return (long long)(p->rank == 2 ? p->n[0] : 1) * row_length(p, side_is_real);
}

cufftResult cufftMakePlanMany64(cufftHandle handle, int rank, long long *n, long long *inembed, long long istride, long long idist,
                                long long *onembed, long long ostride, long long odist, cufftType type, long long batch,
                                size_t *bytes)
{
    struct plan *const p = &plans[handle - 1];
    *bytes = 0;
    if (rank > 2 || istride > 1 || ostride > 1 || batch < 1)
        return CUFFT_INVALID_VALUE;
    p->type = type;
    p->rank = rank;
    for (int i = 0; i < rank; i++)
        p->n[i] = (int)n[i];
    const int real_in = is_real(type) && !gives_real(type);
    p->idist = inembed ? idist : values(p, real_in);
    p->odist = onembed ? odist : values(p, gives_real(type));
    p->in_pitch = inembed ? (int)inembed[rank - 1] : row_length(p, real_in);
    p->out_pitch = onembed ? (int)onembed[rank - 1] : row_length(p, gives_real(type));
    p->batch = batch;
    return CUFFT_SUCCESS;
}

cufftResult cufftPlanMany(cufftHandle *handle, int rank, int *n, int *inembed, int istride, int idist, int *onembed, int ostride,
                          int odist, cufftType type, int batch)
{
    long long length[2] = {n[0], rank > 1 ? n[1] : 1};
    size_t bytes;
    cufftCreate(handle);
    return cufftMakePlanMany64(*handle, rank, length, inembed ? length : NULL, istride, idist, onembed ? length : NULL, ostride,
                               odist, type, batch, &bytes);
}

cufftResult cufftPlan1d(cufftHandle *handle, int n, cufftType type, int batch)
{
    return cufftPlanMany(handle, 1, &n, NULL, 1, n, NULL, 1, n, type, batch);
}

cufftResult cufftXtSetCallback(cufftHandle handle, void **routine, cufftXtCallbackType type, void **info)
{
    struct plan *const p = &plans[handle - 1];
    (void)info;
    const int loads = type == CUFFT_CB_LD_COMPLEX || type == CUFFT_CB_LD_COMPLEX_DOUBLE || type == CUFFT_CB_LD_REAL ||
                      type == CUFFT_CB_LD_REAL_DOUBLE;
    *(loads ? &p->load : &p->store) = *routine;
    return CUFFT_SUCCESS;
}

static void load(const struct plan *p, int real, const void *in, long long at, double value[2])
{
    value[1] = 0;
    if (real && is_double(p->type))
        value[0] = p->load ? ((cufftCallbackLoadD)p->load)((void *)in, (size_t)at, NULL, NULL) : ((const double *)in)[at];
    else if (real)
        value[0] = p->load ? ((cufftCallbackLoadR)p->load)((void *)in, (size_t)at, NULL, NULL) : ((const float *)in)[at];
    else if (is_double(p->type)) {
        const cufftDoubleComplex z = p->load ? ((cufftCallbackLoadZ)p->load)((void *)in, (size_t)at, NULL, NULL)
                                             : ((const cufftDoubleComplex *)in)[at];
        value[0] = z.x, value[1] = z.y;
    } else {
        const cufftComplex z = p->load ? ((cufftCallbackLoadC)p->load)((void *)in, (size_t)at, NULL, NULL)
                                       : ((const cufftComplex *)in)[at];
        value[0] = z.x, value[1] = z.y;
    }
}

static void store(const struct plan *p, int real, void *out, long long at, const double value[2])
{
    const cufftDoubleComplex z = {value[0], value[1]};
    const cufftComplex c = {(float)z.x, (float)z.y};
    if (p->store && real && is_double(p->type))
        ((cufftCallbackStoreD)p->store)(out, (size_t)at, z.x, NULL, NULL);
    else if (p->store && real)
        ((cufftCallbackStoreR)p->store)(out, (size_t)at, c.x, NULL, NULL);
    else if (p->store && is_double(p->type))
        ((cufftCallbackStoreZ)p->store)(out, (size_t)at, z, NULL, NULL);
    else if (p->store)
        ((cufftCallbackStoreC)p->store)(out, (size_t)at, c, NULL, NULL);
    else if (real && is_double(p->type))
        ((double *)out)[at] = z.x;
    else if (real)
        ((float *)out)[at] = c.x;
    else if (is_double(p->type))
        ((cufftDoubleComplex *)out)[at] = z;
    else
        ((cufftComplex *)out)[at] = c;
}

/* Compute one transform as a complex one of all values. Symmetry gives the values that a real side does not store. */
static void transform(const struct plan *p, const void *in, void *out, long long number, int direction, fftw_complex *z)
{
    const int rows = p->rank == 2 ? p->n[0] : 1, columns = p->n[p->rank - 1];
    const int real_in = is_real(p->type) && !gives_real(p->type), real_out = gives_real(p->type);
    const int width = row_length(p, real_in), out_width = row_length(p, real_out);
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < width; x++)
            load(p, real_in, in, number * p->idist + (long long)y * p->in_pitch + x, z[(long long)y * columns + x]);
    for (int y = 0; y < rows; y++)
        for (int x = width; x < columns; x++) {
            const double *const twin = z[(long long)((rows - y) % rows) * columns + columns - x];
            z[(long long)y * columns + x][0] = twin[0];
            z[(long long)y * columns + x][1] = -twin[1];
        }
    fftw_plan plan = fftw_plan_dft(p->rank, p->n, z, z, direction, FFTW_ESTIMATE);
    fftw_execute(plan);
    fftw_destroy_plan(plan);
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < out_width; x++)
            store(p, real_out, out, number * p->odist + (long long)y * p->out_pitch + x, z[(long long)y * columns + x]);
}

/* Overwrite the output: the kernels of a long transform may use it for intermediate values before the last kernel stores. */
static void spoil(const struct plan *p, void *out)
{
    const int real = gives_real(p->type), doubles = is_double(p->type);
    const size_t value = (doubles ? sizeof(double) : sizeof(float)) * (real ? 1 : 2);
    const long long rows = p->rank == 2 ? p->n[0] : 1;
    for (long long i = 0; i < p->batch; i++)
        for (long long y = 0; y < rows; y++)
            memset((char *)out + (size_t)(i * p->odist + y * p->out_pitch) * value, 0xff, (size_t)row_length(p, real) * value);
}

static cufftResult execute(cufftHandle handle, const void *in, void *out, int direction)
{
    const struct plan *const p = &plans[handle - 1];
    const long long n = (long long)p->n[p->rank - 1] * (p->rank == 2 ? p->n[0] : 1);
    const uintptr_t complex_bytes = is_double(p->type) ? 16 : 8;
    if ((uintptr_t)in % complex_bytes != 0 || (uintptr_t)out % complex_bytes != 0)
        return CUFFT_INVALID_VALUE;
    if (in != out && p->store)
        spoil(p, out);
    fftw_complex *const z = fftw_malloc((size_t)n * sizeof *z);
    for (long long i = 0; i < p->batch; i++)
        transform(p, in, out, i, direction, z);
    fftw_free(z);
    return CUFFT_SUCCESS;
}

cufftResult cufftExecC2C(cufftHandle h, cufftComplex *in, cufftComplex *out, int direction)
{
    return execute(h, in, out, direction);
}
cufftResult cufftExecZ2Z(cufftHandle h, cufftDoubleComplex *in, cufftDoubleComplex *out, int direction)
{
    return execute(h, in, out, direction);
}
cufftResult cufftExecR2C(cufftHandle h, cufftReal *in, cufftComplex *out) { return execute(h, in, out, CUFFT_FORWARD); }
cufftResult cufftExecD2Z(cufftHandle h, cufftDoubleReal *in, cufftDoubleComplex *out) { return execute(h, in, out, CUFFT_FORWARD); }
cufftResult cufftExecC2R(cufftHandle h, cufftComplex *in, cufftReal *out) { return execute(h, in, out, CUFFT_INVERSE); }
cufftResult cufftExecZ2D(cufftHandle h, cufftDoubleComplex *in, cufftDoubleReal *out) { return execute(h, in, out, CUFFT_INVERSE); }
