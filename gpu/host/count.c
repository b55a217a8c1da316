/* count.c - counting of series that stay on the device (lw_op_spec.pieces): memory, and the steps of lw_engine_ops.count. */
#include "gpu/device/count.h"

#include "base/integers.h"
#include "base/memory.h"
#include "gpu/host/arena.h"
#include "gpu/host/error.h"
#include "gpu/host/op.h"
#include "gpu/host/pinned.h"
#include "signal/spread.h"

/* Most bins for which there is room; if a block has more, they are copied in several parts. */
enum { MOST_BINS = 1 << 22 };

struct lw_counter {
    void *device;                       /* owned; memory of what the pointers of `its` point to, and of `skip` */
    unsigned char *skip;
    struct lw_cuda_counting its;
    struct lw_pinned pinned;            /* owned; memory of the following */
    struct lw_count_state *state;
    struct lw_counted_piece *pieces;
    struct lw_bin_count *bins;
};

static struct lw_bytes lay_out(const struct lw_op_spec *spec, const struct lw_cuda_op_memory *memory, struct lw_counter *counter)
{
    const int64_t values = memory->count * lw_op_width(spec), all = lw_spread_bins(spec->precision);
    const int64_t n_pieces = lw_op_filters(spec) * memory->n_channels * spec->pieces;
    const int64_t n_bins = lw_max64(all, lw_min64(MOST_BINS, n_pieces * lw_min64(all, values)));
    const int64_t n_marked = lw_op_sums_channels(spec) ? 1 : memory->n_channels;
    const int64_t pieces = n_pieces * (int64_t)sizeof *counter->pieces, bins = n_bins * (int64_t)sizeof *counter->bins;
    struct lw_arena device = {.base = counter->device}, pinned = {.base = counter->pinned.memory};
    if (spec->pieces == 0)
        return (struct lw_bytes){0};
    counter->its = (struct lw_cuda_counting){
        .precision = spec->precision, .is_complex = spec->output.is_complex, .is_slow = lw_op_output_layout(spec) == LW_TIME_SLOW,
        .n_filters = lw_op_filters(spec), .width = lw_op_width(spec), .most_bins = n_bins,
        .state = lw_arena_take(&device, sizeof *counter->state), .pieces = lw_arena_take(&device, pieces),
        .bins = lw_arena_take(&device, bins), .done = lw_arena_take(&device, n_pieces),
        .tables = lw_arena_take(&device, spec->precision == LW_SINGLE ? 0 : LW_COUNT_TABLES * all * (int64_t)sizeof(uint32_t)),
    };
    counter->skip = lw_arena_take(&device, n_marked * lw_round_up(values, LW_ALIGNMENT));
    counter->state = lw_arena_take(&pinned, sizeof *counter->state);
    counter->pieces = lw_arena_take(&pinned, pieces);
    counter->bins = lw_arena_take(&pinned, bins);
    return (struct lw_bytes){.device = device.used, .pinned = pinned.used};
}

struct lw_bytes lw_counter_bytes(const struct lw_op_spec *spec, const struct lw_cuda_op_memory *memory)
{
    struct lw_counter counted = {0};
    return lay_out(spec, memory, &counted);
}

int lw_counter_create(struct lw_op *op, struct lw_error *err)
{
    const struct lw_bytes bytes = lw_counter_bytes(&op->spec, &op->memory);
    int rc;
    if (bytes.device == 0)
        return LW_OK;
    if (!(op->counter = lw_alloc(sizeof *op->counter, "counting outputs", err)))
        return LW_ESYSTEM;
    if ((rc = lw_cuda_allocate(bytes.device, "counting outputs", &op->counter->device, err)) ||
        (rc = lw_pinned_begin(&op->counter->pinned, bytes.pinned, op->device->index, op->threads, err)))
        return rc;
    lay_out(&op->spec, &op->memory, op->counter);
    return LW_OK;
}

void lw_counter_destroy(struct lw_op *op)
{
    if (!op->counter)
        return;
    lw_pinned_end(&op->counter->pinned, op->threads);
    cudaFree(op->counter->device);
    lw_free(op->counter);
}

/* Count the pieces that are not done, as far as there is room, and copy their counts to the host. */
static int count_some(const struct lw_counter *counter, const struct lw_cuda_counting *its, size_t n_pieces, cudaStream_t stream,
                      struct lw_error *err)
{
    static const enum cudaMemcpyKind out = cudaMemcpyDeviceToHost;
    cudaError_t status = cudaMemsetAsync(its->state, 0, sizeof *its->state, stream);
    if (status == cudaSuccess)
        status = lw_cuda_count(its, stream);
    if (status == cudaSuccess)
        status = cudaMemcpyAsync(counter->pieces, its->pieces, n_pieces * sizeof *its->pieces, out, stream);
    if (status == cudaSuccess)
        status = cudaMemcpyAsync(counter->state, its->state, sizeof *its->state, out, stream);
    if (status == cudaSuccess)
        status = cudaStreamSynchronize(stream);
    if (status == cudaSuccess) {
        const size_t n_bins = (size_t)lw_min64(counter->state->n_bins, its->most_bins);
        status = cudaMemcpyAsync(counter->bins, its->bins, n_bins * sizeof *its->bins, out, stream);
    }
    return lw_cuda_check(status == cudaSuccess ? cudaStreamSynchronize(stream) : status, "counting outputs", err);
}

int lw_counter_count(const struct lw_op *op, const struct lw_block *block, const void *series, const struct lw_counting *what,
                     lw_counts_fn *take, void *context, cudaStream_t stream, struct lw_error *err)
{
    struct lw_counter *const counter = op->counter;
    struct lw_cuda_counting its = counter->its;
    its.values = series;
    its.n_channels = block->n_channels;
    its.count = block->count;
    its.n_multiprocessors = op->device->n_multiprocessors;
    its.what = *what;
    its.what.skip = what->skip ? counter->skip : NULL;
    const int64_t n_pieces = its.n_filters * its.n_channels * what->n_rows * what->n_columns;
    const int64_t skip_bytes = lw_max64(what->skip_pitch * its.n_channels, its.count * its.width);
    const struct lw_counts counts = {counter->pieces, counter->bins};
    int rc = lw_pinned_wait(&counter->pinned, op->threads, err);
    if (!rc && what->skip)
        rc = lw_cuda_upload(counter->skip, what->skip, skip_bytes, stream, "copying marks of outputs", err);
    rc = rc ? rc : lw_cuda_check(cudaMemsetAsync(its.done, 0, (size_t)n_pieces, stream), "counting outputs", err);
    do {
        rc = rc ? rc : count_some(counter, &its, (size_t)n_pieces, stream, err);
        rc = rc ? rc : take(context, &counts, err);
    } while (!rc && counter->state->n_left > 0);
    return rc;
}
