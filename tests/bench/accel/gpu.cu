/* gpu.cu - times searches for drifting signals on a GPU: their kernels on data on the device, and whole series of the engine,
 * with the plane of powers kept and made again for pieces that fit into less memory.
 *
 * usage: bench_accel_gpu [LOG2_SAMPLES [Z_MAX [W_MAX [STAGES]]]] */
extern "C" {
#include "accel/normalize.h"
#include "accel/templates.h"
}
#include "engine/registry.h"
#include "gpu/accel/pieces.h"
#include "../gpu_bench.cuh"

#include <cufft.h>

#include <chrono>
#include <cmath>
#include <vector>

static double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

template <class T> static T *on_device(int64_t n)
{
    T *memory = nullptr;
    CHECK_CUDA(cudaMalloc(&memory, (size_t)n * sizeof(T)));
    return memory;
}

/* Milliseconds of a call: the median of seven, after one. */
template <class Run> static double median_ms(Run run)
{
    std::vector<double> times;
    cudaEvent_t begin, end;
    CHECK_CUDA(cudaEventCreate(&begin));
    CHECK_CUDA(cudaEventCreate(&end));
    for (int i = 0; i < 8; i++) {
        float ms;
        CHECK_CUDA(cudaEventRecord(begin));
        run();
        CHECK_CUDA(cudaEventRecord(end));
        CHECK_CUDA(cudaEventSynchronize(end));
        CHECK_CUDA(cudaEventElapsedTime(&ms, begin, end));
        if (i > 0)
            times.push_back(ms);
    }
    std::sort(times.begin(), times.end());
    return times[3];
}

/* ---- kernels ----------------------------------------------------------------------------------------------------------- */

static void fill_bank(const struct lw_accel_plan &plan, lw_accel_bank &bank)
{
    enum { BATCH = 256 };
    const int64_t values = 4 * (int64_t)plan.half_width + 1;
    std::vector<float> t((size_t)values * 2 * BATCH);
    float2 *const templates = on_device<float2>(values * BATCH);
    CHECK_CUDA(lw_cuda_accel_roots(&bank, 0));
    for (int first = 0; first <= bank.rows / 2; first += BATCH) {
        const int n = std::min((int)BATCH, bank.rows / 2 + 1 - first);
        for (int i = 0; i < n; i++)
            lw_accel_template(&plan, (first + i) % plan.n_z, (first + i) / plan.n_z, &t[2 * values * i], nullptr);
        CHECK_CUDA(cudaMemcpy(templates, t.data(), (size_t)values * n * 8, cudaMemcpyHostToDevice));
        CHECK_CUDA(lw_cuda_accel_transform(&bank, first, n, templates, 0));
        CHECK_CUDA(cudaDeviceSynchronize());
    }
    CHECK_CUDA(cudaFree(templates));
}

