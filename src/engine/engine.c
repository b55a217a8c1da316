#include "engine/engine.h"

#include "base/integers.h"
#include "base/memory.h"
#include "base/proc.h"
#include "signal/separable.h"

#include <float.h>

int lw_engine_host_threads(const struct lw_engine *engine)
{
    return engine->device_bytes > 0 ? lw_proc_cores() : engine->n_workers;
}

double lw_engine_slowness(const struct lw_engine *engine) { return engine->slowness > 0 ? engine->slowness : 1; }

void lw_engine_destroy(struct lw_engine *engine)
{
    lw_free(engine);
}

double lw_op_prepare_steps(const struct lw_op_spec *spec, int64_t segment)
{
    return segment > 1 ? (double)lw_op_filters(spec) * (double)segment * log2((double)segment) : 0;
}

/* ---- products of a filter bank --------------------------------------------------------------------------------------- */

static void add(struct lw_op_plan *plan, struct lw_op_product product)
{
    plan->products[plan->n_products++] = product;
}

/* An array product with an output for each sample of the axis: a number of the computing precision, or a whole number. */
static struct lw_op_product array(enum lw_op_product_kind kind, enum lw_scalar scalar, bool is_complex, int64_t n_planes)
{
    return (struct lw_op_product){.kind = kind, .type = {.scalar = scalar, .is_complex = is_complex}, .n_planes = n_planes,
                                  .width = 1, .rate = 1, .every = 1};
}

/* The table of crossings. It has room for all outputs of the smallest part that a block can be cut into, up to a limit. Banks of
 * many filters have less room for each, so that tables do not make blocks short.
 * @param sample_rows  outputs per sample of the axis in a block @param part_rows  the same in the smallest part */
static struct lw_op_product crossings(const struct lw_search *search, const struct lw_op_plan *plan, int64_t n_outputs,
                                      int64_t sample_rows, int64_t part_rows, bool has_pixels)
{
    enum { LEAST = 1 << 14, MOST = 1 << 22, ONE_PIXEL_IN = 128 };       /* a star has several pixels that cross */
    const int64_t one_in = has_pixels ? ONE_PIXEL_IN : lw_max64(1 << 10, lw_min64(sample_rows, 1 << 14));
    const int64_t beyond = 2 * lw_search_reach(search, n_outputs), samples = (plan->unit + beyond) * plan->channel_unit;
    const int64_t part = samples < MOST ? samples * part_rows : MOST;
    return (struct lw_op_product){.kind = LW_OP_CROSSINGS, .row_bytes = sizeof(struct lw_crossing), .every = 1, .rate = 1,
                                  .sample_rows = sample_rows, .beyond = beyond,
                                  .least_rows = lw_max64(LEAST, lw_min64(part, MOST)), .one_in = one_in};
}

/* Set the outputs that a search needs before and after a block's own. With stacks all segments are whole that their delays reach.
 * @param stacked  reach of an operation with stacks; else 0 */
static void reach_beyond(const struct lw_search *search, int64_t n_outputs, struct lw_op_reach stacked, struct lw_op_plan *plan)
{
    const bool is_beyond = plan->unit < n_outputs;      /* else one unit, which no block divides, holds the whole axis */
    plan->before = is_beyond ? lw_search_before(search, n_outputs, plan->unit) : 0;
    plan->after = is_beyond ? lw_search_after(search, n_outputs, plan->unit) : 0;
    plan->before += lw_round_up(stacked.before, plan->unit) - stacked.before;
    plan->after += lw_round_up(stacked.after, plan->unit) - stacked.after;
    plan->halo += plan->before + plan->after;
}

