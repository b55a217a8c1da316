/* sfft_fit.cuh - all amplitudes at once, by least squares over all buckets.
 *
 * With A the map from amplitudes to buckets, the normal equations A* A x = A* u are set up once: a line shares buckets
 * with few others, so a row of A* A has some ten entries, and conjugate gradients on them are the work of one block
 * with its own barriers, in its own level-one cache. Lines are sorted by frequency first: from there on every sum has
 * one order. The other blocks meanwhile copy the measured buckets, from which what was fitted is subtracted afresh. */
#ifndef LW_SFFT_FIT_CUH
#define LW_SFFT_FIT_CUH

#include "sfft_peel.cuh"

/* ---- order ----------------------------------------------------------------------------------------------------------- */

/* Into the other array, by frequency. The table is cleared for the new numbers. */
LW_DEVICE void sort_lines(const lw_sfft_recovery &r, int from)
{
    const int64_t *const frequency = r.frequency[from];
    const auto is_before = [=](int line, int other) { return frequency[other] < frequency[line]; };
    const auto place = [=, &r](int line, int number) {
        r.frequency[1 - from][number] = frequency[line];
        r.amplitude[1 - from][number] = r.amplitude[from][line];
    };
    count_before(r.control->n_lines, is_before, place);
    table_clear(r);
}

/* Into the other array, those to keep. */
LW_DEVICE void select_lines(const lw_sfft_recovery &r, int from)
{
    const int *const keep = r.keep;
    const auto is_before = [=](int line, int other) { return other < line && keep[other]; };
    const auto place = [=, &r](int line, int number) {
        if (!keep[line])
            return;
        r.frequency[1 - from][number] = r.frequency[from][line];
        r.amplitude[1 - from][number] = r.amplitude[from][line];
    };
    count_before(r.control->n_lines, is_before, place);
    table_clear(r);
}

/* ---- where lines appear ---------------------------------------------------------------------------------------------- */

LW_DEVICE void clear_heads(const lw_sfft_recovery &r, int end_stage)
{
    const SfftStage &last = stage_at(end_stage - 1);
    for (int64_t i = SfftTeam::first(); i < last.first_bucket + last.n_buckets; i += SfftTeam::step())
        r.head[i] = -1;
}

LW_DEVICE void trace_buckets(const lw_sfft_recovery &r, int s, int line, const SfftPlace &place)
{
    const SfftStage &stage = stage_at(s);
    const int64_t at = s * r.capacity + line;
    r.bucket[at] = place.bucket;
#pragma unroll
    for (int k = 0; k < 3; ++k)
        r.gain[(3 * s + k) * r.capacity + line] = response(stage, place.distance - (k - 1));
    r.next[at] = atomicExch(&r.head[stage.first_bucket + place.bucket], line);
}

/* Every line in every plane up to stage `check`, and in the table. */
LW_DEVICE void trace_lines(const lw_sfft_recovery &r, int check, int lines)
{
    const int n_planes = stage_at(check).first_plane + stage_at(check).n_shifts, n_lines = r.control->n_lines;
    for (int64_t i = SfftTeam::first(); i < (int64_t)n_lines * n_planes; i += SfftTeam::step()) {
        const int plane = (int)(i / n_lines), line = (int)(i % n_lines);
        const int s = shared_of_block().stage_of_plane[plane], d = plane - stage_at(s).first_plane;
        const int64_t frequency = r.frequency[lines][line];
        const SfftPlace place = place_of(stage_at(s), frequency);
        r.phase[plane * r.capacity + line] = phase_of(stage_at(s), d, frequency, place.permuted);
        if (d == 0)
            trace_buckets(r, s, line, place);
        if (plane == 0) {
            bool is_new;
            r.line[table_slot(r, frequency, &is_new)] = line;
        }
    }
    if (SfftTeam::is_leader()) {
        r.control->n_keys = r.is_real ? n_lines / 2 + 1 : n_lines;
        r.control->n_dropped = 0;
        clear_counters(*r.control, 0);
        clear_counters(*r.control, 1);
    }
}

/* ---- the normal equations -------------------------------------------------------------------------------------------- */

/* The lines of a stage whose buckets overlap those of `line`, by number; returns how many. They are few: a bucket
 * holds less than one on average. Beyond LW_SFFT_DEVICE_ROW the highest numbers are left out, and the check stage will
 * tell. */
