/* kernels.h - the inner loops of the CPU engine, one table per precision and instruction set.
 *
 * A "real" is a float or a double, by the table's precision. A working sample is `width` reals: 1 in real arithmetic, 2 (re, im) in
 * complex arithmetic. Buffers of reals start at multiples of LW_ALIGNMENT if not stated otherwise, because FFTW's plans and the
 * loops' results must not depend on a buffer's place. Only fft_create and fft2d_create allocate. */
#pragma once

#include "base/memory.h"
#include "engine/engine.h"

/* A panel: rows x columns scalars that load() and store() convert between stored rows and packed reals. A panel of several rows has
 * at most 512 columns. */
struct lw_cpu_panel {
    enum lw_scalar scalar;
    bool is_swapped;
    int64_t rows, columns;
    int64_t stored_stride;          /* bytes from one stored row to the next */
    bool squares;                   /* store() writes the square of each real, as float64 */
    double factor;                  /* factor on each real before store() rounds it to an integer or a half */
};

/* Samples of one channel of a segment that are not finite, and the outputs whose taps touch them. Output o is made of the samples
 * o .. o + n_taps - 1. The first `halo` samples are the segment's halo, the others its own. */
struct lw_cpu_repair {
    int width;
    int64_t n_taps, halo, n_samples, n_outputs;
    uint8_t *touched;               /* [n_outputs], set to 0 or 1 */
    int64_t n_own, first_own;       /* result: own samples that are not finite: their count, the first one's index (from 0) */
};

/* Complex transforms of length n, unscaled, computed as a matrix of rows x columns (long.c). The spectrum stays in the order that
 * results: bin k1 + rows * k2 is at k1 * columns + k2. Short transforms have one row, and thus natural order. */
struct lw_cpu_fft {
    int64_t n, rows, columns;       /* rows * columns = n */
    int64_t work;                   /* complex numbers of the work memory */
    int64_t strip;                  /* columns of a strip; 0: fft_strip cannot be used */
};

/* The rows of a tile: complex numbers, real ones, or the real rows a and b of two tiles as one complex row a + i b. */
enum lw_cpu_fft2d_rows { LW_CPU_COMPLEX_ROWS, LW_CPU_REAL_ROWS, LW_CPU_TWO_ROWS };

/* A tile of rows x columns complex numbers, `pitch` numbers from row to row. The spectrum is stored in strips of `strip` columns:
 * bin (k, l) is at ((l / strip) * rows + k) * strip + l % strip. `bins`, a multiple of `strip`, is `columns`, or for rows of real
 * numbers columns / 2 + 1 rounded up. Of two tiles, the second follows the first: 2 a and 2 i b are transformed, each alone. */
struct lw_cpu_fft2d {
    int64_t rows, columns, bins, pitch, strip;
    enum lw_cpu_fft2d_rows kind;
};

/* A filter in the time domain: y[i] = sum over t of taps[t] * x[i + offsets[t]]. */
struct lw_cpu_terms {
    const void *taps;               /* [n_terms] reals */
    const int64_t *offsets;         /* [n_terms] */
    int64_t n_terms;
};

/* A kernel in the space domain: y[r][i] = sum over m, n of taps[m][n] * x[(r + m) * stride + i + n * step]. */
struct lw_cpu_stencil {
    const void *taps;               /* [rows][columns] reals */
    int64_t rows, columns;
    int64_t stride, step;           /* reals of x from row to row, and from pixel to pixel */
};

/* Rows of outputs that one call of stencil() makes. */
#define LW_CPU_STENCIL_ROWS 4

/* Rows to be added sample by sample. As many samples beyond the rows' ends as LW_CPU_SUM_STEP may be read. */
struct lw_cpu_rows {
    const void *const *rows;        /* [n] the rows' first samples; any alignment */
    const float *weights;           /* [n] factors of reals; NULL: 1 */
    int64_t n;
    int64_t narrow;                 /* rows of 16 bits whose sum has 16 bits */
    int32_t bias;                   /* added to a sum of integers that becomes a real */
    double scale;                   /* factor on reals */
};

