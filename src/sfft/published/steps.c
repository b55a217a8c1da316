#include "sfft/published/steps.h"

#include "base/integers.h"
#include "base/select.h"
#include "sfft/number.h"

#include <assert.h>
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the largest buckets --------------------------------------------------------------------------------------------- */

/* Non-negative floating-point numbers are ordered like their bits; the selection takes these digit by digit from the top. */
enum { DIGIT = 11, DIGITS = 1 << DIGIT, TOP = 64 - DIGIT };

static inline uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Return the bits of the `most`-th largest value. @param equal  set to how many of the `most` largest equal this value */
static uint64_t find_least(const double *values, int64_t count, int64_t most, int64_t *equal)
{
    uint64_t known = 0, mask = 0;
    for (int shift = TOP; mask != UINT64_MAX; shift = shift > DIGIT ? shift - DIGIT : 0) {
        int64_t seen[DIGITS] = {0};
        for (int64_t i = 0; i < count; i++)
            if ((bits_of(values[i]) & mask) == known)
                seen[bits_of(values[i]) >> shift & (DIGITS - 1)]++;
        uint64_t digit = DIGITS - 1;
        while (seen[digit] < most)
            most -= seen[digit--];
        known |= digit << shift;
        mask |= (uint64_t)(DIGITS - 1) << shift;
    }
    *equal = most;
    return known;
}

int64_t lw_published_cut(const double *values, int64_t count, int64_t most, int64_t *places)
{
    int64_t equal, taken = 0;
    if (most > count)
        most = count;
    if (most <= 0)
        return 0;
    const uint64_t least = find_least(values, count, most, &equal);
    for (int64_t i = 0; i < count; i++) {
        const uint64_t bits = bits_of(values[i]);
        if (bits > least || (bits == least && equal-- > 0))
            places[taken++] = i;
    }
    assert(taken == most);
    return most;
}

/* ---- votes ----------------------------------------------------------------------------------------------------------- */

/* Distance of the prefetch: the votes of the frequency AHEAD steps further are fetched while one frequency gets its vote. */
enum { AHEAD = 16 };

/* The first permuted frequency of bucket b, ceil((2 b - 1) n / (2 B)): negative for b = 0. */
static int64_t first_of(const struct lw_sfft_stage *loop, int64_t b)
{
    const int64_t n = loop->spec.n, twice = 2 * loop->spec.n_buckets, edge = 2 * b - 1;
    const int64_t part = edge * (n % twice);
    return edge * (n / twice) + (part > 0 ? (part + twice - 1) / twice : part / twice);
}

/* A first walk through a bucket's frequencies votes for them and counts those that reach enough votes; a second lists these. */
struct walk {
    struct lw_published_ballot *ballot;
    bool is_listing;
    int64_t found;
    int64_t place;                  /* index in the list of the next one */
};

static inline void visit(struct walk *walk, int64_t f)
{
    struct lw_published_ballot *const ballot = walk->ballot;
    if (f >= ballot->n_frequencies)
        return;
    if (!walk->is_listing) {
        walk->found += ++ballot->votes[f] == ballot->needed;
    } else if (ballot->votes[f] == ballot->needed) {
        if (walk->place < ballot->capacity)
            ballot->elected[walk->place] = f;
        walk->place++;
    }
}

static void walk_all(struct walk *walk, const struct lw_sfft_stage *loop, int64_t first, int64_t end)
{
    const int64_t n = loop->spec.n, step = loop->sigma_inverse;
    int64_t f = lw_mod_multiply(step, lw_mod(first, n), n);
    int64_t ahead = lw_mod_add(f, lw_mod_multiply(step, AHEAD % n, n), n);
    for (int64_t permuted = first; permuted < end; permuted++) {
        if (ahead < walk->ballot->n_frequencies)
            __builtin_prefetch(walk->ballot->votes + ahead, 1);
        visit(walk, f);
        f = lw_mod_add(f, step, n);
        ahead = lw_mod_add(ahead, step, n);
    }
}

