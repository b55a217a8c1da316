/* choose.h - overlap-save filtering on the CPU: the methods, and the sizes that follow from a spec.
 *
 *     segment s of a block     |<- n_taps - 1 ->|<------- hop outputs ------->|        `length` working samples
 *                              |<- n_taps - 1 ->| before |<--- hop --->| after |       where outputs are interpolated
 *
 * "Sums" are the samples of the filtered series that a segment computes, before + hop + after of them. What signal/post.h
 * makes of them is made in the segment, while they are in the caches, so that no output depends on how a block is cut.
 *
 * There are three methods. DIRECT sums in the time domain. COMPLEX transforms a segment as complex points. PACKED takes a
 * real segment as half as many complex points z[j] = x[2j] + i x[2j+1] with transform Z; with the transforms E and O of the
 * filter's even and odd taps and W = exp(-2 pi i / points), the filtered segment, packed alike, has the transform
 *
 *     A[k] Z[k] + B[k] conj(Z[-k]),    A[k] = E[k] + i/2 (1 - W^k) O[k],    B[k] = i/2 (1 + W^k) O[k],
 *
 * so that spectra are never separated, and no channel or segment needs a partner.
 *
 * Transforms with large prime factors are slow, and their errors several times as large. So a segment of such a length,
 * which only a user asks for, is followed by zeros up to the next better length.
 *
 * The files of this folder, each of which calls only those before it: plan (sizes), filters (spectra and taps), lane (what a
 * thread works in), samples (into a lane and out of it), post (what is made of the sums), search (what is found in them), ols (a
 * block, segment by segment). */
#pragma once

#include "cpu/kernels/kernels.h"
#include "engine/engine.h"

/* Channels worked on together where time is slow: 16 samples of float32 are a cache line of output. */
#define LW_CPU_TILE_CHANNELS 16

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

/** Choose method and segment length: see op_plan of engine/engine.h. */
int lw_cpu_ols_plan(const struct lw_op_spec *spec, struct lw_op_plan *plan, struct lw_error *err);

/** Samples that a block needs before its own. */
static inline int64_t lw_cpu_ols_halo(const struct lw_cpu_ols_shape *shape)
{
    return shape->n_taps - 1 + shape->before + shape->after;
}

/** Samples of the series that a whole segment computes. */
static inline int64_t lw_cpu_ols_sums(const struct lw_cpu_ols_shape *shape)
{
    return shape->before + shape->hop + shape->after;
}

/** Reals from a sample to its copy turned by i, which DIRECT needs for complex taps: both lie in one buffer. */
int64_t lw_cpu_ols_turned_offset(const struct lw_cpu_ols_shape *shape);
