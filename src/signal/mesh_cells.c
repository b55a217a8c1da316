#include "signal/mesh_cells.h"

#include "base/integers.h"
#include "base/select.h"

#include <math.h>
#include <string.h>

/* Distances in units of sigma: of pixels for the histogram's range, of that range, of the clipping; mean and median in a crowded
 * cell. */
#define FIRST_CLIP 2
#define RANGE 5
#define CLIP 3
#define CROWDED 0.3

/* Clipping ends after so many steps, when sigma is so few levels wide, or when it changes by no more than this part. */
enum { MOST_STEPS = 100 };
#define LEAST_SIGMA 0.1
#define SAME 1e-4

/* Largest sum for a level in float32 whose rounding error is small: 1/16 of a level. */
#define MOST_SUM 0x1p20f

/* ---- a cell ---------------------------------------------------------------------------------------------------------- */

struct moments {
    int64_t n;
    double mean, sigma;
};

/* Return the moments of the pixels in [low, high], which are summed as differences from `about`. */
static struct moments moments_of(const float *pixels, int64_t n, float low, float high, double about)
{
    double sum = 0, squares = 0;
    int64_t count = 0;
#pragma omp simd reduction(+ : sum, squares, count)
    for (int64_t i = 0; i < n; i++) {
        const int counts = pixels[i] >= low && pixels[i] <= high;
        const double x = counts ? (double)pixels[i] - about : 0;
        sum += x;
        squares += x * x;
        count += counts;
    }
    if (count == 0)
        return (struct moments){0, about, 0};
    const double mean = sum / (double)count, variance = squares / (double)count - mean * mean;
    return (struct moments){count, about + mean, variance > 0 ? sqrt(variance) : 0};
}

/* The histogram of a cell: level k holds pixels around zero + k x width. */
struct levels {
    int n;
    float zero, width;
};

/* Find the levels of pixels, not rounded down; beyond the histogram -1 or LW_CELL_LEVELS. sep adds pixel / width to -zero / width
 * in float32. This rounds as sep does, so that pixels between two levels, common among whole numbers, get the same one. Where
 * rounding errors of the sum would be large, the distance from zero is divided instead. */
static void find_levels(const float *pixels, int n, const struct levels *levels, float *level)
{
    const float zero = levels->zero, width = levels->width, half = 0.499999f;
    const bool is_coarse = fabsf(zero / width) > MOST_SUM;
    const float begin = is_coarse ? zero : 0, add = is_coarse ? half : (float)(0.499999 - (double)(zero / width));
    for (int i = 0; i < n; i++) {
        const float at = (pixels[i] - begin) / width + add;
        level[i] = at > -1 ? at < LW_CELL_LEVELS ? at : LW_CELL_LEVELS : -1;
    }
}

static void count_levels(const float *pixels, int64_t n, const struct levels *levels, struct lw_cell_work *work)
{
    enum { BATCH = 256 };
    float level[BATCH];
    memset(work->counts, 0, (size_t)levels->n * sizeof *work->counts);
    for (int64_t first = 0; first < n; first += BATCH) {
        const int count = (int)lw_min64(BATCH, n - first);
        find_levels(pixels + first, count, levels, level);
        for (int i = 0; i < count; i++) {
            const int k = (int)level[i];
            if (k >= 0 && k < levels->n)
                work->counts[k]++;
        }
    }
    work->n[0] = work->sum[0] = work->squares[0] = 0;
    for (int k = 0; k < levels->n; k++) {
        const int64_t count = work->counts[k];
        work->n[k + 1] = work->n[k] + count;
        work->sum[k + 1] = work->sum[k] + count * k;
        work->squares[k + 1] = work->squares[k] + count * k * k;
    }
}

static double count_at(const struct lw_cell_work *work, int n_levels, int k)
{
    return k >= 0 && k < n_levels ? (double)work->counts[k] : 0;
}

/* Return the median of levels [low, high], in levels. Levels are added up from both ends, from the end with less, until the sums
 * meet; the median lies between them, where the larger of the two next counts would make the sums equal. */
static double median_of(const struct lw_cell_work *work, int n_levels, int low, int high)
{
    const int64_t all = work->n[high + 1] - work->n[low];
    int begin = low, end = high;            /* find the level that holds the middle: the first with at least half up to it */
    while (begin < end) {
        const int middle = (begin + end) / 2;
        if (2 * (work->n[middle + 1] - work->n[low]) >= all)
            end = middle;
        else
            begin = middle + 1;
    }
    const int64_t below = work->n[begin] - work->n[low], above = work->n[high + 1] - work->n[begin + 1];
    const int meeting = below < above ? begin + 1 : begin;
    const double lower = (double)(work->n[meeting] - work->n[low]), upper = (double)(work->n[high + 1] - work->n[meeting]);
    if (meeting == 0)
        return 0;
    const double larger = fmax(count_at(work, n_levels, meeting), count_at(work, n_levels, meeting - 1));
    return meeting - 0.5 + (upper - lower) / (2 * larger);
}

