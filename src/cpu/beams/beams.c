#include "cpu/beams/beams.h"

#include <inttypes.h>
#include <stdio.h>

/* Nanoseconds of an addition, of an integer and of a real. */
#define INTEGER_COST 0.03
#define REAL_COST 0.08

static int beams_plan(const struct lw_op_spec *spec, struct lw_op_plan *plan, struct lw_error *err)
{
    const struct lw_op_spec inner = lw_op_behind_beams(spec);
    const struct lw_shifts *const shifts = spec->ols.beams;
    int rc;
    if ((rc = lw_cpu_op_ols.plan(&inner, plan, err)) ||
        (rc = spec->ols.shape ? LW_OK : lw_beams_choose(shifts, &plan->beams, err)))
        return rc;
    if (spec->ols.shape)
        plan->beams = *spec->ols.shape;
    const size_t used = strlen(plan->text);
    plan->halo += shifts->before + shifts->after;
    const bool is_integer = lw_cpu_beams_sizes(spec, plan, &(struct lw_cpu_op_size){1, 1, 1}).is_integer;
    const double nanoseconds = (is_integer ? INTEGER_COST : REAL_COST) * plan->beams.additions / (double)shifts->n;
    plan->seconds_per_output += 1e-9 * nanoseconds / (double)plan->n_values;
    snprintf(plan->text + used, sizeof plan->text - used, ", beams by sub-bands of %" PRId64 " channels", plan->beams.width);
    return LW_OK;
}

/* ---- memory ---------------------------------------------------------------------------------------------------------- */

static int64_t lane_bytes(const struct lw_op_spec *spec, const struct lw_op_plan *plan, const struct lw_cpu_beams_sizes *sizes)
{
    struct lw_cpu_beams_lane lane;
    return lw_cpu_beams_lay_out(spec, plan, sizes, NULL, &lane);
}

static int64_t beams_bytes(const struct lw_op_spec *spec, const struct lw_op_plan *plan, const struct lw_cpu_op_size *size)
{
    const struct lw_cpu_beams_sizes sizes = lw_cpu_beams_sizes(spec, plan, size);
    const struct lw_op_spec inner = lw_op_behind_beams(spec);
    const struct lw_op_plan behind = lw_op_plan_behind_beams(spec, plan);
    const struct lw_shifts *const shifts = spec->ols.beams;
    return (int64_t)sizeof(struct lw_cpu_beams) + lw_beams_bytes(shifts, &plan->beams) +
           shifts->n * (int64_t)(sizeof(double) + sizeof(int32_t)) + shifts->n_inputs +
           3 * plan->beams.n_sums * (int64_t)sizeof(int32_t) + sizes.n_rows * sizes.row_bytes +
           size->n_channels * sizes.length * sizes.beam_bytes +
           size->n_threads * ((int64_t)sizeof(struct lw_cpu_beams_lane) + lane_bytes(spec, plan, &sizes)) +
           lw_cpu_op_ols.bytes(&inner, &behind, size);
}

static void beams_destroy(void *state)
{
    struct lw_cpu_beams *const b = state;
    if (!b)
        return;
    lw_cpu_op_ols.destroy(b->inner);
    lw_cpu_lanes_close(&b->lanes);
    lw_beams_destroy(b->shared);
    lw_free(b->scales);
    lw_free(b->biases);
    lw_free(b->used);
    lw_free(b->sums);
    lw_free(b->least);
    lw_free(b->beams);
    lw_free(b);
}

static int open_memory(struct lw_cpu_beams *b, const struct lw_cpu_op_size *size, struct lw_error *err)
{
    static const char what[] = "beams";
    const struct lw_shifts *const shifts = b->spec.ols.beams;
    const struct lw_cpu_beams_sizes *const sizes = &b->sizes;
    const int64_t n_sums = b->plan.beams.n_sums;
    if (!(b->scales = lw_alloc_array(shifts->n, sizeof *b->scales, what, err)) ||
        !(b->biases = lw_alloc_array(shifts->n, sizeof *b->biases, what, err)) ||
        !(b->used = lw_alloc_array(shifts->n_inputs, 1, what, err)) ||
        !(b->sums = lw_alloc_array(sizes->n_rows, (size_t)sizes->row_bytes, what, err)) ||
        !(b->least = lw_alloc_array(3 * n_sums, sizeof *b->least, what, err)) ||
        !(b->beams = lw_alloc_array(size->n_channels * sizes->length, (size_t)sizes->beam_bytes, what, err)))
        return LW_ESYSTEM;
    b->most = b->least + n_sums;
    b->row = b->most + n_sums;
    const int rc = lw_cpu_lanes_open(&b->lanes, size->n_threads, sizeof(struct lw_cpu_beams_lane),
                                     lane_bytes(&b->spec, &b->plan, sizes), err);
    for (int i = 0; rc == LW_OK && i < size->n_threads; i++) {
        struct lw_cpu_beams_lane *const lane = lw_cpu_lane_at(&b->lanes, i);
        lw_cpu_beams_lay_out(&b->spec, &b->plan, sizes, lane->base.memory, lane);
        for (int64_t d = 0; d < shifts->n; d++)
            lane->numbers[d] = -1;
    }
    return rc;
}

