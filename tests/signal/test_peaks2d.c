/* test_peaks2d.c - tests of peaks in images: the definition, applied to every pair of crossings, gives the same table for all
 * neighbourhoods, cuts and orders; and the time to count clusters is bounded for any density of crossings. */
#include "../check.h"
#include "signal/peaks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 23, COLUMNS = 31, IMAGES = 3, MOST = ROWS * COLUMNS * IMAGES };

static uint64_t state = 1;

static uint64_t draw(uint64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
}

static const double noise[IMAGES] = {1, 0.5, 2};

/* Crossings in one of `one_in` pixels. They have few different strengths, so that there are ties and plateaus. */
static int64_t make(struct lw_crossing *crossings, uint64_t one_in, bool is_complex)
{
    int64_t n = 0;
    for (int64_t i = 0; i < MOST; i++) {
        const double re = (double)draw(6), im = is_complex ? (double)draw(6) : 0;
        if (draw(one_in) == 0)
            crossings[n++] = (struct lw_crossing){.index = i / COLUMNS % ROWS, .channel = (int32_t)(i / COLUMNS / ROWS),
                                                  .column = i % COLUMNS, .re = draw(2) ? re : -re, .im = im};
    }
    return n;
}

static void shuffle(struct lw_crossing *crossings, int64_t n)
{
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = (int64_t)draw((uint64_t)i + 1);
        const struct lw_crossing swap = crossings[i];
        crossings[i] = crossings[j];
        crossings[j] = swap;
    }
}

static double snr(const struct lw_crossing *c) { return hypot(c->re, c->im) / noise[c->channel]; }

static bool is_near(const struct lw_crossing *a, const struct lw_crossing *b, int64_t cluster)
{
    return a->channel == b->channel && llabs(a->index - b->index) <= cluster && llabs(a->column - b->column) <= cluster;
}

static bool beats(const struct lw_crossing *a, const struct lw_crossing *b)
{
    if (snr(a) != snr(b))
        return snr(a) > snr(b);
    return a->index != b->index ? a->index < b->index : a->column < b->column;
}

/* Select peaks by the definition. */
static int64_t pick(const struct lw_search *search, const struct lw_crossing *crossings, int64_t n, struct lw_peak *peaks)
{
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        const struct lw_crossing *const c = &crossings[i];
        struct lw_peak peak = {c->index, c->channel, 0, c->column, c->re, c->im, snr(c), 0};
        bool is_peak = peak.snr >= search->threshold;
        for (int64_t j = 0; j < n; j++) {
            if (!is_near(c, &crossings[j], search->cluster) || snr(&crossings[j]) < search->threshold)
                continue;
            peak.cluster_size++;
            is_peak &= !beats(&crossings[j], c);
        }
        if (is_peak)
            peaks[found++] = peak;
    }
    qsort(peaks, (size_t)found, sizeof *peaks, lw_peaks_compare);
    return found;
}

/* Select peaks in pieces of `step` rows; each piece has only the crossings of its neighbourhood. @return number of peaks */
static int64_t pick_pieces(const struct lw_search *search, const struct lw_crossing *all, int64_t n, int64_t step,
                           struct lw_peak *peaks)
{
    static struct lw_crossing crossings[MOST];
    int64_t found = 0;
    for (int64_t first = 0; first < ROWS; first += step) {
        const struct lw_peaks_spec spec = {.search = search, .n_filters = 1, .first = first, .end = first + step, .is_image = true};
        int64_t some = 0;
        for (int64_t i = 0; i < n; i++)
            if (all[i].index >= first - search->cluster && all[i].index < first + step + search->cluster)
                crossings[some++] = all[i];
        found += lw_peaks_pick(&spec, crossings, some, peaks + found);
    }
    return found;
}

static void compare(const struct lw_search *search, const struct lw_crossing *crossings, int64_t n)
{
    static struct lw_peak wanted[MOST], found[2 * MOST];
    static const int64_t steps[] = {1, 4, ROWS};
    const int64_t n_wanted = pick(search, crossings, n, wanted);
    for (int s = 0; s < 3; s++) {
        const int64_t n_found = pick_pieces(search, crossings, n, steps[s], found);
        CHECK(n_found == n_wanted && memcmp(found, wanted, (size_t)n_wanted * sizeof *wanted) == 0,
              "cluster %lld, threshold %g, %lld crossings, pieces of %lld rows: %lld peaks, not %lld, or others",
              (long long)search->cluster, search->threshold, (long long)n, (long long)steps[s], (long long)n_found,
              (long long)n_wanted);
    }
}

