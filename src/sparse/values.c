#include "sparse/values.h"

#include "sfft/signal.h"

#include <math.h>

/* Values of samples as they are stored, rounded as those that the reader gives. */
static void unpack(const struct lw_sparse *run, const char *sample, double out[2])
{
    const struct lw_reader_place *const place = &run->place;
    const bool is_single = run->setup.job.op.input.scalar == LW_FLOAT32;
    for (int part = 0; part < 2; part++)
        out[part] = part == 0 || place->type.is_complex ? lw_type_number(place->type, sample, part) : 0;
    lw_packing_undo(&place->packing, place->type, 1, out);
    for (int part = 0; part < 2; part++)
        out[part] = is_single ? (double)(float)out[part] : out[part];
}

static void take(const struct lw_sparse *run, const char *sample, double out[2])
{
    if (run->is_raw && (run->place.packing.is_on || run->place.type.scalar != run->setup.job.op.input.scalar)) {
        unpack(run, sample, out);
        return;
    }
    const struct lw_sfft_signal signal = {.type = run->setup.job.op.input, .samples = sample, .stride = 1};
    lw_sfft_sample(&signal, 0, out);
}

void lw_sparse_scatter(const struct lw_sparse *run, const struct lw_sfft_samples *samples, const struct lw_sfft_span *span,
                       const struct lw_sparse_block *block, double *values)
{
    for (int64_t i = span->begin; i < span->end; i++) {
        const struct lw_sfft_wanted *const wanted = &samples->wanted[i];
        const char *const sample = block->memory + (wanted->sample - span->first) * block->axis_bytes;
        for (int64_t c = 0; c < block->n_channels; c++)
            take(run, sample + c * block->channel_bytes, values + 2 * (c * samples->total + wanted->place));
    }
}

int64_t lw_sparse_convert(const struct lw_sparse *run, const struct lw_sparse_block *block, int64_t first, int64_t count)
{
    const bool is_real = run->request.spec.is_real;
    int64_t n_not_finite = 0;
    for (int64_t i = 0; i < count; i++) {
        double x[2];
        take(run, block->memory + i * block->axis_bytes, x);
        if (!isfinite(x[0]) || !isfinite(x[1])) {
            n_not_finite++;
            x[0] = x[1] = 0;
        }
        double *const to = run->whole + (is_real ? first + i : 2 * (first + i));
        to[0] = x[0];
        if (!is_real)
            to[1] = x[1];
    }
    return n_not_finite;
}

int64_t lw_sparse_remove_not_finite(double *values, int64_t n_samples)
{
    int64_t found = 0;
    for (double *x = values; x < values + 2 * n_samples; x += 2) {
        if (isfinite(x[0]) && isfinite(x[1]))
            continue;
        found++;
        x[0] = x[1] = 0;
    }
    return found;
}
