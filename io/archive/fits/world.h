/* world.h - world coordinates of an image whose pixels were moved and thinned out (FITS Standard 4.0, section 8; SIP: Shupe et
 * al. 2005; LTM and LTV: IRAF; CNPIX: the Digitized Sky Survey, as WCSLIB takes it). Pure.
 *
 *     pixel p' of the result (from 1 on) is pixel p of the input:  p - 1 = first + (p' - 1) x every
 *
 *     CRPIXj, LTVj        the pixel of the result
 *     CDELTj, CDi_j       times every of j;  PCi_j times every of j / every of i
 *     LTMj_i              divided by every of j
 *     A_p_q, B_p_q, ...   SIP's polynomials of pixels, of axes that are thinned out alike: times every^(p + q - 1); A_DMAX divided
 *       by it
 *     CNPIXj              that of the result's pixels: (CNPIXj + first + 1/2) / every - 1/2
 *     XPIXELSZ, SECPIX... sizes of pixels: times every
 *
 * What stands in polynomials or projections of world coordinates (PVi_m, TNX, AMDX, PLTSCALE) stays as it is. What cannot be told
 * for the result's pixels is left out:
 *
 *     CPDISj, DPj, CQDISi, D2IMDISj, ...          distortions that are looked up in units of the file which a result has not
 *     CTYPEi that ends with -TAB, with its PSi_m, CRVALi, ...     likewise, coordinates
 *     DATASEC, TRIMSEC, OBJCTX, ...               places among the input's pixels */
#pragma once

#include "io/attribute.h"
#include "io/write/writer.h"

/* How the result carries a keyword. */
enum lw_fits_fate {
    LW_FITS_MOVED,              /* the result has it, in the same words or in others */
    LW_FITS_BY_TABLE,           /* left out: it needs a table */
    LW_FITS_BY_PIXELS,          /* left out: it is of the input's pixels */
    LW_FITS_N_FATES
};

/** One keyword of the input as it is for the result.
 * @param all     [n] keywords of the input
 * @param n_dims  of the image, in C's order as the map's: axis 1 is dimension n_dims - 1
 * @param out     set whatever the outcome */
enum lw_fits_fate lw_fits_move(const struct lw_attribute *attribute, const struct lw_attribute *all, int n,
                               const struct lw_pixel_map *map, int n_dims, struct lw_attribute *out);
