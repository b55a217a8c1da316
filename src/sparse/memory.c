/* memory.c - the memory of a sparse run, known before it starts.
 *
 *     base + files + kept | searching: samples of a group of channels, their list, the solver
 *                         | dense: all samples of a channel, their transform           one after the other, never together */
#include "sparse/state.h"

#include "base/integers.h"
#include "sfft/tones/dense_fit.h"

#include <stdio.h>

#define MIB ((int64_t)1 << 20)

/* Bytes of all read buffers together; most and least bytes of an I/O thread's buffer, unless one sample is larger. */
#define READ_BYTES (16 * MIB)
#define MOST_THREAD_BYTES (1 * MIB)
#define LEAST_THREAD_BYTES (64 << 10)

/* Most bytes of samples of channels that are collected together, unless one channel is larger. */
#define MOST_TOGETHER (256 * MIB)

int64_t lw_sparse_attempt_samples(const struct lw_sfft_plan *plan, int n_attempts)
{
    int64_t samples = 0;
    for (int a = 0; a < n_attempts && a < plan->n_attempts; a++)
        samples += plan->attempts[a].samples;
    return samples;
}

struct lw_view_spec lw_sparse_view(const struct lw_sparse *run)
{
    struct lw_view_spec view = run->setup.job.view;
    view.max_axis = run->is_raw ? 1 : run->block;
    view.max_channels = run->is_raw ? 1 : run->group;
    view.chunks = run->chunks;
    return view;
}

/* ---- what each part takes ------------------------------------------------------------------------------------------- */

/* Bytes that are kept until the end: lines and figures of the channels, read buffers, buffered rows of the table. */
static int64_t kept_bytes(const struct lw_sparse *run)
{
    int64_t lines;
    if (__builtin_mul_overflow(lw_sparse_most_own(run) * (int64_t)sizeof *run->lines, run->request.spec.sparsity, &lines))
        return INT64_MAX / 4;           /* more than any machine has */
    return lines + 2 * run->n_channels * (int64_t)sizeof *run->all + lw_sparse_table_bytes(run) +
           run->n_buffers * run->buffer_bytes + lw_sparse_resume_bytes(run);
}

static void count(struct lw_sparse *run)
{
    const struct lw_view_spec view = lw_sparse_view(run);
    const struct lw_engine *const engine = run->setup.engine;
    const struct lw_bytes search = run->method ? run->method->bytes(run) : (struct lw_bytes){0};
    const struct lw_bytes dense = engine->ops->dense->bytes(engine, &run->request.spec);
    run->bytes = (struct lw_sparse_bytes){
        .files = LW_FILE_LAYER_BYTES + lw_reader_bytes(run->setup.reader, &view), .kept = kept_bytes(run),
        .search = search.host, .search_device = search.device,
        .dense = dense.host + dense.pinned + (run->request.refines ? lw_sfft_spectrum_bytes(&run->request.spec) : 0),
        .dense_device = dense.device,
    };
}

/* ---- whether the run fits ------------------------------------------------------------------------------------------- */

static int64_t with(const struct lw_sparse *run, int64_t phase)
{
    return run->setup.limits.base + run->bytes.files + run->bytes.kept + phase;
}

static bool fits(const struct lw_sparse *run, int64_t phase, int64_t device)
{
    return with(run, phase) <= run->setup.limits.host && device <= run->setup.limits.device;
}

bool lw_sparse_fits_dense(const struct lw_sparse *run) { return fits(run, run->bytes.dense, run->bytes.dense_device); }

/* Most bytes at any time. A dense transform that does not fit is never begun. */
int64_t lw_sparse_host_bytes(const struct lw_sparse *run)
{
    const bool falls_back = run->request.fallback == LW_SFFT_FALL_DENSE && lw_sparse_fits_dense(run);
    const int64_t dense = falls_back || !run->method ? run->bytes.dense : 0;
    return with(run, lw_max64(run->bytes.search, dense));
}

int64_t lw_sparse_device_bytes(const struct lw_sparse *run)
{
    return lw_max64(run->bytes.search_device, lw_sparse_fits_dense(run) ? run->bytes.dense_device : 0);
}

int lw_sparse_refuse_dense(const struct lw_sparse *run, const char *why, struct lw_error *err)
{
    const char *const remedy =
        run->method ? "accept the lines found with --fallback partial" : "choose a part of the signal with --count";
    char who[256];
    snprintf(who, sizeof who, "%s, and the dense transform", why);
    return lw_plan_refuse(&run->setup.limits, who, with(run, run->bytes.dense), run->bytes.dense_device, remedy, err);
}