/* Types of rows and of their sum. */
enum lw_cpu_sum {
    LW_CPU_BYTES_TO_SHORTS, LW_CPU_SHORTS_TO_SHORTS, LW_CPU_SHORTS_TO_WORDS, LW_CPU_WORDS_TO_WORDS, LW_CPU_SHORTS_TO_REALS,
    LW_CPU_WORDS_TO_REALS, LW_CPU_REALS_TO_REALS,
};

#define LW_CPU_SUM_STEP 256

/* Interpolation at one place of the axis (inside or near an end: struct lw_post_weights). Output rate i + r, "phase" r of sample i,
 * is the sum of weights[k * rate + r] * y[i + k - LW_POST_REACH] over begin[r > 0] <= k < end[r > 0]. */
struct lw_cpu_phases {
    int rate;
    int begin[2], end[2];
    const void *weights;            /* [LW_POST_SPAN x rate] reals */
};

/* The strongest outputs of a channel so far, see signal/search.h: working samples, their strengths, and their filters. */
struct lw_cpu_best {
    void *values;
    double *strengths;
    int32_t *filters;
};

/* Sums over adjacent outputs y. Squares are taken of y / 2^exponent, to stay in range. Sums are NaN if an output is. */
struct lw_cpu_cell {
    int exponent;
    double largest, squares;        /* largest square, ignoring NaN; sum of the squares */
    double re, im;                  /* sums of y */
};

/* The windows of n_taps samples that begin at the samples 0 .. n - 1 of a segment, `step` reals from sample to sample. */
struct lw_cpu_windows {
    int64_t n_taps, n, step;
    bool is_demeaned;               /* samples count less their mean over the window */
};

/* A level is a power in 16 bits: the float's exponent, of which 6 bits are kept, and 10 bits of its fraction. Shifted back to its
 * place in a float a level is the power times 2^-LW_CPU_LEVEL_EXPONENT. Powers up to 2^49 have a relative error of 2^-11, and those
 * below 2^-14 an absolute one. */
#define LW_CPU_LEVEL_SHIFT 13
#define LW_CPU_LEVEL_EXPONENT 112
#define LW_CPU_LEVEL_BIAS (LW_CPU_LEVEL_EXPONENT << 23)

#define LW_CPU_HARMONICS_LANES 8

struct lw_cpu_drift;

/* A function that applies an operation of --post to n working samples in place; the outputs are reals if the operation makes reals.
 * @return whether a power that is not zero is below `least` or above `most` */
typedef bool lw_cpu_make_fn(void *y, int64_t n, int width, double least, double most);

struct lw_cpu_kernels {
    size_t real_bytes;
    int safe_exponent;              /* e: magnitudes in [2^-e, 2^e] pass the transforms without overflow or underflow */
    int64_t direct_step;            /* direct() and stencil() may read and write n outputs rounded up to a multiple of this */

    /* ---- stored samples and reals ---- */
    void (*load)(const struct lw_cpu_panel *panel, const void *stored, void *reals);
    /* Round to nearest even and saturate (integers and halves); NaN becomes 0 in integers. Saturated reals, and NaN that became 0,
     * are counted in *loss. A panel has fewer than 2^31 reals. */
    void (*store)(const struct lw_cpu_panel *panel, const void *reals, void *stored, struct lw_loss *loss);
    /* Transpose working samples of `width` reals: out[c][r] = in[r][c]. in_stride and out_stride: reals from row to row. */
    void (*transpose)(const void *in, int64_t in_stride, int64_t rows, int64_t columns, int width, void *out, int64_t out_stride);
    /* widen: the last n of 2 n reals become n complex numbers. narrow: the real parts of n complex numbers become the first n. */
    void (*widen)(void *x, int64_t n);
    void (*narrow)(void *x, int64_t n);

