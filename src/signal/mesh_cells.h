/* mesh_cells.h - the nodes of a mesh: background and noise of an image in each cell, by the definition of SExtractor (E. Bertin,
 * S. Arnouts, A&AS 117, 393 (1996), section 3), in the details of which SExtractor and sep agree. Pure arithmetic.
 *
 *     cell     pixels within 2 sigma of their mean give a mean and a sigma. A histogram of all pixels spans 5 sigma around that
 *              mean. It is clipped at 3 sigma around the median, again and again, until sigma no longer changes
 *     node     noise: that sigma. Background: 2.5 median - 1.5 mean, or the median if mean and median differ by 0.3 sigma or more,
 *              as they do in crowded fields
 *     nodes    a cell of whose pixels more than half do not count has the mean of the nearest other cells; then each node becomes
 *              the median of 3 x 3, at the sides of fewer, so that the node stays in the middle
 *
 * Pixels count in float32. sep differs in two cases, where it is wrong: its levels are coarse where the background is some 10^4
 * times the noise, and a cell of one pixel has twice the pixel's value. */
#pragma once

#include "signal/mesh.h"

/* Most levels of a histogram. */
#define LW_CELL_LEVELS 4096

/* Work space: the histogram of a cell, and sums over the levels before each: counts, counts x level, counts x level^2. */
struct lw_cell_work {
    uint32_t counts[LW_CELL_LEVELS];
    int64_t n[LW_CELL_LEVELS + 1], sum[LW_CELL_LEVELS + 1], squares[LW_CELL_LEVELS + 1];
};

/** Find background and noise of a cell, or NaN for both if more than half of its pixels do not count.
 * @param pixels  [n] pixels that count, finite, in any order
 * @param n_all   all pixels of the cell, at most 2^31 */
void lw_cell_measure(const float *pixels, int64_t n, int64_t n_all, struct lw_cell_work *work, float *background, float *noise);

/** Return the bytes of `work` of lw_nodes_smooth. */
int64_t lw_nodes_bytes(const struct lw_mesh *mesh);

/** Fill nodes that are NaN, then take the medians. If all are NaN, they become `none`. @param nodes  [node_rows x node_columns] */
void lw_nodes_smooth(const struct lw_mesh *mesh, float none, float *nodes, void *work);
