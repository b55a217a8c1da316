/* peel.cuh - peeling: if a bucket holds just one line, find that line and subtract it from all stages. Each round treats all
 * buckets of all stages at once.
 *
 * A round has two halves, with a barrier between them. In the first, eight threads per bucket, which share its shifts, decide
 * whether the bucket may hold one line, and find that line. If there are more buckets than groups of eight, one thread per bucket
 * first discards buckets that cannot hold one line. A line found is a candidate, and claims its slot in a hash table of
 * frequencies. Of several buckets that see a line the purest wins: there the line leaves the least part of the energy unexplained.
 * A tolerance limits that part: the strictest one of sfft/rules.h that admits a candidate. In the second half each block subtracts
 * its winners, one thread per line and plane. Fixed-point sums and choices by value make the order of threads irrelevant. */
#pragma once

#include "gpu/sfft/noise.cuh"

/* ---- the table of frequencies ---------------------------------------------------------------------------------------- */

/* The first probe of the table for a frequency. `before`: the slot's previous key, whose load may still be in flight. */
struct SfftProbe {
    unsigned long long key, before;
    unsigned slot;
};

LW_DEVICE SfftProbe table_ask(const lw_sfft_recovery &r, int64_t frequency)
{
    const unsigned long long key = (unsigned long long)frequency + 1;
    const unsigned slot = (unsigned)((unsigned long long)frequency * 0x9E3779B97F4A7C15ull >> (64 - r.table_bits));
    return {key, atomicCAS(&r.key[slot], 0ull, key), slot};
}

/* Return the slot of a probe's frequency, a new one if need be (is_new). A free slot always exists (gpu/sfft/memory.c). */
LW_DEVICE int table_slot(const lw_sfft_recovery &r, SfftProbe probe, bool *is_new)
{
    const unsigned mask = (1u << r.table_bits) - 1;
    while (probe.before != 0 && probe.before != probe.key) {
        probe.slot = (probe.slot + 1) & mask;
        probe.before = atomicCAS(&r.key[probe.slot], 0ull, probe.key);
    }
    *is_new = probe.before == 0;
    return (int)probe.slot;
}

LW_DEVICE int table_slot(const lw_sfft_recovery &r, int64_t frequency, bool *is_new)
{
    return table_slot(r, table_ask(r, frequency), is_new);
}

LW_ONCE void table_clear(const lw_sfft_recovery &r)
{
#pragma unroll 2
    for (int64_t i = SfftTeam::first(); i < (int64_t)1 << r.table_bits; i += SfftTeam::step()) {
        r.key[i] = 0;
        r.claim[i] = ~0ull;
        r.line[i] = -1;
    }
}

/* ---- one bucket ------------------------------------------------------------------------------------------------------ */

struct SfftRound {
    int number;                 /* number among all rounds so far */
    int check;                  /* number of the stage that checks, which is not searched */
    double noise;               /* noise per sample */
    int most_level;             /* index of the loosest tolerance that counts */
    int half;                   /* number % 2: index of control's n_of_level and energy */
    int64_t part;               /* most candidates of a block */
};

LW_DEVICE double tolerance_of(int level)
{
    constexpr double tolerances[LW_SFFT_TOLERANCES] = LW_SFFT_TOLERANCE_VALUES;
    double value = tolerances[0];
#pragma unroll
    for (int i = 1; i < LW_SFFT_TOLERANCES; ++i)
        value = i == level ? tolerances[i] : value;
    return value;
}

/* Sums over the shifts of a bucket: of |u|^2, and of |u|. */
struct SfftSums {
    double energies, magnitudes;

    LW_DEVICE void add(double2 u)
    {
        const double energy = energy_of(u);
        const float lifted = fmaxf((float)energy, 1e-37f);      /* above 0, since sqrt(e) is e / sqrt(e) here */
        energies += energy;
        magnitudes += lifted * rsqrtf(lifted);
    }
};

/* Return whether bucket b may hold one line. A line has the same magnitude in all shifts. So whatever its amplitude, it leaves at
 * least the variance of the magnitudes unexplained. */
LW_DEVICE bool may_be_line(const lw_sfft_recovery &r, const SfftRound &round, const SfftStage &stage, int64_t b, SfftSums sums)
{
    if (r.is_real && 2 * b > stage.n_buckets)
        return false;           /* a mirror image */
    const double most_left = tolerance_of(round.most_level) * sums.energies + round.noise * stage.spread;
    const double explained = sums.magnitudes * sums.magnitudes * stage.inverse_n_shifts;
    return sums.energies > round.noise * stage.least && sums.energies - explained <= most_left;
}

