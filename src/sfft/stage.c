#include "sfft/stage.h"

#include "sfft/number.h"

#include <assert.h>
#include <math.h>

int lw_sfft_count_shifts(int64_t n, int64_t n_buckets, double bits_per_shift)
{
    const double bits = log2(2 * (double)n / (double)n_buckets);
    const int count = 1 + (int)ceil(bits / bits_per_shift - 1e-9);
    return count < 2 ? 2 : count > LW_SFFT_SHIFTS ? LW_SFFT_SHIFTS : count;
}

/* Frequencies that differ by a small j are sigma j mod n apart after the permutation. If this distance put them into one bucket,
 * blocks of adjacent frequencies would fail in all buckets at once. */
static bool separates_neighbours(int64_t sigma, int64_t n, int64_t n_buckets)
{
    const int64_t reach = n_buckets / 32 < 64 ? n_buckets / 32 : 64;
    const double width = 1.2 * (double)n / (double)n_buckets;
    for (int64_t j = 1; j <= reach && 2 * j < n; j++) {
        const int64_t apart = lw_mod_multiply(sigma, j, n);
        if ((double)(apart < n - apart ? apart : n - apart) < width)
            return false;
    }
    return true;
}

/* Draw a sigma without a common divisor with n. After TRIES attempts a sigma that does not separate neighbours is accepted. */
static void draw_permutation(struct lw_sfft_stage *stage)
{
    enum { TRIES = 1000 };
    const int64_t n = stage->spec.n;
    stage->tau = lw_random_below(stage->spec.seed, 0, n);
    for (uint64_t i = 1; ; i++) {
        const int64_t sigma = lw_random_below(stage->spec.seed, i, n);
        if (i < TRIES && !separates_neighbours(sigma, n, stage->spec.n_buckets))
            continue;
        stage->sigma = sigma;
        stage->sigma_inverse = lw_mod_inverse(sigma, n);
        if (stage->sigma_inverse != 0)
            return;
    }
}

struct lw_sfft_stage lw_sfft_stage_make(const struct lw_sfft_stage_spec *spec, const struct lw_sfft_window *window)
{
    assert(spec->n > 1 && spec->n <= LW_SFFT_MAX_SAMPLES && spec->n_shifts <= LW_SFFT_SHIFTS);
    struct lw_sfft_stage stage = {.spec = *spec, .window = window};
    /* The shifts are 0, B/2, and then grow by the ratio q up to n/q. Every step of the location then has the same margin, a turn
     * over 2 q, even the last step, which must identify a single frequency. */
    const double first = (double)spec->n_buckets / 2;
    if (spec->n_shifts > 1)
        stage.ratio = pow((double)spec->n / first, 1.0 / (spec->n_shifts - 1));
    for (int d = 1; d < spec->n_shifts; d++)
        stage.shift[d] = (int64_t)rint(first * pow(stage.ratio, d - 1));
    draw_permutation(&stage);
    return stage;
}

int64_t lw_sfft_stage_samples(const struct lw_sfft_stage *stage)
{
    return stage->spec.n_shifts * (2 * stage->window->half + 1);
}

int64_t lw_sfft_stage_sample(const struct lw_sfft_stage *stage, int d, int64_t i)
{
    const int64_t n = stage->spec.n;
    const int64_t steps = lw_mod(stage->shift[d] + i - stage->window->half, n);
    return lw_mod_add(lw_mod_multiply(stage->sigma, steps, n), stage->tau, n);
}

struct lw_sfft_place lw_sfft_stage_place(const struct lw_sfft_stage *stage, int64_t frequency)
{
    const int64_t n = stage->spec.n, n_buckets = stage->spec.n_buckets;
    struct lw_sfft_place place = {.permuted = lw_mod_multiply(stage->sigma, frequency, n)};
    const double position = (double)place.permuted / (double)n * (double)n_buckets;
    const double nearest = rint(position);
    place.distance = position - nearest;
    place.bucket = (int64_t)nearest == n_buckets ? 0 : (int64_t)nearest;
    return place;
}

double lw_sfft_stage_least_amplitude(const struct lw_sfft_stage *stage)
{
    const double least = 4 * 2 * stage->ratio / (2 * M_PI);
    return least > 3 ? least : 3;
}

double lw_sfft_stage_turns(const struct lw_sfft_stage *stage, int d, int64_t frequency, int64_t permuted)
{
    const int64_t n = stage->spec.n;
    const int64_t turns = lw_mod_add(lw_mod_multiply(permuted, stage->shift[d], n), lw_mod_multiply(frequency, stage->tau, n), n);
    return (double)turns / (double)n;
}
