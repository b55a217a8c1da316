/* beams.c - overlap-save operations with beams (signal/array.h) on the CUDA engine: tables of the sums, and memory. A block's beams
 * are summed into the slot's work memory by the kernels of beam.h; an operation of gpu/ols takes them for its block.
 *
 *     input -> channels -> beams -> gpu/ols -> products */
#include "base/integers.h"
#include "base/memory.h"
#include "engine/beams.h"
#include "gpu/array/beam.h"
#include "gpu/host/arena.h"
#include "gpu/host/error.h"
#include "gpu/host/op.h"
#include "signal/beams_costs.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Bytes of a chunk's sums of sub-bands, if it is OVERLAPS times as long as their offsets differ. */
#define SUMS_BYTES ((int64_t)1 << 30)
#define OVERLAPS 4

/* The unit is an addition of two numbers in a word, ADDITION seconds on an H100; other kinds take a word for each number. */
static const struct lw_beams_costs costs = {
    .load = 40, .add = 3, .sum = 12, .back = 4, .store = 40, .far = 1, .near_samples = INT64_MAX, .group = LW_BEAM_GROUP,
    .tile = 2 * LW_BEAM_WORDS,
};
#define ADDITION 1e-13

/* Return the numbers of a sample. */
static int numbers_of(const struct lw_op_spec *spec) { return spec->input.is_complex ? 2 : 1; }

struct beams {
    struct lw_op inner;             /* the filters behind the beams */
    struct lw_beam_array array;     /* its work memory is each slot's */
    void *memory;                   /* device: the tables */
};

/* ---- plan ------------------------------------------------------------------------------------------------------------ */

static enum lw_beam_kind kind_of(const struct lw_op_spec *spec)
{
    enum { MOST_SHORTS = 1 << 15 };         /* channels of 16 bits whose sum has 32 */
    const size_t bytes = lw_scalar_bytes(spec->input.scalar);
    if (lw_scalar_is_integer(spec->input.scalar) && bytes <= 2 && spec->ols.beams->n_inputs <= MOST_SHORTS &&
        lw_beams_are_plain(spec->ols.beams))
        return bytes == 1 ? LW_BEAM_BYTES_KIND : LW_BEAM_INTEGERS;
    return spec->precision == LW_DOUBLE ? LW_BEAM_DOUBLES : LW_BEAM_FLOATS;
}

static int plan_beams(const struct lw_device *device, const struct lw_op_spec *spec, struct lw_op_plan *plan, struct lw_error *err)
{
    const struct lw_op_spec inner = lw_op_behind_beams(spec);
    const struct lw_shifts *const shifts = spec->ols.beams;
    int rc;
    if ((rc = lw_cuda_op_ols.plan(device, &inner, plan, err)) || (rc = lw_beams_choose_by(shifts, &costs, &plan->beams, err)))
        return rc;
    const size_t used = strlen(plan->text);
    const double words = kind_of(spec) == LW_BEAM_BYTES_KIND ? 1 : 2 * numbers_of(spec);
    plan->halo += shifts->before + shifts->after;
    plan->seconds_per_output += ADDITION * words * plan->beams.additions / (double)shifts->n / (double)plan->n_values;
    snprintf(plan->text + used, sizeof plan->text - used, ", beams by sub-bands of %" PRId64 " channels", plan->beams.width);
    return LW_OK;
}

/* ---- memory ---------------------------------------------------------------------------------------------------------- */

static int64_t n_groups(const struct lw_shifts *shifts) { return lw_divide_up(shifts->n, LW_BEAM_GROUP); }

