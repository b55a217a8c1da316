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

#include "io/archive/fits/cards.h"
#include "io/write/writer.h"

/** Put what the input says of itself, as it is for a dataset of the result, and of an array what it leaves to defaults that are
 * others now. A warning names what is left out. */
void lw_fits_put_carried(struct lw_fits_cards *cards, const struct lw_writer_dataset *dataset);
