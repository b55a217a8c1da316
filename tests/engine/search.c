/* search.c - the suite of searches in a filtered series: on every engine the products agree with their definitions, and all cuts
 * give the same bits. */
#include "ols_parts.h"
#include "search_truth.h"
#include "suites.h"

#include "../check.h"
#include "base/integers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

enum { ALL = LW_FILTERED | LW_PEAKS | LW_BEST | LW_BLOCKS, ALL_VALUES = LW_BLOCK_MAX | LW_BLOCK_MEAN | LW_BLOCK_RMS };

/* Most times that data are drawn until the truth is settled (search_truth.h). */
#define MOST_DRAWS 20

static struct lw_engine *engine, *other;        /* `other` has another number of threads */
static int every;                               /* one in `every` trials is made */
static int n_trials, n_unsettled;               /* trials for which no draw was settled */

static const struct trial plain = {
    .input = {.scalar = LW_FLOAT32},
    .output = {.scalar = LW_FLOAT32},
    .n_channels = 2,
    .n_samples = 2500,
    .n_taps = 33,
    .n_filters = 3,
    .segment = 256,
    .search = {.products = ALL, .cluster = 5, .every = 100, .values = ALL_VALUES},
    .noise = TRIAL_NOISE_RANDOM,
    .spread = 1,
    .seed = 1,
};

/* ---- helpers ----------------------------------------------------------------------------------------------------- */

/* Requirements of a trial beyond its description. */
struct aim {
    int64_t wanted;                             /* approximate number of outputs that cross the threshold */
    void (*change)(struct trial_data *data);    /* changes samples and taps before they are used; NULL: no change */
    bool is_exact;                              /* whether engines compute the series without any error */
};

static bool plan_of(const struct trial_data *data, struct lw_op_plan *plan)
{
    struct lw_error err = {0};
    const struct lw_op_spec spec = trial_spec(data);
    const int rc = engine->ops->op_plan(engine, &spec, plan, &err);
    CHECK(rc == LW_OK, "%s", err.message);
    return rc == LW_OK;
}

/* Make a trial's data, truth and threshold.
 * @return whether the truth is settled; then free all with forget */
static bool settle(const struct trial *trial, const struct aim *aim, struct trial_data *data, struct search_truth *truth)
{
    struct trial t = *trial;
    struct lw_op_plan plan;
    char text[256];
    t.search.threshold = 1;
    for (int draw = 0; draw < MOST_DRAWS; draw++, t.seed++) {
        trial_make(&t, data);
        if (aim->change)
            aim->change(data);
        if (!plan_of(data, &plan)) {
            trial_free(data);
            return false;
        }
        search_truth_make(data, &plan, aim->is_exact, truth);
        if (search_truth_settle(truth, data, aim->wanted))
            return true;
        search_truth_free(truth);
        trial_free(data);
    }
    printf("search: not tried, as no threshold of %lld crossings parts its outputs: %s\n", (long long)aim->wanted,
           trial_text(&t, text));
    n_unsettled++;
    return false;
}

static void forget(struct trial_data *data, struct search_truth *truth)
{
    search_truth_free(truth);
    trial_free(data);
}

static struct trial_cut draw_cut(uint64_t *state)
{
    return (struct trial_cut){
        .units = (int64_t)(trial_random(state) % 4),
        .channel_units = (int64_t)(trial_random(state) % 3),
        .depth = 1 + (int)(trial_random(state) % 3),
        .again = trial_random(state) % 4 == 0,
    };
}

static void run_and_check(const struct trial_data *data, const struct search_truth *truth, const struct trial_cut *cut,
                          const char *what)
{
    struct trial_result result;
    struct trial_found found;
    if (trial_run_search(engine, data, cut, &result, &found)) {
        search_truth_check(truth, &result, &found, what);
        if (lw_search_products(&data->trial.search) & LW_FILTERED)
            trial_check(data, &result, what);
        conformance_check_report(data, &result);
    }
    trial_found_free(&found);
    free(result.outputs);
}

/* Run one trial with a cut drawn from `state` and check it. */
static void try(const struct trial *t, const struct aim *aim, uint64_t *state, const char *what)
{
    const struct trial_cut cut = draw_cut(state);
    struct trial_data data;
    struct search_truth truth;
    if (n_trials++ % every != 0 || !settle(t, aim, &data, &truth))
        return;
    run_and_check(&data, &truth, &cut, what);
    forget(&data, &truth);
}

