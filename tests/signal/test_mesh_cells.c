/* test_mesh_cells.c - tests of the nodes of a mesh: a cell against the definition in double, step by step; all nodes against maps
 * of sep; and what no cell or few pixels give. */
#include "../check.h"
#include "signal/mesh_cells.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 1;

static uint64_t draw(void) { return state = state * 6364136223846793005u + 1442695040888963407u; }

static double uniform(void) { return (double)(draw() >> 11) * 0x1p-53; }

/* A nearly Gaussian number: the sum of twelve uniform ones. */
static double gaussian(void)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += uniform();
    return sum;
}

static struct lw_cell_work work;
static int n_cells, n_off;

/* ---- the definition of a cell ---------------------------------------------------------------------------------------- */

struct found {
    double background, noise;
};

static struct found moments(const double *x, int n, double low, double high, int *n_inner)
{
    double sum = 0, squares = 0;
    *n_inner = 0;
    for (int i = 0; i < n; i++)
        if (x[i] >= low && x[i] <= high) {
            sum += x[i];
            ++*n_inner;
        }
    const double mean = sum / *n_inner;
    for (int i = 0; i < n; i++)
        squares += x[i] >= low && x[i] <= high ? (x[i] - mean) * (x[i] - mean) : 0;
    return (struct found){mean, sqrt(squares / *n_inner)};
}

static struct found defined(const double *x, int n)
{
    int n_inner, counts[LW_CELL_LEVELS] = {0};
    struct found at = moments(x, n, -INFINITY, INFINITY, &n_inner);
    at = moments(x, n, at.background - 2 * at.noise, at.background + 2 * at.noise, &n_inner);
    const int n_levels = (int)fmin(4096, sqrt(2 / M_PI) * 5 / 4 * n_inner + 1);
    const double width = 10 * at.noise / n_levels, zero = at.background - 5 * at.noise;
    for (int i = 0; i < n; i++) {
        const double level = (x[i] - zero) / width + 0.499999;
        if (level > -1 && level < n_levels)
            counts[(int)level]++;
    }
    int low = 0, high = n_levels - 1;
    double mean = 0, median = 0, sigma = 10 * high, last = 1;
    for (int step = 0; step < 100 && sigma >= 0.1 && fabs(sigma / last - 1) > 1e-4; step++) {
        double sum = 0, all = 0, squares = 0, lower = 0, upper = 0;
        int from = low, to = high;
        while (from <= to)
            if (lower < upper)
                lower += counts[from++];
            else
                upper += counts[to--];
        const int next = from < n_levels ? counts[from] : 0;
        median = to + 0.5 + (upper - lower) / (2.0 * fmax(next, counts[to]));
        for (int k = low; k <= high; k++) {
            all += counts[k];
            sum += (double)k * counts[k];
        }
        mean = sum / all;
        for (int k = low; k <= high; k++)
            squares += (k - mean) * (k - mean) * counts[k];
        last = sigma;
        sigma = sqrt(squares / all);
        low = (int)fmax(0, floor(median - 3 * sigma + 0.5));
        high = (int)fmin(n_levels - 1, floor(median + 3 * sigma + 0.5));
    }
    const double mode = fabs(mean - median) < 0.3 * sigma ? 2.5 * median - 1.5 * mean : median;
    return (struct found){zero + mode * width, sigma * width};
}

/* Cells with a part of bright pixels, which are exponentially distributed. @param most  allowed error of nearly all cells, in
 * units of the noise */
static void test_definition(int n, double part, double level, double most)
{
    float *const pixels = malloc((size_t)n * sizeof *pixels);
    double *const same = malloc((size_t)n * sizeof *same);
    for (int i = 0; i < n; i++) {
        pixels[i] = (float)(level + 3 * gaussian() + (uniform() < part ? -20 * log(1 - uniform()) : 0));
        same[i] = (double)pixels[i];
    }
    float background, noise;
    lw_cell_measure(pixels, n, n, &work, &background, &noise);
    const struct found wanted = defined(same, n);
    /* A pixel near the edge of a level may count in the next one, which in few cells ends the clipping a step before or after. */
    const double error = fmax(fabs(background - wanted.background), fabs(noise - wanted.noise)) / wanted.noise;
    n_cells++;
    n_off += error > most;
    CHECK(error < 0.03, "%d pixels, %g bright, level %g: %g +- %g, by the definition %g +- %g", n, part, level, background, noise,
          wanted.background, wanted.noise);
    free(pixels);
    free(same);
}

static void test_few(void)
{
    float background, noise;
    const float pixels[3] = {7, 7, 7}, distant[2] = {1e30f, 1e30f};
    lw_cell_measure(pixels, 2, 5, &work, &background, &noise);
    CHECK(isnan(background) && isnan(noise), "2 of 5 pixels: %g +- %g", background, noise);
    lw_cell_measure(pixels, 0, 0, &work, &background, &noise);
    CHECK(isnan(background) && isnan(noise), "no pixel: %g +- %g", background, noise);
    lw_cell_measure(pixels, 3, 6, &work, &background, &noise);
    CHECK(background == 7 && noise == 0, "equal pixels: %g +- %g", background, noise);
    lw_cell_measure(pixels, 1, 1, &work, &background, &noise);
    CHECK(background == 7 && noise == 0, "one pixel: %g +- %g", background, noise);
    lw_cell_measure(distant, 2, 2, &work, &background, &noise);
    CHECK(background == 1e30f && noise == 0, "large pixels: %g +- %g", background, noise);
}

/* ---- nodes that are filled ------------------------------------------------------------------------------------------- */

