/* sky.h - the pixels and the point-spread function of the synthetic sky. Pure arithmetic.
 *
 * Every image is white noise plus sources as a telescope shows them:
 *
 *     point sources        copies of the point-spread function; the peak, at a known pixel, is 30 times the noise
 *     an extended source   a broad Gaussian in the middle of the image; its peak is 5 times the noise
 *
 * The point-spread function is a Moffat profile with the sum 1. Its isophotes are slanted ellipses, so that it is not separable.
 * A pixel depends on the seed and its place only. */
#pragma once

#include "jobs/synth/random.h"

struct lw_synth_sky {
    int64_t n_images, rows, columns;
    int64_t psf_size;           /* the point-spread function is psf_size x psf_size */
    int n_sources;              /* point sources in each image */
    enum lw_scalar scalar;
    uint64_t seed;
};

struct lw_sky_source {
    int64_t row, column;        /* the brightest pixel of the source */
};

/** Return the height of a point source's brightest pixel above the mean, without noise, in stored units. */
double lw_sky_peak(const struct lw_synth_sky *sky);

struct lw_sky_source lw_sky_source(const struct lw_synth_sky *sky, int64_t image, int source);

/** Make a row of an image, before rounding. @param line  set; [columns] */
void lw_sky_line(const struct lw_synth_sky *sky, int64_t image, int64_t row, double *line);

/** Make the point-spread function. @param psf  set; [psf_size x psf_size] */
void lw_sky_psf(const struct lw_synth_sky *sky, double *psf);

/** Return the output at a source's brightest pixel of a correlation with the point-spread function, divided by lw_sky_peak. */
double lw_sky_gain(const struct lw_synth_sky *sky);

/** Describe the place of a point source, for an attribute of the file. Return `text`. */
const char *lw_sky_source_text(const struct lw_synth_sky *sky, int64_t image, int source, char *text, size_t size);
