/* test_samples.c - tests of the list of samples that a sparse transform needs, and of its spans, against their definitions. The
 * list holds every sample of every stage once, on one rank, at its place, and is sorted. The spans hold each sample, break at
 * every gap longer than the limit and at no shorter one, and are no longer than allowed. */
#include "sfft/reading.h"

#include "../check.h"

#include <inttypes.h>
#include <stdlib.h>

enum { MOST_RANKS = 5 };

static struct lw_sfft_layout *make_layout(int64_t n, int64_t sparsity)
{
    const struct lw_sfft_spec spec = {.n = n, .sparsity = sparsity, .precision = LW_SINGLE, .seed = 3};
    const struct lw_sfft_plan plan = lw_sfft_plan_make(&spec);
    struct lw_sfft_layout *layout = NULL;
    struct lw_error err;
    CHECK(plan.n_attempts > 0, "%" PRId64 " samples are too few for this test", n);
    CHECK(lw_sfft_layout_create(&plan, &layout, &err) == LW_OK, "%s", err.message);
    return layout;
}

static struct lw_sfft_samples make_list(const struct lw_sfft_samples_spec *spec)
{
    struct lw_sfft_samples samples;
    struct lw_error err;
    CHECK(lw_sfft_samples_create(spec, &samples, &err) == LW_OK, "%s", err.message);
    return samples;
}

/* The sample of each place, computed from the stages. */
static int64_t *expected_samples(const struct lw_sfft_samples_spec *spec, int64_t total)
{
    int64_t *const expected = malloc((size_t)total * sizeof *expected);
    int64_t place = 0;
    for (int s = spec->first_stage; s < spec->end_stage; s++) {
        const struct lw_sfft_stage *const stage = &spec->layout->stages[s];
        for (int d = 0; d < stage->spec.n_shifts; d++)
            for (int64_t i = 0; i < 2 * stage->window->half + 1; i++)
                expected[place++] = lw_sfft_stage_sample(stage, d, i);
    }
    CHECK(place == total, "%" PRId64 " places, not %" PRId64, place, total);
    return expected;
}

/* Each place is on the list of exactly one rank, whose part of the axis holds its sample. Lists are sorted and of nearly equal
 * length. */
static void check_list(const struct lw_sfft_layout *layout, int n_attempts, int n_ranks)
{
    struct lw_sfft_samples_spec spec = {.layout = layout, .end_stage = lw_sfft_first_stage(layout, n_attempts),
                                        .n_ranks = n_ranks, .gap = 10, .longest = 1000};
    int64_t total = 0;
    for (int s = 0; s < spec.end_stage; s++)
        total += lw_sfft_stage_samples(&layout->stages[s]);
    int64_t *const expected = expected_samples(&spec, total), before = -1;
    int wrong = 0, unordered = 0, again = 0;
    for (spec.rank = 0; spec.rank < n_ranks; spec.rank++) {
        struct lw_sfft_samples samples = make_list(&spec);
        CHECK(samples.total == total, "%" PRId64 " in all", samples.total);
        CHECK(labs(samples.count * n_ranks - total) * 20 < total, "rank %d of %d has %" PRId64 " of %" PRId64 " samples",
              spec.rank, n_ranks, samples.count, total);
        for (int64_t i = 0; i < samples.count; i++) {
            const struct lw_sfft_wanted *const wanted = &samples.wanted[i];
            unordered += wanted->sample < before;
            before = wanted->sample;
            again += expected[wanted->place] < 0;
            wrong += expected[wanted->place] >= 0 && expected[wanted->place] != wanted->sample;
            expected[wanted->place] = -1;
        }
        lw_sfft_samples_release(&samples);
    }
    int missing = 0;
    for (int64_t place = 0; place < total; place++)
        missing += expected[place] >= 0;
    CHECK(wrong + unordered + again + missing == 0, "%d wrong, %d not in order, %d again, %d missing on %d ranks", wrong, unordered,
          again, missing, n_ranks);
    free(expected);
}

static void check_span(const struct lw_sfft_samples_spec *spec, const struct lw_sfft_samples *samples, int64_t s)
{
    const struct lw_sfft_span *const span = &samples->spans[s];
    const struct lw_sfft_wanted *const wanted = samples->wanted;
    const int64_t last = wanted[span->end - 1].sample;
    CHECK(span->begin == (s == 0 ? 0 : span[-1].end) && span->end > span->begin, "span %" PRId64 " begins elsewhere", s);
    CHECK(span->first == wanted[span->begin].sample && span->first + span->count == last + 1, "span %" PRId64 " is not tight", s);
    CHECK(span->count <= spec->longest, "%" PRId64 " samples, more than %" PRId64, span->count, spec->longest);
    for (int64_t i = span->begin + 1; i < span->end; i++)
        CHECK(wanted[i].sample - wanted[i - 1].sample - 1 <= spec->gap, "a gap longer than %" PRId64 " is read", spec->gap);
    if (span->end < samples->count)
        CHECK(wanted[span->end].sample - last - 1 > spec->gap || wanted[span->end].sample - span->first >= spec->longest,
              "span %" PRId64 " ends before a gap of no more than %" PRId64, s, spec->gap);
}

/* An extra read may cost nothing (gap 0) or everything (a gap longer than the signal); in the second case the spans are as few as
 * their length allows. */
static void check_spans(const struct lw_sfft_layout *layout)
{
    const int64_t n = layout->plan.spec.n, gaps[] = {0, 1, 7, 100, 5000, n, INT64_MAX}, longest[] = {1, 2, 100, 4096, n};
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++) {
        for (size_t l = 0; l < sizeof longest / sizeof *longest; l++) {
            const struct lw_sfft_samples_spec spec = {
                .layout = layout, .end_stage = lw_sfft_first_stage(layout, 1), .rank = 1, .n_ranks = 3, .gap = gaps[g],
                .longest = longest[l],
            };
            struct lw_sfft_samples samples = make_list(&spec);
            int64_t read = 0;
            for (int64_t s = 0; s < samples.n_spans; s++) {
                check_span(&spec, &samples, s);
                read += samples.spans[s].count;
            }
            CHECK(samples.spans[samples.n_spans - 1].end == samples.count, "the last span ends early");
            CHECK(read == samples.read, "%" PRId64 " samples are read, not %" PRId64, read, samples.read);
            if (spec.gap >= n && spec.longest == n)
                CHECK(samples.n_spans == 1, "%" PRId64 " spans where gaps are free", samples.n_spans);
            lw_sfft_samples_release(&samples);
        }
    }
}

int main(void)
{
    static const int64_t lengths[] = {1 << 15, 100003, 1 << 20};
    for (int l = 0; l < 3; l++) {
        struct lw_sfft_layout *const layout = make_layout(lengths[l], 5);
        for (int ranks = 1; ranks <= MOST_RANKS; ranks++)
            for (int attempts = 1; attempts <= layout->plan.n_attempts; attempts++)
                check_list(layout, attempts, ranks);
        check_spans(layout);
        lw_sfft_layout_destroy(layout);
    }
    return check_result("samples");
}
