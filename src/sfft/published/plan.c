#include "sfft/published/published.h"

#include "base/integers.h"
#include "sfft/number.h"

#include <inttypes.h>
#include <math.h>

/* The flat window is a box of 1.32 buckets in frequency, times a window whose main lobe extends half a bucket to either side. */
static const double lobe = 0.5, box_half = 0.66;

enum { LOCATION_LOOPS = 4, VOTES = 3, ESTIMATION_LOOPS = 10, COMB_LOOPS = 2 };
enum { LEAST_BUCKETS = 64, BUCKETS_PER_LINE = 16 };

/* Expected number of frequencies with enough votes by chance, if M of B buckets are selected at random. */
static double by_chance(const struct lw_published_plan *plan)
{
    const int loops = plan->choice.location_loops;
    const double p = (double)plan->n_selected / (double)plan->choice.n_buckets;
    double sum = 0;
    for (int v = plan->choice.votes; v <= loops; v++)
        sum += exp(lgamma(loops + 1) - lgamma(v + 1) - lgamma(loops - v + 1)) * pow(p, v) * pow(1 - p, loops - v);
    return sum * (double)plan->spec.n;
}

/* Part of the buckets that no line reaches, if n_lines lines are spread at random. */
static double part_left(const struct lw_published_choice *choice, int64_t n_lines)
{
    return exp(-2 * (box_half + lobe) * (double)n_lines / (double)choice->n_buckets);
}

/* Loops in which a line that has its bucket for itself in `part` of them has it in more than the third that estimates need
 * (steps.c), at three standard deviations. */
static int count_estimates(double part)
{
    const double margin = part - 1.0 / 3;
    return margin > 0 ? (int)fmin(ceil(9 * part * (1 - part) / (margin * margin)), LW_PUBLISHED_LOOPS) : LW_PUBLISHED_LOOPS;
}

static void complete(const struct lw_sfft_spec *spec, int64_t n_lines, int attempt, struct lw_published_choice *choice)
{
    if (choice->n_buckets == 0) {
        /* The power of two next to the papers' sqrt(n k / log2 n), at which binning and voting cost about the same. */
        const double n = (double)spec->n, balanced = exp2(rint(log2(sqrt(n * (double)n_lines / fmax(1, log2(n))))));
        int64_t buckets = LEAST_BUCKETS;
        while ((double)buckets < balanced || buckets < BUCKETS_PER_LINE * n_lines)
            buckets *= 2;
        choice->n_buckets = buckets << attempt;
    }
    if (choice->location_loops == 0)
        choice->location_loops = choice->votes > VOTES ? choice->votes + 1 : LOCATION_LOOPS;
    if (choice->votes == 0)
        choice->votes = choice->location_loops == LOCATION_LOOPS ? VOTES : choice->location_loops / 2 + 1;
    if (choice->estimation_loops == 0) {
        const int wanted = count_estimates(part_left(choice, n_lines)), most = LW_PUBLISHED_LOOPS - 1;
        choice->estimation_loops = (wanted < most ? wanted : most) - choice->location_loops;
        if (choice->estimation_loops < ESTIMATION_LOOPS)
            choice->estimation_loops = ESTIMATION_LOOPS;
    }
    if (choice->comb_loops == 0)
        choice->comb_loops = COMB_LOOPS;
}

/* Twice as many as lines; in further attempts more, where these are not most of the buckets. */
static int64_t count_selected(int64_t n_buckets, int64_t n_lines, int attempt)
{
    return lw_max64(lw_min64(2 * n_lines, n_buckets), lw_min64((2 << attempt) * n_lines, n_buckets / 2));
}

