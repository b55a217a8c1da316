/* trial_run.c - drives an engine as the run loop does: blocks at legal cuts, several slots in flight. */
#include "trial.h"

#include "../check.h"
#include "base/integers.h"

#include <stdlib.h>
#include <string.h>

#define MOST_SLOTS 8
#define MOST_BLOCKS 100             /* blocks of a trial on the axis: each takes 0.2 ms of a GPU's time */

struct run {
    struct lw_engine *engine;
    const struct trial_data *data;
    const struct trial_cut *cut;
    struct lw_op_plan plan;
    struct lw_op *op;
    struct lw_slot *slots[MOST_SLOTS];
    int64_t count, n_channels;          /* sizes of the largest block */
    struct trial_result *result;
    struct trial_found *found;          /* NULL: only the series is wanted */
};

/* Return `wanted` outputs, or as many whole units as make no more than MOST_BLOCKS pieces of a trial. */
static int64_t at_least(const struct run *run, int64_t wanted)
{
    return lw_max64(wanted, lw_round_up(run->data->n_outputs / MOST_BLOCKS, run->plan.unit));
}

static int64_t at_most(int64_t wanted, int64_t all) { return wanted > 0 && wanted < all ? wanted : all; }

static int64_t n_blocks(int64_t all, int64_t each) { return (all + each - 1) / each; }

/* Blocks come in the run loop's order: groups of channels in the outer loop, the axis in the inner. */
static struct lw_block block_of(const struct run *run, int64_t round)
{
    const int64_t on_axis = n_blocks(run->data->n_outputs, run->count);
    struct lw_block block = {
        .first = round % on_axis * run->count,
        .channel = round / on_axis * run->n_channels,
        .round = round,
    };
    block.count = at_most(run->count, run->data->n_outputs - block.first);
    block.n_channels = at_most(run->n_channels, run->data->trial.n_channels - block.channel);
    return block;
}

/* Fill the halo and the own samples of the block, packed. Positions outside the signal get the boundary's zeros. */
static void fill_input(const struct run *run, const struct lw_block *block, char *input)
{
    const struct trial *const t = &run->data->trial;
    const size_t bytes = lw_type_bytes(t->input);
    const int64_t length = run->plan.halo + block->count;
    const int64_t start = block->first + run->data->lead + run->plan.after - run->plan.halo;
    memset(input, 0, (size_t)(length * block->n_channels) * bytes);
    for (int64_t c = 0; c < block->n_channels; c++) {
        for (int64_t i = 0; i < length; i++) {
            const int64_t from = lw_boundary_index(t->boundary, start + i, t->n_samples);
            const int64_t to = t->layout == LW_TIME_FAST ? c * length + i : i * block->n_channels + c;
            if (from >= 0)
                memcpy(input + (size_t)to * bytes,
                       run->data->stored + (size_t)((block->channel + c) * t->n_samples + from) * bytes, bytes);
        }
    }
}

