#include "design/whiten.h"

#include "base/integers.h"
#include "base/memory.h"
#include "design/transform.h"

#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <string.h>

int64_t lw_whitened_taps(int64_t n_taps, int64_t n) { return n_taps + 2 * n - 4; }

/* Everything that all filters share. */
struct whitener {
    const struct lw_whiten_spec *spec;
    int64_t points;                     /* length of the transforms that convolve: a power of two, >= the whitened taps */
    struct lw_transform *forward, *backward;            /* forward and backward, of length `points` */
    struct lw_transform *of_segment, *from_segment;     /* forward and backward, of length n */
    double *weight;                     /* [points]: the transform of w, divided by `points` */
    double *work;                       /* [n_threads + 1][doubles] data of each thread's transform, and find_weight's */
    int64_t doubles;                    /* doubles for the data of one transform of either length */
};

static int64_t points_for(int64_t n_taps, int64_t n)
{
    int64_t points = 1;
    while (points < lw_whitened_taps(n_taps, n))
        points *= 2;
    return points;
}

/* Each thread holds the data of one transform, and find_weight of another. FFTW allocates about as much as one more. */
int64_t lw_whiten_bytes(int64_t n_taps, int64_t n, int n_threads)
{
    const int64_t points = points_for(n_taps, n);
    return ((n_threads + 2) * lw_transform_doubles(LW_TRANSFORM_FORWARD, lw_max64(points, n)) + points) * (int64_t)sizeof(double);
}

static int open_whitener(const struct lw_whiten_spec *spec, struct whitener *w, struct lw_error *err)
{
    *w = (struct whitener){.spec = spec, .points = points_for(spec->n_taps, spec->n)};
    w->doubles = lw_transform_doubles(LW_TRANSFORM_FORWARD, lw_max64(w->points, spec->n));
    int rc;
    if ((rc = lw_transform_create(LW_TRANSFORM_FORWARD, w->points, &w->forward, err)) ||
        (rc = lw_transform_create(LW_TRANSFORM_BACKWARD, w->points, &w->backward, err)) ||
        (rc = lw_transform_create(LW_TRANSFORM_FORWARD, spec->n, &w->of_segment, err)) ||
        (rc = lw_transform_create(LW_TRANSFORM_BACKWARD, spec->n, &w->from_segment, err)))
        return rc;
    if (!(w->weight = lw_alloc_array(w->points, sizeof *w->weight, "whitened filters", err)) ||
        !(w->work = lw_alloc_array((spec->n_threads + 1) * w->doubles, sizeof *w->work, "whitened filters", err)))
        return LW_ESYSTEM;
    return LW_OK;
}

/* ---- the inverse spectrum -------------------------------------------------------------------------------------------- */

/* Set `numbers` to 1 / sqrt(S) at all n frequencies, negative ones behind the positive ones. */
static int invert(const struct lw_whiten_spec *spec, double *numbers, struct lw_error *err)
{
    const int64_t n = spec->n;
    memset(numbers, 0, (size_t)(2 * n) * sizeof *numbers);
    for (int64_t k = 1; k < n / 2; k++) {
        const double hz = (double)k * spec->rate_hz / (double)n, inverse = 1 / sqrt(spec->spectrum[k]);
        if (hz < spec->low_hz || hz > spec->high_hz)
            continue;
        if (!isfinite(inverse))
            return lw_fail(err, LW_EDATA, "the power spectrum is %.3g at %.6g Hz, and filters cannot be divided by it: exclude "
                           "such frequencies with --whiten TIME,band=LOW:HIGH", spec->spectrum[k], hz);
        numbers[2 * k] = numbers[2 * (n - k)] = inverse;
    }
    return LW_OK;
}

static int find_weight(struct whitener *w, struct lw_error *err)
{
    const int64_t points = w->points, n = w->spec->n;
    double *const numbers = w->work, *const q = w->work + w->doubles;
    const int rc = invert(w->spec, q, err);
    if (rc)
        return rc;
    lw_transform_run(w->from_segment, q);
    /* the windowed q: n samples around t = 0, padded to `points` samples, with negative times at the end */
    memset(numbers, 0, (size_t)(2 * points) * sizeof *numbers);
    for (int64_t t = 1 - n / 2; t < n / 2; t++) {
        const double c = cos(M_PI * (double)t / (double)n);
        numbers[2 * (t < 0 ? t + points : t)] = c * c * q[2 * (t < 0 ? t + n : t)] / (double)n;
    }
    lw_transform_run(w->forward, numbers);
    for (int64_t k = 0; k < points; k++)
        w->weight[k] = numbers[2 * k] * numbers[2 * k] / (double)points;
    return LW_OK;
}

