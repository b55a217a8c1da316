/* seed.c - which lines are tones, and about where. */
#include "sfft/tones/tones.h"

#include "sfft/number.h"

#include <math.h>

/* A line counts as leakage of a stronger tone if it has at most so many times what one half way between two lines leaks there. */
static const double leakage_margin = 1.5;

static bool may_be_leakage(const struct lw_sfft_tones *t, const struct lw_sfft_line *line, int64_t first)
{
    const double size = hypot(line->re, line->im) / (double)t->n;
    for (int64_t j = first; j < t->n_tones; j++) {
        const double d = lw_sfft_tones_distance(t, (double)t->tones[j].index, (double)line->frequency);
        if (d < 1.5 || size < leakage_margin * 0.5 / (d - 0.5) * cabs(t->tones[j].amplitude))
            return true;
    }
    return false;
}

/* Where the rest correlates best with a tone, by quarters of a bin around the line. */
static struct lw_sfft_tone look_around(const struct lw_sfft_tones *t, int64_t index)
{
    struct lw_sfft_tone best = {.index = index, .is_fixed = t->is_real && (index == 0 || 2 * index == t->n)};
    const double weight = (double)t->n_fitted * (t->is_real && !best.is_fixed ? 2 : 1);
    for (int quarter = best.is_fixed ? 0 : -3; quarter <= (best.is_fixed ? 0 : 3); quarter++) {
        struct lw_sfft_tone tone = best;
        tone.offset = 0.25 * quarter;
        tone.amplitude = lw_sfft_tones_project(t, &tone, t->rest).flat / weight;
        if (cabs(tone.amplitude) > cabs(best.amplitude))
            best = tone;
    }
    if (best.is_fixed)
        best.amplitude = creal(best.amplitude);
    return best;
}

int64_t lw_sfft_tones_seed(struct lw_sfft_tones *t, const struct lw_sfft_line *lines, int64_t count, int64_t most)
{
    const int64_t before = t->n_tones;
    const int64_t end = before + most < t->spec.capacity ? before + most : t->spec.capacity;
    for (int64_t i = 0; i < count && t->n_tones < end; i++)         /* strongest first */
        if (!may_be_leakage(t, &lines[i], before))
            t->tones[t->n_tones++] = (struct lw_sfft_tone){
                .index = lines[i].frequency, .amplitude = CMPLX(lines[i].re, lines[i].im) / (double)t->n,
            };
    #pragma omp parallel for num_threads(t->spec.n_threads) schedule(dynamic)
    for (int64_t j = before; j < t->n_tones; j++)
        t->tones[j] = look_around(t, t->tones[j].index);
    const int64_t chosen = t->n_tones;
    t->n_tones = before;
    for (int64_t j = before; j < chosen; j++)
        if (!lw_sfft_tones_has_near(t, &t->tones[j], t->n_tones))
            t->tones[t->n_tones++] = t->tones[j];
    return t->n_tones - before;
}
