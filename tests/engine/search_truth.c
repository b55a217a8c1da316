#include "search_truth.h"

#include "../check.h"
#include "base/integers.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the series -------------------------------------------------------------------------------------------------- */
static int64_t place_of(const struct search_truth *truth, int64_t filter, int64_t channel, int64_t i)
{
    return (filter * truth->data->trial.n_channels + channel) * truth->data->n_outputs + i;
}

static double complex y_at(const struct search_truth *truth, int64_t filter, int64_t channel, int64_t i)
{
    return truth->y[place_of(truth, filter, channel, i)];
}

static double snr_at(const struct search_truth *truth, int64_t filter, int64_t channel, int64_t i)
{
    return truth->snr[place_of(truth, filter, channel, i)];
}

/* Sigma at output i. Each stretch has its own sigma; outputs before the first stretch and after the last use those stretches'
 * sigma. */
static double noise_of(const struct search_truth *truth, int64_t filter, int64_t channel, int64_t i)
{
    const struct trial *const t = &truth->data->trial;
    const double *const noise = truth->data->noise;
    int64_t stretch = 0;
    while (t->search.stretch > 0 && stretch + 1 < t->search.n_stretches &&
           i >= t->search.first_stretch + (stretch + 1) * t->search.stretch)
        stretch++;
    return noise ? noise[(stretch * t->n_channels + channel) * t->n_filters + filter] : 1;
}

static void make_output(const struct search_truth *truth, int64_t filter, int64_t channel, int64_t i)
{
    bool is_touched;
    const double complex y = trial_series(truth->data, filter, channel, i, &is_touched);
    const double noise = noise_of(truth, filter, channel, i);
    const int64_t at = place_of(truth, filter, channel, i);
    truth->y[at] = is_touched ? CMPLX(NAN, NAN) : y;
    truth->snr[at] = is_touched || noise == 0 ? NAN : hypot(creal(y), cimag(y)) / noise;
}

void search_truth_make(const struct trial_data *data, const struct lw_op_plan *plan, bool is_exact, struct search_truth *truth)
{
    const struct trial *const t = &data->trial;
    const int64_t n = t->n_channels * data->n_outputs;
    *truth = (struct search_truth){data, calloc((size_t)(t->n_filters * n), sizeof(double complex)),
                                   calloc((size_t)(t->n_filters * n), sizeof(double)),
                                   calloc((size_t)t->n_filters, sizeof(double))};
    if (!truth->y || !truth->snr || !truth->margin)
        abort();
    for (int64_t f = 0; f < t->n_filters; f++) {
        truth->margin[f] = is_exact ? 0 : trial_largest_to_rms(t, n) * trial_bound(data, plan, f);
        for (int64_t i = 0; i < n; i++)
            make_output(truth, f, i / data->n_outputs, i % data->n_outputs);
    }
}

void search_truth_free(struct search_truth *truth)
{
    free(truth->y);
    free(truth->snr);
    free(truth->margin);
}

/* Largest allowed error of an engine's output; its rounding is included unless the output is exact. */
static double y_margin(const struct search_truth *truth, int64_t filter, double magnitude)
{
    const double rounding = truth->data->trial.precision == LW_SINGLE ? FLT_EPSILON : DBL_EPSILON;
    return truth->margin[filter] > 0 ? 2 * truth->margin[filter] + rounding * magnitude : 0;
}

static double snr_margin(const struct search_truth *truth, int64_t filter, int64_t channel, int64_t i)
{
    const double noise = noise_of(truth, filter, channel, i);
    return y_margin(truth, filter, snr_at(truth, filter, channel, i) * noise) / noise;
}

/* ---- crossings and peaks ------------------------------------------------------------------------------------------ */
static bool has_sign(const struct search_truth *truth, double re)
{
    const enum lw_sign sign = truth->data->trial.search.sign;
    return sign == LW_SIGN_BOTH || (sign == LW_SIGN_POSITIVE && re > 0) || (sign == LW_SIGN_NEGATIVE && re < 0);
}

static bool is_crossing(const struct search_truth *truth, int64_t filter, int64_t channel, int64_t i)
{
    return snr_at(truth, filter, channel, i) >= truth->data->trial.search.threshold &&
           has_sign(truth, creal(y_at(truth, filter, channel, i)));
}

/* The number by which the best filter of an output is chosen. */
static double strength_at(const struct search_truth *truth, int64_t filter, int64_t channel, int64_t i)
{
    const double snr = snr_at(truth, filter, channel, i);
    return has_sign(truth, creal(y_at(truth, filter, channel, i))) ? snr : -snr;
}

