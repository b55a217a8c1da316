#include "jobs/synth/sky.h"

#include <inttypes.h>
#include <stdio.h>

/* Heights of the sources, in sigma of the noise. */
static const double point_peak = 30, extended_peak = 5;

/* Return the profile at a place relative to its centre, where it is 1. The ellipse's axes are proportional to psf_size. */
static double moffat(const struct lw_synth_sky *sky, double down, double right)
{
    const double slant = 0.5, beta = 2.5, length = 0.1 * (double)sky->psf_size, breadth = 0.6 * length;
    const double u = (cos(slant) * right + sin(slant) * down) / length;
    const double v = (cos(slant) * down - sin(slant) * right) / breadth;
    return pow(1 + u * u + v * v, -beta);
}

/* Return the row and column of the point-spread function's centre, which is the kernel's with --mode same. */
static int64_t centre(const struct lw_synth_sky *sky) { return (sky->psf_size - 1) / 2; }

static double sum_of_psf(const struct lw_synth_sky *sky, int power)
{
    double sum = 0;
    for (int64_t i = 0; i < sky->psf_size; i++)
        for (int64_t j = 0; j < sky->psf_size; j++)
            sum += pow(moffat(sky, (double)(i - centre(sky)), (double)(j - centre(sky))), power);
    return sum;
}

void lw_sky_psf(const struct lw_synth_sky *sky, double *psf)
{
    const double sum = sum_of_psf(sky, 1);
    for (int64_t i = 0; i < sky->psf_size; i++)
        for (int64_t j = 0; j < sky->psf_size; j++)
            psf[i * sky->psf_size + j] = moffat(sky, (double)(i - centre(sky)), (double)(j - centre(sky))) / sum;
}

double lw_sky_gain(const struct lw_synth_sky *sky) { return sum_of_psf(sky, 2) / sum_of_psf(sky, 1); }

double lw_sky_peak(const struct lw_synth_sky *sky) { return point_peak * lw_synth_sigma(sky->scalar); }

/* Return a random row or column, `margin` from the edges so that the image has the whole source, if it is large enough. */
static int64_t place(uint64_t bits, int64_t n, int64_t margin)
{
    const int64_t room = n > 2 * margin ? n - 2 * margin : n;
    return (n > 2 * margin ? margin : 0) + (int64_t)(bits % (uint64_t)room);
}

struct lw_sky_source lw_sky_source(const struct lw_synth_sky *sky, int64_t image, int source)
{
    const uint64_t seed = lw_noise_bits(sky->seed, 1), number = (uint64_t)image * (uint64_t)sky->n_sources + (uint64_t)source;
    return (struct lw_sky_source){
        .row = place(lw_noise_bits(seed, 2 * number), sky->rows, sky->psf_size),
        .column = place(lw_noise_bits(seed, 2 * number + 1), sky->columns, sky->psf_size),
    };
}

static void add_source(const struct lw_synth_sky *sky, struct lw_sky_source source, int64_t row, double *line)
{
    const int64_t i = row - source.row + centre(sky);
    if (i < 0 || i >= sky->psf_size)
        return;
    for (int64_t j = 0; j < sky->psf_size; j++) {
        const int64_t column = source.column + j - centre(sky);
        if (column >= 0 && column < sky->columns)
            line[column] += point_peak * moffat(sky, (double)(i - centre(sky)), (double)(j - centre(sky)));
    }
}

void lw_sky_line(const struct lw_synth_sky *sky, int64_t image, int64_t row, double *line)
{
    const uint64_t seed = lw_noise_bits(sky->seed, 0);
    const uint64_t first = ((uint64_t)image * (uint64_t)sky->rows + (uint64_t)row) * (uint64_t)sky->columns;
    for (int64_t j = 0; j < sky->columns; j++)
        lw_noise_normals(seed, first + (uint64_t)j, &line[j], NULL);
    const double height = (double)sky->rows / 8, width = (double)sky->columns / 8;
    const double down = ((double)row - (double)(sky->rows - 1) / 2) / height;
    for (int64_t j = 0; j < sky->columns; j++) {
        const double right = ((double)j - (double)(sky->columns - 1) / 2) / width;
        line[j] += extended_peak * exp(-0.5 * (down * down + right * right));
    }
    for (int source = 0; source < sky->n_sources; source++)
        add_source(sky, lw_sky_source(sky, image, source), row, line);
    const double sigma = lw_synth_sigma(sky->scalar), mean = lw_synth_mean(sky->scalar);
    for (int64_t j = 0; j < sky->columns; j++)
        line[j] = mean + sigma * line[j];
}

const char *lw_sky_source_text(const struct lw_synth_sky *sky, int64_t image, int source, char *text, size_t size)
{
    const struct lw_sky_source at = lw_sky_source(sky, image, source);
    snprintf(text, size, "image %" PRId64 ", row %" PRId64 ", column %" PRId64 ": point source, peak %g above its surroundings; "
             "a correlation with /psf gives %g there", image, at.row, at.column, lw_sky_peak(sky),
             lw_sky_peak(sky) * lw_sky_gain(sky));
    return text;
}