LW_DEVICE int find_neighbours(const lw_sfft_recovery &r, int s, int line)
{
    const SfftStage &stage = stage_at(s);
    int *const row = r.row_line + s * LW_SFFT_DEVICE_ROW * r.capacity + line;
    const int *const next = r.next + s * r.capacity;
    int count = 0;
    for (int k = -2; k <= 2; ++k) {
        const int b = wrapped(r.bucket[s * r.capacity + line] + k, (int)stage.n_buckets);
        for (int other = r.head[stage.first_bucket + b]; other >= 0; other = next[other]) {
            if (other == line)
                continue;
            int at = count < LW_SFFT_DEVICE_ROW ? count++ : LW_SFFT_DEVICE_ROW;
            for (; at > 0 && row[(at - 1) * r.capacity] > other; --at)
                if (at < LW_SFFT_DEVICE_ROW)
                    row[at * r.capacity] = row[(at - 1) * r.capacity];
            if (at < LW_SFFT_DEVICE_ROW)
                row[at * r.capacity] = other;
        }
    }
    return count;
}

/* Sum over the three buckets of one line and those of another that stand `apart` buckets to the right. */
LW_DEVICE double overlap(const lw_sfft_recovery &r, int s, int line, int other, int apart)
{
    const double *const gain = r.gain + 3 * s * r.capacity;
    double sum = 0;
    for (int k = max(0, apart); k < 3 && k - apart < 3; ++k)
        sum += gain[k * r.capacity + line] * gain[(k - apart) * r.capacity + other];
    return sum;
}

LW_DEVICE double2 coupling(const lw_sfft_recovery &r, int s, int line, int other)
{
    const SfftStage &stage = stage_at(s);
    const int n_buckets = (int)stage.n_buckets;
    int apart = r.bucket[s * r.capacity + other] - r.bucket[s * r.capacity + line];
    apart = apart > 2 ? apart - n_buckets : apart < -2 ? apart + n_buckets : apart;
    double2 sum = {0, 0};
    for (int d = 0; d < stage.n_shifts; ++d) {
        const double2 *const phase = r.phase + (stage.first_plane + d) * r.capacity;
        const double2 part = product(conjugate(phase[line]), phase[other]);
        sum = {sum.x + part.x, sum.y + part.y};
    }
    return scaled(sum, overlap(r, s, line, other, apart));
}

/* A line's part of A* applied to the rest, of one stage. */
LW_DEVICE double2 project(const lw_sfft_recovery &r, int s, int line)
{
    const SfftStage &stage = stage_at(s);
    const int b = r.bucket[s * r.capacity + line];
    double2 sum = {0, 0};
    for (int d = 0; d < stage.n_shifts; ++d) {
        double2 seen = {0, 0};
#pragma unroll
        for (int k = 0; k < 3; ++k) {
            const double gain = r.gain[(3 * s + k) * r.capacity + line];
            const double2 x = rest_at(r, value_of(stage, d, wrapped(b + k - 1, (int)stage.n_buckets)));
            seen = {seen.x + gain * x.x, seen.y + gain * x.y};
        }
        const double2 part = product(conjugate(r.phase[(stage.first_plane + d) * r.capacity + line]), seen);
        sum = {sum.x + part.x, sum.y + part.y};
    }
    return sum;
}

/* Rows, diagonal and right side of the stages before `check`. */
LW_DEVICE void set_up_fit(const lw_sfft_recovery &r, int check)
{
    const int n_lines = r.control->n_lines;
    for (int64_t i = SfftTeam::first(); i < (int64_t)n_lines * check; i += SfftTeam::step()) {
        const int s = (int)(i / n_lines), line = (int)(i % n_lines);
        const int64_t at = s * r.capacity + line, row = s * LW_SFFT_DEVICE_ROW * r.capacity + line;
        const int count = find_neighbours(r, s, line);
        for (int e = 0; e < count; ++e)
            r.row_value[row + e * r.capacity] = coupling(r, s, line, r.row_line[row + e * r.capacity]);
        r.row_count[at] = count;
        r.gradient[at] = project(r, s, line);
        r.weight[at] = stage_at(s).n_shifts * overlap(r, s, line, line, 0);
    }
}

/* ---- conjugate gradients, by block 0 --------------------------------------------------------------------------------- */

/* Energy that a line of amplitude 1 has in the stages before `check`. */
LW_DEVICE double weight_of(const lw_sfft_recovery &r, int check, int line)
{
    double sum = 0;
    for (int s = 0; s < check; ++s)
        sum += r.weight[s * r.capacity + line];
    return sum;
}

