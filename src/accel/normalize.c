/* normalize.c - the level of the noise along a spectrum.
 *
 * Blocks get the mean level of as many neighbours as chance allows. A binary tree over the blocks is walked from its root: the
 * first node whose blocks agree is a run. Then runs are joined from the right, if their blocks agree. Blocks agree if a straight
 * line through their levels has no more slope, their levels no more scatter, and the mean of no part's levels is further from that
 * of all, than medians of noise allow. White noise has one level, and the steep part of red noise a level for each block. */
#include "accel/normalize.h"

#include "base/integers.h"

#include <math.h>

/* Bins of a block, and its part of the frequency, unless the least or the most sets it. */
#define LEAST_WIDTH 16
#define MOST_WIDTH 4096
#define PART 16

/* Most of the slope, of a part's distance, and of the distance between a run and what joins it, in standard deviations; most of the
 * scatter above its mean. Where few bins agree by a narrow margin, wider runs have failed to: the slope is probably true. */
#define MOST_SLOPE 2.5
#define MOST_SLOPE_OF_FEW 1.0
#define FEW 20000
#define MOST_DISTANCE 4.0
#define MOST_STEP 2.0
#define MOST_SCATTER 3.0
#define LEAST_PART 64           /* bins of a part */

/* Relative variance of the mean level of blocks that agree, times their weight; most blocks to the left that may bound it. */
#define VARIANCE 1.5
#define MOST_BACK 64

static int64_t width_at(int64_t begin) { return lw_min64(lw_max64(begin / PART, LEAST_WIDTH), MOST_WIDTH); }

int64_t lw_accel_blocks(int64_t n_bins, int64_t *edges)
{
    int64_t n = 0, begin = 0;
    while (begin < n_bins) {
        const int64_t width = width_at(begin);
        const int64_t end = n_bins - begin < width + width / 2 ? n_bins : begin + width;
        if (edges) {
            edges[n] = begin;
            edges[n + 1] = end;
        }
        n++;
        begin = end;
    }
    return n;
}

int64_t lw_accel_block_at(int64_t n_blocks, int64_t bin)
{
    int64_t block = 0, begin = 0;
    for (; begin < PART * MOST_WIDTH && begin + width_at(begin) <= bin; block++)
        begin += width_at(begin);
    return lw_min64(block + (bin - begin) / MOST_WIDTH, n_blocks - 1);
}

/* The k-th smallest of n exponentials is on average the sum of 1/n, 1/(n - 1), .. of k terms. */
double lw_accel_median_mean(int64_t n)
{
    double sum = 0;
    for (int64_t i = n; i > n / 2; i--)
        sum += 1 / (double)i;
    return sum;
}

/* Levels of blocks, medians divided by their means. */
struct blocks {
    const int64_t *counted;
    float *levels, *variances;
};

/* A median of n powers has the relative variance 1 / (n log(2)^2). Its inverse is the block's weight. */
static double weight_of(const struct blocks *b, int64_t i)
{
    return b->levels[i] > 0 ? (double)b->counted[i] * (M_LN2 * M_LN2) : 0;
}

/* Return the mean level of the blocks [begin, end), 0 if none has a level. */
static double mean_of(const struct blocks *b, int64_t begin, int64_t end, double *weights)
{
    double sum = 0;
    *weights = 0;
    for (int64_t i = begin; i < end; i++) {
        *weights += weight_of(b, i);
        sum += weight_of(b, i) * b->levels[i];
    }
    return *weights > 0 ? sum / *weights : 0;
}

/* Return whether no part of the blocks, halved again and again, is far from a level. */
static bool is_near(const struct blocks *b, int64_t begin, int64_t end, double level)
{
    double weights;
    const double distance = log(mean_of(b, begin, end, &weights) / level);
    if (weights < LEAST_PART * M_LN2 * M_LN2)
        return true;
    if (distance * distance * weights > MOST_DISTANCE * MOST_DISTANCE)
        return false;
    const int64_t middle = begin + (end - begin) / 2;
    return end - begin == 1 || (is_near(b, begin, middle, level) && is_near(b, middle, end, level));
}

/* Return whether blocks agree. Positions are block numbers, which grow like the logarithm of the frequency, or where blocks have
 * their most width like the frequency. */