/* Lay out the tables. The loads come last, of which there may be fewer. */
static int64_t lay_out_tables(const struct lw_op_spec *spec, const struct lw_op_plan *plan, void *memory,
                              struct lw_beam_tables *tables)
{
    const struct lw_beams_shape *const shape = &plan->beams;
    const struct lw_shifts *const shifts = spec->ols.beams;
    const int64_t pairs = n_groups(shifts) * shape->n_subbands;
    struct lw_arena arena = {.base = memory};
    tables->terms = lw_arena_take(&arena, shape->n_sums * shape->width * (int64_t)sizeof *tables->terms);
    tables->sums = lw_arena_take(&arena, shape->n_sums * (int64_t)sizeof *tables->sums);
    tables->begin = lw_arena_take(&arena, (shape->n_subbands + 1) * (int64_t)sizeof *tables->begin);
    tables->scales = lw_arena_take(&arena, shifts->n * (int64_t)sizeof *tables->scales);
    tables->used = lw_arena_take(&arena, shifts->n_inputs);
    tables->places = lw_arena_take(&arena, pairs * LW_BEAM_GROUP * (int64_t)sizeof *tables->places);
    tables->ends = lw_arena_take(&arena, pairs * (int64_t)sizeof *tables->ends);
    tables->first_load = lw_arena_take(&arena, (pairs + n_groups(shifts)) * (int64_t)sizeof *tables->first_load);
    tables->loads = lw_arena_take(&arena, pairs * LW_BEAM_GROUP * (int64_t)sizeof *tables->loads);
    return arena.used;
}

/* Return the array without its tables. */
static struct lw_beam_array array_of(const struct lw_op_spec *spec, const struct lw_op_plan *plan, int64_t count)
{
    const struct lw_beams_shape *const shape = &plan->beams;
    const struct lw_shifts *const shifts = spec->ols.beams;
    const int64_t parts = numbers_of(spec), outer = parts * shape->outer, length = parts * (plan->halo + count);
    const enum lw_beam_kind kind = kind_of(spec);
    const int64_t near = SUMS_BYTES / (lw_max64(1, shape->n_sums) * lw_beam_sum_bytes(kind)) - outer, tile = lw_beam_tile(kind);
    const int64_t chunk = lw_min64(lw_max64(lw_max64(near, OVERLAPS * outer), 1), length);
    struct lw_beam_array array = {
        .kind = kind, .precision = spec->precision, .n_inputs = (int)shifts->n_inputs, .n_beams = (int)shifts->n,
        .n_subbands = (int)shape->n_subbands, .width = (int)shape->width, .n_sums = (int)shape->n_sums,
        .narrow = (int)lw_max64(1, LW_BEAMS_MOST_WIDTH / shape->width), .before = (int)(parts * shifts->before),
        .channel_pitch = lw_round_up(length, LW_BEAM_ALIGNED), .chunk = lw_round_up(chunk, tile),
    };
    array.sum_pitch = lw_round_up(array.chunk + outer, LW_BEAM_ALIGNED) + 2 * LW_BEAM_ALIGNED;
    return array;
}

/* Parts of a slot's work memory, beside those of the array. */
struct parts {
    struct lw_nan_report *found;            /* samples that are not finite */
    void *inner;
};

static int64_t lay_out_work(const struct lw_cuda_op_memory *largest, int64_t inner_halo, int64_t inner_bytes, void *memory,
                            const struct lw_op_spec *spec, struct lw_beam_array *array, struct parts *parts)
{
    const int64_t real = spec->precision == LW_DOUBLE ? sizeof(double) : sizeof(float);
    struct lw_arena arena = {.base = memory};
    array->channels = lw_arena_take(&arena, array->n_inputs * array->channel_pitch * lw_beam_channel_bytes(array->kind));
    array->sums = lw_arena_take(&arena, array->n_sums * array->sum_pitch * lw_beam_sum_bytes(array->kind));
    array->beams = lw_arena_take(&arena, largest->n_channels * (inner_halo + largest->count) * numbers_of(spec) * real);
    parts->found = lw_arena_take(&arena, sizeof *parts->found);
    parts->inner = lw_arena_take(&arena, inner_bytes);
    return arena.used;
}