/* Index of the first permuted residue that is at least `least`. */
static int64_t residue_from(const struct lw_published_comb *comb, int64_t least)
{
    int64_t low = 0, high = comb->count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (comb->permuted[middle] < least)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The comb's size divides n: permuting a frequency therefore permutes its residue. */
static void walk_comb(struct walk *walk, const struct lw_sfft_stage *loop, const struct lw_published_comb *comb, int64_t first,
                      int64_t end)
{
    const int64_t n = loop->spec.n;
    int64_t base = first - lw_mod(first, comb->size), r = residue_from(comb, first - base);
    for (; base < end; base += comb->size, r = 0) {
        for (; r < comb->count && base + comb->permuted[r] < end; r++) {
            const int64_t permuted = lw_mod(base + comb->permuted[r], n);
            visit(walk, lw_mod_multiply(loop->sigma_inverse, permuted, n));
        }
    }
}

static void walk_bucket(struct walk *walk, const struct lw_sfft_stage *loop, const struct lw_published_comb *comb, int64_t b)
{
    const int64_t first = first_of(loop, b), end = first_of(loop, b + 1);
    if (comb->size > 0)
        walk_comb(walk, loop, comb, first, end);
    else
        walk_all(walk, loop, first, end);
}

static int by_value(const void *a, const void *b)
{
    return lw_compare64(*(const int64_t *)a, *(const int64_t *)b);
}

void lw_published_vote(struct lw_published_ballot *ballot, const struct lw_sfft_stage *loop,
                       const struct lw_published_comb *comb, const int64_t *places, int64_t n_places)
{
    for (int64_t r = 0; comb->size > 0 && r < comb->count; r++)
        comb->permuted[r] = lw_mod_multiply(loop->sigma % comb->size, comb->approved[r], comb->size);
    if (comb->size > 0)
        qsort(comb->permuted, (size_t)comb->count, sizeof *comb->permuted, by_value);
    #pragma omp parallel for num_threads(ballot->n_threads) schedule(static)
    for (int64_t i = 0; i < n_places; i++) {
        struct walk walk = {.ballot = ballot};
        walk_bucket(&walk, loop, comb, places[i]);
        ballot->counts[i] = walk.found;
    }
    int64_t sum = ballot->n_elected;
    for (int64_t i = 0; i < n_places; i++) {
        const int64_t count = ballot->counts[i];
        ballot->counts[i] = count > 0 ? sum : -1;
        sum += count;
    }
    ballot->n_elected = sum;
    #pragma omp parallel for num_threads(ballot->n_threads) schedule(static)
    for (int64_t i = 0; i < n_places; i++) {
        struct walk walk = {.ballot = ballot, .is_listing = true, .place = ballot->counts[i]};
        if (walk.place >= 0)
            walk_bucket(&walk, loop, comb, places[i]);
    }
}

/* ---- energies -------------------------------------------------------------------------------------------------------- */

/* Energy, in mean noise energies, that a bucket of noise hardly ever reaches; a line must have more. */
double lw_published_significance(int64_t n_buckets) { return log((double)n_buckets) + 15; }

static double energy_of(double complex z) { return creal(z) * creal(z) + cimag(z) * cimag(z); }

double lw_published_energies(const struct lw_published_buckets *buckets, int loop, double *energies)
{
    double sum = 0;
    for (int64_t b = 0; b < buckets->plan->choice.n_buckets; b++)
        sum += energies[b] = energy_of(buckets->planes[loop][b]);
    return sum;
}

/* Return the energy that n_louder others exceed. The energies are reordered. */
static double energy_below(double *energies, int64_t n_buckets, int64_t n_louder)
{
    return lw_select(energies, n_buckets, n_buckets - 1 - n_louder);
}

/* Variance of the noise in a bucket, from the median of the buckets that hold only noise: that of |z|^2 is ln 2 times its mean. */
static double noise_of_median(double median) { return median / M_LN2; }

/* ---- estimate ------------------------------------------------------------------------------------------------------ */

static double median(double *x, int count)
{
    for (int i = 1; i < count; i++) {
        const double value = x[i];
        int at = i;
        for (; at > 0 && x[at - 1] > value; at--)
            x[at] = x[at - 1];
        x[at] = value;
    }
    return count % 2 != 0 ? x[count / 2] : (x[count / 2 - 1] + x[count / 2]) / 2;
}

/* Value that a line of amplitude 1 at f has in its nearest bucket, before the window's response. */
static double complex phase_of(const struct lw_sfft_stage *loop, int64_t f, int64_t permuted)
{
    double sine, cosine;
    sincos(2 * M_PI * lw_sfft_stage_turns(loop, 0, f, permuted), &sine, &cosine);
    return CMPLX(cosine, sine);
}

/* Noise in a bucket and least energy of a candidate. */
struct bar {
    double noise, least;
};

/* Whether at least half of the buckets of a candidate are as strong as the weakest line would make them. */
static bool is_strong(const struct lw_published_buckets *buckets, const struct bar *bar, int64_t f)
{
    const int n_loops = lw_published_count_loops(buckets->plan);
    int weak = 0;
    for (int l = 0; l < n_loops && 2 * weak <= n_loops; l++) {
        const struct lw_sfft_place place = lw_sfft_stage_place(&buckets->loops[l], f);
        weak += energy_of(buckets->planes[l][place.bucket]) < 0.5 * bar->least;
    }
    return 2 * weak <= n_loops;
}

/* Amplitude of the line at f: the median over the loops, if over a third of the loops agree with it within the noise. Loops
 * agree where a line has its bucket for itself. A frequency without a line, whose buckets hold other lines, gets a different
 * value from each loop. 0: no line. */
static double complex estimate_one(const struct lw_published_buckets *buckets, const struct bar *bar, int64_t f)
{
    const int n_loops = lw_published_count_loops(buckets->plan);
    double complex z[LW_PUBLISHED_LOOPS];
    double re[LW_PUBLISHED_LOOPS], im[LW_PUBLISHED_LOOPS];
    for (int l = 0; l < n_loops; l++) {
        const struct lw_sfft_stage *const loop = &buckets->loops[l];
        const struct lw_sfft_place place = lw_sfft_stage_place(loop, f);
        z[l] = buckets->planes[l][place.bucket] * conj(phase_of(loop, f, place.permuted)) /
               lw_sfft_window_response(loop->window, place.distance);
        re[l] = creal(z[l]);
        im[l] = cimag(z[l]);
    }
    const double complex middle = CMPLX(median(re, n_loops), median(im, n_loops));
    const double tolerated = 12 * bar->noise + 1e-4 * energy_of(middle);
    int agreeing = 0;
    for (int l = 0; l < n_loops; l++)
        agreeing += energy_of(z[l] - middle) < tolerated;
    return energy_of(middle) > bar->least && 3 * agreeing > n_loops ? middle : 0;
}

int64_t lw_published_estimate(const struct lw_published_buckets *buckets, const int64_t *frequencies, int64_t count,
                              struct lw_sfft_line *lines)
{
    const double n = (double)buckets->plan->spec.n;
    const int64_t n_buckets = buckets->plan->choice.n_buckets;
    lw_published_energies(buckets, 0, buckets->energies);
    const double noise = noise_of_median(energy_below(buckets->energies, n_buckets, buckets->plan->n_louder));
    const struct bar bar = {noise, noise * lw_published_significance(n_buckets)};
    #pragma omp parallel for num_threads(buckets->n_threads) schedule(static)
    for (int64_t i = 0; i < count; i++) {
        const int64_t f = frequencies[i];
        const double complex x = is_strong(buckets, &bar, f) ? n * estimate_one(buckets, &bar, f) : 0;
        lines[i] = (struct lw_sfft_line){f, creal(x), cimag(x), 0};
    }
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++)
        if (lines[i].re != 0 || lines[i].im != 0)
            lines[kept++] = lines[i];
    lw_sfft_sort_by_magnitude(lines, kept);
    return kept;
}