/* ---- one filter ------------------------------------------------------------------------------------------------------ */

/* Set `taps` to h convolved with w; sample 0 of w meets the middle. */
static void convolve(const struct whitener *w, int filter, double *work, double *taps)
{
    const struct lw_whiten_spec *const spec = w->spec;
    const int64_t points = w->points, n_taps = lw_whitened_taps(spec->n_taps, spec->n), before = spec->n - 2;
    memset(work, 0, (size_t)(2 * points) * sizeof *work);
    lw_stored_filter(&spec->filters, spec->n_taps, filter, work);
    for (int64_t m = spec->n_taps - 1; spec->parts == 1 && m > 0; m--) {        /* real taps become complex in place */
        work[2 * m] = work[m];
        work[m] = 0;
    }
    lw_transform_run(w->forward, work);
    for (int64_t k = 0; k < points; k++) {
        work[2 * k] *= w->weight[k];
        work[2 * k + 1] *= w->weight[k];
    }
    lw_transform_run(w->backward, work);
    for (int64_t m = 0; m < n_taps; m++)
        for (int p = 0; p < spec->parts; p++)
            taps[m * spec->parts + p] = work[2 * (m < before ? m - before + points : m - before) + p];
}

/* The power of the noise behind a filter. Folding the taps to n samples gives the response at just the n frequencies needed. */
static double output_power(const struct whitener *w, const double *taps, double *work)
{
    const struct lw_whiten_spec *const spec = w->spec;
    const int64_t n = spec->n, n_taps = lw_whitened_taps(spec->n_taps, n);
    double power = 0;
    memset(work, 0, (size_t)(2 * n) * sizeof *work);
    for (int64_t m = 0; m < n_taps; m++)
        for (int p = 0; p < spec->parts; p++)
            work[2 * (m % n) + p] += taps[m * spec->parts + p];
    lw_transform_run(w->of_segment, work);
    for (int64_t k = 0; k < n; k++) {
        const int64_t folded = k <= n / 2 ? k : n - k;
        const double two_sided = spec->spectrum[folded] / (folded == 0 || folded == n / 2 ? 1 : 2);
        const double noise = two_sided * spec->rate_hz / (double)n;     /* density times distance of two frequencies */
        power += noise * (work[2 * k] * work[2 * k] + work[2 * k + 1] * work[2 * k + 1]);
    }
    return power;
}

int lw_whiten(const struct lw_whiten_spec *spec, double *taps, struct lw_error *err)
{
    const int64_t values = lw_whitened_taps(spec->n_taps, spec->n) * spec->parts;
    struct whitener w;
    int bad = spec->n_filters;
    int rc;
    if ((rc = open_whitener(spec, &w, err)) || (rc = find_weight(&w, err)))
        goto done;
    #pragma omp parallel for num_threads(spec->n_threads) schedule(static) reduction(min : bad)
    for (int f = 0; f < spec->n_filters; f++) {
        double *const work = w.work + omp_get_thread_num() * w.doubles, *const its = taps + f * values;
        convolve(&w, f, work, its);
        const double scale = 1 / sqrt(output_power(&w, its, work) / spec->parts);
        for (int64_t i = 0; i < values; i++)
            its[i] *= scale;
        if (!isfinite(scale) || scale <= 0)
            bad = f < bad ? f : bad;
    }
    if (bad < spec->n_filters)
        rc = lw_fail(err, LW_EDATA, "filter %" PRId64 " passes no frequency of the input's spectrum: its noise cannot be scaled "
                     "to 1", spec->first + bad);
done:
    lw_transform_destroy(w.forward);
    lw_transform_destroy(w.backward);
    lw_transform_destroy(w.of_segment);
    lw_transform_destroy(w.from_segment);
    lw_free(w.weight);
    lw_free(w.work);
    return rc;
}
