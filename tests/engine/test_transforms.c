/* test_transforms.c - the cpu engine's transforms: of a few spikes, whose spectrum is a sum of a few terms, and back.
 *
 * Each step of a transform adds at most a few roundings, so the rms error is at most a few roundings times log2 n. */
#include "../check.h"
#include "cpu/dispatch.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_SPIKES = 3 };

/* Buffers of n complex numbers each; `filter` holds two. */
struct buffers {
    void *x, *spectrum, *filter, *work, *y;
};

static double complex number_at(const struct lw_cpu_kernels *k, const void *numbers, int64_t i)
{
    return k->real_bytes == sizeof(double) ? ((const double complex *)numbers)[i]
                                           : (double complex)((const float complex *)numbers)[i];
}

static void set(const struct lw_cpu_kernels *k, void *numbers, int64_t i, double complex value)
{
    if (k->real_bytes == sizeof(double))
        ((double complex *)numbers)[i] = value;
    else
        ((float complex *)numbers)[i] = (float complex)value;
}

static double complex root(int64_t n, int64_t power)
{
    const double angle = -2 * 3.14159265358979323846 * (double)(power % n) / (double)n;
    return CMPLX(cos(angle), sin(angle));
}

/* Check the spectrum of spikes of 1, i and -1, bin by bin. */
static void check_spectrum(const struct lw_cpu_kernels *k, const struct lw_cpu_fft *fft, const struct buffers *b,
                           const int64_t *spikes, double rounding)
{
    static const double complex heights[N_SPIKES] = {1, I, -1};
    double squares = 0;
    for (int64_t bin = 0; bin < fft->n; bin++) {
        double complex expected = 0;
        for (int i = 0; i < N_SPIKES; i++)
            expected += heights[i] * root(fft->n, bin * spikes[i]);
        const int64_t at = bin % fft->rows * fft->columns + bin / fft->rows;
        squares += pow(cabs(number_at(k, b->spectrum, at) - expected), 2);
    }
    const double rms = sqrt(squares / (double)fft->n), most = rounding * log2((double)fft->n) * sqrt(N_SPIKES);
    CHECK(rms <= most, "%lld points of %zu bytes: the spectrum is off by %g", (long long)fft->n, k->real_bytes, rms);
}

/* Check the way back from the product with a filter of 1 + i/2, and with a second one of -1/2: that of the spectrum itself. */
static void check_inverse(const struct lw_cpu_kernels *k, const struct lw_cpu_fft *fft, const struct buffers *b, bool is_packed,
                          double rounding)
{
    const double complex gain = is_packed ? CMPLX(0.5, 0.5) : CMPLX(1, 0.5);
    const size_t strip_bytes = (size_t)fft->strip * 2 * k->real_bytes;
    double squares = 0;
    int n_unlike = 0;
    k->fft_multiply(fft, b->filter, b->spectrum, is_packed ? b->spectrum : NULL, b->work);
    k->fft_inverse(fft, b->work, b->y);
    for (int64_t i = 0; i < fft->n; i++)
        squares += pow(cabs(number_at(k, b->y, i) / (double)fft->n - gain * number_at(k, b->x, i)), 2);
    const double rms = sqrt(squares), most = 2 * rounding * log2((double)fft->n) * sqrt(N_SPIKES);
    CHECK(rms <= most, "%lld points of %zu bytes: the inverse is off by %g", (long long)fft->n, k->real_bytes, rms);
    k->fft_multiply(fft, b->filter, b->spectrum, is_packed ? b->spectrum : NULL, b->work);
    for (int64_t strip = 0; fft->strip > 0 && strip < fft->columns / fft->strip; strip++) {
        const char *const points = k->fft_strip(fft, b->work, strip);
        for (int64_t row = 0; row < fft->rows; row++) {
            const int64_t at = row * fft->columns + strip * fft->strip;
            n_unlike += memcmp(points + (size_t)row * strip_bytes, (const char *)b->y + (size_t)at * 2 * k->real_bytes,
                               strip_bytes) != 0;
        }
    }
    CHECK(n_unlike == 0, "%lld points of %zu bytes: %d rows of strips differ", (long long)fft->n, k->real_bytes, n_unlike);
}

static void test_transform(const struct lw_cpu_kernels *k, int64_t n)
{
    struct lw_error err = {0};
    const struct lw_cpu_fft shape = k->fft_shape(n);
    const size_t bytes = 2 * k->real_bytes;
    const double rounding = k->real_bytes == sizeof(double) ? DBL_EPSILON : (double)FLT_EPSILON;
    const int64_t spikes[N_SPIKES] = {1, n / 2 + n / 64 + 5, n - 3};
    struct lw_cpu_fft *fft = NULL;
    struct buffers b = {
        lw_alloc_array(n, bytes, "x", &err), lw_alloc_array(n, bytes, "a spectrum", &err),
        lw_alloc_array(2 * n, bytes, "a filter", &err), lw_alloc_array(shape.work, bytes, "work memory", &err),
        lw_alloc_array(n, bytes, "y", &err),
    };
    if (err.code || k->fft_create(n, b.x, b.y, &fft, &err)) {
        CHECK(false, "%s", err.message);
        return;
    }
    for (int i = 0; i < N_SPIKES; i++)
        set(k, b.x, spikes[i], i == 0 ? 1 : i == 1 ? I : -1);
    for (int64_t i = 0; i < n; i++) {
        set(k, b.filter, i, CMPLX(1, 0.5));
        set(k, b.filter, n + i, -0.5);
    }
    k->fft_forward(fft, b.x, b.spectrum, b.work);
    check_spectrum(k, fft, &b, spikes, rounding);
    check_inverse(k, fft, &b, false, rounding);
    check_inverse(k, fft, &b, true, rounding);
    k->fft_destroy(fft);
    void *const all[] = {b.x, b.spectrum, b.filter, b.work, b.y};
    for (int i = 0; i < 5; i++)
        lw_free(all[i]);
}

int main(void)
{
    static const char *const sets[] = {"", "avx2", "generic"};
    const int n_sets = IS_SANITIZED ? 1 : 3;        /* a build with sanitizers has one */
    for (int set = 0; set < n_sets; set++) {
        setenv(LW_ISA_VARIABLE, sets[set], 1);
        for (int precision = 0; precision < 2; precision++)
            for (int64_t n = 64; n <= (set == 0 ? 1 << 21 : 1 << 19); n *= 2)
                test_transform(lw_cpu_kernels(precision ? LW_DOUBLE : LW_SINGLE), n);
    }
    return check_result("transforms");
}
