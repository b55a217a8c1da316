/* world.h - adapt the input's world coordinates to a result that has only some of the input's pixels. Pure. Sources: FITS Standard
 * 4.0, section 8; SIP: Shupe et al. 2005; LTM and LTV: IRAF; CNPIX: the Digitized Sky Survey, as WCSLIB interprets it. WCSLIB has
 * no function that moves pixels. Headers that it writes (wcshdo) lose their other keywords, and a plate of the Digitized Sky Survey
 * becomes a distortion TPD, which few programs read. So the keywords are adapted here.
 *
 *     pixel p' of the result (from 1 on) is pixel p of the input:  p - 1 = first + (p' - 1) x every      (lw_pixel_map)
 *
 *     CRPIXj, LTVj        p becomes p'
 *     CDELTj, CDi_j       times every of j;  PCi_j times every of j / every of i
 *     LTMj_i              divided by every of j
 *     A_p_q, B_p_q, ...   SIP's distortions, if `every` is the same for both axes: times every^(p + q - 1); A_DMAX divided by
 *       every
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

/** Add cards of the input's keywords (dataset->carried), adapted to the result's pixels. For an array, also add keywords that the
 * input lacks, if their defaults would be wrong in the result. A warning names the keywords left out. */
void lw_fits_put_carried(struct lw_fits_cards *cards, const struct lw_writer_dataset *dataset);
