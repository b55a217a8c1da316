#include "io/hdf5/conventions/conventions.h"

#include "base/memory.h"
#include "io/hdf5/attribute.h"
#include "io/hdf5/library.h"

#include <float.h>
#include <stdio.h>

/* Most times that are checked; of a longer list, every n-th time is checked. */
enum { LOOKED_AT = 4096 };

#define NS_PER_S INT64_C(1000000000)

/* ---- numbers -------------------------------------------------------------------------------------------------------- */

/* The times of a list, as stored. */
struct list {
    hid_t dataset;
    hsize_t length, stride;
    bool is_whole;              /* the times are integers, in `whole`; false: floats, in `real` */
    double epsilon;             /* relative rounding of the floats */
    int count;                  /* number of times that were read, with the last one */
    int64_t whole[LOOKED_AT + 1];
    double real[LOOKED_AT + 1];
};

static bool read_some(struct list *list, hsize_t first, hsize_t stride, hsize_t count, int into)
{
    return list->is_whole ? lw_hdf5_read_list(list->dataset, H5T_NATIVE_INT64, first, stride, count, list->whole + into)
                          : lw_hdf5_read_list(list->dataset, H5T_NATIVE_DOUBLE, first, stride, count, list->real + into);
}

/* Read a list [n], or [1 x n] as some programs write it. The last time is always read. */
static bool read_list(struct list *list, struct lw_error *err)
{
    hsize_t dims[H5S_MAX_RANK];
    int n_long = 0;
    const int n_dims = lw_hdf5_shape(list->dataset, dims);
    LW_CLOSED const hid_t type = H5Dget_type(list->dataset);
    const H5T_class_t class = H5Tget_class(type);
    list->is_whole = class == H5T_INTEGER;
    list->epsilon = H5Tget_size(type) < 8 ? FLT_EPSILON : DBL_EPSILON;
    list->length = n_dims > 0;
    for (int d = 0; d < n_dims; d++)
        if (dims[d] != 1) {
            list->length = dims[d];
            n_long++;
        }
    if ((class != H5T_INTEGER && class != H5T_FLOAT) || n_long > 1 || list->length == 0)
        return false;
    list->stride = (list->length + LOOKED_AT - 1) / LOOKED_AT;
    const hsize_t count = (list->length + list->stride - 1) / list->stride;
    list->count = (int)count + 1;
    if (read_some(list, 0, list->stride, count, 0) && read_some(list, list->length - 1, 1, 1, (int)count))
        return true;
    lw_attribute_broken(list->dataset, "the times", err);
    return false;
}

static hsize_t place_of(const struct list *list, int i)
{
    return i == list->count - 1 ? list->length - 1 : (hsize_t)i * list->stride;
}

static double value_of(const struct list *list, int i)
{
    return list->is_whole ? (double)list->whole[i] : list->real[i];
}

/* Return time i minus the first time; the difference of integers is exact, even where doubles could not hold both. */
static double since_first(const struct list *list, int i)
{
    int64_t whole;
    if (!list->is_whole)
        return list->real[i] - list->real[0];
    return __builtin_sub_overflow(list->whole[i], list->whole[0], &whole) ? NAN : (double)whole;
}

/* Return whether each time is later than the time before it; the last time may have been read twice. */
static bool is_increasing(const struct list *list)
{
    for (int i = 0; i < list->count; i++)
        if (!isfinite(since_first(list, i)))
            return false;
    for (int i = 1; i < list->count; i++)
        if (place_of(list, i) > place_of(list, i - 1) && !(since_first(list, i) > since_first(list, i - 1)))
            return false;
    return true;
}

/* ---- units ---------------------------------------------------------------------------------------------------------- */

/* Find the unit. Times that would lie in 1973 to 5138 if counted from 1970 are taken to be counted from 1970. */
static void find_unit(const struct list *list, const char *said, char unit[64], struct lw_error *err)
{
    static const char *const names[] = {"units", "unit", "Uom", "Units", NULL}, *const units[] = {"s", "ms", "us", "ns"};
    char guess[64] = "";
    double seconds = value_of(list, 0);
    if (said[0])
        snprintf(unit, 64, "%s", said);
    else
        lw_attribute_read_first(list->dataset, names, unit, 64, err);
    for (size_t u = 0; u < sizeof units / sizeof *units && !guess[0]; u++, seconds *= 1e-3)
        if (seconds >= 1e8 && seconds < 1e11)
            snprintf(guess, sizeof guess, "%s since 1970-01-01", units[u]);
    if (!unit[0])
        snprintf(unit, 64, "%s", guess[0] || list->is_whole ? guess : "s");
    else if (!strstr(unit, " since ") && guess[0] && lw_sampling_unit_seconds(unit) == lw_sampling_unit_seconds(guess))
        snprintf(unit, 64, "%s", guess);
}

/* ---- to nanoseconds -------------------------------------------------------------------------------------------------- */

