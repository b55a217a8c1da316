/* fit.cuh - fits all amplitudes at once, by least squares over all buckets.
 *
 * A maps amplitudes to buckets, and u is the rest that the amplitudes so far leave. Their correction x solves M x = A* u, where
 * M = A* A. A line shares buckets with few others, so a row of M has about ten entries. Lines are first sorted by frequency, which
 * gives every sum a fixed order. The solver is conjugate gradients with one barrier per step (Ghysels, Vanroose, Parallel Computing
 * 40, 2014). The image of a vector v is M v. Images of residue and direction follow by the recurrences of these vectors. Between
 * two barriers a step computes anew only the image of the residue's image, and both scalar products. */
#pragma once

#include "gpu/sfft/peel.cuh"

#include <climits>

/* ---- order ----------------------------------------------------------------------------------------------------------- */

/* Cuts the spectrum between the lowest and the highest line into intervals of equal length. */
struct SfftIntervals {
    double lowest, per_interval;

    LW_DEVICE int of(int64_t frequency) const
    {
        return min((int)(((double)frequency - lowest) * per_interval), SFFT_INTERVALS - 1);
    }
};

LW_DEVICE SfftIntervals intervals_of(const int64_t *frequency, int count)
{
    double2 most = {0, 0};      /* 2^48 - the lowest frequency, and the highest: one maximum finds both */
    for (int j = (int)threadIdx.x; j < count; j += SfftTeam::THREADS)
        most = combined<SfftLargest>(most, {281474976710656.0 - (double)frequency[j], (double)frequency[j]});
    most = block_combine<SfftLargest>(most);
    const double lowest = 281474976710656.0 - most.x;
    return {lowest, SFFT_INTERVALS / (most.y - lowest + 1)};
}

/* Sort all lines by interval into shared memory, in any order within an interval; interval i ends at end[i]. Every block sorts all
 * lines, which is faster than a barrier of the team. */
LW_ONCE void deal_lines(const int64_t *frequency, int count, const SfftIntervals &intervals)
{
    constexpr int EACH = SFFT_INTERVALS / SfftTeam::THREADS;
    auto &sort = shared_of_block().scratch.sort;
    for (int i = (int)threadIdx.x; i < SFFT_INTERVALS; i += SfftTeam::THREADS)
        sort.end[i] = 0;
    __syncthreads();
    for (int j = (int)threadIdx.x; j < count; j += SfftTeam::THREADS)
        atomicAdd(&sort.end[intervals.of(frequency[j])], 1u);
    __syncthreads();
    unsigned *const mine = &sort.end[(int)threadIdx.x * EACH];
    unsigned sum = 0, all;
    for (int i = 0; i < EACH; ++i)
        sum += mine[i];
    unsigned begin = count_before_thread(sum, &all);
    for (int i = 0; i < EACH; ++i) {
        const unsigned here = mine[i];
        mine[i] = begin;
        begin += here;
    }
    __syncthreads();
    for (int j = (int)threadIdx.x; j < count; j += SfftTeam::THREADS)
        sort.line[atomicAdd(&sort.end[intervals.of(frequency[j])], 1u)] = (unsigned short)j;
    __syncthreads();
}

/* Call place(line, number) for every line, in one thread each; `number` is its rank by frequency. */
template <class Place> LW_DEVICE void rank_lines(const int64_t *frequency, int count, Place place)
{
    const auto &sort = shared_of_block().scratch.sort;
    const SfftIntervals intervals = intervals_of(frequency, count);
    deal_lines(frequency, count, intervals);
    for (int64_t j = SfftTeam::first(); j < count; j += SfftTeam::step()) {
        const int64_t mine = frequency[j];
        const int interval = intervals.of(mine);
        const unsigned begin = interval > 0 ? sort.end[interval - 1] : 0;
        unsigned number = begin;
        for (unsigned i = begin; i < sort.end[interval]; ++i)
            number += frequency[sort.line[i]] < mine;
        place((int)j, (int)number);
    }
}

