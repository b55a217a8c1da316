/* coordinates.h - world coordinates of an image whose pixels were moved and thinned out (FITS Standard 4.0, section 8; SIP: Shupe et
 * al. 2005; LTM and LTV: IRAF). Pure.
 *
 *     pixel p' of the result (from 1 on) is pixel p of the input:  p - 1 = first + (p' - 1) x every
 *
 *     CRPIXj, LTVj        the pixel of the result
 *     CDELTj, CDi_j       times every of j;  PCi_j times every of j / every of i
 *     LTMj_i              divided by every of j
 *     A_p_q, B_p_q, ...   SIP's polynomials of pixels, of axes that are thinned out alike: times every^(p + q - 1) */
#ifndef LW_IO_ARCHIVE_FITS_COORDINATES_H
#define LW_IO_ARCHIVE_FITS_COORDINATES_H

#include "io/attribute.h"
#include "io/writer.h"

/** One keyword of the input as it is for the result; others than the above are left as they are.
 * @param n_dims  of the image, in C's order as the map's: axis 1 is dimension n_dims - 1 */
struct lw_attribute lw_fits_move(const struct lw_attribute *attribute, const struct lw_pixel_map *map, int n_dims);

#endif
