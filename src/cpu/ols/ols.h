/* ols.h - overlap-save filtering on the CPU.
 *
 *     segment s of a block     |<- n_taps - 1 ->|<------- hop outputs ------->|        `length` working samples
 *                              |<- n_taps - 1 ->| before |<--- hop --->| after |       where outputs are interpolated
 *
 * "Sums" are the samples of the filtered series that a segment computes, before + hop + after of them. What signal/post.h
 * makes of them is made in the segment, while they are in the caches, so that no output depends on how a block is cut.
 *
 * Three methods. DIRECT sums in the time domain. WHOLE transforms a segment as complex points. HALF takes a real segment
 * as half as many complex points z[j] = x[2j] + i x[2j+1] with transform Z; with the transforms E and O of the filter's
 * even and odd taps and W = exp(-2 pi i / points), the filtered segment, packed alike, has the transform
 *
 *     A[k] Z[k] + B[k] conj(Z[-k]),    A[k] = E[k] + i/2 (1 - W^k) O[k],    B[k] = i/2 (1 + W^k) O[k],
 *
 * so that no spectrum is ever untangled, and channels and hops need no partner.
 *
 * Transforms with large prime factors are slow, and their errors several times as large. So a segment of such a length,
 * which only a user asks for, is followed by zeros up to the next better length. */
#ifndef LW_CPU_OLS_OLS_H
#define LW_CPU_OLS_OLS_H

#include "cpu/kernels/kernels.h"
#include "engine/engine.h"

/* Channels worked on together where time is slow: 16 samples of float32 are a cache line of output. */
#define LW_CPU_TILE_CHANNELS 16

/* Rows of a tile that are converted and transposed at a time. */
#define LW_CPU_PANEL_ROWS 64

enum lw_cpu_ols_method { LW_CPU_OLS_DIRECT, LW_CPU_OLS_COMPLEX, LW_CPU_OLS_PACKED };

/* What follows from a spec and a segment length. */
struct lw_cpu_ols_shape {
    const struct lw_cpu_kernels *kernels;
    enum lw_cpu_ols_method method;
    int width;                  /* reals of a working sample */
    int64_t n_filters, n_taps;  /* n_taps: with a derivative that is folded in */
    int64_t before, after;      /* samples of the series that interpolation needs beyond a segment's own `hop` */
    int rate;                   /* outputs made of a sample of the series */
    int64_t length, hop;
    int64_t points;             /* of the complex transform, which may reach beyond the segment; 0: none */
    int64_t tile;               /* channels worked on together: more than one only where time is slow */
    bool widens, narrows;       /* real samples in complex arithmetic: on the way in, and on the way out */
};

/** @param segment  FFT length, 0: direct */
struct lw_cpu_ols_shape lw_cpu_ols_shape(const struct lw_op_spec *spec, int segment);

/** Resolve the spec: see op_plan of engine.h. */
int lw_cpu_ols_plan(const struct lw_op_spec *spec, struct lw_op_plan *plan, struct lw_error *err);

/* The filters as the method wants them; owned by whoever created them. */
struct lw_cpu_filters {
    void *data;                 /* DIRECT: [n_filters x n_terms] reals; else spectra, prescaled by 1 / points, in
                                   the transform's order: WHOLE [n_filters x points] complex, HALF [n_filters][A, B]
                                   [points] complex */
    int64_t *offsets;           /* DIRECT: [n_terms] */
    int64_t n_terms;
    int64_t stride;             /* reals from one filter to the next */
    int *exponents;             /* [n_filters]: outputs are still to be multiplied by 2^exponent */
    double *ends;               /* where a derivative is folded in: [n_filters x (n_taps - 1)], the filters for the
                                   axis' two ends; else NULL */
};

int64_t lw_cpu_filters_bytes(const struct lw_cpu_ols_shape *shape, const struct lw_ols_spec *ols);
int lw_cpu_filters_create(const struct lw_cpu_ols_shape *shape, const struct lw_ols_spec *ols,
                          struct lw_cpu_filters *out, struct lw_error *err);
void lw_cpu_filters_release(struct lw_cpu_filters *filters);

/** Samples that a block needs before its own. */
static inline int64_t lw_cpu_ols_halo(const struct lw_cpu_ols_shape *shape)
{
    return shape->n_taps - 1 + shape->before + shape->after;
}

/** Reals from a sample to its copy turned by i, which DIRECT needs for complex taps (they lie in one buffer). */
int64_t lw_cpu_turned_offset(const struct lw_cpu_ols_shape *shape);

struct lw_cpu_ols;

/** Bytes of lw_cpu_ols_create. */
int64_t lw_cpu_ols_bytes(const struct lw_op_spec *spec, const struct lw_op_plan *plan, int64_t count,
                         int64_t n_channels, int n_threads);
int lw_cpu_ols_create(const struct lw_op_spec *spec, const struct lw_op_plan *plan, int64_t count, int64_t n_channels,
                      int n_threads, struct lw_cpu_ols **out, struct lw_error *err);
void lw_cpu_ols_destroy(struct lw_cpu_ols *ols);            /* NULL is legal */

/** Compute slot->products[0].data from slot->input for slot->block, and set slot->n_not_finite and the like. Starts OpenMP
 * threads of the calling thread's own. */
void lw_cpu_ols_run(struct lw_cpu_ols *ols, struct lw_slot *slot);

/** Start those threads, so that the first block need not. */
void lw_cpu_ols_warm_up(struct lw_cpu_ols *ols);

#endif