/* Copy the lines with r.keep into the other array, and clear the table. */
LW_DEVICE void select_lines(const lw_sfft_recovery &r, int from)
{
    const auto is_kept = [&r](int line) { return r.keep[line] != 0; };
    const auto place = [=, &r](int line, int number) {
        r.frequency[1 - from][number] = r.frequency[from][line];
        r.amplitude[1 - from][number] = r.amplitude[from][line];
    };
    const int n_lines = r.control->n_lines;
    pack(n_lines, count_kept(n_lines, is_kept).before, is_kept, place);
    table_clear(r);
}

/* ---- buckets of the lines ----------------------------------------------------------------------------------------------- */

/* Parameters of all looks of an attempt; a look is a pass of peeling and fitting. */
struct SfftLook {
    int check;                  /* number of the stage that checks; earlier stages are fitted */
    double scale;               /* factor applied to the measured values */

    LW_DEVICE int n_stages() const { return check + 1; }
    LW_DEVICE int n_planes() const { return stage_at(check).first_plane + stage_at(check).n_shifts; }
};

LW_DEVICE void clear_heads(const lw_sfft_recovery &r, const SfftLook &look)
{
    for (int64_t i = SfftTeam::first(); i < count_buckets(look.n_stages()); i += SfftTeam::step())
        r.head[i] = -1;
}

LW_DEVICE void trace_buckets(const lw_sfft_recovery &r, const SfftLook &look, int s, int line, const SfftPlace &place)
{
    const SfftStage &stage = stage_at(s);
    const int64_t at = (int64_t)line * look.n_stages() + s;
    r.bucket[at] = place.bucket;
#pragma unroll
    for (int k = 0; k < 3; ++k)
        r.gain[3 * at + k] = response(stage, place.distance - (k - 1));
    r.next[at] = atomicExch(&r.head[stage.first_bucket + place.bucket], line);
}

LW_DEVICE void trace_plane(const lw_sfft_recovery &r, const SfftLook &look, int line, int plane, int64_t frequency)
{
    const int s = shared_of_block().stage_of_plane[plane], d = plane - stage_at(s).first_plane;
    const SfftPlace place = place_of(stage_at(s), frequency);
    r.phase[(int64_t)line * look.n_planes() + plane] = phase_of(s, d, frequency, place.permuted);
    if (d == 0)
        trace_buckets(r, look, s, line, place);
}

/* Trace every line: record its buckets and phases in every plane of the stages up to and including `check`. */
LW_DEVICE void trace_lines(const lw_sfft_recovery &r, const SfftLook &look, int lines)
{
    const int n_planes = look.n_planes(), n_lines = r.control->n_lines;
    for (int64_t i = SfftTeam::first(); i < (int64_t)n_lines * n_planes; i += SfftTeam::step())
        trace_plane(r, look, (int)(i / n_planes), (int)(i % n_planes), r.frequency[lines][i / n_planes]);
}

/* Enter the lines and their numbers into the clear table, and reset the counters. The last threads have the least other work. */
LW_DEVICE void enter_lines(const lw_sfft_recovery &r, int lines)
{
    const int n_lines = r.control->n_lines;
    for (int64_t i = SfftTeam::step() - 1 - SfftTeam::first(); i < n_lines; i += SfftTeam::step()) {
        bool is_new;
        r.line[table_slot(r, r.frequency[lines][i], &is_new)] = (int)i;
    }
    if (SfftTeam::is_leader()) {
        r.control->n_keys = r.is_real ? n_lines / 2 + 1 : n_lines;
        r.control->n_dropped = 0;
        clear_counters(*r.control, 0);
        clear_counters(*r.control, 1);
    }
}