    /* ---- range ---- */
    double (*largest)(const void *x, int64_t n);                /* largest magnitude; infinity if a real is not finite */
    void (*repair)(struct lw_cpu_repair *repair, void *x);      /* replace samples that are not finite by zero */
    void (*blank)(void *y, const uint8_t *touched, int64_t n, int width);   /* set the outputs that repair() marked to NaN */
    void (*fill)(void *x, int64_t n, double value);
    void (*scale)(void *x, int64_t n, int exponent);            /* x *= 2^exponent */

    /* ---- arithmetic ---- */
    void (*direct)(const struct lw_cpu_terms *terms, const void *x, void *y, int64_t n);
    /* Compute LW_CPU_STENCIL_ROWS rows of n outputs, `stride` reals apart; LW_ALIGNMENT divides the stride's bytes. */
    void (*stencil)(const struct lw_cpu_stencil *stencil, const void *x, int64_t n, void *y, int64_t stride);
    void (*quarter_turn)(const void *x, void *out, int64_t n);  /* out = i x, n complex numbers */
    void (*mirror)(const struct lw_cpu_fft *fft, const void *z, void *r);   /* bin k of r = conj(bin n - k of z) */
    void (*round_reals)(const double *in, void *out, int64_t n);

    /* ---- sums of channels: see signal/beams.h ---- */
    void (*add_rows)(enum lw_cpu_sum kind, const struct lw_cpu_rows *rows, int64_t n, void *out);
    /* Turn stored integers of 8 or 16 bits: out[c][r] = stored[r][c], in this machine's byte order. Unsigned ones become signed,
     * less half their range. stride: integers from row to row of `out`. */
    void (*turn_integers)(const struct lw_cpu_panel *panel, const void *stored, void *out, int64_t stride);

    /* ---- operations of --post: see signal/post.h ---- */
    lw_cpu_make_fn *const *make;                                /* [LW_POST_KINDS] */
    /* Make the first n_phases outputs of each of n samples y; neighbours within LW_POST_REACH may be read. `out` overlaps none. */
    void (*interpolate)(const struct lw_cpu_phases *phases, const void *y, int64_t n, int n_phases, int width, void *out);
    /* Set `sum` to the sum over 0 <= m < n of taps[m] x[n - 1 - m], in double; a tap has `parts` doubles. */
    void (*sum)(const double *taps, int parts, const void *x, int width, int64_t n, double sum[2]);

    /* ---- search in a series: see signal/search.h ---- */
    /* Return the first of the outputs [begin, end) whose magnitude is `least` > 0 or more, or a few roundings less; `end`: none. */
    int64_t (*next_crossing)(const void *y, int64_t begin, int64_t end, int width, double least);
    /* Let n outputs of a filter replace those best outputs whose strength is smaller. Strength orders like |y| * weight, or with a
     * sign like y * weight or -y * weight; 0 < weight <= 1. */
    void (*keep_best)(const void *y, int64_t n, int width, enum lw_sign sign, double weight, int32_t filter,
                      const struct lw_cpu_best *best);
    /* Set the sums of a cell from n outputs; the caller has set its exponent. */
    void (*measure)(const void *y, int64_t n, int width, struct lw_cpu_cell *cell);

    /* ---- normalized outputs: see signal/array.h; samples and energies are doubles ---- */
    /* Add the sums of squares of n windows to energies[n]. x: n + n_taps - 1 samples; scratch: [4 x n_taps]. */
    void (*energies)(const struct lw_cpu_windows *windows, const double *x, double *scratch, double *energies);
    /* out = 1 / sqrt(energy); 0 at `least` and below */
    void (*invert_roots)(const double *energies, int64_t n, double least, void *out);
    void (*gain)(void *y, const void *gains, int64_t n, int width);     /* y *= gains, one real for a working sample */
    /* sum += weight * (y * gains), anywhere in memory; gains NULL: 1 */
    void (*add_weighted)(void *sum, const void *y, const void *gains, double weight, int64_t n, int width);

