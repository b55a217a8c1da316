/* test_mesh.c - tests of the maps that a mesh's nodes make: against the definition in double, and against maps of sep. */
#include "../check.h"
#include "signal/mesh.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { MOST = 12 };     /* nodes along a direction */

static uint64_t state = 1;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-52 - 1;
}

/* ---- the definition, step by step in double ------------------------------------------------------------------------- */

static void derivatives(const double *v, int n, double *d)
{
    double p[MOST] = {0}, u[MOST] = {0};
    for (int i = 0; i < n; i++)
        d[i] = 0;
    for (int i = 1; i < n - 1; i++) {
        p[i] = -1 / (p[i - 1] + 4);
        u[i] = p[i] * (u[i - 1] - 6 * (v[i - 1] - 2 * v[i] + v[i + 1]));
    }
    for (int i = n - 2; i > 0; i--)
        d[i] = (p[i] * d[i + 1] + u[i]) / 6;
}

/* The curve through n values at x, with value k at k. */
static double curve(const double *v, int n, double x, int is_linear)
{
    double d[MOST];
    if (n == 1)
        return v[0];
    derivatives(v, n, d);
    const int k = (int)fmin(fmax(floor(x), 0), n - 2);
    const double t = x - k, s = 1 - t, w = is_linear ? 0 : 1;
    return s * v[k] + t * v[k + 1] + w * ((s * s * s - s) * d[k] + (t * t * t - t) * d[k + 1]);
}

static double defined(const float *nodes, int node_rows, int node_columns, double cell, int row, int column)
{
    double line[MOST], values[MOST];
    for (int j = 0; j < node_columns; j++) {
        for (int i = 0; i < node_rows; i++)
            values[i] = nodes[i * node_columns + j];
        line[j] = curve(values, node_rows, row / cell - 0.5, 0);
    }
    return curve(line, node_columns, (column + 0.5) / cell - 0.5, node_rows == 1);
}

/* Half the least of the nodes around a pixel. */
static double floor_at(const float *nodes, int node_rows, int node_columns, double cell, int row, int column)
{
    const int i = (int)fmin(fmax(floor(row / cell - 0.5), 0), fmax(node_rows - 2, 0));
    const int j = (int)fmin(fmax(floor((column + 0.5) / cell - 0.5), 0), fmax(node_columns - 2, 0));
    double least = INFINITY;
    for (int k = 0; k < 4; k++)
        least = fmin(least, nodes[(i + (k / 2 && node_rows > 1)) * node_columns + j + (k % 2 && node_columns > 1)]);
    return least / 2;
}

/* @param is_noise  nodes of one sign and very unlike sizes, and values with a floor
 * @return          the number of values that the floor has raised */
static int test_definition(int rows, int columns, int cell, bool is_noise)
{
    enum { CHANNELS = 2, CHANNEL = 1 };
    struct lw_mesh mesh = lw_mesh_of(rows, columns, cell, CHANNELS);
    const int node_rows = (int)mesh.node_rows, node_columns = (int)mesh.node_columns;
    CHECK(node_rows * cell >= rows && (node_rows - 1) * cell < rows, "%d rows in cells of %d: %d", rows, cell, node_rows);
    float nodes[MOST * MOST], row[MOST * MOST * 8], part[MOST * MOST * 8];
    mesh.tables = calloc((size_t)lw_mesh_values(&mesh), sizeof *mesh.tables);
    for (int i = 0; i < node_rows * node_columns; i++)
        nodes[i] = is_noise ? (float)exp(3 * uniform()) : (float)uniform();
    mesh.is_noise = is_noise;
    lw_mesh_fill(&mesh, CHANNEL, nodes);
    double worst = 0;
    int n_other = 0, n_raised = 0;
    for (int i = 0; i < rows; i++) {
        const int first = i % columns;
        lw_mesh_row(&mesh, CHANNEL, i, 0, columns, row);
        mesh.first_row = i - 7;
        lw_mesh_row(&mesh, CHANNEL, 7, first, columns - first, part);
        mesh.first_row = 0;
        for (int j = 0; j < columns; j++) {
            const double spline = defined(nodes, node_rows, node_columns, cell, i, j);
            const double least = is_noise ? floor_at(nodes, node_rows, node_columns, cell, i, j) : -INFINITY;
            worst = fmax(worst, fabs(row[j] - fmax(spline, least)));
            n_raised += spline < least;
            n_other += j >= first && part[j - first] != row[j];
        }
    }
    CHECK(worst < (is_noise ? 5e-5 : 2e-6), "%d x %d in cells of %d: off by %g", rows, columns, cell, worst);
    CHECK(n_other == 0, "%d x %d in cells of %d: %d values depend on the first column", rows, columns, cell, n_other);
    free(mesh.tables);
    return n_raised;
}

