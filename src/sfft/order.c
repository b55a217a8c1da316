/* order.c - the orders that lines are put in. */
#include "sfft/sfft.h"

#include <stdlib.h>

static int by_frequency(const void *a, const void *b)
{
    const struct lw_sfft_line *const x = a, *const y = b;
    if (x->frequency == y->frequency)
        return (x->offset > y->offset) - (x->offset < y->offset);
    return x->frequency > y->frequency ? 1 : -1;
}

static int by_magnitude(const void *a, const void *b)
{
    const struct lw_sfft_line *const x = a, *const y = b;
    const double p = x->re * x->re + x->im * x->im, q = y->re * y->re + y->im * y->im;
    if (p != q)
        return p < q ? 1 : -1;
    return by_frequency(a, b);
}

void lw_sfft_sort_by_frequency(struct lw_sfft_line *lines, int64_t count)
{
    qsort(lines, (size_t)count, sizeof *lines, by_frequency);
}

void lw_sfft_sort_by_magnitude(struct lw_sfft_line *lines, int64_t count)
{
    qsort(lines, (size_t)count, sizeof *lines, by_magnitude);
}
