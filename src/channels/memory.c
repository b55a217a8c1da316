#include "channels/state.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/bytes/spool.h"

/* Bytes of the two buffers of reads together, unless one sample of a group is larger. */
#define READ_BYTES ((int64_t)32 << 20)

enum { PIECE = 1024 };              /* samples of a piece of the running mean (read.c) */

static struct lw_view_spec view_of(const struct lw_channels *run)
{
    struct lw_view_spec view = run->setup.job.view;
    view.max_axis = run->block;
    view.max_channels = run->group;
    view.chunks = LW_CHUNKS_WHOLE;
    return view;
}

/* Return whether marks are read with the samples. */
static bool reads_marks(const struct lw_channels *run)
{
    return run->marks.reader && run->marks.shape != LW_MARKS_BY_CHANNEL && !run->marks.bits;
}

static struct lw_view_spec view_of_marks(const struct lw_channels *run)
{
    struct lw_view_spec view = view_of(run);
    if (run->marks.shape == LW_MARKS_BY_SAMPLE) {
        view.axis = 0;
        view.channels = (struct lw_range){0, 1, 1};
        view.max_channels = 1;
    }
    return view;
}

static int64_t marks_bytes(const struct lw_channels *run)
{
    return reads_marks(run) ? run->block * run->group * (int64_t)lw_type_bytes(run->marks.type) : 0;
}

static int64_t block_bytes(const struct lw_channels *run)
{
    return run->block * run->group * (int64_t)lw_type_bytes(run->setup.job.op.input);
}

/* Bytes that lw_channels_allocate takes, and those of the table at the end. */
static int64_t kept_bytes(const struct lw_channels *run)
{
    const struct lw_accel_plan *const plan = &run->request->plan;
    const int64_t series = run->group * (plan->spec.n * (int64_t)sizeof(float) + (int64_t)sizeof(double));
    const int64_t item = (2 * plan->n_bins + plan->n_blocks) * (int64_t)sizeof(float) +
                         LW_CHANNELS_MOST_HITS * (int64_t)sizeof(struct lw_accel_hit);
    const int64_t rows = LW_CHANNELS_MOST_KEPT * (int64_t)(sizeof *run->candidates + sizeof *run->rows);
    const int64_t table = LW_CHANNELS_MOST_ROWS *
                          (int64_t)(sizeof *run->rows + sizeof *run->candidates + 3 * sizeof(int64_t)) + 2 * LW_SPOOL_BYTES;
    return run->n_items * (series + item) + 2 * block_bytes(run) + rows + plan->spec.n / PIECE * (int64_t)sizeof *run->means +
           LW_CHANNELS_MOST_SENT * (int64_t)sizeof *run->rows + run->setup.job.op.n_channels * 16 +
           LW_CHANNELS_MOST_EARLIER * (int64_t)sizeof *run->earlier + (run->rank == 0 ? table : 0);
}

int64_t lw_channels_host_bytes(const struct lw_channels *run)
{
    return run->setup.limits.base + run->bytes.files + run->bytes.kept + run->bytes.engine.host + run->bytes.engine.pinned;
}

/* Choose to read `group` channels together, and count. @return  whether the run fits */
static bool choose_group(struct lw_channels *run, int64_t group)
{
    const struct lw_limits *const limits = &run->setup.limits;
    const struct lw_engine *const engine = run->setup.engine;
    const int64_t width = group * (int64_t)lw_type_bytes(run->setup.job.op.input);
    bool is_possible = false;
    run->group = group;
    run->block = lw_max64(1, lw_min64(run->request->plan.spec.n, READ_BYTES / 2 / width));
    const struct lw_view_spec view = view_of(run);
    const struct lw_view_spec marks = view_of_marks(run);
    run->bytes = (struct lw_channels_bytes){
        .files = LW_FILE_LAYER_BYTES + lw_reader_bytes(run->setup.reader, &view) + run->marks.rows * run->marks.pitch +
                 (reads_marks(run) ? marks_bytes(run) + lw_reader_bytes(run->marks.reader, &marks) : 0),
        .kept = lw_comm_max(run->setup.comm, kept_bytes(run)),
    };
    const int64_t room = limits->host - limits->base - run->bytes.files - run->bytes.kept;
    run->bytes.most = engine->device_bytes > 0 ? limits->device : lw_max64(room, 0);
    run->bytes.engine = lw_channels_ops(run)->bytes(engine, &run->request->plan, run->bytes.most, &is_possible);
    return lw_comm_min(run->setup.comm, is_possible && lw_channels_host_bytes(run) <= limits->host &&
                                            run->bytes.engine.device <= lw_max64(limits->device, 0)) > 0;
}

