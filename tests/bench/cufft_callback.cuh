/* cufft_callback.cuh - cufft_ols.cuh's overlap-save with callbacks linked into cuFFT's kernels: the inverse transforms load
 * products of spectrum and filter and store what is left after cropping, so that two transforms are all that moves data.
 *
 * cuFFT links callbacks at run time from the compiler's intermediate code (cufftXtSetJITCallback, CUDA 12.7 and later), which
 * the shared library can do; the older kind would need the static one. NVRTC compiles them here for each plan, with all sizes
 * as constants. Rows of the inverse transforms are counted as if they lay a power of two apart: what lies where is the
 * callbacks' affair. */
#ifndef CUFFT_CALLBACK_CUH
#define CUFFT_CALLBACK_CUH

#include "cufft_ols.cuh"

#include <cufftXt.h>
#include <nvrtc.h>
#include <string>

static const char *const cufft_callback_source = R"(
extern "C" __device__ COMPLEX load_product(void *spectra, unsigned long long offset, void *bank, void *)
{
    const unsigned row = (unsigned)(offset >> LOG2_N), k = (unsigned)offset & ((1u << LOG2_N) - 1);
    const unsigned filter = row / SEGMENTS, segment = row - filter * SEGMENTS;
    const COMPLEX x = ((const COMPLEX *)spectra)[(unsigned long long)segment * BINS + k];
    const COMPLEX h = ((const COMPLEX *)bank)[filter * BINS + k];
    COMPLEX y;
    y.x = x.x * h.x - x.y * h.y;
    y.y = x.x * h.y + x.y * h.x;
    return y;
}

extern "C" __device__ void store_output(void *outputs, unsigned long long offset, SAMPLE value, void *, void *)
{
    const unsigned row = (unsigned)(offset >> LOG2_N), i = (unsigned)offset & ((1u << LOG2_N) - 1);
    const unsigned filter = row / SEGMENTS, segment = row - filter * SEGMENTS;
    const long long o = (long long)segment * HOP + i - DISCARD;
    if (i >= DISCARD && o < COUNT)
        ((SAMPLE *)outputs)[filter * (long long)COUNT + o] = value;
}
)";

inline bool cufft_callback_compile(const CufftOls &o, std::string &code)
{
    int log2_n = 0, major, minor;
    while (1 << log2_n < o.n)
        ++log2_n;
    CHECK_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    CHECK_CUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
    const std::string real = o.c.is_double ? "double" : "float";
    const std::string options[] = {
        "-arch=compute_" + std::to_string(major * 10 + minor), "--std=c++17", "--relocatable-device-code=true", "-default-device",
        "-dlto", "-DCOMPLEX=" + real + "2", "-DSAMPLE=" + real + (o.c.real ? "" : "2"), "-DLOG2_N=" + std::to_string(log2_n),
        "-DSEGMENTS=" + std::to_string(o.n_segments), "-DBINS=" + std::to_string(o.bins), "-DHOP=" + std::to_string(o.hop),
        "-DDISCARD=" + std::to_string(o.n - o.hop), "-DCOUNT=" + std::to_string(o.c.count),
    };
    std::vector<const char *> texts;
    for (const std::string &option : options)
        texts.push_back(option.c_str());
    nvrtcProgram program;
    size_t bytes = 0;
    if (nvrtcCreateProgram(&program, cufft_callback_source, "callback.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS)
        return false;
    bool good = nvrtcCompileProgram(program, (int)texts.size(), texts.data()) == NVRTC_SUCCESS &&
                nvrtcGetLTOIRSize(program, &bytes) == NVRTC_SUCCESS;
    code.resize(bytes);
    good = good && nvrtcGetLTOIR(program, code.data()) == NVRTC_SUCCESS;
    nvrtcDestroyProgram(&program);
    return good;
}

/* The inverse plan for all filters at a time; false if this cuFFT cannot make it. */
inline bool cufft_callback_plan(const CufftOls &o, const std::string &code, cufftHandle *plan)
{
    size_t bytes;
    long long length[1] = {o.n}, embed[1] = {o.n};
    void *info = o.bank;
    CHECK_CUDA(cufftCreate(plan));
    const cufftXtCallbackType load = o.c.is_double ? CUFFT_CB_LD_COMPLEX_DOUBLE : CUFFT_CB_LD_COMPLEX;
    const cufftXtCallbackType store = o.c.real ? (o.c.is_double ? CUFFT_CB_ST_REAL_DOUBLE : CUFFT_CB_ST_REAL)
                                               : (o.c.is_double ? CUFFT_CB_ST_COMPLEX_DOUBLE : CUFFT_CB_ST_COMPLEX);
    cufftResult failed = cufftXtSetJITCallback(*plan, "load_product", code.data(), code.size(), load, &info);
    if (!failed)
        failed = cufftXtSetJITCallback(*plan, "store_output", code.data(), code.size(), store, &info);
    if (!failed)
        failed = cufftMakePlanMany64(*plan, 1, length, embed, 1, o.n, embed, 1, o.n, cufft_kind(o.c, false),
                                     o.n_segments * o.c.n_filters, &bytes);
    if (failed)
        fprintf(stderr, "no callbacks with cuFFT, N = %d: error %d\n", o.n, (int)failed);
    return !failed;
}

/* As cufft_ols_create; false, and nothing to destroy, where callbacks cannot be had. */
inline bool cufft_callback_create(const CufftCase &c, int n, const double *taps, CufftOls *out)
{
    CufftOls o = cufft_ols_create(c, n, taps, 0);
    cudaFree(o.products);
    o.products = nullptr;
    cufftDestroy(o.inverse);
    std::string code;
    if (o.n_segments * c.n_filters < INT32_MAX && cufft_callback_compile(o, code) && cufft_callback_plan(o, code, &o.inverse)) {
        *out = o;
        return true;
    }
    o.inverse = 0;
    cufft_ols_destroy(o);
    return false;
}

inline void cufft_callback_run(const CufftOls &o, const void *x, void *y, cudaStream_t stream)
{
    CHECK_CUDA(cufftSetStream(o.forward, stream));
    CHECK_CUDA(cufftSetStream(o.inverse, stream));
    cufft_execute(o, true, x, o.spectra);
    cufft_execute(o, false, o.spectra, y);
}

#endif
