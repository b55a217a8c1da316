#include "signal/convolution.h"

#include "base/integers.h"

#include <math.h>

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

struct lw_excerpt lw_convolution_excerpt(const struct lw_convolution *whole, int64_t begin, int64_t end)
{
    const int64_t n = whole->n_samples, all = whole->n_outputs, earlier = whole->look_ahead - whole->reference;
    const int64_t wanted = begin == 0 ? 0 : lw_max64(0, lw_min64(begin - earlier, all));
    const int64_t unwanted = end == n ? all : lw_max64(wanted, lw_min64(end - earlier, all));
    const bool has_some = wanted < unwanted;
    const int64_t first = has_some ? lw_max64(0, wanted - whole->margin) : wanted;
    const int64_t last = has_some ? lw_min64(all, unwanted + whole->margin) : unwanted;
    const int64_t oldest = first + whole->look_ahead - (whole->n_taps - 1), behind = last + whole->look_ahead;
    const bool has_copies = whole->boundary == LW_BOUNDARY_WRAP || whole->boundary == LW_BOUNDARY_REFLECT;
    const bool is_whole = has_copies && (oldest < 0 || behind > n);     /* wrap and reflect may copy any sample */
    struct lw_excerpt excerpt = {.first = first,
                                 .n_outputs = last - first,
                                 .lead = wanted - first,
                                 .n_wanted = unwanted - wanted,
                                 .begin = is_whole ? 0 : lw_max64(0, oldest),
                                 .end = is_whole ? n : lw_min64(n, behind)};
    excerpt.look_ahead = first + whole->look_ahead - excerpt.begin;
    return excerpt;
}

int64_t lw_boundary_index(enum lw_boundary boundary, int64_t i, int64_t n)
{
    if (i >= 0 && i < n)
        return i;
    switch (boundary) {
    case LW_BOUNDARY_ZERO: return -1;
    case LW_BOUNDARY_EDGE: return i < 0 ? 0 : n - 1;
    case LW_BOUNDARY_WRAP: return lw_mod(i, n);
    case LW_BOUNDARY_REFLECT: {
        const int64_t j = lw_mod(i, 2 * n);     /* x[0..n-1] then x[n-1..0], with period 2n */
        return j < n ? j : 2 * n - 1 - j;
    }
    }
    return -1;
}

/* The rule of the paper at enum lw_padding; its shortest transform has 16 points. */
static int64_t length_of_paper(int64_t least)
{
    int64_t power = 16;
    while (power < least && power < 1024)
        power *= 2;
    return power >= least ? power : lw_round_up(least, 512);
}

/* A length costs its points, plus 2% per odd prime factor: of similar lengths, one with more factors of two takes fewer passes. For
 * each odd part 3^b 5^c 7^d only the shortest length can be the cheapest. */
int64_t lw_padded_length(enum lw_padding padding, int64_t least, int64_t unit)
{
    int64_t best = 0;
    double lowest = INFINITY;
    if (padding == LW_PADDING_PAPER)
        return length_of_paper(least);
    for (int64_t sevens = 1, d = 0; sevens < 2 * least; sevens *= 7, d++)
        for (int64_t fives = sevens, c = 0; fives < 2 * least; fives *= 5, c++)
            for (int64_t odd = fives, b = 0; odd < 2 * least; odd *= 3, b++) {
                int64_t n = odd * unit;
                while (n < least)
                    n *= 2;
                const double cost = (50.0 + (double)(b + c + d)) * (double)n;
                if (cost < lowest || (cost <= lowest && n < best)) {
                    lowest = cost;
                    best = n;
                }
            }
    return best;
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
