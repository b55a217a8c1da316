/* convert.c - stored samples to reals and back. Compiled per precision and instruction set. */
#include "cpu/kernels/real.h"

#include <assert.h>

/* Size of a buffer on the stack for swapping or gathering, in 8-byte words. */
#define BUFFER_WORDS 512

typedef void (*load_fn)(const void *stored, real *restrict out, int64_t n);
typedef void (*store_fn)(const real *restrict in, void *stored, int64_t n, double factor, struct lw_loss *loss);

static inline real nearest_real(real x) { return REAL_MATH(rint)(x); }
static inline double nearest_double(double x) { return rint(x); }

/* ---- one contiguous run of scalars ------------------------------------------------------------------------------- */
#define X(name, type, text)                                                     \
    static void load_##name(const void *stored, real *restrict out, int64_t n)  \
    {                                                                           \
        const type *const restrict in = stored;                                 \
        for (int64_t i = 0; i < n; i++)                                         \
            out[i] = (real)in[i];                                               \
    }
LW_SCALARS(X)
#undef X

/* Integer types: name, C type, type that represents the limits exactly, least and largest value. */
#define INTEGERS(X)                                     \
    X(LW_INT8, int8_t, real, INT8_MIN, INT8_MAX)        \
    X(LW_UINT8, uint8_t, real, 0, UINT8_MAX)            \
    X(LW_INT16, int16_t, real, INT16_MIN, INT16_MAX)    \
    X(LW_UINT16, uint16_t, real, 0, UINT16_MAX)         \
    X(LW_INT32, int32_t, double, INT32_MIN, INT32_MAX)

#define X(name, type, wide, low, high)                                                              \
    static void store_##name(const real *restrict in, void *stored, int64_t n, double factor,       \
                             struct lw_loss *loss)                                                  \
    {                                                                                               \
        static_assert(sizeof(type) <= sizeof(int32_t), "wider integers do not fit int32_t below");  \
        type *const restrict out = stored;                                                          \
        const wide by = (wide)factor;                                                               \
        int32_t n_saturated = 0, n_nan = 0;                                                         \
        for (int64_t i = 0; i < n; i++) {                                                           \
            const wide number = nearest_##wide(in[i] == in[i] ? (wide)in[i] * by : 0);              \
            const wide raised = number < (wide)(low) ? (wide)(low) : number;                        \
            const wide inside = raised > (wide)(high) ? (wide)(high) : raised;                      \
            out[i] = (type)(int32_t)inside;                                                         \
            n_saturated += inside != number;                                                        \
            n_nan += in[i] != in[i];                                                                \
        }                                                                                           \
        loss->n_saturated += n_saturated;                                                           \
        loss->n_nan += n_nan;                                                                       \
    }
INTEGERS(X)
#undef X

#define X(name, type)                                                                               \
    static void store_##name(const real *restrict in, void *stored, int64_t n, double factor,       \
                             struct lw_loss *loss)                                                  \
    {                                                                                               \
        type *const restrict out = stored;                                                          \
        (void)factor, (void)loss;                                                                   \
        for (int64_t i = 0; i < n; i++)                                                             \
            out[i] = (type)in[i];                                                                   \
    }
X(LW_FLOAT32, float)
X(LW_FLOAT64, double)
#undef X

/* Halves keep infinities and NaN; only finite numbers saturate. */
static void store_LW_FLOAT16(const real *restrict in, void *stored, int64_t n, double factor, struct lw_loss *loss)
{
    uint16_t *const restrict out = stored;
    int32_t n_saturated = 0;
    for (int64_t i = 0; i < n; i++) {
        const double number = (double)in[i] * factor;
        const uint16_t nearest = lw_half_of_double(number);
        const bool is_beyond = fabs(number) >= LW_HALF_BEYOND && isfinite(in[i]);
        out[i] = is_beyond ? lw_half_largest(nearest) : nearest;
        n_saturated += is_beyond;
    }
    loss->n_saturated += n_saturated;
}

static void store_squares(const real *restrict in, void *stored, int64_t n, double factor, struct lw_loss *loss)
{
    (void)factor, (void)loss;
    double *const restrict out = stored;
    for (int64_t i = 0; i < n; i++)
        out[i] = (double)in[i] * (double)in[i];
}

static const load_fn loaders[LW_N_SCALARS] = {
#define X(name, type, text) [name] = load_##name,
    LW_SCALARS(X)
#undef X
};

static const store_fn stores[LW_N_RESULT_SCALARS] = {
#define X(name, type, text) [name] = store_##name,
    LW_SCALARS(X)
#undef X
    [LW_FLOAT16] = store_LW_FLOAT16,
};

/* ---- the other byte order ---------------------------------------------------------------------------------------- */
#define X(bits)                                                                         \
    static void swap_##bits(const void *from, void *to, int64_t n)                      \
    {                                                                                   \
        const uint##bits##_t *const restrict in = from;                                 \
        uint##bits##_t *const restrict out = to;                                        \
        for (int64_t i = 0; i < n; i++)                                                 \
            out[i] = __builtin_bswap##bits(in[i]);                                      \
    }
