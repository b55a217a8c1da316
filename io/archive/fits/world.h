/* world.h - adapt world coordinates to an image whose pixels were moved and thinned out. Pure. Sources: FITS Standard 4.0, section
 * 8; SIP: Shupe et al. 2005; LTM and LTV: IRAF; CNPIX: the Digitized Sky Survey, as WCSLIB interprets it.
 *
 *     pixel p' of the result (from 1 on) is pixel p of the input:  p - 1 = first + (p' - 1) x every
 *
 *     CRPIXj, LTVj        pixel of the result
 *     CDELTj, CDi_j       times every of j;  PCi_j times every of j / every of i
 *     LTMj_i              divided by every of j
 *     A_p_q, B_p_q, ...   SIP's polynomials of pixels, for axes that are thinned out alike: times every^(p + q - 1); A_DMAX divided
 *       by every
 *     CNPIXj              (CNPIXj + first + 1/2) / every - 1/2
 *     XPIXELSZ, SECPIX... sizes of pixels: times every
 *
 * Keywords of polynomials or projections of world coordinates (PVi_m, TNX, AMDX, PLTSCALE) stay as they are. Keywords that cannot
 * be adapted are left out:
 *
 *     CPDISj, DPj, CQDISi, D2IMDISj, ...          distortions from tables in units of the input's file
 *     CTYPEi that ends with -TAB, with its PSi_m, CRVALi, ...     coordinates from such tables
 *     DATASEC, TRIMSEC, OBJCTX, ...               places among the input's pixels */
#pragma once

#include "io/archive/fits/cards.h"
#include "io/write/writer.h"

/** Put the keywords that a dataset of the result takes over from the input, adapted to its pixels. For an array, also put keywords
 * that the input leaves to defaults, if these no longer hold. A warning names the keywords left out. */
void lw_fits_put_carried(struct lw_fits_cards *cards, const struct lw_writer_dataset *dataset);