static void measure(const struct lw_device *device, const struct lw_op_spec *spec, const struct lw_op_plan *plan,
                    struct lw_cuda_op_memory *memory)
{
    const struct lw_op_spec inner = lw_op_behind_beams(spec);
    const struct lw_op_plan behind = lw_op_plan_behind_beams(spec, plan);
    struct lw_beam_array array = array_of(spec, plan, memory->count);
    struct parts parts;
    lw_cuda_op_ols.measure(device, &inner, &behind, memory);
    memory->work_bytes = lay_out_work(memory, behind.halo, memory->work_bytes, NULL, spec, &array, &parts);
    const int64_t tables = lay_out_tables(spec, plan, NULL, &array.tables);
    memory->op_bytes = lw_device_bytes(memory->op_bytes) + lw_device_bytes(tables);
    memory->host_bytes += (int64_t)sizeof(struct beams) + tables + lw_beams_bytes(spec->ols.beams, &plan->beams);
}

/* ---- tables ---------------------------------------------------------------------------------------------------------- */

/* What the tables are made from, and where they go: host memory. */
struct maker {
    const struct lw_op_spec *spec;
    const struct lw_beams *beams;
    struct lw_beam_array *array;
    int64_t n_loads;
};

/* List the terms of the sums of a sub-band. */
static void list_terms(const struct maker *m, int64_t subband)
{
    const struct lw_beams_shape *const shape = &m->beams->shape;
    const struct lw_shifts *const shifts = m->beams->shifts;
    const int64_t first = subband * shape->width, end = lw_min64(first + shape->width, shifts->n_inputs);
    for (int32_t i = m->beams->begin[subband]; i < m->beams->begin[subband + 1]; i++) {
        const int64_t beam = m->beams->beam[i];
        struct lw_beam_term *const terms = m->array->tables.terms + i * shape->width;
        struct lw_beam_sum *const sum = &m->array->tables.sums[i];
        *sum = (struct lw_beam_sum){.least = INT32_MAX, .most = INT32_MIN, .first = INT32_MAX};
        for (int64_t c = first; c < end; c++)
            if (lw_shifts_weight(shifts, beam, c) != 0)
                terms[sum->n_terms++] = (struct lw_beam_term){
                    .channel = (int32_t)c, .weight = lw_shifts_weight(shifts, beam, c),
                    .delay = (shifts->delays[beam * shifts->n_inputs + c] - m->beams->delay[beam * shape->n_subbands + subband]) *
                             (int32_t)numbers_of(m->spec),
                };
    }
}

/* Find which beams need the sums, and with which offsets. */
static void find_ranges(const struct maker *m)
{
    const int64_t n_subbands = m->beams->shape.n_subbands, parts = numbers_of(m->spec);
    struct lw_beam_array *const array = m->array;
    for (int32_t d = 0; d < array->n_beams; d++)
        for (int64_t at = d * n_subbands; at < (d + 1) * n_subbands; at++) {
            if (m->beams->sum[at] < 0)
                continue;
            struct lw_beam_sum *const sum = &array->tables.sums[m->beams->sum[at]];
            const int32_t offset = m->beams->delay[at] * (int32_t)parts, least = offset & ~(LW_BEAM_ALIGNED - 1);
            sum->least = least < sum->least ? least : sum->least;
            sum->most = offset > sum->most ? offset : sum->most;
            sum->first = d < sum->first ? d : sum->first;
            sum->last = d;
            array->least = least < array->least ? least : array->least;
            array->most = offset > array->most ? offset : array->most;
        }
}

/* A beam's need of a sum. */
struct need {
    int32_t sum, from, beam;        /* number of the sum's row at which the first tile begins */
};

