#include "signal/peaks.h"

#include "base/integers.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

double lw_peaks_snr(const struct lw_peaks_spec *spec, const struct lw_crossing *c)
{
    const int64_t row = lw_search_stretch(spec->search, c->index) * spec->n_channels + c->channel;
    const double noise = spec->search->noise ? spec->search->noise[row * spec->n_filters + c->filter] : 1;
    const bool is_real = spec->has_errors || c->im == 0;    /* hypot takes longer */
    return noise > 0 ? (is_real ? fabs(c->re) : hypot(c->re, c->im)) / noise : 0;
}

/* ---- orders -------------------------------------------------------------------------------------------------------- */

/* Orders for qsort, along the axis within each run (defined below). A run has one filter or, with compare_by_index, all filters. */
static int compare_by_filter(const void *left, const void *right)
{
    const struct lw_crossing *const a = left, *const b = right;
    const int channel = lw_compare64(a->channel, b->channel), filter = lw_compare64(a->filter, b->filter);
    return channel ? channel : filter ? filter : lw_compare64(a->index, b->index);
}

static int compare_by_index(const void *left, const void *right)
{
    const struct lw_crossing *const a = left, *const b = right;
    const int channel = lw_compare64(a->channel, b->channel), index = lw_compare64(a->index, b->index);
    return channel ? channel : index ? index : lw_compare64(a->filter, b->filter);
}

int lw_peaks_compare(const void *left, const void *right)
{
    const struct lw_peak *const a = left, *const b = right;
    const int index = lw_compare64(a->index, b->index), channel = lw_compare64(a->channel, b->channel);
    const int filter = lw_compare64(a->filter, b->filter);
    return index ? index : channel ? channel : filter ? filter : lw_compare64(a->column, b->column);
}

/* ---- a run: crossings that are compared with each other --------------------------------------------------------------- */

/* The crossings of a run, each with the others of its output that it stands for (`column`). The table that later receives the peaks
 * keeps their SNRs and clusters: row i keeps the SNR of crossing i and, in cluster_size, the size of its cluster if it is a peak,
 * else 0. The rows' `channel` fields hold a queue of crossing numbers, from strong to weak: the crossings that can be the strongest
 * in the window of mark_run, now or later. */
struct run {
    const struct lw_crossing *crossings;
    struct lw_peak *rows;
    int64_t n, head, tail;              /* number of crossings; the queue is rows[head .. tail).channel */
};

static bool is_stronger(const struct run *run, int64_t a, int64_t b)
{
    const double x = run->rows[a].snr, y = run->rows[b].snr;
    const struct lw_crossing *const c = &run->crossings[a], *const d = &run->crossings[b];
    if (x != y)
        return x > y;
    return c->filter != d->filter ? c->filter < d->filter : c->index < d->index;
}

/* Mark the peaks of a run. A window of +- cluster outputs moves from crossing to crossing; the crossing in its middle is a peak if
 * it is the strongest. The head of the queue is the window's strongest. */
static void mark_run(struct run *run, int64_t cluster)
{
    const struct lw_crossing *const c = run->crossings;
    int64_t begin = 0, end = 0, size = 0;       /* the window holds the crossings [begin, end); size: with those they stand for */
    for (int64_t i = 0; i < run->n; i++) {
        for (; end < run->n && c[end].index - c[i].index <= cluster; end++) {
            while (run->tail > run->head && is_stronger(run, end, run->rows[run->tail - 1].channel))
                run->tail--;
            run->rows[run->tail++].channel = end;
            size += 1 + c[end].column;
        }
        for (; c[i].index - c[begin].index > cluster; begin++)
            size -= 1 + c[begin].column;
        while (run->tail > run->head && run->rows[run->head].channel < begin)
            run->head++;
        run->rows[i].cluster_size = run->rows[run->head].channel == i ? size : 0;
    }
}

/* ---- images -----------------------------------------------------------------------------------------------------------
 *
 * An image is divided into cells of cluster + 1 rows and columns. All pixels of a cell are neighbours, so that only its strongest
 * can be a peak. The neighbours of this pixel lie in its cell and the eight around it: a crossing is visited at most nine times.
 *
 * The table that later holds the peaks first holds the crossings. Meanwhile the fields `filter` and `cluster_size` of a row hold
 * the row and the column of its cell. `column` holds the column and the kernel, and `channel` the image, with the kernel unless
 * crossings of all kernels are neighbours (join, high, low). */

enum { LOW_BITS = 20 };

static int64_t join(int64_t high, int64_t low) { return high << LOW_BITS | low; }
static int64_t high(int64_t joined) { return joined >> LOW_BITS; }
static int64_t low(int64_t joined) { return joined & ((1 << LOW_BITS) - 1); }