static void time_kernels(const struct lw_accel_plan &plan, int radix, bool sums)
{
    const int discard = (plan.half_width + 31) / 32 * 32;
    const lw_accel_segments segments = {radix, 1024 * radix, discard, 1024 * radix - 2 * discard};
    const int64_t rows = (int64_t)plan.n_z * plan.n_w;
    size_t room, all;
    CHECK_CUDA(cudaMemGetInfo(&room, &all));
    if (segments.hop < 256 || (double)rows * (double)plan.n_bins * 4.2 + 2e9 > (double)room)
        return;
    lw_accel_bank bank = {segments, plan.half_width, (int)rows, nullptr, nullptr};
    CHECK_CUDA(cudaMalloc(&bank.roots, (size_t)lw_cuda_accel_roots_bytes(&segments)));
    bank.spectra = on_device<float2>(2 * rows * segments.n);
    fill_bank(plan, bank);
    float2 *const spectrum = on_device<float2>(plan.n_bins + 1);
    fill_random<<<1024, 256>>>(&spectrum->x, 2 * plan.n_bins, 1);
    lw_accel_piece piece;
    lw_accel_piece_make(&plan, &segments, plan.begin, plan.end, &piece);
    lw_accel_plane plane = {on_device<uint16_t>(rows * piece.columns), piece.columns, plan.n_z, plan.n_w};
    const double powers = median_ms([&] {
        for (int i = 0; i < piece.n_intervals; i++)
            CHECK_CUDA(lw_cuda_accel_powers(&bank, spectrum, plan.n_bins, &piece.intervals[i], &plane, 0));
    });
    const double points = (double)rows * (double)piece.columns;
    printf("powers, radix %d, hop %d: %.3f ms, %.3f ps each, %.0f GB/s stored\n", radix, segments.hop, powers,
           1e9 * powers / points, 2e-6 * points / powers);
    if (sums) {
        lw_accel_found found = {on_device<uint32_t>(LW_ACCEL_MOST_CELLS), on_device<unsigned long long>(2),
                                on_device<lw_accel_hit>(1 << 20), 1 << 20};
        lw_accel_cells cells = {};
        cells.begin = plan.begin;
        cells.end = plan.end;
        cells.n_stages = plan.spec.n_stages;
        memcpy(cells.shift, piece.shift, sizeof cells.shift);
        for (int times = 0; times < 2; times++) {
            for (int stage = 0; stage < cells.n_stages; stage++)        /* the second time nothing is near a threshold */
                cells.least[stage] = times ? 1e6f : plan.least[stage] * 2 / 3;      /* the noise has a mean power of 2/3 */
            unsigned long long counts[2];
            const double ms = median_ms([&] {
                CHECK_CUDA(cudaMemsetAsync(found.counts + 1, 0, 8));
                const int64_t last = piece.end / LW_ACCEL_CELL;
                for (int64_t c = piece.begin / LW_ACCEL_CELL; c < last; c += cells.n) {
                    cells.first = c;
                    cells.n = std::min((int64_t)LW_ACCEL_MOST_CELLS, last - c);
                    CHECK_CUDA(cudaMemsetAsync(found.counts, 0, 8));
                    CHECK_CUDA(lw_cuda_accel_sum(&plane, &cells, &found, 0));
                }
            });
            CHECK_CUDA(cudaMemcpy(counts, found.counts, 16, cudaMemcpyDeviceToHost));
            printf("sums of %d: %.3f ms, %.3f ps each, %llu cells judged, %llu hits\n", 1 << (cells.n_stages - 1), ms,
                   1e9 * ms / ((double)rows * (double)(plan.end - plan.begin)), counts[0], counts[1]);
        }
        CHECK_CUDA(cudaFree(found.cells));
        CHECK_CUDA(cudaFree(found.counts));
        CHECK_CUDA(cudaFree(found.hits));
    }
    CHECK_CUDA(cudaFree(bank.roots));
    CHECK_CUDA(cudaFree(bank.spectra));
    CHECK_CUDA(cudaFree(spectrum));
    CHECK_CUDA(cudaFree(plane.powers));
}

/* The spectrum of a series: copies, transform, normalization. */
static void time_spectrum(const struct lw_accel_plan &plan)
{
    const int64_t n = plan.spec.n_fft, n_blocks = lw_accel_blocks(plan.n_bins, nullptr);
    std::vector<int64_t> edges((size_t)n_blocks + 1), counted((size_t)n_blocks);
    std::vector<float> levels((size_t)n_blocks), variances((size_t)n_blocks);
    lw_accel_blocks(plan.n_bins, edges.data());
    for (size_t b = 0; b < counted.size(); b++)
        counted[b] = edges[b + 1] - edges[b];
    float *pinned, *const device_levels = on_device<float>(n_blocks);
    float2 *const spectrum = on_device<float2>(plan.n_bins + 1);
    int64_t *const device_edges = on_device<int64_t>(n_blocks + 1);
    cufftHandle fft;
    CHECK_CUDA(cudaMallocHost(&pinned, (size_t)n * sizeof *pinned));
    CHECK_CUDA(cudaMemcpy(device_edges, edges.data(), edges.size() * 8, cudaMemcpyHostToDevice));
    CHECK_CUDA(cufftPlan1d(&fft, (int)n, CUFFT_R2C, 1));
    fill_random<<<1024, 256>>>(&spectrum->x, n, 1);
    CHECK_CUDA(cudaMemcpy(pinned, spectrum, (size_t)n * 4, cudaMemcpyDeviceToHost));
    const double in = median_ms([&] { CHECK_CUDA(cudaMemcpyAsync(spectrum, pinned, (size_t)n * 4, cudaMemcpyHostToDevice)); });
    const double out = median_ms([&] { CHECK_CUDA(cudaMemcpyAsync(pinned, spectrum, (size_t)n * 4, cudaMemcpyDeviceToHost)); });
    const double transform = median_ms([&] { CHECK_CUDA(cufftExecR2C(fft, &spectrum->x, spectrum)); });
    CHECK_CUDA(cudaMemcpy(spectrum, pinned, (size_t)n * 4, cudaMemcpyHostToDevice));
    CHECK_CUDA(cufftExecR2C(fft, &spectrum->x, spectrum));
    const double medians =
        median_ms([&] { CHECK_CUDA(lw_cuda_accel_medians(spectrum, device_edges, n_blocks, device_levels, 0)); });
    CHECK_CUDA(cudaMemcpy(levels.data(), device_levels, levels.size() * 4, cudaMemcpyDeviceToHost));
    const double begun = now();
    lw_accel_factors(n_blocks, counted.data(), levels.data(), levels.data(), variances.data());
    const double factors = 1e3 * (now() - begun);
    CHECK_CUDA(cudaMemcpy(device_levels, levels.data(), levels.size() * 4, cudaMemcpyHostToDevice));
    const double scale = median_ms([&] { CHECK_CUDA(lw_cuda_accel_scale(spectrum, device_edges, n_blocks, device_levels, 0)); });
    printf("copies %.3f and %.3f ms, transform %.3f, medians of %lld blocks %.3f, factors (host) %.3f, scaling %.3f ms\n", in, out,
           transform, (long long)n_blocks, medians, factors, scale);
    cufftDestroy(fft);
    CHECK_CUDA(cudaFreeHost(pinned));
    CHECK_CUDA(cudaFree(device_levels));
    CHECK_CUDA(cudaFree(device_edges));
    CHECK_CUDA(cudaFree(spectrum));
}