/* Set what follows from the weights: integers were stored less half their range, if they are unsigned. */
static void take_weights(struct lw_cpu_beams *b)
{
    const struct lw_shifts *const shifts = b->spec.ols.beams;
    const int32_t half = lw_scalar_is_signed(b->spec.input.scalar) ? 0 : lw_scalar_bytes(b->spec.input.scalar) == 1 ? 0x80 : 0x8000;
    lw_beams_list(shifts, b->scales, b->biases, b->used);
    for (int64_t d = 0; d < shifts->n; d++) {
        b->scales[d] = b->sizes.is_plain ? b->scales[d] : 1;
        b->biases[d] *= half;
    }
}

static int beams_create(const struct lw_op_spec *spec, const struct lw_op_plan *plan, const struct lw_cpu_op_size *size,
                        void **out, struct lw_error *err)
{
    const struct lw_op_spec inner = lw_op_behind_beams(spec);
    const struct lw_op_plan behind = lw_op_plan_behind_beams(spec, plan);
    struct lw_cpu_beams *const b = *out = lw_alloc(sizeof *b, "an operation", err);
    if (!b)
        return LW_ESYSTEM;
    b->spec = *spec;
    b->plan = *plan;
    b->sizes = lw_cpu_beams_sizes(spec, plan, size);
    b->inner_halo = behind.halo;
    int rc;
    if ((rc = lw_beams_create(spec->ols.beams, &plan->beams, 1, &b->shared, err)) || (rc = open_memory(b, size, err)) ||
        (rc = lw_cpu_op_ols.create(&inner, &behind, size, &b->inner, err)))
        return rc;
    take_weights(b);
    return LW_OK;
}

static int beams_fill(void *state, const struct lw_ols_part *part, struct lw_error *err)
{
    return lw_cpu_op_ols.fill(((struct lw_cpu_beams *)state)->inner, part, err);
}

/* ---- a block --------------------------------------------------------------------------------------------------------- */

static void beams_run(void *state, struct lw_slot *slot)
{
    struct lw_cpu_beams *const b = state;
    struct lw_slot behind = *slot, counted;
    lw_cpu_beams_count(b, slot);
    lw_cpu_lanes_report(&b->lanes, &counted);
    lw_cpu_beams_form(b, slot);
    behind.input = b->beams;
    lw_cpu_op_ols.run(b->inner, &behind);
    behind.input = slot->input;
    *slot = behind;
    slot->n_not_finite = counted.n_not_finite;
    slot->not_finite_channel = counted.not_finite_channel;
    slot->not_finite_sample = counted.not_finite_sample;
}

/* The beams may be those of another slot's block by now. */
static void beams_again(void *state, struct lw_slot *slot, const struct lw_part *part)
{
    struct lw_cpu_beams *const b = state;
    struct lw_slot behind = *slot;
    if (b->formed != slot)
        lw_cpu_beams_form(b, slot);
    behind.input = b->beams;
    lw_cpu_op_ols.again(b->inner, &behind, part);
    memcpy(slot->products, behind.products, sizeof slot->products);
}

static void beams_join(void *state, struct lw_slot *slot, int64_t first, int64_t n, const void *values, const int32_t *filters)
{
    lw_cpu_op_ols.join_best(((struct lw_cpu_beams *)state)->inner, slot, first, n, values, filters);
}

const struct lw_cpu_op_ops lw_cpu_op_beams = {
    .plan = beams_plan, .bytes = beams_bytes, .create = beams_create, .fill = beams_fill, .destroy = beams_destroy,
    .run = beams_run, .again = beams_again, .join_best = beams_join,
};