/* Sort and trace few lines: a warp compares one line with all others, then traces it (trace_lines). */
LW_DEVICE void sort_and_trace(const lw_sfft_recovery &r, const SfftLook &look, int from, int count)
{
    int64_t *const frequency = shared_of_block().scratch.frequency;
    for (int j = (int)threadIdx.x; j < count; j += SfftTeam::THREADS)
        frequency[j] = r.frequency[from][j];
    __syncthreads();
    count_before(count, [=](int line, int other) { return frequency[other] < frequency[line]; }, [&](int line, int number) {
        for (int plane = SfftTeam::lane(); plane < look.n_planes(); plane += 32)
            trace_plane(r, look, number, plane, frequency[line]);
        if (SfftTeam::lane() == 0) {
            r.frequency[1 - from][number] = frequency[line];
            r.amplitude[1 - from][number] = r.amplitude[from][line];
        }
    });
}

LW_DEVICE void sort_lines(const lw_sfft_recovery &r, int from, int count)
{
    const int64_t *const frequency = r.frequency[from];
    const auto is_before = [=](int line, int other) { return frequency[other] < frequency[line]; };
    const auto place = [=, &r](int line, int number) {
        r.frequency[1 - from][number] = frequency[line];
        r.amplitude[1 - from][number] = r.amplitude[from][line];
    };
    if (count <= SFFT_SORTED)
        rank_lines(frequency, count, place);
    else
        count_before(count, is_before, place);
}

/* Sort the lines by frequency into the other array, and trace them. Clear the table, as the lines have new numbers. */
LW_DEVICE void arrange_lines(const lw_sfft_recovery &r, const SfftLook &look, int from)
{
    const int count = r.control->n_lines;
    const bool are_few = count <= SFFT_FEW && (int64_t)count * count <= SFFT_COMPARED * SfftTeam::step();
    table_clear(r);
    if (are_few)
        sort_and_trace(r, look, from, count);
    else
        sort_lines(r, from, count);
    SfftTeam::sync();
    if (are_few)
        return;
    trace_lines(r, look, 1 - from);
    SfftTeam::sync();
}

/* ---- the normal equations, SFFT_LANES threads for each line and stage ------------------------------------------------ */

/* Numbers of the lines that share buckets with one line in a stage, ascending, then INT_MAX. A bucket holds less than one line on
 * average, so they are few. Of more than LW_SFFT_DEVICE_ROW the highest are dropped; the check stage would show the error. */
struct SfftNeighbours {
    int line[LW_SFFT_DEVICE_ROW];

    LW_DEVICE void insert(int other)
    {
#pragma unroll
        for (int i = 0; i < LW_SFFT_DEVICE_ROW; ++i) {
            const int here = line[i];
            line[i] = min(here, other);
            other = max(here, other);
        }
    }
};

LW_DEVICE SfftNeighbours find_neighbours(const lw_sfft_recovery &r, const SfftLook &look, int s, int line)
{
    constexpr int REACH = 2, BUCKETS = 2 * REACH + 1;
    const SfftStage &stage = stage_at(s);
    const int middle = r.bucket[(int64_t)line * look.n_stages() + s];
    SfftNeighbours found;
#pragma unroll
    for (int i = 0; i < LW_SFFT_DEVICE_ROW; ++i)
        found.line[i] = INT_MAX;
    int other[BUCKETS];
#pragma unroll
    for (int k = 0; k < BUCKETS; ++k)
        other[k] = r.head[stage.first_bucket + wrapped(middle + k - REACH, (int)stage.n_buckets)];
    for (bool are_more = true; are_more;) {     /* a turn takes the next line of every bucket: five loads are in flight */
        int next[BUCKETS];
        are_more = false;
#pragma unroll
        for (int k = 0; k < BUCKETS; ++k) {
            next[k] = other[k] >= 0 ? r.next[(int64_t)other[k] * look.n_stages() + s] : -1;
            are_more = are_more || next[k] >= 0;
        }
#pragma unroll
        for (int k = 0; k < BUCKETS; ++k) {
            if (other[k] >= 0 && other[k] != line)
                found.insert(other[k]);
            other[k] = next[k];
        }
    }
    return found;
}

/* Return the scalar product of the gains of two lines; the second line's bucket is `apart` buckets to the right. */
LW_DEVICE double overlap(const double *gain, const double *other_gain, int apart)
{
    double sum = 0;
#pragma unroll
    for (int k = 0; k < 3; ++k)
        if (k - apart >= 0 && k - apart < 3)
            sum += gain[k] * other_gain[k - apart];
    return sum;
}

