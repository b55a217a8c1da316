/* kernels.h - the inner loops of the cpu engine, one table per precision and instruction set.
 *
 * A "real" is a float or a double, by the table's precision. A working sample is `width` reals: 1 in real arithmetic, 2 (re, im) in
 * complex arithmetic. Buffers of reals start at multiples of LW_ALIGNMENT unless said otherwise: FFTW's plans and the loops'
 * results must not depend on where a buffer lies. No function allocates unless it is called create. */
#pragma once

#include "base/error.h"
#include "base/memory.h"
#include "base/type.h"
#include "engine/engine.h"

#include <stdbool.h>
#include <stdint.h>

/* A panel: rows x columns scalars as stored, and the same as reals, packed. More than one row may hold 512 scalars each. */
struct lw_cpu_panel {
    enum lw_scalar scalar;
    bool is_swapped;
    int64_t rows, columns;
    int64_t stored_stride;          /* bytes between the rows as stored */
    bool squares;                   /* store, float64: the square of each real */
    double factor;                  /* store, types that saturate: of each real, before it is rounded */
};

/* Samples of one channel of a segment that are not finite, and the outputs that their taps touch: output o is made of
 * the samples o .. o + n_taps - 1. The first `halo` samples are the segment's halo, the others its own. */
struct lw_cpu_repair {
    int width;
    int64_t n_taps, halo, n_samples, n_outputs;
    uint8_t *touched;               /* [n_outputs], set to 0 or 1 */
    int64_t n_own, first_own;       /* result: how many own samples were not finite, and the first, counted from 0 */
};

/* Complex transforms of length n, unscaled. The spectrum comes in the order that is fastest to make: bin k1 + rows * k2
 * stands at k1 * columns + k2. Short transforms have one row: natural order. */
struct lw_cpu_fft {
    int64_t n, rows, columns;       /* rows * columns = n */
};

/* A tile of rows x columns complex numbers, `pitch` from row to row. `columns` is a multiple of `strip`, and its
 * spectrum stands in strips: bin (k, l) at ((l / strip) * rows + k) * strip + l % strip. */
struct lw_cpu_fft2d {
    int64_t rows, columns, pitch, strip;
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
    int64_t stride, step;           /* reals from row to row and from pixel to pixel of x */
};

/* Rows of outputs that stencil() makes at a time. */
#define LW_CPU_STENCIL_ROWS 4

/* Interpolation at one place of the axis, see struct lw_post_weights: output rate i + r is the sum of
 * weights[k * rate + r] * y[i + k - LW_POST_REACH] over begin[r > 0] <= k < end[r > 0]. */
struct lw_cpu_phases {
    int rate;
    int begin[2], end[2];
    const void *weights;            /* [LW_POST_SPAN x rate] reals */
};

/* The strongest outputs so far of a channel, see signal/search.h: working samples, what they are compared by, and their filters. */
struct lw_cpu_best {
    void *values;
    double *strengths;
    int32_t *filters;
};

/* Sums over outputs that lie side by side. Squares are those of y / 2^exponent, NaN where an output is. */
struct lw_cpu_cell {
    int exponent;
    double largest, squares;        /* the largest of the squares, NaN aside, and their sum */
    double re, im;                  /* of y */
};

/* Make an operation's outputs of n working samples, in place, reals where it makes reals. @return whether a power that is not
 * zero is below `least` or above `most` */
typedef bool lw_cpu_make_fn(void *y, int64_t n, int width, double least, double most);

struct lw_cpu_kernels {
    size_t real_bytes;
    int safe_exponent;              /* magnitudes in [2^-safe, 2^safe] pass the transforms without over- or underflow */
    int64_t direct_step;            /* direct() and stencil() write n rounded up to a multiple of this, or less, and read as far */

    /* ---- stored samples and reals ---- */
    void (*load)(const struct lw_cpu_panel *panel, const void *stored, void *reals);
    /* Integers and halves: rounded to nearest even, saturated; NaN becomes 0 in integers. How many of them is added to *loss.
     * Less than 2^31. */
    void (*store)(const struct lw_cpu_panel *panel, const void *reals, void *stored, struct lw_loss *loss);
    /* out[c][r] = in[r][c]: working samples of `width` reals; strides in reals between the rows of each. */
    void (*transpose)(const void *in, int64_t in_stride, int64_t rows, int64_t columns, int width, void *out, int64_t out_stride);
    /* n reals that stand at x + n become n complex numbers at x; and back: the real parts of n to the front. */
    void (*widen)(void *x, int64_t n);
    void (*narrow)(void *x, int64_t n);

    /* ---- range ---- */
    double (*largest)(const void *x, int64_t n);                /* magnitude; infinity if any is not finite */
    void (*repair)(struct lw_cpu_repair *repair, void *x);      /* puts zeros where x is not finite */
    void (*blank)(void *y, const uint8_t *touched, int64_t n, int width);   /* puts NaN where an output is touched */
    void (*fill)(void *x, int64_t n, double value);
    void (*scale)(void *x, int64_t n, int exponent);            /* x * 2^exponent */