/* Copy the block's outputs of a product to their places in the array of the whole axis. */
static void take_array(const struct run *run, const struct lw_slot *slot, int product, char *to)
{
    const struct trial *const t = &run->data->trial;
    const struct lw_op_product *const p = &run->plan.products[product];
    const struct lw_block *const b = &slot->block, whole = {.count = run->data->n_outputs};
    const size_t bytes = lw_type_bytes(p->type);
    const bool is_fast = t->layout == LW_TIME_FAST;
    const int64_t count = lw_op_outputs(&run->plan, product, b), at = lw_op_first_output(&run->plan, product, b);
    const int64_t all = lw_op_outputs(&run->plan, product, &whole);
    const int64_t n_rows = is_fast ? b->n_channels : count, row = is_fast ? count : b->n_channels;
    const int64_t all_rows = is_fast ? t->n_channels : all, all_row = is_fast ? all : t->n_channels;
    const int64_t first_row = is_fast ? b->channel : at, first = is_fast ? at : b->channel;
    for (int64_t plane = 0; plane < p->n_planes; plane++)
        for (int64_t r = 0; r < n_rows; r++)
            memcpy(to + (size_t)((plane * all_rows + first_row + r) * all_row + first) * bytes,
                   (const char *)slot->products[product].data + (size_t)((plane * n_rows + r) * row) * bytes, (size_t)row * bytes);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */
static void *grow(void *array, int64_t n, size_t size)
{
    void *const grown = realloc(array, (size_t)n * size);
    if (!grown)
        abort();
    return grown;
}

/* Take the slot's crossings of outputs [first, first + count), and the peaks among them. */
static void take_rows(const struct run *run, const struct lw_slot *slot, int product, int64_t first, int64_t count)
{
    struct trial_found *const found = run->found;
    const struct lw_op_spec spec = trial_spec(run->data);
    const struct lw_peaks_spec pick = {.search = &spec.ols.search, .n_channels = spec.n_channels,
                                       .n_filters = spec.ols.n_filters, .first = first, .end = first + count};
    struct lw_crossing *const rows = slot->products[product].data;
    const int64_t n = slot->products[product].n_rows;
    found->crossings = grow(found->crossings, found->n_crossings + n + 1, sizeof *found->crossings);
    found->peaks = grow(found->peaks, found->n_peaks + n + 1, sizeof *found->peaks);
    for (int64_t i = 0; i < n; i++)
        if (rows[i].index >= first && rows[i].index < first + count)
            found->crossings[found->n_crossings++] = rows[i];
    found->n_peaks += lw_peaks_pick(&pick, rows, n, found->peaks + found->n_peaks);
}

static void search_part(const struct run *run, struct lw_slot *slot, int product, const struct lw_part *part)
{
    struct lw_error err = {0};
    CHECK(run->engine->ops->again(run->op, slot, part, &err) == LW_OK, "%s", err.message);
    const bool fits = slot->products[product].n_rows <= slot->products[product].most_rows;
    CHECK(fits, "the least part has %lld rows, there is room for %lld", (long long)slot->products[product].n_rows,
          (long long)slot->products[product].most_rows);
    if (fits)
        take_rows(run, slot, product, part->first, part->count);
}

/* Search the block again in its smallest parts, one grid unit, one channel unit, one filter, or in a hundredth of the axis. */
static void search_again(const struct run *run, struct lw_slot *slot, int product)
{
    const struct trial *const t = &run->data->trial;
    const struct lw_block *const b = &slot->block;
    const int n_filters = t->search.clusters_filters ? t->n_filters : 1;
    const int64_t each = at_least(run, run->plan.unit);
    for (int64_t first = 0; first < b->count; first += each)
        for (int64_t channel = 0; channel < b->n_channels; channel += run->plan.channel_unit)
            for (int filter = 0; filter < t->n_filters; filter += n_filters)
                search_part(run, slot, product, &(struct lw_part){
                    .first = b->first + first,
                    .count = lw_min64(each, b->count - first),
                    .channel = b->channel + channel,
                    .n_channels = lw_min64(run->plan.channel_unit, b->n_channels - channel),
                    .filter = filter,
                    .n_filters = n_filters,
                });
}

static void take_table(const struct run *run, struct lw_slot *slot, int product)
{
    const struct lw_slot_product *const table = &slot->products[product];
    const bool is_full = table->n_rows > table->most_rows;
    CHECK(table->most_rows == lw_op_most_rows(&run->plan, product, run->count, run->n_channels), "room for %lld rows",
          (long long)table->most_rows);
    run->found->n_again += is_full;
    if (is_full || run->cut->again)
        search_again(run, slot, product);
    else
        take_rows(run, slot, product, slot->block.first, slot->block.count);
}

static void take_products(const struct run *run, struct lw_slot *slot)
{
    for (int p = 0; p < run->plan.n_products; p++) {
        if (run->plan.products[p].kind == LW_OP_SERIES)
            take_array(run, slot, p, run->result->outputs);
        else if (run->plan.products[p].n_planes > 0)
            take_array(run, slot, p, run->found->arrays[p]);
    }
    for (int p = 0; p < run->plan.n_products; p++)
        if (run->plan.products[p].n_planes == 0)
            take_table(run, slot, p);
}

static void open_found(struct run *run)
{
    const struct lw_block whole = {.count = run->data->n_outputs};
    for (int p = 0; run->found && p < run->plan.n_products; p++) {
        const struct lw_op_product *const product = &run->plan.products[p];
        if (product->kind == LW_OP_SERIES || product->n_planes == 0)
            continue;
        const int64_t n = product->n_planes * run->data->trial.n_channels * lw_op_outputs(&run->plan, p, &whole);
        run->found->bytes[p] = (size_t)n * lw_type_bytes(product->type);
        run->found->arrays[p] = grow(NULL, n, lw_type_bytes(product->type));
        memset(run->found->arrays[p], 0x5a, run->found->bytes[p]);
    }
}

void trial_found_free(struct trial_found *found)
{
    for (int p = 0; p < LW_OP_PRODUCTS; p++)
        free(found->arrays[p]);
    free(found->crossings);
    free(found->peaks);
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */
static void take_report(struct trial_result *result, const struct lw_slot *slot)
{
    const int64_t sample = slot->block.first + slot->not_finite_sample;
    const int64_t channel = slot->block.channel + slot->not_finite_channel;
    if (slot->n_not_finite == 0)
        return;
    const bool is_earlier = sample < result->first_sample ||
                            (sample == result->first_sample && channel < result->first_channel);
    if (result->n_not_finite == 0 || is_earlier) {
        result->first_sample = sample;
        result->first_channel = channel;
    }
    result->n_not_finite += slot->n_not_finite;
}

static void collect(struct run *run, struct lw_slot *slot)
{
    struct lw_error err = {0};
    CHECK(run->engine->ops->wait(run->op, slot, &err) == LW_OK, "%s", err.message);
    take_products(run, slot);
    take_report(run->result, slot);
    run->result->is_out_of_range |= slot->is_out_of_range;
    run->result->loss.n_saturated += slot->loss.n_saturated;
    run->result->loss.n_nan += slot->loss.n_nan;
}

static void run_blocks(struct run *run)
{
    const int64_t rounds = n_blocks(run->data->n_outputs, run->count) *
                           n_blocks(run->data->trial.n_channels, run->n_channels);
    const int depth = run->cut->depth;
    struct lw_error err = {0};
    for (int64_t round = 0; round < rounds + depth; round++) {
        struct lw_slot *const slot = run->slots[round % depth];
        if (round >= depth)
            collect(run, slot);
        if (round >= rounds)
            continue;
        const struct lw_block block = block_of(run, round);
        fill_input(run, &block, slot->input);
        CHECK(run->engine->ops->submit(run->op, slot, &block, &err) == LW_OK, "%s", err.message);
    }
}

static int open_slots(struct run *run, int depth, struct lw_error *err)
{
    for (int i = 0; i < depth; i++) {
        const int rc = run->engine->ops->slot_create(run->op, &run->slots[i], err);
        if (rc)
            return rc;
    }
    return LW_OK;
}

static bool prepare(struct run *run, const struct lw_op_spec *spec)
{
    const struct lw_engine_ops *const ops = run->engine->ops;
    const struct trial *const t = &run->data->trial;
    struct lw_error err = {0};
    int rc = ops->op_plan(run->engine, spec, &run->plan, &err);
    if (!rc) {
        run->count = at_most(run->cut->units > 0 ? at_least(run, run->cut->units * run->plan.unit) : 0, run->data->n_outputs);
        run->n_channels = at_most(run->cut->channel_units * run->plan.channel_unit, t->n_channels);
        rc = ops->op_create(run->engine, spec, &run->plan, run->count, run->n_channels, &run->op, &err);
    }
    if (!rc)
        rc = open_slots(run, run->cut->depth, &err);
    char text[256];
    CHECK(rc == LW_OK, "%s: %s", trial_text(t, text), err.message);
    return rc == LW_OK;
}

bool trial_run_search(struct lw_engine *engine, const struct trial_data *data, const struct trial_cut *cut,
                      struct trial_result *result, struct trial_found *found)
{
    const struct trial *const t = &data->trial;
    const struct lw_op_spec spec = trial_spec(data);
    struct run run = {.engine = engine, .data = data, .cut = cut, .result = result, .found = found};
    *result = (struct trial_result){
        .bytes = (size_t)(t->n_filters * t->n_channels * data->n_results) * lw_type_bytes(t->output),
    };
    if (found)
        *found = (struct trial_found){0};
    result->outputs = malloc(result->bytes);
    if (!result->outputs)
        abort();
    memset(result->outputs, 0x5a, result->bytes);
    const bool is_ready = prepare(&run, &spec);
    result->plan = run.plan;
    if (is_ready) {
        open_found(&run);
        run_blocks(&run);
    }
    if (found && found->n_peaks > 0)
        qsort(found->peaks, (size_t)found->n_peaks, sizeof *found->peaks, lw_peaks_compare);
    for (int i = 0; i < cut->depth; i++)
        if (run.slots[i])
            engine->ops->slot_destroy(run.op, run.slots[i]);
    engine->ops->op_destroy(run.op);
    return is_ready;
}

bool trial_run(struct lw_engine *engine, const struct trial_data *data, const struct trial_cut *cut, struct trial_result *result)
{
    return trial_run_search(engine, data, cut, result, NULL);
}