LW_DEVICE double2 coupling(const lw_sfft_recovery &r, const SfftLook &look, int s, int line, int other)
{
    const SfftStage &stage = stage_at(s);
    const int n_buckets = (int)stage.n_buckets;
    const int64_t mine = (int64_t)line * look.n_stages() + s, others = (int64_t)other * look.n_stages() + s;
    int apart = r.bucket[others] - r.bucket[mine];
    apart = apart > 2 ? apart - n_buckets : apart < -2 ? apart + n_buckets : apart;
    const double2 *const phase = r.phase + (int64_t)line * look.n_planes() + stage.first_plane;
    const double2 *const other_phase = r.phase + (int64_t)other * look.n_planes() + stage.first_plane;
    double2 sum = {0, 0};
#pragma unroll 4
    for (int d = 0; d < stage.n_shifts; ++d) {
        const double2 part = product(conjugate(phase[d]), other_phase[d]);
        sum = {sum.x + part.x, sum.y + part.y};
    }
    return scaled(sum, overlap(r.gain + 3 * mine, r.gain + 3 * others, apart));
}

/* Return this thread's share of an entry of A* u: one line, one stage, some of its shifts. */
LW_DEVICE double2 project(const lw_sfft_recovery &r, const SfftLook &look, int s, int line)
{
    const SfftStage &stage = stage_at(s);
    const int64_t at = (int64_t)line * look.n_stages() + s;
    const int b = r.bucket[at];
    double2 sum = {0, 0};
    for (int d = SfftTeam::lane() % SFFT_LANES; d < stage.n_shifts; d += SFFT_LANES) {
        double2 seen = {0, 0};
#pragma unroll
        for (int k = 0; k < 3; ++k) {
            const double gain = r.gain[3 * at + k];
            const double2 x = rest_at(r, value_of(stage, d, wrapped(b + k - 1, (int)stage.n_buckets)));
            seen = {seen.x + gain * x.x, seen.y + gain * x.y};
        }
        const double2 part = product(conjugate(r.phase[(int64_t)line * look.n_planes() + stage.first_plane + d]), seen);
        sum = {sum.x + part.x, sum.y + part.y};
    }
    return sum;
}

/* Find the neighbours of a line in one stage, and write this stage's part of the line's row of M. */
LW_DEVICE void set_up_row(const lw_sfft_recovery &r, const SfftLook &look, int s, int line)
{
    const int lane = SfftTeam::lane() % SFFT_LANES;
    const SfftNeighbours found = find_neighbours(r, look, s, line);
    const int64_t row = ((int64_t)line * look.n_stages() + s) * LW_SFFT_DEVICE_ROW;
#pragma unroll
    for (int first = 0; first < LW_SFFT_DEVICE_ROW; first += SFFT_LANES) {
        int other = found.line[first];
#pragma unroll
        for (int i = 1; i < SFFT_LANES; ++i)
            other = lane == i ? found.line[first + i] : other;
        const bool is_one = other != INT_MAX;
        r.row_line[row + first + lane] = is_one ? other : -1;
        if (is_one)
            r.row_value[row + first + lane] = coupling(r, look, s, line, other);
    }
}

/* Set up M, rows and diagonal, and A* u, the first residue, from the stages before `check`. A warp takes a line; SFFT_LANES threads
 * of the warp take a stage. The sum of the diagonal goes to partial[2]. */