/* Convert a time to ns since the unit's epoch. */
static bool in_nanoseconds(const struct list *list, int i, double unit_s, int64_t *ns)
{
    const int64_t unit_ns = llrint(unit_s * 1e9);
    const double rounded = rint(value_of(list, i) * unit_s * 1e9);
    if (list->is_whole)
        return unit_ns > 0 && !__builtin_mul_overflow(list->whole[i], unit_ns, ns);
    *ns = fabs(rounded) < 9e18 ? (int64_t)rounded : 0;
    return fabs(rounded) < 9e18;
}

/* Return the resolution of the list's largest float, ns; 1 or more means that the times are dates. */
static double resolution_ns(const struct list *list, double unit_s)
{
    const double largest = fmax(fabs(value_of(list, 0)), fabs(value_of(list, list->count - 1)));
    return list->is_whole ? 0 : list->epsilon * exp2(floor(log2(fmax(largest, DBL_MIN)))) * unit_s * 1e9;
}

static int count_zeros(int64_t number)
{
    int zeros = 0;
    for (; number > 0 && number % 10 == 0; number /= 10)
        zeros++;
    return zeros;
}

/* Find a step of whole nanoseconds that leads from the first time to the last within `tolerance`: the step with the most zeros at
 * its end, or the shortest of several. 0: there is none. */
static int64_t find_round_step(double span, double intervals, double tolerance)
{
    enum { MOST = 1000 };
    const int64_t first = (int64_t)ceil((span - tolerance) / intervals);
    const double last = (span + tolerance) / intervals;
    int64_t best = 0;
    for (int64_t step = first > 1 ? first : 1; (double)step <= last && step < first + MOST; step++)
        if (best == 0 || count_zeros(step) > count_zeros(best))
            best = step;
    return best;
}

/* Set the period: by a rate of whole hertz if the span allows one, else by a step. @param tolerance_ns  accuracy of the span */
static void choose_step(const struct list *list, double span_ns, double tolerance_ns, struct lw_times *out)
{
    const int64_t intervals = (int64_t)list->length - 1;
    int64_t step = 0, denominator;
    const bool is_exact = list->is_whole && out->span_ns % intervals == 0;
    const double rate = nearbyint((double)intervals * 1e9 / span_ns);
    if (!is_exact && rate >= 1 && rate < 1e15 && fabs((double)intervals * 1e9 / rate - span_ns) <= tolerance_ns &&
        lw_period_make(1, (int64_t)rate, &out->period))
        return;
    if (!list->is_whole)
        step = find_round_step(span_ns, (double)intervals, tolerance_ns);
    if (step > 0)
        lw_period_make(step, NS_PER_S, &out->period);
    else if (!__builtin_mul_overflow(intervals, NS_PER_S, &denominator))
        lw_period_make(out->span_ns, denominator, &out->period);
}

/* Return whether no time is missing or doubled. Clocks may drift by a thousandth. */
static bool is_regular(const struct list *list)
{
    const double step = since_first(list, list->count - 1) / (double)(list->length - 1);
    for (int i = 1; i < list->count; i++) {
        const double n = (double)(place_of(list, i) - place_of(list, i - 1));
        if (n > 0 && !(fabs(since_first(list, i) - since_first(list, i - 1) - n * step) <= (0.5 + 2e-3 * n) * step))
            return false;
    }
    return true;
}

static bool take_first(int64_t ns, struct lw_times *out)
{
    struct lw_instant epoch, since;
    const char *const date = strstr(out->unit, " since ");
    if (!date)
        return true;
    if (!lw_instant_parse(date + strlen(" since "), &epoch) || !lw_instant_from_ticks(ns, NS_PER_S, &since))
        return false;
    const int64_t attoseconds = epoch.attoseconds + since.attoseconds, carry = attoseconds >= LW_ATTOSECONDS;
    out->first = (struct lw_instant){epoch.seconds + since.seconds + carry, attoseconds - carry * LW_ATTOSECONDS};
    out->has_date = true;
    return true;
}

/* Set the period of short times. Their step is a difference of rounded numbers, so a rate whole within rounding becomes whole. */
static void take_rounded_rate(const struct list *list, double unit_s, struct lw_times *out)
{
    const double first = value_of(list, 0), last = value_of(list, list->count - 1);
    const double rate = (double)(list->length - 1) / ((last - first) * unit_s), whole = nearbyint(rate);
    out->rate_accuracy = 2 * list->epsilon * fmax(fabs(first), fabs(last)) / (last - first);
    if (!lw_period_from_rate(fabs(rate - whole) <= out->rate_accuracy * whole ? whole : rate, &out->period))
        out->period = (struct lw_period){0};
}

