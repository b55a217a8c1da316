/* memory.c - the memory of a sparse run, known before it starts.
 *
 *     base + files + kept | searching: samples of a group of channels, their list, the solver
 *                         | dense: all samples of a channel, their transform           one after the other, never together */
#include "base/integers.h"
#include "run/sparse/published/published.h"

#include "base/memory.h"

#include <stdio.h>

#define MIB ((int64_t)1 << 20)

/* Bytes of one read. */
#define READ_BYTES (16 * MIB)

struct lw_view_spec lw_sfft_view(const struct lw_sfft_flow *flow)
{
    struct lw_view_spec view = flow->setup.job.view;
    view.max_axis = flow->block;
    view.max_channels = flow->group;
    view.chunks = flow->chunks;
    return view;
}

/* ---- what each part takes ------------------------------------------------------------------------------------------- */

/* Of a group of channels with the first attempts, or of one with all. */
int64_t lw_sfft_values(const struct lw_sfft_flow *flow)
{
    return max64(lw_sfft_attempt_samples(&flow->plan, LW_SFFT_FIRST_ATTEMPTS) * flow->group,
                 lw_sfft_attempt_samples(&flow->plan, LW_SFFT_ATTEMPTS));
}

/* Samples that ranks sum, the sorted list of those that this rank reads, which may be all of them, and the engine's part. */
static struct lw_bytes sparse_bytes(const struct lw_sfft_flow *flow)
{
    const struct lw_engine *const engine = flow->setup.engine;
    const int64_t all = lw_sfft_attempt_samples(&flow->plan, LW_SFFT_ATTEMPTS);
    struct lw_bytes bytes = engine->ops->sparse->bytes(engine, &flow->plan);
    bytes.host += lw_sfft_values(flow) * 2 * (int64_t)sizeof *flow->values + lw_sfft_samples_bytes(all);
    bytes.host += flow->n_ranks > 1 ? 2 * LW_COLLECT_BYTES : 0;
    return bytes;
}

static struct lw_bytes search_bytes(const struct lw_sfft_flow *flow)
{
    if (lw_sfft_is_published(flow))
        return lw_published_flow_bytes(flow);
    return lw_sfft_is_sparse(flow) ? sparse_bytes(flow) : (struct lw_bytes){0};
}

static struct lw_bytes dense_bytes(const struct lw_sfft_flow *flow)
{
    const struct lw_engine *const engine = flow->setup.engine;
    return engine->ops->dense->bytes(engine, &flow->request.spec);
}

/* What stays to the end: lines and figures of the channels, the buffer of reads, rows on their way to the table. */
static int64_t kept_bytes(const struct lw_sfft_flow *flow)
{
    const int64_t own = (flow->n_channels + flow->n_ranks - 1) / flow->n_ranks;
    int64_t lines;
    if (__builtin_mul_overflow(own * (int64_t)sizeof *flow->lines, flow->request.spec.sparsity, &lines))
        return INT64_MAX / 4;           /* more than there is */
    return lines + 2 * flow->n_channels * (int64_t)sizeof *flow->all + lw_sfft_table_bytes(flow) +
           flow->group * flow->block * (int64_t)lw_type_bytes(flow->setup.job.op.input);
}

static void count(struct lw_sfft_flow *flow)
{
    const struct lw_view_spec view = lw_sfft_view(flow);
    const struct lw_bytes search = search_bytes(flow), dense = dense_bytes(flow);
    flow->bytes = (struct lw_sfft_flow_bytes){
        .files = LW_FILE_LAYER_BYTES + lw_reader_bytes(flow->setup.reader, &view), .kept = kept_bytes(flow),
        .search = search.host + search.pinned, .dense = dense.host + dense.pinned,
        .search_device = search.device, .dense_device = dense.device,
    };
}

/* ---- what is needed, and whether there is as much ------------------------------------------------------------------- */

static bool is_dense_only(const struct lw_sfft_flow *flow) { return !lw_sfft_is_sparse(flow) && !lw_sfft_is_published(flow); }

static int64_t with(const struct lw_sfft_flow *flow, int64_t phase)
{
    return flow->limits.base + flow->bytes.files + flow->bytes.kept + phase;
}

bool lw_sfft_fits_dense(const struct lw_sfft_flow *flow)
{
    return with(flow, flow->bytes.dense) <= flow->limits.host && flow->bytes.dense_device <= flow->limits.device;
}

/* The most there is at a time. A dense transform that does not fit is not begun. */
static int64_t needed_bytes(const struct lw_sfft_flow *flow)
{
    const bool falls_back = flow->request.fallback == LW_SFFT_FALL_DENSE && lw_sfft_fits_dense(flow);
    const int64_t dense = falls_back || is_dense_only(flow) ? flow->bytes.dense : 0;
    return with(flow, max64(flow->bytes.search, dense));
}

static int refuse(const struct lw_sfft_flow *flow, const char *who, int64_t needed, const char *remedy, struct lw_error *err)
{
    char bytes[24], limit[24];
    return lw_fail(err, LW_ECONFIG, "%s needs %s of memory on each rank, the limit is %s (%s): allow more with --memory, run "
                   "fewer ranks on a node, or %s", who, lw_bytes_text(needed, bytes), lw_bytes_text(flow->limits.host, limit),
                   flow->limits.host_source, remedy);
}