/* ---- check --------------------------------------------------------------------------------------------------------- */

static void subtract(const struct lw_published_buckets *buckets, int64_t f, double complex amplitude)
{
    const int check = lw_published_count_loops(buckets->plan);
    const struct lw_sfft_stage *const loop = &buckets->loops[check];
    const int64_t n_buckets = loop->spec.n_buckets;
    const struct lw_sfft_place place = lw_sfft_stage_place(loop, f);
    const double complex value = amplitude * phase_of(loop, f, place.permuted);
    for (int o = -1; o <= 1; o++) {
        const int64_t b = (place.bucket + o + n_buckets) % n_buckets;
        buckets->planes[check][b] -= value * lw_sfft_window_response(loop->window, place.distance - o);
    }
}

static int64_t count_reported(const struct lw_sfft_spec *spec, const struct lw_sfft_line *lines, int64_t count)
{
    int64_t reported = 0;
    while (reported < count && reported < spec->sparsity && hypot(lines[reported].re, lines[reported].im) >= spec->min_magnitude)
        reported++;
    return reported;
}

void lw_published_conclude(const struct lw_published_plan *plan, double weight, const struct lw_published_figures *figures,
                           bool is_sure, struct lw_sfft_result *result)
{
    const double n = (double)plan->spec.n, n_buckets = (double)plan->choice.n_buckets;
    const double power = figures->before / n_buckets / weight, noise = noise_of_median(figures->median);
    const double leak = power * pow(3 * plan->window.tolerance, 2);     /* leakage from the lines */
    result->noise_power = noise / weight;
    result->detection_limit = n * sqrt(noise * lw_published_significance(plan->choice.n_buckets));
    result->residual = power > 0 ? (figures->after / n_buckets / weight + figures->left_out / n / n) / power : 0;
    result->is_noise = lw_sfft_is_noise(fmax(noise, leak), plan->choice.n_buckets, figures->after, figures->largest);
    result->is_explained = is_sure && result->is_noise && lw_sfft_is_complete(&plan->spec, power, result);
}

