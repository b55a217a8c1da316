#include "design/welch.h"

#include "base/memory.h"
#include "base/select.h"
#include "design/transform.h"
#include "design/window.h"

#include <math.h>
#include <omp.h>

struct lw_welch {
    int64_t n;
    int n_threads;
    double scale;                       /* 2 / (rate sum_m w[m]^2): the factor in P[k] for 0 < k < n / 2 */
    double *window;                     /* [n] the Hann window */
    double *work;                       /* [n_threads][doubles] data of each thread's transform */
    int64_t doubles;
    struct lw_transform *transform;
};

int64_t lw_welch_bytes(int64_t n, int n_threads)
{
    const int64_t of_thread = lw_transform_doubles(LW_TRANSFORM_REAL, n);
    return (n + (n_threads + 2) * of_thread) * (int64_t)sizeof(double);     /* + 2: data to plan with, and FFTW's own memory */
}

int lw_welch_create(int64_t n, double rate_hz, int n_threads, struct lw_welch **out, struct lw_error *err)
{
    struct lw_welch *const welch = *out = lw_alloc(sizeof *welch, "a power spectrum", err);
    if (!welch)
        return LW_ESYSTEM;
    *welch = (struct lw_welch){.n = n, .n_threads = n_threads, .doubles = lw_transform_doubles(LW_TRANSFORM_REAL, n)};
    if (!(welch->window = lw_alloc_array(n, sizeof *welch->window, "a power spectrum", err)) ||
        !(welch->work = lw_alloc_array(n_threads * welch->doubles, sizeof *welch->work, "a power spectrum", err)))
        return LW_ESYSTEM;
    double squares = 0;
    for (int64_t m = 0; m < n; m++) {
        welch->window[m] = lw_window_at(LW_WINDOW_HANN, (double)m, (double)n);
        squares += welch->window[m] * welch->window[m];
    }
    welch->scale = 2 / (rate_hz * squares);
    return lw_transform_create(LW_TRANSFORM_REAL, n, &welch->transform, err);
}

void lw_welch_destroy(struct lw_welch *welch)
{
    if (!welch)
        return;
    lw_transform_destroy(welch->transform);
    lw_free(welch->window);
    lw_free(welch->work);
    lw_free(welch);
}

/* ---- spectra --------------------------------------------------------------------------------------------------------- */

static void find_spectrum(const struct lw_welch *welch, const double *x, double *work, double *spectrum)
{
    const int64_t last = welch->n / 2;
    double sum = 0;
    for (int64_t m = 0; m < welch->n; m++) {
        work[m] = welch->window[m] * x[m];
        sum += x[m] - x[m];             /* stays 0 unless a sample is not finite */
    }
    lw_transform_run(welch->transform, work);
    for (int64_t k = 0; k <= last; k++)
        spectrum[k] = welch->scale * (work[2 * k] * work[2 * k] + work[2 * k + 1] * work[2 * k + 1]);
    spectrum[0] /= 2;
    spectrum[last] /= 2;
    if (sum != 0)
        spectrum[0] = -1;
}

void lw_welch_spectra(struct lw_welch *welch, const double *x, int64_t n_segments, double *spectra)
{
    const int64_t hop = welch->n / 2, width = lw_welch_frequencies(welch->n);
    #pragma omp parallel for num_threads(welch->n_threads) schedule(static)
    for (int64_t s = 0; s < n_segments; s++)
        find_spectrum(welch, x + s * hop, welch->work + omp_get_thread_num() * welch->doubles, spectra + s * width);
}

/* ---- medians --------------------------------------------------------------------------------------------------------- */

static double median(double *x, int64_t n)
{
    const double upper = lw_select(x, n, n / 2);
    double lower = upper;
    if (n % 2 == 0) {
        lower = x[0];
        for (int64_t i = 1; i < n / 2; i++)
            lower = fmax(lower, x[i]);
    }
    return (lower + upper) / 2;
}

double lw_welch_bias(int64_t n)
{
    double bias = 1;
    for (int64_t even = 2; even < n; even += 2)
        bias += 1 / (double)(even + 1) - 1 / (double)even;
    return bias;
}

void lw_welch_medians(double *columns, int64_t n, int64_t count, int n_threads, double *medians)
{
    const double bias = lw_welch_bias(n);
    #pragma omp parallel for num_threads(n_threads) schedule(static)
    for (int64_t i = 0; i < count; i++)
        medians[i] = median(columns + i * n, n) / bias;
}
