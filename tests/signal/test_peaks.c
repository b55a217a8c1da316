/* test_peaks.c - tests of the rule that selects peaks among crossings, against a search of all pairs; and of how far a search
 * looks beyond a block. */
#include "../check.h"
#include "base/integers.h"
#include "signal/peaks.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 3000, MOST_FILTERS = 5, MOST_CHANNELS = 3 };

static uint64_t random_state = 1;

static int64_t below(int64_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(random_state >> 33) % n;
}

/* ---- the rule ---------------------------------------------------------------------------------------------------- */

/* The crossings of one trial, on an axis of `length` outputs. */
struct trial {
    struct lw_search search;
    int64_t length;
    int n_channels, n_filters;
    int percent;                /* percentage of all outputs that are crossings */
    int levels;                 /* number of different values; 0: all values differ */
};

struct world {
    struct trial trial;
    double noise[MOST_CHANNELS * MOST_FILTERS];
    struct lw_crossing all[MOST];
    int64_t n;
};

static double snr_of(const struct world *w, const struct lw_crossing *c)
{
    const double noise = w->noise[c->channel * w->trial.n_filters + c->filter];
    return noise > 0 ? hypot(c->re, c->im) / noise : 0;
}

/* Values lie on a grid of levels, so that ties are exact, also between filters of different noise. */
static struct lw_crossing random_crossing(const struct world *w, int channel, int filter, int64_t index)
{
    const double noise = w->noise[channel * w->trial.n_filters + filter];
    const double snr = w->trial.levels > 0 ? 1 + (double)below(w->trial.levels) : 1 + (double)below((int64_t)1 << 30) / 1e8;
    const double re = snr * (noise > 0 ? noise : 1);
    struct lw_crossing crossing = {.index = index, .channel = channel, .filter = filter};
    *(w->trial.search.sign != LW_SIGN_BOTH || below(2) ? &crossing.re : &crossing.im) = below(2) ? re : -re;
    return crossing;
}

static void make_world(const struct trial *trial, struct world *w)
{
    w->trial = *trial;
    w->n = 0;
    for (int i = 0; i < trial->n_channels * trial->n_filters; i++)
        w->noise[i] = below(8) == 0 ? 0 : (double)((int64_t)1 << below(4));
    w->trial.search.noise = w->noise;
    for (int64_t i = 0; i < trial->length; i++)
        for (int c = 0; c < trial->n_channels; c++)
            for (int f = 0; f < trial->n_filters; f++)
                if (below(100) < trial->percent && w->n < MOST)
                    w->all[w->n++] = random_crossing(w, c, f, i);
}

static bool is_crossing(const struct world *w, const struct lw_crossing *c)
{
    const enum lw_sign sign = w->trial.search.sign;
    const bool counts = sign == LW_SIGN_BOTH || (sign == LW_SIGN_POSITIVE && c->re > 0) || (sign == LW_SIGN_NEGATIVE && c->re < 0);
    return counts && snr_of(w, c) >= w->trial.search.threshold;
}

static bool is_near(const struct world *w, const struct lw_crossing *a, const struct lw_crossing *b)
{
    const struct lw_search *const search = &w->trial.search;
    return a->channel == b->channel && (search->clusters_filters || a->filter == b->filter) &&
           llabs(a->index - b->index) <= search->cluster;
}

static bool is_stronger(const struct world *w, const struct lw_crossing *a, const struct lw_crossing *b)
{
    if (snr_of(w, a) != snr_of(w, b))
        return snr_of(w, a) > snr_of(w, b);
    return a->filter != b->filter ? a->filter < b->filter : a->index < b->index;
}

/* The definition of a peak, applied to all pairs. `all` is in the order of the table.
 * @return number of peaks */