static bool agree(const struct blocks *b, int64_t begin, int64_t end)
{
    double weights, moment = 0, scatter = 0, slope = 0, spread = 0, n = -1;
    const double level = mean_of(b, begin, end, &weights);
    if (!(level > 0))
        return true;
    for (int64_t i = begin; i < end; i++)
        moment += weight_of(b, i) * (double)i;
    for (int64_t i = begin; i < end; i++) {
        const double weight = weight_of(b, i), x = (double)i - moment / weights, y = b->levels[i] / level - 1;
        n += weight > 0;
        scatter += weight * y * y;
        slope += weight * x * y;
        spread += weight * x * x;
    }
    const double most = weights < FEW * M_LN2 * M_LN2 ? MOST_SLOPE_OF_FEW : MOST_SLOPE;
    return scatter <= n + MOST_SCATTER * sqrt(2 * n) && slope * slope <= most * most * spread &&
           is_near(b, begin, end, level);
}

/* Blocks [begin, end) that agree. */
struct run {
    int64_t begin, end;
};

/* Give a run of blocks its mean level and the variance of that. */
static void level_out(const struct blocks *b, const struct run *run)
{
    double weights;
    const double level = mean_of(b, run->begin, run->end, &weights);
    for (int64_t i = run->begin; i < run->end; i++) {
        b->variances[i] = b->levels[i] > 0 ? (float)(VARIANCE / weights) : 0;
        b->levels[i] = b->levels[i] > 0 ? (float)level : 0;
    }
}

/* Return whether the blocks [first, run->begin) continue a run. */
static bool go_on(const struct blocks *b, int64_t first, const struct run *run)
{
    double new_weights, weights;
    const double step = log(mean_of(b, first, run->begin, &new_weights) / mean_of(b, run->begin, run->end, &weights));
    return !(step * step > MOST_STEP * MOST_STEP * (1 / new_weights + 1 / weights)) && agree(b, first, run->end);
}

/* Level out the blocks [first, last) from right to left. `run` is the run at hand, which may go on. */
static void walk(const struct blocks *b, int64_t first, int64_t last, struct run *run)
{
    if (last - first > 1 && !agree(b, first, last)) {
        walk(b, first + (last - first) / 2, last, run);
        walk(b, first, first + (last - first) / 2, run);
        return;
    }
    if (run->begin < run->end && !go_on(b, first, run)) {
        level_out(b, run);
        run->end = run->begin;
    }
    run->begin = first;
}

/* Bound the variances by those of levels to the left that are no higher: the nearest one for each block. */
static void bound(const struct blocks *b, int64_t n_blocks)
{
    for (int64_t i = 1; i < n_blocks; i++) {
        int64_t left = i - 1;
        const int64_t last = lw_max64(0, i - MOST_BACK);
        while (left > last && !(b->levels[left] > 0 && b->levels[left] <= b->levels[i]))
            left--;
        if (b->levels[left] > 0 && b->levels[left] <= b->levels[i] && b->variances[left] < b->variances[i])
            b->variances[i] = b->variances[left];
    }
}

void lw_accel_factors(int64_t n_blocks, const int64_t *counted, const float *medians, float *factors, float *variances)
{
    double mean = 1;
    for (int64_t i = 0; i < n_blocks; i++) {
        if (i == 0 || counted[i] != counted[i - 1])         /* most blocks have as many bins as the one before */
            mean = lw_accel_median_mean(counted[i]);
        factors[i] = counted[i] > 0 && medians[i] > 0 ? (float)(medians[i] / mean) : 0;
    }
    const struct blocks blocks = {counted, factors, variances};
    struct run run = {n_blocks, n_blocks};
    walk(&blocks, 0, n_blocks, &run);
    level_out(&blocks, &run);
    bound(&blocks, n_blocks);
    for (int64_t i = 0; i < n_blocks; i++)
        factors[i] = factors[i] > 0 ? (float)(1 / sqrt(factors[i])) : 0;
}

double lw_accel_variance(int64_t n_blocks, const float *variances, double r, int H, const double *powers)
{
    double sum = 0, all = 0, run = 0, before = 0;
    for (int k = 1; k <= H; k++) {
        const double power = powers ? powers[k - 1] : 1;
        const double variance = variances[lw_accel_block_at(n_blocks, (int64_t)(k * r + 0.5))];
        run = variance == before ? run : 0;
        sum += variance * power * (2 * run + power);        /* (run + power)^2 - run^2 */
        run += power;
        all += power;
        before = variance;
    }
    return all > 0 ? sum / (all * all) : 0;
}
