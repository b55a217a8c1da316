/* layout.h - the flat window of the published transform, a box in frequency times a Dolph-Chebyshev window or a
 * Gaussian, and the loops that use it. */
#ifndef LW_CPU_SFFT_PUBLISHED_LAYOUT_H
#define LW_CPU_SFFT_PUBLISHED_LAYOUT_H

#include "sfft/published/published.h"

int lw_published_layout_create(const struct lw_published_plan *plan, int attempt, struct lw_published_layout **out,
                               struct lw_error *err);
void lw_published_layout_destroy(struct lw_published_layout *layout); /* NULL is legal */

/** Host bytes while it is made, estimated. */
int64_t lw_published_layout_bytes(const struct lw_published_plan *plan);

#endif
