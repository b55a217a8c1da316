#include "plan.h"

#include "memory.h"

#include <stdio.h>

/* A slot holds this much input and output: enough for file calls to run at full rate, small enough for many rounds. */
enum { MIB = 1 << 20 };
static const int64_t wanted_slot_bytes = 64 * (int64_t)MIB;
static const int64_t least_slot_bytes = 8 * (int64_t)MIB;
enum { WANTED_ROUNDS = 8 };

/* What HDF5 and the MPI file layer were seen to take beyond the program's own buffers, with a margin. */
static const int64_t file_layer_bytes = 24 * (int64_t)MIB;

/* Assumed for the estimate only: a parallel file system or RAM disk, per node. */
static const double file_bytes_per_second = 1e9;

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

int64_t lw_plan_host_bytes(const struct lw_plan *plan)
{
    const struct lw_plan_bytes *const b = &plan->bytes;
    return b->base + b->files + b->halo + b->engine + b->pinned;
}

/* Bytes of one sample of the axis of one channel. */
static int64_t input_bytes(const struct lw_job *job)
{
    return lw_op_input_width(&job->op) * (int64_t)lw_type_bytes(job->op.input);
}

static int64_t output_bytes(const struct lw_job *job, const struct lw_op_plan *op)
{
    return op->n_planes * lw_op_output_width(&job->op) * (int64_t)lw_type_bytes(job->op.output);
}

struct lw_halo_spec lw_plan_halo(const struct lw_plan *plan, const struct lw_job *job)
{
    return (struct lw_halo_spec){&plan->rounds, job->op.layout, input_bytes(job)};
}

struct lw_window_spec lw_plan_window(const struct lw_plan *plan, const struct lw_job *job, struct lw_reader *reader)
{
    return (struct lw_window_spec){
        .reader = reader, .boundary = job->boundary, .layout = job->op.layout,
        .sample_bytes = input_bytes(job), .n_samples = job->n_samples,
        .n_taps = plan->op.halo + 1, .max_channels = plan->rounds.group,
    };
}

struct lw_view_spec lw_plan_view(const struct lw_plan *plan, const struct lw_job *job)
{
    const struct lw_window_spec window = lw_plan_window(plan, job, NULL);
    struct lw_view_spec view = job->view;
    view.max_axis = max64(max64(plan->rounds.slice, plan->op.halo), lw_window_max_read(&window));
    view.max_channels = plan->rounds.group;
    return view;
}

/* Bytes in a slot for one output sample on the axis of one channel. */
static int64_t sample_slot_bytes(const struct lw_job *job, const struct lw_op_plan *op)
{
    return input_bytes(job) + output_bytes(job, op);
}

/* Rounds whose slots hold about `slot_bytes`. Where time is slow, a sample of all channels is contiguous in the file, so
 * all channels go together; where it is fast, long slices of few channels are. */
static struct lw_rounds rounds_of_size(const struct lw_plan_spec *spec, const struct lw_plan *plan,
                                       const struct lw_grid *grid, enum lw_split split, int64_t slot_bytes)
{
    const int n_ranks = lw_comm_size(spec->comm);
    const int64_t samples = max64(1, slot_bytes / sample_slot_bytes(spec->job, &plan->op));
    const int64_t channels = split == LW_SPLIT_CHANNELS ? (grid->n_channels + n_ranks - 1) / n_ranks : grid->n_channels;
    if (spec->job->op.layout == LW_TIME_SLOW) {
        const int64_t least = lw_rounds_least_slice(grid, n_ranks, split);
        const int64_t group = min64(channels, max64(1, samples / least));
        return lw_rounds_make(grid, n_ranks, split, samples / group, group);
    }
    const struct lw_rounds widest = lw_rounds_make(grid, n_ranks, split, samples / grid->channel_unit, grid->channel_unit);
    return lw_rounds_make(grid, n_ranks, split, widest.slice, samples / widest.slice);
}

static void count_bytes(const struct lw_plan_spec *spec, struct lw_plan *plan)
{
    const struct lw_job *const job = spec->job;
    const struct lw_halo_spec halo = lw_plan_halo(plan, job);
    const struct lw_window_spec window = lw_plan_window(plan, job, NULL);
    const struct lw_view_spec view = lw_plan_view(plan, job);
    const struct lw_bytes engine = spec->engine->ops->op_bytes(spec->engine, &job->op, &plan->op, plan->rounds.slice,
                                                               plan->rounds.group, plan->depth);
    plan->bytes.files = file_layer_bytes + lw_reader_bytes(spec->reader, &view);
    plan->bytes.halo = lw_halo_bytes(&halo) + lw_window_bytes(&window);
    plan->bytes.engine = engine.host;
    plan->bytes.pinned = engine.pinned;
    plan->bytes.device = engine.device;
}

static bool fits(const struct lw_plan *plan)
{
    return lw_plan_host_bytes(plan) <= plan->host_limit &&
           (plan->device_limit == 0 || plan->bytes.device <= plan->device_limit);
}

/* The memory that every rank may use: what was asked for, or a share of what the tightest node has. */
static void find_limits(const struct lw_plan_spec *spec, struct lw_plan *plan)
{
    const struct lw_memory_limit node = lw_memory_available();
    const int ranks = lw_comm_node_size(spec->comm);
    plan->bytes.base = lw_comm_max(spec->comm, lw_memory_resident_bytes());
    /* a fifth stays free for the page cache, through which the files pass */
    const int64_t share = lw_comm_min(spec->comm, node.bytes / 5 * 4 / ranks);
    plan->host_limit = spec->memory > 0 ? spec->memory : plan->bytes.base + share;
    if (spec->memory > 0)
        snprintf(plan->limit_source, sizeof plan->limit_source, "--memory");
    else
        snprintf(plan->limit_source, sizeof plan->limit_source, "%s on the node, %d rank%s there", node.source, ranks,
                 ranks == 1 ? "" : "s");
}