static int check(const struct lw_published_plan *plan, int64_t n_lines, struct lw_error *err)
{
    const int64_t n = plan->spec.n, buckets = plan->choice.n_buckets, taps = 2 * lw_published_window_half(plan) + 1;
    const struct lw_published_choice *const choice = &plan->choice;
    if (choice->votes > choice->location_loops)
        return lw_fail(err, LW_ECONFIG, "--location-loops %d,votes=%d: there are more votes than locating loops",
                       choice->location_loops, choice->votes);
    if (lw_published_count_loops(plan) >= LW_PUBLISHED_LOOPS)
        return lw_fail(err, LW_ECONFIG, "--location-loops %d,estimation-loops=%d are more than %d together",
                       choice->location_loops, choice->estimation_loops, LW_PUBLISHED_LOOPS - 1);
    if (choice->comb > 0 && n % choice->comb != 0)
        return lw_fail(err, LW_ECONFIG, "--comb %" PRId64 " does not divide the %" PRId64 " samples: give a divisor, or a "
                       "--count of samples that it divides", choice->comb, n);
    if (n > LW_PUBLISHED_MAX_SAMPLES)
        return lw_fail(err, LW_ECONFIG, "--algorithm sfft2: %" PRId64 " samples are more than %" PRId64 ", the most: choose a "
                       "piece with --count, or --algorithm sparse", n, LW_PUBLISHED_MAX_SAMPLES);
    if (buckets < n_lines)
        return lw_fail(err, LW_ECONFIG, "--buckets %" PRId64 " are fewer than the %" PRId64 " lines of the spectrum: give at least "
                       "as many, or leave it out", buckets, n_lines);
    if (taps > n)
        return lw_fail(err, LW_ECONFIG, "--algorithm sfft2: windows of %" PRId64 " taps for %" PRId64 " buckets do not fit %"
                       PRId64 " samples: give fewer --buckets or a smaller --sparsity, or --algorithm dense", taps, buckets, n);
    return LW_OK;
}

int lw_published_plan_make(const struct lw_sfft_spec *spec, const struct lw_published_choice *choice, int attempt,
                           struct lw_published_plan *plan, struct lw_error *err)
{
    const int64_t n_lines = spec->is_real ? 2 * spec->sparsity : spec->sparsity;
    const double tolerance = spec->precision == LW_DOUBLE ? 1e-8 : 1e-6;
    /* Taps per bucket for which everything outside the main lobe (or the Gaussian's tails) has fallen to the tolerance. */
    const double length = (choice->window == LW_PUBLISHED_GAUSSIAN ? 2 * log(1 / tolerance) : acosh(1 / tolerance)) / (M_PI * lobe);
    *plan = (struct lw_published_plan){.spec = *spec, .choice = *choice, .box_half = box_half};
    complete(spec, n_lines, attempt, &plan->choice);
    plan->n_selected = count_selected(plan->choice.n_buckets, n_lines, attempt);
    const double left = part_left(&plan->choice, n_lines);
    plan->n_louder = left < 0.5 ? (int64_t)((1 - left / 2) * (double)plan->choice.n_buckets) : plan->choice.n_buckets / 2;
    plan->n_residues = lw_min64((2 << attempt) * n_lines, plan->choice.comb);
    plan->window = (struct lw_sfft_window_spec){
        .n_buckets = plan->choice.n_buckets, .tolerance = tolerance, .reach = box_half + lobe, .length = length,
    };
    const int64_t taps = 2 * lw_published_window_half(plan) + 1;
    plan->samples = (lw_published_count_loops(plan) + 1) * taps;
    if (plan->choice.comb > 0)
        plan->samples += plan->choice.comb_loops * plan->choice.comb;
    const int rc = check(plan, n_lines, err);
    if (rc)
        return rc;
    plan->by_chance = by_chance(plan);
    plan->capacity = 16 * n_lines + 1024 + (int64_t)fmin(2 * plan->by_chance, (double)spec->n);
    return LW_OK;
}

int64_t lw_published_window_half(const struct lw_published_plan *plan) { return lw_sfft_window_half(&plan->window); }

/* Each loop and each comb has a seed of its own; loops are numbered first, then combs. */
static uint64_t seed_of(const struct lw_published_plan *plan, int attempt, int number)
{
    return lw_random_bits(plan->spec.seed, (uint64_t)(attempt * (LW_PUBLISHED_LOOPS + LW_PUBLISHED_COMBS) + number));
}

int64_t lw_published_first_tooth(const struct lw_published_plan *plan, int attempt, int number)
{
    return lw_random_below(seed_of(plan, attempt, LW_PUBLISHED_LOOPS + number), 0, plan->spec.n);
}

struct lw_sfft_stage lw_published_loop(const struct lw_published_plan *plan, int attempt, int l,
                                       const struct lw_sfft_window *window)
{
    const struct lw_sfft_stage_spec spec = {
        .n = plan->spec.n, .n_buckets = plan->choice.n_buckets, .n_shifts = 1, .seed = seed_of(plan, attempt, l),
    };
    return lw_sfft_stage_make(&spec, window);
}