void lw_published_check(const struct lw_published_buckets *buckets, struct lw_sfft_line *lines, int64_t count, bool is_sure,
                        struct lw_sfft_result *result)
{
    const struct lw_sfft_spec *const spec = &buckets->plan->spec;
    const int check = lw_published_count_loops(buckets->plan);
    const int64_t n_buckets = buckets->plan->choice.n_buckets;
    struct lw_published_figures figures = {.before = lw_published_energies(buckets, check, buckets->energies)};
    for (int64_t i = 0; i < count; i++) {
        const double complex amplitude = CMPLX(lines[i].re, lines[i].im) / (double)spec->n;
        subtract(buckets, lines[i].frequency, amplitude);
        if (lw_sfft_multiplicity(spec, lines[i].frequency) == 2)
            subtract(buckets, spec->n - lines[i].frequency, conj(amplitude));
    }
    *result = (struct lw_sfft_result){.lines = lines, .n_lines = count_reported(spec, lines, count), .n_found = count};
    figures.after = lw_published_energies(buckets, check, buckets->energies);
    for (int64_t b = 0; b < n_buckets; b++)
        figures.largest = fmax(figures.largest, buckets->energies[b]);
    figures.median = energy_below(buckets->energies, n_buckets, n_buckets / 2);
    for (int64_t i = result->n_lines; i < count; i++)           /* including mirror images */
        figures.left_out += lw_sfft_multiplicity(spec, lines[i].frequency) *
                            (lines[i].re * lines[i].re + lines[i].im * lines[i].im);
    lw_published_conclude(buckets->plan, buckets->loops[check].window->energy, &figures, is_sure, result);
    lw_sfft_sort_by_frequency(lines, result->n_lines);
}
