/* Lengths, look-ahead and the index map, against the definition written out. */
#include "../check.h"
#include "signal/convolution.h"

#include <stdint.h>

/* x continued by writing copies side by side: position i of ... | x | x | x ... or of ... | x | reversed x | x | ... */
static int64_t walk(enum lw_boundary boundary, int64_t i, int64_t n)
{
    if (boundary == LW_BOUNDARY_EDGE)
        return i < 0 ? 0 : i >= n ? n - 1 : i;
    if (boundary == LW_BOUNDARY_ZERO)
        return i < 0 || i >= n ? -1 : i;
    int64_t copy = 0;
    while (i < 0) { i += n; copy--; }
    while (i >= n) { i -= n; copy++; }
    return boundary == LW_BOUNDARY_REFLECT && copy % 2 != 0 ? n - 1 - i : i;
}

int main(void)
{
    for (int boundary = LW_BOUNDARY_ZERO; boundary <= LW_BOUNDARY_REFLECT; boundary++)
        for (int64_t n = 1; n < 9; n++)
            for (int64_t i = -40; i < 50; i++)
                CHECK(lw_boundary_index((enum lw_boundary)boundary, i, n) == walk((enum lw_boundary)boundary, i, n),
                      "%s: position %d of %d", lw_boundary_text((enum lw_boundary)boundary), (int)i, (int)n);

    for (int64_t n = 1; n < 20; n++) {
        for (int64_t taps = 1; taps < 30; taps++) {
            CHECK(lw_mode_length(LW_MODE_FULL, n, taps) == n + taps - 1, "full %d %d", (int)n, (int)taps);
            CHECK(lw_mode_length(LW_MODE_SAME, n, taps) == n, "same %d %d", (int)n, (int)taps);
            CHECK(lw_mode_length(LW_MODE_VALID, n, taps) == n - taps + 1, "valid %d %d", (int)n, (int)taps);
            CHECK(lw_mode_look_ahead(LW_MODE_SAME, taps) == (taps - 1) / 2, "same looks ahead %d", (int)taps);
            /* every mode ends inside the full convolution */
            for (int mode = LW_MODE_FULL; mode <= LW_MODE_VALID; mode++)
                CHECK(lw_mode_look_ahead((enum lw_mode)mode, taps) + lw_mode_length((enum lw_mode)mode, n, taps)
                          <= n + taps - 1, "mode %d leaves the full convolution", mode);
        }
    }
    const int64_t big = INT64_C(1) << 61;
    CHECK(lw_boundary_index(LW_BOUNDARY_REFLECT, big, big) == big - 1, "no overflow at 2^61");
    return check_result("convolution");
}