/* ---- types and lengths --------------------------------------------------------------------------------------------- */
static const int64_t clusters[] = {0, 1, 3, 40, 224, 300, 700, 5000};
static const int64_t lengths[] = {1, 7, 100, 224, 225, 448, 1000, 100000};

/* All products together, single products, and some pairs. */
static const unsigned subsets[] = {ALL, ALL, LW_PEAKS, LW_BEST, LW_BLOCKS, LW_PEAKS | LW_BEST, LW_FILTERED | LW_BLOCKS,
                                   LW_PEAKS | LW_BLOCKS};

static void draw(struct trial *t, uint64_t *state)
{
    static const int64_t taps[] = {1, 5, 33, 129}, filters[] = {1, 2, 3, 7}, channels[] = {1, 2, 3, 18};
    t->n_taps = conformance_pick(state, taps + lw_scalar_is_integer(t->input.scalar), COUNT(taps) - 1); /* integers with a single
                                                                                                         * tap would leave ties */
    t->segment = t->n_taps == 33 ? 256 : t->n_taps == 129 ? 512 : 0;
    t->n_filters = (int)conformance_pick(state, filters, COUNT(filters));
    t->n_channels = conformance_pick(state, channels, COUNT(channels));
    t->n_samples = (t->segment > 0 ? 1 + (int64_t)(trial_random(state) % 2500) : 6000) / (t->n_channels > 4 ? 6 : 1) + 1;
    t->mode = trial_random(state) % 2 ? LW_MODE_SAME : LW_MODE_FULL;
    t->boundary = t->n_samples < t->n_taps ? LW_BOUNDARY_ZERO : (enum lw_boundary)(trial_random(state) % 4);
    t->mode = t->boundary == LW_BOUNDARY_ZERO ? t->mode : LW_MODE_SAME;     /* no output is computed in two segments */
    t->search.cluster = conformance_pick(state, clusters, COUNT(clusters));
    t->search.clusters_filters = trial_random(state) % 2;
    t->search.every = conformance_pick(state, lengths, COUNT(lengths));
    t->search.values = 1 + (unsigned)(trial_random(state) % ALL_VALUES);
    t->noise = (enum trial_noise)(trial_random(state) % 3);
    t->n_stretches = (int)(trial_random(state) % 5);
    t->search.sign = t->input.is_complex || t->taps_complex ? LW_SIGN_BOTH : (enum lw_sign)(trial_random(state) % 3);
    t->seed = trial_random(state);
}

static void test_types(void)
{
    static const enum lw_scalar scalars[] = {LW_FLOAT32, LW_INT16, LW_FLOAT64, LW_FLOAT32};
    uint64_t state = 51;
    for (int i = 0; i < COUNT(scalars); i++) {
        for (int variant = 0; variant < 16; variant++) {
            struct trial t = plain;
            t.input = (struct lw_type){scalars[i], variant % 2 && i != 1, i == 3};
            t.taps_complex = variant / 2 % 2;
            t.layout = (enum lw_layout)(variant / 4 % 2);
            t.precision = variant / 8 % 2 ? LW_DOUBLE : LW_SINGLE;
            t.search.products = subsets[variant % COUNT(subsets)];
            draw(&t, &state);
            conformance_suit_type(&t);
            try(&t, &(struct aim){.wanted = 150}, &state, "search, types");
        }
    }
}

static void test_short(void)
{
    uint64_t state = 52;
    for (int64_t n = 1; n <= 12; n++) {
        struct trial t = plain;
        draw(&t, &state);
        t.n_samples = n < 7 ? n : n * 25;
        t.boundary = LW_BOUNDARY_ZERO;
        t.input.is_complex = n % 2;
        t.layout = (enum lw_layout)(n / 2 % 2);
        t.search.products = ALL;
        t.search.sign = n % 2 ? LW_SIGN_BOTH : t.search.sign;
        try(&t, &(struct aim){.wanted = 5}, &state, "search, short");
    }
}

