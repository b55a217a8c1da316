#include "stream/search/touch.h"

#include "signal/convolution.h"

static bool zeroes_nan(const struct lw_op_spec *op)
{
    return op->nan == LW_NAN_ZERO && !lw_scalar_is_integer(op->input.scalar);
}

bool lw_touch_is_needed(const struct lw_touch *touch) { return touch->mask || zeroes_nan(&touch->job->op); }

/* Whether number `at` of the slot's input is not finite. */
static bool is_flawed(const struct lw_op_spec *op, const struct lw_slot *slot, int64_t at)
{
    int64_t lowest;
    return lw_type_not_finite(op->input, op->precision, (const char *)slot->input + (size_t)at * lw_type_bytes(op->input), 1,
                              &lowest) > 0;
}

bool lw_touch_is_bad(const struct lw_touch *touch, const struct lw_slot *slot, int number, int64_t c, int64_t i)
{
    const struct lw_op_spec *const op = &touch->job->op;
    const int64_t length = touch->op->halo + slot->block.count;
    const int64_t at = op->layout == LW_TIME_FAST ? c * length + i : i * slot->block.n_channels + c;
    if (touch->mask && lw_mask_is_set(touch->mask, number, c, i))
        return true;
    return zeroes_nan(op) && is_flawed(op, slot, at);
}

bool lw_touch_is_bad_pixel(const struct lw_touch *touch, const struct lw_slot *slot, int64_t c, int64_t i, int64_t column)
{
    const struct lw_op_spec *const op = &touch->job->op;
    const int64_t inside = lw_boundary_index(op->conv2d.boundary, column, op->conv2d.columns);
    const int64_t row = c * (touch->op->halo + slot->block.count) + i;
    return inside >= 0 && is_flawed(op, slot, row * op->conv2d.columns + inside);
}

static double energy(const struct lw_ols_spec *ols, int filter, int64_t tap)
{
    const int parts = ols->taps_complex ? 2 : 1;
    const double *const h = ols->taps + (filter * ols->n_taps + tap) * parts;
    return h[0] * h[0] + (parts == 2 ? h[1] * h[1] : 0);
}

/* The samples of an output begin `before` samples after those of the block's first output, which begin where the input does; the
 * newest meets tap 0. */
static bool is_touched(const struct lw_touch *touch, const struct lw_slot *slot, int number, const struct lw_crossing *crossing)
{
    const struct lw_ols_spec *const ols = &touch->job->op.ols;
    const double most = touch->job->search.masked_fraction;
    const int64_t c = crossing->channel - slot->block.channel, first = crossing->index - slot->block.first + touch->op->before;
    double bad = 0, all = 0;
    for (int64_t tap = 0; tap < ols->n_taps; tap++) {
        const bool meets = lw_touch_is_bad(touch, slot, number, c, first + ols->n_taps - 1 - tap);
        if (meets && most == 0)
            return true;
        const double its = most > 0 ? energy(ols, crossing->filter, tap) : 0;
        all += its;
        bad += meets ? its : 0;
    }
    return bad > most * all;
}

/* Images have no mask. */
static bool is_pixel_touched(const struct lw_touch *touch, const struct lw_slot *slot, const struct lw_crossing *crossing)
{
    const struct lw_conv2d_spec *const conv2d = &touch->job->op.conv2d;
    const int64_t first = crossing->index - slot->block.first + touch->op->before,
                  last_column = crossing->column + conv2d->look_ahead_columns;
    for (int64_t row = 0; row < conv2d->kernel_rows; row++)
        for (int64_t column = 0; column < conv2d->kernel_columns; column++)
            if (lw_touch_is_bad_pixel(touch, slot, crossing->channel - slot->block.channel, first + row, last_column - column))
                return true;
    return false;
}

int64_t lw_touch_drop(const struct lw_touch *touch, const struct lw_slot *slot, int number, struct lw_crossing *crossings,
                      int64_t n)
{
    const bool is_image = lw_op_has_pixels(&touch->job->op);
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++)
        if (!(is_image ? is_pixel_touched(touch, slot, &crossings[i]) : is_touched(touch, slot, number, &crossings[i])))
            crossings[kept++] = crossings[i];
    return kept;
}
