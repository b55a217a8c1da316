/* stacks_gpu.cu - benchmark of stacks of channels (gpu/array) on noise in device memory: correlations per second, an output of one
 * filter in one channel each.
 *
 *   bench_stacks_gpu [FILTERS [TAPS [REACH [CHANNELS [OUTPUTS]]]]]     by default 512 filters of 600 taps, delays within +-500, 24
 *                                                                     channels of 2^20 outputs
 *
 * For each segment length and kind of normalizing: time of the spectra and windows of a block, of the sums, and their rate. */
#include "../../gpu/bank.h"
#include "gpu/array/sums.cuh"
#include "../gpu_bench.cuh"

#include <cstdlib>
#include <cstring>

/* A kernel of sums with other teams in a block, and blocks on an SM. */
struct Variant {
    int segment, teams, blocks, threads, exchange_bytes;
    void (*kernel)(const StackSums);
};

template <int E, int P, int TEAMS, int BLOCKS> static Variant make_variant()
{
    using F = Transform<float, E, P, Team<E * P, TEAMS>>;
    return {F::N, TEAMS, BLOCKS, F::T * TEAMS, F::SHARED_BYTES, stack_sums<F, TEAMS, BLOCKS>};
}

struct Bench {
    lw_stack_shape shape;
    lw_stack_bank bank;
    lw_stack_block block;
    lw_stack_piece piece;
    cudaStream_t stream;
    cudaEvent_t begin, end;
};

template <class T> static void allocate(T **memory, int64_t n) { CHECK_CUDA(cudaMalloc((void **)memory, (size_t)n * sizeof(T))); }

static void fill_bank(Bench &b, const lw_ols_spec &spec, int64_t rows)
{
    lw_ols_resolved path = {};
    path.kernel.segment = b.shape.segment;
    path.kernel.spec.n_taps = spec.n_taps;
    lw_ols_spec ols = spec;
    ols.n_filters = (int)rows;
    lw_filler_target target = {};
    target.shape = &b.shape;
    target.stacks = &b.bank;
    CHECK_CUDA(refill_bank(&path, &ols, 0, &target, NULL, b.stream));
}

template <class Run> static double milliseconds(Bench &b, Run run)
{
    run(0);
    return time_calls([&](int i) { run(i); }, 3, b.stream, b.begin, b.end);
}

static void measure_variants(Bench &b, double correlations)
{
    const Variant variants[] = {
        make_variant<32, 1, 4, 2>(), make_variant<32, 1, 8, 1>(), make_variant<32, 2, 1, 5>(), make_variant<32, 2, 1, 4>(),
        make_variant<32, 2, 2, 3>(), make_variant<32, 2, 2, 2>(), make_variant<32, 2, 3, 2>(), make_variant<32, 2, 4, 1>(),
        make_variant<32, 2, 6, 1>(), make_variant<32, 4, 1, 2>(), make_variant<32, 4, 2, 1>(), make_variant<32, 4, 3, 1>(),
        make_variant<16, 4, 1, 10>(), make_variant<16, 4, 2, 5>(), make_variant<16, 8, 1, 6>(), make_variant<16, 8, 1, 5>(),
        make_variant<16, 8, 2, 3>(), make_variant<16, 16, 1, 3>(), make_variant<16, 16, 1, 2>(),
    };
    for (const Variant &v : variants) {
        if (v.segment != b.shape.segment)
            continue;
        const StackSums a = stack_sums_of(b.shape, b.bank, b.block, b.piece, v.teams, v.exchange_bytes);
        if (v.teams * (int64_t)a.team_bytes > 232448)
            continue;
        const Launch launch = {dim3(a.n_blocks), v.threads, v.teams * (int64_t)a.team_bytes, b.stream};
        const double sum = milliseconds(b, [&](int) { CHECK_CUDA(allow_and_launch(launch, v.kernel, a)); });
        printf("                   %d teams of %d threads in %d blocks: sums %.3f ms, %.1f G correlations/s\n", v.teams,
               v.threads / v.teams, v.blocks, sum, correlations / sum * 1e-6);
    }
}

