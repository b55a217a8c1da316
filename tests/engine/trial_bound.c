/* trial_bound.c - the bound on the error of a filter's output.
 *
 * jobs/README.md guarantees for the rms error of a filter's output, over all its channels and without the rounding to the stored
 * type,
 *
 *     error <= e r (log2(2N) ||h||_2 + 10 ||h||_1), e = 5e-8 in single, 1e-16 in double precision,
 *
 * N: the segment's length, or the number of taps of a direct sum. r: the rms value of the samples that one tap meets, for the tap
 * with the largest; the boundary's samples count. r is rms(x) if the signal is much longer than the filter.
 *
 * The first term is for rounding errors as random as noise: r ||h||_2 is the rms value of white noise after the filter, and a
 * transform spreads its rounding errors evenly over the segment. The first term is enough if the samples or the taps have random
 * signs. The second term is for products that add up instead of cancelling, such as those of a mean, of a repeated edge or of a
 * few large samples. By Minkowski's inequality neither the outputs nor their partial sums exceed r ||h||_1 in rms. Equal products
 * have equal rounding errors, so that a direct sum of them may be off by up to nine times e r ||h||_1. */
#include "trial.h"

#include <math.h>

#define COHERENT 10

struct norms {
    double one, two;
};

/* Tap m of a filter, or of h * [1/2, 0, -1/2] if the filter includes a derivative. */
static double complex tap_of(const struct trial *t, const double *h, int64_t m, bool folds)
{
    if (folds)
        return (tap_of(t, h, m, false) - tap_of(t, h, m - 2, false)) / 2;
    if (m < 0 || m >= t->n_taps)
        return 0;
    return t->taps_complex ? CMPLX(h[2 * m], h[2 * m + 1]) : h[m];
}

static struct norms norms_of(const struct trial_data *data, int64_t filter)
{
    const struct trial *const t = &data->trial;
    const double *const h = data->taps + filter * t->n_taps * (t->taps_complex ? 2 : 1);
    const bool folds = lw_post_folds(t->post);
    struct norms norms = {0};
    for (int64_t m = 0; m < t->n_taps + (folds ? 2 : 0); m++) {
        const double size = cabs(tap_of(t, h, m, folds));
        norms.one += size;
        norms.two += size * size;
    }
    norms.two = sqrt(norms.two);
    return norms;
}

/* Sum over the channels of |x|^2 at a position. Samples that are not finite count as zero. */
static double power_at(const struct trial_data *data, int64_t position)
{
    double sum = 0;
    for (int64_t c = 0; c < data->trial.n_channels; c++) {
        const double size = cabs(trial_sample(data, c, position));
        sum += isfinite(size) && size < 1e100 ? size * size : 0;
    }
    return sum;
}

/* r of the bound above. Each tap meets as many consecutive samples as there are outputs; the last tap meets the first of them. */
static double level_of(const struct trial_data *data)
{
    const struct trial *const t = &data->trial;
    const int64_t begin = data->look_ahead - (t->n_taps - 1), n = data->n_outputs;
    double sum = 0, largest = 0;
    for (int64_t i = 0; i < n + t->n_taps - 1; i++) {
        sum += power_at(data, begin + i) - (i >= n ? power_at(data, begin + i - n) : 0);
        largest = i >= n - 1 ? fmax(largest, sum) : largest;
    }
    return sqrt(largest / (double)(t->n_channels * n));
}

/* Whether samples or taps have random signs. A boundary that repeats samples of a short signal, or few samples that dominate,
 * make signs less random. */
static bool has_random_signs(const struct trial *t)
{
    const bool is_white = t->signal == TRIAL_NOISE && t->mean == 0 && t->boundary != LW_BOUNDARY_EDGE;
    const bool is_random = is_white || (t->filter == TRIAL_RANDOM && !trial_is_dominated(t));
    return is_random && t->n_samples >= t->n_taps;
}

/* An interpolation's weights have magnitudes that add up to at most 1.7; the weights and the sums are rounded, too. A complex
 * number's amplitude has the errors of both its parts. */
double trial_bound(const struct trial_data *data, const struct lw_op_plan *plan, int64_t filter)
{
    const struct trial *const t = &data->trial;
    const double e = t->precision == LW_DOUBLE ? 1e-16 : 5e-8;
    const double n = plan->segment > 0 ? (double)plan->segment : (double)t->n_taps;
    const double r = level_of(data);
    const struct norms h = norms_of(data, filter);
    const bool is_random = has_random_signs(t);
    const double series = e * r * (log2(2 * n) * h.two + (is_random ? 0 : COHERENT * h.one));
    const double made = lw_post_rate(t->post) > 1 ? 1.7 * (series + 2 * e * r * (is_random ? h.two : h.one)) : series;
    return lw_post_has(t->post, LW_POST_REAL) && (t->input.is_complex || t->taps_complex) ? 1.5 * made : made;
}
