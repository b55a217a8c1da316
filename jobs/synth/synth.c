#include "jobs/synth/synth.h"

#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"

int lw_synth_create(const struct lw_options *given, struct lw_comm *comm, const char *title,
                    const struct lw_writer_dataset *datasets, int n_datasets, struct lw_writer **out, struct lw_error *err)
{
    LW_FREED char *const configuration = lw_options_resolved(given, "", err);
    const struct lw_attribute root[] = {
        {.name = "title", .kind = LW_ATTRIBUTE_TEXT, .text = title},
        {.name = "configuration", .kind = LW_ATTRIBUTE_TEXT, .text = configuration},
    };
    const struct lw_writer_spec spec = {
        .file = lw_options_text(given, "output"), .overwrite = lw_options_flag(given, "overwrite"), .attributes = root,
        .n_attributes = title ? sizeof root / sizeof *root : 0, .datasets = datasets, .n_datasets = n_datasets,
    };
    const int rc = lw_comm_agree(comm, configuration ? LW_OK : LW_ESYSTEM, err);
    return rc ? rc : lw_writer_create(comm, &spec, out, err);
}

int lw_synth_in_turns(struct lw_comm *comm, const struct lw_synth_turns *turns, lw_synth_block_fn *block, void *context,
                      struct lw_error *err)
{
    const int64_t n = turns->n, step = lw_comm_size(comm) * turns->block;
    struct lw_progress progress;
    int rc = LW_OK;
    lw_progress_start(&progress, turns->n_axes * n * turns->weight, turns->bytes);
    for (int64_t axis = 0; rc == LW_OK && axis < turns->n_axes; axis++)
        for (int64_t begin = 0; rc == LW_OK && begin < n; begin += step) {
            const int64_t first = begin + lw_comm_rank(comm) * turns->block;
            const int64_t count = lw_max64(0, lw_min64(n - first, turns->block));
            rc = block(context, axis, count > 0 ? first : 0, count, err);
            lw_progress_show(&progress, (axis * n + lw_min64(begin + step, n)) * turns->weight);
        }
    lw_progress_end(&progress);
    return rc;
}

/* ---- series ---- */

static int axis_of(const struct lw_synth_series *series)
{
    return series->n_channels > 1 && series->layout == LW_TIME_FAST ? 1 : 0;
}

struct lw_writer_dataset lw_synth_describe(const struct lw_synth_series *series, const struct lw_attribute *notes, int n_notes)
{
    struct lw_writer_dataset signal = {
        .path = "/signal", .n_dims = series->n_channels > 1 ? 2 : 1, .type = series->type, .attributes = notes,
        .n_attributes = n_notes,
    };
    const int axis = axis_of(series);
    signal.dims[axis] = series->n_samples;
    signal.dim_names[axis] = "time";
    if (signal.n_dims == 2) {
        signal.dims[1 - axis] = series->n_channels;
        signal.dim_names[1 - axis] = "channel";
    }
    return signal;
}

int lw_synth_write(const struct lw_synth_series *series, struct lw_writer *writer, int64_t first, int64_t count,
                   const void *samples, struct lw_error *err)
{
    const int axis = axis_of(series);
    int64_t at[2] = {0}, size[2] = {0};
    at[axis] = first;
    size[axis] = count;
    size[1 - axis] = count > 0 ? series->n_channels : 0;
    return lw_writer_write(writer, 0, at, size, samples, err);
}
