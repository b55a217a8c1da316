/* sfft_peel.cuh - peeling: tell the line that a bucket holds, if it holds just one, and take it out of all stages;
 * round after round, all buckets of all stages at a time.
 *
 * A round looks into every bucket (a thread each) and notes the line that it may hold; a line that several stages see
 * goes to the purest of the buckets, by a claim in the table of frequencies. A barrier later what was found is
 * subtracted (a thread for each line and plane). Which tolerance a round goes by is decided between the two: the
 * strictest that finds anything. All sums are in fixed point and all choices by value, so that the order of threads
 * does not matter. */
#ifndef LW_SFFT_PEEL_CUH
#define LW_SFFT_PEEL_CUH

#include "sfft_noise.cuh"

/* ---- the table of frequencies ---------------------------------------------------------------------------------------- */

/* The slot of a frequency, a new one if need be; there are always free ones (sfft_cuda.c). Whether it is new goes to
 * `is_new`. */
LW_DEVICE int table_slot(const lw_sfft_recovery &r, int64_t frequency, bool *is_new)
{
    const unsigned long long key = (unsigned long long)frequency + 1;
    const unsigned mask = (1u << r.table_bits) - 1;
    unsigned slot = (unsigned)((unsigned long long)frequency * 0x9E3779B97F4A7C15ull >> (64 - r.table_bits));
    for (;; slot = (slot + 1) & mask) {
        const unsigned long long before = atomicCAS(&r.key[slot], 0ull, key);
        if (before == 0 || before == key) {
            *is_new = before == 0;
            return (int)slot;
        }
    }
}

LW_DEVICE void table_clear(const lw_sfft_recovery &r)
{
    for (int64_t i = SfftTeam::first(); i < (int64_t)1 << r.table_bits; i += SfftTeam::step()) {
        r.key[i] = 0;
        r.claim[i] = ~0ull;
        r.line[i] = -1;
    }
}

/* ---- one bucket ------------------------------------------------------------------------------------------------------ */

/* What the round goes by. */
struct SfftRound {
    int number;                 /* of all rounds so far */
    int check;                  /* the first stage that is not looked at */
    double noise;               /* per sample */
    int most_level;             /* loosest tolerance that is of interest */
    int half;                   /* which of the counters in control */
    int64_t part;               /* candidates that a block may have */
};