    /* ---- transforms, out of place, in work memory of a thread's own; x and spectra have n complex numbers ----
     *
     *     fft_forward, or: fft_multiply -> fft_inverse, or fft_strip for each strip */
    int (*fft_create)(int64_t n, void *in, void *out, struct lw_cpu_fft **fft, struct lw_error *err);
    void (*fft_destroy)(struct lw_cpu_fft *fft);                /* accepts NULL */
    int64_t (*fft_bytes)(int64_t n);                            /* bytes of a transform's tables; FFTW's are estimated */
    struct lw_cpu_fft (*fft_shape)(int64_t n);
    void (*fft_forward)(const struct lw_cpu_fft *fft, const void *x, void *spectrum, void *work);
    /* sum += factor * (h z) or, with r, factor * (h z + b r), where b[n] follows h[n]. */
    void (*fft_add)(const struct lw_cpu_fft *fft, const void *h, const void *z, const void *r, double factor, void *sum);
    /* Begin the inverse transform of h z or, with r, of h z + b r. h NULL: of z. */
    void (*fft_multiply)(const struct lw_cpu_fft *fft, const void *h, const void *z, const void *r, void *work);
    /* End it: all points, or those of a strip of columns. Point j of row i of strip s is point i * columns + s * strip + j of x. */
    void (*fft_inverse)(const struct lw_cpu_fft *fft, void *work, void *x);
    const void *(*fft_strip)(const struct lw_cpu_fft *fft, void *work, int64_t strip);

    /* ---- powers of drifting signals, see accel/accel.h: transforms of n = 2^m >= 256 points, short enough for the near caches;
     * spectra are in an order of their own, work is [drift_work] reals ---- */
    int (*drift_create)(int64_t n, struct lw_cpu_drift **out, struct lw_error *err);
    void (*drift_destroy)(struct lw_cpu_drift *drift);          /* accepts NULL */
    int64_t (*drift_bytes)(int64_t n);
    int64_t (*drift_work)(int64_t n);
    void (*drift_forward)(const struct lw_cpu_drift *drift, const void *x, void *spectrum, void *work);
    /* Make the levels of the powers of two convolutions, of the spectrum z with h[0 .. n - 1] and h[n .. 2 n - 1], in turn. With
     * is_conjugate, the conjugates of h count, and the second convolution comes a point earlier: levels[-1] is written, too. */
    void (*drift_powers)(const struct lw_cpu_drift *drift, const void *h, const void *z, bool is_conjugate, uint16_t *levels,
                         void *work);
    /* Add harmonics and keep the largest sums. rows[i]: levels at the harmonic 1, 1/2, 1/4, 3/4, 1/8, .. 7/8, 1/16, .. 15/16 of the
     * points, of which the first is a multiple of 16; largest: [n_stages][n_cells][LW_CPU_HARMONICS_LANES] sums of levels as
     * floats; lane l has the points l and l + LW_CPU_HARMONICS_LANES of a cell. All instruction sets give the same bits. */
    void (*add_harmonics)(const uint16_t *const *rows, int n_stages, int64_t n_cells, float *largest);