static int64_t expected_peaks(const struct world *w, struct lw_peak *peaks)
{
    int64_t n = 0;
    for (int64_t i = 0; i < w->n; i++) {
        const struct lw_crossing *const c = &w->all[i];
        bool is_peak = is_crossing(w, c);
        int64_t size = 0;
        for (int64_t k = 0; k < w->n && is_peak; k++) {
            const bool counts = is_crossing(w, &w->all[k]) && is_near(w, c, &w->all[k]);
            is_peak = !counts || !is_stronger(w, &w->all[k], c);
            size += counts;
        }
        if (is_peak)
            peaks[n++] = (struct lw_peak){c->index, c->channel, c->filter, c->column, c->re, c->im, snr_of(w, c), size};
    }
    return n;
}

static void shuffle(struct lw_crossing *crossings, int64_t n)
{
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t other = below(i + 1);
        const struct lw_crossing kept = crossings[i];
        crossings[i] = crossings[other];
        crossings[other] = kept;
    }
}

/* Gather the crossings of each of two groups of filters, as if each group were in memory alone. @return  their number */
static int64_t gather(const struct lw_peaks_spec *spec, struct lw_crossing *crossings, int64_t n)
{
    static struct lw_crossing group[MOST];
    static struct lw_peak gathered[MOST];
    struct lw_peaks_spec all = *spec;
    const int64_t split = below(spec->n_filters + 1);
    int64_t used = 0;
    all.first = 0;
    all.end = INT64_MAX;
    for (int part = 0; part < 2; part++) {
        int64_t its = 0;
        for (int64_t i = 0; i < n; i++)
            if ((crossings[i].filter < split) == (part == 0))
                group[its++] = crossings[i];
        used += lw_peaks_gather(&all, group, its, gathered + used);
    }
    for (int64_t i = 0; i < used; i++)
        crossings[i] = (struct lw_crossing){gathered[i].index, (int32_t)gathered[i].channel, (int32_t)gathered[i].filter,
                                            gathered[i].cluster_size - 1, gathered[i].re, gathered[i].im};
    return used;
}

/* Peaks of one piece. The search gets the crossings of the piece and those within reach of it, in any order. */
static int64_t pick_piece(const struct world *w, int64_t first, int64_t end, struct lw_peak *peaks)
{
    static struct lw_crossing crossings[MOST];
    const int64_t reach = w->trial.search.cluster;
    const struct lw_peaks_spec spec = {.search = &w->trial.search, .n_filters = w->trial.n_filters, .first = first, .end = end};
    int64_t n = 0;
    for (int64_t i = 0; i < w->n; i++)
        if (w->all[i].index >= first - reach && w->all[i].index < end + reach)
            crossings[n++] = w->all[i];
    shuffle(crossings, n);
    if (w->trial.search.clusters_filters && below(2) == 0)
        n = gather(&spec, crossings, n);
    return lw_peaks_pick(&spec, crossings, n, peaks);
}

static bool are_equal(const struct lw_peak *a, const struct lw_peak *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (lw_peaks_compare(&a[i], &b[i]) != 0 || a[i].column != b[i].column || a[i].re != b[i].re || a[i].im != b[i].im ||
            a[i].snr != b[i].snr || a[i].cluster_size != b[i].cluster_size)
            return false;
    return true;
}

/* Peaks that are found in pieces of `piece` outputs are the expected ones. */
static void check_pieces(const struct world *w, int64_t piece, const struct lw_peak *expected, int64_t n_expected)
{
    static struct lw_peak peaks[2 * MOST];
    int64_t n = 0;
    for (int64_t first = 0; first < w->trial.length; first += piece)
        n += pick_piece(w, first, lw_min64(first + piece, w->trial.length), peaks + n);
    qsort(peaks, (size_t)n, sizeof *peaks, lw_peaks_compare);
    CHECK(n == n_expected && are_equal(peaks, expected, n),
          "pieces of %" PRId64 " of %" PRId64 ", +- %" PRId64 "%s, %d%%, %d levels: %" PRId64 " peaks, expected %" PRId64, piece,
          w->trial.length, w->trial.search.cluster, w->trial.search.clusters_filters ? " of all filters" : "", w->trial.percent,
          w->trial.levels, n, n_expected);
}

