#include "signal/convolution.h"

int64_t lw_mode_length(enum lw_mode mode, int64_t n, int64_t n_taps)
{
    switch (mode) {
    case LW_MODE_FULL: return n + n_taps - 1;
    case LW_MODE_SAME: return n;
    case LW_MODE_VALID: return n - n_taps + 1;
    }
    return 0;
}

int64_t lw_middle_tap(int64_t n_taps) { return (n_taps - 1) / 2; }

int64_t lw_mode_look_ahead(enum lw_mode mode, int64_t n_taps)
{
    switch (mode) {
    case LW_MODE_FULL: return 0;
    case LW_MODE_SAME: return lw_middle_tap(n_taps);
    case LW_MODE_VALID: return n_taps - 1;
    }
    return 0;
}

static int64_t modulo(int64_t i, int64_t n)
{
    const int64_t rest = i % n;
    return rest < 0 ? rest + n : rest;
}

int64_t lw_boundary_index(enum lw_boundary boundary, int64_t i, int64_t n)
{
    if (i >= 0 && i < n)
        return i;
    switch (boundary) {
    case LW_BOUNDARY_ZERO: return -1;
    case LW_BOUNDARY_EDGE: return i < 0 ? 0 : n - 1;
    case LW_BOUNDARY_WRAP: return modulo(i, n);
    case LW_BOUNDARY_REFLECT: {
        const int64_t j = modulo(i, 2 * n);     /* x[0..n-1] then x[n-1..0], with period 2n */
        return j < n ? j : 2 * n - 1 - j;
    }
    }
    return -1;
}

const char *lw_mode_text(enum lw_mode mode)
{
    static const char *const texts[] = {"full", "same", "valid"};
    return texts[mode];
}

const char *lw_boundary_text(enum lw_boundary boundary)
{
    static const char *const texts[] = {"zero", "edge", "wrap", "reflect"};
    return texts[boundary];
}
