/* long.c - complex transforms of powers of two that leave the near caches. Compiled per precision and instruction set.
 *
 * A transform of n = R C points is composed of short ones (Gentleman and Sande 1966). These are Bailey's four steps without the
 * final transposition: a convolution does not need the bins in order.
 *
 *     X[k1 + R k2] = sum_j2  w_C^(j2 k2)  { w_n^(j2 k1)  sum_j1 w_R^(j1 k1) x[j1 C + j2] },    w_n = exp(-2 pi i / n)
 *
 * The steps are R-point transforms over the columns, a twiddle factor on each point, and C-point transforms over the rows. Each
 * step takes what fits the near caches and finishes it, so that memory is passed over twice:
 * - Columns go in strips of whole cache lines. A vector of columns is gathered, transformed and put down with its twiddle factors;
 *   these are products of a factor of its row and first column and a vector of factors of its row.
 * - A row of C = R' V points, V the lanes of a vector, is itself a matrix: R'-point transforms over its columns, which lie in
 *   lanes, and after a transposition in registers V-point transforms.
 *
 * Between the steps rows lie `pitch` apart, no power of two: the elements of a column would share few cache sets. */
#include "cpu/kernels/long.h"

#include "base/integers.h"
#include "cpu/kernels/passes.h"

/* Least length made here, and the lengths from which rows are longer. Both caches hold a row, the nearer its first half. */
#define LEAST 8192
#define SHORT_ROW 512
#define MIDDLE_ROW 1024
#define LONG_ROW 2048
#define MIDDLE 16384
#define LONG (1 << 19)

/* Most points of a column: a strip of such columns stays in the second cache. */
#define MOST_ROWS 512

/* Bytes of a row of a strip: of eight cache lines, which lie together in memory, all are written. */
#define STRIP_BYTES 512

/* Reals between the vectors of columns of a strip, in addition to their length: two cache lines. */
#define STRIP_PADDING (2 * LW_ALIGNMENT / (int64_t)sizeof(real))

struct lw_cpu_long {
    struct lw_cpu_fft shape;
    int64_t pitch;                      /* complex numbers from row to row of the work memory */
    struct passes columns, row;
    real *fine, *coarse;                /* twiddle factors: [rows] split vectors, of the first columns; [columns / LANES][rows] */
    real *row_twiddles;                 /* [columns / LANES] split vectors */
    real *tables[2];                    /* twiddle factors of the passes */
    int64_t *orders[2];
};

bool KERNEL(lw_long_takes)(int64_t n) { return n >= LEAST && (n & (n - 1)) == 0; }

static int64_t pitch_of(int64_t columns) { return columns + 2 * LW_ALIGNMENT / (2 * (int64_t)sizeof(real)); }

enum { STRIP = STRIP_BYTES / (2 * sizeof(real)), VECTORS = STRIP / LANES };

/* Reals of the vectors of columns of a strip, each in turn. */
static int64_t vector_reals(int64_t rows) { return rows * 2 * LANES + STRIP_PADDING; }

struct lw_cpu_fft KERNEL(lw_long_shape)(int64_t n)
{
    int64_t columns = n < MIDDLE ? SHORT_ROW : n < LONG ? MIDDLE_ROW : LONG_ROW;
    while (n / columns > MOST_ROWS)
        columns *= 2;
    const int64_t rows = n / columns, scratch = lw_max64(VECTORS * vector_reals(rows), 6 * columns + 2 * STRIP_PADDING);
    return (struct lw_cpu_fft){.n = n, .rows = rows, .columns = columns, .strip = STRIP,
                               .work = rows * (pitch_of(columns) + STRIP) + scratch / 2};
}

/* ---- tables -------------------------------------------------------------------------------------------------------- */

static void fill_coarse(const struct lw_cpu_fft *shape, real *to)
{
    for (int64_t v = 0; v < shape->columns / LANES; v++)
        for (int64_t k = 0; k < shape->rows; k++)
            root(shape->n, v * LANES * k, &to[2 * (v * shape->rows + k)], 1);
}