    /* ---- tiles, unscaled; buffers: row[columns] (two tiles: [2 x columns]), points[rows * pitch] (the tile),
     * strip[rows * shape.strip] ---- */
    struct lw_cpu_fft2d (*fft2d_shape)(int64_t rows, int64_t columns, enum lw_cpu_fft2d_rows kind);
    int (*fft2d_create)(const struct lw_cpu_fft2d *shape, void *row, void *points, void *strip, struct lw_cpu_fft2d **tile,
                        struct lw_error *err);
    void (*fft2d_destroy)(struct lw_cpu_fft2d *tile);           /* accepts NULL */
    void (*fft2d_row_forward)(const struct lw_cpu_fft2d *tile, void *row, void *tile_row);
    void (*fft2d_row_inverse)(const struct lw_cpu_fft2d *tile, void *tile_row, void *row);
    /* Transform the bins [begin, end) of all rows along the columns, multiply by the spectrum, and transform back. Both are
     * multiples of `strip`. */
    void (*fft2d_columns)(const struct lw_cpu_fft2d *tile, const void *spectrum, void *points, void *strip, int64_t begin,
                          int64_t end);
    /* The same in two steps, for several spectra: transform into `kept`, laid out like a spectrum; multiply and transform back. */
    void (*fft2d_forward)(const struct lw_cpu_fft2d *tile, void *points, void *kept, int64_t begin, int64_t end);
    void (*fft2d_product)(const struct lw_cpu_fft2d *tile, const void *spectrum, const void *kept, void *points, void *strip,
                          int64_t begin, int64_t end);
    void (*pack)(const void *re, const void *im, void *z, int64_t n);       /* z = re + i im */
    void (*unpack)(const void *z, void *re, void *im, int64_t n);
    void (*subtract)(void *x, const float *values, int64_t n, int width);   /* x -= values, in the real parts */
    void (*weigh)(void *y, const double *weights, int64_t n, int width);    /* multiply n working samples by their weights */

    /* ---- pixels x and their weights ---- */
    /* Make v of sigma or of the weight: 1 / sigma, or the weight; 0 where the pixel has none (engine/engine.h). Return how many. */
    int64_t (*take_weights)(const void *x, void *v, int64_t n, bool is_sigma);
    void (*mark_weights)(const void *v, uint8_t *map, int64_t n);           /* map = v > 0 */
    /* Turn x and v into the weighted pixel and its weight, for a sigma in units of 2^-exponent and x in the same unit. Add their
     * squares to two sums. Pixels out of range become 0. Return how many weights are above 0 and below 2^-6. */
    int64_t (*weigh_pixels)(void *x, void *v, int64_t n, bool is_sigma, int exponent, double squares[2]);
    bool (*divide_by_root)(void *a, const void *b, int64_t n, double least);        /* a /= sqrt(b); whether a b is below `least` */
    /* Set two sums over rows x columns pixels: of taps[] x and of taps[]^2 v. stride: reals from row to row. */
    void (*weighted_sum)(const double *taps, int64_t rows, int64_t columns, const void *x, const void *v, int64_t stride,
                         double sums[2]);
};

/* Return samples of a stored type as a panel: a complex sample is two scalars. */
static inline struct lw_cpu_panel lw_cpu_panel_of(struct lw_type type, int64_t rows, int64_t samples)
{
    const int64_t columns = samples * (type.is_complex ? 2 : 1);
    return (struct lw_cpu_panel){.scalar = type.scalar, .is_swapped = type.is_swapped, .rows = rows, .columns = columns};
}

/* Return outputs of an operation as a panel. */
static inline struct lw_cpu_panel lw_cpu_output_panel(const struct lw_op_spec *spec, int64_t rows, int64_t samples)
{
    struct lw_cpu_panel panel = lw_cpu_panel_of(spec->output, rows, samples);
    panel.factor = lw_op_output_factor(spec);
    return panel;
}

/* Load a panel as working samples; `widens` makes each real a complex number. */
static inline void lw_cpu_load(const struct lw_cpu_kernels *kernels, const struct lw_cpu_panel *panel, bool widens,
                               const void *stored, void *to)
{
    const int64_t n = panel->rows * panel->columns;
    kernels->load(panel, stored, widens ? (char *)to + (size_t)n * kernels->real_bytes : to);
    if (widens)
        kernels->widen(to, n);
}

/* Prefetch memory that is soon read or overwritten: the cache loads it during other work. */
static inline void lw_cpu_fetch(const void *memory, int64_t bytes)
{
    for (int64_t at = 0; at < bytes; at += LW_ALIGNMENT)
        __builtin_prefetch((const char *)memory + at);
}
