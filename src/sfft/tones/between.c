/* between.c - whether strong lines are tones between two frequencies. */
#include "sfft/tones/tones.h"

#include <math.h>
#include <string.h>

/* Lines closer to a tone than this are its leakage, bins; and what counts as between: an offset, and one of so many deviations. */
enum { NEAR = 8 };
static const double least_deviations = 6;

static bool is_chosen(const struct lw_sfft_line *chosen, int count, int64_t frequency, int64_t within)
{
    for (int i = 0; i < count; i++)
        if (chosen[i].frequency - frequency <= within && frequency - chosen[i].frequency <= within)
            return true;
    return false;
}

/* The strongest lines that are not near each other, strongest first. */
static int choose(const struct lw_sfft_line *lines, int64_t count, struct lw_sfft_line chosen[LW_SFFT_TONES_LOOKED_AT])
{
    int n = 0;
    for (; n < LW_SFFT_TONES_LOOKED_AT; n++) {
        double most = 0;
        for (int64_t i = 0; i < count; i++) {
            const double size = hypot(lines[i].re, lines[i].im);
            if (size > most && !is_chosen(chosen, n, lines[i].frequency, NEAR)) {
                most = size;
                chosen[n] = lines[i];
            }
        }
        if (most == 0)
            break;
    }
    return n;
}

/* Subtract the lines that are not near a chosen one from the samples. */
static void subtract_others(struct lw_sfft_tones *t, double *samples, const struct lw_sfft_line *lines, int64_t count,
                            const struct lw_sfft_line *chosen, int n_chosen)
{
    t->n_tones = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t f = lines[i].frequency;
        if (!is_chosen(chosen, n_chosen, f, NEAR)) {
            const struct lw_sfft_tone_part part = {CMPLX(lines[i].re, lines[i].im) / (double)t->n, 0};
            t->tones[t->n_tones] = (struct lw_sfft_tone){.index = f, .is_fixed = t->is_real && (f == 0 || 2 * f == t->n)};
            t->part[t->n_tones++] = part;
        }
        if (t->n_tones == t->spec.capacity || i + 1 == count) {
            lw_sfft_tones_add(t, 0, t->part, -1, (double complex *)samples);
            t->n_tones = 0;
        }
    }
    memcpy(t->rest, samples, (size_t)t->n_samples * sizeof *t->rest);
}

int lw_sfft_tones_between(struct lw_sfft_tones *t, double *samples, const struct lw_sfft_line *lines, int64_t count)
{
    struct lw_sfft_line chosen[LW_SFFT_TONES_LOOKED_AT];
    const int n_chosen = choose(lines, count, chosen);
    lw_sfft_tones_begin(t, 0, samples);
    subtract_others(t, samples, lines, count, chosen, n_chosen);
    lw_sfft_tones_seed(t, chosen, n_chosen, n_chosen);
    lw_sfft_tones_fit(t);
    const double noise = lw_sfft_tones_power(t, t->rest, true);
    int between = 0;
    for (int64_t j = 0; j < t->n_tones; j++) {
        const double offset = fabs(lw_sfft_tones_line(t, &t->tones[j]).offset);
        const double least = least_deviations * lw_sfft_tones_deviation(t, &t->tones[j], noise);
        between += offset > LW_SFFT_TONES_LEAST_OFFSET && offset > least;
    }
    return between;
}