LW_DEVICE void set_up_fit(const lw_sfft_recovery &r, const SfftLook &look)
{
    const int lane = SfftTeam::lane();
    double all = 0;
    for (int64_t i = SfftTeam::first(); i < r.control->n_lines * 32ll; i += SfftTeam::step()) {
        const int line = (int)(i / 32);
        double2 gradient = {0, 0}, weight = {0, 0};
        for (int s = lane / SFFT_LANES; s < look.check; s += 32 / SFFT_LANES) {
            const double *const gain = r.gain + 3 * ((int64_t)line * look.n_stages() + s);
            const double2 part = project(r, look, s, line);
            gradient = {gradient.x + part.x, gradient.y + part.y};
            weight.x += lane % SFFT_LANES == 0 ? stage_at(s).n_shifts * overlap(gain, gain, 0) : 0;
            set_up_row(r, look, s, line);
        }
        gradient = warp_combine<SfftSum>(gradient);
        weight = warp_combine<SfftSum>(weight);
        if (lane != 0)
            continue;
        r.residue[line] = gradient;
        r.diagonal[line] = weight.x;
        r.direction[line] = r.direction_image[line] = r.direction_image_image[line] = {0, 0};
        all += weight.x;
    }
    team_give<SfftSum>({all, 0}, r.control->partial[2]);
}

/* ---- conjugate gradients, SFFT_ROW_LANES threads for each line ------------------------------------------------------- */

/* Entry of a line's row of M: the number of the other line (-1: no entry) and the value. */
struct SfftEntry {
    int other;
    double2 value;
};

LW_DEVICE SfftEntry load_entry(const lw_sfft_recovery &r, const SfftLook &look, int64_t line, int e)
{
    const int64_t at = line * look.n_stages() * LW_SFFT_DEVICE_ROW + e;
    const int other = e < look.check * LW_SFFT_DEVICE_ROW ? r.row_line[at] : -1;
    return {other, other >= 0 ? r.row_value[at] : double2{0, 0}};
}

/* A thread's state during the fit. If no thread has several lines (has_one), shared memory holds the shares of the rows. */
struct SfftFit {
    int n_lines;
    bool has_one;               /* no thread has more than one line */
    bool has_work;              /* this warp has a line */
    int64_t line;               /* this thread's first line */
};

LW_DEVICE SfftFit begin_fit(const lw_sfft_recovery &r, const SfftLook &look)
{
    const int n_lines = r.control->n_lines;
    const int64_t mine = SfftTeam::first() / SFFT_ROW_LANES, line = mine < n_lines ? mine : 0;
    const SfftFit fit = {n_lines, n_lines * (int64_t)SFFT_ROW_LANES <= SfftTeam::step(),
                         (SfftTeam::first() - SfftTeam::lane()) / SFFT_ROW_LANES < n_lines, line};
    auto &held = shared_of_block().scratch.row;
#pragma unroll
    for (int i = 0; fit.has_work && i < SFFT_HELD; ++i) {
        const SfftEntry entry = load_entry(r, look, line, SfftTeam::lane() % SFFT_ROW_LANES + i * SFFT_ROW_LANES);
        held.other[i][threadIdx.x] = entry.other;
        held.value[i][threadIdx.x] = entry.value;
    }
    return fit;
}

/* Return the entry of M x for one line, to all its SFFT_ROW_LANES threads. */
LW_DEVICE double2 apply_row(const lw_sfft_recovery &r, const SfftLook &look, const SfftFit &fit, int64_t line, const double2 *x)
{
    const auto &held = shared_of_block().scratch.row;
    const int lane = SfftTeam::lane() % SFFT_ROW_LANES;
    double2 sum = {0, 0};
    const auto add = [&](const SfftEntry &entry) {
        const double2 part = entry.other >= 0 ? product(entry.value, x[entry.other]) : double2{0, 0};
        sum = {sum.x + part.x, sum.y + part.y};
    };
#pragma unroll
    for (int i = 0; i < SFFT_HELD; ++i)
        add(fit.has_one ? SfftEntry{held.other[i][threadIdx.x], held.value[i][threadIdx.x]}
                        : load_entry(r, look, line, lane + i * SFFT_ROW_LANES));
    for (int e = lane + SFFT_HELD * SFFT_ROW_LANES; e < look.check * LW_SFFT_DEVICE_ROW; e += SFFT_ROW_LANES)
        add(load_entry(r, look, line, e));
    sum = warp_combine<SfftSum>(sum, SFFT_ROW_LANES);
    return {sum.x + r.diagonal[line] * x[line].x, sum.y + r.diagonal[line] * x[line].y};
}

