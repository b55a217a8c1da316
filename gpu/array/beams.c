/* beams.c - overlap-save operations with beams (signal/array.h) on the CUDA engine: tables of the sums, and memory. A block's beams
 * are summed into the slot's work memory by the kernels of beam.h; an operation of gpu/ols takes them for its block.
 *
 *     input -> channels -> beams -> gpu/ols -> products */
#include "base/integers.h"
#include "base/memory.h"
#include "base/proc.h"
#include "gpu/array/beam.h"
#include "gpu/host/arena.h"
#include "gpu/host/error.h"
#include "gpu/host/op.h"

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
    .tile = 2 * LW_BEAM_WORDS, .looks = 128,
};
#define ADDITION 1e-13

/* Return the threads that look for equal sums. */
static int n_threads(void) { return (int)lw_min64(lw_proc_cores(), 8); }

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
    if ((rc = lw_cuda_op_ols.plan(device, &inner, plan, err)) ||
        (rc = spec->ols.shape ? LW_OK : lw_beams_choose_by(shifts, &costs, n_threads(), &plan->beams, err)))
        return rc;
    if (spec->ols.shape)
        plan->beams = *spec->ols.shape;
    const size_t used = strlen(plan->text);
    const double words = kind_of(spec) == LW_BEAM_BYTES_KIND ? 1 : 2 * numbers_of(spec);
    plan->halo += shifts->before + shifts->after;
    plan->seconds_per_output += ADDITION * words * plan->beams.additions / (double)shifts->n / (double)plan->n_values;
    snprintf(plan->text + used, sizeof plan->text - used, ", beams by sub-bands of %" PRId64 " channels", plan->beams.width);
    return LW_OK;
}

/* ---- memory ---------------------------------------------------------------------------------------------------------- */

static int64_t n_groups(const struct lw_shifts *shifts) { return lw_divide_up(shifts->n, LW_BEAM_GROUP); }

/* Lay out the tables. Each group has room for its loads, of which there may be fewer. */
static int64_t lay_out_tables(const struct lw_op_spec *spec, const struct lw_op_plan *plan, void *memory,
                              struct lw_beam_tables *tables)
{
    const struct lw_beams_shape *const shape = &plan->beams;
    const struct lw_shifts *const shifts = spec->ols.beams;
    const int64_t pairs = n_groups(shifts) * shape->n_subbands;
    struct lw_arena arena = {.base = memory};
    const int64_t table = shifts->n * shifts->n_inputs * (int64_t)sizeof *tables->delays;
    tables->delays = lw_arena_take(&arena, table);
    tables->weights = shifts->weights ? lw_arena_take(&arena, table) : NULL;
    tables->sums = lw_arena_take(&arena, shape->n_sums * (int64_t)sizeof *tables->sums);
    tables->begin = lw_arena_take(&arena, (shape->n_subbands + 1) * (int64_t)sizeof *tables->begin);
    tables->scales = lw_arena_take(&arena, shifts->n * (int64_t)sizeof *tables->scales);
    tables->counts = lw_arena_take(&arena, shifts->n * (int64_t)sizeof *tables->counts);
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
    const struct lw_beam_sizes sizes = lw_beam_sizes_of(kind);
    const int64_t near = SUMS_BYTES / (lw_max64(1, shape->n_sums) * sizes.sum) - outer;
    const int64_t chunk = lw_min64(lw_max64(lw_max64(near, OVERLAPS * outer), 1), length);
    struct lw_beam_array array = {
        .kind = kind, .precision = spec->precision, .n_inputs = (int)shifts->n_inputs, .n_beams = (int)shifts->n,
        .n_subbands = (int)shape->n_subbands, .width = (int)shape->width, .n_sums = (int)shape->n_sums, .parts = (int)parts,
        .more = spec->input.scalar == LW_INT8 ? 0x80 : 0,
        .narrow = (int)lw_max64(1, LW_BEAMS_MOST_WIDTH / shape->width), .before = (int)(parts * shifts->before),
        .after = (int)(parts * shifts->after), .sizes = sizes,
        .channel_pitch = lw_round_up(length, LW_BEAM_ALIGNED) + 2 * LW_BEAM_ALIGNED, .chunk = lw_round_up(chunk, sizes.tile),
    };
    array.sum_pitch = lw_round_up(array.chunk + outer, LW_BEAM_ALIGNED) + 2 * LW_BEAM_ALIGNED;
    return array;
}

