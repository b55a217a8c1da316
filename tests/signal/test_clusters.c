/* test_clusters.c - tests of clusters of crossings over channels, against the definition in signal/search.h for all pairs. */
#include "../check.h"
#include "signal/clusters.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 400, MOST_CHANNELS = 12 };

static uint64_t state = 1;

static int64_t below(int64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(state >> 33) % n;
}

struct world {
    struct lw_search search;
    int64_t n_channels, n;
    struct lw_crossing all[MOST];       /* sorted by index */
};

static bool are_neighbours(const struct world *w, const struct lw_crossing *a, const struct lw_crossing *b)
{
    return llabs(a->index - b->index) <= w->search.cluster && abs(a->channel - b->channel) <= w->search.cluster_channels;
}

static bool is_stronger(const struct lw_crossing *a, const struct lw_crossing *b)
{
    if (a->re != b->re)
        return a->re > b->re;
    if (a->filter != b->filter)
        return a->filter < b->filter;
    return a->channel != b->channel ? a->channel < b->channel : a->index < b->index;
}

/* Paint neighbours in the same colour until nothing changes. */
static int64_t expected_peaks(const struct world *w, struct lw_peak *peaks)
{
    int64_t colour[MOST], n = 0;
    bool changed = true;
    for (int64_t i = 0; i < w->n; i++)
        colour[i] = i;
    while (changed) {
        changed = false;
        for (int64_t i = 0; i < w->n; i++)
            for (int64_t k = 0; k < w->n; k++)
                if (colour[k] < colour[i] && are_neighbours(w, &w->all[i], &w->all[k])) {
                    colour[i] = colour[k];
                    changed = true;
                }
    }
    for (int64_t i = 0; i < w->n; i++) {
        bool is_peak = true;
        int64_t size = 0;
        for (int64_t k = 0; k < w->n; k++)
            if (colour[k] == colour[i]) {
                is_peak = is_peak && !is_stronger(&w->all[k], &w->all[i]);
                size += 1 + w->all[k].column;
            }
        if (is_peak)
            peaks[n++] = (struct lw_peak){w->all[i].index, w->all[i].channel, w->all[i].filter, 0, w->all[i].re, 0, w->all[i].re,
                                          size};
    }
    return n;
}

/* Add the crossings, and end clusters when they must be and now and then. */
static int64_t found_peaks(const struct world *w, struct lw_peak *peaks)
{
    struct lw_clusters *clusters = NULL;
    struct lw_error err;
    int64_t n = 0;
    CHECK(lw_clusters_create(&w->search, w->n_channels, &clusters, &err) == LW_OK, "no memory");
    for (int64_t i = 0; i < w->n; i++) {
        if (lw_clusters_are_full(clusters) || below(20) == 0)
            n += lw_clusters_end(clusters, w->all[i].index, peaks + n);
        lw_clusters_add(clusters, &w->all[i], w->all[i].re);
    }
    n += lw_clusters_end(clusters, INT64_MAX, peaks + n);
    CHECK(lw_clusters_end(clusters, INT64_MAX, peaks + n) == 0, "clusters end twice");
    lw_clusters_destroy(clusters);
    qsort(peaks, (size_t)n, sizeof *peaks, lw_peaks_compare);
    return n;
}

static void make_world(struct world *w)
{
    const int64_t far = below(2) * ((int64_t)1 << 40), length = 1 + below(300), percent = 1 + below(30), levels = 1 + below(50);
    w->search = (struct lw_search){.cluster = below(4) * below(6), .cluster_channels = 1 + below(4) * below(4)};
    w->n_channels = 1 + below(MOST_CHANNELS);
    w->n = 0;
    for (int64_t i = 0; i < length; i++)
        for (int32_t c = 0; c < w->n_channels; c++)
            for (int32_t f = 0; f < 2; f++)
                if (below(100) < percent && w->n < MOST)
                    w->all[w->n++] = (struct lw_crossing){far + i, c, f, below(3), (double)(1 + below(levels)), 0};
}

int main(void)
{
    static struct world w;
    static struct lw_peak expected[MOST], found[2 * MOST];
    for (int i = 0; i < 3000; i++) {
        make_world(&w);
        const int64_t n = expected_peaks(&w, expected), n_found = found_peaks(&w, found);
        qsort(expected, (size_t)n, sizeof *expected, lw_peaks_compare);
        CHECK(n == n_found && memcmp(expected, found, (size_t)n * sizeof *found) == 0,
              "%" PRId64 " crossings of %" PRId64 " channels, +- %" PRId64 ", +- %" PRId64 ": %" PRId64 " peaks, expected %" PRId64,
              w.n, w.n_channels, w.search.cluster, w.search.cluster_channels, n_found, n);
    }
    return check_result("clusters");
}