static int refuse_device(const struct lw_sfft_flow *flow, const char *who, int64_t needed, const char *remedy,
                         struct lw_error *err)
{
    char bytes[24], limit[24];
    return lw_fail(err, LW_ECONFIG, "%s needs %s of GPU memory on each rank, the limit is %s (%s): allow more with "
                   "--gpu-memory, free the GPU, let fewer ranks share it, take --engine cpu, or %s", who,
                   lw_bytes_text(needed, bytes), lw_bytes_text(flow->limits.device, limit), flow->limits.device_source, remedy);
}

int lw_sfft_refuse_dense(const struct lw_sfft_flow *flow, const char *why, struct lw_error *err)
{
    const char *const remedy = is_dense_only(flow) ? "take a part of the signal with --count"
                                                   : "take what was found with --fallback partial";
    char who[256];
    snprintf(who, sizeof who, "%s, and the dense transform", why);
    if (flow->bytes.dense_device > flow->limits.device)
        return refuse_device(flow, who, flow->bytes.dense_device, remedy, err);
    return refuse(flow, who, with(flow, flow->bytes.dense), remedy, err);
}

static int check(const struct lw_sfft_flow *flow, struct lw_error *err)
{
    if (is_dense_only(flow))
        return lw_sfft_fits_dense(flow) ? LW_OK : lw_sfft_refuse_dense(flow, lw_sfft_why_dense(flow), err);
    const bool votes = lw_sfft_is_published(flow);
    const char *const who = votes ? "--algorithm sfft2, which takes a channel whole," : "the sparse transform";
    const char *const remedy = votes ? "take --algorithm sparse, which reads little" : "ask for a smaller --sparsity";
    if (flow->bytes.search_device > flow->limits.device)
        return refuse_device(flow, who, flow->bytes.search_device, remedy, err);
    if (with(flow, flow->bytes.search) > flow->limits.host)
        return refuse(flow, who, with(flow, flow->bytes.search), remedy, err);
    return LW_OK;
}

/* Read so many channels at a time. */
static void choose_group(struct lw_sfft_flow *flow, int64_t group)
{
    const int64_t sample_bytes = (int64_t)lw_type_bytes(flow->setup.job.op.input);
    flow->group = group;
    flow->block = min64(flow->request.spec.n, max64(1, READ_BYTES / (group * sample_bytes)));
    count(flow);
}

/* Half of what is left goes to channels whose samples are collected together; the dense transform, which may follow, is not
 * made impossible by them, since it comes when they have gone. */
static void choose_groups(struct lw_sfft_flow *flow)
{
    choose_group(flow, 1);
    const int64_t room = flow->limits.host - with(flow, flow->bytes.search);
    const int64_t one = lw_sfft_attempt_samples(&flow->plan, LW_SFFT_FIRST_ATTEMPTS) * 2 * (int64_t)sizeof *flow->values;
    if (one > 0 && room > 0)
        choose_group(flow, min64(flow->n_channels, 1 + room / 2 / one));
    while (flow->group > 1 && needed_bytes(flow) > flow->limits.host)
        choose_group(flow, flow->group / 2);
}

/* Of compressed input, chunks of the last read are kept where there is room; of others, little is read, here and there. */
int lw_sfft_memory_plan(struct lw_sfft_flow *flow, struct lw_error *err)
{
    flow->chunks = lw_reader_info(flow->setup.reader)->is_compressed ? LW_CHUNKS_KEPT : LW_CHUNKS_IN_PLACE;
    choose_groups(flow);
    if (flow->chunks == LW_CHUNKS_KEPT && needed_bytes(flow) > flow->limits.host) {
        flow->chunks = LW_CHUNKS_IN_PLACE;
        choose_groups(flow);
    }
    return check(flow, err);
}

/* ---- in words -------------------------------------------------------------------------------------------------------- */

static void row(const char *name, int64_t bytes, const char *note)
{
    char size[24];
    printf("%-16s%s%s\n", name, lw_bytes_text(bytes, size), note);
}

static void print_device(const struct lw_sfft_flow *flow)
{
    char note[256], limit[24];
    const struct lw_sfft_flow_bytes *const b = &flow->bytes;
    snprintf(note, sizeof note, " a rank, of %s (%s)", lw_bytes_text(flow->limits.device, limit), flow->limits.device_source);
    row("device memory", max64(b->search_device, lw_sfft_fits_dense(flow) ? b->dense_device : 0), note);
    row("  search", b->search_device, "");
    row("  dense", b->dense_device, "");
}

void lw_sfft_memory_print(const struct lw_sfft_flow *flow)
{
    char note[256], limit[24];
    const struct lw_sfft_flow_bytes *const b = &flow->bytes;
    snprintf(note, sizeof note, " a rank, of %s (%s)", lw_bytes_text(flow->limits.host, limit), flow->limits.host_source);
    row("host memory", needed_bytes(flow), note);
    row("  base", flow->limits.base, " resident before the first read");
    row("  files", b->files, "");
    row("  kept", b->kept, " lines, figures, buffers");
    if (!is_dense_only(flow))
        row("  search", b->search, " until lines are found");
    const char *const when = is_dense_only(flow) ? "all samples of a channel" : "where lines do not explain a channel";
    snprintf(note, sizeof note, " %s: %s", when, lw_sfft_fits_dense(flow) ? "fits" : "does not fit");
    row("  dense", b->dense, note);
    if (flow->limits.device > 0)
        print_device(flow);
}