    /* ---- arithmetic ---- */
    void (*direct)(const struct lw_cpu_terms *terms, const void *x, void *y, int64_t n);
    /* LW_CPU_STENCIL_ROWS rows of n outputs each, `stride` reals apart, a multiple of what LW_ALIGNMENT holds */
    void (*stencil)(const struct lw_cpu_stencil *stencil, const void *x, int64_t n, void *y, int64_t stride);
    void (*quarter_turn)(const void *x, void *out, int64_t n);  /* n complex numbers times i */
    void (*multiply)(const void *h, const void *z, void *w, int64_t n);                     /* w = h z, complex */
    void (*multiply_packed)(const void *a_b, const void *z, const void *r, void *w, int64_t n); /* w = a z + b r */
    void (*mirror)(const struct lw_cpu_fft *fft, const void *z, void *r);   /* bin k of r = conj(bin n - k of z) */
    void (*round_reals)(const double *in, void *out, int64_t n);

    /* ---- what is made of a series: see signal/post.h ---- */
    lw_cpu_make_fn *const *make;                                /* of each kind of operation */
    /* the first n_phases outputs of each of n samples, the first at y; `out` must not overlap them */
    void (*interpolate)(const struct lw_cpu_phases *phases, const void *y, int64_t n, int n_phases, int width, void *out);
    /* sum over m of taps[m] x[n - 1 - m], in double; taps of `parts` doubles */
    void (*sum)(const double *taps, int parts, const void *x, int width, int64_t n, double sum[2]);

    /* ---- what is found in a series: see signal/search.h ---- */
    /* the first of the outputs [begin, end) whose magnitude is at least `least` > 0, or just below it; `end`: there is none */
    int64_t (*next_crossing)(const void *y, int64_t begin, int64_t end, int width, double least);
    /* n outputs of a filter: those take the places of the best so far whose |y| * weight (of a sign: y or -y) is larger;
     * 0 < weight <= 1 */
    void (*keep_best)(const void *y, int64_t n, int width, enum lw_sign sign, double weight, int32_t filter,
                      const struct lw_cpu_best *best);
    /* n outputs, with the exponent that the cell is given with */
    void (*measure)(const void *y, int64_t n, int width, struct lw_cpu_cell *cell);

    /* ---- transforms: out of place; `work` holds n complex reals, only used where there are several rows ---- */
    int (*fft_create)(int64_t n, void *in, void *out, void *work, struct lw_cpu_fft **fft, struct lw_error *err);
    void (*fft_destroy)(struct lw_cpu_fft *fft);                /* NULL is legal */
    int64_t (*fft_bytes)(int64_t n);                            /* of tables, FFTW's own estimated */
    struct lw_cpu_fft (*fft_shape)(int64_t n);
    void (*fft_forward)(const struct lw_cpu_fft *fft, const void *x, void *spectrum, void *work);
    void (*fft_inverse)(const struct lw_cpu_fft *fft, const void *spectrum, void *x, void *work);

    /* ---- tiles, unscaled; `row` and `strip` hold one of each: `columns` and rows * strip complex numbers ---- */
    struct lw_cpu_fft2d (*fft2d_shape)(int64_t rows, int64_t columns);
    int (*fft2d_create)(int64_t rows, int64_t columns, void *row, void *points, void *strip, struct lw_cpu_fft2d **tile,
                        struct lw_error *err);
    void (*fft2d_destroy)(struct lw_cpu_fft2d *tile);           /* NULL is legal */
    void (*fft2d_row_forward)(const struct lw_cpu_fft2d *tile, void *row, void *tile_row);
    void (*fft2d_row_inverse)(const struct lw_cpu_fft2d *tile, void *tile_row, void *row);
    /* Columns forward, times the spectrum, and back. */
    void (*fft2d_columns)(const struct lw_cpu_fft2d *tile, const void *spectrum, void *points, void *strip);
    void (*pack)(const void *re, const void *im, void *z, int64_t n);       /* z = re + i im */
    void (*unpack)(const void *z, void *re, void *im, int64_t n);
    void (*weigh)(void *y, const double *weights, int64_t n, int width);    /* y * weight, of n working samples */
};

/* Samples of a stored type as a panel: a complex one is two scalars. */
static inline struct lw_cpu_panel lw_cpu_panel_of(struct lw_type type, int64_t rows, int64_t samples)
{
    const int64_t columns = samples * (type.is_complex ? 2 : 1);
    return (struct lw_cpu_panel){.scalar = type.scalar, .is_swapped = type.is_swapped, .rows = rows, .columns = columns};
}

/* Outputs of an operation as a panel. */
static inline struct lw_cpu_panel lw_cpu_output_panel(const struct lw_op_spec *spec, int64_t rows, int64_t samples)
{
    struct lw_cpu_panel panel = lw_cpu_panel_of(spec->output, rows, samples);
    panel.factor = lw_op_output_factor(spec);
    return panel;
}

/* A panel to working samples; where it is widened, its reals become complex numbers. */
static inline void lw_cpu_load(const struct lw_cpu_kernels *kernels, const struct lw_cpu_panel *panel, bool widens,
                               const void *stored, void *to)
{
    const int64_t n = panel->rows * panel->columns;
    kernels->load(panel, stored, widens ? (char *)to + (size_t)n * kernels->real_bytes : to);
    if (widens)
        kernels->widen(to, n);
}

/* Ask for memory that is read or overwritten soon: it comes into the cache while something else is worked on. */
static inline void lw_cpu_fetch(const void *memory, int64_t bytes)
{
    for (int64_t at = 0; at < bytes; at += LW_ALIGNMENT)
        __builtin_prefetch((const char *)memory + at);
}
