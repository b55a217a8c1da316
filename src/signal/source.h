/* source.h - where a source in an image lies, and what a kernel that finds it tells of its shape. Pure arithmetic.
 *
 * The place is the windowed centroid (SExtractor's XWIN_IMAGE, YWIN_IMAGE: E. Bertin, SExtractor user's manual). With pixels I less
 * their background, the weights w = exp(-r^2 / (2 sigma^2)) at the distance r from the place p,
 *
 *     p  becomes  p + 2 sum w I (x - p) / sum w I
 *
 * until it stands. For a Gaussian source of width sigma in white noise this is the place of the best fit. The pixels are those of
 * a window. Sums reach equally far to both sides of p, so that a window off the middle does not draw p to its own; of pixels at
 * their ends a part counts. */
#pragma once

#include "base/linkage.h"

#include <stdbool.h>
#include <stdint.h>

LW_C_BEGIN

/* Bits of a source's flags. */
enum {
    LW_SOURCE_EDGE = 1,         /* the window reaches beyond a side of the image */
    LW_SOURCE_MASKED = 2,       /* the window holds a pixel that is not finite or has weight 0; the pixel is left out */
    LW_SOURCE_SATURATED = 4,    /* the window holds a pixel of at least the saturation */
    LW_SOURCE_NO_CENTRE = 8,    /* the centroid did not converge: the place is that of the peak */
};

/* A kernel as the profile of a source: its elements, or of a balanced kernel what rises above the mean of its border. */
struct lw_source_shape {
    bool is_balanced;           /* the kernel's sum is 0 but for rounding: it takes a constant background away itself */
    double row, column;         /* middle, weighted by the profile's squares; elements are counted from the first */
    double sigma;               /* width, from the second moments of the squares: that of a Gaussian */
    double total;               /* sum of the profile */
    double energy;              /* sum of the squares of the kernel's elements */
};

/** Find the shape of a kernel. @param kernel  [rows x columns], real */
struct lw_source_shape lw_source_shape_of(const double *kernel, int64_t rows, int64_t columns);

/** Find the place of a source from its peak.
 * @param pixels   [rows x columns], less their background; 0 for a pixel that is left out
 * @param scratch  [2 x columns]
 * @param at       row and column, counted from the first pixel's centre; in: the peak; out: the source, or unchanged
 * @return         false: it left the peak by more than sigma and 2 pixels, found no light, or did not stand after 50 steps */
bool lw_source_find(const double *pixels, int64_t rows, int64_t columns, double sigma, double *scratch, double at[2]);

LW_C_END