/* (A* A direction) of one line */
LW_DEVICE double2 apply_row(const lw_sfft_recovery &r, int check, int line)
{
    double2 sum = scaled(r.direction[line], weight_of(r, check, line));
    for (int s = 0; s < check; ++s) {
        const int count = r.row_count[s * r.capacity + line];
        const int64_t row = s * LW_SFFT_DEVICE_ROW * r.capacity + line;
        for (int e = 0; e < count; ++e) {
            const int64_t at = row + e * r.capacity;
            const double2 part = product(r.row_value[at], r.direction[r.row_line[at]]);
            sum = {sum.x + part.x, sum.y + part.y};
        }
    }
    return sum;
}

/* The gradient as first residue and direction; returns its energy. */
LW_DEVICE double begin_fit(const lw_sfft_recovery &r, int check, int n_lines)
{
    double energy = 0;
    for (int j = (int)threadIdx.x; j < n_lines; j += SfftTeam::THREADS) {
        double2 sum = {0, 0};
        for (int s = 0; s < check; ++s) {
            const double2 part = r.gradient[s * r.capacity + j];
            sum = {sum.x + part.x, sum.y + part.y};
        }
        r.residue[j] = r.direction[j] = sum;
        energy += energy_of(sum);
    }
    return block_combine<SfftSum>(energy);
}

/* One step along the direction; returns the energy of the new residue. before: that of the last. */
LW_DEVICE double step_fit(const lw_sfft_recovery &r, int check, int n_lines, double2 *amplitude, double before)
{
    double seen = 0, now = 0;
    for (int j = (int)threadIdx.x; j < n_lines; j += SfftTeam::THREADS) {
        const double2 image = apply_row(r, check, j), direction = r.direction[j];
        r.image[j] = image;
        seen += direction.x * image.x + direction.y * image.y;
    }
    seen = block_combine<SfftSum>(seen);
    if (!(seen > 0))
        return 0;
    const double length = before / seen;
    for (int j = (int)threadIdx.x; j < n_lines; j += SfftTeam::THREADS) {
        const double2 direction = r.direction[j], image = r.image[j];
        amplitude[j] = {amplitude[j].x + length * direction.x, amplitude[j].y + length * direction.y};
        const double2 residue = {r.residue[j].x - length * image.x, r.residue[j].y - length * image.y};
        r.residue[j] = residue;
        now += energy_of(residue);
    }
    now = block_combine<SfftSum>(now);
    for (int j = (int)threadIdx.x; j < n_lines; j += SfftTeam::THREADS) {
        const double2 residue = r.residue[j], direction = r.direction[j];
        r.direction[j] = {residue.x + now / before * direction.x, residue.y + now / before * direction.y};
    }
    __syncthreads();
    return now;
}

/* Fit all amplitudes to a hundredth of the deviation that noise gives them; returns the steps. */
LW_DEVICE int fit_amplitudes(const lw_sfft_recovery &r, int check, int lines, double noise)
{
    const int n_lines = r.control->n_lines;
    double weight = 0;
    for (int j = (int)threadIdx.x; j < n_lines; j += SfftTeam::THREADS)
        weight += weight_of(r, check, j);
    weight = block_combine<SfftSum>(weight);
    const double enough = LW_SFFT_FIT_ENOUGH * weight * noise * stage_at(0).window_energy;
    double energy = begin_fit(r, check, n_lines);
    int steps = 0;
    for (; steps < LW_SFFT_FIT_STEPS && energy > enough && energy > 0; ++steps)
        energy = step_fit(r, check, n_lines, r.amplitude[lines], energy);
    return steps;
}

/* ---- the rest -------------------------------------------------------------------------------------------------------- */

/* Value i of the measured, in fixed point. */
LW_DEVICE void reset_rest(const lw_sfft_recovery &r, int check, double scale, int64_t first, int64_t step)
{
    const SfftStage &last = stage_at(check);
    const int64_t count = last.first_value + last.n_shifts * last.n_buckets;
    for (int64_t i = first; i < count; i += step) {
        const double2 x = r.values[i];
        longlong2 fixed;
        fixed.x = to_fixed(x.x * scale);
        fixed.y = to_fixed(x.y * scale);
        ((longlong2 *)r.rest)[i] = fixed;
    }
}

LW_DEVICE void subtract_lines(const lw_sfft_recovery &r, int check, int lines)
{
    const int n_planes = stage_at(check).first_plane + stage_at(check).n_shifts, n_lines = r.control->n_lines;
    for (int64_t i = SfftTeam::first(); i < (int64_t)n_lines * n_planes; i += SfftTeam::step()) {
        const int plane = (int)(i / n_lines), line = (int)(i % n_lines);
        const int s = shared_of_block().stage_of_plane[plane];
        const SfftStage &stage = stage_at(s);
        const double2 value = product(r.amplitude[lines][line], r.phase[plane * r.capacity + line]);
#pragma unroll
        for (int k = 0; k < 3; ++k) {
            const int b = wrapped(r.bucket[s * r.capacity + line] + k - 1, (int)stage.n_buckets);
            subtract_from_rest(r, value_of(stage, plane - stage.first_plane, b),
                               scaled(value, r.gain[(3 * s + k) * r.capacity + line]));
        }
    }
}

