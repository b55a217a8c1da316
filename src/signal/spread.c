#include "signal/spread.h"

#include "base/integers.h"

/* SHIFT: mantissa bits that a bin drops. END: exponent of numbers that are not finite. */
enum { SINGLE_SHIFT = 23 - LW_SPREAD_BITS, DOUBLE_SHIFT = 52 - LW_SPREAD_BITS, SINGLE_END = 255, DOUBLE_END = 2047 };

/* Sigma has converged when a step changes it by less than this part. About ten steps suffice. */
#define STANDS 1e-6
enum { MOST_STEPS = 100 };

/* Bins beyond this many medians are left out of the sums of squares, which might overflow. Clipping never reaches them. */
#define FAR 1e100

/* Prefetch distance: values of interleaved series lie far apart, so they are requested this many steps before they are counted. */
enum { AHEAD = 32 };

/* ---- counts -------------------------------------------------------------------------------------------------------- */

int64_t lw_spread_bins(enum lw_precision precision)
{
    return ((int64_t)1 << (LW_SPREAD_BITS + (precision == LW_SINGLE ? 8 : 11))) + 1;
}

static int64_t bin_of_single(float y)
{
    uint32_t bits;
    memcpy(&bits, &y, sizeof bits);
    return ((bits & INT32_MAX) + (1u << (SINGLE_SHIFT - 1))) >> SINGLE_SHIFT;
}

static int64_t bin_of_double(double y)
{
    uint64_t bits;
    memcpy(&bits, &y, sizeof bits);
    return (int64_t)(((bits & INT64_MAX) + ((uint64_t)1 << (DOUBLE_SHIFT - 1))) >> DOUBLE_SHIFT);
}

/* Return |y|, also where its square would overflow. */
static double modulus_of_double(const double y[2])
{
    const double a = fabs(y[0]), b = fabs(y[1]), larger = fmax(a, b), ratio = larger > 0 ? fmin(a, b) / larger : 0;
    return isnan(a + b) ? NAN : larger * sqrt(1 + ratio * ratio);
}

static float modulus_of_single(const float y[2])
{
    return (float)sqrt((double)y[0] * (double)y[0] + (double)y[1] * (double)y[1]);
}

/* The bins of n <= LW_SPREAD_SERIES consecutive values. */
static inline void find_bins(enum lw_precision precision, bool is_complex, const void *values, int n, uint32_t *bins)
{
    const float *const singles = values;
    const double *const doubles = values;
    for (int j = 0; j < n; j++)
        if (precision == LW_SINGLE)
            bins[j] = (uint32_t)bin_of_single(is_complex ? modulus_of_single(singles + 2 * j) : singles[j]);
        else
            bins[j] = (uint32_t)bin_of_double(is_complex ? modulus_of_double(doubles + 2 * j) : doubles[j]);
}

/* Count values of one kind. The callers pass constants for precision and is_complex, so that the compiler makes a loop for each
 * kind. @param skip_stride  places from the skip mark of value i to that of value i + 1 */
static inline void count_of(enum lw_precision precision, bool is_complex, const struct lw_spread_values *v, int64_t skip_stride,
                            uint32_t *counts, int64_t pitch)
{
    const size_t bytes = (precision == LW_SINGLE ? sizeof(float) : sizeof(double)) * (is_complex ? 2 : 1);
    const char *const values = v->values;
    const int n = v->n_series;
    uint32_t bins[LW_SPREAD_SERIES];
    for (int64_t i = 0; i < v->n; i++) {
        __builtin_prefetch(values + (size_t)(lw_min64(i + AHEAD, v->n - 1) * v->stride) * bytes);
        find_bins(precision, is_complex, values + (size_t)(i * v->stride) * bytes, n == LW_SPREAD_SERIES ? LW_SPREAD_SERIES : n,
                  bins);
        for (int k = 0; k < n; k++)
            if (!v->skip || !v->skip[k * v->skip_pitch + i * skip_stride])
                counts[k * pitch + bins[k]]++;
    }
}

static void count(const struct lw_spread_values *v, int64_t skip_stride, uint32_t *counts, int64_t pitch)
{
    if (v->precision == LW_SINGLE && v->is_complex)
        count_of(LW_SINGLE, true, v, skip_stride, counts, pitch);
    else if (v->precision == LW_SINGLE)
        count_of(LW_SINGLE, false, v, skip_stride, counts, pitch);
    else if (v->is_complex)
        count_of(LW_DOUBLE, true, v, skip_stride, counts, pitch);
    else
        count_of(LW_DOUBLE, false, v, skip_stride, counts, pitch);
}

/* A contiguous series is counted as rows of LW_SPREAD_SERIES values and a shorter last row. All columns share one histogram. */
void lw_spread_count(const struct lw_spread_values *values, uint32_t *counts, int64_t pitch)
{
    const int64_t row = LW_SPREAD_SERIES, whole = values->n / row * row;
    const size_t bytes = (values->precision == LW_SINGLE ? sizeof(float) : sizeof(double)) * (values->is_complex ? 2 : 1);
    struct lw_spread_values rows = *values;
    if (values->stride > 1) {
        count(values, 1, counts, pitch);
        return;
    }
    rows.n = whole / row;
    rows.stride = row;
    rows.n_series = LW_SPREAD_SERIES;
    rows.skip_pitch = 1;
    count(&rows, row, counts, 0);
    rows.n = values->n > whole ? 1 : 0;
    rows.n_series = (int)(values->n - whole);
    rows.values = (const char *)values->values + (size_t)whole * bytes;
    rows.skip = values->skip ? values->skip + whole : NULL;
    count(&rows, row, counts, 0);
}