/* List the beams of a group in the order of sums and offsets. @return  how many have a sum */
static int list_needs(const struct maker *m, int64_t group, int64_t subband, struct need needs[LW_BEAM_GROUP])
{
    const int64_t first = group * LW_BEAM_GROUP, end = lw_min64(first + LW_BEAM_GROUP, m->array->n_beams);
    int n = 0;
    for (int64_t d = first; d < end; d++) {
        const int64_t at = d * m->beams->shape.n_subbands + subband;
        const int32_t sum = m->beams->sum[at];
        int i = n;
        if (sum < 0)
            continue;
        const int32_t from = m->beams->delay[at] * (int32_t)numbers_of(m->spec) - m->array->tables.sums[sum].least;
        for (; i > 0 && (needs[i - 1].sum > sum || (needs[i - 1].sum == sum && needs[i - 1].from > from)); i--)
            needs[i] = needs[i - 1];
        needs[i] = (struct need){sum, from, (int32_t)(d - first)};
        n++;
    }
    return n;
}

/* Give the sums that a group needs of a sub-band places in shared memory, from `at` on. Tiles that overlap are loaded together.
 * @return  the place behind them */
static int32_t place(struct maker *m, int64_t group, int64_t subband, int64_t first_load, int32_t at)
{
    struct need needs[LW_BEAM_GROUP];
    const int n = list_needs(m, group, subband, needs);
    uint16_t *const places = m->array->tables.places + (group * m->beams->shape.n_subbands + subband) * LW_BEAM_GROUP;
    struct lw_beam_load *load = NULL;
    memset(places, 0, LW_BEAM_GROUP * sizeof *places);
    m->n_loads = first_load;
    for (int i = 0; i < n; i++) {
        const int32_t from = needs[i].from & ~(LW_BEAM_ALIGNED - 1);
        if (!load || load->sum != needs[i].sum || from > load->from + load->count) {
            at += load ? load->count : 0;
            load = &m->array->tables.loads[m->n_loads++];
            *load = (struct lw_beam_load){.sum = needs[i].sum, .from = from, .at = at};
        }
        places[needs[i].beam] = (uint16_t)(load->at + needs[i].from - load->from);
        load->count = (int32_t)lw_round_up(needs[i].from + LW_BEAM_WORDS, LW_BEAM_ALIGNED) - load->from;
    }
    return at + (load ? load->count : 0);
}

/* Plan the loads of a group: as many sub-bands together as shared memory has room for. The zeros come first there. */
static void plan_group(struct maker *m, int64_t group)
{
    const int64_t n_subbands = m->beams->shape.n_subbands;
    const int64_t word = m->array->kind == LW_BEAM_DOUBLES ? sizeof(double) : sizeof(float);
    int32_t *const ends = m->array->tables.ends + group * n_subbands;
    int32_t *const first_load = m->array->tables.first_load + group * (n_subbands + 1);
    int32_t at = LW_BEAM_WORDS;
    for (int64_t s = 0, begin = 0; s < n_subbands; s++) {
        first_load[s] = (int32_t)m->n_loads;
        const int32_t end = place(m, group, s, first_load[s], at);
        const bool is_full = end * word > LW_BEAM_BYTES || s - begin == LW_BEAM_SUBBANDS;
        begin = is_full ? s : begin;
        at = is_full ? place(m, group, s, first_load[s], LW_BEAM_WORDS) : end;
        ends[begin] = (int32_t)(s + 1);
    }
    first_load[n_subbands] = (int32_t)m->n_loads;
}

/* Set what becomes of the beams' sums, and which channels are used. */
static void list_scales(const struct maker *m)
{
    const struct lw_shifts *const shifts = m->beams->shifts;
    const bool is_more = m->spec->input.scalar == LW_INT8;
    for (int64_t d = 0; d < shifts->n; d++) {
        struct lw_beam_scale *const scale = &m->array->tables.scales[d];
        for (int64_t c = 0; c < shifts->n_inputs; c++) {
            if (lw_shifts_weight(shifts, d, c) == 0)
                continue;
            m->array->tables.used[c] = 1;
            scale->scale = (double)lw_shifts_weight(shifts, d, c);
            scale->bias += is_more ? 0x80 : 0;
        }
    }
}