static void take_step(const struct list *list, double unit_s, struct lw_times *out)
{
    int64_t first, last;
    const int end = list->count - 1;
    const double resolution = resolution_ns(list, unit_s), span = since_first(list, end) * unit_s;
    const bool is_short = !list->is_whole && resolution < 1;
    double jitter = 0;          /* largest distance of a time from the line through the first and the last */
    for (int i = 1; i < list->count; i++)
        jitter = fmax(jitter, fabs(since_first(list, i) -
                                   since_first(list, end) * ((double)place_of(list, i) / (double)(list->length - 1))));
    out->span_s = span;
    out->rounding_s = jitter * unit_s + resolution * 1e-9;
    if (!is_short && (!in_nanoseconds(list, 0, unit_s, &first) || !in_nanoseconds(list, end, unit_s, &last) ||
                      __builtin_sub_overflow(last, first, &out->span_ns)))
        return;
    if (!is_regular(list))
        return;
    if (is_short)
        take_rounded_rate(list, unit_s, out);
    else
        choose_step(list, span * 1e9, list->is_whole ? unit_s * 1e9 : resolution, out);
}

/* Fill *out from a list. The date of short times is left to lw_sampling_settle, which reads the start as a decimal number. */
static bool take_list(struct list *list, const char *unit, struct lw_times *out, struct lw_error *err)
{
    int64_t first;
    int last = list->count - 1;
    /* A logger may reserve room for more times than it writes: zeros behind the last time are cut off. */
    while (last > 0 && value_of(list, last) == 0 && value_of(list, 0) > 0)
        last--;
    list->length = place_of(list, last) + 1;
    list->count = last + 1;
    if (!is_increasing(list))
        return false;
    find_unit(list, unit, out->unit, err);
    const double unit_s = lw_sampling_unit_seconds(out->unit);
    if (unit_s == 0)
        return false;
    out->n = (int64_t)list->length;
    out->start = value_of(list, 0);
    const bool is_exact = list->is_whole || resolution_ns(list, unit_s) >= 1;
    if (is_exact && (!in_nanoseconds(list, 0, unit_s, &first) || !take_first(first, out)))
        return false;
    if (list->length > 1)
        take_step(list, unit_s, out);
    return true;
}

bool lw_times_read(hid_t file, const char *path, const char *unit, struct lw_times *out, struct lw_error *err)
{
    LW_FREED struct list *const list = lw_alloc(sizeof *list, "times", NULL);
    *out = (struct lw_times){0};
    snprintf(out->path, sizeof out->path, "%s", path);
    bool done = false;
    if (list && (list->dataset = lw_place_open_dataset(file, path)) >= 0) {
        done = read_list(list, err) && take_list(list, unit, out, err);
        H5Dclose(list->dataset);
    }
    return done;
}

/* ---- what the axis takes --------------------------------------------------------------------------------------------- */

void lw_times_take_start(const struct lw_times *times, struct lw_axis_metadata *axis)
{
    if (times->has_date) {
        axis->scale = LW_TIME_UTC;
        axis->instant = times->first;
        axis->has_start = false;
        return;
    }
    axis->has_start = true;
    axis->start = times->start;
    snprintf(axis->start_unit, sizeof axis->start_unit, "%s", times->unit);
}

void lw_times_take_rate(const struct lw_times *times, struct lw_axis_metadata *axis)
{
    if (times->period.numerator == 0)
        return;
    axis->period = times->period;
    axis->sample_rate_hz = lw_period_rate(times->period);
    axis->rate_accuracy = times->rate_accuracy;
    snprintf(axis->source, sizeof axis->source, "times %.100s", times->path);
}

int lw_times_check(const struct lw_times *times, const struct lw_axis_metadata *axis, struct lw_error *err)
{
    const double period = axis->period.numerator > 0 ? lw_period_seconds(axis->period) : 1 / axis->sample_rate_hz;
    const double intervals = (double)(times->n - 1), rounded = 1e-5 + axis->rate_accuracy + times->rate_accuracy;
    const double allowed = 2 * fmin(times->rounding_s, 0.5 * period) + rounded * times->span_s;
    if (times->n < 2 || !(period > 0) || fabs(intervals * period - times->span_s) <= allowed)
        return LW_OK;
    return lw_fail(err, LW_EDATA, "the sampling rate is %.12g Hz by %s, and %.12g Hz by the times in %.300s: choose one with "
                   "--sample-rate", 1 / period, axis->source, intervals / times->span_s, times->path);
}

bool lw_times_from_seconds(double seconds, struct lw_instant *out)
{
    const double ns = rint(seconds * 1e9);
    return fabs(ns) < 9e18 && lw_instant_from_ticks((int64_t)ns, NS_PER_S, out);
}

/* Steps below 1 us are left out: those of radio receivers are not whole numbers of nanoseconds. */
bool lw_times_step(double seconds, struct lw_period *out)
{
    const double ns = rint(seconds * 1e9);
    return ns >= 1000 && ns < 9e18 && lw_period_make((int64_t)ns, NS_PER_S, out);
}