static void test_definition(void)
{
    static struct lw_crossing crossings[MOST];
    static const int64_t clusters[] = {0, 1, 2, 3, 7, 22, 30, 1000, LW_SEARCH_MOST_CLUSTER};
    static const uint64_t densities[] = {1, 3, 20, 200, 100000};
    for (size_t c = 0; c < sizeof clusters / sizeof *clusters; c++) {
        for (size_t d = 0; d < sizeof densities / sizeof *densities; d++) {
            const struct lw_search search = {.products = LW_PEAKS, .noise = noise, .threshold = 2.5, .cluster = clusters[c]};
            const int64_t n = make(crossings, densities[d], d % 2 == 1);
            shuffle(crossings, n);
            compare(&search, crossings, n);
        }
    }
}

static void test_edges(void)
{
    const struct lw_search search = {.products = LW_PEAKS, .noise = noise, .threshold = 1, .cluster = 3};
    const struct lw_crossing pairs[][2] = {
        {{.index = 4, .column = 4, .re = 5}, {.index = 7, .column = 1, .re = 4}},      /* the second pixel is at the square's
                                                                                        * corner */
        {{.index = 4, .column = 4, .re = 5}, {.index = 8, .column = 4, .re = 4}},      /* the second pixel is outside it */
        {{.index = 4, .column = 4, .re = 5}, {.index = 4, .column = 8, .re = 4}},
        {{.index = 4, .column = 4, .re = 5}, {.index = 4, .channel = 1, .column = 4, .re = 1}},
    };
    static const int64_t n_wanted[] = {1, 2, 2, 2};
    for (int i = 0; i < 4; i++) {
        struct lw_peak peaks[2];
        const int64_t n = pick_pieces(&search, pairs[i], 2, ROWS, peaks);
        CHECK(n == n_wanted[i] && peaks[0].re == 5 && peaks[0].cluster_size == 3 - n, "pair %d: %lld peaks, the first of %lld", i,
              (long long)n, (long long)peaks[0].cluster_size);
    }
}

/* Every pixel of an image is a crossing. Comparing each with all others in its neighbourhood would take hours. */
static void test_full(void)
{
    enum { SIDE = 1000, CLUSTER = 300 };
    const struct lw_search search = {.products = LW_PEAKS, .threshold = 1, .cluster = CLUSTER};
    const struct lw_peaks_spec spec = {.search = &search, .n_filters = 1, .end = SIDE, .is_image = true};
    struct lw_crossing *const crossings = calloc((size_t)SIDE * SIDE, sizeof *crossings);
    struct lw_peak *const peaks = calloc((size_t)SIDE * SIDE, sizeof *peaks);
    if (!crossings || !peaks)
        abort();
    for (int64_t i = 0; i < (int64_t)SIDE * SIDE; i++)
        crossings[i] = (struct lw_crossing){.index = i / SIDE, .column = i % SIDE, .re = i == 500500 ? 3 : 2};
    const int64_t n = lw_peaks_pick(&spec, crossings, (int64_t)SIDE * SIDE, peaks);
    int64_t at = 0;
    while (at < n && peaks[at].re != 3)
        at++;
    CHECK(at < n && peaks[at].index == 500 && peaks[at].column == 500 &&
          peaks[at].cluster_size == (2 * CLUSTER + 1) * (2 * CLUSTER + 1),
          "the highest pixel of a full image is peak %lld of %lld", (long long)at, (long long)n);
    CHECK(n > 1 && peaks[0].index == 0 && peaks[0].column == 0 && peaks[0].cluster_size == (CLUSTER + 1) * (CLUSTER + 1),
          "the first of equal pixels is no peak");
    free(crossings);
    free(peaks);
}

int main(void)
{
    test_definition();
    test_edges();
    test_full();
    return check_result("peaks of images");
}
