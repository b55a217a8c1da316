/* stacks_gpu.cu - benchmark of stacks of channels (gpu/array) on noise in device memory: correlations per second, an output of one
 * filter in one channel each.
 *
 *   bench_stacks_gpu [FILTERS [TAPS [REACH [CHANNELS [OUTPUTS]]]]]     by default 512 filters of 600 taps, delays within +-500, 24
 *                                                                     channels of 2^20 outputs
 *
 * For each segment length and kind of normalizing: time of the spectra and windows of a block, of the sums, and their rate. */
#include "../../gpu/bank.h"
#include "gpu/array/stack.h"
#include "../gpu_bench.cuh"

#include <cstdlib>
#include <cstring>

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
    allocate(&b.bank.counts, spec.ols.n_filters);
    std::vector<lw_stack_term> terms;
    std::vector<lw_stack_terms> counts(spec.ols.n_filters);
    for (int64_t i = 0; i < rows; i++) {
        lw_stack_terms &c = counts[i / shifts.n_inputs];
        const int delay = shifts.delays[i];
        c.least = c.n == 0 ? delay : std::min(c.least, delay);
        c.most = c.n == 0 ? delay : std::max(c.most, delay);
        c.n++;
        terms.push_back({(int32_t)(i % shifts.n_inputs), delay, 1.0f});
    }
    CHECK_CUDA(cudaMemcpy(b.bank.terms, terms.data(), terms.size() * sizeof terms[0], cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemcpy(b.bank.counts, counts.data(), counts.size() * sizeof counts[0], cudaMemcpyHostToDevice));
    CHECK_CUDA(lw_stack_prepare(&b.shape, &b.bank, b.stream));
    fill_bank(b, spec.ols, rows);

    const int64_t before = (shifts.before + b.shape.tile - 1) / b.shape.tile * b.shape.tile;
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
    b.piece.n_filters = spec.ols.n_filters;
    b.piece.first = before;
    b.piece.count = count;
    allocate(&b.piece.series, count * spec.ols.n_filters);
    allocate(&b.piece.touched, spec.ols.n_filters);
    const double load = milliseconds(b, [&](int) { CHECK_CUDA(lw_stack_load(&b.shape, &b.bank, &b.block, b.stream)); });
    const double sum = milliseconds(b, [&](int) { CHECK_CUDA(lw_stack_sum(&b.shape, &b.bank, &b.block, &b.piece, b.stream)); });
    std::vector<unsigned> touched(spec.ols.n_filters);
    CHECK_CUDA(cudaMemcpy(touched.data(), b.piece.touched, touched.size() * sizeof touched[0], cudaMemcpyDeviceToHost));
    printf("%5d points, normalize %d, hop %d, walks of %d tiles, %d filters abreast: load %.3f ms, sums %.3f ms, "
           "%.1f G correlations/s, %d filters touched\n", b.shape.segment, spec.ols.normalize, b.shape.hop, walk,
           abreast, load, sum,
           (double)count * (double)rows / sum * 1e-6, (int)(touched.size() - std::count(touched.begin(), touched.end(), 0u)));
    fflush(stdout);
    void *const all_memory[] = {b.bank.powers, b.bank.spectra, b.bank.peaks, b.bank.taps, b.bank.terms, b.bank.counts, samples,
                                b.block.spectra, b.block.gains, b.block.rms, b.block.most, b.block.report, b.piece.series,
                                b.piece.touched};
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
    for (const int walk : {8, 32})
        for (const int abreast : {16, 48, 132}) {
            spec.ols.segment = 2048;
            measure(spec, count, walk, abreast);
        }
    return 0;
}
