/* model.h - the lines found so far, and how they appear in the buckets of all stages.
 *
 * The buckets of all stages and shifts are planes of B complex numbers. With A the linear map from the lines' amplitudes to
 * the planes (three buckets a line and plane), the model adds A x to planes, projects planes with A's adjoint, and fits x
 * by least squares. Every sum is taken in a fixed order: the results do not depend on the number of threads. */
#pragma once

#include "base/arena.h"
#include "sfft/stage.h"

#include <complex.h>

/* Complex numbers behind each plane: without them, where planes are powers of two, a bucket's values of all planes would lie in one
 * set of the processor's cache. */
enum { LW_SFFT_GAP = 8 };

struct lw_sfft_plane {
    int stage, shift;
};

struct lw_sfft_model {
    const struct lw_sfft_stage *stages;             /* borrowed */
    struct lw_sfft_plane planes[LW_SFFT_PLANES];    /* of the first n_stages stages, in order */
    int n_stages, n_planes;
    int n_threads;

    int64_t capacity, n_lines;
    int64_t *frequency;                             /* [capacity] */
    double complex *amplitude;                      /* [capacity] */

    int64_t *bucket[LW_SFFT_STAGES];                /* [capacity] nearest bucket of each line */
    double (*gain[LW_SFFT_STAGES])[3];              /* [capacity] G of that one's left neighbour, itself, the right one */
    double complex *phase[LW_SFFT_PLANES];          /* [capacity] */

    int64_t *table, table_size;                     /* line of a frequency: open addressing, -1 is free */
    double complex *gradient, *direction;           /* [capacity] work of the fit */
    double complex *image[LW_SFFT_PLANES];          /* [B] likewise */
};

/** Take all that a model works in from an arena, for stages of those specs; to count, from one without memory. `stages` and
 * n_threads are the caller's to set; the model sees no stage until lw_sfft_model_use. */
void lw_sfft_model_lay_out(struct lw_sfft_model *model, const struct lw_sfft_stage_spec *specs, int n_stages, int64_t capacity,
                           struct lw_arena *arena);

/** See the first n_stages stages, and forget all lines. */
void lw_sfft_model_use(struct lw_sfft_model *model, int n_stages);

/** The line of that frequency, added with amplitude 0 if there was none; -1: the model is full. New lines have to be traced
 * before anything else is done with them. */
int64_t lw_sfft_model_line(struct lw_sfft_model *model, int64_t frequency);

/** Find where the lines from `first` on appear in the stages. */
void lw_sfft_model_trace(struct lw_sfft_model *model, int64_t first);

/** planes[p] += scale A x for the first n_planes planes, where x has entries for some lines only.
 * @param lines   [count] numbers of lines; NULL: 0 .. count-1
 * @param values  [count] */
struct lw_sfft_sum {
    const int64_t *lines;
    const double complex *values;
    int64_t count;
    double scale;
};
void lw_sfft_model_add(const struct lw_sfft_model *model, const struct lw_sfft_sum *sum, int n_planes,
                       double complex *const *planes);

/** Change the amplitudes so that the first n_planes planes are left with the least energy (conjugate gradients).
 * @param rest  the planes less the model; updated
 * @param enough  end when the energy of the gradient, A's adjoint applied to the rest, has fallen to this */
void lw_sfft_model_fit(struct lw_sfft_model *model, int n_planes, double complex *const *rest, int steps, double enough);

/** Energy that a line of amplitude 1 has in the first n_planes planes. */
double lw_sfft_model_weight(const struct lw_sfft_model *model, int64_t line, int n_planes);

/** Keep the lines with keep[line] only, in their order. */
void lw_sfft_model_select(struct lw_sfft_model *model, const bool *keep);
