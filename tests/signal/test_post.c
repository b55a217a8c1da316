/* test_post.c - tests of the weights and lengths of the derived series (derivative, interpolation, ...), for every axis shorter
 * than 40 and many rates. */
#include "base/integers.h"
#include "signal/post.h"

#include "../check.h"

#include <math.h>

static const int rates[] = {2, 3, 4, 7, 64};

enum { N_RATES = sizeof rates / sizeof *rates, LONGEST = 40 };

/* A polynomial of the given degree, none of whose derivatives is zero everywhere. */
static double polynomial(int degree, double x)
{
    double y = 0;
    for (int i = 0; i <= degree; i++)
        y = y * (x - 3) / 4 + 1 + i;
    return y;
}

static double value_at(int degree, double x, double step, bool differs, bool is_first, bool is_last)
{
    if (!differs)
        return polynomial(degree, x);
    const double low = is_first ? x : x - step, high = is_last ? x : x + step;
    return (polynomial(degree, high) - polynomial(degree, low)) * step / (high - low);
}

/* Polynomials that the stencils reproduce exactly: every output equals its definition, to rounding. Stencils stay on the axis and
 * within the reach. */
static void test_outputs(struct lw_post post, int64_t n)
{
    const struct lw_reach reach = lw_post_reach(post);
    const int degree = n < 4 ? (int)n - 1 : 3, rate = lw_post_rate(post);
    const int64_t length = lw_post_length(post, n);
    for (int64_t j = 0; j < length; j++) {
        const int64_t i = j / rate;
        const int phase = (int)(j % rate), group = phase > 0;
        struct lw_post_weights w;
        lw_post_weigh(post, n, lw_post_place(n, i), &w);
        const int64_t begin = i + w.begin[group] - LW_POST_REACH, end = i + w.end[group] - LW_POST_REACH;
        CHECK(begin >= 0 && end <= n && begin < end, "n %lld rate %d output %lld: stencil %lld..%lld", (long long)n, rate,
              (long long)j, (long long)begin, (long long)end);
        CHECK(begin >= i - reach.before && end <= i + reach.after + 1, "n %lld rate %d output %lld: stencil %lld..%lld beyond "
              "the reach", (long long)n, rate, (long long)j, (long long)begin, (long long)end);
        double sum = 0;
        for (int64_t s = begin; s < end; s++)
            sum += w.weights[s - i + LW_POST_REACH][phase] * polynomial(degree, (double)s);
        const double want = value_at(degree, (double)j / rate, 1.0 / rate, post.kind == LW_POST_DERIVATIVE, j == 0,
                                     j == length - 1);
        CHECK(fabs(sum - want) < 1e-11 * fmax(1, fabs(polynomial(degree, (double)n))), "n %lld rate %d output %lld: %.17g, not "
              "%.17g", (long long)n, rate, (long long)j, sum, want);
    }
}

/* The lengths of blocks' outputs add up to the length of the axis's outputs. */
static void test_lengths(struct lw_post post, int64_t n)
{
    for (int64_t cut = 0; cut <= n; cut++) {
        const int64_t before = lw_post_outputs(post, n, 0, cut), behind = lw_post_outputs(post, n, cut, n - cut);
        CHECK(before + behind == lw_post_length(post, n), "n %lld cut at %lld: %lld and %lld outputs", (long long)n,
              (long long)cut, (long long)before, (long long)behind);
        CHECK(cut == n || before == lw_divide_up(cut, lw_post_every(post)) * lw_post_rate(post),
              "n %lld cut at %lld: the second block begins at output %lld", (long long)n, (long long)cut, (long long)before);
    }
}

static void test_axes(void)
{
    for (int64_t n = 1; n < LONGEST; n++) {
        for (int i = 0; i < N_RATES; i++) {
            test_lengths((struct lw_post){LW_POST_NONE, rates[i], 1}, n);
            test_outputs((struct lw_post){LW_POST_NONE, rates[i], 1}, n);
            if (n > 1)
                test_outputs((struct lw_post){LW_POST_DERIVATIVE, rates[i], 1}, n);
        }
        test_lengths((struct lw_post){LW_POST_DERIVATIVE, 0, 1}, n);
        for (int every = 0; every <= LONGEST; every++)
            test_lengths((struct lw_post){LW_POST_NONE, 1, every}, n);
    }
}

static void test_folding(void)
{
    const double taps[] = {1, 2, 4, 8, 16, 32};        /* three complex taps, or six real ones */
    double out[10], end[8];
    lw_post_fold((struct lw_post){.kind = LW_POST_DERIVATIVE}, taps, 3, 2, out);
    lw_post_fold_end((struct lw_post){.kind = LW_POST_DERIVATIVE}, taps, 3, 2, end);
    const double want[] = {0.5, 1, 2, 4, 7.5, 15, -2, -4, -8, -16}, want_end[] = {1, 2, 3, 6, 12, 24, -16, -32};
    for (int i = 0; i < 10; i++)
        CHECK(out[i] == want[i], "complex, folded: part %d is %g", i, out[i]);
    for (int i = 0; i < 8; i++)
        CHECK(end[i] == want_end[i], "complex, at the end: part %d is %g", i, end[i]);
    lw_post_fold((struct lw_post){.kind = LW_POST_DERIVATIVE}, taps, 1, 1, out);
    CHECK(out[0] == 0.5 && out[1] == 0 && out[2] == -0.5, "one tap, folded: %g %g %g", out[0], out[1], out[2]);
    const struct lw_post thinned = {LW_POST_DERIVATIVE, 1, 2};
    const double want_thinned[] = {0.5, 1, 0, 0, -0.5, -1}, want_thinned_end[] = {1, 2, -1, -2};
    lw_post_fold(thinned, taps, 2, 1, out);
    lw_post_fold_end(thinned, taps, 2, 1, end);
    for (int i = 0; i < 6; i++)
        CHECK(out[i] == want_thinned[i], "every other sample, folded: tap %d is %g", i, out[i]);
    for (int i = 0; i < 4; i++)
        CHECK(end[i] == want_thinned_end[i], "every other sample, at the end: tap %d is %g", i, end[i]);
}

static void test_refusals(void)
{
    struct lw_error err = {0};
    CHECK(lw_post_check((struct lw_post){LW_POST_DERIVATIVE, 1, 1}, 1, &err) == LW_ECONFIG, "a derivative of one sample passes");
    CHECK(lw_post_check((struct lw_post){LW_POST_DERIVATIVE, 1, 1}, 2, &err) == LW_OK, "a derivative of two samples fails");
    CHECK(lw_post_check((struct lw_post){LW_POST_DERIVATIVE, 1, 9}, 9, &err) == LW_ECONFIG,
          "a derivative of one that is kept passes");
    CHECK(lw_post_check((struct lw_post){LW_POST_DERIVATIVE, 1, 9}, 10, &err) == LW_OK, "a derivative of two that are kept fails");
    CHECK(lw_post_check((struct lw_post){LW_POST_NONE, 64, 1}, 1, &err) == LW_OK, "interpolating one sample fails");
    CHECK(lw_post_check((struct lw_post){LW_POST_NONE, 64, 1}, INT64_MAX / 64, &err) == LW_ECONFIG, "too many outputs pass");
}

int main(void)
{
    test_axes();
    test_folding();
    test_refusals();
    return check_result("post");
}
