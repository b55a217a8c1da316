/* mesh.h - a smooth map of an image's size, such as its background or its noise, given by the nodes of a mesh.
 *
 * The image is divided into cells of `cell` x `cell` pixels from its first pixel on; the last cells may be smaller. Each cell has a
 * node, and a natural bicubic spline goes through the nodes (E. Bertin, S. Arnouts, A&AS 117, 393 (1996), section 3). */
#pragma once

#include "base/error.h"
#include "base/linkage.h"

#include <stdint.h>

LW_C_BEGIN

/* The spline is linear in the nodes' values v, so that four numbers of each of the four nodes around a pixel make the map there:
 * v, its second derivatives along rows and along columns, and the second derivative of these along the other direction. */
enum { LW_MESH_V, LW_MESH_V_ROWS, LW_MESH_V_COLUMNS, LW_MESH_V_BOTH, LW_MESH_TABLES };

struct lw_mesh {
    int64_t rows, columns;              /* size of an image, pixels */
    int64_t cell;                       /* side of a cell, pixels */
    int64_t node_rows, node_columns;
    int64_t n_channels;                 /* images */
    float *tables;                      /* owned; [n_channels][LW_MESH_TABLES][node_rows][node_columns]; derivatives per cell^2 */
};

LW_C_END