static void measure(const lw_op_spec &spec, int64_t count, int walk, int abreast)
{
    Bench b = {};
    const lw_shifts &shifts = *spec.ols.stacks;
    const int64_t rows = spec.ols.n_filters * shifts.n_inputs, points = rows * spec.ols.segment;
    lw_error err;
    if (lw_stack_choose(&spec, 232448, &b.shape, &err)) {
        printf("%5d points: %s\n", spec.ols.segment, err.message);
        return;
    }
    b.shape.walk = walk;
    b.shape.abreast = abreast;
    CHECK_CUDA(cudaStreamCreate(&b.stream));
    CHECK_CUDA(cudaEventCreate(&b.begin));
    CHECK_CUDA(cudaEventCreate(&b.end));
    b.bank.n_taps = spec.ols.n_taps;
    b.bank.n_inputs = (int)shifts.n_inputs;
    b.bank.own_taps = true;
    b.bank.normalize = spec.ols.normalize;
    allocate((char **)&b.bank.powers, lw_stack_powers_bytes(&b.shape));
    allocate((float2 **)&b.bank.spectra, points);
    allocate(&b.bank.peaks, rows);
    allocate(&b.bank.taps, rows * spec.ols.n_taps);
    allocate(&b.bank.terms, rows);
    allocate(&b.bank.ranges, spec.ols.n_filters);
    std::vector<lw_stack_term> terms;
    std::vector<lw_stack_range> ranges(spec.ols.n_filters, {INT32_MAX, INT32_MIN});
    b.bank.most = {INT32_MAX, INT32_MIN};
    for (int64_t i = 0; i < rows; i++) {
        lw_stack_range &range = ranges[i / shifts.n_inputs];
        const int delay = shifts.delays[i];
        range = {std::min(range.least, delay), std::max(range.most, delay)};
        terms.push_back({(int32_t)(i % shifts.n_inputs), delay, 1.0f});
    }
    CHECK_CUDA(cudaMemcpy(b.bank.terms, terms.data(), terms.size() * sizeof terms[0], cudaMemcpyHostToDevice));
    for (const lw_stack_range &range : ranges)
        b.bank.most = {std::min(b.bank.most.least, range.most), std::max(b.bank.most.most, range.most)};
    CHECK_CUDA(cudaMemcpy(b.bank.ranges, ranges.data(), ranges.size() * sizeof ranges[0], cudaMemcpyHostToDevice));
    CHECK_CUDA(lw_stack_prepare(&b.shape, &b.bank, b.stream));
    fill_bank(b, spec.ols, rows);

    const int64_t reach = b.shape.is_fused ? shifts.before + b.shape.span : shifts.before;
    const int64_t before = (reach / b.shape.tile + 2) * b.shape.tile;
    const int64_t n_samples = before + count + shifts.after + spec.ols.n_taps - 1;
    const int64_t tiles = lw_stack_tiles(&b.shape, n_samples - spec.ols.n_taps + 1), all = tiles * shifts.n_inputs;
    float *samples;
    allocate(&samples, n_samples * shifts.n_inputs);
    fill_random<<<1024, 256, 0, b.stream>>>(samples, n_samples * shifts.n_inputs, 5);
    b.block.input = samples;
    b.block.type.scalar = LW_FLOAT32;
    b.block.propagates = true;
    b.block.n_samples = n_samples;
    b.block.n_tiles = (int)tiles;
    allocate((float2 **)&b.block.spectra, all * b.shape.segment);
    allocate(&b.block.gains, all * b.shape.tile);
    allocate(&b.block.rms, all);
    allocate(&b.block.most, all);
    allocate(&b.block.report, 1);
    CHECK_CUDA(cudaMemset(b.block.report, 0, sizeof *b.block.report));
    const int64_t each = tiles * b.shape.segment * (int64_t)sizeof(float2);
    b.block.n_products = b.shape.is_fused ? (int)std::min<int64_t>(spec.ols.n_filters, (((512 << 20) / each) / 32 + 1) * 32) : 0;
    allocate((float2 **)&b.block.products, b.block.n_products * tiles * b.shape.segment);
    b.piece.n_filters = spec.ols.n_filters;
    b.piece.first = before;
    b.piece.count = count;
    allocate(&b.piece.series, count * spec.ols.n_filters);
    allocate(&b.piece.touched, spec.ols.n_filters);
    const double load = milliseconds(b, [&](int) { CHECK_CUDA(lw_stack_load(&b.shape, &b.bank, &b.block, b.stream)); });
    const double sum = milliseconds(b, [&](int) { CHECK_CUDA(lw_stack_sum(&b.shape, &b.bank, &b.block, &b.piece, b.stream)); });
    std::vector<unsigned> touched(spec.ols.n_filters);
    CHECK_CUDA(cudaMemcpy(touched.data(), b.piece.touched, touched.size() * sizeof touched[0], cudaMemcpyDeviceToHost));
    printf("%5d points, normalize %d, fused %d, hop %d, walks of %d tiles, %d filters abreast: load %.3f ms, sums %.3f ms, "
           "%.1f G correlations/s, %d filters touched\n", b.shape.segment, spec.ols.normalize, b.shape.is_fused, b.shape.hop, walk,
           abreast, load, sum,
           (double)count * (double)rows / sum * 1e-6, (int)(touched.size() - std::count(touched.begin(), touched.end(), 0u)));
    if (!b.shape.is_fused)
        measure_variants(b, (double)count * (double)rows);
    fflush(stdout);
    void *const all_memory[] = {b.bank.powers, b.bank.spectra, b.bank.peaks, b.bank.taps, b.bank.terms, b.bank.ranges, samples,
                                b.block.spectra, b.block.products, b.block.gains, b.block.rms, b.block.most, b.block.report,
                                b.piece.series, b.piece.touched};
    for (void *memory : all_memory)
        CHECK_CUDA(cudaFree(memory));
}