#define NO_ROW UINT32_MAX

/* A peak found: its row, and the size of its cluster. */
struct found {
    uint32_t row, size;
};

static int compare_found(const void *left, const void *right)
{
    const struct found *const a = left, *const b = right;
    return lw_compare64(a->row, b->row);
}

/* The cells that have crossings, in the memory of the crossings, which stand in the rows by then. */
struct cells {
    const struct lw_peak *rows;
    struct found *found;                /* [n] */
    uint32_t *next;                     /* [n] the next row of the same cell; NO_ROW: none */
    uint32_t *strongest;                /* [mask + 1] hash table: the first of a cell's rows is the strongest; NO_ROW: none */
    uint64_t mask;
};

static struct cells cells_of(const struct lw_peak *rows, void *memory, int64_t n)
{
    struct cells cells = {.rows = rows, .found = memory, .mask = 1};
    while (cells.mask < 2 * (uint64_t)n)
        cells.mask *= 2;                /* it ends below 4 n */
    static_assert(sizeof(struct found) + (1 + 4) * sizeof(uint32_t) <= sizeof(struct lw_crossing), "memory of the cells");
    cells.next = (uint32_t *)(void *)(cells.found + n);
    cells.strongest = cells.next + n;
    memset(cells.strongest, 0xff, cells.mask-- * sizeof *cells.strongest);
    return cells;
}

/* Return the place of a cell in the table, where it stands or would stand. */
static uint32_t *find_cell(const struct cells *cells, int64_t channel, int64_t row, int64_t column)
{
    const uint64_t odd = 0x9e3779b97f4a7c15u, mixed = (((uint64_t)channel * odd + (uint64_t)row) * odd + (uint64_t)column) * odd;
    for (uint64_t at = mixed >> 32;; at++) {
        uint32_t *const place = &cells->strongest[at & cells->mask];
        const struct lw_peak *const its = &cells->rows[*place == NO_ROW ? 0 : *place];
        if (*place == NO_ROW || (its->channel == channel && its->filter == row && its->cluster_size == column))
            return place;
    }
}

static bool is_stronger_pixel(const struct lw_peak *a, const struct lw_peak *b)
{
    if (a->snr != b->snr)
        return a->snr > b->snr;
    if (low(a->column) != low(b->column))
        return low(a->column) < low(b->column);
    return a->index != b->index ? a->index < b->index : a->column < b->column;
}

/* Put a row into its cell. */
static void put(const struct cells *cells, uint32_t row)
{
    const struct lw_peak *const its = &cells->rows[row];
    uint32_t *const first = find_cell(cells, its->channel, its->filter, its->cluster_size);
    const bool leads = *first == NO_ROW || is_stronger_pixel(its, &cells->rows[*first]);
    uint32_t *const before = leads ? first : &cells->next[*first];
    cells->next[row] = *before;
    *before = row;
}

/* Return the number of crossings around a pixel, itself included; 0 if a stronger one is among them: the pixel is no peak. The
 * strongest of each cell are looked at first: most pixels are weaker than one of them. */
static uint32_t count_cluster(const struct cells *cells, int64_t cluster, const struct lw_peak *pixel)
{
    uint32_t first[9], count = 0;
    for (int cell = 0; cell < 9; cell++)
        first[cell] = *find_cell(cells, pixel->channel, pixel->filter + cell / 3 - 1, pixel->cluster_size + cell % 3 - 1);
    for (int cell = 0; cell < 18; cell++)
        for (uint32_t i = first[cell % 9]; i != NO_ROW; i = cell < 9 ? NO_ROW : cells->next[i]) {
            const struct lw_peak *const other = &cells->rows[i];
            if (llabs(other->index - pixel->index) > cluster || llabs(high(other->column) - high(pixel->column)) > cluster)
                continue;
            if (is_stronger_pixel(other, pixel))
                return 0;
            count += cell < 9 ? 0 : 1;
        }
    return count;
}

