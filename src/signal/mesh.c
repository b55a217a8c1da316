#include "signal/mesh.h"

#include "base/integers.h"

#include <math.h>

struct lw_mesh lw_mesh_of(int64_t rows, int64_t columns, int64_t cell, int64_t n_channels)
{
    return (struct lw_mesh){
        .rows = rows, .columns = columns, .cell = cell, .node_rows = lw_divide_up(rows, cell),
        .node_columns = lw_divide_up(columns, cell), .n_channels = n_channels,
    };
}

static int64_t n_nodes(const struct lw_mesh *mesh) { return mesh->node_rows * mesh->node_columns; }

int64_t lw_mesh_values(const struct lw_mesh *mesh) { return mesh->n_channels * LW_MESH_TABLES * n_nodes(mesh); }

static float *table_of(const struct lw_mesh *mesh, int64_t channel, int table)
{
    return mesh->tables + (channel * LW_MESH_TABLES + table) * n_nodes(mesh);
}

/* The factors p[i] = -1 / (p[i-1] + 4) with p[0] = 0 no longer change after this many. */
enum { FACTORS = 16 };

/* The derivatives d of n values v that lie `step` apart, 0 at both ends: d[i] = (p[i] d[i+1] + u[i]) / 6 with u[0] = 0 and u[i] =
 * p[i] (u[i-1] - 6 (v[i-1] - 2 v[i] + v[i+1])). */
static void derive(const float *v, int64_t n, int64_t step, float *d)
{
    double p[FACTORS] = {0}, u = 0, next = 0;
    for (int i = 1; i < FACTORS; i++)
        p[i] = -1 / (p[i - 1] + 4);
    d[0] = d[(n - 1) * step] = 0;
    for (int64_t i = 1; i < n - 1; i++) {
        const double bend = (double)v[(i - 1) * step] - 2.0 * v[i * step] + v[(i + 1) * step];
        u = p[lw_min64(i, FACTORS - 1)] * (u - 6 * bend);
        d[i * step] = (float)u;
    }
    for (int64_t i = n - 2; i > 0; i--) {
        next = (p[lw_min64(i, FACTORS - 1)] * next + d[i * step]) / 6;
        d[i * step] = (float)next;
    }
}

void lw_mesh_fill(struct lw_mesh *mesh, int64_t channel, const float *nodes)
{
    const int64_t rows = mesh->node_rows, columns = mesh->node_columns;
    float *const v = table_of(mesh, channel, LW_MESH_V), *const v_rows = table_of(mesh, channel, LW_MESH_V_ROWS);
    float *const v_columns = table_of(mesh, channel, LW_MESH_V_COLUMNS), *const both = table_of(mesh, channel, LW_MESH_V_BOTH);
    for (int64_t i = 0; i < rows * columns; i++) {
        v[i] = nodes[i];
        v_columns[i] = both[i] = 0;
    }
    for (int64_t j = 0; j < columns; j++)
        derive(v + j, rows, columns, v_rows + j);
    for (int64_t i = 0; i < rows && rows > 1; i++) {
        derive(v + i * columns, columns, 1, v_columns + i * columns);
        derive(v_rows + i * columns, columns, 1, both + i * columns);
    }
}

/* The spline between two nodes: coefficients of the powers of t. */
struct cubic {
    float c[4];
};

static struct cubic cubic_of(float v0, float v1, float d0, float d1)
{
    return (struct cubic){{v0, v1 - v0 - 2 * d0 - d1, 3 * d0, d1 - d0}};
}

/* Return the floor of values between a column of nodes and the `next`. @param v  values of the nodes above the place */
static float floor_of(const struct lw_mesh *mesh, const float *v, int64_t node, int64_t next)
{
    const float *const below = v + (mesh->node_rows > 1 ? mesh->node_columns : 0);
    return mesh->is_noise ? LW_MESH_FLOOR * fminf(fminf(v[node], v[next]), fminf(below[node], below[next])) : -INFINITY;
}

static float value_at(struct cubic f, float t) { return f.c[0] + t * (f.c[1] + t * (f.c[2] + t * f.c[3])); }

/* One number of a node's column at a place along the rows: v, with table LW_MESH_V, or v_columns, with LW_MESH_V_COLUMNS. Its
 * derivative from row to row is in the table after it by `LW_MESH_V_ROWS`. */
static float along_rows(const struct lw_mesh *mesh, int64_t channel, int table, int64_t column, struct lw_mesh_place place)
{
    const float *const v = table_of(mesh, channel, table) + column;
    const float *const d = table_of(mesh, channel, table + LW_MESH_V_ROWS) + column;
    const int64_t here = place.node * mesh->node_columns, next = here + (mesh->node_rows > 1 ? mesh->node_columns : 0);
    return value_at(cubic_of(v[here], v[next], d[here], d[next]), place.t);
}

void lw_mesh_row(const struct lw_mesh *mesh, int64_t channel, int64_t row, int64_t first_column, int64_t n, float *out)
{
    const int64_t cell = mesh->cell, last = lw_max64(mesh->node_columns - 2, 0), end_column = first_column + n;
    const struct lw_mesh_place at = lw_mesh_find(2 * (mesh->first_row + row), cell, mesh->node_rows);
    const float *const nodes = table_of(mesh, channel, LW_MESH_V) + at.node * mesh->node_columns;
    for (int64_t j = first_column; j < end_column;) {
        const int64_t node = lw_mesh_find(2 * j + 1, cell, mesh->node_columns).node;
        const int64_t next = lw_min64(node + 1, mesh->node_columns - 1);
        const struct cubic f = cubic_of(along_rows(mesh, channel, LW_MESH_V, node, at),
                                        along_rows(mesh, channel, LW_MESH_V, next, at),
                                        along_rows(mesh, channel, LW_MESH_V_COLUMNS, node, at),
                                        along_rows(mesh, channel, LW_MESH_V_COLUMNS, next, at));
        const int64_t node_end = node == last ? end_column : lw_min64(end_column, cell * (node + 1) + cell / 2);
        const int64_t half = 2 * j + 1 - cell - 2 * cell * node;
        const float scale = (float)(2 * cell), least = floor_of(mesh, nodes, node, next);
        float *const to = out + (j - first_column);
        for (int i = 0; i < (int)(node_end - j); i++) {
            const float value = value_at(f, (float)((int)half + 2 * i) / scale);
            to[i] = value > least ? value : least;
        }
        j = node_end;
    }
}