/* Strain near 1e-21, and numbers whose squares overflow or underflow the precision. */
static void test_magnitudes(void)
{
    static const struct {
        double spread;
        enum lw_precision precision;
    } cases[] = {{1e-30, LW_SINGLE}, {1e-21, LW_SINGLE}, {1e21, LW_SINGLE}, {1e30, LW_SINGLE}, {1e-21, LW_DOUBLE},
                 {1e95, LW_DOUBLE}};
    uint64_t state = 53;
    for (int i = 0; i < 2 * COUNT(cases); i++) {
        struct trial t = plain;
        t.spread = cases[i / 2].spread;
        t.precision = cases[i / 2].precision;
        t.input = (struct lw_type){t.precision == LW_SINGLE ? LW_FLOAT32 : LW_FLOAT64, i % 2, false};
        t.output.scalar = t.input.scalar;
        t.noise = i % 4 < 2 ? TRIAL_NOISE_RANDOM : TRIAL_NOISE_ONE;
        t.search.sign = i % 2 ? LW_SIGN_BOTH : (enum lw_sign)(i / 2 % 3);
        t.layout = (enum lw_layout)(i / 2 % 2);
        t.seed = trial_random(&state);
        try(&t, &(struct aim){.wanted = 100}, &state, "search, magnitudes");
    }
}

/* ---- ties ---------------------------------------------------------------------------------------------------------- */

/* Integers, and filters with one tap that is a power of two: plateaus within a filter, and ties between filters. */
static void make_plateaus(struct trial_data *data)
{
    const struct trial *const t = &data->trial;
    for (int64_t i = 0; i < t->n_channels * t->n_samples; i++)
        data->values[i] = t->input.is_complex ? CMPLX(3 * (i / 3 % 7), 4 * (i / 5 % 7)) : (double)(i / 4 * 13 % 31 - 15);
    for (int64_t f = 0; f < t->n_filters; f++)
        data->taps[f] = (double[]){1, -2, 1, 2, 0.5}[f % 5];
    trial_store(data);
}

static void test_ties(void)
{
    uint64_t state = 54;
    for (int variant = 0; variant < 16; variant++) {
        struct trial t = plain;
        t.n_taps = 1;
        t.segment = 0;
        t.n_samples = 5000;
        t.n_filters = 5;
        t.input.is_complex = variant % 2;
        t.layout = (enum lw_layout)(variant / 2 % 2);
        t.search.cluster = (int64_t[]){0, 2, 9, 3000}[variant / 4];
        t.search.clusters_filters = variant / 2 % 2;
        t.noise = TRIAL_NOISE_ONE;
        t.search.sign = variant % 2 ? LW_SIGN_BOTH : (enum lw_sign)(variant / 4 % 3);
        struct trial_data data;
        struct lw_op_plan plan;
        trial_make(&t, &data);
        data.trial.search.threshold = 1;
        const bool is_direct = plan_of(&data, &plan) && plan.segment == 0;
        trial_free(&data);
        if (is_direct)
            try(&t, &(struct aim){700, make_plateaus, true}, &state, "search, ties");
    }
}

/* ---- not a number ---------------------------------------------------------------------------------------------------- */
static void spoil(struct trial_data *data)
{
    const struct trial *const t = &data->trial;
    uint64_t state = t->seed;
    for (int i = 0; i < 12; i++)
        data->values[trial_random(&state) % (uint64_t)(t->n_channels * t->n_samples)] = i % 2 ? NAN : INFINITY;
    for (int64_t i = 700; i < 900; i++)
        data->values[i] = NAN;
    trial_store(data);
}

static void test_not_finite(void)
{
    uint64_t state = 55;
    for (int variant = 0; variant < 16; variant++) {
        struct trial t = plain;
        t.nan = variant % 4 == 3 ? LW_NAN_ZERO : LW_NAN_PROPAGATE;
        t.layout = (enum lw_layout)(variant % 2);
        t.input.is_complex = variant / 2 % 2;
        t.search.cluster = (int64_t[]){0, 30, 500, 2}[variant / 4];
        t.search.every = (int64_t[]){50, 3, 1000, 224}[variant % 4];
        t.noise = (enum trial_noise)(variant % 3);
        t.n_stretches = variant / 4;
        t.search.sign = t.input.is_complex ? LW_SIGN_BOTH : (enum lw_sign)((variant + 1) / 2 % 3);
        t.seed = trial_random(&state);
        try(&t, &(struct aim){100, spoil, false}, &state, "search, not finite");
    }
}

