/* recover.cu - recovers lines from buckets in one kernel, run by the blocks of one team (gpu/sfft/team.cuh). A look, peeling and
 * then fitting, is repeated while it finds lines. Then the rest is checked and the strongest lines are chosen.
 *
 * The work is small (half a megabyte of buckets for a thousand lines), but has about twenty-five steps that wait for each other. A
 * barrier of the team takes a fraction of a launch's time, and lets the data decide the number of steps. The first step scales the
 * measured buckets; the last one chooses the strongest lines, which are already in order of frequency. */
#include "gpu/device/launch.cuh"
#include "gpu/sfft/fit.cuh"

namespace {

/* ---- start ----------------------------------------------------------------------------------------------------------- */

/* Return the power of two that scales a double, given by its bits, to between 1/2 and 1; 0 for 0, extreme and non-finite ones. */
LW_DEVICE double scale_for(unsigned long long bits)
{
    const int exponent = (int)(bits >> 52) - 1022;
    return bits == 0 || exponent > 1020 || exponent < -1000 ? 0 : __longlong_as_double((long long)(1023 - exponent) << 52);
}

/* Copy constant data to shared memory: a barrier of the team empties the L1 cache. */
LW_DEVICE void copy_stages(const lw_sfft_recovery &r, int check, int n_windows)
{
    SfftShared &shared = shared_of_block();
    double *const responses = (double *)(&shared + 1);
    const int n_words = (check + 1) * (int)(sizeof shared.stages[0] / sizeof(int64_t));
#pragma unroll 2
    for (int i = (int)threadIdx.x; i < n_words; i += SfftTeam::THREADS)
        ((int64_t *)shared.stages)[i] = ((const int64_t *)r.stages)[i];
    __syncthreads();
    for (int s = 0; s <= check; ++s) {
        const SfftStage &stage = shared.stages[s];
        const bool is_first = s == 0 || shared.stages[s - 1].window != stage.window;
        double *const copy = responses + stage.window * LW_SFFT_RESPONSE_SIZE;
        const int count = stage.window < n_windows && is_first ? LW_SFFT_RESPONSE_SIZE : 0;
#pragma unroll 8
        for (int i = (int)threadIdx.x; i < count; i += SfftTeam::THREADS)
            copy[i] = stage.response[i];
        for (int d = (int)threadIdx.x; d < stage.n_shifts; d += SfftTeam::THREADS)
            shared.stage_of_plane[stage.first_plane + d] = (unsigned char)s;
    }
    __syncthreads();
    if ((int)threadIdx.x <= check && shared.stages[threadIdx.x].window < n_windows)
        shared.stages[threadIdx.x].response = responses + shared.stages[threadIdx.x].window * LW_SFFT_RESPONSE_SIZE;
    if (threadIdx.x == 0) {
        shared.arrivals = &r.control->arrivals;
        shared.expected = 0;
        shared.n_seen[0] = shared.n_seen[1] = shared.n_taken[0] = shared.n_taken[1] = shared.n_candidates = shared.n_new = 0;
        for (int level = 0; level < LW_SFFT_TOLERANCES; ++level)
            shared.n_of_level[level] = 0;
        shared.most_shifts = 0;
        for (int s = 0; s < check; ++s)
            shared.most_shifts = max(shared.most_shifts, shared.stages[s].n_shifts);
    }
    __syncthreads();
}

/* Reset rest, heads and counters. Return the mean |x|^2, from the check stage: its permutation weighs lines alike on average. */
LW_DEVICE double begin(const lw_sfft_recovery &r, const SfftLook &look)
{
    const SfftStage &check = stage_at(look.check);
    reset_rest(r, look);
    clear_heads(r, look);
    double energy = 0;
    for (int64_t b = SfftTeam::first(); b < check.n_buckets; b += SfftTeam::step())
        energy += energy_of(scaled(r.values[value_of(check, 0, b)], look.scale));
    team_give<SfftSum>({energy, 0}, r.control->partial[2]);
    if (SfftTeam::is_leader()) {
        r.control->n_lines = r.control->n_keys = 0;
        clear_counters(*r.control, 0);
        clear_counters(*r.control, 1);
    }
    SfftTeam::sync();
    return team_take<SfftSum>(r.control->partial[2]).x / (double)check.n_buckets / check.window_energy;
}

/* ---- the result ------------------------------------------------------------------------------------------------------ */

/* Tells whether a line may be reported. */
struct SfftReported {
    const int64_t *frequency;
    const double2 *amplitude;
    double least;               /* least energy of a reported line */
    int64_t n;
    int is_real;