int64_t KERNEL(lw_long_bytes)(int64_t n)
{
    const struct lw_cpu_fft shape = KERNEL(lw_long_shape)(n);
    const int64_t vectors = shape.columns / LANES;
    const int64_t reals = 2 * LANES * (shape.rows + vectors) + 2 * vectors * shape.rows + twiddle_reals(shape.rows) +
                          twiddle_reals(vectors);
    return (int64_t)sizeof(struct lw_cpu_long) + reals * (int64_t)sizeof(real) + (shape.rows + vectors) * (int64_t)sizeof(int64_t);
}

int KERNEL(lw_long_create)(int64_t n, struct lw_cpu_long **out, struct lw_error *err)
{
    struct lw_cpu_long *const fft = lw_alloc(sizeof *fft, "an FFT plan", err);
    if (!fft)
        return LW_ESYSTEM;
    const char *const what = "the FFT's twiddle factors";
    fft->shape = KERNEL(lw_long_shape)(n);
    fft->pitch = pitch_of(fft->shape.columns);
    const int64_t sizes[2] = {fft->shape.rows, fft->shape.columns / LANES};
    fft->fine = lw_alloc_array(sizes[0] * 2 * LANES, sizeof(real), what, err);
    fft->row_twiddles = lw_alloc_array(sizes[1] * 2 * LANES, sizeof(real), what, err);
    fft->coarse = lw_alloc_array(sizes[0] * sizes[1] * 2, sizeof(real), what, err);
    bool is_allocated = fft->fine && fft->row_twiddles && fft->coarse;
    for (int i = 0; i < 2; i++) {
        fft->tables[i] = lw_alloc_array(twiddle_reals(sizes[i]), sizeof(real), what, err);
        fft->orders[i] = lw_alloc_array(sizes[i], sizeof(int64_t), what, err);
        is_allocated = is_allocated && fft->tables[i] && fft->orders[i];
    }
    if (!is_allocated) {
        KERNEL(lw_long_destroy)(fft);
        return LW_ESYSTEM;
    }
    fill_vectors(n, sizes[0], fft->fine);
    fill_vectors(fft->shape.columns, sizes[1], fft->row_twiddles);
    fill_coarse(&fft->shape, fft->coarse);
    fill_passes(sizes[0], fft->tables[0], fft->orders[0], &fft->columns);
    fill_passes(sizes[1], fft->tables[1], fft->orders[1], &fft->row);
    *out = fft;
    return LW_OK;
}

void KERNEL(lw_long_destroy)(struct lw_cpu_long *fft)
{
    if (!fft)
        return;
    lw_free(fft->fine);
    lw_free(fft->coarse);
    lw_free(fft->row_twiddles);
    for (int i = 0; i < 2; i++) {
        lw_free(fft->tables[i]);
        lw_free(fft->orders[i]);
    }
    lw_free(fft);
}

/* ---- rows ---------------------------------------------------------------------------------------------------------- */

/* Memory that the next row needs, far away: the caches load it during the arithmetic of a row. NULL: nothing */
struct ahead {
    const real *h, *b;
};

INLINED void fetch(const real *reals)
{
    if (reals)
        lw_cpu_fetch(reals, LANES * 2 * VECTOR_BYTES);
}

/* Transform a row, with `kind` at both ends. */
INLINED void transform_row(const struct lw_cpu_long *fft, enum end kind, const real *x, real *y, const struct ahead *ahead,
                           real *scratch)
{
    const struct passes *const row = &fft->row;
    real *const between = scratch + 2 * fft->shape.columns + STRIP_PADDING;
    start(row, kind, &(struct ends){.x = x, .x_stride = 2 * LANES}, scratch);
    finish_all(row, SPLIT, (struct ends){.y = between, .y_stride = 2 * LANES, .fine = fft->row_twiddles}, 1, scratch, 0);
    for (int64_t k = 0; k < row->size; k += LANES) {
        fetch(ahead->h ? ahead->h + k * 2 * LANES : NULL);
        fetch(ahead->b ? ahead->b + k * 2 * LANES : NULL);
        transform_lanes(between + k * 2 * LANES, kind, &(struct ends){.y = y + 2 * k, .y_stride = 2 * row->size});
    }
}