/* Of all buckets of the stages that locate. */
LW_DEVICE void measure_energies(const lw_sfft_recovery &r, int check)
{
    const SfftStage &last = stage_at(check - 1);
    int s = 0;
    for (int64_t i = SfftTeam::first(); i < last.first_bucket + last.n_buckets; i += SfftTeam::step()) {
        while (i >= stage_at(s).first_bucket + stage_at(s).n_buckets)
            s++;
        const SfftStage &stage = stage_at(s);
        double sum = 0;
        for_shifts(r, stage, i - stage.first_bucket, [&](int, double2 u) { sum += energy_of(u); });
        r.energies[i] = (float)(sum / stage.n_shifts);
    }
}

/* ---- all together ---------------------------------------------------------------------------------------------------- */

/* What peeling and fitting have in common. */
struct SfftLook {
    int check;
    double scale;               /* of the measured values */
};

/* From lines, traced, and the rest that they leave to fitted amplitudes; the rest is then as measured. */
LW_DEVICE void fit_to_rest(const lw_sfft_recovery &r, const SfftLook &look, SfftProgress &progress)
{
    set_up_fit(r, look.check);
    SfftTeam::sync();
    if (SfftTeam::block() == 0)
        progress.n_steps += fit_amplitudes(r, look.check, progress.lines, progress.noise);
    const int resting = SfftTeam::blocks() - 1;     /* blocks that copy; a block that is alone does it as well */
    if (resting == 0 || SfftTeam::block() > 0)
        reset_rest(r, look.check, look.scale, max(0, SfftTeam::block() - 1) * SfftTeam::THREADS + (int)threadIdx.x,
                   max(1, resting) * SfftTeam::THREADS);
    SfftTeam::sync();
}

/* Take lines out that the fit has shown to be none; whether there were any. The others have to be traced again, and to
 * be subtracted from the rest, which is then as measured. */
LW_DEVICE bool prune_lines(const lw_sfft_recovery &r, const SfftLook &look, SfftProgress &progress)
{
    const double least = LW_SFFT_SIGNIFICANCE * progress.noise * stage_at(0).window_energy;
    const int n_lines = r.control->n_lines;
    for (int64_t j = SfftTeam::first(); j < n_lines; j += SfftTeam::step()) {
        const bool is_kept = energy_of(r.amplitude[progress.lines][j]) * weight_of(r, look.check, (int)j) > least;
        r.keep[j] = is_kept;
        if (!is_kept)
            atomicAdd(&r.control->n_dropped, 1);
    }
    SfftTeam::sync();
    const int n_dropped = r.control->n_dropped;
    if (n_dropped == 0)
        return false;
    select_lines(r, progress.lines);
    clear_heads(r, look.check + 1);
    reset_rest(r, look.check, look.scale, SfftTeam::first(), SfftTeam::step());
    progress.lines = 1 - progress.lines;
    SfftTeam::sync();           /* all know the old number */
    if (SfftTeam::is_leader())
        r.control->n_lines = n_lines - n_dropped;
    SfftTeam::sync();
    return true;
}

/* Sort what was found, fit all amplitudes and take out what turns out to be no line; after that, once more. */
LW_DEVICE void fit_lines(const lw_sfft_recovery &r, const SfftLook &look, SfftProgress &progress)
{
    sort_lines(r, progress.lines);
    clear_heads(r, look.check + 1);
    progress.lines = 1 - progress.lines;
    SfftTeam::sync();
    for (bool is_again = false;; is_again = true) {
        trace_lines(r, look.check, progress.lines);
        SfftTeam::sync();
        for (int i = is_again ? 0 : 1; i < 2; ++i) {        /* after pruning, the rest has to be made first */
            if (i == 1)
                fit_to_rest(r, look, progress);
            subtract_lines(r, look.check, progress.lines);
            SfftTeam::sync();
        }
        measure_energies(r, look.check);
        SfftTeam::sync();
        estimate_noise(r, look.check, LW_SFFT_QUANTILE_FITTED);
        SfftTeam::sync();
        progress.noise = noise_estimated(r, look.check, progress.least_noise);
        if (is_again || !prune_lines(r, look, progress))
            return;
    }
}

#endif