/* Make the tables in host memory. @return  their bytes */
static int64_t make_tables(const struct lw_op_spec *spec, const struct lw_beams *shared, struct lw_beam_array *array)
{
    struct maker m = {.spec = spec, .beams = shared, .array = array};
    const int64_t n_subbands = shared->shape.n_subbands;
    memcpy(array->tables.begin, shared->begin, (size_t)(n_subbands + 1) * sizeof *shared->begin);
    for (int64_t s = 0; s < n_subbands; s++)
        list_terms(&m, s);
    find_ranges(&m);
    for (int64_t g = 0; g < n_groups(spec->ols.beams); g++)
        plan_group(&m, g);
    list_scales(&m);
    return (char *)(array->tables.loads + m.n_loads) - (char *)array->tables.terms;
}

static int upload_tables(const struct lw_op *op, struct beams *b, cudaStream_t stream, struct lw_error *err)
{
    const struct lw_op_spec *const spec = &op->spec;
    const int64_t most = lay_out_tables(spec, &op->plan, NULL, &b->array.tables);
    struct lw_beams *shared = NULL;
    void *const host = lw_alloc((size_t)most, "tables of beams", err);
    int rc = host ? lw_cuda_allocate(most, "tables of beams", &b->memory, err) : LW_ESYSTEM;
    if (rc == LW_OK && !(rc = lw_beams_create(spec->ols.beams, &op->plan.beams, &shared, err))) {
        lay_out_tables(spec, &op->plan, host, &b->array.tables);
        const int64_t bytes = make_tables(spec, shared, &b->array);
        rc = lw_cuda_upload(b->memory, host, bytes, stream, "copying the tables of beams to the device", err);
        lay_out_tables(spec, &op->plan, b->memory, &b->array.tables);
    }
    lw_beams_destroy(shared);
    lw_free(host);
    return rc;
}

static int create(struct lw_op *op, cudaStream_t stream, struct lw_error *err)
{
    struct beams *const b = op->state = lw_alloc(sizeof *b, "beams", err);
    if (!b)
        return LW_ESYSTEM;
    b->array = array_of(&op->spec, &op->plan, op->memory.count);
    b->inner = (struct lw_op){
        .ops = &lw_cuda_op_ols, .device = op->device, .spec = lw_op_behind_beams(&op->spec),
        .plan = lw_op_plan_behind_beams(&op->spec, &op->plan), .memory = op->memory, .threads = op->threads,
    };
    b->inner.ops->measure(op->device, &b->inner.spec, &b->inner.plan, &b->inner.memory);
    const int rc = upload_tables(op, b, stream, err);
    return rc ? rc : b->inner.ops->create(&b->inner, stream, err);
}

static int fill(struct lw_op *op, const struct lw_ols_part *part, cudaStream_t stream, struct lw_error *err)
{
    struct beams *const b = op->state;
    return b->inner.ops->fill(&b->inner, part, stream, err);
}

static void destroy(struct lw_op *op)
{
    struct beams *const b = op->state;
    if (!b)
        return;
    if (b->inner.ops)
        b->inner.ops->destroy(&b->inner);
    cudaFree(b->memory);
    lw_free(b);
}

/* ---- blocks ---------------------------------------------------------------------------------------------------------- */

/* Find the parts of a slot's work memory. @return  the block of the operation behind the beams */
static struct lw_cuda_op_block behind(const struct lw_op *op, const struct lw_cuda_op_block *work, struct lw_beam_array *array,
                                      struct parts *parts)
{
    const struct beams *const b = op->state;
    struct lw_cuda_op_block inner = *work;
    *array = b->array;
    lay_out_work(&op->memory, b->inner.plan.halo, b->inner.memory.work_bytes, work->work, &op->spec, array, parts);
    inner.input = array->beams;
    inner.work = parts->inner;
    return inner;
}