/* Call step(line, is_mine) for all lines, in SFFT_ROW_LANES threads each; is_mine is true in one of these. All threads of a warp
 * that has a line call it. Return this thread's sum of the results where is_mine. */
template <class Step> LW_DEVICE double2 sum_over_lines(int n_lines, Step step)
{
    const int64_t rounded = ((int64_t)n_lines * SFFT_ROW_LANES + 31) / 32 * 32;
    double2 sum = {0, 0};
    for (int64_t i = SfftTeam::first(); i < rounded; i += SfftTeam::step()) {
        const bool is_one = i / SFFT_ROW_LANES < n_lines;
        const double2 part = step(is_one ? i / SFFT_ROW_LANES : 0, is_one && i % SFFT_ROW_LANES == 0);
        if (is_one && i % SFFT_ROW_LANES == 0)
            sum = {sum.x + part.x, sum.y + part.y};
    }
    return sum;
}

LW_DEVICE double2 products_of(double2 residue, double2 image)
{
    return {energy_of(residue), residue.x * image.x + residue.y * image.y};
}

LW_DEVICE double2 with_part(double2 a, double by, double2 b) { return {a.x + by * b.x, a.y + by * b.y}; }

/* Make one step of the fit. The next direction is the residue plus `turn` times the last direction; amplitudes move along it by
 * `length`. image_image: M M residue, used if each thread has at most one line. */
LW_DEVICE void step_fit(const lw_sfft_recovery &r, const SfftLook &look, const SfftFit &fit, double2 *amplitude, int step,
                        double turn, double length, double2 image_image)
{
    const double2 *const last = r.image[step % 2];
    double2 *const next = r.image[(step + 1) % 2];
    team_give<SfftSum>(sum_over_lines(fit.n_lines, [&](int64_t line, bool is_mine) {
        const double2 residue = r.residue[line], image = last[line], x = amplitude[line];
        const double2 applied = fit.has_one ? image_image : apply_row(r, look, fit, line, last);
        const double2 direction = with_part(residue, turn, r.direction[line]);
        const double2 direction_image = with_part(image, turn, r.direction_image[line]);
        const double2 further = with_part(applied, turn, r.direction_image_image[line]);
        const double2 new_residue = with_part(residue, -length, direction_image);
        const double2 new_image = with_part(image, -length, further);
        __syncwarp();
        if (is_mine) {
            amplitude[line] = with_part(x, length, direction);
            r.residue[line] = new_residue;
            next[line] = new_image;
            r.direction[line] = direction;
            r.direction_image[line] = direction_image;
            r.direction_image_image[line] = further;
        }
        return products_of(new_residue, new_image);
    }), r.control->partial[(step + 1) % 2]);
}

/* Fit all amplitudes until their error is a tenth of the one that noise causes; return the number of steps. */
LW_DEVICE int fit_amplitudes(const lw_sfft_recovery &r, const SfftLook &look, int lines, double noise)
{
    const SfftFit fit = begin_fit(r, look);
    team_give<SfftSum>(sum_over_lines(fit.n_lines, [&](int64_t line, bool is_mine) {
        const double2 residue = r.residue[line], image = apply_row(r, look, fit, line, r.residue);
        if (is_mine)
            r.image[0][line] = image;
        return products_of(residue, image);
    }), r.control->partial[0]);
    SfftTeam::sync();
    const double enough = LW_SFFT_FIT_ENOUGH * team_take<SfftSum>(r.control->partial[2]).x * noise * stage_at(0).window_energy;
    double before = 0, length = 0;
    int step = 0;
    for (; step < LW_SFFT_FIT_STEPS; ++step) {
        const SfftPartials given = load_partials(r.control->partial[step % 2]);      /* these loads run during apply_row */
        const double2 image_image =
            fit.has_one && fit.has_work ? apply_row(r, look, fit, fit.line, r.image[step % 2]) : double2{0, 0};
        const double2 products = combine_partials<SfftSum>(given);
        const double turn = step > 0 ? products.x / before : 0;
        const double seen = step > 0 ? products.y - turn * products.x / length : products.y;
        if (!(products.x > enough) || !(seen > 0))
            break;
        before = products.x;
        length = products.x / seen;
        step_fit(r, look, fit, r.amplitude[lines], step, turn, length, image_image);
        SfftTeam::sync();
    }
    return step;
}

