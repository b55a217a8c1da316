#include "gpu/sfft/dense.h"

#include "base/memory.h"
#include "gpu/host/arena.h"
#include "gpu/host/error.h"
#include "gpu/host/fft.h"

struct dense {
    const struct lw_sfft_spec *spec;
    cudaStream_t stream;
    struct lw_cuda_fft fft;
    void *memory;                       /* the one allocation on the device that holds everything below */
    double2 *values;                    /* device, [n_bins]; holds the samples before the transform */
    void *work;                         /* work memory of cuFFT */
    unsigned long long *counts;         /* [LW_SFFT_DENSE_VALUES] */
    double *sums;                       /* [LW_SFFT_DENSE_PARTS] */
    struct lw_sfft_line *lines;         /* [sparsity] */
    void *host;                         /* host copy of counts or sums */
};

static cufftType transform_type(const struct lw_sfft_spec *spec) { return spec->is_real ? CUFFT_D2Z : CUFFT_Z2Z; }

static int64_t work_bytes(const struct lw_sfft_spec *spec) { return lw_cuda_fft_bytes(spec->n, transform_type(spec), 1); }

static int64_t lay_out(struct dense *dense, int64_t work)
{
    struct lw_arena arena = {.base = dense->memory};
    dense->values = lw_arena_take(&arena, lw_sfft_n_frequencies(dense->spec) * (int64_t)sizeof *dense->values);
    dense->work = lw_arena_take(&arena, work);
    dense->counts = lw_arena_take(&arena, LW_SFFT_DENSE_VALUES * (int64_t)sizeof *dense->counts);
    dense->sums = lw_arena_take(&arena, LW_SFFT_DENSE_PARTS * (int64_t)sizeof *dense->sums);
    dense->lines = lw_arena_take(&arena, dense->spec->sparsity * (int64_t)sizeof *dense->lines);
    return arena.used;
}

static struct lw_bytes bytes(const struct lw_engine *engine, const struct lw_sfft_spec *spec)
{
    (void)engine;
    struct dense counted = {.spec = spec};
    return (struct lw_bytes){
        .host = lw_sfft_n_frequencies(spec) * (int64_t)sizeof(double2) + LW_SFFT_DENSE_VALUES * (int64_t)sizeof(long long),
        .device = lw_device_bytes(lay_out(&counted, work_bytes(spec))),
    };
}

static int open_dense(struct dense *dense, struct lw_error *err)
{
    const struct lw_sfft_spec *const spec = dense->spec;
    const int64_t work = work_bytes(spec), bytes = lay_out(dense, work);
    const char *const what = "planning the dense transform";
    int rc = lw_cuda_check(cudaStreamCreateWithFlags(&dense->stream, cudaStreamNonBlocking), "making a stream", err);
    if (rc)
        return rc;
    if (!(dense->host = lw_alloc(LW_SFFT_DENSE_VALUES * sizeof *dense->counts, "counts", err)))
        return LW_ESYSTEM;
    if ((rc = lw_cuda_allocate(bytes, "the dense transform", &dense->memory, err)))
        return rc;
    lay_out(dense, work);
    rc = lw_cuda_fft_create(&dense->fft, spec->n, transform_type(spec), 1, dense->work, what, err);
    return rc ? rc : lw_cufft_check(cufftSetStream(dense->fft.handle, dense->stream), what, err);
}

static int transform_samples(const struct dense *dense, const double *samples, struct lw_error *err)
{
    const size_t bytes = (size_t)dense->spec->n * sizeof(double) * (dense->spec->is_real ? 1 : 2);
    const int rc = lw_cuda_check(cudaMemcpyAsync(dense->values, samples, bytes, cudaMemcpyHostToDevice, dense->stream),
                                 "copying samples to the device", err);
    if (rc)
        return rc;
    const cufftHandle fft = dense->fft.handle;
    return lw_cufft_check(dense->spec->is_real ? cufftExecD2Z(fft, (double *)dense->values, dense->values)
                                               : cufftExecZ2Z(fft, dense->values, dense->values, CUFFT_FORWARD),
                          "the dense transform", err);
}

/* Copy a kernel's results to the host, and wait for them. */
static int fetch(const struct dense *dense, cudaError_t status, void *to, const void *from, int64_t bytes, struct lw_error *err)
{
    if (status == cudaSuccess)
        status = cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDeviceToHost, dense->stream);
    if (status == cudaSuccess)
        status = cudaStreamSynchronize(dense->stream);
    return lw_cuda_check(status, "choosing the largest coefficients", err);
}