/* Lay out a slot's work memory. @param inner  the operation behind the beams @param found, rest  its report and work memory */
static int64_t lay_out_work(const struct lw_op_spec *spec, const struct lw_cuda_op_memory *largest, const struct lw_op *inner,
                            void *memory, struct lw_beam_array *array, struct lw_nan_report **found, void **rest)
{
    const int64_t beam = (inner->plan.halo + largest->count) * (int64_t)lw_type_bytes(lw_op_behind_beams(spec).input);
    struct lw_arena arena = {.base = memory};
    array->channels = lw_arena_take(&arena, array->n_inputs * array->channel_pitch * array->sizes.channel);
    array->sums = lw_arena_take(&arena, array->n_sums * array->sum_pitch * array->sizes.sum);
    array->beams = lw_arena_take(&arena, largest->n_channels * beam);
    *found = lw_arena_take(&arena, sizeof **found);
    *rest = lw_arena_take(&arena, inner->memory.work_bytes);
    return arena.used;
}

/* Return the operation behind the beams, with the memory that it needs. */
static struct lw_op inner_of(const struct lw_device *device, const struct lw_op_spec *spec, const struct lw_op_plan *plan,
                             const struct lw_cuda_op_memory *memory)
{
    struct lw_op inner = {
        .ops = &lw_cuda_op_ols, .device = device, .spec = lw_op_behind_beams(spec), .plan = lw_op_plan_behind_beams(spec, plan),
        .memory = *memory,
    };
    inner.ops->measure(device, &inner.spec, &inner.plan, &inner.memory);
    return inner;
}

static void measure(const struct lw_device *device, const struct lw_op_spec *spec, const struct lw_op_plan *plan,
                    struct lw_cuda_op_memory *memory)
{
    const struct lw_op inner = inner_of(device, spec, plan, memory);
    struct lw_beam_array array = array_of(spec, plan, memory->count);
    const int64_t tables = lay_out_tables(spec, plan, NULL, &array.tables);
    struct lw_nan_report *found;
    void *rest;
    *memory = inner.memory;
    memory->work_bytes = lay_out_work(spec, memory, &inner, NULL, &array, &found, &rest);
    memory->op_bytes = lw_device_bytes(inner.memory.op_bytes) + lw_device_bytes(tables);
    memory->host_bytes += (int64_t)sizeof(struct beams) + tables + lw_beams_bytes(spec->ols.beams, &plan->beams);
}

/* ---- tables ---------------------------------------------------------------------------------------------------------- */

/* Sources of the tables, and their place in host memory. */
struct maker {
    const struct lw_beams *beams;
    struct lw_beam_array *array;
    int64_t n_loads;
};