X(16)
X(32)
X(64)
#undef X

static void swap(size_t bytes, const void *from, void *to, int64_t n)
{
    switch (bytes) {
    case 2: swap_16(from, to, n); break;
    case 4: swap_32(from, to, n); break;
    case 8: swap_64(from, to, n); break;
    default: memcpy(to, from, (size_t)n);
    }
}

/* ---- panels: rows are first gathered into contiguous runs, because a row may be as short as one cache line ----------- */

/* Copy rows that are from_stride and to_stride bytes apart. Compilers inline memcpy for the usual lengths, which are constants. */
static void copy_rows(const char *from, int64_t from_stride, char *to, int64_t to_stride, int64_t rows, size_t bytes)
{
#define X(size)                                                                 \
    case size:                                                                  \
        for (int64_t row = 0; row < rows; row++)                                \
            memcpy(to + row * to_stride, from + row * from_stride, size);       \
        break;
    switch (bytes) {
        X(16)
        X(32)
        X(64)
        X(128)
    default:
        for (int64_t row = 0; row < rows; row++)
            memcpy(to + row * to_stride, from + row * from_stride, bytes);
    }
#undef X
}

static void load_run(const struct lw_cpu_panel *panel, const char *stored, real *restrict out, int64_t n)
{
    const load_fn load = loaders[panel->scalar];
    const size_t bytes = lw_scalar_bytes(panel->scalar);
    if (!panel->is_swapped) {
        load(stored, out, n);
        return;
    }
    uint64_t buffer[BUFFER_WORDS];
    for (int64_t i = 0; i < n; i += BUFFER_WORDS) {
        const int64_t count = n - i < BUFFER_WORDS ? n - i : BUFFER_WORDS;
        swap(bytes, stored + (size_t)i * bytes, buffer, count);
        load(buffer, out + i, count);
    }
}

static void store_run(const struct lw_cpu_panel *panel, const real *restrict in, char *stored, int64_t n, struct lw_loss *loss)
{
    const store_fn store = panel->squares ? store_squares : stores[panel->scalar];
    const size_t bytes = lw_scalar_bytes(panel->scalar);
    assert(!panel->squares || panel->scalar == LW_FLOAT64);
    if (!panel->is_swapped) {
        store(in, stored, n, panel->factor, loss);
        return;
    }
    uint64_t buffer[BUFFER_WORDS];
    for (int64_t i = 0; i < n; i += BUFFER_WORDS) {
        const int64_t count = n - i < BUFFER_WORDS ? n - i : BUFFER_WORDS;
        store(in + i, buffer, count, panel->factor, loss);
        swap(bytes, buffer, stored + (size_t)i * bytes, count);
    }
}

/* Return the number of rows that BUFFER_WORDS words hold; a panel of one row needs no buffer. */
static int64_t rows_at_a_time(int64_t row_bytes)
{
    const int64_t rows = (int64_t)sizeof(uint64_t) * BUFFER_WORDS / row_bytes;
    assert(rows > 0);
    return rows;
}

void KERNEL(lw_load)(const struct lw_cpu_panel *panel, const void *stored, void *reals)
{
    if (panel->rows == 1) {
        load_run(panel, stored, reals, panel->columns);
        return;
    }
    uint64_t buffer[BUFFER_WORDS];
    const int64_t row_bytes = panel->columns * (int64_t)lw_scalar_bytes(panel->scalar);
    const int64_t step = rows_at_a_time(row_bytes);
    for (int64_t row = 0; row < panel->rows; row += step) {
        const int64_t rows = panel->rows - row < step ? panel->rows - row : step;
        copy_rows((const char *)stored + row * panel->stored_stride, panel->stored_stride, (char *)buffer, row_bytes,
                  rows, (size_t)row_bytes);
        load_run(panel, (const char *)buffer, (real *)reals + row * panel->columns, rows * panel->columns);
    }
}

void KERNEL(lw_store)(const struct lw_cpu_panel *panel, const void *reals, void *stored, struct lw_loss *loss)
{
    if (panel->rows == 1) {
        store_run(panel, reals, stored, panel->columns, loss);
        return;
    }
    uint64_t buffer[BUFFER_WORDS];
    const int64_t row_bytes = panel->columns * (int64_t)lw_scalar_bytes(panel->scalar);
    const int64_t step = rows_at_a_time(row_bytes);
    for (int64_t row = 0; row < panel->rows; row += step) {
        const int64_t rows = panel->rows - row < step ? panel->rows - row : step;
        store_run(panel, (const real *)reals + row * panel->columns, (char *)buffer, rows * panel->columns, loss);
        copy_rows((const char *)buffer, row_bytes, (char *)stored + row * panel->stored_stride, panel->stored_stride,
                  rows, (size_t)row_bytes);
    }
}