void lw_op_ols_products(const struct lw_op_spec *spec, struct lw_op_plan *plan)
{
    const struct lw_ols_spec *const ols = &spec->ols;
    const unsigned wanted = lw_search_products(&ols->search);
    const enum lw_scalar scalar = lw_computed_scalar(spec->precision);
    const bool is_complex = lw_op_is_complex(spec);
    plan->n_products = 0;
    plan->n_values = (int64_t)ols->n_filters * lw_post_rate(ols->post);
    if (wanted & LW_FILTERED)
        add(plan, (struct lw_op_product){.kind = LW_OP_SERIES, .type = spec->output, .n_planes = ols->n_filters, .width = 1,
                                         .rate = lw_post_rate(ols->post), .every = lw_post_every(ols->post)});
    if (wanted & LW_PEAKS)
        add(plan,
            crossings(&ols->search, plan, spec->n_outputs, ols->n_filters, ols->search.clusters_filters ? ols->n_filters : 1,
                      false));
    if (wanted & LW_BEST) {
        add(plan, array(LW_OP_BEST_VALUE, scalar, is_complex, 1));
        add(plan, array(LW_OP_BEST_FILTER, LW_INT32, false, 1));
    }
    if (wanted & LW_BLOCKS) {
        static const struct {
            unsigned value;
            enum lw_op_product_kind kind;
        } all[] = {{LW_BLOCK_MAX, LW_OP_BLOCK_MAX}, {LW_BLOCK_MEAN, LW_OP_BLOCK_MEAN}, {LW_BLOCK_RMS, LW_OP_BLOCK_RMS}};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            if (!(spec->ols.search.values & all[i].value))
                continue;
            struct lw_op_product product =
                array(all[i].kind, scalar, is_complex && all[i].value == LW_BLOCK_MEAN, spec->ols.n_filters);
            product.every = spec->ols.search.every;
            add(plan, product);
        }
    }
    reach_beyond(&ols->search, spec->n_outputs, ols->stacks ? lw_op_reach_of(spec) : (struct lw_op_reach){0}, plan);
}

int lw_op_find_product(const struct lw_op_plan *plan, enum lw_op_product_kind kind)
{
    for (int p = 0; p < plan->n_products; p++)
        if (plan->products[p].kind == kind)
            return p;
    return -1;
}

int64_t lw_op_most_rows(const struct lw_op_plan *plan, int product, int64_t count, int64_t n_channels)
{
    const struct lw_op_product *const p = &plan->products[product];
    const int64_t all = (count + p->beyond) * n_channels * p->sample_rows;
    return lw_min64(all, lw_max64(all / p->one_in, p->least_rows));
}

/* ---- products of a 2-D convolution ----------------------------------------------------------------------------------- */

void lw_op_conv2d_products(const struct lw_op_spec *spec, struct lw_op_plan *plan)
{
    const struct lw_conv2d_spec *const c = &spec->conv2d;
    const unsigned wanted = lw_search_products(&c->search);
    const int64_t n_crossings = c->n_kernels * c->output_columns;
    plan->n_products = 0;
    plan->n_values = n_crossings;
    if (wanted & LW_FILTERED)
        add(plan, (struct lw_op_product){.kind = LW_OP_SERIES, .type = spec->output, .n_planes = c->n_kernels,
                                         .width = lw_divide_up(c->output_columns, lw_conv2d_every(c)), .rate = 1,
                                         .every = lw_conv2d_every(c)});
    if (wanted & LW_PEAKS)
        add(plan, crossings(&c->search, plan, spec->n_outputs, n_crossings, n_crossings, true));
    if (wanted & LW_BEST) {
        const enum lw_scalar scalar = lw_computed_scalar(spec->precision);
        struct lw_op_product value = array(LW_OP_BEST_VALUE, scalar, lw_op_is_complex(spec), 1);
        struct lw_op_product number = array(LW_OP_BEST_FILTER, LW_INT32, false, 1);
        value.width = number.width = c->output_columns;
        add(plan, value);
        add(plan, number);
    }
    reach_beyond(&c->search, spec->n_outputs, (struct lw_op_reach){0}, plan);
}