static int64_t pick_in_images(const struct lw_peaks_spec *spec, struct lw_crossing *crossings, int64_t n, struct lw_peak *peaks)
{
    const int64_t side = spec->search->cluster + 1;
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        const struct lw_crossing *const c = &crossings[i];
        const double snr = lw_peaks_snr(spec, c);
        const int64_t channel = join(c->channel, spec->search->clusters_filters ? 0 : c->filter);
        peaks[i] = (struct lw_peak){c->index, channel, c->index / side, join(c->column, c->filter), c->re, c->im, snr,
                                    c->column / side};
    }
    if (n == 0)
        return 0;
    const struct cells cells = cells_of(peaks, crossings, n);
    for (int64_t i = 0; i < n; i++)
        put(&cells, (uint32_t)i);
    for (uint64_t at = 0; at <= cells.mask; at++) {
        const uint32_t row = cells.strongest[at];
        if (row == NO_ROW || peaks[row].index < spec->first || peaks[row].index >= spec->end)
            continue;
        const uint32_t size = count_cluster(&cells, spec->search->cluster, &peaks[row]);
        if (size > 0)
            cells.found[found++] = (struct found){row, size};
    }
    qsort(cells.found, (size_t)found, sizeof *cells.found, compare_found);
    for (int64_t i = 0; i < found; i++) {
        peaks[i] = peaks[cells.found[i].row];
        peaks[i].channel = high(peaks[i].channel);
        peaks[i].filter = low(peaks[i].column);
        peaks[i].column = high(peaks[i].column);
        peaks[i].cluster_size = cells.found[i].size;
    }
    return found;
}

/* ---- series; the choice between series and images -------------------------------------------------------------------- */

int64_t lw_peaks_merge(const struct lw_peaks_spec *spec, struct lw_crossing *crossings, int64_t n)
{
    int64_t merged = 0;
    qsort(crossings, (size_t)n, sizeof *crossings, compare_by_index);
    for (int64_t i = 0; i < n; i++) {
        struct lw_crossing *const last = crossings + merged - 1;
        if (merged == 0 || last->index != crossings[i].index || last->channel != crossings[i].channel) {
            crossings[merged++] = crossings[i];
            continue;
        }
        const int64_t others = last->column + crossings[i].column + 1;
        if (lw_peaks_snr(spec, &crossings[i]) > lw_peaks_snr(spec, last))
            *last = crossings[i];
        last->column = others;
    }
    return merged;
}

/* A run holds the crossings of one channel and one filter, or of one channel and all filters if `clusters_filters`. */
static int64_t pick_in_series(const struct lw_peaks_spec *spec, struct lw_crossing *crossings, int64_t n, struct lw_peak *peaks)
{
    const struct lw_search *const search = spec->search;
    if (search->clusters_filters)
        n = lw_peaks_merge(spec, crossings, n);
    else
        qsort(crossings, (size_t)n, sizeof *crossings, compare_by_filter);
    for (int64_t i = 0; i < n; i++)
        peaks[i].snr = lw_peaks_snr(spec, &crossings[i]);
    for (int64_t begin = 0, end; begin < n; begin = end) {
        const struct lw_crossing *const first = &crossings[begin];
        for (end = begin + 1; end < n && crossings[end].channel == first->channel &&
                              (search->clusters_filters || crossings[end].filter == first->filter);)
            end++;
        struct run run = {.crossings = first, .rows = peaks + begin, .n = end - begin};
        mark_run(&run, search->cluster);
    }
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        const struct lw_crossing *const c = &crossings[i];
        const int64_t size = peaks[i].cluster_size;
        const double snr = peaks[i].snr;
        if (size > 0 && c->index >= spec->first && c->index < spec->end)
            peaks[found++] = (struct lw_peak){c->index, c->channel, c->filter, 0, c->re, c->im, snr, size};
    }
    return found;
}

/* Drop the other sign, and outputs just below the threshold that rounding let pass. @return  number of crossings left */
static int64_t drop_others(const struct lw_peaks_spec *spec, struct lw_crossing *crossings, int64_t n)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++)
        if (lw_sign_fits(spec->search->sign, crossings[i].re) && lw_peaks_snr(spec, &crossings[i]) >= spec->search->threshold)
            crossings[kept++] = crossings[i];
    return kept;
}

int64_t lw_peaks_gather(const struct lw_peaks_spec *spec, struct lw_crossing *crossings, int64_t n, struct lw_peak *peaks)
{
    const int64_t kept = drop_others(spec, crossings, n);
    const int64_t merged = spec->search->clusters_filters ? lw_peaks_merge(spec, crossings, kept) : kept;
    int64_t found = 0;
    for (int64_t i = 0; i < merged; i++) {
        const struct lw_crossing *const c = &crossings[i];
        if (c->index >= spec->first && c->index < spec->end)
            peaks[found++] = (struct lw_peak){c->index, c->channel, c->filter, 0, c->re, c->im, lw_peaks_snr(spec, c),
                                              1 + c->column};
    }
    return found;
}

int64_t lw_peaks_pick(const struct lw_peaks_spec *spec, struct lw_crossing *crossings, int64_t n, struct lw_peak *peaks)
{
    const int64_t kept = drop_others(spec, crossings, n);
    const int64_t found = spec->is_image ? pick_in_images(spec, crossings, kept, peaks)
                                         : pick_in_series(spec, crossings, kept, peaks);
    qsort(peaks, (size_t)found, sizeof *peaks, lw_peaks_compare);
    return found;
}