/* ---- one line, by SFFT_LANES threads of a warp ----------------------------------------------------------------------- */

constexpr int SFFT_LANES = 8;

/* Bucket b of stage s, as seen by the SFFT_LANES threads that examine it. */
struct SfftSight {
    int s;
    int64_t b;
    double2 held;               /* rest in the bucket for shift lane % SFFT_LANES; 0: no such shift */

    LW_DEVICE double2 at(const lw_sfft_recovery &r, int d) const
    {
        return d < SFFT_LANES ? held : rest_at(r, value_of(stage_at(s), d, b));
    }
};

LW_DEVICE SfftSight sight_of(const lw_sfft_recovery &r, int s, int64_t b)
{
    const int lane = SfftTeam::lane() % SFFT_LANES;
    return {s, b, lane < stage_at(s).n_shifts ? rest_at(r, value_of(stage_at(s), lane, b)) : double2{0, 0}};
}

/* Return the sums over the shifts of a bucket. All threads of a warp take part. */
LW_DEVICE SfftSums sums_of(const lw_sfft_recovery &r, const SfftSight &sight)
{
    SfftSums sums = {0, 0};
    for (int d = SfftTeam::lane() % SFFT_LANES; d < stage_at(sight.s).n_shifts; d += SFFT_LANES)
        sums.add(sight.at(r, d));
    const double2 all = warp_combine<SfftSum>({sums.energies, sums.magnitudes}, SFFT_LANES);
    return {all.x, all.y};
}

/* An angle in units of 2^-32 turns: sums and multiples wrap around at whole turns. */
LW_DEVICE unsigned turns_of(double2 u)
{
    constexpr float per_radian = 683565275.576431588f;          /* 2^32 / (2 pi) */
    return (unsigned)__float2ll_rn(atan2f((float)u.y, (float)u.x) * per_radian);
}

/* Return the permuted frequency of the only line in the bucket. The bucket's number gives the frequency to half a bucket. Each
 * shift refines it: the longer the shift, the more turns the phase has gained. Phases need an accuracy of only 1/100 turn; then
 * rounding gives the exact frequency. */
LW_DEVICE int64_t locate(const lw_sfft_recovery &r, const SfftSight &sight)
{
    const SfftStage &stage = stage_at(sight.s);
    const int lane = SfftTeam::lane() % SFFT_LANES, first_lane = SfftTeam::lane() - lane;
    uint64_t turns = (uint64_t)((double)sight.b * stage.inverse_n_buckets * 18446744073709551616.0);      /* f' / n */
    unsigned start = 0;
    for (int first = 0; first < shared_of_block().most_shifts; first += SFFT_LANES) {
        const unsigned seen = turns_of(sight.at(r, first + lane < stage.n_shifts ? first + lane : lane));
#pragma unroll
        for (int i = 0; i < SFFT_LANES; ++i) {
            const int d = first + i;
            const unsigned here = __shfl_sync(0xffffffffu, seen, first_lane + i);
            start = d == 0 ? here : start;
            if (d == 0 || d >= stage.n_shifts)
                continue;
            const int64_t difference = (int64_t)(((uint64_t)(here - start) << 32) - turns * (uint64_t)stage.shift[d]);
            turns += (uint64_t)__double2ll_rn((double)difference * stage.inverse_shift[d]);
        }
    }
    const uint64_t n = (uint64_t)stage.n;
    const int64_t whole = (int64_t)(__umul64hi(turns, n) + (turns * n >> 63));
    return whole == stage.n ? 0 : whole;
}

/* Return the sum over shifts of u times the line's conjugate phase. Single precision suffices: amplitudes are fitted later, and
 * the next round sees what is left now. */
LW_DEVICE double2 collect_phases(const lw_sfft_recovery &r, const SfftSight &sight, int64_t permuted)
{
    const SfftStage &stage = stage_at(sight.s);
    double2 sum = {0, 0};
    for (int d = SfftTeam::lane() % SFFT_LANES; d < stage.n_shifts; d += SFFT_LANES) {
        const int64_t shift = stage.shift[d] < stage.n ? stage.shift[d] : stage.shift[d] - stage.n;
        double turns = (double)mod_multiply(permuted, shift, stage.n, stage.inverse_n) * stage.inverse_n;
        turns -= rint(turns);
        float2 w;
        sincospif(2 * (float)turns, &w.y, &w.x);
        const double2 part = product(sight.at(r, d), double2{w.x, -w.y});
        sum = {sum.x + part.x, sum.y + part.y};
    }
    return warp_combine<SfftSum>(sum, SFFT_LANES);
}

