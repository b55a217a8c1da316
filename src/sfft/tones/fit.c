/* fit.c - frequencies and amplitudes of all tones at a time. */
#include "sfft/tones/tones.h"

#include "sfft/number.h"

#include <math.h>
#include <string.h>

/* Gauss-Newton steps; conjugate gradients in each, which end when their gradient has fallen to this part. */
enum { STEPS = 16, GRADIENTS = 20 };
static const double gradient_enough = 1e-3;

/* A fit ends when no offset changes by more than this, or than this part of the deviation that what is left gives it; and no tone
 * moves further in one step. */
static const double offset_enough = 1e-10, deviation_enough = 0.01, longest_step = 0.3;

/* A tone is kept if its energy in the samples is so many times the noise's. */
static const double significance = 20;

/* ---- linear least squares ------------------------------------------------------------------------------------------- */

/* The unknowns of a tone are changes of its amplitude, and of its offset in units that give all the same weight. As parts: flat is
 * that of the amplitude, creal(slope) that of the offset. Their image in the samples, by the derivatives of the wave: */
static void to_derivatives(const struct lw_sfft_tones *t, const struct lw_sfft_tone_part *unknowns, struct lw_sfft_tone_part *parts)
{
    for (int64_t j = 0; j < t->n_tones; j++) {
        parts[j].flat = unknowns[j].flat;
        parts[j].slope = 2 * M_PI * I * t->tones[j].amplitude * t->scale[j] * creal(unknowns[j].slope);
    }
}

/* and the adjoint of that map, of values over the samples. */
static void project_all(const struct lw_sfft_tones *t, const double complex *values, struct lw_sfft_tone_part *unknowns)
{
    #pragma omp parallel for num_threads(t->spec.n_threads) schedule(dynamic)
    for (int64_t j = 0; j < t->n_tones; j++) {
        const struct lw_sfft_tone *const tone = &t->tones[j];
        const struct lw_sfft_tone_part sum = lw_sfft_tones_project(t, tone, values);
        unknowns[j].flat = tone->is_fixed ? creal(sum.flat) : sum.flat;
        unknowns[j].slope = creal(conj(2 * M_PI * I * tone->amplitude) * sum.slope) * t->scale[j];
    }
}

static double energy(const struct lw_sfft_tone_part *parts, int64_t count)
{
    double sum = 0;
    for (int64_t j = 0; j < count; j++)
        sum += pow(creal(parts[j].flat), 2) + pow(cimag(parts[j].flat), 2) + pow(creal(parts[j].slope), 2);
    return sum;
}

/* The slopes' weights: a slope of a wave has the mean square 1/12. */
static void choose_scales(struct lw_sfft_tones *t)
{
    for (int64_t j = 0; j < t->n_tones; j++) {
        const double size = 2 * M_PI * cabs(t->tones[j].amplitude);
        t->scale[j] = t->tones[j].is_fixed || size == 0 ? 0 : sqrt(12) / size;
    }
}

static void make_image(const struct lw_sfft_tones *t, const struct lw_sfft_tone_part *direction, struct lw_sfft_tone_part *parts)
{
    memset(t->image, 0, (size_t)t->n_samples * sizeof *t->image);
    to_derivatives(t, direction, parts);
    lw_sfft_tones_add(t, 0, parts, 1, t->image);
}

static void combine(struct lw_sfft_tone_part *to, double by, const struct lw_sfft_tone_part *parts, int64_t count)
{
    for (int64_t j = 0; j < count; j++) {
        to[j].flat += by * parts[j].flat;
        to[j].slope += by * parts[j].slope;
    }
}

