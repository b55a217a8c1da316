/* test_convolution.c - tests of output lengths, look-ahead and the index map, against the definition. */
#include "../check.h"
#include "signal/convolution.h"

#include "base/integers.h"

#include <stdint.h>

/* Index of the sample at position i of the continued signal, found by placing copies side by side: ... | x | x | x ... or ... | x
 * | reversed x | x | ... */
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

static int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t source(enum lw_boundary boundary, int64_t position, int64_t n, int64_t begin)
{
    const int64_t at = lw_boundary_index(boundary, position, n);
    return at < 0 ? -1 : at + begin;
}

/* A window's outputs are the outputs of the whole convolution whose times lie in the window, and each tap meets the same sample.
 * An excerpt may have further outputs before and after the window; the same holds for them. */
static void try_window(const struct lw_convolution *whole, int64_t begin, int64_t end)
{
    const struct lw_excerpt part = lw_convolution_excerpt(whole, begin, end);
    const int64_t length = part.end - part.begin;
    bool is_right = part.n_wanted == 0 ? part.n_outputs == 0
                                       : (part.begin >= 0 && part.begin < part.end && part.end <= whole->n_samples &&
                                          part.lead == min(part.first + part.lead, whole->margin) &&
                                          part.n_outputs - part.lead - part.n_wanted ==
                                              min(whole->n_outputs - part.first - part.lead - part.n_wanted, whole->margin));
    for (int64_t o = 0; o < whole->n_outputs; o++) {
        const int64_t time = o + whole->look_ahead - whole->reference;
        const bool is_wanted = (time >= begin || begin == 0) && (time < end || end == whole->n_samples);
        const int64_t place = o - part.first - part.lead;
        is_right = is_right && is_wanted == (place >= 0 && place < part.n_wanted);
    }
    for (int64_t o = 0; o < part.n_outputs && is_right; o++)
        for (int64_t m = 0; m < whole->n_taps; m++)
            is_right = is_right && source(whole->boundary, part.first + o + whole->look_ahead - m, whole->n_samples, 0) ==
                                       source(whole->boundary, o + part.look_ahead - m, length, part.begin);
    CHECK(is_right, "window %d..%d of %d samples, %d taps, ahead %d, reference %d, boundary %s", (int)begin, (int)end,
          (int)whole->n_samples, (int)whole->n_taps, (int)whole->look_ahead, (int)whole->reference,
          lw_boundary_text(whole->boundary));
}

/* @param which selects a mode, a boundary and one of the `taps` reference taps */
static void try_windows(int64_t n, int64_t taps, int64_t which)
{
    const enum lw_mode mode = (enum lw_mode)(which % 3);
    const struct lw_convolution whole = {
        .n_samples = n, .n_outputs = lw_mode_length(mode, n, taps), .n_taps = taps, .look_ahead = lw_mode_look_ahead(mode, taps),
        .reference = which / 12, .boundary = (enum lw_boundary)(which / 3 % 4), .margin = (n + taps + which) % 3 * 2,
    };
    for (int64_t begin = 0; begin < n && whole.n_outputs > 0; begin++)
        for (int64_t end = begin + 1; end <= n; end++)
            try_window(&whole, begin, end);
}

/* Lengths of transforms: large enough, multiples of the unit, with small factors, and not much longer than the shortest of that
 * kind. The paper's rule by examples on both sides of its limits. */
static void test_padded_lengths(void)
{
    static const int64_t paper[][2] = {{1, 16},      {16, 16},     {17, 32},      {800, 1024},    {1024, 1024},
                                       {1025, 1536}, {1536, 1536}, {4102, 4608}, {22383, 22528}, {1 << 20, 1 << 20}};
    for (int64_t unit = 1; unit <= 16; unit *= 2) {
        for (int64_t least = 1; least < 3000; least++) {
            const int64_t n = lw_padded_length(LW_PADDING_SMOOTH, least, unit);
            int64_t shortest = lw_round_up(least, unit);
            while (!lw_has_factors_up_to(7, shortest))
                shortest += unit;
            CHECK(n >= least && n % unit == 0 && lw_has_factors_up_to(7, n) && n <= 1.25 * (double)shortest,
                  "%lld points, unit %lld: %lld", (long long)least, (long long)unit, (long long)n);
        }
    }
    for (size_t i = 0; i < sizeof paper / sizeof *paper; i++)
        CHECK(lw_padded_length(LW_PADDING_PAPER, paper[i][0], 2) == paper[i][1], "%lld points by the paper's rule: %lld",
              (long long)paper[i][0], (long long)lw_padded_length(LW_PADDING_PAPER, paper[i][0], 2));
}

int main(void)
{
    test_padded_lengths();
    for (int64_t n = 1; n < 12; n++)
        for (int64_t taps = 1; taps < 16; taps++)
            for (int64_t which = 0; which < 12 * taps; which++)
                try_windows(n, taps, which);
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
    CHECK(lw_boundary_index(LW_BOUNDARY_REFLECT, big, big) == big - 1, "the index overflows at 2^61");
    return check_result("convolution");
}