/* Choose to collect `group` channels at a time; set buffers, `block` and bytes for them. */
static void choose_group(struct lw_sparse *run, int64_t group)
{
    run->group = group;
    if (run->is_raw) {                  /* each I/O thread has its own reads: of one channel, if time varies fastest */
        const int64_t extent = lw_sparse_extent(run, run->setup.job.op.layout == LW_TIME_SLOW ? group : 1);
        run->n_buffers = lw_pool_threads(run->setup.pool);
        const int64_t share = lw_min64(READ_BYTES / run->n_buffers, MOST_THREAD_BYTES);
        run->buffer_bytes = lw_max64(extent, lw_max64(LEAST_THREAD_BYTES, share));
        run->block = lw_min64(run->request.spec.n, 1 + (run->buffer_bytes - extent) / run->place.axis_bytes);
    } else {
        const int64_t width = group * (int64_t)lw_type_bytes(run->setup.job.op.input);
        run->n_buffers = 2;
        run->block = lw_min64(run->request.spec.n, lw_max64(1, READ_BYTES / run->n_buffers / width));
        run->buffer_bytes = run->block * width;
    }
    count(run);
}

/* Choose the largest group of channels that half of the free memory holds; beyond MOST_TOGETHER, larger groups save nothing. A
 * later dense transform is not restricted: the memory of groups is free by then. */
static void choose_groups(struct lw_sparse *run)
{
    const int64_t most = !lw_sparse_reads_each(run) ? run->piece_channels
                         : run->has_own_pieces      ? lw_sparse_most_own(run)
                                                    : run->n_channels;
    choose_group(run, 1);
    const int64_t room = run->setup.limits.host - with(run, run->bytes.search);
    const int64_t one = lw_sparse_attempt_samples(&run->plan, LW_SPARSE_FIRST_ATTEMPTS) * 2 * (int64_t)sizeof(double);
    if (one > 0 && room > 0)
        choose_group(run, lw_min64(most, 1 + lw_min64(room / 2, MOST_TOGETHER) / one));
    while (run->group > 1 && lw_sparse_host_bytes(run) > run->setup.limits.host)
        choose_group(run, run->group / 2);
}

/* Keep chunks of compressed input after a read if there is room. Otherwise read in place: the samples are few and scattered. */
int lw_sparse_memory_plan(struct lw_sparse *run, struct lw_error *err)
{
    run->chunks = lw_reader_info(run->setup.reader)->is_compressed ? LW_CHUNKS_KEPT : LW_CHUNKS_IN_PLACE;
    choose_groups(run);
    if (run->chunks == LW_CHUNKS_KEPT && lw_sparse_host_bytes(run) > run->setup.limits.host) {
        run->chunks = LW_CHUNKS_IN_PLACE;
        choose_groups(run);
    }
    if (!run->method) {
        const char *const why = run->request.algorithm == LW_SFFT_DENSE
                                    ? "--algorithm dense was given"
                                    : "a sparse transform would take more than a quarter of the samples";
        return lw_sparse_fits_dense(run) ? LW_OK : lw_sparse_refuse_dense(run, why, err);
    }
    if (fits(run, run->bytes.search, run->bytes.search_device))
        return LW_OK;
    return lw_plan_refuse(&run->setup.limits, run->method->who, with(run, run->bytes.search), run->bytes.search_device,
                          run->method->remedy, err);
}

/* ---- for the plan command -------------------------------------------------------------------------------------------- */

void lw_sparse_memory_print(const struct lw_sparse *run)
{
    const struct lw_limits *const limits = &run->setup.limits;
    const struct lw_sparse_bytes *const b = &run->bytes;
    char note[256];
    lw_plan_total_row("host memory", lw_sparse_host_bytes(run), limits->host, limits->host_source);
    lw_plan_base_row(&run->setup, "read");
    lw_plan_bytes_row("  files", b->files, "");
    lw_plan_bytes_row("  kept", b->kept, " lines, figures, buffers");
    if (run->method)
        lw_plan_bytes_row("  search", b->search, " until lines are found");
    snprintf(note, sizeof note, " %s: %s", run->method ? "where lines do not explain a channel" : "all samples of a channel",
             lw_sparse_fits_dense(run) ? "fits" : "does not fit");
    lw_plan_bytes_row("  dense", b->dense, note);
    if (limits->device == 0)
        return;
    lw_plan_total_row("device memory", lw_sparse_device_bytes(run), limits->device, limits->device_source);
    lw_plan_bytes_row("  search", b->search_device, "");
    lw_plan_bytes_row("  dense", b->dense_device, "");
}
