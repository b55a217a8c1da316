/* sfft_recover.cu - lines from buckets in one kernel: peel, fit, look again, check, choose, all by the blocks of one
 * cluster.
 *
 * What there is to do is small (half a megabyte of buckets for a thousand lines) and made of some thirty steps that
 * each wait for the last: a barrier of a cluster takes a fraction of what a launch does, and lets the data decide how
 * many there are. The first step scales the measured buckets; the last ones choose the strongest lines, which are in
 * order already. */
#include "sfft_fit.cuh"

namespace {

/* ---- start ----------------------------------------------------------------------------------------------------------- */

/* The power of two that brings a number between 1/2 and 1; 0: it is 0 or no number, and nothing can be found. */
LW_DEVICE double scale_for(unsigned long long bits)
{
    const int exponent = (int)(bits >> 52) - 1022;
    return bits == 0 || exponent > 1020 || exponent < -1000 ? 0 : __longlong_as_double((long long)(1023 - exponent) << 52);
}

/* What never changes, into shared memory: level-one cache is empty after each barrier of the cluster. */
LW_DEVICE void copy_stages(const lw_sfft_recovery &r, int check, int n_windows)
{
    SfftShared &shared = shared_of_block();
    double *const responses = (double *)(&shared + 1);
    for (int s = 0; s <= check; ++s) {
        const SfftStage &stage = r.stages[s];
        const bool is_copied = stage.window < n_windows, is_first = s == 0 || r.stages[s - 1].window != stage.window;
        double *const copy = responses + stage.window * LW_SFFT_RESPONSE_SIZE;
        for (int i = (int)threadIdx.x; is_copied && is_first && i < LW_SFFT_RESPONSE_SIZE; i += SfftTeam::THREADS)
            copy[i] = stage.response[i];
        for (int d = (int)threadIdx.x; d < stage.n_shifts; d += SfftTeam::THREADS)
            shared.stage_of_plane[stage.first_plane + d] = (unsigned char)s;
        if ((int)threadIdx.x == s) {
            shared.stages[s] = stage;
            shared.stages[s].response = is_copied ? copy : stage.response;
        }
    }
    __syncthreads();
}

LW_DEVICE double check_energy_at(const lw_sfft_recovery &r, int check, int64_t b)
{
    return energy_of(rest_at(r, value_of(stage_at(check), 0, b)));
}

/* Mean |x|^2 per sample by the energies of the check stage: over random permutations, its window weighs all
 * frequencies alike. */
LW_DEVICE double power_of(const lw_sfft_recovery &r, int check, double energy)
{
    return energy / (double)stage_at(check).n_buckets / stage_at(check).window_energy;
}

LW_DEVICE double begin(const lw_sfft_recovery &r, const SfftLook &look)
{
    const SfftStage &check = stage_at(look.check);
    reset_rest(r, look.check, look.scale, SfftTeam::first(), SfftTeam::step());
    table_clear(r);
    double energy = 0;
    for (int64_t b = SfftTeam::first(); b < check.n_buckets; b += SfftTeam::step())
        energy += energy_of(scaled(r.values[value_of(check, 0, b)], look.scale));
    team_give<SfftSum>(energy, r.control->partial[2]);
    if (threadIdx.x == 0) {
        shared_of_block().n_candidates = 0;
        for (int level = 0; level < LW_SFFT_TOLERANCES; ++level)
            shared_of_block().n_of_level[level] = 0;
    }
    if (SfftTeam::is_leader()) {
        r.control->n_lines = r.control->n_keys = r.control->n_found = 0;
        clear_counters(*r.control, 0);
        clear_counters(*r.control, 1);
    }
    SfftTeam::sync();
    return power_of(r, look.check, team_take<SfftSum>(r.control->partial[2]));
}

/* ---- the result ------------------------------------------------------------------------------------------------------ */

/* Keep the lines that may be reported. |X|^2 of these, normalised, and -1 of the others, go to r.residue, which is
 * free. */
LW_DEVICE void weigh_lines(const lw_sfft_recovery &r, int lines, double scale)
{
    const double least = r.min_magnitude * scale / (double)r.n;
    for (int64_t j = SfftTeam::first(); j < r.control->n_lines; j += SfftTeam::step()) {
        const double energy = energy_of(r.amplitude[lines][j]);
        const bool is_reported = (!r.is_real || 2 * r.frequency[lines][j] <= r.n) && energy >= least * least;
        r.residue[j] = {is_reported ? energy : -1, 0};
        r.keep[j] = is_reported;
        if (is_reported)
            atomicAdd(&r.control->n_found, 1);
    }
}

/* Keep the strongest, at most `sparsity`; of equal ones the lower frequencies. */
LW_DEVICE void choose_lines(const lw_sfft_recovery &r)
{
    const double2 *const energy = r.residue;
    const auto is_before = [=](int line, int other) {
        return energy[other].x > energy[line].x || (energy[other].x == energy[line].x && other < line);
    };
    const auto mark = [=, &r](int line, int number) { r.keep[line] = energy[line].x >= 0 && number < r.sparsity; };
    count_before(r.control->n_lines, is_before, mark);
}

/* Those kept, in order of frequency. */
LW_DEVICE void write_lines(const lw_sfft_recovery &r, int lines, double scale)
{
    const int *const keep = r.keep;
    const auto is_before = [=](int line, int other) { return other < line && keep[other]; };
    const double size = (double)r.n / scale;
    const auto write = [=, &r](int line, int number) {
        const double2 a = r.amplitude[lines][line];
        if (keep[line])
            r.lines[number] = {r.frequency[lines][line], a.x * size, a.y * size};
    };
    count_before(r.control->n_lines, is_before, write);
}

/* Energy of a line that is not reported, per sample; of a real signal's mirror images none is, but they go with the
 * others. */
LW_DEVICE double energy_left_out(const lw_sfft_recovery &r, int lines, int64_t j)
{
    const int64_t frequency = r.frequency[lines][j];
    const bool is_mirror = r.is_real && 2 * frequency > r.n;
    const bool has_mirror = r.is_real && frequency > 0 && 2 * frequency < r.n;
    return r.keep[j] || is_mirror ? 0 : (has_mirror ? 2 : 1) * energy_of(r.amplitude[lines][j]);
}

LW_DEVICE void measure_result(const lw_sfft_recovery &r, const SfftLook &look, int lines)
{
    double left_out = 0, energy = 0, most = 0;
    for (int64_t j = SfftTeam::first(); j < r.control->n_lines; j += SfftTeam::step())
        left_out += energy_left_out(r, lines, j);
    for (int64_t b = SfftTeam::first(); b < stage_at(look.check).n_buckets; b += SfftTeam::step()) {
        const double here = check_energy_at(r, look.check, b);
        energy += here;
        most = SfftLargest::of(most, here);
    }
    team_give<SfftSum>(left_out, r.control->partial[0]);
    team_give<SfftSum>(energy, r.control->partial[1]);
    team_give<SfftLargest>(most, r.control->partial[3]);
}

LW_DEVICE void give_result(const lw_sfft_recovery &r, const SfftLook &look, const SfftProgress &progress, double power)
{
    const double size = 1 / (look.scale * look.scale);
    const int64_t n_found = r.control->n_found;
    *r.result = {
        n_found < r.sparsity ? n_found : r.sparsity, n_found, power * size, progress.noise * size,
        team_take<SfftSum>(r.control->partial[1]) * size, team_take<SfftLargest>(r.control->partial[3]) * size,
        team_take<SfftSum>(r.control->partial[0]) * size, r.control->not_finite,
        progress.n_rounds, progress.n_steps, progress.n_looks,
    };
    r.control->not_finite = 0;
}

LW_DEVICE void report(const lw_sfft_recovery &r, const SfftLook &look, const SfftProgress &progress, double power)
{
    weigh_lines(r, progress.lines, look.scale);
    SfftTeam::sync();
    if (r.control->n_found > r.sparsity) {
        choose_lines(r);
        SfftTeam::sync();
    }
    write_lines(r, progress.lines, look.scale);
    measure_result(r, look, progress.lines);
    SfftTeam::sync();
    if (SfftTeam::is_leader())
        give_result(r, look, progress, power);
}

/* ---- the kernel ------------------------------------------------------------------------------------------------------ */

__global__ void __launch_bounds__(SfftTeam::THREADS) recover(const lw_sfft_recovery r, int check, int n_windows)
{
    const SfftLook look = {check, scale_for(r.control->largest)};
    if (look.scale == 0) {
        if (SfftTeam::is_leader()) {
            const double nothing = r.control->largest == 0 ? 0 : NAN;
            *r.result = {0, 0, nothing, nothing, nothing, nothing, nothing, r.control->not_finite, 0, 0, 0};
            r.control->not_finite = 0;
        }
        return;
    }
    copy_stages(r, check, n_windows);
    const double power = begin(r, look);
    SfftProgress progress = {};
    progress.least_noise = power * r.tolerance * r.tolerance * (LW_SFFT_LEAK * LW_SFFT_LEAK) / stage_at(0).window_energy;
    for (; progress.n_looks < LW_SFFT_LOOKS && peel(r, check, progress.n_looks == 0, progress); ++progress.n_looks)
        fit_lines(r, look, progress);
    report(r, look, progress, power);
}

}  // namespace

