#include "stream/not_finite.h"

#include "base/integers.h"

int64_t lw_not_finite_count(const struct lw_samples_view *view, int64_t begin, int64_t end)
{
    const struct lw_op_spec *const op = view->op;
    const struct lw_window_part *const part = view->part;
    const bool slow = op->layout == LW_TIME_SLOW;
    const int64_t n_rows = slow ? 1 : part->n_channels;
    const int64_t width = slow ? part->n_channels : view->width;
    int64_t found = 0, lowest;
    for (int64_t row = 0; begin < end && row < n_rows; row++) {
        const int64_t index = (row * part->into_axis + part->into_first + begin - part->begin) * width;
        const char *const samples = (const char *)part->into + (size_t)index * lw_type_bytes(op->input);
        found += lw_type_not_finite(op->input, op->precision, samples, (end - begin) * width, &lowest);
    }
    return found;
}

/* ---- where --------------------------------------------------------------------------------------------------------- */

enum { CHUNK_VALUES = 1 << 13, MOST_VALUES = 1 << 24 };

static int64_t chunk_of(const struct lw_samples_view *view)
{
    return lw_max64(1, CHUNK_VALUES / (view->part->n_channels * view->width));
}

/* Return the position of the first or the last non-finite sample in [begin, end), which holds at least one. */
static int64_t narrow(const struct lw_samples_view *view, int64_t begin, int64_t end, bool is_first)
{
    while (end - begin > 1) {
        const int64_t middle = begin + (end - begin) / 2;
        if (is_first ? lw_not_finite_count(view, begin, middle) > 0 : lw_not_finite_count(view, middle, end) == 0)
            end = middle;
        else
            begin = middle;
    }
    return begin;
}

/* Return the position after the last non-finite sample; after MOST_VALUES values, a bound, with *is_rough set.
 * @param n_sought  values that the run has examined so far; increased */
static int64_t find_end(const struct lw_samples_view *view, int64_t begin, int64_t end, int64_t *n_sought, bool *is_rough)
{
    const int64_t chunk = chunk_of(view);
    *is_rough = false;
    for (; end - begin > chunk && lw_not_finite_count(view, end - chunk, end) == 0; end -= chunk) {
        *n_sought += CHUNK_VALUES;
        *is_rough = *n_sought > MOST_VALUES;
        if (*is_rough)
            return end - chunk;
    }
    return narrow(view, lw_max64(begin, end - chunk), end, false) + 1;
}

void lw_not_finite_locate(const struct lw_samples_view *view, int64_t begin, int64_t end, int64_t start, struct lw_flaws *flaws)
{
    const int64_t chunk = chunk_of(view);
    while (begin < end && lw_not_finite_count(view, begin, lw_min64(end, begin + chunk)) == 0)
        begin += chunk;
    if (begin >= end)
        return;
    bool is_rough;
    const int64_t first = narrow(view, begin, lw_min64(end, begin + chunk), true);
    const int64_t behind = find_end(view, first, end, &flaws->n_sought, &is_rough);
    lw_flaws_widen(flaws, start + first, start + behind, is_rough);
}
