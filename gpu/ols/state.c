#include "gpu/ols/state.h"

#include "gpu/host/error.h"

enum lw_scalar lw_ols_computed_scalar(const struct lw_op_spec *spec)
{
    return spec->precision == LW_SINGLE ? LW_FLOAT32 : LW_FLOAT64;
}

bool lw_ols_is_thin(const struct lw_ols_resolved *resolved) { return !resolved->is_long && resolved->kernel.fold > 0; }

int64_t lw_ols_output_scalars(const struct lw_op_spec *spec, int64_t count, int64_t n_channels)
{
    return spec->ols.n_filters * count * n_channels * (spec->output.is_complex ? 2 : 1);
}

int64_t lw_ols_series_bytes(const struct lw_op_spec *spec, int64_t count, int64_t n_channels)
{
    return lw_ols_output_scalars(spec, count, n_channels) * (int64_t)lw_scalar_bytes(lw_ols_computed_scalar(spec));
}

static struct lw_post_args post_of(const struct lw_op *op, const struct lw_cuda_op_block *work)
{
    struct lw_post_args post = ((const struct lw_ols_state *)op->state)->post;
    post.first = work->block.first;
    post.out_of_range = &work->report->out_of_range;
    return post;
}

static bool is_slow(const struct lw_op *op) { return op->spec.layout == LW_TIME_SLOW; }

/* The piece's channels in the block's input, from sample `skip` of its row on. */
static void *input_of(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece, int64_t skip)
{
    const int64_t row = op->plan.halo + work->block.count;
    const int64_t at = is_slow(op) ? skip * work->block.n_channels + piece->channel : piece->channel * row + skip;
    return (char *)work->input + at * (int64_t)lw_type_bytes(op->spec.input);
}

int lw_ols_filter(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece, void *output,
                  const struct lw_cuda_ols_search *search, struct lw_error *err)
{
    const struct lw_ols_state *const ols = op->state;
    const struct lw_post_args post = post_of(op, work);
    const struct lw_cuda_ols_block block = {
        .input = input_of(op, work, piece, piece->skip),
        .output = output,
        .bank = ols->memory,
        .not_finite = &work->report->flag,
        .count = piece->count,
        .more = piece->more,
        .best_pitch = piece->pitch,
        .input_pitch = is_slow(op) ? work->block.n_channels : op->plan.halo + work->block.count,
        .post = lw_cuda_post_is_needed(op->spec.ols.post) || lw_ols_is_thin(&ols->resolved) ? &post : NULL,
        .n_channels = piece->n_channels,
        .search = search,
    };
    if (ols->long_ols)
        return lw_long_ols_launch(ols->long_ols, &block, work->stream, err);
    return lw_cuda_check((cudaError_t)lw_cuda_ols_launch(&ols->resolved.kernel, &block, work->stream),
                         "filtering a block", err);
}

struct lw_repair lw_ols_repair(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece,
                               void *output)
{
    return (struct lw_repair){
        .input = input_of(op, work, piece, 0),
        .output = output,
        .report = work->report,
        .input_type = op->spec.input,
        .output_complex = op->spec.output.is_complex,
        .precision = op->spec.precision,
        .layout = op->spec.layout,
        .n_taps = op->spec.ols.n_taps,
        .halo = op->plan.halo,
        .count = work->block.count,
        .n_channels = piece->n_channels,
        .input_channels = work->block.n_channels,
        .skip = piece->skip,
        .span = op->plan.halo - op->plan.before - op->plan.after,
        .n_outputs = piece->count,
        .n_planes = op->spec.ols.n_filters,
        .every = lw_ols_is_thin(&((const struct lw_ols_state *)op->state)->resolved) ? lw_post_every(op->spec.ols.post) : 1,
        .post = post_of(op, work),
    };
}

int lw_ols_mark(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece, void *output,
                bool is_silent, struct lw_error *err)
{
    struct lw_repair repair = lw_ols_repair(op, work, piece, output);
    repair.is_silent = is_silent;
    return op->spec.nan == LW_NAN_ZERO ? LW_OK : lw_cuda_check(lw_cuda_repair_nan(&repair, work->stream),
                                                               "marking what is not a number", err);
}
