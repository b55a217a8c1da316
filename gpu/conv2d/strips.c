/* strips.c - a model with fixed numbers, measured on an H200 (`bench_conv2d_gpu methods`), as that of choose.c. */
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
    const double work = (double)n * pace.row_seconds;
    return n > 0 ? sqrt(work * work + row_latency * row_latency) : 0;
}

struct lw_conv2d_strips lw_conv2d_cut_strips(int64_t n_rows, int64_t n_columns, int64_t n_channels, int side, bool is_product)
{
    const int64_t across = lw_divide_up(n_columns, LW_CONV2D_STRIP_COLUMNS) * n_channels;
    const struct pace pace = pace_of(side, is_product);
    const double full_step = step_seconds(pace.at_a_time, pace);
    struct lw_conv2d_strips best = {.seconds = INFINITY};
    for (int even = MOST_ROWS; even >= 0; even -= 2) {          /* rows are read in twos */
        const int rows = even > 0 ? even : 1;
        const int64_t each = lw_divide_up(lw_divide_up(n_rows, rows) * across, MULTIPROCESSORS);
        const double step = (double)(each / pace.at_a_time) * full_step + step_seconds(each % pace.at_a_time, pace);
        const double seconds = step * (rows + side - 1);
        if (seconds < 0.98 * best.seconds)                      /* shorter ones for a clear gain only */
            best = (struct lw_conv2d_strips){rows, seconds};
    }
    return best;
}