/* Return whether LW_SPREAD_SERIES bins are empty. */
static bool are_empty(const uint32_t *counts)
{
    uint32_t any = 0;
    for (int j = 0; j < LW_SPREAD_SERIES; j++)
        any |= counts[j];
    return any == 0;
}

void lw_spread_range(const uint32_t *counts, int64_t n, int64_t *first, int64_t *end)
{
    int64_t i = 0, j = n;
    while (i + LW_SPREAD_SERIES <= n && are_empty(counts + i))
        i += LW_SPREAD_SERIES;
    while (i < n && counts[i] == 0)
        i++;
    while (j - LW_SPREAD_SERIES >= i && are_empty(counts + j - LW_SPREAD_SERIES))
        j -= LW_SPREAD_SERIES;
    while (j > i && counts[j - 1] == 0)
        j--;
    *first = i < j ? i : 0;
    *end = i < j ? j : 0;
}

/* ---- sigma --------------------------------------------------------------------------------------------------------- */

/* Sums over all bins below bin first + i, for 0 <= i <= n: numbers of values, and their squares in units of the median squared. */
struct sums {
    enum lw_precision precision;
    int64_t first, n;
    const double *counts, *squares;
    double median;
};

/* Return the lower edge of a bin. */
static double edge_of(enum lw_precision precision, int64_t bin)
{
    if (bin <= 0)
        return 0;
    if (precision == LW_SINGLE) {
        const uint32_t bits = ((uint32_t)bin << SINGLE_SHIFT) - (1u << (SINGLE_SHIFT - 1));
        float edge;
        memcpy(&edge, &bits, sizeof edge);
        return (double)edge;
    }
    const uint64_t bits = ((uint64_t)bin << DOUBLE_SHIFT) - ((uint64_t)1 << (DOUBLE_SHIFT - 1));
    double edge;
    memcpy(&edge, &bits, sizeof edge);
    return edge;
}

/* Return the median of the values; 0 if at least half of the values are 0. */
static double median_of(const struct sums *sums)
{
    const double half = sums->counts[sums->n] / 2;
    int64_t i = 0;
    while (sums->counts[i + 1] < half)
        i++;
    const double low = edge_of(sums->precision, sums->first + i), high = edge_of(sums->precision, sums->first + i + 1);
    const double part = (half - sums->counts[i]) / (sums->counts[i + 1] - sums->counts[i]);
    return sums->first + i == 0 ? 0 : low + part * (high - low);
}

/* Return the root mean square of the values below `most`, both in units of the median; 0 if there are no such values. */
static double clipped(const struct sums *sums, double most)
{
    const double value = most * sums->median;
    const int64_t bin = sums->precision == LW_SINGLE ? bin_of_single((float)value) : bin_of_double(value);
    const int64_t i = lw_min64(lw_max64(bin - sums->first, 0), sums->n - 1);
    const double low = edge_of(sums->precision, sums->first + i) / sums->median;
    const double high = edge_of(sums->precision, sums->first + i + 1) / sums->median;
    const double end = fmin(fmax(most, low), high), part = (end - low) / (high - low);
    const double some = part * (sums->counts[i + 1] - sums->counts[i]), n = sums->counts[i] + some;
    const double squares = sums->squares[i] + some * (low * low + low * end + end * end) / 3;
    return n > 0 ? sqrt(squares / n) : 0;
}

static double find_sigma(const struct sums *sums, bool is_complex)
{
    /* `unit`: root mean square of |y| below LW_SPREAD_CLIP in unit noise. `sigma`, in medians of |y|, starts as in pure noise. */
    static const double c = LW_SPREAD_CLIP, root_of_two_pi = 2.50662827463100050, root_of_two = 1.41421356237309505;
    const double unit = is_complex ? sqrt(1 - c * c / (exp(c * c) - 1))
                                   : sqrt(1 - 2 * c * exp(-c * c / 2) / root_of_two_pi / erf(c / root_of_two));
    double sigma = 1 / (is_complex ? sqrt(log(2)) : 0.674489750196081743);
    for (int step = 0; step < MOST_STEPS; step++) {
        const double next = clipped(sums, LW_SPREAD_CLIP * sigma) / unit;
        if (!(next > 0))
            break;
        const bool stands = fabs(next / sigma - 1) < STANDS;
        sigma = next;
        if (stands)
            break;
    }
    return sigma * sums->median;
}

/* Replace each value by the sum of the values before it. @return  the sum of all */
static double add_up(double *values, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const double its = values[i];
        values[i] = sum;
        sum += its;
    }
    return sum;
}

double lw_spread_sigma(enum lw_precision precision, bool is_complex, int64_t first, double *counts, int64_t n, double *work,
                       double *n_finite)
{
    const int64_t end = (int64_t)(precision == LW_SINGLE ? SINGLE_END : DOUBLE_END) << LW_SPREAD_BITS;
    n = lw_min64(n, end + 1 - first);      /* drop non-finite values; entry n - 1 becomes the sum of all finite bins */
    *n_finite = 0;
    if (n < 2)
        return 0;
    counts[n - 1] = 0;
    *n_finite = add_up(counts, n);
    struct sums sums = {.precision = precision, .first = first, .n = n - 1, .counts = counts, .squares = work};
    if (*n_finite == 0 || (sums.median = median_of(&sums)) == 0)
        return 0;
    double low = edge_of(precision, first) / sums.median;
    for (int64_t i = 0; i < n - 1; i++) {
        const double high = edge_of(precision, first + i + 1) / sums.median;
        work[i] = high < FAR ? (counts[i + 1] - counts[i]) * (low * low + low * high + high * high) / 3 : 0;
        low = high;
    }
    work[n - 1] = 0;
    add_up(work, n);
    return find_sigma(&sums, is_complex);
}