/* Return the frequency under which a line is filed: for real signals, the lower one of the line and its mirror image. */
LW_DEVICE int64_t canonical(const lw_sfft_recovery &r, int64_t frequency)
{
    return r.is_real && 2 * frequency > r.n ? r.n - frequency : frequency;
}

LW_DEVICE double2 canonical_amplitude(const lw_sfft_recovery &r, int64_t frequency, double2 amplitude)
{
    const bool is_alone = r.is_real && (frequency == 0 || 2 * frequency == r.n);
    const bool is_mirror = r.is_real && 2 * frequency > r.n;
    return {amplitude.x, is_alone ? 0 : is_mirror ? -amplitude.y : amplitude.y};
}

/* Claim a frequency, the slot of `probe`, for a bucket's line. The least claim wins: latest round, least part_left, least index.
 * part_left: part of the bucket's energy that the line does not explain. index: number of the bucket among all buckets. */
LW_DEVICE void claim(const lw_sfft_recovery &r, const SfftRound &round, int index, const SfftProbe &probe, double2 amplitude,
                     int level, double part_left)
{
    bool is_new;
    const int slot = table_slot(r, probe, &is_new);
    if (is_new)
        atomicAdd(&shared_of_block().n_new, 1);
    const unsigned long long purity = (unsigned)__float_as_int((float)fmax(part_left, 0.0)) >> 8;
    const unsigned long long mine = (unsigned long long)(255 - round.number) << 56 | purity << 32 | (unsigned)index;
    atomicMin(&r.claim[slot], mine);
    const int64_t place = round.part * SfftTeam::block() + atomicAdd(&shared_of_block().n_candidates, 1);
    r.candidates[place] = {amplitude, (int64_t)probe.key - 1, mine, slot, level};
    atomicAdd(&shared_of_block().n_of_level[level], 1);
}

/* Find and claim the line of a bucket with energy `total` over all shifts. Idle threads of a warp (is_idle) only take part. */
LW_DEVICE void examine(const lw_sfft_recovery &r, const SfftRound &round, const SfftSight &sight, double total, bool is_idle)
{
    const SfftStage &stage = stage_at(sight.s);
    const int64_t permuted = locate(r, sight);
    const double2 seen = scaled(collect_phases(r, sight, permuted), stage.inverse_n_shifts);
    const double explained = stage.n_shifts * energy_of(seen), left = total - explained, spread = round.noise * stage.spread;
    const SfftPlace place = place_of_permuted(stage, permuted);
    if (is_idle || SfftTeam::lane() % SFFT_LANES != 0 || explained < round.noise * stage.least ||
        left > tolerance_of(round.most_level) * total + spread || place.bucket != sight.b)
        return;                 /* idle, weak or impure; or a line that a neighbouring bucket sees better */
    const int64_t frequency = mod_multiply(stage.sigma_inverse, permuted, stage.n, stage.inverse_n);
    const SfftProbe probe = table_ask(r, canonical(r, frequency));
    int level = 0;
    while (level < round.most_level && left > tolerance_of(level) * total + spread)
        level++;
    const double2 start = phase_of(sight.s, 0, frequency, permuted);
    const double2 amplitude = scaled(product(seen, conjugate(start)), 1 / response(stage, place.distance));
    claim(r, round, (int)(stage.first_bucket + sight.b), probe, canonical_amplitude(r, frequency, amplitude), level, left / total);
}

/* ---- all buckets ----------------------------------------------------------------------------------------------------- */

/* Number of buckets in the stages before `check`. */
LW_DEVICE int64_t count_buckets(int check) { return stage_at(check - 1).first_bucket + stage_at(check - 1).n_buckets; }

/* Return the stage of bucket number `index`, searching from stage `s` on. */
LW_DEVICE int stage_of(int64_t index, int s)
{
    while (index >= stage_at(s).first_bucket + stage_at(s).n_buckets)
        s++;
    return s;
}