/* Find the key (dense.h) of the k-th largest coefficient, k = sparsity. n_lines: coefficients from this key upwards, at most k. */
static int find_least(const struct dense *dense, const struct lw_sfft_dense_spectrum *spectrum,
                      struct lw_sfft_dense_digits *digits, int64_t *n_lines, struct lw_error *err)
{
    const unsigned long long *const counts = dense->host;
    const int64_t wanted = dense->spec->sparsity, bytes = LW_SFFT_DENSE_VALUES * (int64_t)sizeof *dense->counts;
    int64_t above = 0;
    for (int i = 0; i < LW_SFFT_DENSE_DIGITS; i++) {
        cudaError_t status = cudaMemsetAsync(dense->counts, 0, (size_t)bytes, dense->stream);
        if (status == cudaSuccess)
            status = lw_sfft_dense_count(spectrum, digits, i, dense->counts, dense->stream);
        const int rc = fetch(dense, status, dense->host, dense->counts, bytes, err);
        if (rc)
            return rc;
        int value = LW_SFFT_DENSE_VALUES - 1;
        while (value > 0 && above + (int64_t)counts[value] < wanted)
            above += (int64_t)counts[value--];
        digits->digit[i] = (unsigned short)value;
        if (above + (int64_t)counts[value] <= wanted) {     /* all coefficients with this digit are wanted: later digits stay 0 */
            above += (int64_t)counts[value];
            break;
        }
    }
    *n_lines = above < wanted ? above : wanted;
    return LW_OK;
}

static int choose(const struct dense *dense, const struct lw_sfft_dense_spectrum *spectrum, struct lw_sfft_line *lines,
                  int64_t *n_lines, struct lw_error *err)
{
    struct lw_sfft_dense_digits digits = {{0}};
    int rc = find_least(dense, spectrum, &digits, n_lines, err);
    if (rc || *n_lines == 0)
        return rc;
    cudaError_t status = cudaMemsetAsync(dense->counts, 0, sizeof *dense->counts, dense->stream);
    if (status == cudaSuccess)
        status = lw_sfft_dense_collect(spectrum, &digits, dense->lines, dense->counts, dense->stream);
    rc = fetch(dense, status, lines, dense->lines, *n_lines * (int64_t)sizeof *lines, err);
    lw_sfft_sort_by_frequency(lines, *n_lines);
    return rc;
}

/* Set the residual: the fraction of the whole spectrum's energy that the lines leave. */
static int measure_rest(const struct dense *dense, const struct lw_sfft_dense_spectrum *spectrum,
                        struct lw_sfft_result *result, struct lw_error *err)
{
    const int rc = fetch(dense, lw_sfft_dense_energy(spectrum, dense->sums, dense->stream), dense->host, dense->sums,
                         LW_SFFT_DENSE_PARTS * (int64_t)sizeof *dense->sums, err);
    if (rc)
        return rc;
    const struct lw_sfft_spec *const spec = dense->spec;
    const double *const sums = dense->host;
    double all = 0, kept = 0;
    for (int i = 0; i < LW_SFFT_DENSE_PARTS; i++)
        all += sums[i];
    for (int64_t i = 0; i < result->n_lines; i++) {
        const struct lw_sfft_line *const line = &result->lines[i];
        kept += lw_sfft_multiplicity(spec, line->frequency) * (line->re * line->re + line->im * line->im);
    }
    result->residual = all > 0 ? fmax(0, 1 - kept / all) : 0;
    return LW_OK;
}

static int transform(struct lw_engine *engine, const struct lw_sfft_spec *spec, double *samples, struct lw_sfft_line *lines,
                     struct lw_sfft_result *result, struct lw_error *err)
{
    (void)engine;
    struct dense dense = {.spec = spec};
    int64_t n_lines = 0;
    int rc = open_dense(&dense, err);
    const struct lw_sfft_dense_spectrum spectrum = {
        .values = dense.values, .n_bins = lw_sfft_n_frequencies(spec), .least = spec->min_magnitude * spec->min_magnitude,
        .n_single = spec->is_real ? (spec->n % 2 == 0 ? lw_sfft_n_frequencies(spec) : -1) : 0,
    };
    if (rc == LW_OK && (rc = transform_samples(&dense, samples, err)) == LW_OK &&
        (rc = choose(&dense, &spectrum, lines, &n_lines, err)) == LW_OK) {
        *result = (struct lw_sfft_result){.lines = lines, .n_lines = n_lines, .n_found = n_lines, .is_explained = true};
        rc = measure_rest(&dense, &spectrum, result, err);
    }
    if (rc == LW_OK && spec->wants_spectrum)
        rc = fetch(&dense, cudaSuccess, samples, dense.values, spectrum.n_bins * (int64_t)sizeof *dense.values, err);
    if (dense.stream) {
        cudaStreamSynchronize(dense.stream);
        cudaStreamDestroy(dense.stream);
    }
    lw_cuda_fft_destroy(&dense.fft);
    cudaFree(dense.memory);
    lw_free(dense.host);
    return rc;
}

const struct lw_dense_ops lw_cuda_dense_ops = {.bytes = bytes, .transform = transform, .pace = {1e-4, 1.5e-12, 1}};
