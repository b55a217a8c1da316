/* mesh.h - a smooth map of an image's size, such as its background or its noise, given by the nodes of a mesh. Pure arithmetic.
 *
 * The image is divided into cells of `cell` x `cell` pixels from its first pixel on; the last cells may be smaller. Each cell has a
 * node, and a bicubic spline goes through the nodes (E. Bertin, S. Arnouts, A&AS 117, 393 (1996), section 3).
 *
 * The map is the one that SExtractor and sep make. It differs from a natural spline through the middles of cells in three ways,
 * which are kept so that maps are equal to theirs:
 *
 *     - Derivatives: natural ones would solve d[i-1] + 4 d[i] + d[i+1] = v[i-1] - 2 v[i] + v[i+1]. The last step of the solution
 *       takes a sixth of the next node's derivative instead of all of it, so that slopes jump a little at nodes.
 *     - Along the rows' numbers a node lies at the upper edge of its cell's middle pixel, along columns at the pixel's centre.
 *     - A mesh with one row of nodes is linear along the columns.
 *
 * Pixels outside the outermost nodes are on the continuation of the cubic that ends there.
 *
 * A map of noise has a floor, which SExtractor and sep lack: where the noise falls steeply, beside a bright galaxy, the spline
 * swings to 0 and below. No value is less than LW_MESH_FLOOR times the least of the four nodes around it. */
#pragma once

#include "base/linkage.h"

#include <stdbool.h>
#include <stdint.h>

LW_C_BEGIN

/* The spline is linear in the nodes' values v, so that four numbers of each of the four nodes around a pixel make the map there:
 * v; d, a sixth of the second derivative, from row to row and from column to column; and d along one direction of d along the
 * other. */
enum { LW_MESH_V, LW_MESH_V_ROWS, LW_MESH_V_COLUMNS, LW_MESH_V_BOTH, LW_MESH_TABLES };

#define LW_MESH_FLOOR 0.5f

struct lw_mesh {
    int64_t rows, columns;              /* size of an image, pixels */
    int64_t cell;                       /* side of a cell, pixels */
    int64_t node_rows, node_columns;
    int64_t n_channels;                 /* images */
    int64_t first_row;                  /* row of the image that counts as row 0 in lw_mesh_row, and for engines */
    bool is_noise;                      /* values have the floor */
    float *tables;                      /* [n_channels][LW_MESH_TABLES][node_rows][node_columns]; derivatives per cell^2 */
};

/* The place of a pixel along one direction: the map is v[node] + t (c1 + t (c2 + t c3)) with c1 = v[node+1] - v[node] - 2 d[node] -
 * d[node+1], c2 = 3 d[node], c3 = d[node+1] - d[node]. With one node it is v[0]. */
struct lw_mesh_place {
    int64_t node;
    float t;                            /* 0 <= t < 1 between nodes, beyond this outside of the outermost ones; 0 with one node */
};

/** Return the place of half-pixel number `half` of a direction: 2 i for row i of the image, 2 j + 1 for column j. */
static inline struct lw_mesh_place lw_mesh_find(int64_t half, int64_t cell, int64_t n_nodes)
{
    const int64_t before = (half + cell) / (2 * cell) - 1, last = n_nodes - 2;
    struct lw_mesh_place place = {0, 0};
    if (n_nodes > 1) {
        place.node = before < 0 ? 0 : before < last ? before : last;
        place.t = (float)(half - cell - 2 * cell * place.node) / (float)(2 * cell);
    }
    return place;
}

/** Return a mesh with its sizes set, for images that have at least one pixel; its tables are NULL. */
struct lw_mesh lw_mesh_of(int64_t rows, int64_t columns, int64_t cell, int64_t n_channels);

/** Return the number of values in the tables. */
int64_t lw_mesh_values(const struct lw_mesh *mesh);

/** Fill the tables of a channel from its nodes. @param nodes  [node_rows x node_columns], finite */
void lw_mesh_fill(struct lw_mesh *mesh, int64_t channel, const float *nodes);

/** Make the map at n pixels of row first_row + `row`, from `first_column` on. Values do not depend on first_column and n. */
void lw_mesh_row(const struct lw_mesh *mesh, int64_t channel, int64_t row, int64_t first_column, int64_t n, float *out);

LW_C_END