    LW_DEVICE bool operator()(int j) const
    {
        return (!is_real || 2 * frequency[j] <= n) && energy_of(amplitude[j]) >= least;
    }
};

/* Set r.keep of the strongest lines, at most `sparsity`, the lower of equals first. r.residue is scratch: |X|^2, -1: unreported. */
LW_DEVICE void choose_lines(const lw_sfft_recovery &r, const SfftReported &is_reported)
{
    const int n_lines = r.control->n_lines;
    double2 *const energy = r.residue;
    for (int64_t j = SfftTeam::first(); j < n_lines; j += SfftTeam::step())
        energy[j] = {is_reported((int)j) ? energy_of(is_reported.amplitude[j]) : -1, 0};
    SfftTeam::sync();
    const auto is_before = [=](int line, int other) {
        return energy[other].x > energy[line].x || (energy[other].x == energy[line].x && other < line);
    };
    const auto mark = [=, &r](int line, int number) {
        if (SfftTeam::lane() == 0)
            r.keep[line] = energy[line].x >= 0 && number < r.sparsity;
    };
    count_before(n_lines, is_before, mark);
    SfftTeam::sync();
}

/* Energy per sample of a line that is not reported. A mirror image counts with its line, not by itself. */
LW_DEVICE double energy_left_out(const SfftReported &lines, int64_t j)
{
    const int64_t frequency = lines.frequency[j];
    const bool is_mirror = lines.is_real && 2 * frequency > lines.n;
    const bool has_mirror = lines.is_real && frequency > 0 && 2 * frequency < lines.n;
    return is_mirror ? 0 : (has_mirror ? 2 : 1) * energy_of(lines.amplitude[j]);
}

/* Energy of the rest in this thread's buckets of the check stage: x their sum, y the largest. */
LW_DEVICE double2 measure_check(const lw_sfft_recovery &r, int check)
{
    double2 mine = {0, 0};
    for (int64_t b = SfftTeam::first(); b < stage_at(check).n_buckets; b += SfftTeam::step()) {
        const double here = energy_of(rest_at(r, value_of(stage_at(check), 0, b)));
        mine = combined<SfftSumAndLargest>(mine, {here, here});
    }
    return mine;
}

/* Write the lines that is_kept admits, in order of frequency; the energy of the others, if any, goes to partial[0]. */
template <class IsKept>
LW_DEVICE void write_result(const lw_sfft_recovery &r, const SfftLook &look, const SfftReported &lines, SfftKept kept,
                            IsKept is_kept)
{
    const double size = (double)r.n / look.scale;
    const int n_lines = r.control->n_lines;
    pack(n_lines, kept.before, is_kept, [=, &r](int line, int number) {
        r.lines[number] = {lines.frequency[line], lines.amplitude[line].x * size, lines.amplitude[line].y * size, 0};
    });
    if (kept.all == n_lines)
        return;
    double left_out = 0;
    for (int64_t j = SfftTeam::first(); j < n_lines; j += SfftTeam::step())
        left_out += is_kept((int)j) ? 0 : energy_left_out(lines, j);
    team_give<SfftSum>({left_out, 0}, r.control->partial[0]);
}

/* Write the figures beside the lines to *r.result. Only the first warp of the team calls this. */
LW_DEVICE void give_result(const lw_sfft_recovery &r, const SfftLook &look, const SfftProgress &progress, double power,
                           int64_t n_found)
{
    const double size = 1 / (look.scale * look.scale);
    const int64_t n_kept = n_found < r.sparsity ? n_found : r.sparsity;
    const SfftPartials checked = load_partials(r.control->partial[1]);
    const unsigned long long not_finite = r.control->not_finite;
    const double left_out = n_kept < r.control->n_lines ? team_take<SfftSum>(r.control->partial[0]).x : 0;
    const double2 check = combine_partials<SfftSumAndLargest>(checked);
    if (!SfftTeam::is_leader())
        return;
    *r.result = {
        n_kept, n_found, {power * size, progress.noise * size, check.x * size, check.y * size, left_out * size}, not_finite,
        progress.n_rounds, progress.n_steps,
    };
    r.control->not_finite = 0;
}

LW_DEVICE void report(const lw_sfft_recovery &r, const SfftLook &look, const SfftProgress &progress, double power)
{
    const double least = r.min_magnitude * look.scale / (double)r.n;
    const SfftReported lines = {
        r.frequency[progress.lines], r.amplitude[progress.lines], least * least, r.n, r.is_real,
    };
    const double2 left = measure_check(r, look.check);
    const SfftKept found = count_kept(r.control->n_lines, lines);
    if (found.all > r.sparsity) {
        choose_lines(r, lines);
        const auto is_kept = [&r](int line) { return r.keep[line] != 0; };
        write_result(r, look, lines, count_kept(r.control->n_lines, is_kept), is_kept);
    } else {
        write_result(r, look, lines, found, lines);
    }
    team_give<SfftSumAndLargest>(left, r.control->partial[1]);
    SfftTeam::sync();
    if (SfftTeam::block() == 0 && SfftTeam::warp() == 0)
        give_result(r, look, progress, power, found.all);
}

/* ---- the kernel ------------------------------------------------------------------------------------------------------ */

__global__ void __launch_bounds__(SfftTeam::THREADS)
recover(const __grid_constant__ lw_sfft_recovery r, int check, int n_windows)
{
    copy_stages(r, check, n_windows);
    table_clear(r);
    wait_for_predecessor();
    const SfftLook look = {check, scale_for(r.control->largest)};
    if (look.scale == 0) {
        if (SfftTeam::is_leader()) {
            const double nothing = r.control->largest == 0 ? 0 : NAN;
            *r.result = {0, 0, {nothing, nothing, nothing, nothing, nothing}, r.control->not_finite, 0, 0};
            r.control->not_finite = 0;
        }
        return;
    }
    const double power = begin(r, look);
    SfftProgress progress = {};
    progress.least_noise = power * r.tolerance * r.tolerance * (LW_SFFT_LEAK * LW_SFFT_LEAK) / stage_at(0).window_energy;
    for (; progress.n_looks < LW_SFFT_LOOKS && peel(r, check, progress.n_looks == 0, progress); ++progress.n_looks)
        fit_lines(r, look, progress);
    if (progress.n_looks == 0) {        /* no line: the median of all buckets shows the noise; peel used a low quantile */
        estimate_noise(r, check, LW_SFFT_QUANTILE_FITTED);
        SfftTeam::sync();
        progress.noise = noise_estimated(r, check, progress.least_noise);
    }
    report(r, look, progress, power);
}

int shared_bytes(int n_windows)
{
    return (int)(sizeof(SfftShared) + (size_t)n_windows * LW_SFFT_RESPONSE_SIZE * sizeof(double));
}

/* Launch one team: a cluster or, beyond its size, a grid of resident blocks. It starts while the previous kernel ends. */
Launch launch_of(int n_blocks, int n_windows, cudaStream_t stream)
{
    const bool is_cluster = n_blocks <= LW_SFFT_DEVICE_CLUSTER;
    return {dim3((unsigned)n_blocks), SfftTeam::THREADS, shared_bytes(n_windows), stream, is_cluster ? n_blocks : 1,
            has_dependents(), !is_cluster};
}

/* Blocks of the largest possible cluster; 1: none is possible. */
int cluster_blocks(int most_windows)
{
    cudaFuncSetAttribute(recover, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    for (int blocks = LW_SFFT_DEVICE_CLUSTER; blocks > 1; blocks /= 2) {
        int clusters = 0;
        cudaLaunchAttribute attributes[3];
        const cudaLaunchConfig_t where = config_of(launch_of(blocks, most_windows, nullptr), attributes);
        if (cudaOccupancyMaxActiveClusters(&clusters, recover, &where) == cudaSuccess && clusters > 0)
            return blocks;
    }
    cudaGetLastError();         /* clears the error: no size is possible, which is legal */
    return 1;
}

/* Blocks of the largest grid that can be resident, a power of two; 0: it is no larger than a cluster. */
int grid_blocks(int n_multiprocessors, int most_windows)
{
    int of_each = 0;
    const size_t bytes = (size_t)shared_bytes(most_windows);
    if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_each, recover, SfftTeam::THREADS, bytes) != cudaSuccess)
        cudaGetLastError();
    int blocks = LW_SFFT_DEVICE_BLOCKS;
    while (blocks > n_multiprocessors * of_each)
        blocks /= 2;
    return blocks > LW_SFFT_DEVICE_CLUSTER ? blocks : 0;
}

