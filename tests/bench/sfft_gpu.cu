/* sfft_gpu.cu - benchmark of the sparse transform of a signal on the device, beside cuFFT's transform of all samples, in one run.
 *
 *   bench_sfft_gpu table [CSV]                    the rows of the record, with cuFFT Z2Z and C2C
 *   bench_sfft_gpu rows CSV LOG2_N:K[:SNR_DB[?]] ...   other rows likewise, complex double; ?: the ratio is unknown to the solver
 *   bench_sfft_gpu statistics                     how often all lines are found, over seeds
 *   bench_sfft_gpu one LOG2_N K [SEEDS [SNR_DB]]  one row without cuFFT, for a profiler
 *
 * The signal holds K lines of magnitude 1 at random frequencies, complex double (or float), in white noise of SNR_DB per sample
 * if there is one. The time is from the signal to sorted coefficients, both on the device: fold, transform and recovery of the
 * first attempt, as one graph.
 *
 * single: median of graphs that each wait behind a memset of twice the L2 cache, so that the caches are cold and the host's
 * launch is not counted. sustained: back to back, with solvers of different seeds taking turns, so that most samples of one are
 * out of the cache when its turn comes again. If the ratio is unknown, the noise is estimated first, as the job does it
 * (sfft/probe.h): the host fetches the samples for it and estimates. probe_ms is the median of these times, which no other figure
 * includes.
 *
 * Found: runs whose first attempt found all lines and reported so. Retried: runs that took a further attempt and then reported
 * so. Lost: runs that never did (the job would fall back to the dense transform). Wrong: runs that reported all lines without
 * having them. L1: the paper's error, sum over all bins of |error|, per line, the worst of the runs. */
#include "gpu/sfft/solver.h"
#include "sfft/number.h"
#include "sfft/probe.h"

#include "gpu_bench.cuh"

#include <cufft.h>

#include <chrono>
#include <cinttypes>
#include <cmath>
#include <complex>
#include <cstring>
#include <map>
#include <string>

