/* accel.h - the CPU engine's search for drifting signals.
 *
 *     spectrum.c   series -> FFTW -> medians of blocks, factors, zaps -> normalized spectrum
 *     plane.c      spectrum -> levels of powers (cpu/kernels/kernels.h) in the plane of r, z, w -> sums over harmonics -> hits
 *     accel.c      memory and order
 *
 * Powers are made in segments of a grid that is the same for all ranges, threads and memory. The plane holds what a piece of the
 * range needs: strips of r around the harmonics of the piece, with as many z and w as the highest of these needs. A piece is as
 * long as memory allows; powers that two pieces need are made twice. */
#pragma once

#include "accel/normalize.h"
#include "cpu/lanes.h"
#include "engine/accel.h"

#include <fftw3.h>

extern const struct lw_accel_ops lw_cpu_accel_ops;

#define LW_CPU_MOST_HARMONICS (1 << (LW_ACCEL_MOST_STAGES - 1))

/* Points of r that follow each other in the plane, for |z| <= dz and |w| <= dw steps: levels[2 dw + 1][2 dz + 1][end - begin]. */
struct lw_cpu_strip {
    int64_t begin, end;             /* even */
    int dz, dw;
    int64_t first;                  /* index of the first level in the plane */
};

/* Points [begin, end) of a range, and the strips that they need, ascending. */
struct lw_cpu_piece {
    int64_t begin, end, n_levels;
    struct lw_cpu_strip strips[LW_CPU_MOST_HARMONICS];
    int n_strips;
    int strip_of[LW_CPU_MOST_HARMONICS];        /* strip of each harmonic, in the order of add_harmonics */
};

/* The memory of a thread. */
struct lw_cpu_accel_lane {
    struct lw_cpu_lane base;
    float *work, *largest;
    uint16_t *levels;               /* [2 n] levels of a segment; there is room before them */
    double *powers;                 /* powers of a block of the spectrum */
};

struct lw_accel_search {
    const struct lw_accel_plan *plan;
    const struct lw_accel_zap *zaps;
    int64_t n_zaps;
    const struct lw_cpu_kernels *kernels;

    int64_t n, hop;                 /* bins of a segment's transform, and those of which it makes powers: a multiple of 8 */
    int64_t batch;                  /* segments that are made together */
    int64_t n_blocks, widest, n_rows, n_levels;

    float *spectrum;                /* [n_fft + 2] */
    fftwf_plan transform;
    int64_t *edges, *counted;
    float *medians, *factors, *variances;
    struct lw_cpu_drift *drift;
    float *templates;               /* [n_rows][2][2 n]: spectra for whole bins and for halves, from z = 0 and w = 0 on */
    float *segments;                /* [batch][2 n] spectra of segments */
    uint16_t *plane;
    int16_t *sub_z, *sub_w;         /* [harmonics][n_z], [harmonics][n_w]: distances from the middle */
    struct lw_cpu_lanes lanes;

    const float *series;
    int64_t begin, end;
};

/** Make the normalized spectrum of search->series. LW_ESTOPPED. */
int lw_cpu_accel_spectrum(struct lw_accel_search *search, struct lw_error *err);

/** Make a template. Rows w n_z + z count from that of z = 0 and w = 0. */
int lw_cpu_accel_template(const struct lw_accel_search *search, struct lw_cpu_accel_lane *lane, int64_t row, float *taps,
                          struct lw_error *err);

/** Find the hits of the search's range. LW_ESTOPPED. */
int lw_cpu_accel_find(struct lw_accel_search *search, struct lw_accel_hits *hits, struct lw_error *err);

/** Return a piece of the points [begin, end), and the levels that are enough for a piece of any `points` points. */
struct lw_cpu_piece lw_cpu_piece_of(const struct lw_accel_plan *plan, int64_t begin, int64_t end);
int64_t lw_cpu_piece_levels(const struct lw_accel_plan *plan, int64_t points);

/** Return the number of a plan's harmonics, and set k / H of one of them, in the order of add_harmonics. */
static inline int lw_cpu_harmonics(const struct lw_accel_plan *plan) { return 1 << (plan->spec.n_stages - 1); }
void lw_cpu_harmonic(int harmonic, int *k, int *H);

/* Cells of which the sums are made together, and levels that may be read behind the plane. */
#define LW_CPU_SPAN_CELLS 128
#define LW_CPU_PLANE_PADDING 32
