/* direct.cu - choice, bank and launch of the direct kernels. */
#include "gpu/ols/direct/direct.h"

#include "gpu/ols/direct/sum.cuh"

#include <climits>

static const DirectKernels *const all_kernels[] = {&lw_direct_real, &lw_direct_complex};

/* Return the kernel with the fewest padded taps that holds the filter, or NULL. */
static const DirectKernel *kernel_of(const struct lw_cuda_ols_spec *spec)
{
    const DirectKernel *best = nullptr;
    for (const DirectKernels *kernels : all_kernels)
        for (int i = 0; i < kernels->n; ++i) {
            const DirectKernel *k = kernels->list + i;
            if (k->precision == spec->precision && k->complex_taps == spec->taps_complex &&
                k->complex_signal == (spec->input_complex || spec->taps_complex) && k->pad >= spec->n_taps &&
                (!best || k->pad < best->pad))
                best = k;
        }
    return best;
}

static size_t real_bytes(const struct lw_cuda_ols_spec *spec) { return spec->precision == LW_SINGLE ? 4 : 8; }

bool lw_direct_suits(const struct lw_cuda_ols_spec *spec) { return kernel_of(spec) != nullptr; }

/* Modelled seconds: the longer of memory time and arithmetic time, plus 2% of both. Memory runs at 4 TB/s; fused multiply-adds
 * reach about two thirds of their peak rate. A tenth is taken off: short signals fill the device better without transforms. */
double lw_direct_seconds_per_output(const struct lw_cuda_ols_spec *spec)
{
    const DirectKernel *k = kernel_of(spec);
    const double madds = k->pad * (k->complex_signal ? 2 : 1) * (k->complex_taps ? 2 : 1);
    const double bytes = (double)real_bytes(spec) * (k->complex_signal ? 2 : 1) * (1.0 + 1.0 / spec->n_filters);
    const double memory = bytes / 4.0e12, arithmetic = madds / (spec->precision == LW_SINGLE ? 20e12 : 10e12);
    return 0.9 * ((memory > arithmetic ? memory : arithmetic) + 0.02 * (memory + arithmetic));
}

size_t lw_direct_bank_bytes(const struct lw_cuda_ols_spec *spec)
{
    return (size_t)spec->n_filters * kernel_of(spec)->pad * real_bytes(spec) * (spec->taps_complex ? 2 : 1);
}

/* Set bank[f][m] to taps[f][m], rounded, and to zero for m >= n_taps. Each tap has `width` reals, each filter `pad` taps. */
template <class Real> __global__ void direct_bank(Real *bank, const double *taps, int64_t n, int width, int pad, int n_taps)
{
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const int64_t filter = i / (pad * width);
    const int at = (int)(i % (pad * width));
    bank[i] = taps && at < n_taps * width ? (Real)taps[2 * (filter * n_taps + at / width) + at % width] : 0;
}

int lw_direct_put(const struct lw_cuda_ols_plan *plan, const double *taps, int64_t first, int n, void *bank,
                  struct CUstream_st *stream)
{
    const struct lw_cuda_ols_spec *spec = &plan->spec;
    const int pad = kernel_of(spec)->pad, width = spec->taps_complex ? 2 : 1, threads = 128;
    const int64_t each = (int64_t)pad * width, count = n * each;
    const unsigned blocks = (unsigned)((count + threads - 1) / threads);
    return with_real(spec->precision, [=](auto real) {
        direct_bank<<<blocks, threads, 0, stream>>>((decltype(real) *)bank + first * each, taps, count, width, pad,
                                                    (int)spec->n_taps);
        return cudaGetLastError();
    });
}

static unsigned at_most(int64_t n, unsigned most) { return n < most ? (unsigned)n : most; }

int lw_direct_launch(const struct lw_cuda_ols_plan *plan, const struct lw_cuda_ols_block *block, struct CUstream_st *stream)
{
    const struct lw_cuda_ols_spec *spec = &plan->spec;
    const DirectKernel *k = kernel_of(spec);
    DirectArgs a = {};
    a.input = block->input;
    a.output = block->output;
    a.narrow = block->narrow;
    a.taps = block->bank;
    a.not_finite = block->not_finite;
    a.count = block->count;
    a.n_channels = block->n_channels;
    a.halo = spec->n_taps - 1;
    a.n_filters = spec->n_filters;
    a.input_scalar = spec->input;
    a.input_complex = spec->input_complex;
    a.aligned = block->count * real_bytes(spec) * (plan->output_complex ? 2 : 1) % 16 == 0;

    const bool slow = spec->layout == LW_TIME_SLOW && spec->n_channels > 1;
    const int64_t packed = slow ? a.n_channels : a.halo + a.count;
    a.pitch = block->input_pitch ? block->input_pitch : packed;
    const int64_t across = slow ? (a.n_channels + DIRECT_THREADS - 1) / DIRECT_THREADS : (a.count + k->tile - 1) / k->tile;
    const int64_t down = slow ? (a.count + DIRECT_STEPS - 1) / DIRECT_STEPS : a.n_channels;
    if (across > INT_MAX)
        return cudaErrorInvalidValue;
    const auto kernel = block->narrow.bytes > 0 ? (slow ? k->narrow_slow : k->narrow_fast) : slow ? k->slow : k->fast;
    kernel<<<dim3((unsigned)across, at_most(down, 65535)), DIRECT_THREADS, 0, stream>>>(a);
    return cudaGetLastError();
}