namespace {

using Spectrum = std::map<int64_t, std::complex<double>>;

struct Row {
    int bits;
    int64_t k;
    bool is_single;             /* complex float samples */
    int seeds;
    double snr_db;              /* signal-to-noise ratio in dB; 0: no noise */
    bool is_untold;             /* whether the solver has to estimate the ratio */
};

struct Score {
    int runs = 0, found = 0, retried = 0, lost = 0, wrong = 0;
    double error = 0, rounds = 0, steps = 0;
    std::vector<double> probe_ms;
    int64_t samples = 0;        /* samples of a first attempt */
};

double uniform(uint64_t seed, uint64_t counter) { return (double)(lw_random_bits(seed, counter) >> 11) * 0x1p-53; }

void check(int rc, const lw_error &err)
{
    if (rc == 0)
        return;
    fprintf(stderr, "bench_sfft_gpu: %s\n", err.message);
    exit(1);
}

/* ---- the signal -------------------------------------------------------------------------------------------------------- */

__global__ void place_lines(double2 *spectrum, const int64_t *frequency, const double2 *value, int64_t k)
{
    const int64_t i = blockIdx.x * 256ll + threadIdx.x;
    if (i < k)
        spectrum[frequency[i]] = value[i];
}

/* Add white noise of the given variance per sample, by Box and Muller. */
__global__ void add_noise(double2 *x, int64_t n, double variance)
{
    for (int64_t t = blockIdx.x * 256ll + threadIdx.x; t < n; t += gridDim.x * 256ll) {
        const double u = ((double)hash24((uint64_t)t, 11) + 1) / 16777217.0, v = (double)hash24((uint64_t)t, 12) / 16777216.0;
        double s, c;
        sincospi(2 * v, &s, &c);
        const double size = sqrt(-log(u) * variance);
        x[t].x += size * c;
        x[t].y += size * s;
    }
}

__global__ void to_single(const double2 *x, float2 *y, int64_t n)
{
    for (int64_t t = blockIdx.x * 256ll + threadIdx.x; t < n; t += gridDim.x * 256ll)
        y[t] = {(float)x[t].x, (float)x[t].y};
}

__global__ void gather(const void *x, bool is_single, const int64_t *places, int64_t count, double2 *out)
{
    const int64_t i = blockIdx.x * 256ll + threadIdx.x;
    if (i >= count)
        return;
    if (is_single) {
        const float2 value = ((const float2 *)x)[places[i]];
        out[i] = {value.x, value.y};
    } else {
        out[i] = ((const double2 *)x)[places[i]];
    }
}

template <class T> T *on_device(int64_t count)
{
    T *memory = nullptr;
    CHECK_CUDA(cudaMalloc(&memory, (size_t)count * sizeof(T)));
    return memory;
}

template <class T> T *copied(const std::vector<T> &from)
{
    T *const memory = on_device<T>((int64_t)from.size());
    CHECK_CUDA(cudaMemcpy(memory, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
    return memory;
}

Spectrum choose_lines(int64_t n, int64_t k)
{
    Spectrum lines;
    for (uint64_t i = 0; (int64_t)lines.size() < k; ++i)
        lines[lw_random_below(2, i, n)] = std::polar(1.0, 2 * M_PI * uniform(3, i));
    return lines;
}

void transform(double2 *x, int64_t n, int direction)
{
    cufftHandle plan;
    size_t bytes;
    long long length = n;
    CHECK_CUDA(cufftCreate(&plan));
    CHECK_CUDA(cufftMakePlanMany64(plan, 1, &length, nullptr, 1, n, nullptr, 1, n, CUFFT_Z2Z, 1, &bytes));
    CHECK_CUDA(cufftExecZ2Z(plan, x, x, direction));
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK_CUDA(cufftDestroy(plan));
}

double2 *make_signal(const Row &row, const Spectrum &lines)
{
    const int64_t n = (int64_t)1 << row.bits;
    std::vector<int64_t> frequency;
    std::vector<double2> value;
    for (const auto &line : lines) {
        frequency.push_back(line.first);
        value.push_back({line.second.real(), line.second.imag()});
    }
    double2 *const x = on_device<double2>(n);
    int64_t *const at = copied(frequency);
    double2 *const values = copied(value);
    CHECK_CUDA(cudaMemset(x, 0, (size_t)n * sizeof *x));
    place_lines<<<(unsigned)((row.k + 255) / 256), 256>>>(x, at, values, row.k);
    transform(x, n, CUFFT_INVERSE);
    if (row.snr_db != 0)
        add_noise<<<4096, 256>>>(x, n, (double)row.k * pow(10, -row.snr_db / 10));
    CHECK_CUDA(cudaDeviceSynchronize());
    cudaFree(at);
    cudaFree(values);
    return x;
}

/* ---- cuFFT ------------------------------------------------------------------------------------------------------------- */

/* Time cuFFT in place. The values grow from run to run, but a transform takes the same time for all finite values. */
double time_cufft(int64_t n, cufftType type, cudaStream_t stream)
{
    const int64_t bytes = n * (type == CUFFT_Z2Z ? 16 : 8);
    void *x;
    cufftHandle plan;
    size_t work;
    long long length = n;
    CHECK_CUDA(cudaMalloc(&x, (size_t)bytes));
    CHECK_CUDA(cudaMemset(x, 0, (size_t)bytes));
    CHECK_CUDA(cufftCreate(&plan));
    CHECK_CUDA(cufftMakePlanMany64(plan, 1, &length, nullptr, 1, n, nullptr, 1, n, type, 1, &work));
    CHECK_CUDA(cufftSetStream(plan, stream));
    const auto run = [&](int) {
        if (type == CUFFT_Z2Z)
            CHECK_CUDA(cufftExecZ2Z(plan, (cufftDoubleComplex *)x, (cufftDoubleComplex *)x, CUFFT_FORWARD));
        else
            CHECK_CUDA(cufftExecC2C(plan, (cufftComplex *)x, (cufftComplex *)x, CUFFT_FORWARD));
    };
    const double ms = time_run(run, stream, 300).single;
    CHECK_CUDA(cufftDestroy(plan));
    CHECK_CUDA(cudaFree(x));
    return ms;
}

/* ---- solvers ------------------------------------------------------------------------------------------------------------ */

struct Solver {
    lw_sfft_layout *layout = nullptr;
    lw_sfft_solver *solver = nullptr;
    cudaGraphExec_t graph = nullptr;        /* graph of the first attempt */
};

lw_device this_device()
{
    lw_engine_spec spec = {};
    spec.node_ranks = 1;
    lw_device device;
    lw_error err;
    check(lw_device_open(&spec, &device, &err), err);
    return device;
}

lw_sfft_spec spec_of(const Row &row, int seed)
{
    lw_sfft_spec spec = {};
    spec.n = (int64_t)1 << row.bits;
    spec.sparsity = row.k;
    spec.precision = row.is_single ? LW_SINGLE : LW_DOUBLE;
    spec.has_snr = row.snr_db != 0 && !row.is_untold;
    spec.snr_db = row.snr_db;
    spec.seed = (uint64_t)seed;
    spec.is_at_hand = true;
    return spec;
}

/* Make the plan for the noise that the signal's samples show. The time counts in the score. */
lw_sfft_plan probe_plan(const lw_sfft_spec &spec, const lw_sfft_device_signal &signal, Score &score)
{
    lw_error err;
    lw_sfft_layout *layout;
    struct lw_sfft_probe shown;         /* `struct`, since a function has the same name */
    const lw_sfft_plan first = lw_sfft_probe_plan(&spec);
    check(lw_sfft_layout_create(&first, &layout, &err), err);
    const int64_t count = first.attempts[0].samples;
    std::vector<int64_t> at((size_t)count);
    for (int64_t i = 0; i < count; ++i)
        at[(size_t)i] = lw_sfft_stage_sample(&layout->stages[0], 0, i);
    int64_t *const places = copied(at);
    double2 *const gathered = on_device<double2>(count);
    std::vector<double> values((size_t)(2 * count));

    const auto begin = std::chrono::steady_clock::now();
    gather<<<(unsigned)((count + 255) / 256), 256>>>(signal.samples, signal.type.scalar == LW_FLOAT32, places, count, gathered);
    CHECK_CUDA(cudaMemcpy(values.data(), gathered, (size_t)count * sizeof *gathered, cudaMemcpyDeviceToHost));
    check(lw_sfft_probe(layout, values.data(), &shown, &err), err);
    const lw_sfft_plan plan = lw_sfft_plan_for(&spec, lw_sfft_probe_snr(&shown));
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;

    score.probe_ms.push_back(taken.count());
    CHECK_CUDA(cudaFree(places));
    CHECK_CUDA(cudaFree(gathered));
    lw_sfft_layout_destroy(layout);
    return plan;
}

Solver open_solver(const lw_device &device, const Row &row, int seed, const lw_sfft_device_signal &signal, Score &score)
{
    const lw_sfft_spec spec = spec_of(row, seed);
    lw_error err;
    const lw_sfft_plan plan = row.is_untold ? probe_plan(spec, signal, score) : lw_sfft_plan_make(&spec);
    if (plan.n_attempts == 0) {
        fprintf(stderr, "bench_sfft_gpu: for %" PRId64 " lines of 2^%d samples the dense transform is better\n", row.k, row.bits);
        exit(1);
    }
    Solver s;
    check(lw_sfft_layout_create(&plan, &s.layout, &err), err);
    lw_cuda_engine engine = {{}, device};
    check(lw_cuda_sparse_ops.create(&engine.base, s.layout, &s.solver, &err), err);
    return s;
}

void capture(Solver &s, const lw_sfft_device_signal &signal, cudaStream_t stream)
{
    lw_error err;
    cudaGraph_t graph;
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    check(lw_cuda_sfft_enqueue(s.solver, 0, &signal, stream, &err), err);
    CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
    CHECK_CUDA(cudaGraphInstantiate(&s.graph, graph, 0));
    CHECK_CUDA(cudaGraphDestroy(graph));
}

void close_solver(Solver &s)
{
    if (s.graph)
        CHECK_CUDA(cudaGraphExecDestroy(s.graph));
    lw_sfft_solver_destroy(s.solver);
    lw_sfft_layout_destroy(s.layout);
}

/* ---- one run, scored ---------------------------------------------------------------------------------------------------- */

/* Whether all lines are among the found ones. The error is added to the score. */
bool compare(const lw_sfft_result &result, const Spectrum &lines, double n, Score &score)
{
    double error = (double)lines.size();
    size_t found = 0;
    for (int64_t i = 0; i < result.n_lines; ++i) {
        const std::complex<double> value(result.lines[i].re / n, result.lines[i].im / n);
        const auto line = lines.find(result.lines[i].frequency);
        const bool is_line = line != lines.end();
        found += is_line;
        error += std::abs(value - (is_line ? line->second : 0.0)) - is_line;
    }
    score.error = fmax(score.error, error / (double)lines.size());
    return found == lines.size();
}

void run_once(const Solver &s, const Row &row, const lw_sfft_device_signal &signal, const Spectrum &lines, cudaStream_t stream,
              Score &score)
{
    lw_error err;
    lw_sfft_result result = {};
    int attempt = 0;
    do {
        check(lw_cuda_sfft_enqueue(s.solver, attempt, &signal, stream, &err), err);
        check(lw_cuda_sfft_fetch(s.solver, attempt, stream, &result, &err), err);
        if (attempt == 0) {
            score.rounds += lw_cuda_sfft_details(s.solver)->n_rounds;
            score.steps += lw_cuda_sfft_details(s.solver)->n_steps;
        }
    } while (!result.is_explained && ++attempt < s.layout->plan.n_attempts);
    const bool all = compare(result, lines, pow(2, row.bits), score);
    score.runs++;
    score.found += all && result.is_explained && attempt == 0;
    score.retried += result.is_explained && attempt > 0;
    score.lost += !result.is_explained;
    score.wrong += result.is_explained && !all;
    score.samples = s.layout->plan.attempts[0].samples;
}

void print_score(const Row &row, const Score &score)
{
    printf("2^%d k %" PRId64 " %s snr %g%s: %d runs, %d found, %d retried, %d lost, %d wrong, L1 %.2g, %.1f rounds, %.1f steps\n",
           row.bits, row.k, row.is_single ? "single" : "double", row.snr_db, row.is_untold ? ", not told" : "", score.runs,
           score.found, score.retried, score.lost, score.wrong, score.error, score.rounds / score.runs, score.steps / score.runs);
    fflush(stdout);
}

/* ---- rows --------------------------------------------------------------------------------------------------------------- */

/* A row's signal in its type. If that is float, the double signal is freed. */
lw_sfft_device_signal signal_of(const Row &row, const Spectrum &lines)
{
    const int64_t n = (int64_t)1 << row.bits;
    double2 *const x = make_signal(row, lines);
    lw_sfft_device_signal signal = {{row.is_single ? LW_FLOAT32 : LW_FLOAT64, true, false}, x};
    if (row.is_single) {
        float2 *const y = on_device<float2>(n);
        to_single<<<4096, 256>>>(x, y, n);
        CHECK_CUDA(cudaDeviceSynchronize());
        CHECK_CUDA(cudaFree(x));
        signal.samples = y;
    }
    return signal;
}

int64_t l2_bytes()
{
    int bytes;
    CHECK_CUDA(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, 0));
    return bytes;
}

/* Number of solvers: together they sample memory sectors of twice the L2 cache, but there are not too many to make. */
int solvers_for(const Row &row, const lw_device &device, const lw_sfft_device_signal &signal)
{
    Score score;
    Solver first = open_solver(device, row, 0, signal, score);
    const int64_t bytes = first.layout->plan.attempts[0].samples * 32;
    close_solver(first);
    return (int)std::max<int64_t>(4, std::min<int64_t>(2 * l2_bytes() / bytes + 1, 32));
}

Timing time_row(std::vector<Solver> &solvers, cudaStream_t stream)
{
    const int count = (int)solvers.size();
    const auto run = [&](int i) { CHECK_CUDA(cudaGraphLaunch(solvers[(size_t)(i % count)].graph, stream)); };
    cudaEvent_t begin, end;
    CHECK_CUDA(cudaEventCreate(&begin));
    CHECK_CUDA(cudaEventCreate(&end));
    char *const pad = on_device<char>(2 * l2_bytes());
    time_calls(run, count, stream, begin, end);
    std::vector<double> ms;
    for (int i = 0; i < 3 * count; ++i) {
        CHECK_CUDA(cudaMemsetAsync(pad, 0, (size_t)(2 * l2_bytes()), stream));
        ms.push_back(time_calls([&](int) { run(i); }, 1, stream, begin, end));
    }
    CHECK_CUDA(cudaFree(pad));
    const Timing timing = {median(ms), time_calls(run, 3 * count, stream, begin, end)};
    CHECK_CUDA(cudaEventDestroy(begin));
    CHECK_CUDA(cudaEventDestroy(end));
    return timing;
}

void run_row(const Row &row, const lw_device &device, bool with_cufft, FILE *csv)
{
    cudaStream_t stream;
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const int64_t n = (int64_t)1 << row.bits;
    const double z2z = with_cufft ? time_cufft(n, CUFFT_Z2Z, stream) : 0, c2c = with_cufft ? time_cufft(n, CUFFT_C2C, stream) : 0;
    const Spectrum lines = choose_lines(n, row.k);
    const lw_sfft_device_signal signal = signal_of(row, lines);
    std::vector<Solver> solvers;
    Score score;
    const int n_solvers = row.seeds > 0 ? row.seeds : solvers_for(row, device, signal);
    for (int i = 0; i < n_solvers; ++i) {
        solvers.push_back(open_solver(device, row, i + 1, signal, score));
        run_once(solvers.back(), row, signal, lines, stream, score);
        capture(solvers.back(), signal, stream);
    }
    const Timing timing = time_row(solvers, stream);
    printf("2^%d k %-5" PRId64 " %s: %.4f ms single, %.4f sustained; %" PRId64 " samples", row.bits, row.k,
           row.is_single ? "single" : "double", timing.single, timing.sustained, score.samples);
    const double same = row.is_single ? c2c : z2z;      /* the transform of the same precision counts */
    if (with_cufft)
        printf("; cuFFT Z2Z %.3f ms, C2C %.3f ms: %.1fx", z2z, c2c, same / timing.single);
    const double probe = row.is_untold ? median(score.probe_ms) : 0;
    if (row.is_untold)
        printf("; the noise before, through the host: %.3f ms", probe);
    printf("\n    ");
    print_score(row, score);
    if (csv) {
        fprintf(csv, "%d,%" PRId64 ",%s,%g,%s,%.5f,%.5f,%" PRId64 ",%.4f,%.4f,%d,%d,%d,%d,%d,%.3g,%.2f,%.2f,%.2f,%.4f\n",
                row.bits, row.k, row.is_single ? "single" : "double", row.snr_db, row.is_untold ? "no" : "yes", timing.single,
                timing.sustained, score.samples, z2z, c2c, score.runs, score.found, score.retried, score.lost, score.wrong,
                score.error, score.rounds / score.runs, score.steps / score.runs, same / timing.single, probe);
        fflush(csv);
    }
    for (Solver &s : solvers)
        close_solver(s);
    CHECK_CUDA(cudaFree((void *)signal.samples));
    CHECK_CUDA(cudaStreamDestroy(stream));
}

const std::vector<Row> table_rows = {
    {27, 1000, false, 0, 0}, {27, 100, false, 0, 0}, {27, 5000, false, 0, 0}, {24, 1000, false, 0, 0}, {30, 1000, false, 0, 0},
    {22, 1000, false, 0, 0}, {26, 1000, false, 0, 0}, {28, 1000, false, 0, 0}, {27, 1000, true, 0, 0},
    {27, 1000, false, 0, 20}, {27, 1000, false, 0, 20, true}, {27, 100, false, 0, 20}, {27, 100, false, 0, 20, true},
    {22, 1000, false, 0, 20}, {22, 1000, false, 0, 20, true},
};

std::vector<Row> rows_of(int n, char **texts)
{
    std::vector<Row> rows;
    for (int i = 0; i < n; ++i) {
        Row row = {};
        const bool is_row = sscanf(texts[i], "%d:%" SCNd64 ":%lf", &row.bits, &row.k, &row.snr_db) >= 2;
        row.is_untold = strchr(texts[i], '?') != nullptr;
        if (!is_row || row.bits < 10 || row.bits > 30 || row.k < 1) {
            fprintf(stderr, "bench_sfft_gpu: '%s' is not LOG2_N:K[:SNR_DB[?]] with 10 <= LOG2_N <= 30\n", texts[i]);
            exit(2);
        }
        rows.push_back(row);
    }
    return rows;
}

void run_table(const lw_device &device, const char *path, const std::vector<Row> &rows)
{
    FILE *const csv = path ? fopen(path, "w") : nullptr;
    if (path && !csv) {
        perror(path);
        exit(1);
    }
    if (csv)
        fprintf(csv, "log2_n,k,precision,snr_db,told,ms_single,ms_sustained,samples,z2z_ms,c2c_ms,runs,found,retried,lost,wrong,l1,"
                     "rounds,steps,ratio,probe_ms\n");
    for (const Row &row : rows)
        run_row(row, device, true, csv);
    if (csv)
        fclose(csv);
}

void run_statistics(const lw_device &device)
{
    static const Row rows[] = {
        {22, 100, false, 400, 0}, {22, 1000, false, 200, 0}, {27, 1000, false, 100, 0}, {22, 100, true, 100, 0},
        {22, 100, false, 100, 20}, {22, 1000, false, 100, 20}, {27, 100, false, 100, 20}, {27, 1000, false, 100, 20},
        {27, 1000, false, 100, 0.001}, {22, 100, false, 100, 20, true}, {27, 1000, false, 100, 20, true},
    };
    for (const Row &row : rows) {
        const Spectrum lines = choose_lines((int64_t)1 << row.bits, row.k);
        const lw_sfft_device_signal signal = signal_of(row, lines);
        Score score;
        for (int i = 0; i < row.seeds; ++i) {
            Solver s = open_solver(device, row, i + 1, signal, score);
            run_once(s, row, signal, lines, nullptr, score);
            close_solver(s);
        }
        print_score(row, score);
        CHECK_CUDA(cudaFree((void *)signal.samples));
    }
}

}  // namespace

int main(int argc, char **argv)
{
    const std::string what = argc > 1 ? argv[1] : "";
    const bool is_one = what == "one" && argc >= 4;
    const Row row = {is_one ? atoi(argv[2]) : 0, is_one ? atoll(argv[3]) : 0, false, argc > 4 ? atoi(argv[4]) : 0,
                     argc > 5 ? atof(argv[5]) : 0};
    const bool is_legal_one = is_one && row.bits >= 10 && row.bits <= 32 && row.k > 0;
    if (!(what == "table" || (what == "rows" && argc > 3) || what == "statistics" || is_legal_one)) {
        fprintf(stderr, "bench_sfft_gpu table [CSV] | rows CSV LOG2_N:K[:SNR_DB[?]] ... | statistics | "
                        "one LOG2_N(10..32) K [SEEDS [SNR_DB]]\n");
        return 2;
    }
    const lw_device device = this_device();
    printf("%s\n", device.name);
    if (what == "table")
        run_table(device, argc > 2 ? argv[2] : nullptr, table_rows);
    else if (what == "rows")
        run_table(device, argv[2], rows_of(argc - 3, argv + 3));
    else if (what == "statistics")
        run_statistics(device);
    else
        run_row(row, device, false, nullptr);
    return 0;
}