static bool is_stronger(double snr, int64_t filter, int64_t i, double than, int64_t than_filter, int64_t than_i)
{
    if (snr != than)
        return snr > than;
    return filter != than_filter ? filter < than_filter : i < than_i;
}

struct peak {
    bool is_peak;
    bool is_settled;                /* whether no other output within reach is almost as strong */
    int64_t cluster_size;
};

/* Classify output i as a peak or not, by a look at all outputs within reach. */
static struct peak peak_at(const struct search_truth *truth, int64_t filter, int64_t channel, int64_t i)
{
    const struct trial *const t = &truth->data->trial;
    const int64_t begin = lw_max64(0, i - t->search.cluster), end = lw_min64(truth->data->n_outputs, i + t->search.cluster + 1);
    const double snr = snr_at(truth, filter, channel, i), margin = snr_margin(truth, filter, channel, i);
    struct peak peak = {true, true, 0};
    for (int64_t f = 0; f < t->n_filters; f++) {
        for (int64_t k = begin; k < end && (f == filter || t->search.clusters_filters); k++) {
            const double other = snr_at(truth, f, channel, k);
            if (!has_sign(truth, creal(y_at(truth, f, channel, k))))
                continue;
            peak.cluster_size += is_crossing(truth, f, channel, k);
            peak.is_peak &= !is_stronger(other, f, k, snr, filter, i);
            const bool is_close = fabs(other - snr) < margin + snr_margin(truth, f, channel, k);
            peak.is_settled &= !is_close || (f == filter && k == i);
        }
    }
    return peak;
}