/* Most channels that are worth reading together: all that lie side by side in the file. */
static int64_t most_together(const struct lw_channels *run)
{
    struct lw_view_spec view = run->setup.job.view;
    view.max_axis = view.max_channels = 1;
    view.chunks = LW_CHUNKS_WHOLE;
    const int64_t n = run->setup.job.op.n_channels, own = lw_max64(1, n / run->n_ranks);
    return run->setup.job.op.layout == LW_TIME_SLOW ? own
                                                    : lw_min64(own, lw_max64(1, lw_reader_chunk_width(run->setup.reader, &view)));
}

/* Groups take a quarter of the memory at most: the engine is faster with more. */
int lw_channels_plan_memory(struct lw_channels *run, struct lw_error *err)
{
    const struct lw_limits *const limits = &run->setup.limits;
    const int64_t series = run->request->plan.spec.n * (int64_t)sizeof(float);
    int64_t group = most_together(run);
    run->n_items = run->setup.job.op.n_channels > run->n_ranks ? 2 : 1;     /* a run with one step needs no second set */
    while (group > 1 && 2 * group * series > (limits->host - limits->base) / 4)
        group /= 2;
    while (!choose_group(run, group)) {
        if (group == 1)
            return lw_plan_refuse(limits, "the search", lw_channels_host_bytes(run), run->bytes.engine.device,
                                  "choose fewer samples with --count", err);
        group /= 2;
    }
    return LW_OK;
}

void lw_channels_print_memory(const struct lw_channels *run)
{
    const struct lw_limits *const limits = &run->setup.limits;
    lw_plan_total_row("host memory", lw_channels_host_bytes(run), limits->host, limits->host_source);
    lw_plan_base_row(&run->setup, "read");
    lw_plan_bytes_row("  files", run->bytes.files, "");
    lw_plan_bytes_row("  kept", run->bytes.kept, " series, spectra, hits, rows of the table");
    lw_plan_bytes_row("  engine", run->bytes.engine.host + run->bytes.engine.pinned, " templates, spectrum, powers");
    if (limits->device > 0)
        lw_plan_total_row("device memory", run->bytes.engine.device, limits->device, limits->device_source);
}

int lw_channels_allocate(struct lw_channels *run, struct lw_error *err)
{
    const struct lw_accel_plan *const plan = &run->request->plan;
    const struct lw_view_spec view = view_of(run);
    for (int i = 0; i < run->n_items; i++) {
        struct lw_channels_item *const item = &run->items[i];
        struct lw_channels_series *const series = &run->series[i];
        item->hits.most = LW_CHANNELS_MOST_HITS;
        if (!(series->samples = lw_alloc_array(run->group * plan->spec.n, sizeof *series->samples, "series", err)) ||
            !(series->offsets = lw_alloc_array(run->group, sizeof *series->offsets, "series", err)) ||
            !(item->spectrum = lw_alloc_array(plan->n_bins, 2 * sizeof *item->spectrum, "a spectrum", err)) ||
            !(item->variances = lw_alloc_array(plan->n_blocks, sizeof *item->variances, "a spectrum", err)) ||
            !(item->hits.hits = lw_alloc_array(item->hits.most, sizeof *item->hits.hits, "hits", err)))
            return LW_ESYSTEM;
    }
    for (int i = 0; i < 2; i++)
        if (!(run->blocks[i] = lw_alloc((size_t)block_bytes(run), "samples", err)))
            return LW_ESYSTEM;
    if (!(run->means = lw_alloc_array(lw_divide_up(plan->spec.n, PIECE), sizeof *run->means, "means", err)) ||
        !(run->candidates = lw_alloc_array(LW_CHANNELS_MOST_KEPT, sizeof *run->candidates, "candidates", err)) ||
        !(run->rows = lw_alloc_array(LW_CHANNELS_MOST_KEPT + 1, sizeof *run->rows, "rows of the table", err)) ||
        !(run->earlier = lw_alloc_array(LW_CHANNELS_MOST_EARLIER, sizeof *run->earlier, "hits of an earlier run", err)) ||
        !(run->received = lw_alloc_array(LW_CHANNELS_MOST_SENT, sizeof *run->received, "rows of other ranks", err)))
        return LW_ESYSTEM;
    if (reads_marks(run)) {
        const struct lw_view_spec marks = view_of_marks(run);
        const int rc = lw_reader_select(run->marks.reader, &marks, err);
        if (rc || !(run->numbers = lw_alloc((size_t)marks_bytes(run), "the mask", err)))
            return rc ? rc : LW_ESYSTEM;
    }
    return lw_reader_select(run->setup.reader, &view, err);
}

void lw_channels_free(struct lw_channels *run)
{
    for (int i = 0; i < 2; i++) {
        lw_free(run->items[i].spectrum);
        lw_free(run->items[i].variances);
        lw_free(run->items[i].hits.hits);
        lw_free(run->series[i].samples);
        lw_free(run->series[i].offsets);
        lw_free(run->blocks[i]);
    }
    lw_free(run->numbers);
    lw_free(run->means);
    lw_free(run->candidates);
    lw_free(run->rows);
    lw_free(run->received);
    lw_free(run->todo);
    lw_free(run->reached);
    lw_free(run->earlier);
}