/* ---- the rest -------------------------------------------------------------------------------------------------------- */

/* Reset the rest to the scaled measured values, in fixed point. */
LW_ONCE void reset_rest(const lw_sfft_recovery &r, const SfftLook &look)
{
    const SfftStage &last = stage_at(look.check);
    const int64_t count = last.first_value + last.n_shifts * last.n_buckets;
#pragma unroll 4
    for (int64_t i = SfftTeam::first(); i < count; i += SfftTeam::step()) {
        const double2 x = __ldg(r.values + i);
        longlong2 fixed;
        fixed.x = to_fixed(x.x * look.scale);
        fixed.y = to_fixed(x.y * look.scale);
        ((longlong2 *)r.rest)[i] = fixed;
    }
}

LW_DEVICE void subtract_lines(const lw_sfft_recovery &r, const SfftLook &look, int lines)
{
    const int n_planes = look.n_planes(), n_lines = r.control->n_lines;
    for (int64_t i = SfftTeam::first(); i < (int64_t)n_lines * n_planes; i += SfftTeam::step()) {
        const int line = (int)(i / n_planes), plane = (int)(i % n_planes), s = shared_of_block().stage_of_plane[plane];
        const SfftStage &stage = stage_at(s);
        const int64_t at = (int64_t)line * look.n_stages() + s;
        const double2 value = product(r.amplitude[lines][line], r.phase[i]);
#pragma unroll
        for (int k = 0; k < 3; ++k) {
            const int b = wrapped(r.bucket[at] + k - 1, (int)stage.n_buckets);
            subtract_from_rest(r, value_of(stage, plane - stage.first_plane, b), scaled(value, r.gain[3 * at + k]));
        }
    }
}

/* Store the energies of this thread's buckets in the locating stages; return their sum over all shifts. */
LW_DEVICE double measure_energies(const lw_sfft_recovery &r, int check)
{
    double all = 0;
    int s = 0;
    for (int64_t i = SfftTeam::first(); i < count_buckets(check); i += SfftTeam::step()) {
        s = stage_of(i, s);
        const SfftStage &stage = stage_at(s);
        if (stage.n_shifts == 1)
            continue;
        double sum = 0;
        for_shifts(r, stage, i - stage.first_bucket, [&](int, double2 u) { sum += energy_of(u); });
        r.energies[i] = (float)(sum * stage.inverse_n_shifts);
        all += sum;
    }
    return all;
}

/* Return whether `all`, the energy of the rest, is too small for a line in every locating stage. */
LW_DEVICE bool has_no_line(double all, int check, double noise)
{
    bool has_none = true;
    for (int s = 0; s < check; ++s)
        has_none = has_none && (stage_at(s).n_shifts == 1 || all <= noise * stage_at(s).least);
    return has_none;
}

/* Return whether no stage can show more noise than `least` if the energy of all stages together is `all`. Half of a stage's bucket
 * energies are at least their median, which is thus at most 2 all / B. Instead of 2, 2.02 allows for select_value's error. */
LW_DEVICE bool has_least_noise(double all, int check, double least)
{
    bool is_least = true;
    for (int s = 0; s < check; ++s) {
        const SfftStage &stage = stage_at(s);
        const double most = 2.02 * all * stage.inverse_n_shifts * stage.noise_per_energy;
        is_least = is_least && (stage.n_shifts == 1 || most <= least * (double)stage.n_buckets);
    }
    return is_least;
}

