/* image_run.c - drives an engine as the run loop does: blocks of rows at legal cuts, two slots in flight. */
#include "image.h"

#include "../check.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH = 2 };

int64_t image_rows_at_once = 1;
int image_algorithm_turns = 1;

struct run {
    struct lw_engine *engine;
    const struct image_data *data;
    struct lw_op_spec spec;
    struct lw_op *op;
    struct lw_slot *slots[DEPTH];
    int64_t count;                      /* rows of the largest block */
    struct image_result *result;
};

/* Fill the halo and the own rows of the block, with zeros outside the image, as for an open boundary.
 * @param stored  pixels or their weights, `bytes` each */
static void fill_input(const struct run *run, const struct lw_block *block, const char *stored, size_t bytes, char *input)
{
    const struct image *const t = &run->data->image;
    const int64_t length = run->result->plan.halo + block->count;
    const int64_t start = block->first + run->data->ahead_rows + run->result->plan.after - run->result->plan.halo;
    const size_t row_bytes = (size_t)t->columns * bytes;
    memset(input, 0, (size_t)(length * block->n_channels) * row_bytes);
    for (int64_t c = 0; c < block->n_channels; c++) {
        for (int64_t i = 0; i < length; i++) {
            const int64_t from = lw_boundary_index(t->boundary, start + i, t->rows);
            if (from >= 0)
                memcpy(input + (size_t)(c * length + i) * row_bytes,
                       stored + (size_t)((block->channel + c) * t->rows + from) * row_bytes, row_bytes);
        }
    }
}

/* Copy a product of `rows` x `columns` in the whole image. */
static void take_array(const struct run *run, const struct lw_slot *slot, enum lw_op_product_kind kind, int64_t rows,
                       int64_t columns, char *to)
{
    const struct lw_block *const b = &slot->block;
    const struct lw_op_plan *const plan = &run->result->plan;
    const int product = lw_op_find_product(plan, kind);
    if (product < 0)
        return;
    const size_t row_bytes = (size_t)columns * lw_type_bytes(plan->products[product].type);
    const int64_t first = lw_op_first_output(plan, product, b), count = lw_op_outputs(plan, product, b);
    const int64_t n_images = run->data->image.n_images;
    for (int64_t p = 0; p < plan->products[product].n_planes; p++)
        for (int64_t c = 0; c < b->n_channels; c++)
            memcpy(to + (size_t)((p * n_images + b->channel + c) * rows + first) * row_bytes,
                   (const char *)slot->products[product].data + (size_t)((p * b->n_channels + c) * count) * row_bytes,
                   (size_t)count * row_bytes);
}

static void take_output(const struct run *run, const struct lw_slot *slot)
{
    const struct image_data *const data = run->data;
    take_array(run, slot, LW_OP_SERIES, data->kept_rows, data->kept_columns, run->result->outputs);
    take_array(run, slot, LW_OP_BEST_VALUE, data->out_rows, data->out_columns, run->result->best_values);
    take_array(run, slot, LW_OP_BEST_FILTER, data->out_rows, data->out_columns, (char *)run->result->best_filters);
}

static void *grow(void *rows, int64_t n, size_t bytes)
{
    void *const grown = realloc(rows, (size_t)(n + 1) * bytes);
    if (!grown)
        abort();
    return grown;
}

/* Keep the crossings of rows [first, first + count). */
static void take_crossings(struct image_result *result, const struct lw_slot_product *table, int64_t first, int64_t count)
{
    const struct lw_crossing *const rows = table->data;
    result->crossings = grow(result->crossings, result->n_crossings + table->n_rows, sizeof *rows);
    for (int64_t i = 0; i < table->n_rows; i++)
        if (rows[i].index >= first && rows[i].index < first + count)
            result->crossings[result->n_crossings++] = rows[i];
}

