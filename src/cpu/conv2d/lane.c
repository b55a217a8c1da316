#include "cpu/conv2d/lane.h"

struct lane_sizes {
    int64_t x, between, row, y;         /* bytes, each a multiple of LW_ALIGNMENT */
    int64_t repeated_row, flaws;
    int64_t total;
};

static struct lane_sizes lane_sizes(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape)
{
    const int64_t real = (int64_t)shape->kernels->real_bytes, step = shape->kernels->direct_step;
    const struct lw_cpu_fft2d fft = shape->kernels->fft2d_shape(shape->rows, shape->columns);
    struct lane_sizes s = {
        .repeated_row = lw_cpu_window2d_repeats(spec) ? lw_cpu_padded(shape->columns * (int64_t)lw_type_bytes(spec->input)) : 0,
        .flaws = lw_cpu_padded(lw_cpu_flaws2d_bytes(spec, shape)),
        .y = lw_cpu_padded((shape->has_stencil ? LW_CPU_STENCIL_ROWS * lw_cpu_outputs2d_stride(shape)
                                               : shape->columns * shape->width + step) * real),
    };
    if (shape->method == LW_CPU_CONV2D_TILES) {
        s.x = lw_cpu_padded(shape->rows * fft.pitch * 2 * real);
        s.between = lw_cpu_padded(shape->rows * fft.strip * 2 * real);
        s.row = lw_cpu_padded(shape->columns * 2 * real);
    } else {
        s.x = lw_cpu_padded(lw_cpu_window2d_turned(shape) * (shape->kernel_complex ? 2 : 1) * real);
        s.between = shape->method == LW_CPU_CONV2D_SEPARABLE ? lw_cpu_padded(2 * lw_cpu_between2d_turned(shape) * real) : 0;
    }
    s.total = s.x + s.between + s.row + s.repeated_row + shape->pair_rows * shape->pair_columns * (s.y + s.flaws);
    return s;
}

int64_t lw_cpu_conv2d_lane_bytes(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape)
{
    return lane_sizes(spec, shape).total;
}

static char *take(char **free, int64_t bytes)
{
    char *const taken = *free;
    *free += bytes;
    return taken;
}

static void lay_out(const struct lw_cpu_conv2d *conv2d, const struct lane_sizes *s, struct lw_cpu_conv2d_lane *lane)
{
    char *free = lane->base.memory;
    lane->x = take(&free, s->x);
    lane->between = take(&free, s->between);
    lane->row = take(&free, s->row);
    lane->window = (struct lw_cpu_window2d){&conv2d->spec, &conv2d->plan, &conv2d->shape, take(&free, s->repeated_row)};
    for (int i = 0; i < conv2d->n_tiles; i++) {
        lane->y[i] = take(&free, s->y);
        lw_cpu_flaws2d_init(&conv2d->spec, &conv2d->shape, take(&free, s->flaws), &lane->flaws[i]);
    }
}

int lw_cpu_conv2d_lanes_open(struct lw_cpu_conv2d *conv2d, int n, struct lw_error *err)
{
    const struct lane_sizes sizes = lane_sizes(&conv2d->spec, &conv2d->shape);
    conv2d->n_tiles = conv2d->shape.pair_rows * conv2d->shape.pair_columns;
    const int rc = lw_cpu_lanes_open(&conv2d->lanes, n, sizeof(struct lw_cpu_conv2d_lane), sizes.total, err);
    for (int i = 0; rc == LW_OK && i < n; i++)
        lay_out(conv2d, &sizes, lw_cpu_lane_at(&conv2d->lanes, i));
    return rc;
}