/* Put the counts of samples that are not finite in place of those of beams. */
static int report(const struct parts *parts, const struct lw_cuda_op_block *work, struct lw_error *err)
{
    const size_t bytes = sizeof *parts->found - offsetof(struct lw_nan_report, n_own);
    return lw_cuda_check(cudaMemcpyAsync(&work->report->n_own, &parts->found->n_own, bytes, cudaMemcpyDeviceToDevice, work->stream),
                         "counting samples that are not a number", err);
}

/* Enqueue the sums of a block's beams. Blocks of other beams have the same samples; the one with the first beam counts them. */
static int form(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_beam_array *array,
                const struct parts *parts, struct lw_error *err)
{
    const struct lw_block *const block = &work->block;
    const int64_t halo = ((const struct beams *)op->state)->inner.plan.halo;
    const struct lw_beam_input input = {
        .samples = work->input, .type = op->spec.input, .is_slow = op->spec.layout == LW_TIME_SLOW,
        .zeroes = op->spec.nan == LW_NAN_ZERO, .n_samples = op->plan.halo + block->count, .own = op->plan.halo,
        .n_own = block->channel == 0 ? block->count : 0, .report = parts->found,
    };
    cudaError_t status = cudaMemsetAsync(parts->found, 0, sizeof *parts->found, work->stream);
    if (status == cudaSuccess)
        status = lw_beam_load_channels(array, &input, work->stream);
    if (status == cudaSuccess)
        status = lw_beam_make(array, (int)block->channel, (int)block->n_channels, numbers_of(&op->spec) * (halo + block->count),
                              work->stream);
    return lw_cuda_check(status, "summing the channels of a block", err);
}

static int enqueue(struct lw_op *op, const struct lw_cuda_op_block *work, struct lw_error *err)
{
    struct beams *const b = op->state;
    struct lw_beam_array array;
    struct parts parts;
    const struct lw_cuda_op_block inner = behind(op, work, &array, &parts);
    int rc;
    if ((rc = form(op, work, &array, &parts, err)) || (rc = b->inner.ops->enqueue(&b->inner, &inner, err)))
        return rc;
    return report(&parts, work, err);
}

static bool must_repeat(const struct lw_op *op, const struct lw_block *block, const struct lw_nan_report *found)
{
    const struct beams *const b = op->state;
    return b->inner.ops->must_repeat(&b->inner, block, found);
}

/* The beams are still in the slot's work memory. */
static int repeat(struct lw_op *op, const struct lw_cuda_op_block *work, struct lw_error *err)
{
    struct beams *const b = op->state;
    struct lw_beam_array array;
    struct parts parts;
    const struct lw_cuda_op_block inner = behind(op, work, &array, &parts);
    const int rc = b->inner.ops->repeat(&b->inner, &inner, err);
    return rc ? rc : report(&parts, work, err);
}

static int again(struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_part *part, struct lw_error *err)
{
    struct beams *const b = op->state;
    struct lw_beam_array array;
    struct parts parts;
    const struct lw_cuda_op_block inner = behind(op, work, &array, &parts);
    return b->inner.ops->again(&b->inner, &inner, part, err);
}

static int join_best(const struct lw_op *op, const struct lw_cuda_op_block *work, int64_t first, int64_t n, const void *values,
                     const int32_t *filters, struct lw_error *err)
{
    const struct beams *const b = op->state;
    struct lw_beam_array array;
    struct parts parts;
    const struct lw_cuda_op_block inner = behind(op, work, &array, &parts);
    return b->inner.ops->join_best(&b->inner, &inner, first, n, values, filters, err);
}

const struct lw_cuda_op_ops lw_cuda_op_beams = {
    .plan = plan_beams, .measure = measure, .create = create, .fill = fill, .destroy = destroy, .enqueue = enqueue,
    .must_repeat = must_repeat, .repeat = repeat, .again = again, .join_best = join_best,
};
