#include "signal/peaks.h"

#include "base/integers.h"

#include <math.h>
#include <stdlib.h>

double lw_peaks_snr(const struct lw_peaks_spec *spec, const struct lw_crossing *c)
{
    const int64_t row = lw_search_stretch(spec->search, c->index) * spec->n_channels + c->channel;
    const double noise = spec->search->noise ? spec->search->noise[row * spec->n_filters + c->filter] : 1;
    return noise > 0 ? hypot(c->re, spec->has_errors ? 0 : c->im) / noise : 0;
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
 * The table that later holds the peaks first holds the crossings, sorted by cell. Meanwhile the fields `filter` and `cluster_size`
 * of a row hold the row and the column of its cell. `column` holds the column and the kernel, and `channel` the image, with the
 * kernel unless crossings of all kernels are neighbours (join, high, low). */

enum { LOW_BITS = 20 };

static int64_t join(int64_t high, int64_t low) { return high << LOW_BITS | low; }
static int64_t high(int64_t joined) { return joined >> LOW_BITS; }
static int64_t low(int64_t joined) { return joined & ((1 << LOW_BITS) - 1); }

static int compare_cells(const void *left, const void *right)
{
    const struct lw_peak *const a = left, *const b = right;
    const int channel = lw_compare64(a->channel, b->channel), row = lw_compare64(a->filter, b->filter);
    return channel ? channel : row ? row : lw_compare64(a->cluster_size, b->cluster_size);
}

static bool is_stronger_pixel(const struct lw_peak *a, const struct lw_peak *b)
{
    if (a->snr != b->snr)
        return a->snr > b->snr;
    if (low(a->column) != low(b->column))
        return low(a->column) < low(b->column);
    return a->index != b->index ? a->index < b->index : a->column < b->column;
}

/* Return the number of the first of n sorted rows whose cell is (channel, row, column) or a later cell. */
static int64_t find_cell(const struct lw_peak *rows, int64_t n, int64_t channel, int64_t row, int64_t column)
{
    const struct lw_peak wanted = {.channel = channel, .filter = row, .cluster_size = column};
    int64_t begin = 0;
    while (n > 0) {
        const int64_t half = n / 2;
        const bool is_before = compare_cells(&rows[begin + half], &wanted) < 0;
        begin += is_before ? half + 1 : 0;
        n = is_before ? n - half - 1 : half;
    }
    return begin;
}

/* Return the number of crossings around a pixel, itself included; 0 if a stronger one is among them: the pixel is no peak. */
static int64_t count_cluster(const struct lw_peak *rows, int64_t n, int64_t cluster, const struct lw_peak *pixel)
{
    int64_t count = 0;
    for (int64_t down = -1; down <= 1; down++) {
        const int64_t row = pixel->filter + down, column = pixel->cluster_size;
        for (int64_t i = find_cell(rows, n, pixel->channel, row, column - 1);
             i < n && rows[i].channel == pixel->channel && rows[i].filter == row && rows[i].cluster_size <= column + 1; i++) {
            if (llabs(rows[i].index - pixel->index) > cluster || llabs(high(rows[i].column) - high(pixel->column)) > cluster)
                continue;
            if (is_stronger_pixel(&rows[i], pixel))
                return 0;
            count++;
        }
    }
    return count;
}

/* Once the crossings stand in the table of peaks, their own array is free. It takes the list of the peaks found: the row in the
 * table as `index` and the size of the cluster as `column`. */
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
    qsort(peaks, (size_t)n, sizeof *peaks, compare_cells);
    for (int64_t begin = 0, end; begin < n; begin = end) {
        int64_t strongest = begin;
        for (end = begin + 1; end < n && compare_cells(&peaks[begin], &peaks[end]) == 0; end++)
            strongest = is_stronger_pixel(&peaks[end], &peaks[strongest]) ? end : strongest;
        if (peaks[strongest].index < spec->first || peaks[strongest].index >= spec->end)
            continue;
        const int64_t size = count_cluster(peaks, n, spec->search->cluster, &peaks[strongest]);
        if (size > 0)
            crossings[found++] = (struct lw_crossing){.index = strongest, .column = size};
    }
    for (int64_t i = 0; i < found; i++) {
        peaks[i] = peaks[crossings[i].index];
        peaks[i].channel = high(peaks[i].channel);
        peaks[i].filter = low(peaks[i].column);
        peaks[i].column = high(peaks[i].column);
        peaks[i].cluster_size = crossings[i].column;
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
