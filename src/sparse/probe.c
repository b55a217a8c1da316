#include "sparse/probe.h"

#include "base/integers.h"
#include "base/memory.h"
#include "base/select.h"
#include "sfft/probe.h"
#include "sparse/collect.h"
#include "sparse/memory.h"
#include "sparse/refine.h"
#include "sparse/values.h"

/* Channels that are tried, evenly among all. */
enum { MOST_CHANNELS = 64 };

static int64_t count_tried(const struct lw_sparse *run) { return lw_min64(run->n_channels, MOST_CHANNELS); }

static struct lw_sfft_plan plan_of(const struct lw_sparse *run)
{
    const struct lw_sfft_spec spec = lw_sparse_search_spec(&run->request);
    return lw_sfft_probe_plan(&spec);
}

static int64_t tried(const struct lw_sparse *run, int64_t i) { return i * run->n_channels / count_tried(run); }

int64_t lw_sparse_probe_samples(const struct lw_sparse *run, int64_t channel)
{
    const int64_t i = lw_divide_up(channel * count_tried(run), run->n_channels);
    return i < count_tried(run) && tried(run, i) == channel ? plan_of(run).attempts[0].samples : 0;
}

/* What a probe works in. */
struct work {
    struct lw_sfft_layout *layout;
    struct lw_sfft_samples samples;
    double *values;                 /* of one channel: (re, im) */
    double snr_db[MOST_CHANNELS];   /* 0 but on the channel's rank */
};

static int allocate(struct lw_sparse *run, struct work *work, struct lw_error *err)
{
    const struct lw_sfft_plan plan = plan_of(run);
    const struct lw_view_spec view = lw_sparse_view(run);
    int rc;
    if ((rc = lw_reader_select(run->setup.reader, &view, err)) || (rc = lw_sfft_layout_create(&plan, &work->layout, err)))
        return rc;
    if (!(run->buffers = lw_alloc_array(run->n_buffers, (size_t)run->buffer_bytes, "samples", err)) ||
        !(work->values = lw_alloc_array(plan.attempts[0].samples, 2 * sizeof *work->values, "samples", err)))
        return LW_ESYSTEM;
    return lw_sparse_list(run, work->layout, 1, &work->samples, err);
}

static int try_channel(struct lw_sparse *run, struct work *work, int64_t i, struct lw_error *err)
{
    const int64_t channel = tried(run, i);
    struct lw_sfft_probe probe;
    const bool is_own = lw_sparse_owner(run, channel) == run->rank;
    int rc = lw_sparse_collect(run, &work->samples, channel, is_own || !run->has_own_pieces ? 1 : 0, work->values, err);
    if (rc || !is_own)
        return rc;
    lw_sparse_remove_not_finite(work->values, work->samples.total);
    rc = lw_sfft_probe(work->layout, work->values, &probe, err);
    work->snr_db[i] = rc == LW_OK ? lw_sfft_probe_snr(&probe) : 0;
    return rc;
}

static int try_channels(struct lw_sparse *run, struct work *work, double *snr_db, struct lw_error *err)
{
    struct lw_comm *const comm = run->setup.comm;
    const int64_t count = count_tried(run);
    int rc = lw_comm_agree(comm, allocate(run, work, err), err);
    for (int64_t i = 0; rc == LW_OK && i < count; i++)
        rc = lw_comm_agree(comm, try_channel(run, work, i, err), err);
    if (rc)
        return rc;
    lw_comm_collect(comm, work->snr_db, count, 0);
    lw_comm_broadcast(comm, work->snr_db, count * (int64_t)sizeof *work->snr_db);
    *snr_db = lw_select(work->snr_db, count, (count - 1) / 2);
    return LW_OK;
}

int lw_sparse_probe(struct lw_sparse *run, double *snr_db, struct lw_error *err)
{
    struct work work = {0};
    const int rc = try_channels(run, &work, snr_db, err);
    lw_sfft_layout_destroy(work.layout);
    lw_sfft_samples_release(&work.samples);
    lw_free(work.values);
    lw_free(run->buffers);
    run->buffers = NULL;
    run->shown = 0;
    return rc;
}