/* Segments so long that the cpu engine searches them strip by strip, with peaks alone. */
static void test_long(void)
{
    uint64_t state = 59;
    for (int variant = 0; variant < 8; variant++) {
        struct trial t = plain;
        t.input.is_complex = variant % 4 == 1;
        t.taps_complex = variant % 4 == 2;
        t.precision = variant % 4 == 3 ? LW_DOUBLE : LW_SINGLE;
        t.search.products = LW_PEAKS;
        draw(&t, &state);
        t.n_taps = 129;
        t.segment = t.input.is_complex || t.taps_complex ? 8192 : 16384;
        t.n_samples = t.segment + 1000;
        t.n_channels = 1;
        t.n_filters = 2;
        t.search.cluster = clusters[variant % 5];
        try(&t, &(struct aim){150, variant < 4 ? NULL : spoil, false}, &state, "search, long segments");
    }
}

/* ---- beside other things --------------------------------------------------------------------------------------------- */

/* The stored series may be decimated and of an integer type; the search runs on the full series. */
static void test_decimation(void)
{
    uint64_t state = 56;
    for (int variant = 0; variant < 8; variant++) {
        struct trial t = plain;
        t.post.every = (int[]){2, 7, 300, 3000}[variant % 4];
        t.output.scalar = variant < 4 ? LW_FLOAT32 : LW_INT16;
        t.spread = variant < 4 ? 1 : 500;
        t.layout = (enum lw_layout)(variant % 2);
        t.search.cluster = 20;
        t.seed = trial_random(&state);
        try(&t, &(struct aim){.wanted = 100}, &state, "search, decimated");
    }
}

/* ---- tables that are too small ----------------------------------------------------------------------------------------- */
static void test_overflow(void)
{
    for (int variant = 0; variant < 4; variant++) {
        struct trial t = plain;
        t.n_channels = 3;
        t.n_filters = 4;
        t.n_samples = 3000;
        t.n_taps = 5;
        t.segment = 64;
        t.precision = LW_DOUBLE;
        t.layout = (enum lw_layout)(variant % 2);
        t.search.cluster = variant % 2 ? 6 : 0;
        t.search.clusters_filters = variant / 2;
        const int64_t all = t.n_channels * t.n_filters * t.n_samples;
        struct trial_data data;
        struct search_truth truth;
        struct trial_result result;
        struct trial_found found;
        if (!settle(&t, &(struct aim){.wanted = all}, &data, &truth))
            continue;
        if (trial_run_search(engine, &data, &(struct trial_cut){.depth = 2}, &result, &found)) {
            CHECK(found.n_again == 1, "%lld crossings fit", (long long)found.n_crossings);
            search_truth_check(&truth, &result, &found, "search, too many");
        }
        trial_found_free(&found);
        free(result.outputs);
        forget(&data, &truth);
    }
}

/* ---- cuts -------------------------------------------------------------------------------------------------------------- */
static int compare_crossings(const void *left, const void *right)
{
    const struct lw_crossing *const a = left, *const b = right;
    if (a->index != b->index)
        return a->index < b->index ? -1 : 1;
    return a->channel != b->channel ? a->channel - b->channel : a->filter - b->filter;
}

static void sort_crossings(struct trial_found *found)
{
    if (found->n_crossings > 0)
        qsort(found->crossings, (size_t)found->n_crossings, sizeof *found->crossings, compare_crossings);
}

static bool are_equal(const struct trial_data *data, const struct trial_found *a, const struct trial_found *b)
{
    bool is_equal = a->n_crossings == b->n_crossings && a->n_peaks == b->n_peaks;
    for (int p = 0; p < LW_OP_PRODUCTS && is_equal; p++)
        is_equal = a->bytes[p] == b->bytes[p] && (a->bytes[p] == 0 || memcmp(a->arrays[p], b->arrays[p], a->bytes[p]) == 0);
    if (!is_equal || !(lw_search_products(&data->trial.search) & LW_PEAKS))
        return is_equal;
    return memcmp(a->crossings, b->crossings, (size_t)a->n_crossings * sizeof *a->crossings) == 0 &&
           memcmp(a->peaks, b->peaks, (size_t)a->n_peaks * sizeof *a->peaks) == 0;
}