static void test_fill(void)
{
    const struct lw_mesh row = lw_mesh_of(1, 7, 1, 1);
    void *const bytes = malloc((size_t)lw_nodes_bytes(&row));
    float nodes[7] = {NAN, 2, NAN, 8, NAN, NAN, 5};
    const float wanted[7] = {2, 2, 5, 8, 8, 5, 5};       /* medians of 2 2 5 8 8 5 5; those of three in the middle */
    lw_nodes_smooth(&row, 1, nodes, bytes);
    CHECK(memcmp(nodes, wanted, sizeof nodes) == 0, "filled: %g %g %g %g %g %g %g", nodes[0], nodes[1], nodes[2], nodes[3],
          nodes[4], nodes[5], nodes[6]);
    for (int i = 0; i < 7; i++)
        nodes[i] = NAN;
    lw_nodes_smooth(&row, 3, nodes, bytes);
    CHECK(nodes[0] == 3 && nodes[6] == 3, "no node: %g, %g", nodes[0], nodes[6]);
    free(bytes);
}

/* ---- maps of sep 1.4.1 ----------------------------------------------------------------------------------------------- */

/* Background(image, mask=mask, bw=32, bh=32) of the image below, whose pixels NaN are masked: back() and rms(). */
enum { ROWS = 150, COLUMNS = 170, CELL = 32, AT = 6 };

static const int at_rows[AT] = {0, 20, 47, 83, 111, 149}, at_columns[AT] = {0, 31, 77, 103, 140, 169};
static const double sep_maps[2][AT][AT] = {
    {
        {47.50853, 46.48477, 46.81340, 46.90722, 46.68592, 50.27472},
        {47.37392, 47.89935, 48.40318, 48.43221, 48.29032, 50.18735},
        {48.50694, 50.41560, 51.12213, 51.11362, 50.85040, 50.84483},
        {57.49594, 57.19926, 57.57767, 57.78500, 56.35564, 56.37356},
        {61.32054, 60.78525, 58.80312, 58.96925, 59.01548, 60.46305},
        {62.00782, 63.30691, 64.27276, 64.52697, 64.20824, 61.60628},
    },
    {
        {15.53681, 15.85057, 16.04567, 16.07020, 16.45889, 16.39218},
        {15.90582, 15.98169, 16.08251, 16.05490, 16.23526, 16.29481},
        {16.31277, 16.13627, 16.08191, 15.99420, 15.95736, 16.12796},
        {16.20606, 16.13803, 15.79672, 15.68700, 15.70411, 15.72257},
        {15.41901, 15.63881, 15.71658, 15.56533, 15.44071, 15.65935},
        {15.46577, 15.45067, 15.80124, 15.57502, 15.77723, 15.77265},
    },
};

static void make_image(float *image)
{
    state = 1;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            const uint64_t bits = draw();
            const int noise = (int)(bits >> 59) + (int)(bits >> 54 & 31) + (int)(bits >> 49 & 31);
            const int star = i % 37 < 3 && j % 41 < 3 ? 200 : 0;
            image[i * COLUMNS + j] = i >= 40 && i < 100 && j >= 60 && j < 140 ? NAN : (float)(noise + i / 8 + star);
        }
}

static void measure_cell(const float *image, int row, int column, float *background, float *noise)
{
    float pixels[CELL * CELL];
    int n = 0, n_all = 0;
    for (int i = row * CELL; i < (row + 1) * CELL && i < ROWS; i++)
        for (int j = column * CELL; j < (column + 1) * CELL && j < COLUMNS; j++, n_all++)
            if (isfinite(image[i * COLUMNS + j]))
                pixels[n++] = image[i * COLUMNS + j];
    lw_cell_measure(pixels, n, n_all, &work, background, noise);
}

static void test_sep(void)
{
    static float image[ROWS * COLUMNS];
    enum { NODE_ROWS = 5, NODE_COLUMNS = 6, NODES = NODE_ROWS * NODE_COLUMNS };
    float nodes[2][NODES], tables[LW_MESH_TABLES * NODES], row[COLUMNS];
    struct lw_mesh mesh = lw_mesh_of(ROWS, COLUMNS, CELL, 1);
    void *const bytes = malloc((size_t)lw_nodes_bytes(&mesh));
    make_image(image);
    for (int k = 0; k < NODES; k++)
        measure_cell(image, k / NODE_COLUMNS, k % NODE_COLUMNS, &nodes[0][k], &nodes[1][k]);
    mesh.tables = tables;
    for (int map = 0; map < 2; map++) {
        lw_nodes_smooth(&mesh, 0, nodes[map], bytes);
        lw_mesh_fill(&mesh, 0, nodes[map]);
        for (int i = 0; i < AT; i++) {
            lw_mesh_row(&mesh, 0, at_rows[i], 0, COLUMNS, row);
            for (int j = 0; j < AT; j++) {
                const double found = row[at_columns[j]], wanted = sep_maps[map][i][j];
                CHECK(fabs(found - wanted) < 5e-5, "map %d, row %d, column %d: %.6f, sep has %.6f", map, at_rows[i], at_columns[j],
                      found, wanted);
            }
        }
    }
    free(bytes);
}

int main(void)
{
    for (int n = 20; n < 20000; n = n * 3 / 2)
        for (int part = 0; part < 5; part++)
            test_definition(n, part * 0.1, part * part * 10, 2e-3);
    for (int part = 0; part < 5; part++)
        test_definition(4096, part * 0.1, 1e5, 5e-3);       /* float32 holds such pixels to 0.003 of their noise */
    CHECK(n_off <= n_cells / 50, "%d of %d cells are off", n_off, n_cells);
    test_few();
    test_fill();
    test_sep();
    return check_result("mesh_cells");
}
