/* lane.c - the memory that a thread works in. */
#include "cpu/ols/lane.h"

#include "base/integers.h"
#include "base/memory.h"

/* Whole cache lines, and one more so that the buffers of a lane do not all start in the same cache set. */
static int64_t padded(const struct lw_cpu_ols_shape *shape, int64_t reals)
{
    const int64_t line = LW_ALIGNMENT / (int64_t)shape->kernels->real_bytes;
    return reals > 0 ? (divide_up(reals, line) + 1) * line : 0;
}

static struct lw_cpu_lane_sizes direct_sizes(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape)
{
    const int64_t step = shape->kernels->direct_step;
    return (struct lw_cpu_lane_sizes){
        .x = padded(shape, lw_cpu_turned_offset(shape) * (spec->ols.taps_complex ? 2 : 1)),
        .y = padded(shape, divide_up((shape->before + shape->hop + shape->after) * shape->width, step) * step),
    };
}

static struct lw_cpu_lane_sizes transform_sizes(const struct lw_cpu_ols_shape *shape)
{
    const struct lw_cpu_fft fft = shape->kernels->fft_shape(shape->points);
    const int64_t reals = padded(shape, 2 * shape->points);
    const bool is_bank = shape->n_filters > 1;
    return (struct lw_cpu_lane_sizes){
        .x = reals,
        .y = reals,
        .z = is_bank ? reals : 0,
        .spectra = is_bank ? shape->tile * reals : reals,
        .product = reals,
        .work = lw_cpu_fft_needs_work(&fft) ? reals : 0,
        .y_is_x = !is_bank,
    };
}

static struct lw_cpu_lane_sizes lane_sizes(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape)
{
    struct lw_cpu_lane_sizes s = shape->method == LW_CPU_OLS_DIRECT ? direct_sizes(spec, shape) : transform_sizes(shape);
    s.panel = spec->layout == LW_TIME_SLOW ? padded(shape, LW_CPU_PANEL_ROWS * shape->tile * shape->width) : 0;
    s.post = shape->rate > 1 ? padded(shape, LW_CPU_POST_OUTPUTS * shape->width) : 0;
    s.touched = lw_scalar_is_integer(spec->input.scalar) ? 0 : shape->before + shape->hop + shape->after;
    const int64_t reals =
        shape->tile * (s.x + (s.y_is_x ? 0 : s.y) + s.post) + s.spectra + s.product + s.work + s.panel;
    s.total_bytes = reals * (int64_t)shape->kernels->real_bytes + shape->tile * s.touched;
    return s;
}

int64_t lw_cpu_ols_tasks(const struct lw_cpu_ols_shape *shape, int64_t count, int64_t n_channels)
{
    return divide_up(count, shape->hop) * divide_up(n_channels, shape->tile);
}

/* No more lanes than there are segments in a block. */
static int n_lanes(const struct lw_cpu_ols_shape *shape, int64_t count, int64_t n_channels, int n_threads)
{
    return (int)min64(n_threads, lw_cpu_ols_tasks(shape, count, n_channels));
}

int64_t lw_cpu_ols_bytes(const struct lw_op_spec *spec, const struct lw_op_plan *plan, int64_t count,
                         int64_t n_channels, int n_threads)
{
    const struct lw_cpu_ols_shape shape = lw_cpu_ols_shape(spec, plan->segment);
    const int64_t fft = shape.method == LW_CPU_OLS_DIRECT ? 0 : shape.kernels->fft_bytes(shape.points);
    const int64_t lane = (int64_t)sizeof(struct lw_cpu_lane) + lane_sizes(spec, &shape).total_bytes;
    return (int64_t)sizeof(struct lw_cpu_ols) + lw_cpu_filters_bytes(&shape, &spec->ols) + fft +
           lw_cpu_post_bytes(spec, &shape) + n_lanes(&shape, count, n_channels, n_threads) * lane;
}

static int open_lane(const struct lw_cpu_ols *ols, struct lw_cpu_lane *lane, struct lw_error *err)
{
    const struct lw_cpu_lane_sizes *const s = &ols->sizes;
    const int64_t tile = ols->shape.tile;
    lane->arena = lw_alloc((size_t)s->total_bytes, "the work space of a thread", err);
    if (!lane->arena)
        return LW_ESYSTEM;
    lane->x = lane->arena;
    lane->z = lw_cpu_real_at(ols, lane->x, tile * s->x);
    lane->product = lw_cpu_real_at(ols, lane->z, s->spectra);
    lane->work = lw_cpu_real_at(ols, lane->product, s->product);
    lane->panel = lw_cpu_real_at(ols, lane->work, s->work);
    lane->post = lw_cpu_real_at(ols, lane->panel, s->panel);
    char *const rest = lw_cpu_real_at(ols, lane->post, tile * s->post);
    lane->y = s->y_is_x ? lane->x : rest;
    lane->touched = s->y_is_x ? (uint8_t *)rest : lw_cpu_real_at(ols, rest, tile * s->y);
    return LW_OK;
}

int lw_cpu_lanes_open(struct lw_cpu_ols *ols, int64_t count, int64_t n_channels, int n_threads, struct lw_error *err)
{
    ols->sizes = lane_sizes(&ols->spec, &ols->shape);
    ols->n_lanes = n_lanes(&ols->shape, count, n_channels, n_threads);
    ols->lanes = lw_alloc_array(ols->n_lanes, sizeof *ols->lanes, "the threads' work space", err);
    if (!ols->lanes)
        return LW_ESYSTEM;
    for (int i = 0; i < ols->n_lanes; i++) {
        const int rc = open_lane(ols, &ols->lanes[i], err);
        if (rc)
            return rc;
    }
    return LW_OK;
}

void lw_cpu_lanes_close(struct lw_cpu_ols *ols)
{
    for (int i = 0; ols->lanes && i < ols->n_lanes; i++)
        lw_free(ols->lanes[i].arena);
    lw_free(ols->lanes);
}

void lw_cpu_tally_add(struct lw_cpu_tally *to, const struct lw_cpu_tally *more)
{
    const bool is_earlier = more->sample < to->sample || (more->sample == to->sample && more->channel < to->channel);
    if (more->n > 0 && (to->n == 0 || is_earlier)) {
        to->sample = more->sample;
        to->channel = more->channel;
    }
    to->n += more->n;
}