int lw_op_conv2d_separable(const struct lw_op_spec *spec, bool *is_product, struct lw_error *err)
{
    const struct lw_conv2d_spec *const c = &spec->conv2d;
    const double allowed = spec->precision == LW_DOUBLE ? 5e-16 : 1e-7;
    const int64_t n = 2 * (c->kernel_rows + c->kernel_columns);
    LW_FREED double *const factors = lw_alloc_array(n, sizeof *factors, "a kernel's factors", err);
    if (!factors)
        return LW_ESYSTEM;
    double residual = 0;
    for (int k = 0; k < c->n_kernels; k++) {
        const double *const kernel = c->kernel + k * c->kernel_rows * c->kernel_columns * (c->kernel_complex ? 2 : 1);
        residual = fmax(residual, lw_separate(kernel, c->kernel_rows, c->kernel_columns, c->kernel_complex, factors,
                                              factors + 2 * c->kernel_rows));
    }
    if (is_product)
        *is_product = residual <= allowed;
    else if (residual > allowed)
        return lw_fail(err, LW_ECONFIG, "--algorithm separable: the kernel is not the product of a column and a row: %.2g of its "
                       "norm would be lost, and at most %.2g may be; choose another algorithm", residual, allowed);
    return LW_OK;
}

struct lw_bands lw_op_conv2d_bands(const struct lw_op_spec *spec, int64_t row_unit, int64_t column_unit, int64_t most_reals)
{
    const struct lw_conv2d_spec *const c = &spec->conv2d;
    const int64_t n_rows = spec->n_outputs > 0 ? spec->n_outputs : 1 << 16, parts = lw_op_is_complex(spec) ? 2 : 1;
    struct lw_bands b = {.columns = lw_padded_length(c->padding, c->output_columns + c->kernel_columns - 1, column_unit)};
    const int64_t most_rows = most_reals / (b.columns * parts), most_hop = most_rows - (c->kernel_rows - 1);
    int64_t hop = c->band > 0 ? c->band : most_hop > c->kernel_rows ? most_hop : c->kernel_rows;
    do {
        b.n = lw_divide_up(n_rows, hop);
        b.hop_rows = lw_divide_up(n_rows, b.n);
        b.rows = lw_padded_length(c->padding, b.hop_rows + c->kernel_rows - 1, row_unit);
        b.is_large = b.rows > most_rows;
        hop = b.hop_rows - 1;           /* the next number of bands has fewer rows each */
    } while (b.is_large && c->band == 0 && b.hop_rows > c->kernel_rows);
    return b;
}

bool lw_op_is_weighted(const struct lw_op_spec *spec)
{
    return spec->kind == LW_OP_CONV2D && spec->conv2d.weights != LW_WEIGHTS_NONE;
}

bool lw_op_has_map(const struct lw_op_spec *spec)
{
    return spec->kind == LW_OP_CONV2D && (spec->conv2d.weights == LW_WEIGHTS_SIGMA || spec->conv2d.weights == LW_WEIGHTS_INVERSE);
}

int lw_conv2d_every(const struct lw_conv2d_spec *conv2d) { return conv2d->every > 1 ? conv2d->every : 1; }

/* ---- filtering of either kind ---------------------------------------------------------------------------------------- */

struct filtering {
    const struct lw_search *search;
    int n_filters;
    int64_t n_taps, width;
    bool has_pixels, is_complex;
};

static struct filtering filtering_of(const struct lw_op_spec *spec)
{
    static const struct lw_search nothing;
    const struct lw_ols_spec *const ols = &spec->ols;
    const struct lw_conv2d_spec *const image = &spec->conv2d;
    switch (spec->kind) {
    case LW_OP_OLS:
        return (struct filtering){&ols->search, ols->n_filters, ols->n_taps, 1, false, ols->taps_complex};
    case LW_OP_CONV2D:
        return (struct filtering){&image->search, image->n_kernels, image->kernel_rows, image->output_columns, true,
                                  image->kernel_complex};
    case LW_OP_SFFT:
    case LW_OP_ACCEL:
        break;
    }
    return (struct filtering){.search = &nothing};
}