/* Examine the `count` buckets that the block has noted, spread over its warps. */
LW_DEVICE void examine_all(const lw_sfft_recovery &r, const SfftRound &round, int count)
{
    const int *const seen = shared_of_block().scratch.peel.seen;
    const int place = SfftTeam::lane() / SFFT_LANES * SfftTeam::WARPS;
    for (int first = SfftTeam::warp(); first < count; first += SfftTeam::THREADS / SFFT_LANES) {
        const int index = seen[first + place < count ? first + place : first], s = stage_of(index, 0);
        const SfftSight sight = sight_of(r, s, index - stage_at(s).first_bucket);
        examine(r, round, sight, sums_of(r, sight).energies, first + place >= count);
    }
}

/* Look into all buckets at once, SFFT_LANES threads each. Return this thread's part of the energy of stage 0. */
LW_DEVICE float look_at_once(const lw_sfft_recovery &r, const SfftRound &round)
{
    const int64_t index = SfftTeam::first() / SFFT_LANES, count = count_buckets(round.check);
    if ((SfftTeam::first() - SfftTeam::lane()) / SFFT_LANES >= count)
        return 0;
    const bool is_one = index < count;
    const int s = stage_of(is_one ? index : count - 1, 0);
    const SfftStage &stage = stage_at(s);
    const SfftSight sight = sight_of(r, s, (is_one ? index : count - 1) - stage.first_bucket);
    const SfftSums sums = sums_of(r, sight);
    const bool is_seen = is_one && stage.n_shifts > 1 && may_be_line(r, round, stage, sight.b, sums);
    const float mean = (float)(sums.energies * stage.inverse_n_shifts);
    const bool keeps = is_one && stage.n_shifts > 1 && SfftTeam::lane() % SFFT_LANES == 0;
    if (keeps)
        r.energies[index] = mean;
    if (__ballot_sync(0xffffffffu, is_seen) != 0)
        examine(r, round, sight, sums.energies, !is_seen);
    return keeps && s == 0 ? mean : 0;
}

