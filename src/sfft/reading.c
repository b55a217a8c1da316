#include "sfft/reading.h"

#include "base/memory.h"
#include "sfft/number.h"

#include <assert.h>

/* Return the first sample of a rank's part of the axis. */
static int64_t cut(const struct lw_sfft_samples_spec *spec, int rank)
{
    const int64_t n = spec->layout->stages[spec->first_stage].spec.n;
    return n / spec->n_ranks * rank + n % spec->n_ranks * rank / spec->n_ranks;
}

/* Count this rank's wanted samples; also list them unless `wanted` is NULL. */
static int64_t list_wanted(const struct lw_sfft_samples_spec *spec, struct lw_sfft_wanted *wanted)
{
    const int64_t begin = cut(spec, spec->rank), end = cut(spec, spec->rank + 1);
    int64_t count = 0, place = 0;
    for (int s = spec->first_stage; s < spec->end_stage; s++) {
        const struct lw_sfft_stage *const stage = &spec->layout->stages[s];
        const int64_t length = 2 * stage->window->half + 1;
        for (int d = 0; d < stage->spec.n_shifts; d++) {
            int64_t sample = lw_sfft_stage_sample(stage, d, 0);
            for (int64_t i = 0; i < length; i++, place++) {
                if (sample >= begin && sample < end) {
                    if (wanted)
                        wanted[count] = (struct lw_sfft_wanted){sample, place};
                    count++;
                }
                sample = lw_mod_add(sample, stage->sigma, stage->spec.n);
            }
        }
    }
    return count;
}

/* ---- sorting: digit by digit from the lowest, in time linear in the list; equal entries keep their order ------------- */

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

static int digit(const struct lw_sfft_wanted *wanted, int64_t first, int shift)
{
    return (int)((wanted->sample - first) >> shift & (DIGITS - 1));
}

/* Sort the wanted samples, all of which lie in [first, end). */
static int sort(struct lw_sfft_samples *samples, int64_t first, int64_t end, struct lw_error *err)
{
    struct lw_sfft_wanted *from = samples->wanted;
    LW_FREED struct lw_sfft_wanted *to = lw_alloc_array(samples->count, sizeof *to, "the list of samples", err);
    if (!to)
        return LW_ESYSTEM;
    for (int shift = 0; (end - first - 1) >> shift > 0; shift += DIGIT_BITS) {
        int64_t ends[DIGITS] = {0};
        for (int64_t i = 0; i < samples->count; i++)
            ends[digit(&from[i], first, shift)]++;
        for (int d = 1; d < DIGITS; d++)
            ends[d] += ends[d - 1];
        for (int64_t i = samples->count - 1; i >= 0; i--)
            to[--ends[digit(&from[i], first, shift)]] = from[i];
        struct lw_sfft_wanted *const sorted = to;
        to = from;
        from = sorted;
    }
    samples->wanted = from;
    return LW_OK;
}

/* ---- spans ---------------------------------------------------------------------------------------------------------- */

/* Count the spans; also list them unless `spans` is NULL. */
static int64_t list_spans(const struct lw_sfft_samples_spec *spec, const struct lw_sfft_samples *samples,
                          struct lw_sfft_span *spans)
{
    const struct lw_sfft_wanted *const wanted = samples->wanted;
    int64_t n_spans = 0;
    for (int64_t begin = 0; begin < samples->count; n_spans++) {
        int64_t end = begin + 1;
        while (end < samples->count && wanted[end].sample - wanted[end - 1].sample - 1 <= spec->gap &&
               wanted[end].sample - wanted[begin].sample < spec->longest)
            end++;
        if (spans)
            spans[n_spans] = (struct lw_sfft_span){
                wanted[begin].sample, wanted[end - 1].sample - wanted[begin].sample + 1, begin, end,
            };
        begin = end;
    }
    return n_spans;
}

/* An upper bound: sorting copies the list before there are spans, and later each sample may be a span of its own. */
int64_t lw_sfft_samples_bytes(int64_t count)
{
    static_assert(sizeof(struct lw_sfft_span) >= sizeof(struct lw_sfft_wanted), "spans take more than sorting");
    return count * (int64_t)(sizeof(struct lw_sfft_wanted) + sizeof(struct lw_sfft_span));
}

int lw_sfft_samples_create(const struct lw_sfft_samples_spec *spec, struct lw_sfft_samples *samples, struct lw_error *err)
{
    *samples = (struct lw_sfft_samples){0};
    for (int s = spec->first_stage; s < spec->end_stage; s++)
        samples->total += lw_sfft_stage_samples(&spec->layout->stages[s]);
    samples->count = spec->n_ranks == 1 ? samples->total : list_wanted(spec, NULL);
    samples->wanted = lw_alloc_array(samples->count, sizeof *samples->wanted, "the list of samples", err);
    if (!samples->wanted)
        return LW_ESYSTEM;
    list_wanted(spec, samples->wanted);
    const int rc = sort(samples, cut(spec, spec->rank), cut(spec, spec->rank + 1), err);
    if (rc)
        return rc;
    samples->n_spans = list_spans(spec, samples, NULL);
    samples->spans = lw_alloc_array(samples->n_spans, sizeof *samples->spans, "the list of reads", err);
    if (!samples->spans)
        return LW_ESYSTEM;
    list_spans(spec, samples, samples->spans);
    for (int64_t i = 0; i < samples->n_spans; i++)
        samples->read += samples->spans[i].count;
    return LW_OK;
}

void lw_sfft_samples_release(struct lw_sfft_samples *samples)
{
    lw_free(samples->wanted);
    lw_free(samples->spans);
    *samples = (struct lw_sfft_samples){0};
}