/* The unknowns that explain the rest best, by CGLS: to `solution`. The rest is used up. */
static void solve(struct lw_sfft_tones *t, struct lw_sfft_tone_part *solution)
{
    const int64_t count = t->n_tones;
    struct lw_sfft_tone_part *const gradient = t->part + t->spec.capacity, *const direction = t->part + 2 * t->spec.capacity;
    memset(solution, 0, (size_t)count * sizeof *solution);
    project_all(t, t->rest, gradient);
    memcpy(direction, gradient, (size_t)count * sizeof *direction);
    double before = energy(gradient, count);
    const double enough = before * gradient_enough * gradient_enough;
    for (int i = 0; i < GRADIENTS && before > enough; i++) {
        make_image(t, direction, gradient);         /* whose room is free until it is taken anew */
        const double seen = lw_sfft_tones_power(t, t->image, true) * (double)t->n_fitted;
        if (!(seen > 0))
            return;
        const double length = before / seen;
        combine(solution, length, direction, count);
        for (int64_t k = 0; k < t->n_samples; k++)
            t->rest[k] -= length * t->image[k];
        project_all(t, t->rest, gradient);
        const double now = energy(gradient, count);
        for (int64_t j = 0; j < count; j++) {
            direction[j].flat = gradient[j].flat + now / before * direction[j].flat;
            direction[j].slope = gradient[j].slope + now / before * direction[j].slope;
        }
        before = now;
    }
}

/* ---- Gauss-Newton ---------------------------------------------------------------------------------------------------- */

/* Samples less all tones. */
static void subtract_tones(struct lw_sfft_tones *t)
{
    memcpy(t->rest, t->samples, (size_t)t->n_samples * sizeof *t->rest);
    for (int64_t j = 0; j < t->n_tones; j++)
        t->part[j] = (struct lw_sfft_tone_part){t->tones[j].amplitude, 0};
    lw_sfft_tones_add(t, 0, t->part, -1, t->rest);
}

/* A whole number of bins goes from the offset to the index; the amplitude, which is that of the middle, keeps its wave: there, the
 * index alone turns by half a turn for each bin. */
static void normalize(const struct lw_sfft_tones *t, struct lw_sfft_tone *tone)
{
    const int64_t bins = (int64_t)rint(tone->offset);
    const int64_t index = tone->index + bins;
    if (bins == 0 || (t->is_real && (index <= 0 || 2 * index >= t->n)))
        return;
    tone->index = lw_mod(index, t->n);
    tone->offset -= (double)bins;
    if (bins % 2 != 0)
        tone->amplitude = -tone->amplitude;
}

/* Move all tones by a solution; whether any moved by more than counts. */
static bool move(struct lw_sfft_tones *t, const struct lw_sfft_tone_part *solution)
{
    const double noise = lw_sfft_tones_power(t, t->rest, true);     /* that the solution leaves */
    bool has_moved = false;
    for (int64_t j = 0; j < t->n_tones; j++) {
        struct lw_sfft_tone *const tone = &t->tones[j];
        const double change = t->scale[j] * creal(solution[j].slope);
        const double part = fabs(change) > longest_step ? longest_step / fabs(change) : 1;
        has_moved = has_moved || fabs(change) > fmax(offset_enough, deviation_enough * lw_sfft_tones_deviation(t, tone, noise));
        tone->offset += part * change;
        tone->amplitude += part * solution[j].flat;
        normalize(t, tone);
    }
    return has_moved;
}

static void step_until_still(struct lw_sfft_tones *t)
{
    subtract_tones(t);
    for (int i = 0; i < STEPS && t->n_tones > 0; i++) {
        choose_scales(t);
        solve(t, t->part);
        const bool has_moved = move(t, t->part);
        subtract_tones(t);
        if (!has_moved)
            return;
    }
}

/* Leave out tones that noise may have made, and of two that a fit has brought together, as one does not tell them apart, the later;
 * whether there were any. */
static bool prune(struct lw_sfft_tones *t)
{
    const double noise = lw_sfft_tones_power(t, t->rest, true);
    const int64_t before = t->n_tones;
    t->n_tones = 0;
    for (int64_t j = 0; j < before; j++)
        if (pow(cabs(t->tones[j].amplitude), 2) * (double)t->n_fitted > significance * noise &&
            !lw_sfft_tones_has_near(t, &t->tones[j], t->n_tones))
            t->tones[t->n_tones++] = t->tones[j];
    return t->n_tones < before;
}

void lw_sfft_tones_fit(struct lw_sfft_tones *t)
{
    step_until_still(t);
    if (prune(t))
        step_until_still(t);
}
