/* sky.h - the synthetic sky: what its pixels and its point-spread function are. Pure arithmetic.
 *
 * Every image is white noise, in which there are, all as the telescope shows them:
 *
 *     point sources        the point-spread function, brightest at a known pixel with 30 times the noise
 *     an extended source   a broad Gaussian in the middle, at its peak 5 times the noise
 *
 * The point-spread function is a Moffat profile whose isophotes are slanted ellipses, so it is not separable; it sums up to 1.
 * Every pixel is a function of the seed and its place alone. */
#pragma once

#include "jobs/synth/random.h"

#include <stddef.h>

struct lw_synth_sky {
    int64_t n_images, rows, columns;
    int64_t psf_size;           /* the point-spread function is psf_size x psf_size */
    int n_sources;              /* point sources in each image */
    enum lw_scalar scalar;
    uint64_t seed;
};

struct lw_sky_source {
    int64_t row, column;        /* its brightest pixel */
};

/** Value of the brightest pixel of a point source, above the mean and without the noise, in stored units. */
double lw_sky_peak(const struct lw_synth_sky *sky);

struct lw_sky_source lw_sky_source(const struct lw_synth_sky *sky, int64_t image, int source);

/** One row of an image, before rounding. @param line  [columns] */
void lw_sky_line(const struct lw_synth_sky *sky, int64_t image, int64_t row, double *line);

/** @param psf  [psf_size x psf_size] */
void lw_sky_psf(const struct lw_synth_sky *sky, double *psf);

/** What a correlation with the point-spread function, --mode same, gives at a source's brightest pixel; relative to the peak. */
double lw_sky_gain(const struct lw_synth_sky *sky);

/** Where a point source is, in words: an attribute of the file. Returns `text`. */
const char *lw_sky_source_text(const struct lw_synth_sky *sky, int64_t image, int source, char *text, size_t size);
