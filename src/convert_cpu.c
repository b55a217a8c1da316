/* convert_cpu.c - stored samples to reals and back, and transposition. Compiled per precision and instruction set. */
#include "real_cpu.h"

#include <math.h>
#include <string.h>

/* Scalars whose bytes are swapped at a time, on the stack. */
#define STAGE 512

typedef void (*load_fn)(const void *stored, real *restrict out, int64_t n);
typedef void (*store_fn)(const real *restrict in, void *stored, int64_t n);

static inline real nearest_real(real x) { return REAL_MATH(rint)(x); }
static inline double nearest_double(double x) { return rint(x); }

/* ---- one contiguous run --------------------------------------------------------------------------------------------- */
#define X(name, type, text)                                                     \
    static void load_##name(const void *stored, real *restrict out, int64_t n)  \
    {                                                                           \
        const type *const restrict in = stored;                                 \
        for (int64_t i = 0; i < n; i++)                                         \
            out[i] = (real)in[i];                                               \
    }
LW_SCALARS(X)
#undef X

/* name, type, the type in which its limits are exact, limits */
#define INTEGERS(X)                                     \
    X(LW_INT8, int8_t, real, INT8_MIN, INT8_MAX)        \
    X(LW_UINT8, uint8_t, real, 0, UINT8_MAX)            \
    X(LW_INT16, int16_t, real, INT16_MIN, INT16_MAX)    \
    X(LW_UINT16, uint16_t, real, 0, UINT16_MAX)         \
    X(LW_INT32, int32_t, double, INT32_MIN, INT32_MAX)

#define X(name, type, wide, low, high)                                          \
    static void store_##name(const real *restrict in, void *stored, int64_t n)  \
    {                                                                           \
        type *const restrict out = stored;                                      \
        for (int64_t i = 0; i < n; i++) {                                       \
            const wide number = in[i] == in[i] ? (wide)in[i] : 0;               \
            const wide raised = number < (wide)(low) ? (wide)(low) : number;    \
            const wide inside = raised > (wide)(high) ? (wide)(high) : raised;  \
            out[i] = (type)(int32_t)nearest_##wide(inside);                     \
        }                                                                       \
    }
INTEGERS(X)
#undef X

#define X(name, type)                                                           \
    static void store_##name(const real *restrict in, void *stored, int64_t n)  \
    {                                                                           \
        type *const restrict out = stored;                                      \
        for (int64_t i = 0; i < n; i++)                                         \
            out[i] = (type)in[i];                                               \
    }
X(LW_FLOAT32, float)
X(LW_FLOAT64, double)
#undef X

static const load_fn loaders[LW_N_SCALARS] = {
#define X(name, type, text) [name] = load_##name,
    LW_SCALARS(X)
#undef X
};

static const store_fn stores[LW_N_SCALARS] = {
#define X(name, type, text) [name] = store_##name,
    LW_SCALARS(X)
#undef X
};

/* ---- the other byte order ------------------------------------------------------------------------------------------- */
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

static void load_swapped(load_fn load, size_t bytes, const char *stored, real *restrict out, int64_t n)
{
    uint64_t stage[STAGE];
    for (int64_t i = 0; i < n; i += STAGE) {
        const int64_t count = n - i < STAGE ? n - i : STAGE;
        swap(bytes, stored + (size_t)i * bytes, stage, count);
        load(stage, out + i, count);
    }
}

static void store_swapped(store_fn store, size_t bytes, const real *restrict in, char *stored, int64_t n)
{
    uint64_t stage[STAGE];
    for (int64_t i = 0; i < n; i += STAGE) {
        const int64_t count = n - i < STAGE ? n - i : STAGE;
        store(in + i, stage, count);
        swap(bytes, stage, stored + (size_t)i * bytes, count);
    }
}

/* ---- panels --------------------------------------------------------------------------------------------------------- */
void KERNEL(lw_load)(const struct lw_panel_cpu *panel, const void *stored, void *reals)
{
    const load_fn load = loaders[panel->scalar];
    const size_t bytes = lw_scalar_bytes(panel->scalar);
    for (int64_t row = 0; row < panel->rows; row++) {
        const char *const from = (const char *)stored + row * panel->stored_stride;
        real *const to = (real *)reals + row * panel->real_stride;
        if (panel->is_swapped)
            load_swapped(load, bytes, from, to, panel->columns);
        else
            load(from, to, panel->columns);
    }
}

void KERNEL(lw_store)(const struct lw_panel_cpu *panel, const void *reals, void *stored)
{
    const store_fn store = stores[panel->scalar];
    const size_t bytes = lw_scalar_bytes(panel->scalar);
    for (int64_t row = 0; row < panel->rows; row++) {
        const real *const from = (const real *)reals + row * panel->real_stride;
        char *const to = (char *)stored + row * panel->stored_stride;
        if (panel->is_swapped)
            store_swapped(store, bytes, from, to, panel->columns);
        else
            store(from, to, panel->columns);
    }
}

/* ---- transposition: blocks of SIDE x SIDE stay in registers or at least in the nearest cache --------------------------- */
#define SIDE 8

typedef struct {
    real re, im;
} pair;

#define X(name, type)                                                                                               \
    static void transpose_##name(const type *restrict in, int64_t in_stride, int64_t rows, int64_t columns,         \
                                 type *restrict out, int64_t out_stride)                                            \
    {                                                                                                               \
        for (int64_t r = 0; r < rows; r += SIDE) {                                                                  \
            const int64_t r_end = r + SIDE < rows ? r + SIDE : rows;                                                \
            for (int64_t c = 0; c < columns; c++)                                                                   \
                for (int64_t i = r; i < r_end; i++)                                                                 \
                    out[c * out_stride + i] = in[i * in_stride + c];                                                \
        }                                                                                                           \
    }
X(real, real)
X(pair, pair)
#undef X

void KERNEL(lw_transpose)(const void *in, int64_t in_stride, int64_t rows, int64_t columns, int width, void *out,
                          int64_t out_stride)
{
    if (width == 1)
        transpose_real(in, in_stride, rows, columns, out, out_stride);
    else
        transpose_pair(in, in_stride / 2, rows, columns, out, out_stride / 2);
}