const struct lw_search *lw_op_search(const struct lw_op_spec *spec) { return filtering_of(spec).search; }

int lw_op_filters(const struct lw_op_spec *spec) { return filtering_of(spec).n_filters; }

int64_t lw_op_taps(const struct lw_op_spec *spec) { return filtering_of(spec).n_taps; }

int64_t lw_op_width(const struct lw_op_spec *spec) { return filtering_of(spec).width; }

bool lw_op_has_pixels(const struct lw_op_spec *spec) { return filtering_of(spec).has_pixels; }

const struct lw_shifts *lw_op_sums(const struct lw_op_spec *spec)
{
    return spec->kind != LW_OP_OLS ? NULL : spec->ols.beams ? spec->ols.beams : spec->ols.stacks;
}

struct lw_op_spec lw_op_behind_beams(const struct lw_op_spec *spec)
{
    struct lw_op_spec behind = *spec;
    behind.ols.beams = NULL;
    behind.layout = LW_TIME_FAST;
    behind.nan = LW_NAN_PROPAGATE;
    behind.input = (struct lw_type){.scalar = spec->precision == LW_DOUBLE ? LW_FLOAT64 : LW_FLOAT32,
                                    .is_complex = spec->input.is_complex};
    return behind;
}

struct lw_op_plan lw_op_plan_behind_beams(const struct lw_op_spec *spec, const struct lw_op_plan *plan)
{
    struct lw_op_plan behind = *plan;
    behind.halo -= spec->ols.beams->before + spec->ols.beams->after;
    return behind;
}

bool lw_op_sums_channels(const struct lw_op_spec *spec) { return lw_op_sums(spec) != NULL; }

int64_t lw_op_inputs(const struct lw_op_spec *spec, int64_t n_channels)
{
    return lw_op_sums(spec) ? lw_op_sums(spec)->n_inputs : n_channels;
}

int64_t lw_op_filter_values(const struct lw_op_spec *spec)
{
    return spec->ols.n_taps * (spec->ols.own_taps ? lw_op_inputs(spec, spec->n_channels) : 1);
}

bool lw_op_is_array(const struct lw_op_spec *spec)
{
    return spec->kind == LW_OP_OLS && (lw_op_sums(spec) || spec->ols.own_taps || spec->ols.normalize != LW_NORMALIZE_NONE);
}

int lw_op_refuse_array(const struct lw_op_spec *spec, const char *engine, struct lw_error *err)
{
    const struct lw_ols_spec *const ols = &spec->ols;
    if (!lw_op_is_array(spec))
        return LW_OK;
    return lw_fail(err, LW_ECONFIG, "--engine %s cannot make %s: choose another --engine", engine,
                   ols->beams      ? "beams (--beams)"
                   : ols->stacks   ? "stacks (--stack)"
                   : ols->own_taps ? "outputs of filters that differ from channel to channel"
                                   : "normalized outputs (--normalize)");
}

enum lw_layout lw_op_output_layout(const struct lw_op_spec *spec) { return lw_op_sums(spec) ? LW_TIME_FAST : spec->layout; }

struct lw_op_reach lw_op_reach_of(const struct lw_op_spec *spec)
{
    struct lw_op_reach reach = {0};
    if (spec->kind == LW_OP_OLS)
        reach = (struct lw_op_reach){lw_post_reach(spec->ols.post).before, lw_post_reach(spec->ols.post).after};
    if (lw_op_sums(spec)) {
        reach.before += lw_op_sums(spec)->before;
        reach.after += lw_op_sums(spec)->after;
    }
    return reach;
}

bool lw_op_is_complex(const struct lw_op_spec *spec) { return spec->input.is_complex || filtering_of(spec).is_complex; }

/* ---- one product ----------------------------------------------------------------------------------------------------- */