/* Choose the number of blocks. A cluster's barriers are faster, but a grid's blocks have less work between barriers. A grid of
 * three quarters of the blocks can start while the transform still runs on the other multiprocessors. */
int blocks_for(int64_t n_buckets, const lw_sfft_recovery_shape *shape)
{
    constexpr int MOST_OF_BLOCK = 128;          /* most buckets per block of a cluster */
    const bool is_large = n_buckets > shape->cluster_blocks * (int64_t)MOST_OF_BLOCK;
    if (!is_large || shape->grid_blocks == 0)
        return shape->cluster_blocks;
    const int most_beside = shape->grid_blocks / 4 * 3;
    return n_buckets * SFFT_LANES <= most_beside * (int64_t)SfftTeam::THREADS ? most_beside : shape->grid_blocks;
}

}  // namespace

lw_sfft_recovery_shape lw_sfft_recovery_shape_of(int major, int n_multiprocessors, int most_shared_bytes)
{
    lw_sfft_recovery_shape shape = {1, 0, LW_SFFT_ATTEMPTS};
    while (shape.most_windows > 0 && shared_bytes(shape.most_windows) > most_shared_bytes)
        shape.most_windows--;
    cudaFuncSetAttribute(recover, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes(shape.most_windows));
    if (major >= 9)
        shape.cluster_blocks = cluster_blocks(shape.most_windows);
    shape.grid_blocks = grid_blocks(n_multiprocessors, shape.most_windows);
    return shape;
}

cudaError_t lw_sfft_recovery_run(const lw_sfft_recovery *recovery, int check, int64_t n_buckets,
                                 const lw_sfft_recovery_shape *shape, cudaStream_t stream)
{
    const Launch launch = launch_of(blocks_for(n_buckets, shape), shape->most_windows, stream);
    return launch_kernel(launch, recover, *recovery, check, shape->most_windows);
}