/* ---- the engine ---------------------------------------------------------------------------------------------------------- */

static void time_engine(lw_engine *engine, const struct lw_accel_plan &plan, const std::vector<float> &series, int64_t most)
{
    const lw_accel_ops *const ops = engine->ops->accel;
    bool is_possible;
    lw_error err = {};
    const lw_bytes bytes = ops->bytes(engine, &plan, most, &is_possible);
    if (!is_possible) {
        printf("%.3f GB are not enough\n", 1e-9 * (double)most);
        return;
    }
    lw_accel_search *s = nullptr;
    const double begun = now();
    if (ops->create(engine, &plan, nullptr, 0, most, &s, &err)) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    const double created = now() - begun;
    std::vector<float> spectrum((size_t)plan.n_bins * 2), variances((size_t)plan.n_blocks);
    std::vector<lw_accel_hit> table(1 << 20);
    lw_accel_hits hits = {table.data(), (int64_t)table.size(), 0};
    std::vector<double> times, begins;
    for (int i = 0; i < 6; i++) {
        const double start = now();
        int rc = ops->begin(s, series.data(), plan.begin, plan.end, &err);
        const double enqueued = now();
        if (rc || (rc = ops->wait(s, spectrum.data(), variances.data(), &hits, &err))) {
            fprintf(stderr, "%s\n", err.message);
            exit(1);
        }
        if (i > 0) {
            times.push_back(1e3 * (now() - start));
            begins.push_back(1e3 * (enqueued - start));
        }
    }
    ops->destroy(s);
    std::sort(times.begin(), times.end());
    std::sort(begins.begin(), begins.end());
    printf("engine with %.3f GB: %.3f ms a series, begin %.3f ms, create %.0f ms, %lld hits\n", 1e-9 * (double)bytes.device,
           times[2], begins[2], 1e3 * created, (long long)hits.n);
}

int main(int argc, char **argv)
{
    const auto argument = [&](int i, double otherwise) { return argc > i ? atof(argv[i]) : otherwise; };
    lw_engine_spec engine_spec = {};
    engine_spec.node_ranks = 1;
    lw_engine *engine = nullptr;
    lw_error err = {};
    struct lw_accel_plan plan;
    lw_accel_spec spec = {};
    spec.n = spec.n_fft = (int64_t)1 << (int)argument(1, 22);
    spec.z_max = argument(2, 200);
    spec.w_max = argument(3, 0);
    spec.n_stages = (int)argument(4, 4);
    spec.r_low = 1;
    spec.r_high = (double)(spec.n / 2);
    spec.sigma = 3;
    if (lw_cuda_engine.create(&engine_spec, &engine, &err) || lw_accel_plan(&spec, &plan, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    char text[256];
    engine->ops->describe(engine, text, sizeof text);
    printf("%s\n2^%d samples, z to %g, w to %g, %d harmonics, half width %d\n", text, (int)argument(1, 22), spec.z_max, spec.w_max,
           1 << (spec.n_stages - 1), plan.half_width);
    time_spectrum(plan);
    for (int radix = 1; radix <= 8; radix *= 2)
        time_kernels(plan, radix, radix == 1);
    std::vector<float> series((size_t)spec.n);
    for (int64_t i = 0; i < spec.n; i++) {
        double sum = -6;
        for (int k = 0; k < 12; k++)
            sum += hash24((uint64_t)(12 * i + k), 2) / 16777216.0;
        series[(size_t)i] = (float)sum;
    }
    bool is_possible;
    const int64_t all = engine->ops->accel->bytes(engine, &plan, engine->device_bytes, &is_possible).device;
    for (int part = 1; part <= (spec.n > 1 << 26 ? 2 : 16); part *= 2)
        time_engine(engine, plan, series, all / part);
    lw_engine_destroy(engine);
    return 0;
}