int64_t lw_op_first_output(const struct lw_op_plan *plan, int product, const struct lw_block *block)
{
    const struct lw_op_product *const p = &plan->products[product];
    return lw_divide_up(block->first, p->every) * p->rate;
}

/* An interpolated axis ends with its last sample, which therefore has a single output. */
int64_t lw_op_outputs(const struct lw_op_plan *plan, int product, const struct lw_block *block)
{
    const struct lw_op_product *const p = &plan->products[product];
    const int64_t end = block->first + block->count;
    const int64_t samples = lw_divide_up(end, p->every) - lw_divide_up(block->first, p->every);
    return samples * p->rate - (block->count > 0 && end == plan->n_outputs ? p->rate - 1 : 0);
}

double lw_op_output_factor(const struct lw_op_spec *spec)
{
    return spec->output_scale > 0 && lw_scalar_saturates(spec->output.scalar) ? 1 / spec->output_scale : 1;
}

bool lw_op_squares(const struct lw_op_spec *spec)
{
    return lw_post_has(spec->ols.post, LW_POST_SQUARES) && spec->output.scalar == LW_FLOAT64 && spec->precision == LW_SINGLE;
}

enum lw_post_kind lw_op_made(const struct lw_op_spec *spec)
{
    return lw_op_squares(spec) ? LW_POST_AMPLITUDE : spec->ols.post.kind;
}

void lw_op_power_range(const struct lw_op_spec *spec, double *least, double *most)
{
    const enum lw_scalar scalar = spec->output.scalar;
    const bool is_single = scalar == LW_FLOAT16 ? spec->precision == LW_SINGLE : scalar == LW_FLOAT32;
    *least = is_single ? FLT_MIN : DBL_MIN;
    *most = is_single ? FLT_MAX : DBL_MAX;
    if (lw_scalar_is_integer(scalar)) {
        *least = 0;
        *most = INFINITY;
    }
}

int64_t lw_op_input_bytes(const struct lw_op_spec *spec, const struct lw_op_plan *plan, int64_t count, int64_t n_channels)
{
    return (plan->halo + count) * lw_op_inputs(spec, n_channels) * plan->input_width * (int64_t)lw_type_bytes(spec->input);
}

int64_t lw_op_map_bytes(const struct lw_op_spec *spec, const struct lw_op_plan *plan, int64_t count, int64_t n_channels)
{
    const int64_t pixel = lw_op_has_map(spec) ? (int64_t)lw_type_bytes(spec->conv2d.map) : 0;
    return (plan->halo + count) * n_channels * plan->input_width * pixel;
}

int64_t lw_op_product_bytes(const struct lw_op_plan *plan, int product, int64_t count, int64_t n_channels)
{
    const struct lw_op_product *const p = &plan->products[product];
    if (p->n_planes == 0)
        return lw_op_most_rows(plan, product, count, n_channels) * p->row_bytes;
    return p->n_planes * lw_divide_up(count, p->every) * n_channels * p->rate * p->width * (int64_t)lw_type_bytes(p->type);
}

struct lw_slot_bytes lw_op_slot_bytes(const struct lw_op_spec *spec, const struct lw_op_plan *plan, int64_t count,
                                      int64_t n_channels)
{
    struct lw_slot_bytes bytes = {.input = lw_op_input_bytes(spec, plan, count, n_channels),
                                  .map = lw_op_map_bytes(spec, plan, count, n_channels)};
    for (int p = 0; p < plan->n_products; p++)
        bytes.products[p] = lw_op_product_bytes(plan, p, count, n_channels);
    return bytes;
}

void lw_slot_set_rows(const struct lw_op_plan *plan, const struct lw_slot_bytes *bytes, struct lw_slot *slot)
{
    for (int p = 0; p < plan->n_products; p++)
        if (plan->products[p].n_planes == 0)
            slot->products[p].most_rows = bytes->products[p] / plan->products[p].row_bytes;
}
