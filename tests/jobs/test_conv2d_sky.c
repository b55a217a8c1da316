/* test_conv2d_sky.c - tests of the synthetic sky: its point sources have the documented places and brightness, and its
 * point-spread function is the documented one. */
#include "../check.h"
#include "jobs/synth/sky.h"
#include "signal/separable.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS = 150, COLUMNS = 170, SIZE = 21 };

static struct lw_synth_sky make(int n_sources, enum lw_scalar scalar)
{
    return (struct lw_synth_sky){.n_images = 3, .rows = ROWS, .columns = COLUMNS, .psf_size = SIZE, .n_sources = n_sources,
                           .scalar = scalar, .seed = 5};
}

static void make_image(const struct lw_synth_sky *sky, int64_t image, double *pixels)
{
    for (int64_t row = 0; row < ROWS; row++)
        lw_sky_line(sky, image, row, pixels + row * COLUMNS);
}

/* The pixels that one source adds to an image. */
static void source_alone(enum lw_scalar scalar, int64_t image, double *pixels)
{
    static double without[ROWS * COLUMNS];
    const struct lw_synth_sky one = make(1, scalar), none = make(0, scalar);
    make_image(&one, image, pixels);
    make_image(&none, image, without);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        pixels[i] -= without[i];
}

static void test_source(enum lw_scalar scalar)
{
    static double pixels[ROWS * COLUMNS];
    static double psf[SIZE * SIZE];
    const struct lw_synth_sky sky = make(1, scalar);
    lw_sky_psf(&sky, psf);
    for (int64_t image = 0; image < 3; image++) {
        const struct lw_sky_source at = lw_sky_source(&sky, image, 0);
        CHECK(at.row >= SIZE && at.row < ROWS - SIZE && at.column >= SIZE && at.column < COLUMNS - SIZE,
              "a source is too near the edge");
        source_alone(scalar, image, pixels);
        double largest = 0, correlation = 0;
        for (int i = 0; i < ROWS * COLUMNS; i++)
            largest = fmax(largest, pixels[i]);
        const double found = pixels[at.row * COLUMNS + at.column], peak = lw_sky_peak(&sky);
        CHECK(found == largest && fabs(found - peak) < 1e-9 * peak, "peak %g, not %g", found, peak);
        for (int64_t i = 0; i < SIZE; i++)
            for (int64_t j = 0; j < SIZE; j++)
                correlation += psf[i * SIZE + j] * pixels[(at.row + i - SIZE / 2) * COLUMNS + at.column + j - SIZE / 2];
        CHECK(fabs(correlation - peak * lw_sky_gain(&sky)) < 1e-9 * peak, "correlation %g, not %g", correlation,
              peak * lw_sky_gain(&sky));
    }
}

static void test_psf(int64_t size)
{
    struct lw_synth_sky sky = make(0, LW_FLOAT32);
    sky.psf_size = size;
    double *const psf = calloc((size_t)(size * size), sizeof *psf), *const factors = calloc((size_t)(2 * size), sizeof *factors);
    lw_sky_psf(&sky, psf);
    double sum = 0, largest = 0;
    for (int64_t i = 0; i < size * size; i++) {
        sum += psf[i];
        largest = fmax(largest, psf[i]);
    }
    CHECK(fabs(sum - 1) < 1e-12, "sum %g", sum);
    CHECK(psf[(size - 1) / 2 * (size + 1)] == largest, "the centre is not the brightest of %d", (int)size);
    const double left = lw_separate(psf, size, size, false, factors, factors + size);
    CHECK(size < 3 || left > 0.01, "separable but for %g", left);
    free(psf);
    free(factors);
}

/* The outer rows of the first image hold noise and hardly any of the extended source. */
static void test_noise(void)
{
    const struct lw_synth_sky sky = make(0, LW_UINT16);
    static double line[COLUMNS];
    double sum = 0, square = 0;
    for (int64_t row = 0; row < 10; row++) {
        lw_sky_line(&sky, 0, row, line);
        for (int j = 0; j < COLUMNS; j++) {
            const double noise = (line[j] - lw_synth_mean(LW_UINT16)) / lw_synth_sigma(LW_UINT16);
            sum += noise;
            square += noise * noise;
        }
    }
    const double n = 10 * COLUMNS;
    CHECK(fabs(sum / n) < 5 / sqrt(n), "mean %g", sum / n);
    CHECK(fabs(square / n - 1) < 5 * sqrt(2 / n), "variance %g", square / n);
}

int main(void)
{
    test_source(LW_FLOAT64);
    test_source(LW_INT16);
    for (int64_t size = 1; size < 40; size += 6)
        test_psf(size);
    test_psf(16);
    test_noise();
    return check_result("sky");
}
