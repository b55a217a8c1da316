#include "signal/post.h"

#include "base/integers.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- definitions ----------------------------------------------------------------------------------------------------- */

static void keep(double y[2], double *allowed) { (void)y, (void)allowed; }

static void amplitude(double y[2], double *allowed)
{
    (void)allowed;
    y[0] = hypot(y[0], y[1]);
    y[1] = 0;
}

static void power(double y[2], double *allowed)
{
    amplitude(y, allowed);
    *allowed *= 2 * y[0] + *allowed;
    y[0] *= y[0];
}

const struct lw_post_operation lw_post_operations[LW_POST_KINDS] = {
#define X(kind, name, unit, traits, function, help) {name, unit, traits, function},
    LW_POSTS(X)
#undef X
};

/* ---- shapes ---------------------------------------------------------------------------------------------------------- */

int lw_post_rate(struct lw_post post) { return post.rate > 1 ? post.rate : 1; }

int lw_post_every(struct lw_post post) { return post.every > 1 ? post.every : 1; }

bool lw_post_has(struct lw_post post, enum lw_post_traits traits)
{
    return (lw_post_operations[post.kind].traits & traits) == traits;
}

bool lw_post_is_needed(struct lw_post post) { return post.kind != LW_POST_NONE || lw_post_rate(post) > 1; }

bool lw_post_folds(struct lw_post post) { return lw_post_has(post, LW_POST_DIFFERS) && lw_post_rate(post) == 1; }

struct lw_reach lw_post_reach(struct lw_post post)
{
    const bool differs = lw_post_has(post, LW_POST_DIFFERS);
    if (lw_post_rate(post) == 1)
        return (struct lw_reach){differs ? lw_post_every(post) : 0, differs ? lw_post_every(post) : 0};
    /* The last interval's cubic begins two samples before the interval; the first one's ends three samples behind sample 0. */
    return (struct lw_reach){differs ? 3 : 2, 3};
}

int64_t lw_post_length(struct lw_post post, int64_t n) { return (n - 1) / lw_post_every(post) * lw_post_rate(post) + 1; }

int64_t lw_post_outputs(struct lw_post post, int64_t n, int64_t first, int64_t count)
{
    const int rate = lw_post_rate(post);
    const int64_t samples = lw_divide_up(first + count, lw_post_every(post)) - lw_divide_up(first, lw_post_every(post));
    return samples * rate - (count > 0 && first + count == n ? rate - 1 : 0);
}

int lw_post_check(struct lw_post post, int64_t n, struct lw_error *err)
{
    const int rate = lw_post_rate(post);
    if (lw_post_has(post, LW_POST_DIFFERS) && lw_post_length(post, n) < 2)
        return lw_fail(err, LW_ECONFIG, "--post %s needs at least 2 samples, as numpy.gradient does, but the "
                       "filtered series has %" PRId64, lw_post_operations[post.kind].name, lw_post_length(post, n));
    if (n > INT64_MAX / 64 / rate)
        return lw_fail(err, LW_ECONFIG, "--interpolate %d of %" PRId64 " samples makes more outputs than can be counted", rate, n);
    return LW_OK;
}

void lw_post_describe(struct lw_post post, char *text, size_t size)
{
    const size_t used = strlen(text);
    char rate[48] = "";
    if (lw_post_rate(post) > 1)
        snprintf(rate, sizeof rate, ", interpolated to %d times the rate", lw_post_rate(post));
    if (lw_post_every(post) > 1)
        snprintf(rate, sizeof rate, ", decimated by %d", lw_post_every(post));
    if (used < size)
        snprintf(text + used, size - used, "%s%s%s", rate, post.kind == LW_POST_NONE ? "" : ", ",
                 post.kind == LW_POST_NONE ? "" : lw_post_operations[post.kind].name);
}

/* ---- folding ----------------------------------------------------------------------------------------------------- */

