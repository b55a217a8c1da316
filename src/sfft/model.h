/* model.h - the lines found so far, and their contribution to the buckets of all stages.
 *
 * The buckets of one stage and one shift form a plane of B complex numbers. A is the linear map from the lines' amplitudes x to
 * the planes; each line reaches three buckets of each plane. The model adds A x to planes, projects planes with A's adjoint, and
 * fits x by least squares. Every sum is taken in a fixed order: the results do not depend on the number of threads. */
#pragma once

#include "base/arena.h"
#include "sfft/stage.h"

#include <complex.h>

/* Padding behind each plane, complex numbers. If planes had power-of-two sizes, the values of one bucket in all planes would
 * fall into one set of the processor's cache. */
enum { LW_SFFT_GAP = 8 };

struct lw_sfft_plane {
    int stage, shift;
};

struct lw_sfft_model {
    const struct lw_sfft_stage *stages;             /* borrowed */
    struct lw_sfft_plane planes[LW_SFFT_PLANES];    /* one plane for each shift of the first n_stages stages, in order */
    int n_stages, n_planes;
    int n_threads;

    int64_t capacity, n_lines;
    int64_t *frequency;                             /* [capacity] frequency of each line */
    double complex *amplitude;                      /* [capacity] x, the amplitude of each line */

    int64_t *bucket[LW_SFFT_STAGES];                /* [capacity] nearest bucket of each line */
    double (*gain[LW_SFFT_STAGES])[3];              /* [capacity] G of the bucket left of the nearest, the nearest, right of it */
    double complex *phase[LW_SFFT_PLANES];          /* [capacity] phase factors of the lines in each plane */

    int64_t *table, table_size;                     /* hash table from frequencies to lines: open addressing, -1 is free */
    double complex *gradient, *direction;           /* [capacity] work arrays of the fit */
    double complex *image[LW_SFFT_PLANES];          /* [B] work arrays of the fit */
};

/** Lay out all arrays of a model in an arena, for stages with these specs; an arena without memory only counts bytes. The caller
 * sets `stages` and n_threads. The model has no stages until lw_sfft_model_use. */
void lw_sfft_model_lay_out(struct lw_sfft_model *model, const struct lw_sfft_stage_spec *specs, int n_stages, int64_t capacity,
                           struct lw_arena *arena);

/** Use the first n_stages stages, and remove all lines. */
void lw_sfft_model_use(struct lw_sfft_model *model, int n_stages);

/** Return the line with a frequency; add one with amplitude 0 if there is none. Return -1 if the model is full. A new line must
 * be traced (lw_sfft_model_trace) before any other use. */
int64_t lw_sfft_model_line(struct lw_sfft_model *model, int64_t frequency);

/** Compute the buckets, gains and phases of the lines from `first` on, in all stages. */
void lw_sfft_model_trace(struct lw_sfft_model *model, int64_t first);

/** planes[p] += scale A x for the first n_planes planes, where only some lines have entries in x.
 * @param lines   [count] numbers of these lines; NULL: 0 .. count-1
 * @param values  [count] entries of x */
struct lw_sfft_sum {
    const int64_t *lines;
    const double complex *values;
    int64_t count;
    double scale;
};
void lw_sfft_model_add(const struct lw_sfft_model *model, const struct lw_sfft_sum *sum, int n_planes,
                       double complex *const *planes);

/** Fit the amplitudes so that the energy left in the first n_planes planes is least, by conjugate gradients.
 * @param rest    planes minus the model; updated
 * @param enough  the fit ends when the energy of the gradient (A's adjoint applied to the rest) is at most this */
void lw_sfft_model_fit(struct lw_sfft_model *model, int n_planes, double complex *const *rest, int steps, double enough);

/** Return the energy of a line of amplitude 1 in the first n_planes planes. */
double lw_sfft_model_weight(const struct lw_sfft_model *model, int64_t line, int n_planes);

/** Remove every line whose keep[line] is false; the others keep their order. */
void lw_sfft_model_select(struct lw_sfft_model *model, const bool *keep);