int main(int argc, char **argv)
{
    const int n_filters = argc > 1 ? atoi(argv[1]) : 512, n_taps = argc > 2 ? atoi(argv[2]) : 600;
    const int reach = argc > 3 ? atoi(argv[3]) : 500, n_channels = argc > 4 ? atoi(argv[4]) : 24;
    const int64_t count = argc > 5 ? atoll(argv[5]) : 1 << 20;
    const int64_t rows = (int64_t)n_filters * n_channels;
    std::vector<float> taps(rows * n_taps);
    std::vector<int32_t> delays(rows);
    for (size_t i = 0; i < taps.size(); i++)
        taps[i] = (float)(hash24(i, 1) * (2.0 / 16777216.0) - 1.0);
    for (size_t i = 0; i < delays.size(); i++)
        delays[i] = (int32_t)(hash24(i, 2) % (2 * reach + 1)) - reach;
    lw_shifts shifts = {};
    shifts.n = n_filters;
    shifts.n_inputs = n_channels;
    shifts.delays = delays.data();
    shifts.before = shifts.after = reach;
    lw_op_spec spec = {};
    spec.kind = LW_OP_OLS;
    spec.n_channels = 1;
    spec.n_outputs = count;
    spec.ols.taps.data = taps.data();
    spec.ols.taps.type.scalar = LW_FLOAT32;
    spec.ols.n_filters = n_filters;
    spec.ols.n_taps = n_taps;
    spec.ols.own_taps = true;
    spec.ols.stacks = &shifts;
    for (const int segment : {1024, 2048, 4096, 8192})
        for (const lw_normalize normalize : {LW_NORMALIZE_NONE, LW_NORMALIZE_DEMEANED}) {
            spec.ols.segment = segment;
            spec.ols.normalize = normalize;
            measure(spec, count, 16, 48);
        }
    return 0;
}