/* Whether any product of the search needs peaks. */
static bool has_peaks(const struct search_truth *truth)
{
    return lw_search_products(&truth->data->trial.search) & LW_PEAKS;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* All SNRs that count, the largest first, and the largest margin. */
static double *sorted_snrs(const struct search_truth *truth, int64_t *n, double *margin)
{
    const struct trial *const t = &truth->data->trial;
    double *const all = calloc((size_t)(t->n_filters * t->n_channels * truth->data->n_outputs) + 1, sizeof *all);
    if (!all)
        abort();
    *n = 0;
    *margin = 0;
    for (int64_t f = 0; f < t->n_filters; f++)
        for (int64_t c = 0; c < t->n_channels; c++)
            for (int64_t i = 0; i < truth->data->n_outputs; i++)
                if (!isnan(snr_at(truth, f, c, i))) {
                    all[(*n)++] = snr_at(truth, f, c, i);
                    *margin = fmax(*margin, snr_margin(truth, f, c, i));
                }
    qsort(all, (size_t)*n, sizeof *all, by_size);
    return all;
}

/* A threshold in the middle of a gap between SNRs. For exact outputs: the SNR of an output, which just reaches it. 0: there is
 * none. */
static double choose_threshold(const struct search_truth *truth, int64_t wanted)
{
    int64_t n;
    double margin, threshold = 0;
    double *const all = sorted_snrs(truth, &n, &margin);
    if (n > 0 && margin == 0)
        threshold = all[lw_min64(wanted, n) - 1];
    for (int64_t k = lw_min64(wanted, n); margin > 0 && k > 0 && threshold == 0; k--) {
        const double below = k < n ? all[k] : 0;
        threshold = all[k - 1] - below > 4 * margin ? (all[k - 1] + below) / 2 : 0;
    }
    free(all);
    return threshold;
}

bool search_truth_settle(const struct search_truth *truth, struct trial_data *data, int64_t wanted)
{
    const struct trial *const t = &truth->data->trial;
    const double threshold = choose_threshold(truth, wanted);
    bool is_settled = threshold > 0;
    data->trial.search.threshold = threshold > 0 ? threshold : 1;
    if (!has_peaks(truth) || truth->margin[0] == 0)
        return true;
    for (int64_t f = 0; f < t->n_filters; f++)
        for (int64_t c = 0; c < t->n_channels; c++)
            for (int64_t i = 0; i < data->n_outputs && is_settled; i++)
                is_settled = !is_crossing(truth, f, c, i) || peak_at(truth, f, c, i).is_settled;
    return is_settled;
}

/* ---- comparison with the found products --------------------------------------------------------------------------------- */
struct check {
    const struct search_truth *truth;
    const struct trial_result *result;
    const struct trial_found *found;
    const char *what;
    char text[256];
};

/* Whether (re, im) is the output, within the margin. */
static bool is_output(const struct check *check, int64_t filter, int64_t channel, int64_t i, double re, double im)
{
    const double complex y = y_at(check->truth, filter, channel, i);
    const double margin = y_margin(check->truth, filter, cabs(y));
    return fabs(re - creal(y)) <= margin && fabs(im - cimag(y)) <= margin;
}

/* Crossings whose returned values are below the threshold do not count: an engine may return a few more than it must. */
static void check_crossings(const struct check *check)
{
    const struct trial *const t = &check->truth->data->trial;
    int64_t n = 0, n_wrong = 0, expected = 0;
    for (int64_t k = 0; k < check->found->n_crossings; k++) {
        const struct lw_crossing *const c = &check->found->crossings[k];
        const double snr = hypot(c->re, c->im) / noise_of(check->truth, c->filter, c->channel, c->index);
        if (!(snr >= t->search.threshold) && has_sign(check->truth, c->re))
            continue;
        n++;
        n_wrong += !is_crossing(check->truth, c->filter, c->channel, c->index) || c->column != 0 ||
                   !is_output(check, c->filter, c->channel, c->index, c->re, c->im);
    }
    for (int64_t f = 0; f < t->n_filters; f++)
        for (int64_t c = 0; c < t->n_channels; c++)
            for (int64_t i = 0; i < check->truth->data->n_outputs; i++)
                expected += is_crossing(check->truth, f, c, i);
    CHECK(n_wrong == 0,
          "%s: %s: %lld reported crossings do not exist or have wrong values", check->what, check->text, (long long)n_wrong);
    CHECK(n == expected, "%s: %s: %lld crossings, there are %lld", check->what, check->text, (long long)n, (long long)expected);
}

/* Check that rows are in the order of the table: index, channel, filter. */
static void check_peaks(const struct check *check)
{
    const struct trial *const t = &check->truth->data->trial;
    const struct lw_peak *const rows = check->found->peaks;
    int64_t n = 0, n_wrong = 0;
    for (int64_t i = 0; i < check->truth->data->n_outputs; i++)
        for (int64_t c = 0; c < t->n_channels; c++)
            for (int64_t f = 0; f < t->n_filters; f++) {
                const struct peak peak = is_crossing(check->truth, f, c, i) ? peak_at(check->truth, f, c, i) : (struct peak){0};
                if (!peak.is_peak)
                    continue;
                const struct lw_peak *const row = &rows[n];
                if (n++ >= check->found->n_peaks)
                    continue;
                n_wrong += row->index != i || row->channel != c || row->filter != f || row->cluster_size != peak.cluster_size ||
                           !is_output(check, f, c, i, row->re, row->im) ||
                           !(fabs(row->snr - snr_at(check->truth, f, c, i)) <=
                             2 * snr_margin(check->truth, f, c, i) + 4 * DBL_EPSILON * row->snr);
            }
    CHECK(n == check->found->n_peaks, "%s: %s: %lld peaks, there are %lld", check->what, check->text,
          (long long)check->found->n_peaks, (long long)n);
    CHECK(n_wrong == 0, "%s: %s: %lld of %lld peaks are wrong", check->what, check->text, (long long)n_wrong, (long long)n);
}

/* Part 0 (real) or 1 (imaginary) of number j of a product's plane and channel. */
static double number_at(const struct check *check, int product, int64_t plane, int64_t channel, int64_t j, int part)
{
    const struct trial *const t = &check->truth->data->trial;
    const struct lw_op_plan *const plan = &check->result->plan;
    const struct lw_type type = plan->products[product].type;
    const int64_t n = lw_op_outputs(plan, product, &(struct lw_block){.count = check->truth->data->n_outputs});
    const int64_t at = t->layout == LW_TIME_FAST ? (plane * t->n_channels + channel) * n + j
                                                 : (plane * n + j) * t->n_channels + channel;
    const char *const from = check->found->arrays[product] + (size_t)at * lw_type_bytes(type);
    if (part == 1 && !type.is_complex)
        return 0;
    switch (type.scalar) {
    case LW_INT32: return ((const int32_t *)(const void *)from)[part];
    case LW_FLOAT32: return (double)((const float *)(const void *)from)[part];
    case LW_FLOAT64: return ((const double *)(const void *)from)[part];
    default: abort();
    }
}

/* The best filter at output i among those that count, or -1; the lower of two equals. */
static int64_t best_at(const struct search_truth *truth, int64_t channel, int64_t i)
{
    int64_t best = -1;
    for (int64_t f = 0; f < truth->data->trial.n_filters; f++) {
        const double strength = strength_at(truth, f, channel, i);
        if (!isnan(strength) && (best < 0 || strength > strength_at(truth, best, channel, i)))
            best = f;
    }
    return best;
}

/* Whether `filter` is the best at output i. Any of the filters that the margins cannot separate will do. */
static bool is_best(const struct check *check, int64_t channel, int64_t i, int64_t filter, double re, double im)
{
    const struct search_truth *const truth = check->truth;
    const int64_t best = best_at(truth, channel, i);
    if (best < 0 || filter == best)
        return filter == best && (best < 0 ? isnan(re) : is_output(check, filter, channel, i, re, im));
    if (filter < 0 || filter >= truth->data->trial.n_filters)
        return false;
    const double margin = snr_margin(truth, best, channel, i) + snr_margin(truth, filter, channel, i);
    return strength_at(truth, best, channel, i) - strength_at(truth, filter, channel, i) < margin &&
           is_output(check, filter, channel, i, re, im);
}

static void check_best(const struct check *check, int value, int number)
{
    int64_t n_wrong = 0, at = 0;
    for (int64_t c = 0; c < check->truth->data->trial.n_channels; c++)
        for (int64_t i = 0; i < check->truth->data->n_outputs; i++) {
            const double re = number_at(check, value, 0, c, i, 0), im = number_at(check, value, 0, c, i, 1);
            if (is_best(check, c, i, (int64_t)number_at(check, number, 0, c, i, 0), re, im))
                continue;
            n_wrong++;
            at = i;
        }
    CHECK(n_wrong == 0, "%s: %s: %lld wrong as the best, one is %lld", check->what, check->text, (long long)n_wrong, (long long)at);
}

/* A block of a filter and channel by its definition. */
static double complex block_at(const struct search_truth *truth, enum lw_op_product_kind kind, int64_t f, int64_t c, int64_t j,
                               double *largest)
{
    const int64_t every = truth->data->trial.search.every, begin = j * every, end = lw_min64(begin + every, truth->data->n_outputs);
    const double n = (double)(end - begin);
    double complex sum = 0;
    long double squares = 0;
    *largest = 0;
    for (int64_t i = begin; i < end; i++)
        *largest = fmax(*largest, cabs(y_at(truth, f, c, i)));
    for (int64_t i = begin; i < end; i++) {
        const long double size = cabs(y_at(truth, f, c, i));
        sum += y_at(truth, f, c, i) / n;
        squares += size * size;
    }
    if (kind == LW_OP_BLOCK_MEAN)
        return sum;
    return kind == LW_OP_BLOCK_RMS || isnan((double)squares) ? (double)sqrtl(squares / (long double)n) : *largest;
}

/* Means and roots of means are off by at most the error of the outputs, and their own rounding. */
static bool is_block(const struct check *check, int product, int64_t f, int64_t c, int64_t j)
{
    const enum lw_op_product_kind kind = check->result->plan.products[product].kind;
    double largest;
    const double complex want = block_at(check->truth, kind, f, c, j, &largest);
    const double rounding = check->truth->data->trial.precision == LW_SINGLE ? FLT_EPSILON : 8 * DBL_EPSILON;
    const double margin = y_margin(check->truth, f, largest) + rounding * largest;
    const double re = number_at(check, product, f, c, j, 0), im = number_at(check, product, f, c, j, 1);
    if (isnan(creal(want)))
        return isnan(re) && (isnan(im) || !check->result->plan.products[product].type.is_complex);
    return fabs(re - creal(want)) <= margin && fabs(im - cimag(want)) <= margin;
}

static void check_blocks(const struct check *check, int product)
{
    const struct trial *const t = &check->truth->data->trial;
    const int64_t n = lw_divide_up(check->truth->data->n_outputs, t->search.every);
    int64_t n_wrong = 0, at = 0;
    for (int64_t f = 0; f < t->n_filters; f++)
        for (int64_t c = 0; c < t->n_channels; c++)
            for (int64_t j = 0; j < n; j++)
                if (!is_block(check, product, f, c, j)) {
                    n_wrong++;
                    at = j;
                }
    CHECK(n_wrong == 0, "%s: %s: product %d: %lld wrong blocks, one is %lld", check->what, check->text, product,
          (long long)n_wrong, (long long)at);
}

void search_truth_check(const struct search_truth *truth, const struct trial_result *result, const struct trial_found *found,
                        const char *what)
{
    struct check check = {truth, result, found, what, ""};
    trial_text(&truth->data->trial, check.text);
    if (has_peaks(truth)) {
        check_crossings(&check);
        check_peaks(&check);
    }
    for (int p = 0; p < result->plan.n_products; p++) {
        const enum lw_op_product_kind kind = result->plan.products[p].kind;
        if (kind == LW_OP_BEST_VALUE)
            check_best(&check, p, lw_op_find_product(&result->plan, LW_OP_BEST_FILTER));
        if (kind == LW_OP_BLOCK_MAX || kind == LW_OP_BLOCK_MEAN || kind == LW_OP_BLOCK_RMS)
            check_blocks(&check, p);
    }
}