static void test_rule(void)
{
    static const int64_t clusters[] = {0, 1, 2, 7, 50, 1000, LW_SEARCH_MOST_CLUSTER};
    static struct world world;
    static struct lw_peak expected[MOST];
    for (int i = 0; i < 1200; i++) {
        const struct trial trial = {
            .search = {.products = LW_PEAKS, .threshold = i % 5 == 0 ? 4 : 1, .cluster = clusters[i % 7],
                       .clusters_filters = i / 7 % 2, .sign = (enum lw_sign)(i / 14 % 3)},
            .length = 1 + below(60),
            .n_channels = 1 + (int)below(MOST_CHANNELS),
            .n_filters = 1 + (int)below(MOST_FILTERS),
            .percent = (int[]){2, 20, 100}[i % 3],
            .levels = (int[]){0, 1, 3, 10}[i % 4],
        };
        make_world(&trial, &world);
        const int64_t n = expected_peaks(&world, expected);
        check_pieces(&world, trial.length, expected, n);
        check_pieces(&world, 1 + below(trial.length), expected, n);
        check_pieces(&world, 1, expected, n);
    }
}

/* An axis as long as a survey's: indices do not fit into 32 bits. */
static void test_far(void)
{
    const int64_t far = (int64_t)1 << 40;
    const struct lw_search search = {.products = LW_PEAKS, .threshold = 1, .cluster = LW_SEARCH_MOST_CLUSTER};
    const struct lw_peaks_spec spec = {.search = &search, .n_filters = 1, .end = 2 * far};
    struct lw_crossing crossings[] = {
        {.index = far, .re = 2}, {.index = far + LW_SEARCH_MOST_CLUSTER, .re = 3},
        {.index = far - LW_SEARCH_MOST_CLUSTER - 1, .re = 1},
    };
    struct lw_peak peaks[3];
    const int64_t n = lw_peaks_pick(&spec, crossings, 3, peaks);
    CHECK(n == 2 && peaks[0].index == far - LW_SEARCH_MOST_CLUSTER - 1 && peaks[0].cluster_size == 1 &&
          peaks[1].index == far + LW_SEARCH_MOST_CLUSTER && peaks[1].cluster_size == 2, "%" PRId64 " peaks", n);
    CHECK(lw_peaks_pick(&spec, crossings, 0, peaks) == 0, "peaks are found without crossings");
}

/* The squares of these numbers are 0 or infinite. NaN is no crossing. */
static void test_range(void)
{
    const double noise[] = {1e-200, 1e200, 1};
    const struct lw_search search = {.products = LW_PEAKS, .noise = noise, .threshold = 5, .clusters_filters = true};
    const struct lw_peaks_spec spec = {.search = &search, .n_filters = 3, .end = 10};
    struct lw_crossing crossings[] = {
        {.index = 1, .filter = 0, .re = 3e-200, .im = 4.0001e-200}, {.index = 2, .filter = 1, .re = 3e200, .im = -4.0001e200},
        {.index = 3, .filter = 0, .re = 3e-200, .im = 3.9e-200}, {.index = 4, .filter = 2, .re = NAN},
    };
    struct lw_peak peaks[4];
    const int64_t n = lw_peaks_pick(&spec, crossings, 4, peaks);
    CHECK(n == 2 && peaks[0].index == 1 && peaks[1].index == 2 && fabs(peaks[1].snr - 5) < 1e-3, "%" PRId64 " peaks", n);
}

/* ---- how far a search looks ---------------------------------------------------------------------------------------- */

/* Least multiple of the unit that is at least `needed`, found by trying every multiple. */
static int64_t least_multiple(int64_t needed, int64_t unit)
{
    int64_t least = 0;
    while (least < needed)
        least += unit;
    return least;
}

/* Most outputs that the last block of a piece needs beyond its end, over all pieces that end at a multiple of the unit. */
static int64_t worst_rest(int64_t every, int64_t unit)
{
    int64_t worst = 0;
    for (int64_t end = unit; end <= every * unit; end += unit)
        worst = lw_max64(worst, lw_round_up(end, every) - end);
    return worst;
}