/* Look into all buckets in turns: each thread tests one bucket, then the block examines those that may hold a line. */
LW_DEVICE float look_in_turn(const lw_sfft_recovery &r, const SfftRound &round)
{
    SfftShared &shared = shared_of_block();
    const int64_t count = count_buckets(round.check);
    float energy = 0;
    int s = 0, turn = 0;
    for (int64_t first = 0; first < count; first += SfftTeam::step(), turn = 1 - turn) {
        const int64_t i = first + SfftTeam::first();
        bool is_seen = false;
        s = i < count ? stage_of(i, s) : s;
        if (i < count && stage_at(s).n_shifts > 1) {
            const int64_t b = i - stage_at(s).first_bucket;
            SfftSums sums = {0, 0};
            for_shifts(r, stage_at(s), b, [&](int, double2 u) { sums.add(u); });
            is_seen = may_be_line(r, round, stage_at(s), b, sums);
            const float mean = (float)(sums.energies * stage_at(s).inverse_n_shifts);
            r.energies[i] = mean;
            energy += s == 0 ? mean : 0;
        }
        const int at = take_place(is_seen, &shared.n_seen[turn]);
        if (is_seen)
            shared.scratch.peel.seen[at] = (int)i;
        __syncthreads();
        if (threadIdx.x == 0)
            shared.n_seen[1 - turn] = 0;
        examine_all(r, round, shared.n_seen[turn]);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        shared.n_seen[0] = shared.n_seen[1] = 0;
    return energy;
}

/* Look into all buckets and store their energies. Each block's sum of the energies in stage 0 goes to control->energy. */
LW_DEVICE void look_round(const lw_sfft_recovery &r, const SfftRound &round)
{
    const bool are_few = count_buckets(round.check) * SFFT_LANES <= SfftTeam::step();
    energy_give(are_few ? look_at_once(r, round) : look_in_turn(r, round));
    __syncthreads();
    energy_pass(r.control->energy[round.half]);
}

/* Add the block's counts to those of the team. The barrier in look_round has completed them. */
LW_DEVICE void give_counts(const lw_sfft_recovery &r, const SfftRound &round)
{
    int *const mine = shared_of_block().n_of_level, &n_new = shared_of_block().n_new;
    if (threadIdx.x == SfftTeam::THREADS - 1 && n_new > 0) {
        atomicAdd(&r.control->n_keys, n_new);
        n_new = 0;
    }
    if (threadIdx.x >= LW_SFFT_TOLERANCES)
        return;
    if (mine[threadIdx.x] > 0)
        atomicAdd(&r.control->n_of_level[round.half][threadIdx.x], mine[threadIdx.x]);
    mine[threadIdx.x] = 0;
}

/* ---- taking lines out ------------------------------------------------------------------------------------------------ */

/* Add an amplitude to the line of a slot, or make a new line. No two threads may share a line. */
LW_DEVICE void note(const lw_sfft_recovery &r, int64_t slot, int64_t frequency, double2 amplitude, int lines)
{
    int line = r.line[slot];
    if (line < 0) {
        line = atomicAdd(&r.control->n_lines, 1);
        r.line[slot] = line;
        r.frequency[lines][line] = frequency;
        r.amplitude[lines][line] = amplitude;
        return;
    }
    double2 &sum = r.amplitude[lines][line];
    sum = {sum.x + amplitude.x, sum.y + amplitude.y};
}

LW_DEVICE void note_with_mirror(const lw_sfft_recovery &r, const lw_sfft_device_candidate &found, bool has_mirror, int lines)
{
    note(r, found.slot, found.frequency, found.amplitude, lines);
    bool is_new;
    if (has_mirror)
        note(r, table_slot(r, r.n - found.frequency, &is_new), r.n - found.frequency, conjugate(found.amplitude), lines);
}

LW_DEVICE void subtract_line(const lw_sfft_recovery &r, int plane, int64_t frequency, double2 amplitude)
{
    const int s = shared_of_block().stage_of_plane[plane];
    const SfftStage &stage = stage_at(s);
    const int d = plane - stage.first_plane;
    const SfftPlace place = place_of(stage, frequency);
    const double2 value = product(amplitude, phase_of(s, d, frequency, place.permuted));
#pragma unroll
    for (int k = -1; k <= 1; ++k)
        subtract_from_rest(r, value_of(stage, d, wrapped(place.bucket + k, (int)stage.n_buckets)),
                           scaled(value, response(stage, place.distance - k)));
}

/* Return this thread's candidate among the SFFT_TRIED of the block from `first` on; level LW_SFFT_TOLERANCES: none. Candidates go
 * to the last threads, which add them to the lines (note) while the first threads subtract. */
LW_DEVICE lw_sfft_device_candidate own_candidate(const lw_sfft_recovery &r, const SfftRound &round, int first)
{
    lw_sfft_device_candidate found = {};
    found.level = LW_SFFT_TOLERANCES;
    const int mine = SfftTeam::THREADS - 1 - (int)threadIdx.x;
    if (mine < SFFT_TRIED && first + mine < shared_of_block().n_candidates)
        found = r.candidates[round.part * SfftTeam::block() + first + mine];
    return found;
}

/* Return whether the candidate is the purest of its frequency. Call it after the barrier that ends all claims. */
LW_DEVICE bool is_purest(const lw_sfft_recovery &r, const lw_sfft_device_candidate &found)
{
    return found.level < LW_SFFT_TOLERANCES && r.claim[found.slot] == found.claim;
}

/* Subtract the block's candidates up to a level from the planes of all stages, including the one that checks. `found`: this
 * thread's first candidate; is_first: it is the purest of its frequency; `lines`: index of the array that holds the lines. */
LW_DEVICE void subtract_round(const lw_sfft_recovery &r, const SfftRound &round, lw_sfft_device_candidate found, bool is_first,
                              int level, int lines)
{
    SfftShared &shared = shared_of_block();
    const int n_planes = stage_at(round.check).first_plane + stage_at(round.check).n_shifts;
    int turn = 0;
    for (int first = 0; first < shared.n_candidates; first += SFFT_TRIED, turn = 1 - turn) {
        if (first > 0) {
            found = own_candidate(r, round, first);
            is_first = is_purest(r, found);
        }
        const bool is_taken = is_first && found.level <= level;
        const bool has_mirror = r.is_real && found.frequency > 0 && 2 * found.frequency < r.n;
        for (int image = 0; image <= r.is_real; ++image) {
            const bool is_here = is_taken && (image == 0 || has_mirror);
            const int at = take_place(is_here, &shared.n_taken[turn]);
            if (is_here) {
                shared.scratch.peel.frequency[at] = image ? r.n - found.frequency : found.frequency;
                shared.scratch.peel.amplitude[at] = image ? conjugate(found.amplitude) : found.amplitude;
            }
        }
        __syncthreads();
        if (threadIdx.x == 0)
            shared.n_taken[1 - turn] = 0;
        const int count = shared.n_taken[turn] * n_planes;
        for (int i = (int)threadIdx.x; i < count; i += SfftTeam::THREADS)
            subtract_line(r, i % n_planes, shared.scratch.peel.frequency[i / n_planes],
                          shared.scratch.peel.amplitude[i / n_planes]);
        if (is_taken)
            note_with_mirror(r, found, has_mirror, lines);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        shared.n_taken[0] = shared.n_taken[1] = 0;
}

/* ---- rounds ---------------------------------------------------------------------------------------------------------- */

/* Return the least level from `step` on that has candidates; LW_SFFT_TOLERANCES: none has. */
LW_DEVICE int choose_level(const lw_sfft_device_control &control, int half, int step)
{
    int found = 0, chosen = LW_SFFT_TOLERANCES;
#pragma unroll
    for (int level = 0; level < LW_SFFT_TOLERANCES; ++level) {
        found += control.n_of_level[half][level];
        chosen = level >= step && found > 0 ? min(chosen, level) : chosen;
    }
    return chosen;
}

LW_DEVICE void clear_counters(lw_sfft_device_control &control, int half)
{
    for (int level = 0; level < LW_SFFT_TOLERANCES; ++level)
        control.n_of_level[half][level] = 0;
}

/* Return the most frequencies that may be filed; a real signal's mirror images need the other half of the capacity. */
LW_DEVICE int most_frequencies(const lw_sfft_recovery &r) { return (int)(r.is_real ? r.capacity / 2 : r.capacity); }

/* State from look to look (a pass of peeling and fitting), the same in every thread. */
struct SfftProgress {
    double noise, least_noise;
    bool is_exhausted;          /* the rest has less energy than one line */
    int n_rounds, n_steps, n_looks;
    int lines;                  /* index of the array that holds the lines */
};

/* Peel until no more lines come out; return whether there were any. The first call (is_blind) begins with the strictest tolerance
 * and leakage as the only noise: where all buckets are full, as with a comb, quiet buckets do not show the noise. The counters of
 * candidates must be clear; enter_lines clears them for the next call. */
LW_DEVICE bool peel(const lw_sfft_recovery &r, int check, bool is_blind, SfftProgress &progress)
{
    const int64_t part = (count_buckets(check) + SfftTeam::step() - 1) / SfftTeam::step() * SfftTeam::THREADS;
    bool any = false, has_changed = false, sees_noise = !is_blind;
    float before = 0;
    if (progress.is_exhausted)
        return false;
    if (is_blind)
        progress.noise = progress.least_noise;
    const double leak = progress.least_noise * stage_at(0).window_energy * (double)stage_at(0).n_buckets;
    for (int i = 0, step = 0, n_keys_before = 0; i < LW_SFFT_ROUNDS; ++i) {
        const int half = progress.n_rounds % 2;
        const int most_level = sees_noise ? LW_SFFT_TOLERANCES - 1 : 0;
        const SfftRound round = {progress.n_rounds++, check, progress.noise, most_level, half, part};
        if (threadIdx.x == 0)
            shared_of_block().n_candidates = 0;
        look_round(r, round);
        give_counts(r, round);
        const lw_sfft_device_candidate found = own_candidate(r, round, 0);
        SfftTeam::sync();
        const bool is_first = is_purest(r, found);      /* its loads overlap with the next three */
        const float now = energy_take(r.control->energy[half]);
        const int level = choose_level(*r.control, half, step + (has_changed && now > 0.99f * before));
        const int n_keys = r.control->n_keys;
        if (n_keys > most_frequencies(r) || (has_changed && now > 2 * before))
            break;              /* false lines: too many, or the energy has grown */
        if (any && now <= (n_keys > n_keys_before ? LW_SFFT_EXHAUSTED : LW_SFFT_EXHAUSTED_SAME) * leak)
            break;
        n_keys_before = n_keys;
        step += has_changed && now > 0.99f * before;
        has_changed = sees_noise ? level < LW_SFFT_TOLERANCES : step == 0 && level == 0;
        if (!has_changed && sees_noise)
            break;
        if (has_changed)
            subtract_round(r, round, found, is_first, level, progress.lines);
        else
            sees_noise = true;  /* the estimated noise and all tolerances count from now on */
        step = has_changed ? max(step, level) : 1;
        any = any || has_changed;
        before = now;
        if (step > 0)
            estimate_noise(r, check, any ? LW_SFFT_QUANTILE_PEELING : LW_SFFT_QUANTILE_FULL);
        if (SfftTeam::is_leader())
            clear_counters(*r.control, 1 - half);
        SfftTeam::sync();
        if (step > 0)
            progress.noise = noise_estimated(r, check, progress.least_noise);
    }
    return any;
}