/* Measure the noise of the rest, and whether the rest holds no line. A small enough energy decides both without a quantile. */
LW_DEVICE void measure_rest(const lw_sfft_recovery &r, int check, SfftProgress &progress)
{
    team_give<SfftSum>({measure_energies(r, check), 0}, r.control->partial[3]);
    SfftTeam::sync();
    const double all = team_take<SfftSum>(r.control->partial[3]).x;
    progress.noise = progress.least_noise;
    progress.is_exhausted = has_no_line(all, check, progress.noise);
    if (progress.is_exhausted && has_least_noise(all, check, progress.noise))
        return;
    estimate_noise(r, check, LW_SFFT_QUANTILE_FITTED);
    SfftTeam::sync();
    progress.noise = noise_estimated(r, check, progress.least_noise);
    progress.is_exhausted = has_no_line(all, check, progress.noise);
}

/* ---- all together ---------------------------------------------------------------------------------------------------- */

/* Correct the amplitudes of the traced lines by a fit to the rest that they leave. Then reset the rest to the measured values. */
LW_DEVICE void fit_to_rest(const lw_sfft_recovery &r, const SfftLook &look, SfftProgress &progress)
{
    set_up_fit(r, look);
    enter_lines(r, progress.lines);
    SfftTeam::sync();
    clear_heads(r, look);
    reset_rest(r, look);
    progress.n_steps += fit_amplitudes(r, look, progress.lines, progress.noise);
}

/* Return the least energy among this thread's lines, summed over the stages; NaN if a line has NaN. Each block takes all lines. */
LW_DEVICE double weakest_line(const lw_sfft_recovery &r, int lines)
{
    const int n_lines = r.control->n_lines;
    double least = INFINITY;
#pragma unroll 2
    for (int j = (int)threadIdx.x; j < n_lines; j += SfftTeam::THREADS) {
        const double energy = energy_of(r.amplitude[lines][j]) * r.diagonal[j];
        least = energy >= least || isnan(least) ? least : energy;
    }
    return least;
}

/* Remove lines that the fit has shown to be false; return whether any was. If so, the rest is as measured: the other lines must be
 * traced again and subtracted. Every block tests all lines, so a fit without false lines needs no barrier of the team. */
LW_DEVICE bool prune_lines(const lw_sfft_recovery &r, const SfftLook &look, double weakest, SfftProgress &progress)
{
    const double least = LW_SFFT_SIGNIFICANCE * progress.noise * stage_at(0).window_energy;
    if (!__syncthreads_or(!(weakest > least)))
        return false;
    const double2 *const amplitude = r.amplitude[progress.lines];
    const int n_lines = r.control->n_lines;
    for (int64_t j = SfftTeam::first(); j < n_lines; j += SfftTeam::step()) {
        r.keep[j] = energy_of(amplitude[j]) * r.diagonal[j] > least;
        if (!r.keep[j])
            atomicAdd(&r.control->n_dropped, 1);
    }
    SfftTeam::sync();
    select_lines(r, progress.lines);
    reset_rest(r, look);
    progress.lines = 1 - progress.lines;
    const int n_dropped = r.control->n_dropped;
    SfftTeam::sync();           /* all threads have read the old n_lines */
    if (SfftTeam::is_leader())
        r.control->n_lines = n_lines - n_dropped;
    SfftTeam::sync();
    return true;
}

/* Sort the lines, fit all amplitudes, and remove false lines; if any was removed, fit once more. */
LW_DEVICE void fit_lines(const lw_sfft_recovery &r, const SfftLook &look, SfftProgress &progress)
{
    arrange_lines(r, look, progress.lines);
    progress.lines = 1 - progress.lines;
    for (bool is_again = false;; is_again = true) {
        if (is_again) {
            trace_lines(r, look, progress.lines);
            SfftTeam::sync();
        }
        for (int i = is_again ? 0 : 1; i < 2; ++i) {        /* is_again: i = 0 first subtracts the kept lines */
            if (i == 1)
                fit_to_rest(r, look, progress);
            subtract_lines(r, look, progress.lines);
            SfftTeam::sync();
        }
        const double weakest = weakest_line(r, progress.lines);
        measure_rest(r, look.check, progress);
        if (is_again || !prune_lines(r, look, weakest, progress))
            return;
    }
}