static void test_reach(void)
{
    for (int64_t unit = 1; unit <= 12; unit++) {
        for (int64_t w = 0; w <= 20; w++) {
            for (int64_t every = 1; every <= 20; every++) {
                const struct lw_search peaks = {.products = LW_PEAKS | LW_FILTERED, .cluster = w, .every = every};
                const struct lw_search blocks = {.products = LW_BLOCKS, .cluster = w, .every = every};
                const struct lw_search both = {.products = LW_BLOCKS | LW_PEAKS | LW_BEST, .cluster = w, .every = every};
                const int64_t n = 50, reach = least_multiple(w, unit), after = lw_search_after(&blocks, n, unit);
                CHECK(lw_search_before(&peaks, n, unit) == reach && lw_search_after(&peaks, n, unit) == reach,
                      "peaks, unit %" PRId64, unit);
                CHECK(lw_search_before(&peaks, w / 2, unit) == least_multiple(w / 2, unit),
                      "the search looks further back than the axis reaches");
                CHECK(lw_search_after(&blocks, 2, unit) <= least_multiple(2, unit), "the search for blocks looks beyond the axis");
                CHECK(lw_search_before(&blocks, n, unit) == 0 && after >= worst_rest(every, unit) && after % unit == 0 &&
                      (worst_rest(every, unit) > 0 || after == 0) && after < every + unit,
                      "blocks of %" PRId64 ", unit %" PRId64 ": %" PRId64 " after", every, unit, after);
                CHECK(lw_search_before(&both, n, unit) == reach &&
                          lw_search_after(&both, n, unit) == lw_max64(reach, after),
                          "the reach of peaks and blocks together is wrong");
            }
        }
    }
}

static void test_products(void)
{
    const struct lw_search none = {.cluster = 5, .every = 3}, best = {.products = LW_BEST};
    CHECK(lw_search_products(&none) == LW_FILTERED && !lw_search_is_needed(&none) && lw_search_before(&none, 9, 4) == 0 &&
          lw_search_after(&none, 9, 4) == 0, "without products only the series must be wanted");
    CHECK(lw_search_is_needed(&best) && lw_search_before(&best, 9, 4) == 0 && lw_search_after(&best, 9, 4) == 0,
          "the best filter must need no neighbours");
}