/* All cuts give the same bits, also if crossings are searched a second time. */
static void try_cuts(const struct trial *t)
{
    static const struct trial_cut cuts[] = {{1, 0, 1, false}, {1, 1, 3, true}, {2, 1, 2, false}, {3, 2, 2, false}, {0, 1, 1, true},
                                            {7, 0, 4, false}};
    struct trial_data data;
    struct trial_result whole, result;
    struct trial_found all, found;
    char text[256];
    trial_make(t, &data);
    data.trial.search.threshold = t->noise == TRIAL_NOISE_ONE ? t->spread * 0.7 : 1.7;
    if (t->nan == LW_NAN_PROPAGATE && t->input.scalar == LW_FLOAT32)
        spoil(&data);
    const bool has_whole = trial_run_search(engine, &data, &(struct trial_cut){.depth = 1}, &whole, &all);
    sort_crossings(&all);
    CHECK(!has_whole || all.n_crossings > 10 || !(t->search.products & LW_PEAKS), "%s: %lld crossings", trial_text(t, text),
          (long long)all.n_crossings);
    for (int i = 0; has_whole && i < 2 * COUNT(cuts); i++) {
        if (trial_run_search(i % 2 ? other : engine, &data, &cuts[i / 2], &result, &found)) {
            sort_crossings(&found);
            CHECK(are_equal(&data, &all, &found), "%s: other products with cut %d", trial_text(t, text), i);
            CHECK(memcmp(whole.outputs, result.outputs, whole.bytes) == 0, "%s: another series with cut %d", trial_text(t, text),
                  i);
        }
        trial_found_free(&found);
        free(result.outputs);
    }
    trial_found_free(&all);
    free(whole.outputs);
    trial_free(&data);
}

static void test_cuts(void)
{
    static const struct {
        int64_t n_taps, n_samples;
        int segment;
    } sizes[] = {{12, 7000, 0}, {129, 5000, 0}, {129, 6000, 1024}, {60, 700, 101}, {129, 20000, 16384}};
    uint64_t state = 57;
    for (int i = 0; i < COUNT(sizes); i++) {
        for (int kind = 0; kind < 8; kind++) {
            struct trial t = plain;
            draw(&t, &state);
            t.n_taps = sizes[i].n_taps;
            t.n_samples = sizes[i].n_samples;
            t.segment = sizes[i].segment;
            t.input = (struct lw_type){kind == 3 ? LW_INT16 : kind % 4 == 2 ? LW_FLOAT64 : LW_FLOAT32, kind % 4 == 1, false};
            t.taps_complex = kind == 5;
            t.precision = kind % 4 == 2 ? LW_DOUBLE : LW_SINGLE;
            t.layout = (enum lw_layout)((i + kind) % 2);
            t.search.products = subsets[kind];
            t.search.every = (int64_t[]){10, 3000, 97, 1500}[kind % 4];
            t.search.sign = t.input.is_complex || t.taps_complex ? LW_SIGN_BOTH : (enum lw_sign)(kind / 2 % 3);
            const bool is_long = t.segment == 16384;
            t.n_channels = is_long ? 1 : 3;
            t.n_filters = is_long ? 16 : t.n_filters;           /* the threads of the cpu engine share them */
            conformance_suit_type(&t);
            if (is_long ? kind == 2 || kind == 7 : kind % every == 0)
                try_cuts(&t);
        }
    }
}

/* ---- all ----------------------------------------------------------------------------------------------------------- */
int suite_search(const struct lw_engine_type *type, int divisor)
{
    const struct lw_engine_spec spec = {.node_ranks = 1, .share_device = true};
    const struct lw_engine_spec other_spec = {.n_threads = 3, .node_ranks = 1, .share_device = true};
    struct lw_error err = {0};
    every = divisor > 1 ? 2 : 1;
    int rc = type->create(&spec, &engine, &err);
    if (rc == LW_ECONFIG) {         /* this processor lacks an instruction set */
        printf("skipped: no such processor: %s\n", err.message);
        return CHECK_SKIP;
    }
    rc = rc ? rc : type->create(&other_spec, &other, &err);
    if (rc) {
        fprintf(stderr, "search: no engine: %s\n", err.message);
        lw_engine_destroy(engine);
        return 1;
    }
    test_types();
    test_short();
    test_magnitudes();
    test_ties();
    test_not_finite();
    test_long();
    test_decimation();
    test_overflow();
    test_cuts();
    CHECK(100 * n_unsettled <= n_trials, "%d of %d trials have no data", n_unsettled, n_trials);
    lw_engine_destroy(other);
    lw_engine_destroy(engine);
    return check_result("search");
}
