/* launch.h - kernels of searches for drifting signals (accel/accel.h): the spectrum, the plane of powers, sums over harmonics.
 * C header. All functions enqueue work on `stream`; pointers are device memory. */
#pragma once

#include "base/linkage.h"
#include "engine/accel.h"

#include <cuda_runtime_api.h>

LW_C_BEGIN

/* Planes hold powers divided by this as halves, which then reach from 4e-6 to 4e6; larger powers count as 4e6. */
#define LW_ACCEL_SCALE 64

#define LW_ACCEL_MOST_CELLS (1 << 20)       /* cells of one call of lw_cuda_accel_sum */
#define LW_ACCEL_MOST_HARMONICS (1 << (LW_ACCEL_MOST_STAGES - 1))

/* Segments of the spectrum: segment s gives the powers at bins [s hop, (s + 1) hop), 2 hop points of r. It is a transform of n bins
 * from bin s hop - discard on. */
struct lw_accel_segments {
    int radix;                  /* n = 1024 radix; 0: templates are too long */
    int n, discard, hop;        /* hop = n - 2 discard; both are multiples of 32 */
};

/* Templates as spectra: [rows][2][n], for whole bins and for the halves above them. Row w n_z + z. */
struct lw_accel_bank {
    struct lw_accel_segments segments;
    int half_width, rows;
    float2 *roots;              /* the table of gpu/device/fft.cuh */
    float2 *spectra;
};

/* A range of segments, with the rows next to the middle, and its place in the plane. */
struct lw_accel_interval {
    int64_t first, n;           /* segments */
    int64_t column;             /* column of the first point */
    int reach_z, reach_w;       /* rows whose indices of z and w are at most so far from the middle */
};

struct lw_accel_plane {
    uint16_t *powers;           /* [n_w][n_z][pitch] halves */
    int64_t pitch;              /* a multiple of 8 */
    int n_z, n_w;
};

struct lw_accel_cells {
    int64_t first, n;           /* n: at most LW_ACCEL_MOST_CELLS */
    int64_t begin, end;         /* points beyond these are not searched */
    int n_stages;
    float least[LW_ACCEL_MOST_STAGES];
    int64_t shift[LW_ACCEL_MOST_HARMONICS];     /* points of harmonic k + 1 of the highest stage, less their columns */
};

struct lw_accel_found {
    uint32_t *cells;            /* [LW_ACCEL_MOST_CELLS] cells that may have hits */
    unsigned long long *counts; /* [2] cells, and hits, which may be more than there is room for */
    struct lw_accel_hit *hits;  /* [most] */
    int64_t most;
};

/** Find the lower median of the powers of each block of bins, without those that are NaN; 0 if there are no others.
 * @param edges  [n_blocks + 1] */
cudaError_t lw_cuda_accel_medians(const float2 *spectrum, const int64_t *edges, int64_t n_blocks, float *medians,
                                  cudaStream_t stream);

/** Multiply blocks by their factors. Bins that are NaN become 0. */
cudaError_t lw_cuda_accel_scale(float2 *spectrum, const int64_t *edges, int64_t n_blocks, const float *factors,
                                cudaStream_t stream);

/** Fill the table of roots, and return its bytes. */
cudaError_t lw_cuda_accel_roots(const struct lw_accel_bank *bank, cudaStream_t stream);
int64_t lw_cuda_accel_roots_bytes(const struct lw_accel_segments *segments);

/** Transform the templates T of rows first .. first + n - 1, and those of the rows with -z and -w, which are conj T[-j].
 * @param templates  [n][4 half_width + 1] */
cudaError_t lw_cuda_accel_transform(const struct lw_accel_bank *bank, int first, int n, const float2 *templates,
                                    cudaStream_t stream);

/** Compute the powers of an interval. @param spectrum  [n_bins], normalized */
cudaError_t lw_cuda_accel_powers(const struct lw_accel_bank *bank, const float2 *spectrum, int64_t n_bins,
                                 const struct lw_accel_interval *interval, const struct lw_accel_plane *plane, cudaStream_t stream);

/** Append the hits of cells. found->counts[0] must be 0. */
cudaError_t lw_cuda_accel_sum(const struct lw_accel_plane *plane, const struct lw_accel_cells *cells,
                              const struct lw_accel_found *found, cudaStream_t stream);

LW_C_END