void lw_cell_measure(const float *pixels, int64_t n, int64_t n_all, struct lw_cell_work *work, float *background, float *noise)
{
    *background = *noise = NAN;
    if (n == 0 || 2 * n < n_all)
        return;
    const struct moments all = moments_of(pixels, n, -INFINITY, INFINITY, 0);
    const struct moments inner = moments_of(pixels, n, (float)(all.mean - FIRST_CLIP * all.sigma),
                                            (float)(all.mean + FIRST_CLIP * all.sigma), all.mean);
    struct levels levels = {
        .n = (int)fmin(sqrt(2 / M_PI) * RANGE / 4 * (double)inner.n + 1, LW_CELL_LEVELS), .width = 1,
        .zero = (float)(inner.mean - RANGE * inner.sigma),
    };
    if ((float)inner.sigma > 0)
        levels.width = (float)(2 * RANGE * inner.sigma / levels.n);
    count_levels(pixels, n, &levels, work);

    int low = 0, high = levels.n - 1;
    double center = 0, median = 0, sigma = 10.0 * high, last = 1;
    for (int step = 0; step < MOST_STEPS && sigma >= LEAST_SIGMA && fabs(sigma / last - 1) > SAME; step++) {
        last = sigma;
        const double count = (double)(work->n[high + 1] - work->n[low]);
        if (count == 0)
            break;
        median = median_of(work, levels.n, low, high);
        center = (double)(work->sum[high + 1] - work->sum[low]) / count;
        sigma = sqrt(fmax(0, (double)(work->squares[high + 1] - work->squares[low]) / count - center * center));
        low = (int)fmax(0, floor(median - CLIP * sigma + 0.5));
        high = (int)fmax(low, fmin(levels.n - 1, floor(median + CLIP * sigma + 0.5)));
    }
    double level = center;
    if (sigma > 0)
        level = fabs(center - median) < CROWDED * sigma ? 2.5 * median - 1.5 * center : median;
    *background = (float)((double)levels.zero + level * (double)levels.width);
    *noise = (float)(sigma * (double)levels.width);
}

/* ---- all nodes ------------------------------------------------------------------------------------------------------- */

static int64_t n_nodes(const struct lw_mesh *mesh) { return mesh->node_rows * mesh->node_columns; }

int64_t lw_nodes_bytes(const struct lw_mesh *mesh) { return n_nodes(mesh) * (int64_t)(sizeof(float) + 2 * sizeof(int64_t)); }

/* The nearest nodes with a value in the node's own row: columns at or before each node, and at or after it. */
struct nearest {
    int64_t *before, *after;        /* [nodes]; -1: none */
};

static void find_nearest(const float *nodes, int64_t columns, int64_t *before, int64_t *after)
{
    for (int64_t j = 0, found = -1; j < columns; j++)
        before[j] = found = isnan(nodes[j]) ? found : j;
    for (int64_t j = columns - 1, found = -1; j >= 0; j--)
        after[j] = found = isnan(nodes[j]) ? found : j;
}

/* Nodes at the least distance from a place so far. */
struct mean_of {
    int64_t distance, n;            /* squared distance; nodes */
    double sum;
};

static void add_node(struct mean_of *mean, int64_t distance, float value)
{
    if (mean->n > 0 && distance > mean->distance)
        return;
    if (mean->n > 0 && distance < mean->distance)
        *mean = (struct mean_of){0};
    mean->distance = distance;
    mean->n++;
    mean->sum += (double)value;
}

/* Return the mean of the values nearest to node (row, column); all of them, if several are equally near. */
static float fill_of(const struct lw_mesh *mesh, const float *nodes, const struct nearest *nearest, int64_t row, int64_t column,
                     float none)
{
    struct mean_of mean = {0};
    for (int64_t i = 0; i < mesh->node_rows; i++) {
        const int64_t at = i * mesh->node_columns, rows = (i - row) * (i - row);
        const int64_t before = nearest->before[at + column], after = nearest->after[at + column];
        if (before >= 0)
            add_node(&mean, rows + (column - before) * (column - before), nodes[at + before]);
        if (after >= 0 && after != before)
            add_node(&mean, rows + (column - after) * (column - after), nodes[at + after]);
    }
    return mean.n > 0 ? (float)(mean.sum / (double)mean.n) : none;
}

static float median_around(const struct lw_mesh *mesh, const float *nodes, int64_t row, int64_t column)
{
    const int64_t up = row > 0 && row < mesh->node_rows - 1, aside = column > 0 && column < mesh->node_columns - 1;
    double around[9];
    int n = 0;
    for (int64_t i = row - up; i <= row + up; i++)
        for (int64_t j = column - aside; j <= column + aside; j++)
            around[n++] = (double)nodes[i * mesh->node_columns + j];
    return (float)lw_select(around, n, n / 2);
}

void lw_nodes_smooth(const struct lw_mesh *mesh, float none, float *nodes, void *work)
{
    const int64_t rows = mesh->node_rows, columns = mesh->node_columns, n = n_nodes(mesh);
    const struct nearest nearest = {work, (int64_t *)work + n};
    float *const filled = (float *)((int64_t *)work + 2 * n);
    for (int64_t i = 0; i < rows; i++)
        find_nearest(nodes + i * columns, columns, nearest.before + i * columns, nearest.after + i * columns);
    for (int64_t i = 0; i < n; i++)
        filled[i] = isnan(nodes[i]) ? fill_of(mesh, nodes, &nearest, i / columns, i % columns, none) : nodes[i];
    for (int64_t i = 0; i < n; i++)
        nodes[i] = median_around(mesh, filled, i / columns, i % columns);
}
