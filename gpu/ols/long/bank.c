#include "gpu/ols/long/bank.h"

#include "gpu/host/arena.h"
#include "gpu/host/error.h"
#include "gpu/ols/long/method.h"

/* One filter at a time in double: its spectrum, and cuFFT's work area. */
struct setup {
    void *padded, *work_area;
};

static int64_t lay_out_setup(const struct lw_long_ols_plan *plan, void *memory, struct setup *setup)
{
    struct lw_arena arena = {.base = memory};
    setup->padded = lw_arena_take(&arena, plan->segment * 16);
    setup->work_area = lw_arena_take(&arena, lw_cuda_fft_bytes(plan->segment, CUFFT_Z2Z, 1));
    return arena.used;
}

int64_t lw_long_bank_setup_bytes(const struct lw_long_ols_plan *plan)
{
    struct setup counted;
    return lay_out_setup(plan, NULL, &counted);
}

static int transform_filter(struct lw_long_ols *ols, cufftHandle fft, const double *taps, void *padded, int64_t filter,
                            cudaStream_t stream, struct lw_error *err)
{
    const struct lw_cuda_ols_spec *const spec = &ols->plan.spec;
    const int64_t segment = ols->plan.segment;
    const double *const own_taps = taps + filter * spec->n_taps * (spec->taps_complex ? 2 : 1);
    void *const spectrum = lw_long_spectrum(ols, filter);
    int rc;
    if ((rc = lw_cuda_check(lw_long_pad(own_taps, spec->taps_complex, spec->n_taps, segment, padded, stream),
                            "padding a filter", err)) ||
        (rc = lw_cufft_check(cufftExecZ2Z(fft, padded, padded, CUFFT_FORWARD), "transforming a filter", err)))
        return rc;
    return lw_cuda_check(ols->plan.method->order(&ols->plan, padded, spectrum, stream), "scaling a filter", err);
}

int lw_long_bank_make(struct lw_long_ols *ols, const double *taps, void *memory, cudaStream_t stream, struct lw_error *err)
{
    struct setup setup;
    lay_out_setup(&ols->plan, memory, &setup);
    struct lw_cuda_fft fft = {0};
    int rc = lw_cuda_fft_create(&fft, ols->plan.segment, CUFFT_Z2Z, 1, setup.work_area,
                                "planning the transforms of long segments", err);
    if (!rc)
        rc = lw_cufft_check(cufftSetStream(fft.handle, stream), "transforming a filter", err);
    for (int64_t filter = 0; filter < ols->plan.spec.n_filters && !rc; filter++)
        rc = transform_filter(ols, fft.handle, taps, setup.padded, filter, stream, err);
    if (!rc)
        rc = lw_cuda_check(cudaStreamSynchronize(stream), "transforming the filters", err);
    lw_cuda_fft_destroy(&fft);
    return rc;
}