/* ---- columns ------------------------------------------------------------------------------------------------------- */
static real *strip_of(const struct lw_cpu_long *fft, real *work) { return work + 2 * fft->shape.rows * fft->pitch; }

static real *scratch_of(const struct lw_cpu_long *fft, real *work) { return strip_of(fft, work) + 2 * fft->shape.rows * STRIP; }

void KERNEL(lw_long_forward)(const struct lw_cpu_long *fft, const real *x, real *spectrum, real *work)
{
    const int64_t rows = fft->shape.rows, columns = fft->shape.columns;
    real *const scratch = scratch_of(fft, work);
    for (int64_t v = 0; v < columns / LANES; v++) {
        const struct ends e = {
            .x = x + v * 2 * LANES, .y = work + v * 2 * LANES, .x_stride = 2 * columns, .y_stride = 2 * fft->pitch,
            .fine = fft->fine, .coarse = fft->coarse + 2 * v * rows,
        };
        start(&fft->columns, PLAIN, &e, scratch);
        finish_all(&fft->columns, TWIDDLED, e, 1, scratch, 0);
    }
    for (int64_t row = 0; row < rows; row++)
        transform_row(fft, PLAIN, work + 2 * row * fft->pitch, spectrum + 2 * row * columns, &(struct ahead){0}, scratch);
}

/* The product of a row is made before its transform. The transform itself would ask for the filter's spectrum in an order that far
 * memory, where a large bank lies, serves at a third of its rate. */
void KERNEL(lw_long_multiply)(const struct lw_cpu_long *fft, const real *h, const real *z, const real *r, real *work)
{
    const int64_t rows = fft->shape.rows, columns = fft->shape.columns;
    real *const scratch = scratch_of(fft, work), *const product = scratch + 4 * columns + 2 * STRIP_PADDING;
    for (int64_t row = 0; row < rows; row++) {
        const int64_t at = 2 * row * columns, next = at + 2 * columns;
        const real *const b = h ? h + 2 * fft->shape.n : NULL;
        const struct ahead ahead = {h ? h + next : NULL, r ? b + next : NULL};
        if (r)
            KERNEL(lw_multiply_packed)(h + at, b + at, z + at, r + at, product, columns);
        else if (h)
            KERNEL(lw_multiply)(h + at, z + at, product, columns);
        transform_row(fft, EXCHANGED, h ? product : z + at, work + 2 * row * fft->pitch, &ahead, scratch);
    }
}

/* Transform the columns of a strip. y_stride: reals from row to row of y */
static void inverse_strip(const struct lw_cpu_long *fft, real *work, int64_t strip, real *y, int64_t y_stride)
{
    const int64_t rows = fft->shape.rows, distance = vector_reals(rows);
    real *const scratch = scratch_of(fft, work);
    for (int64_t v = 0; v < VECTORS; v++) {
        const int64_t at = strip * VECTORS + v;
        const struct ends e = {.x = work + at * 2 * LANES, .x_stride = 2 * fft->pitch, .fine = fft->fine,
                               .coarse = fft->coarse + 2 * at * rows};
        start(&fft->columns, EXCHANGED_TWIDDLED, &e, scratch + v * distance);
    }
    const struct ends e = {.y = y, .y_stride = y_stride};
    finish_all(&fft->columns, EXCHANGED, e, VECTORS, scratch, distance);
}

void KERNEL(lw_long_inverse)(const struct lw_cpu_long *fft, real *work, real *x)
{
    for (int64_t strip = 0; strip < fft->shape.columns / STRIP; strip++)
        inverse_strip(fft, work, strip, x + strip * 2 * STRIP, 2 * fft->shape.columns);
}

const real *KERNEL(lw_long_strip)(const struct lw_cpu_long *fft, real *work, int64_t strip)
{
    inverse_strip(fft, work, strip, strip_of(fft, work), 2 * STRIP);
    return strip_of(fft, work);
}
