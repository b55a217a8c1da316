/* held.c - what an operation holds of the bank, its filters and their noise: memory, and how other filters take their place. */
#include "base/memory.h"
#include "gpu/host/error.h"
#include "gpu/ols/ols.h"

/* Return whether the operation takes other filters of the bank later, for which it keeps its filler. */
static bool keeps_filler(const struct lw_op_spec *spec) { return lw_ols_bank(&spec->ols) > spec->ols.n_filters; }

/* Return the filters as a filler sees them: rows of taps. */
static struct lw_ols_spec rows_of(const struct lw_op_spec *spec, const struct lw_ols_state *ols)
{
    struct lw_ols_spec rows = spec->ols;
    rows.n_filters *= ols->rows;
    return rows;
}

void lw_ols_lay_out(const struct lw_op_spec *spec, struct lw_arena *arena, struct lw_ols_state *ols)
{
    const struct lw_ols_spec rows = rows_of(spec, ols);
    ols->scales = lw_arena_take(arena, lw_ols_scales_bytes(spec));
    ols->filling = lw_arena_take(arena, keeps_filler(spec) ? lw_filler_bytes(&ols->resolved, &rows, 0) : 0);
}

void lw_ols_measure(const struct lw_op_spec *spec, const struct lw_ols_state *ols, struct lw_cuda_op_memory *memory)
{
    const struct lw_ols_spec rows = rows_of(spec, ols);
    const int64_t pinned = lw_filler_pinned_bytes(&rows);
    if (keeps_filler(spec)) {
        memory->pinned_bytes = pinned;
        memory->host_bytes += lw_ols_scales_bytes(spec);
    } else {
        memory->setup_bytes = lw_filler_bytes(&ols->resolved, &rows, 0);
        memory->setup_pinned_bytes = pinned;
    }
}

static int make_filler(const struct lw_op *op, void *memory, struct lw_filler **filler, struct lw_error *err)
{
    const struct lw_ols_state *const ols = op->state;
    const struct lw_ols_spec rows = rows_of(&op->spec, ols);
    return lw_filler_create(&ols->resolved, &rows, 0, memory, op->device->index, op->threads, filler, err);
}

int lw_ols_hold(struct lw_op *op, cudaStream_t stream, struct lw_error *err)
{
    struct lw_ols_state *const ols = op->state;
    const struct lw_ols_part part = {op->spec.ols.taps, op->spec.ols.search.noise, 0, op->spec.ols.n_filters};
    const int rc = keeps_filler(&op->spec) ? make_filler(op, ols->filling, &ols->filler, err) : LW_OK;
    return rc || !part.taps.data ? rc : op->ops->fill(op, &part, stream, err);
}

static int fill_scales(const struct lw_op *op, const struct lw_ols_part *part, cudaStream_t stream, struct lw_error *err)
{
    struct lw_ols_state *const ols = op->state;
    const int64_t bytes = lw_ols_scales_bytes(&op->spec);
    ols->first = lw_search_products(&op->spec.ols.search) & LW_BEST ? part->first : 0;
    ols->n_held = part->n;
    if (bytes == 0)
        return LW_OK;
    if (!ols->host_scales && !(ols->host_scales = lw_alloc((size_t)bytes, "the noise", err)))
        return LW_ESYSTEM;
    int rc = lw_ols_scales(&op->spec, part, ols->host_scales, err);
    rc = rc ? rc : lw_cuda_upload(ols->scales, ols->host_scales, bytes, stream, "copying the noise to the device", err);
    if (!ols->filler) {
        lw_free(ols->host_scales);
        ols->host_scales = NULL;
    }
    return rc;
}

/* Transform the filters, by the operation's filler or one that is made for it. */
static int fill_bank(const struct lw_op *op, const struct lw_ols_part *part, const struct lw_filler_target *target,
                     cudaStream_t stream, struct lw_error *err)
{
    const struct lw_ols_state *const ols = op->state;
    struct lw_filler *filler = NULL;
    void *memory = NULL;
    if (ols->filler)
        return lw_filler_run(ols->filler, &part->taps, part->n * ols->rows, target, stream, err);
    int rc = lw_cuda_allocate(op->memory.setup_bytes, "transforming the filters", &memory, err);
    if (rc)
        return rc;
    if (!(rc = make_filler(op, memory, &filler, err)))
        rc = lw_filler_run(filler, &part->taps, part->n * ols->rows, target, stream, err);
    lw_filler_destroy(filler);
    cudaFree(memory);
    return rc;
}

int lw_ols_fill(const struct lw_op *op, const struct lw_ols_part *part, const struct lw_filler_target *target, cudaStream_t stream,
                struct lw_error *err)
{
    const int rc = fill_bank(op, part, target, stream, err);
    return rc ? rc : fill_scales(op, part, stream, err);
}

void lw_ols_drop(struct lw_ols_state *ols)
{
    lw_filler_destroy(ols->filler);
    cudaFree(ols->memory);
    lw_free(ols->host_scales);
}