/* ---- maps of sep 1.4.1 ----------------------------------------------------------------------------------------------- */

/* Background(image, bw=4, bh=4, fw=1, fh=1) of an image of 15 x 18 pixels: each cell is a chequerboard with a mean and an amplitude
 * of its own. The nodes of back() and of rms() follow from the maps by least squares; they are multiples of 1/48. */
enum { SEP_ROWS = 15, SEP_COLUMNS = 18, SEP_CELL = 4, SEP_NODES = 20, SEP_AT_ROWS = 4, SEP_AT_COLUMNS = 6 };

static const int sep_nodes[2][SEP_NODES] = {
    {-519, -714, -321, 147, 408, -132, -378, -609, 156, 738, -36, -621, -615, 633, 36, -856, -128, -616, -328, -400},
    {180, 120, 300, 60, 240, 240, 120, 300, 240, 60, 240, 60, 180, 180, 120, 80, 160, 80, 80, 320},
};
static const int sep_at_rows[SEP_AT_ROWS] = {0, 1, 6, 14}, sep_at_columns[SEP_AT_COLUMNS] = {0, 1, 5, 8, 12, 17};
static const double sep_maps[2][SEP_AT_ROWS][SEP_AT_COLUMNS] = {
    {
        {-12.02919, -14.15235, -20.14544, -9.56799, 3.00368, 3.27033},
        {-10.16608, -12.08015, -17.72800, -10.10804, 1.62786, 5.41352},
        {-0.87846, -2.12859, -7.20234, -12.97425, -3.58753, 14.16672},
        {-25.64457, -20.54005, -3.21103, -9.24346, -9.69151, -7.70089},
    },
    {
        {3.65667, 3.25147, 2.20010, 5.53912, 0.75053, 5.66669},
        {4.14545, 3.65003, 2.27237, 5.48278, 1.74557, 4.94908},
        {6.46442, 5.51369, 2.47719, 4.97993, 6.10635, 1.74347},
        {0.76485, 1.35264, 3.30115, 2.33422, 1.02638, 5.89884},
    },
};

static void test_sep(int map)
{
    float tables[LW_MESH_TABLES * SEP_NODES], nodes[SEP_NODES], row[SEP_COLUMNS];
    struct lw_mesh mesh = lw_mesh_of(SEP_ROWS, SEP_COLUMNS, SEP_CELL, 1);
    CHECK(lw_mesh_values(&mesh) == LW_MESH_TABLES * SEP_NODES, "%lld values", (long long)lw_mesh_values(&mesh));
    mesh.tables = tables;
    for (int i = 0; i < SEP_NODES; i++)
        nodes[i] = (float)(sep_nodes[map][i] / 48.0);
    lw_mesh_fill(&mesh, 0, nodes);
    for (int i = 0; i < SEP_AT_ROWS; i++) {
        lw_mesh_row(&mesh, 0, sep_at_rows[i], 0, SEP_COLUMNS, row);
        for (int j = 0; j < SEP_AT_COLUMNS; j++) {
            const double found = row[sep_at_columns[j]], wanted = sep_maps[map][i][j];
            CHECK(fabs(found - wanted) < 2e-5, "map %d, row %d, column %d: %.6f, sep has %.6f", map, sep_at_rows[i],
                  sep_at_columns[j], found, wanted);
        }
    }
}

int main(void)
{
    for (int cell = 1; cell <= 8; cell++)
        for (int rows = 1; rows < 30; rows += 4)
            for (int columns = 1; columns < 30; columns += 3)
                for (int is_noise = 0; is_noise < 2 && rows <= MOST * cell && columns <= MOST * cell; is_noise++)
                    test_definition(rows, columns, cell, is_noise);
    const int n_raised = test_definition(96, 95, 8, true);
    CHECK(test_definition(96, 95, 8, false) == 0 && n_raised > 50, "the floor of a noise has raised %d values", n_raised);
    test_sep(0);
    test_sep(1);
    return check_result("mesh");
}