/* A bucket's shifts together, and what is asked of one line in it. */
struct SfftSight {
    double total;               /* sum of |u|^2 */
    double magnitudes;          /* sum of |u| */
    double least, spread;       /* energy that a line must have, and that noise may leave */
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

LW_DEVICE SfftSight look_into(const lw_sfft_recovery &r, const SfftStage &stage, int64_t b, double noise_per_sample)
{
    SfftSight sight = {0, 0, 0, 0};
    for_shifts(r, stage, b, [&](int, double2 u) {
        const double energy = energy_of(u);
        sight.total += energy;
        sight.magnitudes += sqrtf((float)energy);
    });
    const double noise = noise_per_sample * stage.window_energy;
    sight.least = noise * stage.least;
    sight.spread = noise * (stage.n_shifts + LW_SFFT_SPREAD * sqrtf((float)stage.n_shifts));
    return sight;
}

/* Turns, as a fraction of 2^64: sums and multiples are modulo 1 by themselves. */
LW_DEVICE uint64_t turns_of(double2 u)
{
    constexpr float per_radian = 683565275.576431588f;          /* 2^32 / (2 pi) */
    return (uint64_t)__float2ll_rn(atan2f((float)u.y, (float)u.x) * per_radian) << 32;
}

/* The permuted frequency of the one line in bucket b: the bucket gives it to half a bucket, and the phase gained over
 * each shift to a part of a turn of that shift. Phases need a part in 100 of a turn only; the exact frequency follows
 * by rounding. */
LW_DEVICE int64_t locate(const lw_sfft_recovery &r, const SfftStage &stage, int64_t b)
{
    uint64_t turns = (uint64_t)((double)b / (double)stage.n_buckets * 18446744073709551616.0);      /* f' / n */
    const uint64_t start = turns_of(rest_at(r, value_of(stage, 0, b)));
    for (int d = 1; d < stage.n_shifts; ++d) {
        const uint64_t gained = turns_of(rest_at(r, value_of(stage, d, b))) - start;
        const int64_t difference = (int64_t)(gained - turns * (uint64_t)stage.shift[d]);
        turns += (uint64_t)__double2ll_rn((double)difference * stage.inverse_shift[d]);
    }
    const uint64_t n = (uint64_t)stage.n;
    const int64_t whole = (int64_t)(__umul64hi(turns, n) + (turns * n >> 63));
    return whole == stage.n ? 0 : whole;
}

/* Sum over shifts of u times the conjugate phase of a line there. */
LW_DEVICE double2 collect_phases(const lw_sfft_recovery &r, const SfftStage &stage, int64_t b, int64_t permuted)
{
    double2 sum = rest_at(r, value_of(stage, 0, b));
    for (int d = 1; d < stage.n_shifts; ++d) {
        const int64_t shift = stage.shift[d] < stage.n ? stage.shift[d] : stage.shift[d] - stage.n;
        const double2 w = turned(mod_multiply(permuted, shift, stage.n, stage.inverse_n), stage.inverse_n);
        const double2 part = product(rest_at(r, value_of(stage, d, b)), conjugate(w));
        sum = {sum.x + part.x, sum.y + part.y};
    }
    return sum;
}

/* A line and its mirror image in a real signal go by the lower of the two; at 0 and n / 2 they are one, and real. */
LW_DEVICE void make_canonical(const lw_sfft_recovery &r, int64_t *frequency, double2 *amplitude)
{
    if (!r.is_real)
        return;
    if (2 * *frequency > r.n) {
        *frequency = r.n - *frequency;
        *amplitude = conjugate(*amplitude);
    }
    if (*frequency == 0 || 2 * *frequency == r.n)
        amplitude->y = 0;
}

/* Claim the line in bucket b of a stage, number `index` of all buckets, for that bucket. */
LW_DEVICE void claim(const lw_sfft_recovery &r, const SfftRound &round, int index, int64_t frequency, double2 amplitude,
                     int level, double part_left)
{
    make_canonical(r, &frequency, &amplitude);
    bool is_new;
    const int slot = table_slot(r, frequency, &is_new);
    if (is_new)
        atomicAdd(&r.control->n_keys, 1);
    const unsigned long long purity = (unsigned)__float_as_int((float)fmax(part_left, 0.0)) >> 8;
    const unsigned long long mine = (unsigned long long)(255 - round.number) << 56 | purity << 32 | (unsigned)index;
    atomicMin(&r.claim[slot], mine);
    r.candidates[index] = {amplitude, slot, level, mine};
    r.list[round.part * SfftTeam::block() + atomicAdd(&shared_of_block().n_candidates, 1)] = index;
    atomicAdd(&shared_of_block().n_of_level[level], 1);
}

LW_DEVICE void examine(const lw_sfft_recovery &r, const SfftRound &round, const SfftStage &stage, int64_t b,
                       const SfftSight &sight)
{
    const double count = stage.n_shifts;
    const double most_left = tolerance_of(round.most_level) * sight.total + sight.spread;
    /* A line has the same magnitude in all shifts, and no amplitude leaves less than the spread of the magnitudes. */
    if (sight.total <= sight.least || sight.total - sight.magnitudes * sight.magnitudes / count > most_left)
        return;
    const int64_t permuted = locate(r, stage, b);
    const double2 seen = scaled(collect_phases(r, stage, b, permuted), 1 / count);
    const double explained = count * energy_of(seen), left = sight.total - explained;
    if (explained < sight.least || left > most_left)
        return;
    const SfftPlace place = place_of_permuted(stage, permuted);
    if (place.bucket != b)
        return;                 /* it belongs to a neighbour, which sees it better */
    int level = 0;
    while (level < round.most_level && left > tolerance_of(level) * sight.total + sight.spread)
        level++;
    const int64_t frequency = mod_multiply(stage.sigma_inverse, permuted, stage.n, stage.inverse_n);
    const double2 start = phase_of(stage, 0, frequency, permuted);
    const double2 amplitude = scaled(product(seen, conjugate(start)), 1 / response(stage, place.distance));
    claim(r, round, (int)(stage.first_bucket + b), frequency, amplitude, level, left / sight.total);
}

/* Buckets of the stages before `check`. */
LW_DEVICE int64_t count_buckets(const lw_sfft_recovery &r, int check)
{
    return stage_at(check - 1).first_bucket + stage_at(check - 1).n_buckets;
}

/* Look into all buckets; their energies are kept. Returns the sum of those of stage 0 that this thread has seen. */
LW_DEVICE double look_round(const lw_sfft_recovery &r, const SfftRound &round)
{
    const int64_t count = count_buckets(r, round.check);
    double energy = 0;
    int s = 0;
    for (int64_t i = SfftTeam::first(); i < count; i += SfftTeam::step()) {
        while (i >= stage_at(s).first_bucket + stage_at(s).n_buckets)
            s++;
        const SfftStage &stage = stage_at(s);
        const int64_t b = i - stage.first_bucket;
        if (stage.n_shifts == 1)
            continue;
        const SfftSight sight = look_into(r, stage, b, round.noise);
        const double mean = sight.total / stage.n_shifts;
        r.energies[i] = (float)mean;
        energy += s == 0 ? mean : 0;
        if (!r.is_real || 2 * b <= stage.n_buckets)     /* the others are mirror images */
            examine(r, round, stage, b, sight);
    }
    return energy;
}

/* What the block has found, for all to know: by one thread, when the others are done. */
LW_DEVICE void give_counts(const lw_sfft_recovery &r, const SfftRound &round)
{
    SfftShared &shared = shared_of_block();
    r.control->n_candidates[SfftTeam::block()] = shared.n_candidates;
    shared.n_candidates = 0;
    for (int level = 0; level < LW_SFFT_TOLERANCES; ++level) {
        if (shared.n_of_level[level] > 0)
            atomicAdd(&r.control->n_of_level[round.half][level], shared.n_of_level[level]);
        shared.n_of_level[level] = 0;
    }
}

/* ---- taking lines out ------------------------------------------------------------------------------------------------ */

/* Add to a line's amplitude; one thread for each line. */
LW_DEVICE void note(const lw_sfft_recovery &r, int slot, int64_t frequency, double2 amplitude, int lines)
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

LW_DEVICE void subtract_line(const lw_sfft_recovery &r, const SfftStage &stage, int d, int64_t frequency, double2 amplitude)
{
    const SfftPlace place = place_of(stage, frequency);
    const double2 value = product(amplitude, phase_of(stage, d, frequency, place.permuted));
#pragma unroll
    for (int k = -1; k <= 1; ++k)
        subtract_from_rest(r, value_of(stage, d, wrapped(place.bucket + k, (int)stage.n_buckets)),
                           scaled(value, response(stage, place.distance - k)));
}

/* Subtract a line or (is_mirror) its image from a plane; the thread of the first plane notes it. */
LW_DEVICE void take_out(const lw_sfft_recovery &r, const SfftStage &stage, int d, const lw_sfft_device_candidate &found,
                        int64_t frequency, bool is_mirror, int lines)
{
    const double2 amplitude = is_mirror ? conjugate(found.amplitude) : found.amplitude;
    subtract_line(r, stage, d, frequency, amplitude);
    if (stage.first_plane + d != 0)
        return;
    bool is_new;
    note(r, is_mirror ? table_slot(r, frequency, &is_new) : found.slot, frequency, amplitude, lines);
}

/* Number the candidates of all blocks; returns how many there are. */
LW_DEVICE int number_candidates(const lw_sfft_recovery &r)
{
    int *const first = shared_of_block().first;
    int all = 0;
    for (int b = 0; b < SfftTeam::blocks(); ++b) {
        if (threadIdx.x == 0)
            first[b] = all;
        all += r.control->n_candidates[b];
    }
    __syncthreads();
    return all;
}

LW_DEVICE int bucket_of_candidate(const lw_sfft_recovery &r, const SfftRound &round, int number)
{
    const int *const first = shared_of_block().first;
    int block = 0;
    for (int step = LW_SFFT_DEVICE_BLOCKS / 2; step > 0; step /= 2)
        if (block + step < SfftTeam::blocks() && first[block + step] <= number)
            block += step;
    return r.list[round.part * block + number - first[block]];
}

/* Subtract the round's candidates up to a level from the planes of all stages, that which checks included. `lines`:
 * which of the two arrays holds them. */
LW_DEVICE void subtract_round(const lw_sfft_recovery &r, const SfftRound &round, int level, int lines)
{
    const SfftStage &check = stage_at(round.check);
    const int n_planes = check.first_plane + check.n_shifts;
    const int64_t count = (int64_t)number_candidates(r) * n_planes;
    for (int64_t i = SfftTeam::first(); i < count; i += SfftTeam::step()) {
        const int plane = (int)(i % n_planes);
        const lw_sfft_device_candidate found = r.candidates[bucket_of_candidate(r, round, (int)(i / n_planes))];
        if (found.level > level || r.claim[found.slot] != found.claim)
            continue;
        const SfftStage &stage = stage_at(shared_of_block().stage_of_plane[plane]);
        const int d = plane - stage.first_plane;
        const int64_t frequency = (int64_t)r.key[found.slot] - 1;
        const bool has_mirror = r.is_real && frequency > 0 && 2 * frequency < r.n;
#pragma unroll 1
        for (int image = 0; image <= has_mirror; ++image)
            take_out(r, stage, d, found, image ? r.n - frequency : frequency, image, lines);
    }
}

/* ---- rounds ---------------------------------------------------------------------------------------------------------- */

/* The least level from `step` on that finds anything; LW_SFFT_TOLERANCES: none does. */
LW_DEVICE int choose_level(const lw_sfft_device_control &control, int half, int step)
{
    int found = 0;
    for (int level = 0; level < LW_SFFT_TOLERANCES; ++level) {
        found += control.n_of_level[half][level];
        if (level >= step && found > 0)
            return level;
    }
    return LW_SFFT_TOLERANCES;
}

LW_DEVICE void clear_counters(lw_sfft_device_control &control, int half)
{
    for (int level = 0; level < LW_SFFT_TOLERANCES; ++level)
        control.n_of_level[half][level] = 0;
}

/* Frequencies of lines that there is room for: the mirror images of a real signal's come on top. */
LW_DEVICE int most_frequencies(const lw_sfft_recovery &r) { return (int)(r.is_real ? r.capacity / 2 : r.capacity); }

/* What goes on from look to look; every thread has the same. */
struct SfftProgress {
    double noise, least_noise;
    int n_rounds, n_steps, n_looks;
    int lines;                  /* which of the two arrays holds the lines */
};

/* Peel until nothing more comes out; whether lines were found. At first (is_blind) as if there were no noise, with the
 * strictest tolerance: where all buckets are full, as of a comb, the quiet ones do not tell the noise. The counters
 * are clear before; afterwards, they are when lines are traced. */
LW_DEVICE bool peel(const lw_sfft_recovery &r, int check, bool is_blind, SfftProgress &progress)
{
    const int64_t part = (count_buckets(r, check) + SfftTeam::step() - 1) / SfftTeam::step() * SfftTeam::THREADS;
    bool any = false, has_changed = false, sees_noise = !is_blind;
    double before = 0;
    if (is_blind)
        progress.noise = progress.least_noise;
    for (int i = 0, step = 0; i < LW_SFFT_ROUNDS; ++i) {
        const int half = progress.n_rounds % 2;
        const int most_level = sees_noise ? LW_SFFT_TOLERANCES - 1 : 0;
        const SfftRound round = {progress.n_rounds++, check, progress.noise, most_level, half, part};
        team_give<SfftSum>(look_round(r, round), r.control->partial[half]);
        if (threadIdx.x == 0)
            give_counts(r, round);
        SfftTeam::sync();
        const double now = team_take<SfftSum>(r.control->partial[half]);
        if (r.control->n_keys > most_frequencies(r) || (has_changed && now > 2 * before))
            break;              /* what was taken for lines is none */
        step += has_changed && now > 0.99 * before;
        const int level = choose_level(*r.control, half, step);
        has_changed = sees_noise ? level < LW_SFFT_TOLERANCES : step == 0 && level == 0;
        if (!has_changed && sees_noise)
            break;
        if (has_changed)
            subtract_round(r, round, level, progress.lines);
        else
            sees_noise = true;  /* from the next round on */
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

#endif