static int compare_crossings(const void *a, const void *b)
{
    const struct lw_crossing *const x = a, *const y = b;
    const int64_t left[] = {x->filter, x->channel, x->index, x->column}, right[] = {y->filter, y->channel, y->index, y->column};
    for (int i = 0; i < 4; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

/* Choose the peaks of rows [first, first + count) among the slot's crossings. */
static void pick_peaks(const struct run *run, const struct lw_slot_product *table, int64_t first, int64_t count)
{
    struct image_result *const result = run->result;
    const struct lw_peaks_spec spec = {
        .search = &run->data->image.search, .n_filters = 1, .first = first, .end = first + count, .is_image = true,
    };
    take_crossings(result, table, first, count);
    if (run->data->image.n_kernels > 1 || run->data->image.weights != LW_WEIGHTS_NONE)
        return;
    result->peaks = grow(result->peaks, result->n_peaks + table->n_rows, sizeof *result->peaks);
    result->n_peaks += lw_peaks_pick(&spec, table->data, table->n_rows, result->peaks + result->n_peaks);
}

/* Search the block again, image by image and unit by unit. */
static void take_parts(const struct run *run, struct lw_slot *slot, const struct lw_slot_product *table)
{
    const struct lw_block *const b = &slot->block;
    const int64_t unit = run->result->plan.unit, end = b->first + b->count;
    struct lw_error err = {0};
    run->result->n_again++;
    for (int64_t first = b->first; first < end; first += unit) {
        for (int64_t c = b->channel; c < b->channel + b->n_channels; c++) {
            const struct lw_part part = {.first = first, .count = unit < end - first ? unit : end - first, .channel = c,
                                         .n_channels = 1, .n_filters = lw_op_filters(&run->spec)};
            CHECK(run->engine->ops->again(run->op, slot, &part, &err) == LW_OK, "%s", err.message);
            CHECK(table->n_rows <= table->most_rows, "a part of one unit has %lld crossings, there is room for %lld",
                  (long long)table->n_rows, (long long)table->most_rows);
            if (table->n_rows <= table->most_rows)
                pick_peaks(run, table, part.first, part.count);
        }
    }
}

static void take_peaks(const struct run *run, struct lw_slot *slot)
{
    const int product = lw_op_find_product(&run->result->plan, LW_OP_CROSSINGS);
    if (product < 0)
        return;
    const struct lw_slot_product *const table = &slot->products[product];
    if (table->n_rows <= table->most_rows)
        pick_peaks(run, table, slot->block.first, slot->block.count);
    else
        take_parts(run, slot, table);
}

static void take_report(struct image_result *result, const struct lw_slot *slot)
{
    if (slot->n_not_finite > 0 && result->n_not_finite == 0) {
        result->first_row = slot->block.first + slot->not_finite_sample;
        result->first_image = slot->block.channel + slot->not_finite_channel;
        result->first_column = slot->not_finite_column;
    }
    result->n_not_finite += slot->n_not_finite;
}

static void run_blocks(struct run *run)
{
    const int64_t rounds = (run->data->out_rows + run->count - 1) / run->count;
    struct lw_error err = {0};
    for (int64_t round = 0; round < rounds + DEPTH; round++) {
        struct lw_slot *const slot = run->slots[round % DEPTH];
        if (round >= DEPTH) {
            CHECK(run->engine->ops->wait(run->op, slot, &err) == LW_OK, "%s", err.message);
            take_output(run, slot);
            take_peaks(run, slot);
            take_report(run->result, slot);
        }
        if (round >= rounds)
            continue;
        const int64_t first = round * run->count, left = run->data->out_rows - first;
        const struct lw_block block = {.first = first, .count = left < run->count ? left : run->count,
                                       .n_channels = run->data->image.n_images, .round = round};
        fill_input(run, &block, run->data->stored, lw_type_bytes(run->data->image.input), slot->input);
        if (slot->map)
            fill_input(run, &block, run->data->map, lw_type_bytes(run->data->image.map), slot->map);
        CHECK(run->engine->ops->submit(run->op, slot, &block, &err) == LW_OK, "%s", err.message);
    }
}

static bool prepare(struct run *run, const struct lw_op_spec *spec, int64_t units)
{
    const struct lw_engine_ops *const ops = run->engine->ops;
    struct lw_op_plan *const plan = &run->result->plan;
    struct lw_error err = {0};
    int rc = ops->op_plan(run->engine, spec, plan, &err);
    if (!rc) {
        const bool is_row_by_row = plan->unit == 1 && units < image_rows_at_once;
        const int64_t wanted = units * (is_row_by_row ? image_rows_at_once : plan->unit);
        run->count = wanted > 0 && wanted < run->data->out_rows ? wanted : run->data->out_rows;
        rc = ops->op_create(run->engine, spec, plan, run->count, spec->n_channels, &run->op, &err);
    }
    for (int i = 0; !rc && i < DEPTH; i++)
        rc = ops->slot_create(run->op, &run->slots[i], &err);
    char text[400];
    CHECK(rc == LW_OK, "%s: %s", image_text(&run->data->image, text), err.message);
    return rc == LW_OK;
}

void image_forget(struct image_result *result)
{
    void *const all[] = {result->outputs, result->best_values, result->best_filters, result->peaks, result->crossings};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

bool image_run(struct lw_engine *engine, const struct image_data *data, int64_t units, struct image_result *result)
{
    struct run run = {.engine = engine, .data = data, .spec = image_spec(data), .result = result};
    const int64_t n_images = data->image.n_images, n_planes = lw_op_filters(&run.spec) * n_images;
    const size_t n_best = (size_t)(n_images * data->out_rows * data->out_columns);
    *result = (struct image_result){
        .bytes = (size_t)(n_planes * data->kept_rows * data->kept_columns) * lw_type_bytes(data->image.output),
        .best_values = calloc(n_best, 2 * sizeof(double)), .best_filters = calloc(n_best, sizeof(int32_t)),
    };
    result->outputs = malloc(result->bytes);
    if (!result->outputs || !result->best_values || !result->best_filters)
        abort();
    memset(result->outputs, 0x5a, result->bytes);
    const bool is_ready = prepare(&run, &run.spec, units);
    if (is_ready)
        run_blocks(&run);
    if (result->n_peaks > 0)
        qsort(result->peaks, (size_t)result->n_peaks, sizeof *result->peaks, lw_peaks_compare);
    if (result->n_crossings > 0)
        qsort(result->crossings, (size_t)result->n_crossings, sizeof *result->crossings, compare_crossings);
    for (int i = 0; i < DEPTH; i++)
        if (run.slots[i])
            engine->ops->slot_destroy(run.op, run.slots[i]);
    engine->ops->op_destroy(run.op);
    return is_ready;
}
