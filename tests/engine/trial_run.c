/* trial_run.c - drives an engine as the run loop does: blocks at legal cuts, several slots in flight. */
#include "trial.h"

#include "../check.h"
#include "base/integers.h"

#include <stdlib.h>
#include <string.h>

#define MOST_SLOTS 8

struct run {
    struct lw_engine *engine;
    const struct trial_data *data;
    const struct trial_cut *cut;
    struct lw_op_plan plan;
    struct lw_op *op;
    struct lw_slot *slots[MOST_SLOTS];
    int64_t count, n_channels;          /* of the largest block */
    struct trial_result *result;
};

static int64_t at_most(int64_t wanted, int64_t all) { return wanted > 0 && wanted < all ? wanted : all; }

static int64_t n_blocks(int64_t all, int64_t each) { return (all + each - 1) / each; }

/* Blocks in the run loop's order: groups of channels outside, the axis inside. */
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

/* Halo and own samples of the block, packed. Zeros are what a boundary gives outside the signal. */
static void fill_input(const struct run *run, const struct lw_block *block, char *input)
{
    const struct trial *const t = &run->data->trial;
    const size_t bytes = lw_type_bytes(t->input);
    const int64_t length = run->plan.halo + block->count;
    const int64_t start = block->first + run->data->lead - run->plan.halo;
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

static void take_output(const struct run *run, const struct lw_slot *slot)
{
    const struct trial *const t = &run->data->trial;
    const struct lw_block *const b = &slot->block;
    const size_t bytes = lw_type_bytes(t->output);
    const bool is_fast = t->layout == LW_TIME_FAST;
    const struct lw_op_spec spec = trial_spec(run->data);
    const int64_t count = lw_post_outputs(t->post, spec.n_outputs, b->first, b->count), at = divide_up(b->first, lw_post_every(t->post)) * lw_post_rate(t->post);
    const int64_t n_rows = is_fast ? b->n_channels : count, row = is_fast ? count : b->n_channels;
    const int64_t all_rows = is_fast ? t->n_channels : run->data->n_results;
    const int64_t all_row = is_fast ? run->data->n_results : t->n_channels;
    const int64_t first_row = is_fast ? b->channel : at, first = is_fast ? at : b->channel;
    for (int64_t f = 0; f < t->n_filters; f++)
        for (int64_t r = 0; r < n_rows; r++)
            memcpy(run->result->outputs + (size_t)((f * all_rows + first_row + r) * all_row + first) * bytes,
                   (const char *)slot->products[0].data + (size_t)((f * n_rows + r) * row) * bytes, (size_t)row * bytes);
}

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
    take_output(run, slot);
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
        run->count = at_most(run->cut->units * run->plan.unit, run->data->n_outputs);
        run->n_channels = at_most(run->cut->channel_units * run->plan.channel_unit, t->n_channels);
        rc = ops->op_create(run->engine, spec, &run->plan, run->count, run->n_channels, &run->op, &err);
    }
    if (!rc)
        rc = open_slots(run, run->cut->depth, &err);
    char text[256];
    CHECK(rc == LW_OK, "%s: %s", trial_text(t, text), err.message);
    return rc == LW_OK;
}

bool trial_run(struct lw_engine *engine, const struct trial_data *data, const struct trial_cut *cut,
               struct trial_result *result)
{
    const struct trial *const t = &data->trial;
    const struct lw_op_spec spec = trial_spec(data);
    struct run run = {.engine = engine, .data = data, .cut = cut, .result = result};
    *result = (struct trial_result){
        .bytes = (size_t)(t->n_filters * t->n_channels * data->n_results) * lw_type_bytes(t->output),
    };
    result->outputs = malloc(result->bytes);
    if (!result->outputs)
        abort();
    memset(result->outputs, 0x5a, result->bytes);
    const bool is_ready = prepare(&run, &spec);
    result->plan = run.plan;
    if (is_ready)
        run_blocks(&run);
    for (int i = 0; i < cut->depth; i++)
        if (run.slots[i])
            engine->ops->slot_destroy(run.op, run.slots[i]);
    engine->ops->op_destroy(run.op);
    return is_ready;
}
