/* padded.c - a padded image, or bands of it: all threads share each step of a window. */
#include "cpu/conv2d/conv2d.h"

#include <math.h>
#include <stdlib.h>

/* A window in work, number `down` of an image. */
struct padded2d {
    const struct lw_cpu_work2d *work;
    int64_t channel, down;
    int exponent, kernel;
};

static struct lw_cpu_tile2d padded_tile(const struct padded2d *padded, const struct lw_slot *slot, struct lw_cpu_conv2d_lane *lane)
{
    struct lw_cpu_tile2d tile = lw_cpu_tile2d_of(padded->work, slot, lane, 0, padded->channel, padded->down, 0);
    tile.exponent = padded->exponent;
    tile.kernel = padded->kernel;
    return tile;
}

/* The first of n things that a task takes. */
static int64_t first_of(int64_t n, int64_t task) { return n * task / LW_CPU_PADDED_TASKS; }

static void padded_inspect(const void *state, void *lane, const struct lw_slot *slot, int64_t task)
{
    struct lw_cpu_conv2d_lane *const own = lane;
    const struct lw_cpu_tile2d tile = padded_tile(state, slot, own);
    const int64_t n = tile.needed_rows;
    own->largest = fmax(own->largest, lw_cpu_transform2d_inspect(&tile, first_of(n, task), first_of(n, task + 1)));
}

static void padded_forward(const void *state, void *lane, const struct lw_slot *slot, int64_t task)
{
    const struct lw_cpu_tile2d tiles[LW_CPU_CONV2D_PAIR] = {padded_tile(state, slot, lane)};
    const int64_t n = tiles->conv2d->shape.rows;
    for (int64_t row = first_of(n, task); row < first_of(n, task + 1); row++)
        lw_cpu_transform2d_forward(tiles, row);
}

static void padded_keep(const void *state, void *lane, const struct lw_slot *slot, int64_t task)
{
    const struct lw_cpu_conv2d *const conv2d = ((const struct padded2d *)state)->work->conv2d;
    const int64_t strip = conv2d->fft->strip, n = conv2d->fft->bins / strip;
    (void)slot;
    lw_cpu_transform2d_keep(conv2d, lane, first_of(n, task) * strip, first_of(n, task + 1) * strip);
}

static void padded_columns(const void *state, void *lane, const struct lw_slot *slot, int64_t task)
{
    const struct padded2d *const padded = state;
    const struct lw_cpu_conv2d *const conv2d = padded->work->conv2d;
    const int64_t strip = conv2d->fft->strip, n = conv2d->fft->bins / strip;
    (void)slot;
    lw_cpu_transform2d_columns(conv2d, padded->kernel, lane, first_of(n, task) * strip, first_of(n, task + 1) * strip);
}

static void padded_back(const void *state, void *lane, const struct lw_slot *slot, int64_t task)
{
    const struct lw_cpu_tile2d tiles[LW_CPU_CONV2D_PAIR] = {padded_tile(state, slot, lane)};
    const int64_t begin = first_of(tiles->n_rows, task), end = first_of(tiles->n_rows, task + 1);
    if (begin < end)
        lw_cpu_flaws2d_begin(tiles, begin);
    for (int64_t row = begin; row < end; row++)
        lw_cpu_transform2d_put(tiles, row);
    if (tiles->work->table)
        lw_cpu_crossings_flush(&tiles->lane->found, tiles->work->table);
}

/* Find the flaws of a window, and the exponent of its pixels. The lanes share the map, and all must know whether it is empty. */
static void find_flaws(struct padded2d *padded, const struct lw_slot *slot)
{
    const struct lw_cpu_lanes *const lanes = &padded->work->conv2d->lanes;
    const struct lw_cpu_tile2d first = padded_tile(padded, slot, lw_cpu_lane_at(lanes, 0));
    double largest = 0;
    bool any = false;
    lw_cpu_flaws2d_clear(&first);
    for (int i = 0; i < lanes->n; i++) {
        struct lw_cpu_conv2d_lane *const lane = lw_cpu_lane_at(lanes, i);
        lane->flaws[0].any = false;
        lane->largest = 0;
    }
    lw_cpu_lanes_continue(lanes, padded_inspect, padded, slot, LW_CPU_PADDED_TASKS, 1);
    for (int i = 0; i < lanes->n; i++) {
        const struct lw_cpu_conv2d_lane *const lane = lw_cpu_lane_at(lanes, i);
        any |= lane->flaws[0].any;
        largest = fmax(largest, lane->largest);
    }
    for (int i = 0; i < lanes->n; i++)
        ((struct lw_cpu_conv2d_lane *)lw_cpu_lane_at(lanes, i))->flaws[0].any = any;
    padded->exponent = largest > 0 ? ilogb(largest) : 0;
    if (abs(padded->exponent) <= LW_CPU_MODERATE_EXPONENT)
        padded->exponent = 0;
}

void lw_cpu_conv2d_padded(const struct lw_cpu_work2d *work, const struct lw_slot *slot)
{
    const struct lw_cpu_lanes *const lanes = &work->conv2d->lanes;
    const int64_t n_down = lw_divide_up(work->end - work->begin, work->conv2d->shape.hop_rows);
    lw_cpu_lanes_run(lanes, padded_inspect, NULL, slot, 0, 1);
    for (int64_t i = 0; i < work->n_channels * n_down; i++) {
        struct padded2d padded = {.work = work, .channel = i / n_down, .down = i % n_down, .kernel = work->kernel};
        find_flaws(&padded, slot);
        lw_cpu_lanes_continue(lanes, padded_forward, &padded, slot, LW_CPU_PADDED_TASKS, 1);
        struct lw_cpu_tile2d tile = padded_tile(&padded, slot, lw_cpu_lane_at(lanes, 0));
        lw_cpu_flaws2d_settle(&tile);
        if (work->conv2d->shape.n_kernels > 1)
            lw_cpu_lanes_continue(lanes, padded_keep, &padded, slot, LW_CPU_PADDED_TASKS, 1);
        for (; padded.kernel < work->end_kernel; padded.kernel++) {
            tile.kernel = padded.kernel;
            lw_cpu_flaws2d_take_kernel(&tile);
            lw_cpu_lanes_continue(lanes, padded_columns, &padded, slot, LW_CPU_PADDED_TASKS, 1);
            lw_cpu_lanes_continue(lanes, padded_back, &padded, slot, LW_CPU_PADDED_TASKS, 1);
        }
    }
}