static void test_describe(void)
{
    static const struct {
        struct lw_search search;
        const char *text;
    } cases[] = {
        {{0}, "x"},
        {{.products = LW_FILTERED | LW_PEAKS}, "x, peaks"},
        {{.products = LW_PEAKS, .cluster = 64}, "x, peaks within +- 64 outputs"},
        {{.products = LW_PEAKS | LW_BEST | LW_BLOCKS, .cluster = 1, .clusters_filters = true, .every = 10},
         "x, peaks within +- 1 outputs of all filters, best filter, blocks of 10"},
        {{.products = LW_PEAKS | LW_BEST, .cluster = 2, .sign = LW_SIGN_NEGATIVE},
         "x, negative peaks within +- 2 outputs, best filter by negative outputs"},
        {{.products = LW_PEAKS, .sign = LW_SIGN_POSITIVE}, "x, positive peaks"},
        {{.products = LW_PEAKS, .clusters_filters = true, .cluster_channels = 3},
         "x, peaks within +- 0 outputs of all filters and +- 3 channels"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[120] = "x", small[8] = "x";
        lw_search_describe(&cases[i].search, "outputs", "filter", text, sizeof text);
        lw_search_describe(&cases[i].search, "outputs", "filter", small, sizeof small);
        CHECK(strcmp(text, cases[i].text) == 0, "\"%s\", expected \"%s\"", text, cases[i].text);
        CHECK(strlen(small) < sizeof small && strncmp(small, cases[i].text, strlen(small)) == 0, "cut off: \"%s\"", small);
    }
}

/* ---- stretches ------------------------------------------------------------------------------------------------------- */

static int64_t floor_of(int64_t i, int64_t length) { return i >= 0 ? i / length : -1 - (-1 - i) / length; }

/* Number of the stretch of output i, counted from the data's first sample. A stretch at an end that is less than half as long as
 * the others belongs to its neighbour. */
static int64_t natural_stretch(int64_t length, int64_t before, int64_t n, int64_t i)
{
    const int64_t first = floor_of(before, length), last = floor_of(before + n - 1, length);
    const int64_t in_first = (first + 1) * length - before, in_last = before + n - last * length;
    int64_t begin = first, end = last;
    if (begin < end && 2 * in_first < length)
        begin++;
    if (begin < end && 2 * in_last < length)
        end--;
    return lw_min64(lw_max64(floor_of(before + i, length), begin), end) - begin;
}

/* The outputs of a stretch are those with its number. A single stretch has all outputs, even if they are less than half a
 * stretch. */
static void check_range(const struct lw_search *search, int64_t before, int64_t n, int64_t stretch)
{
    const int64_t number = floor_of(before + lw_max64(0, search->first_stretch), search->stretch) + stretch;
    int64_t begin, end, first = n, n_own = 0;
    for (int64_t i = n - 1; i >= 0; i--)
        if (floor_of(before + i, search->stretch) == number) {
            first = i;
            n_own++;
        }
    if (search->n_stretches == 1 && 2 * n_own < search->stretch) {
        first = 0;
        n_own = n;
    }
    lw_search_stretch_range(search, n, stretch, &begin, &end);
    CHECK(begin == first && end - begin == n_own, "length %d, %d before, %d outputs: stretch %d is %d .. %d, not %d of %d",
          (int)search->stretch, (int)before, (int)n, (int)stretch, (int)begin, (int)end, (int)first, (int)n_own);
}

static void check_stretches(int64_t length, int64_t before, int64_t n)
{
    struct lw_search search = {.products = LW_PEAKS};
    lw_search_part(&search, length, before, n);
    for (int64_t i = 0; i < n; i++) {
        const int64_t number = lw_search_stretch(&search, i), end = lw_search_stretch_end(&search, i);
        CHECK(number == natural_stretch(length, before, n, i), "length %d, %d before, %d outputs: output %d is in stretch %d",
              (int)length, (int)before, (int)n, (int)i, (int)number);
        CHECK(end > i && (end >= n ? number == search.n_stretches - 1
                                   : natural_stretch(length, before, n, end - 1) == number &&
                                         natural_stretch(length, before, n, end) > number),
              "length %d, %d before, %d outputs: the stretch of output %d ends at %d", (int)length, (int)before, (int)n, (int)i,
              (int)end);
    }
    CHECK(search.n_stretches == natural_stretch(length, before, n, n - 1) + 1, "%d stretches", (int)search.n_stretches);
    for (int64_t k = 0; k < search.n_stretches; k++)
        check_range(&search, before, n, k);
}

static void test_stretches(void)
{
    for (int64_t length = 1; length <= 9; length++)
        for (int64_t before = -12; before <= 20; before++)
            for (int64_t n = 1; n <= 40; n++)
                check_stretches(length, before, n);
}

/* Peaks are ordered by the noise of the stretches that they lie in. */
static void test_noise_of_stretches(void)
{
    const double noise[] = {1, 10, 2};
    struct lw_search search = {.products = LW_PEAKS, .noise = noise, .threshold = 5, .cluster = 30};
    struct lw_crossing crossings[] = {
        {.index = 9, .re = 8}, {.index = 10, .re = 60}, {.index = 19, .re = 70}, {.index = 20, .re = 15}};
    struct lw_peak peaks[4];
    lw_search_part(&search, 10, 0, 30);
    const struct lw_peaks_spec spec = {.search = &search, .n_channels = 1, .n_filters = 1, .end = 30};
    const int64_t n = lw_peaks_pick(&spec, crossings, 4, peaks);
    CHECK(n == 1 && peaks[0].index == 9 && peaks[0].snr == 8, "%d peaks, the first at %d of %g", (int)n, (int)peaks[0].index,
          peaks[0].snr);
}

int main(void)
{
    test_rule();
    test_far();
    test_range();
    test_reach();
    test_products();
    test_describe();
    test_stretches();
    test_noise_of_stretches();
    return check_result("peaks");
}
