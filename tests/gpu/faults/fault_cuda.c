/* fault_cuda.c - makes calls of CUDA and cuFFT fail, in a program that is linked with --wrap for each of them. Environment:
 *
 *   LW_FAULT_CUDA   K: the K-th call fails, counted from 1; K+: that call and all later ones fail, as after an error that the
 *                   device does not recover from; 0: none
 *   LW_FAULT_RANK   the rank on which calls fail; not set: every rank
 *   LW_FAULT_COUNT  a file that gets the number of calls at the end */
#include <cuda_runtime.h>
#include <cufft.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_long calls;
static long first;              /* first call that fails; 0: none */
static bool all_after;

__attribute__((constructor)) static void start(void)
{
    const char *const fault = getenv("LW_FAULT_CUDA"), *const rank = getenv("LW_FAULT_RANK"),
                      *const mine = getenv("OMPI_COMM_WORLD_RANK");
    if (!fault || (rank && strcmp(rank, mine ? mine : "0") != 0))
        return;
    char *end;
    first = strtol(fault, &end, 10);
    all_after = *end == '+';
}

__attribute__((destructor)) static void count(void)
{
    const char *const name = getenv("LW_FAULT_COUNT");
    FILE *const file = name ? fopen(name, "w") : NULL;
    if (!file)
        return;
    fprintf(file, "%ld\n", atomic_load(&calls));
    fclose(file);
}

static bool fails(void)
{
    const long number = atomic_fetch_add(&calls, 1) + 1;
    return first > 0 && (number == first || (all_after && number > first));
}

/* X(name, arguments with their types, arguments) */
#define CUDA_CALLS(X)                                                                                                      \
    X(cudaMalloc, (void **p, size_t n), (p, n))                                                                            \
    X(cudaFree, (void *p), (p))                                                                                            \
    X(cudaHostAlloc, (void **p, size_t n, unsigned int f), (p, n, f))                                                      \
    X(cudaHostRegister, (void *p, size_t n, unsigned int f), (p, n, f))                                                    \
    X(cudaHostUnregister, (void *p), (p))                                                                                  \
    X(cudaMemGetInfo, (size_t * f, size_t * t), (f, t))                                                                    \
    X(cudaSetDevice, (int d), (d))                                                                                         \
    X(cudaDeviceGetAttribute, (int *v, enum cudaDeviceAttr a, int d), (v, a, d))                                           \
    X(cudaStreamCreateWithFlags, (cudaStream_t * s, unsigned int f), (s, f))                                               \
    X(cudaStreamSynchronize, (cudaStream_t s), (s))                                                                        \
    X(cudaStreamWaitEvent, (cudaStream_t s, cudaEvent_t e, unsigned int f), (s, e, f))                                     \
    X(cudaStreamDestroy, (cudaStream_t s), (s))                                                                            \
    X(cudaEventCreateWithFlags, (cudaEvent_t * e, unsigned int f), (e, f))                                                 \
    X(cudaEventCreate, (cudaEvent_t * e), (e))                                                                             \
    X(cudaEventRecord, (cudaEvent_t e, cudaStream_t s), (e, s))                                                            \
    X(cudaEventRecordWithFlags, (cudaEvent_t e, cudaStream_t s, unsigned int f), (e, s, f))                                \
    X(cudaStreamBeginCapture, (cudaStream_t s, enum cudaStreamCaptureMode m), (s, m))                                      \
    X(cudaStreamEndCapture, (cudaStream_t s, cudaGraph_t * g), (s, g))                                                     \
    X(cudaGraphInstantiate, (cudaGraphExec_t * e, cudaGraph_t g, unsigned long long f), (e, g, f))                         \
    X(cudaGraphUpload, (cudaGraphExec_t e, cudaStream_t s), (e, s))                                                        \
    X(cudaGraphLaunch, (cudaGraphExec_t e, cudaStream_t s), (e, s))                                                        \
    X(cudaLaunchHostFunc, (cudaStream_t s, cudaHostFn_t f, void *c), (s, f, c))                                            \
    X(cudaEventSynchronize, (cudaEvent_t e), (e))                                                                          \
    X(cudaEventElapsedTime, (float *t, cudaEvent_t a, cudaEvent_t b), (t, a, b))                                           \
    X(cudaMemcpyAsync, (void *to, const void *from, size_t n, enum cudaMemcpyKind k, cudaStream_t s), (to, from, n, k, s)) \
    X(cudaMemsetAsync, (void *p, int v, size_t n, cudaStream_t s), (p, v, n, s))

#define CUFFT_CALLS(X)                                                                                                         \
    X(cufftCreate, (cufftHandle * p), (p))                                                                                     \
    X(cufftSetAutoAllocation, (cufftHandle p, int a), (p, a))                                                                  \
    X(cufftSetStream, (cufftHandle p, cudaStream_t s), (p, s))                                                                 \
    X(cufftSetWorkArea, (cufftHandle p, void *w), (p, w))                                                                      \
    X(cufftMakePlanMany64,                                                                                                     \
      (cufftHandle p, int r, long long *n, long long *i, long long is, long long id, long long *o, long long os, long long od, \
       cufftType t, long long b, size_t *w),                                                                                   \
      (p, r, n, i, is, id, o, os, od, t, b, w))                                                                                \
    X(cufftExecC2C, (cufftHandle p, cufftComplex * i, cufftComplex * o, int d), (p, i, o, d))                                  \
    X(cufftExecZ2Z, (cufftHandle p, cufftDoubleComplex * i, cufftDoubleComplex * o, int d), (p, i, o, d))                      \
    X(cufftExecR2C, (cufftHandle p, cufftReal * i, cufftComplex * o), (p, i, o))                                               \
    X(cufftExecC2R, (cufftHandle p, cufftComplex * i, cufftReal * o), (p, i, o))                                               \
    X(cufftExecZ2D, (cufftHandle p, cufftDoubleComplex * i, cufftDoubleReal * o), (p, i, o))                                   \
    X(cufftExecD2Z, (cufftHandle p, cufftDoubleReal * i, cufftDoubleComplex * o), (p, i, o))

#define CUDA(name, parameters, arguments)                            \
    cudaError_t __real_##name parameters;                            \
    cudaError_t __wrap_##name parameters;                            \
    cudaError_t __wrap_##name parameters                             \
    {                                                                \
        return fails() ? cudaErrorUnknown : __real_##name arguments; \
    }
#define CUFFT(name, parameters, arguments)                           \
    cufftResult __real_##name parameters;                            \
    cufftResult __wrap_##name parameters;                            \
    cufftResult __wrap_##name parameters                             \
    {                                                                \
        return fails() ? CUFFT_EXEC_FAILED : __real_##name arguments; \
    }
CUDA_CALLS(CUDA)
CUFFT_CALLS(CUFFT)

/* Called after a launch: the kernel has run, but the launch is reported as failed. */
cudaError_t __real_cudaGetLastError(void);
cudaError_t __wrap_cudaGetLastError(void);
cudaError_t __wrap_cudaGetLastError(void)
{
    const cudaError_t real = __real_cudaGetLastError();
    return fails() ? cudaErrorLaunchFailure : real;
}