/* out[m] = factor (h[m] - h[m - delay]) */
static void subtract_delayed(const double *taps, int64_t n, int64_t delay, double factor, double *out)
{
    for (int64_t i = 0; i < n + delay; i++)
        out[i] = factor * ((i < n ? taps[i] : 0) - (i >= delay ? taps[i - delay] : 0));
}

void lw_post_fold(struct lw_post post, const double *taps, int64_t n_taps, int parts, double *out)
{
    subtract_delayed(taps, n_taps * parts, 2 * (int64_t)lw_post_every(post) * parts, 0.5, out);
}

int64_t lw_post_end_taps(struct lw_post post, int64_t n_taps) { return n_taps + lw_post_every(post); }

void lw_post_fold_end(struct lw_post post, const double *taps, int64_t n_taps, int parts, double *out)
{
    subtract_delayed(taps, n_taps * parts, (int64_t)lw_post_every(post) * parts, 1, out);
}

/* ---- interpolation ----------------------------------------------------------------------------------------------- */

/* A weighted sum of the samples [begin, end) of y. */
struct sum {
    int64_t begin, end;
    double weights[2 * LW_POST_SPAN];
};

/* Return output j as a weighted sum, by Lagrange's formula with distances in whole steps. An output at a sample is this sample. */
static struct sum interpolated(int rate, int64_t n, int64_t j)
{
    const int64_t i = j / rate, order = n < 4 ? n : 4;
    if (j % rate == 0)
        return (struct sum){i, i + 1, {1}};
    const int64_t begin = i < 1 ? 0 : i - 1 > n - order ? n - order : i - 1;
    struct sum sum = {.begin = begin, .end = begin + order};
    for (int64_t k = 0; k < order; k++) {
        sum.weights[k] = 1;
        for (int64_t other = 0; other < order; other++)
            if (other != k)
                sum.weights[k] *= (double)(j - (begin + other) * rate) / (double)((k - other) * rate);
    }
    return sum;
}

static double weight_of(const struct sum *sum, int64_t sample)
{
    return sample >= sum->begin && sample < sum->end ? sum->weights[sample - sum->begin] : 0;
}

static struct sum output(struct lw_post post, int64_t n, int64_t j)
{
    const int rate = lw_post_rate(post);
    const int64_t last = lw_post_length(post, n) - 1;
    if (!lw_post_has(post, LW_POST_DIFFERS))
        return interpolated(rate, n, j);
    const int64_t before = j > 0 ? j - 1 : j, after = j < last ? j + 1 : j;
    const struct sum low = interpolated(rate, n, before), high = interpolated(rate, n, after);
    const double factor = after - before == 2 ? 0.5 : 1;
    struct sum sum = {.begin = lw_min64(low.begin, high.begin), .end = lw_max64(low.end, high.end)};
    for (int64_t s = sum.begin; s < sum.end; s++)
        sum.weights[s - sum.begin] = factor * (weight_of(&high, s) - weight_of(&low, s));
    return sum;
}

void lw_post_weigh(struct lw_post post, int64_t n, int place, struct lw_post_weights *out)
{
    const int64_t i = place <= 2 ? place : n + place - LW_POST_PLACES;
    memset(out, 0, sizeof *out);
    if (i < 0 || i >= n || lw_post_place(n, i) != place)
        return;
    const int n_phases = (int)lw_post_outputs(post, n, i, 1);
    for (int phase = 0; phase < n_phases; phase++) {
        const struct sum sum = output(post, n, i * lw_post_rate(post) + phase);
        const int group = phase > 0, begin = (int)(sum.begin - i) + LW_POST_REACH, end = (int)(sum.end - i) + LW_POST_REACH;
        const bool is_first = out->end[group] == 0;
        out->begin[group] = is_first || begin < out->begin[group] ? begin : out->begin[group];
        out->end[group] = end > out->end[group] ? end : out->end[group];
        for (int k = begin; k < end; k++)
            out->weights[k][phase] = sum.weights[k - begin];
    }
}