/* Find which beams need the sums, and with which offsets. */
static void find_ranges(const struct maker *m)
{
    const int64_t n_subbands = m->beams->shape.n_subbands;
    struct lw_beam_array *const array = m->array;
    for (int32_t d = 0; d < array->n_beams; d++)
        for (int64_t at = d * n_subbands; at < (d + 1) * n_subbands; at++) {
            if (m->beams->sum[at] < 0)
                continue;
            struct lw_beam_sum *const sum = &array->tables.sums[m->beams->sum[at]];
            const int32_t offset = m->beams->delay[at] * array->parts, least = offset & ~(LW_BEAM_ALIGNED - 1);
            if (m->beams->beam[m->beams->sum[at]] == d)
                *sum = (struct lw_beam_sum){.least = least, .most = offset, .first = d, .offset = offset};
            sum->least = least < sum->least ? least : sum->least;
            sum->most = offset > sum->most ? offset : sum->most;
            sum->last = d;
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
        const int32_t from = m->beams->delay[at] * m->array->parts - m->array->tables.sums[sum].least;
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
static int plan_group(void *context, int64_t group, int thread, struct lw_error *err)
{
    struct maker copy = *(const struct maker *)context, *const m = &copy;
    const int64_t n_subbands = m->beams->shape.n_subbands;
    int32_t *const ends = m->array->tables.ends + group * n_subbands;
    int32_t *const first_load = m->array->tables.first_load + group * (n_subbands + 1);
    int32_t at = LW_BEAM_WORDS;
    (void)thread, (void)err;
    m->n_loads = group * n_subbands * LW_BEAM_GROUP;
    for (int64_t s = 0, begin = 0; s < n_subbands; s++) {
        first_load[s] = (int32_t)m->n_loads;
        const int32_t end = place(m, group, s, first_load[s], at);
        const bool is_full = end * m->array->sizes.word > LW_BEAM_BYTES || s - begin == LW_BEAM_SUBBANDS;
        begin = is_full ? s : begin;
        at = is_full ? place(m, group, s, first_load[s], LW_BEAM_WORDS) : end;
        ends[begin] = (int32_t)(s + 1);
    }
    first_load[n_subbands] = (int32_t)m->n_loads;
    return LW_OK;
}

/* Make the tables in host memory. */
static int make_tables(const struct lw_beams *shared, struct lw_pool *threads, struct lw_beam_array *array, struct lw_error *err)
{
    const struct lw_shifts *const shifts = shared->shifts;
    struct lw_beam_tables *const tables = &array->tables;
    struct maker m = {.beams = shared, .array = array};
    struct lw_batch batch = {.n_pieces = n_groups(shifts), .work = plan_group, .context = &m};
    const size_t n = (size_t)(shifts->n * shifts->n_inputs);
    memcpy(tables->delays, shifts->delays, n * sizeof *tables->delays);
    if (shifts->weights)
        memcpy(tables->weights, shifts->weights, n * sizeof *tables->weights);
    memcpy(tables->begin, shared->begin, (size_t)(array->n_subbands + 1) * sizeof *tables->begin);
    lw_beams_list(shifts, tables->scales, tables->counts, tables->used);
    find_ranges(&m);
    lw_pool_start(threads, &batch);
    return lw_pool_wait(threads, &batch, err);
}

static int upload_tables(const struct lw_op *op, struct beams *b, cudaStream_t stream, struct lw_error *err)
{
    const struct lw_op_spec *const spec = &op->spec;
    const int64_t most = lay_out_tables(spec, &op->plan, NULL, &b->array.tables);
    struct lw_beams *shared = NULL;
    void *const host = lw_alloc((size_t)most, "tables of beams", err);
    int rc = host ? lw_cuda_allocate(most, "tables of beams", &b->memory, err) : LW_ESYSTEM;
    if (rc == LW_OK && !(rc = lw_beams_create(spec->ols.beams, &op->plan.beams, n_threads(), &shared, err))) {
        lay_out_tables(spec, &op->plan, host, &b->array.tables);
        rc = make_tables(shared, op->threads, &b->array, err);
        rc = rc ? rc : lw_cuda_upload(b->memory, host, most, stream, "copying the tables of beams to the device", err);
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
    b->inner = inner_of(op->device, &op->spec, &op->plan, &op->memory);
    b->inner.threads = op->threads;
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

/* A block: where its beams are summed, and the block of the operation behind them. */
struct formed {
    struct lw_beam_array array;
    struct lw_nan_report *found;            /* device: samples that are not finite */
    struct lw_cuda_op_block inner;
};

static struct formed formed_of(const struct lw_op *op, const struct lw_cuda_op_block *work)
{
    const struct beams *const b = op->state;
    struct formed formed = {.array = b->array, .inner = *work};
    lay_out_work(&op->spec, &op->memory, &b->inner, work->work, &formed.array, &formed.found, &formed.inner.work);
    formed.inner.input = formed.array.beams;
    return formed;
}

/* Enqueue the sums of a block's beams. Blocks of other beams have the same samples; the one with the first beam counts them. */
static int form(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct formed *formed, struct lw_error *err)
{
    const struct lw_block *const block = &work->block;
    const int64_t halo = ((const struct beams *)op->state)->inner.plan.halo;
    const struct lw_beam_input input = {
        .samples = work->input, .type = op->spec.input, .is_slow = op->spec.layout == LW_TIME_SLOW,
        .zeroes = op->spec.nan == LW_NAN_ZERO, .n_samples = op->plan.halo + block->count, .own = op->plan.halo,
        .n_own = block->channel == 0 ? block->count : 0, .report = formed->found,
    };
    cudaError_t status = cudaMemsetAsync(formed->found, 0, sizeof *formed->found, work->stream);
    if (status == cudaSuccess)
        status = lw_beam_load_channels(&formed->array, &input, work->stream);
    if (status == cudaSuccess)
        status = lw_beam_make(&formed->array, (int)block->channel, (int)block->n_channels,
                              numbers_of(&op->spec) * (halo + block->count), work->stream);
    return lw_cuda_check(status, "summing the channels of a block", err);
}

/* Put the counts of samples that are not finite in place of those of beams. @param rc  what has been enqueued before */
static int report(const struct formed *formed, const struct lw_cuda_op_block *work, int rc, struct lw_error *err)
{
    const size_t bytes = sizeof *formed->found - offsetof(struct lw_nan_report, n_own);
    return rc ? rc : lw_cuda_check(cudaMemcpyAsync(&work->report->n_own, &formed->found->n_own, bytes, cudaMemcpyDeviceToDevice,
                                                   work->stream), "counting samples that are not a number", err);
}

static int enqueue(struct lw_op *op, const struct lw_cuda_op_block *work, struct lw_error *err)
{
    struct beams *const b = op->state;
    const struct formed formed = formed_of(op, work);
    const int rc = form(op, work, &formed, err);
    return report(&formed, work, rc ? rc : b->inner.ops->enqueue(&b->inner, &formed.inner, err), err);
}

static bool must_repeat(const struct lw_op *op, const struct lw_block *block, const struct lw_nan_report *found)
{
    const struct beams *const b = op->state;
    return b->inner.ops->must_repeat(&b->inner, block, found);
}

/* The beams are still in the slot's work memory, here and below. */
static int repeat(struct lw_op *op, const struct lw_cuda_op_block *work, struct lw_error *err)
{
    struct beams *const b = op->state;
    const struct formed formed = formed_of(op, work);
    return report(&formed, work, b->inner.ops->repeat(&b->inner, &formed.inner, err), err);
}

static int again(struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_part *part, struct lw_error *err)
{
    struct beams *const b = op->state;
    const struct formed formed = formed_of(op, work);
    return b->inner.ops->again(&b->inner, &formed.inner, part, err);
}

static int join_best(const struct lw_op *op, const struct lw_cuda_op_block *work, int64_t first, int64_t n, const void *values,
                     const int32_t *filters, struct lw_error *err)
{
    const struct beams *const b = op->state;
    const struct formed formed = formed_of(op, work);
    return b->inner.ops->join_best(&b->inner, &formed.inner, first, n, values, filters, err);
}

const struct lw_cuda_op_ops lw_cuda_op_beams = {
    .plan = plan_beams, .measure = measure, .create = create, .fill = fill, .destroy = destroy, .enqueue = enqueue,
    .must_repeat = must_repeat, .repeat = repeat, .again = again, .join_best = join_best,
};