/* The same on the device: what was asked for, as long as every rank's device has it free. */
static void find_device_limit(const struct lw_plan_spec *spec, struct lw_plan *plan)
{
    const int64_t free_bytes = lw_comm_min(spec->comm, spec->engine->device_bytes);
    const int sharing = (int)lw_comm_max(spec->comm, spec->engine->device_ranks);
    const bool is_asked = spec->gpu_memory > 0 && spec->gpu_memory < free_bytes;
    plan->device_limit = is_asked ? spec->gpu_memory : free_bytes;
    if (is_asked)
        snprintf(plan->device_source, sizeof plan->device_source, "--gpu-memory");
    else if (sharing > 1)
        snprintf(plan->device_source, sizeof plan->device_source, "free on the GPU, %d ranks share it", sharing);
    else
        snprintf(plan->device_source, sizeof plan->device_source, "free on the GPU");
}

static int refuse(const struct lw_plan *plan, const struct lw_job *job, struct lw_error *err)
{
    char needed[24], limit[24];
    if (lw_plan_host_bytes(plan) > plan->host_limit)
        return lw_fail(err, LW_ECONFIG, "the smallest round needs %s of memory on each rank, the limit is %s (%s): allow more "
                       "with --memory, run fewer ranks on a node, or choose %s",
                       lw_bytes_text(lw_plan_host_bytes(plan), needed), lw_bytes_text(plan->host_limit, limit),
                       plan->limit_source, job->ops->remedy);
    return lw_fail(err, LW_ECONFIG, "the smallest round needs %s of GPU memory on each rank, the limit is %s (%s): allow more "
                   "with --gpu-memory, free the GPU, let fewer ranks share it, or choose %s",
                   lw_bytes_text(plan->bytes.device, needed), lw_bytes_text(plan->device_limit, limit),
                   plan->device_source, job->ops->remedy);
}

/* Halve the slots until they fit. */
static int choose_rounds(const struct lw_plan_spec *spec, struct lw_plan *plan, struct lw_error *err)
{
    const struct lw_job *const job = spec->job;
    const struct lw_grid grid = {
        .n_outputs = job->n_outputs, .unit = plan->op.unit, .halo = plan->op.halo,
        .n_channels = job->op.n_channels, .channel_unit = plan->op.channel_unit,
    };
    const int n_ranks = lw_comm_size(spec->comm);
    const enum lw_split split = lw_rounds_resolve_split(&grid, n_ranks, spec->split);
    const int64_t all = job->n_outputs * job->op.n_channels * sample_slot_bytes(job, &plan->op);
    const int64_t even = max64(all / n_ranks / WANTED_ROUNDS, least_slot_bytes);

    for (int64_t slot_bytes = min64(even, wanted_slot_bytes); slot_bytes > 0; slot_bytes /= 2) {
        plan->rounds = rounds_of_size(spec, plan, &grid, split, slot_bytes);
        count_bytes(spec, plan);
        if (fits(plan))
            return LW_OK;
    }
    return refuse(plan, job, err);
}

static void estimate(const struct lw_plan_spec *spec, struct lw_plan *plan)
{
    const struct lw_job *const job = spec->job;
    const double outputs = (double)job->n_outputs * (double)job->op.n_channels * (double)plan->op.n_planes *
                           (double)lw_op_output_width(&job->op);
    plan->input_bytes = job->n_samples * job->op.n_channels * input_bytes(job);
    const struct lw_block whole = {.count = job->n_outputs};
    plan->output_bytes = lw_op_outputs(&job->op, &whole) * job->op.n_channels *
                         (output_bytes(job, &plan->op) / (job->op.kind == LW_OP_OLS ? lw_op_output_width(&job->op) : 1));
    const int64_t workers = lw_comm_sum(spec->comm, max64(1, spec->engine->n_workers));
    plan->compute_seconds = outputs * plan->op.seconds_per_output / (double)workers;
    plan->file_seconds = (double)(plan->input_bytes + plan->output_bytes) / file_bytes_per_second;
}

/* Input and result together, as what follows counts them; in double, which cannot overflow. */
static int check_bytes(const struct lw_plan_spec *spec, const struct lw_plan *plan, struct lw_error *err)
{
    const struct lw_op_spec *const op = &spec->job->op;
    const double sample = (double)lw_op_input_width(op) * (double)lw_type_bytes(op->input) +
                          (double)plan->op.n_planes * (double)lw_op_output_width(op) * (double)lw_type_bytes(op->output);
    const double all = (double)spec->job->n_outputs * (double)op->n_channels * sample;
    if (all > 0x1p62)
        return lw_fail(err, LW_ECONFIG, "input and result have %.3g bytes, more than can be counted: choose a piece with --start "
                       "and --count, or fewer --channels", all);
    return LW_OK;
}

int lw_plan_make(const struct lw_plan_spec *spec, struct lw_plan *plan, struct lw_error *err)
{
    *plan = (struct lw_plan){.depth = spec->engine->depth > 0 ? spec->engine->depth : 2};
    int rc = spec->engine->ops->op_plan(spec->engine, &spec->job->op, &plan->op, err);
    if (rc == LW_OK)
        rc = check_bytes(spec, plan, err);
    if ((rc = lw_comm_agree(spec->comm, rc, err)))
        return rc;
    find_limits(spec, plan);
    find_device_limit(spec, plan);
    rc = choose_rounds(spec, plan, err);
    if ((rc = lw_comm_agree(spec->comm, rc, err)))
        return rc;
    estimate(spec, plan);
    return LW_OK;
}
