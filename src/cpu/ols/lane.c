#include "cpu/ols/lane.h"

/* As lw_cpu_padded, in reals. */
static int64_t padded(const struct lw_cpu_ols_shape *shape, int64_t reals)
{
    const int64_t real_bytes = (int64_t)shape->kernels->real_bytes;
    return lw_cpu_padded(reals * real_bytes) / real_bytes;
}

static struct lw_cpu_ols_lane_sizes direct_sizes(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape)
{
    return (struct lw_cpu_ols_lane_sizes){
        .x = padded(shape, lw_cpu_ols_turned_offset(shape) * (spec->ols.taps_complex ? 2 : 1)),
        .y = padded(shape, lw_round_up(lw_cpu_ols_sums(shape) * shape->width, shape->kernels->direct_step)),
    };
}

static struct lw_cpu_ols_lane_sizes transform_sizes(const struct lw_cpu_ols_shape *shape)
{
    const struct lw_cpu_fft fft = shape->kernels->fft_shape(shape->points);
    const int64_t reals = padded(shape, 2 * shape->points);
    const bool is_bank = shape->n_filters > 1;
    return (struct lw_cpu_ols_lane_sizes){
        .x = reals,
        .y = reals,
        .z = is_bank ? reals : 0,
        .spectra = is_bank ? shape->tile * reals : reals,
        .product = reals,
        .work = lw_cpu_fft_needs_work(&fft) ? reals : 0,
        .y_is_x = !is_bank,
    };
}

struct lw_cpu_ols_lane_sizes lw_cpu_ols_lane_sizes(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape)
{
    struct lw_cpu_ols_lane_sizes s =
        shape->method == LW_CPU_OLS_DIRECT ? direct_sizes(spec, shape) : transform_sizes(shape);
    s.panel = spec->layout == LW_TIME_SLOW ? padded(shape, LW_CPU_PANEL_ROWS * shape->tile * shape->width) : 0;
    s.post = shape->rate > 1 ? padded(shape, LW_CPU_POST_OUTPUTS * shape->width) : 0;
    if (lw_search_products(&spec->ols.search) & LW_BEST) {
        s.best_values = lw_cpu_padded(shape->hop * shape->width * (int64_t)shape->kernels->real_bytes);
        s.best_strengths = lw_cpu_padded(shape->hop * (int64_t)sizeof(double));
        s.best_filters = lw_cpu_padded(shape->hop * (int64_t)sizeof(int32_t));
    }
    s.touched = lw_scalar_is_integer(spec->input.scalar) ? 0 : lw_cpu_ols_sums(shape);
    const int64_t reals =
        shape->tile * (s.x + (s.y_is_x ? 0 : s.y) + s.post) + s.spectra + s.product + s.work + s.panel;
    const int64_t bytes = shape->tile * (s.best_values + s.best_strengths + s.best_filters + s.touched);
    s.total_bytes = reals * (int64_t)shape->kernels->real_bytes + bytes;
    return s;
}

static void lay_out(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane)
{
    const struct lw_cpu_ols_lane_sizes *const s = &ols->sizes;
    const int64_t tile = ols->shape.tile;
    lane->x = lane->base.memory;
    lane->z = lw_cpu_real_at(ols, lane->x, tile * s->x);
    lane->product = lw_cpu_real_at(ols, lane->z, s->spectra);
    lane->work = lw_cpu_real_at(ols, lane->product, s->product);
    lane->panel = lw_cpu_real_at(ols, lane->work, s->work);
    lane->post = lw_cpu_real_at(ols, lane->panel, s->panel);
    char *const rest = lw_cpu_real_at(ols, lane->post, tile * s->post);
    lane->y = s->y_is_x ? lane->x : rest;
    lane->best = s->y_is_x ? rest : lw_cpu_real_at(ols, rest, tile * s->y);
    lane->touched = (uint8_t *)lane->best + tile * (s->best_values + s->best_strengths + s->best_filters);
}

int lw_cpu_ols_lanes_open(struct lw_cpu_ols *ols, int n, struct lw_error *err)
{
    const int rc = lw_cpu_lanes_open(&ols->lanes, n, sizeof(struct lw_cpu_ols_lane), ols->sizes.total_bytes, err);
    for (int i = 0; rc == LW_OK && i < n; i++)
        lay_out(ols, lw_cpu_lane_at(&ols->lanes, i));
    return rc;
}
