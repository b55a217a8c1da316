/* strips.c - a model with fixed numbers, measured on an H200 (`bench_conv2d_gpu methods`), as that of plan.c. */
#include "gpu/conv2d/strips.h"

#include "base/integers.h"

#include <math.h>
#include <stddef.h>

enum { MULTIPROCESSORS = 132, MOST_ROWS = 128 };

static const double row_latency = 0.5e-6;      /* seconds from one row of a strip to its next, alone on a multiprocessor */

/* What a multiprocessor does with strips: so many at a time, and seconds for one row of one of them while it is full. */
struct pace {
    int64_t at_a_time;
    double row_seconds;
};

static struct pace pace_of(int side, bool is_product)
{
    static const struct { int side; bool is_product; struct pace pace; } paces[] = {
        {3, false, {24, 11e-9}},  {5, false, {24, 20e-9}}, {7, false, {24, 33.5e-9}}, {9, false, {16, 57e-9}},
        {15, true, {16, 25e-9}}, {23, true, {12, 30e-9}}, {31, true, {8, 45e-9}},
    };
    size_t i = 0;
    while (i < sizeof paces / sizeof *paces - 1 && (paces[i].side != side || paces[i].is_product != is_product))
        i++;
    return paces[i].pace;
}

/* Seconds until each of n strips of a multiprocessor has gone on by a row. */
static double step_seconds(int64_t n, struct pace pace)
{
    return n > 0 ? hypot((double)n * pace.row_seconds, row_latency) : 0;
}

/* An odd number of rows makes one more step, as rows are read in twos. */
static struct lw_conv2d_strips strips_of(int rows, int64_t n_rows, int64_t across, int side, struct pace pace)
{
    const int64_t each = divide_up(divide_up(n_rows, rows) * across, MULTIPROCESSORS), most = pace.at_a_time;
    const double step = (double)(each / most) * step_seconds(most, pace) + step_seconds(each % most, pace);
    return (struct lw_conv2d_strips){.rows = rows, .seconds = step * (rows + side - 1 + (rows > 1 ? rows % 2 : 0))};
}

struct lw_conv2d_strips lw_conv2d_cut_strips(int64_t n_rows, int64_t n_columns, int64_t n_channels, int side, bool is_product)
{
    const int64_t across = divide_up(n_columns, LW_CONV2D_STRIP_COLUMNS) * n_channels;
    const struct pace pace = pace_of(side, is_product);
    struct lw_conv2d_strips best = strips_of(MOST_ROWS, n_rows, across, side, pace);
    for (int rows = MOST_ROWS - 2; rows >= 0; rows -= 2) {
        const struct lw_conv2d_strips now = strips_of(rows > 0 ? rows : 1, n_rows, across, side, pace);
        if (now.seconds < 0.98 * best.seconds)          /* shorter ones for a clear gain only */
            best = now;
    }
    return best;
}