namespace {

int shared_bytes(int n_windows)
{
    return (int)(sizeof(SfftShared) + (size_t)n_windows * LW_SFFT_RESPONSE_SIZE * sizeof(double));
}

/* A launch of one cluster; the attribute is the caller's, for the launch's life. */
cudaLaunchConfig_t launch_of(int n_blocks, int n_windows, cudaLaunchAttribute *attribute)
{
    *attribute = {};
    attribute->id = cudaLaunchAttributeClusterDimension;
    attribute->val.clusterDim = {(unsigned)n_blocks, 1, 1};
    cudaLaunchConfig_t where = {};
    where.gridDim = dim3((unsigned)n_blocks);
    where.blockDim = dim3(SfftTeam::THREADS);
    where.dynamicSmemBytes = (size_t)shared_bytes(n_windows);
    where.attrs = attribute;
    where.numAttrs = n_blocks > 1 ? 1 : 0;
    return where;
}

}  // namespace

extern "C" lw_sfft_recovery_shape lw_sfft_recovery_shape_of(int major, int most_shared_bytes)
{
    lw_sfft_recovery_shape shape = {1, LW_SFFT_ATTEMPTS};
    while (shape.most_windows > 0 && shared_bytes(shape.most_windows) > most_shared_bytes)
        shape.most_windows--;
    cudaFuncSetAttribute(recover, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes(shape.most_windows));
    if (major < 9)
        return shape;
    cudaFuncSetAttribute(recover, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    for (int blocks = LW_SFFT_DEVICE_BLOCKS; blocks > 1; blocks /= 2) {
        int clusters = 0;
        cudaLaunchAttribute attribute;
        const cudaLaunchConfig_t where = launch_of(blocks, shape.most_windows, &attribute);
        if (cudaOccupancyMaxActiveClusters(&clusters, recover, &where) == cudaSuccess && clusters > 0) {
            shape.n_blocks = blocks;
            return shape;
        }
    }
    cudaGetLastError();         /* none of the sizes is possible: not an error */
    return shape;
}

extern "C" cudaError_t lw_sfft_recovery_run(const lw_sfft_recovery *recovery, int check, const lw_sfft_recovery_shape *shape,
                                            cudaStream_t stream)
{
    cudaLaunchAttribute attribute;
    cudaLaunchConfig_t where = launch_of(shape->n_blocks, shape->most_windows, &attribute);
    where.stream = stream;
    return cudaLaunchKernelEx(&where, recover, *recovery, check, shape->most_windows);
}
