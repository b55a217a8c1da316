#include "stream/plan.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/bytes/spool.h"
#include "setup/choice.h"
#include "setup/planned.h"
#include "stream/loop.h"
#include "stream/map.h"
#include "stream/search/best.h"
#include "stream/search/candidates.h"
#include "stream/search/mask.h"
#include "stream/search/mesh_pass.h"
#include "stream/search/noise.h"
#include "stream/search/power_spectrum.h"
#include "stream/sums/sums.h"

#include <inttypes.h>
#include <stdio.h>

/* Bytes of input and output in a slot: large enough for file calls at full rate, small enough for wanted_rounds. */
enum { MIB = 1 << 20 };
static const int64_t wanted_slot_bytes = 64 * (int64_t)MIB;
static const int64_t least_slot_bytes = 8 * (int64_t)MIB;

/* A contiguous piece of a write: measured bytes in MPI's lists, and assumed time. */
static const int64_t bytes_per_piece = 64;
static const double seconds_per_piece = 1e-6;

/* Assumed time that threads and ranks spend in a round waiting for each other. Measured rounds of a few kilobytes took 0.05 ms of
 * a core's time, and up to 0.8 ms of elapsed time. */
static const double seconds_per_round = 1e-4;

/* Bytes that one thread copies in a second beside others that use the memory: halos are copied twice, to the carry and from it, or
 * by MPI. */
static const double copy_rate = 5e9;

int64_t lw_plan_host_bytes(const struct lw_plan *plan)
{
    const struct lw_plan_bytes *const b = &plan->bytes;
    return plan->limits.base + b->files + b->halo + b->engine + b->pinned;
}

double lw_plan_values(const struct lw_plan *plan)
{
    return (double)lw_grid_outputs(&plan->rounds.grid) * (double)lw_plan_output_values(plan);
}

int64_t lw_plan_output_values(const struct lw_plan *plan) { return plan->op.n_values / lw_op_filters(&plan->spec); }

/* Return the values of the whole job before there are rounds. */
static double count_values(const struct lw_job *job, const struct lw_plan *plan)
{
    return (double)job->n_outputs * (double)job->op.n_channels * (double)lw_op_filters(&job->op) *
           (double)lw_plan_output_values(plan);
}

/* Return the bytes in a slot for one sample of one channel: input, map and products. Channels that are sums share the input. */
static int64_t sample_slot_bytes(const struct lw_job *job, const struct lw_op_plan *op)
{
    const int64_t samples = 1 << 20;    /* an average over many samples: some products have fewer elements than samples */
    const int64_t n = job->op.n_channels;
    int64_t bytes = lw_divide_up(lw_op_inputs(&job->op, n) * lw_plan_input_bytes(job, op), n) +
                    lw_divide_up(lw_op_map_bytes(&job->op, op, samples, 1), samples);
    for (int p = 0; p < op->n_products; p++)
        bytes += lw_divide_up(lw_op_product_bytes(op, p, samples, 1), samples);
    return bytes;
}

/* Return the largest number of channels that one rank has. */
static int64_t rank_channels(const struct lw_plan_spec *spec, const struct lw_grid *grid, enum lw_split split)
{
    const int n_ranks = lw_comm_size(spec->comm);
    return split == LW_SPLIT_CHANNELS ? (grid->n_channels + n_ranks - 1) / n_ranks : grid->n_channels;
}

/* Make rounds whose slots hold about `slot_bytes`. If channels vary fastest, a sample of all channels is contiguous in the
 * file, and slices are short with many channels. If time varies fastest, slices are long with few channels, unless
 * all these are sums of the same input.
 * @param group  channels of a slice; 0: chosen as described */
static struct lw_rounds rounds_with(const struct lw_plan_spec *spec, const struct lw_plan *plan,
                                    const struct lw_grid *grid, enum lw_split split, int64_t slot_bytes, int64_t group)
{
    const int n_ranks = lw_comm_size(spec->comm);
    const int64_t samples = lw_max64(1, slot_bytes / sample_slot_bytes(spec->job, &plan->op));
    if (group > 0)
        return lw_rounds_make(grid, n_ranks, split, samples / group, group);
    if (spec->job->op.layout == LW_TIME_SLOW || lw_op_sums_channels(&spec->job->op)) {
        const int64_t least = lw_rounds_least_slice(grid, n_ranks, split);
        group = lw_min64(rank_channels(spec, grid, split), lw_max64(1, samples / least));
        return lw_rounds_make(grid, n_ranks, split, samples / group, group);
    }
    const struct lw_rounds widest = lw_rounds_make(grid, n_ranks, split, samples / grid->channel_unit, grid->channel_unit);
    return lw_rounds_make(grid, n_ranks, split, widest.slice, samples / widest.slice);
}

/* Return the pieces into which one write cuts rows of the result; 0 unless channels vary fastest and a slice has only some. */
static int64_t pieces_of_write(const struct lw_plan *plan, const struct lw_job *job)
{
    const bool is_part = plan->rounds.group < plan->rounds.grid.n_channels;
    int64_t planes = 0;
    for (int p = 0; p < plan->op.n_products; p++)
        planes += plan->op.products[p].n_planes;
    return lw_op_output_layout(&job->op) == LW_TIME_SLOW && is_part ? planes * plan->rounds.slice : 0;
}

/* Count the bytes of the rank that needs most. Ranks must choose the same rounds, though their numbers of threads may differ. */
static void count_bytes(const struct lw_plan_spec *spec, struct lw_plan *plan)
{
    const struct lw_job *const job = spec->job;
    const struct lw_halo_spec halo = lw_plan_halo(plan, job);
    const struct lw_window_spec window = lw_plan_window(plan, job, NULL);
    const struct lw_view_spec view = lw_plan_view(plan, job);
    const struct lw_bytes engine = spec->engine->ops->op_bytes(spec->engine, &plan->spec, &plan->op, plan->rounds.slice,
                                                               plan->rounds.group, plan->depth);
    static const int64_t stack_bytes = 64 << 10;    /* stack of a thread, without its file buffers */
    int64_t growing = 0;        /* buffers of the writer for tables */
    for (int p = 0; p < plan->op.n_products; p++)
        growing += plan->op.products[p].n_planes == 0 ? LW_SPOOL_BYTES : 0;
    const bool may_aggregate = spec->n_io_threads == 0 && lw_comm_node_size(spec->comm) < lw_comm_size(spec->comm);
    plan->bytes.files = (may_aggregate ? LW_AGGREGATE_BYTES : 0) + LW_FILE_LAYER_BYTES +
                        lw_reader_bytes(spec->reader, &view) + lw_map_bytes(spec->map, job, plan) +
                        pieces_of_write(plan, job) * bytes_per_piece +
                        lw_comm_max(spec->comm, spec->n_io_threads * stack_bytes + lw_store_bytes(spec->n_io_threads)) + growing +
                        lw_comm_max(spec->comm, lw_sums_bytes(plan, job, spec->n_io_threads));
    plan->bytes.halo = lw_halo_bytes(&halo) + lw_window_bytes(&window) + lw_mask_bytes(spec->mask, job, plan);
    const struct lw_bytes noise = lw_noise_bytes(spec, plan);
    plan->bytes.engine = lw_comm_max(spec->comm, engine.host) +
                         lw_comm_max(spec->comm, lw_candidates_bytes(job, spec->engine, &plan->op, plan->rounds.slice,
                                                                     plan->rounds.group)) +
                         lw_best_bytes(&plan->op, plan->rounds.split);
    plan->bytes.engine = lw_max64(plan->bytes.engine, lw_comm_max(spec->comm, noise.host));
    if (job->op.kind == LW_OP_OLS && !job->op.ols.taps.data)
        plan->bytes.engine += lw_job_filter_bytes(job, plan->rounds.held) + lw_spectrum_work_bytes(job, spec->engine);
    /* Power spectrum and mesh are measured before the rounds, and then free their memory: only the largest demand counts. */
    const int64_t spectrum = lw_spectrum_bytes(job, spec->engine, spec->reader, lw_comm_size(spec->comm));
    const int64_t mesh = lw_mesh_pass_bytes(job, spec->engine, spec->reader, spec->map, lw_comm_size(spec->comm));
    plan->bytes.engine = lw_max64(plan->bytes.engine, lw_comm_max(spec->comm, lw_max64(spectrum, mesh))) +
                         lw_spectrum_taps_bytes(job) + lw_noise_kept_bytes(job) + lw_mesh_kept_bytes(job);
    plan->bytes.pinned = lw_comm_max(spec->comm, lw_max64(engine.pinned, noise.pinned));
    plan->bytes.device = lw_comm_max(spec->comm, lw_max64(engine.device, noise.device));
}

static int refuse(const struct lw_plan *plan, const struct lw_job *job, struct lw_error *err)
{
    char needed[24], limit[24];
    if (lw_plan_host_bytes(plan) > plan->limits.host)
        return lw_fail(err, LW_ECONFIG, "the smallest round needs %s of memory on each rank, the limit is %s (%s): allow more with "
                       "--memory, run fewer ranks on a node, or choose %s", lw_bytes_text(lw_plan_host_bytes(plan), needed),
                       lw_bytes_text(plan->limits.host, limit), plan->limits.host_source, job->ops->remedy);
    return lw_fail(err, LW_ECONFIG, "the smallest round needs %s of GPU memory on each rank, the limit is %s (%s): allow more with "
                   "--gpu-memory, free the GPU, let fewer ranks share it, or choose %s", lw_bytes_text(plan->bytes.device, needed),
                   lw_bytes_text(plan->limits.device, limit), plan->limits.device_source, job->ops->remedy);
}

/* ---- the choice ------------------------------------------------------------------------------------------------------ */

/* Return the seconds of the copies to devices or from them, whichever take longer; 0 without devices. */
static double copy_seconds_of(struct lw_comm *comm, const struct lw_engine *engine, const struct lw_plan *plan)
{
    const double bytes = (double)lw_max64(plan->input_bytes, plan->output_bytes);
    return engine->link_rate > 0 ? bytes / (engine->link_rate * lw_comm_size(comm)) : 0;
}

/* Estimate the quantities that do not depend on the rounds. Collective. */
static void estimate(const struct lw_plan_spec *spec, struct lw_plan *plan)
{
    const struct lw_job *const job = spec->job;
    plan->input_bytes = job->n_samples * lw_op_inputs(&job->op, job->op.n_channels) * lw_plan_input_bytes(job, &plan->op) +
                        lw_map_input_bytes(spec->map, job);
    const struct lw_block whole = {.count = job->n_outputs};
    plan->output_bytes = 0;
    for (int p = 0; p < plan->op.n_products; p++) {
        const struct lw_op_product *const product = &plan->op.products[p];
        const int64_t n_planes = job->products[p].has_filters ? lw_op_filters(&job->op) : product->n_planes;
        plan->output_bytes += lw_op_outputs(&plan->op, p, &whole) * job->op.n_channels * n_planes * product->width *
                              (int64_t)lw_type_bytes(product->type);
    }
    for (int p = job->n_products; p < job->n_products + job->n_given; p++)
        if (job->products[p].mesh)
            plan->output_bytes += job->op.n_channels * job->window_count * job->op.conv2d.columns * (int64_t)sizeof(float);
    const int64_t workers = lw_comm_sum(spec->comm, lw_max64(1, spec->engine->n_workers));
    plan->mesh_seconds = lw_mesh_pass_seconds(job, lw_comm_sum(spec->comm, lw_engine_host_threads(spec->engine)));
    const struct lw_rates *const rates = spec->rates;
    if (job->mesh)
        plan->mesh_seconds += (double)plan->input_bytes / rates->read;
    plan->busy_seconds =
        count_values(job, plan) * plan->op.seconds_per_output * lw_rates_slowness(rates, spec->engine) / (double)workers;
    plan->read_seconds = (double)plan->input_bytes / rates->read;
    plan->write_seconds = (double)plan->output_bytes / rates->write;
    plan->copy_seconds = copy_seconds_of(spec->comm, spec->engine, plan);
}

struct lw_run_model lw_plan_times(const struct lw_plan *plan)
{
    const double chunks = plan->chunk_cost.seconds;     /* decoding delays further reads, and takes cores from computing */
    return (struct lw_run_model){
        .prepare = plan->filter_seconds + plan->mesh_seconds, .copy = plan->copy_seconds,
        .compute = plan->compute_seconds + (plan->cores_decode ? chunks : 0),
        .read = plan->read_seconds + chunks, .write = plan->write_seconds + plan->piece_seconds,
        .halo = plan->halo_seconds, .messages = plan->round_seconds,
    };
}

double lw_plan_seconds(const struct lw_plan *plan)
{
    const struct lw_run_model times = lw_plan_times(plan);
    return lw_run_model_seconds(&times);
}

double lw_plan_serial_seconds(const struct lw_plan *plan)
{
    struct lw_run_model times = lw_plan_times(plan);
    times.copy = 0;             /* copies are short beside the files that they come from and go to */
    times.compute = plan->compute_seconds;      /* decoding is part of reading */
    times.is_in_turn = true;
    return lw_run_model_seconds(&times);
}

/* Return the parts of a piece of the axis and of channels that threads share: units of both, of which an image has several beside
 * each other, and where these are few, shares of 8 filters. The best filter is chosen among all of them, by one thread. */
static int64_t parts_of(const struct lw_plan *plan, int64_t n_outputs, int64_t n_channels)
{
    const bool is_whole = lw_search_products(lw_op_search(&plan->spec)) & LW_BEST;
    const int64_t shares = plan->op.parts > 0 ? plan->op.parts : is_whole ? 1 : lw_op_filters(&plan->spec) / 8;
    return lw_divide_up(n_outputs, lw_max64(1, plan->op.unit)) * lw_divide_up(n_channels, lw_max64(1, plan->op.channel_unit)) *
           lw_max64(1, shares);
}

/* Return the share of `threads` that are busy with equal parts, each of which one thread takes. */
static double busy_share(int64_t parts, int64_t threads)
{
    return (double)parts / (double)(lw_divide_up(parts, threads) * threads);
}

static void estimate_rounds(const struct lw_plan_spec *spec, struct lw_plan *plan)
{
    const struct lw_rounds *const rounds = &plan->rounds;
    const struct lw_view_spec view = lw_plan_view(plan, spec->job);
    const bool shares_axis = rounds->split == LW_SPLIT_AXIS;
    const struct lw_reads reads = {
        .axis = rounds->slice, .channels = rounds->group, .n_axis_ranks = shares_axis ? lw_rounds_workers(rounds, 0) : 1,
        .n_ranks = lw_rounds_workers(rounds, 0),
    };
    plan->chunk_cost = lw_reader_chunk_cost(spec->reader, &view, &reads);
    plan->cores_decode = spec->job->inputs[0].is_compressed && spec->engine->link_rate == 0;
    const double writes = (double)rounds->n_groups * (double)spec->job->n_outputs / (double)rounds->slice;
    /* Some threads may be idle: a small slice has few parts, and some ranks may have no slice. */
    const int64_t threads = lw_max64(1, spec->engine->n_workers);
    const double share = busy_share(parts_of(plan, rounds->slice, rounds->group), threads);
    plan->compute_seconds = plan->busy_seconds * (rounds->n_ranks / (share * reads.n_ranks));
    /* Each rank prepares the filters that it holds, group after group. */
    const int64_t sharing = rounds->split == LW_SPLIT_FILTERS ? rounds->n_ranks : 1;
    const int64_t groups = lw_divide_up(lw_max64(1, rounds->grid.n_filters), rounds->held * sharing);
    const struct lw_rates *const rates = spec->rates;
    plan->filter_seconds = (double)groups * plan->op.seconds_to_prepare * lw_rates_slowness(rates, spec->engine) / (double)threads;
    /* Each group of filters reads the signal again, and so do groups of sums and ranks that share the filters. */
    const double times = (double)(groups * sharing) * (lw_op_sums_channels(&plan->spec) ? (double)rounds->n_groups : 1);
    plan->read_seconds = (double)plan->input_bytes * times / rates->read;
    if (spec->job->bank.rows > 0)
        plan->filter_seconds += (double)lw_whole_bytes(&spec->job->bank) / rates->read;
    struct lw_traffic traffic = {0};
    lw_loop_round_traffic(plan, spec->job, rounds->n_rounds > 1, &traffic);     /* the second has a carry */
    plan->round_seconds = (double)rounds->n_rounds * (seconds_per_round + (double)traffic.chain * rates->latency);
    const struct lw_halo_spec halo = lw_plan_halo(plan, spec->job);
    const double bytes = (double)rounds->n_rounds * (double)lw_halo_round_bytes(&halo);
    plan->halo_seconds = bytes * (2 / copy_rate + (rates->network > 0 && shares_axis ? 1 / rates->network : 0));
    plan->piece_seconds = (double)pieces_of_write(plan, spec->job) * writes * seconds_per_piece / reads.n_ranks;
}

/* Return the rounds that a rank wants, so that reading, computing and writing overlap. A search computes outputs beyond a slice,
 * too: slices shall have several times as many of their own. */
static int64_t wanted_rounds(const struct lw_plan_spec *spec, const struct lw_plan *plan)
{
    enum { MOST = 8, LEAST = 2, TIMES = 4 };
    const int64_t beyond = plan->op.before + plan->op.after, own = spec->job->n_outputs / lw_comm_size(spec->comm);
    return beyond > 0 ? lw_max64(LEAST, lw_min64(MOST, own / (TIMES * beyond))) : MOST;
}

/* Return the bytes that a slot shall have. A block of sums goes to a device with all samples that its delays reach: slices shall
 * have several times as many of their own. Images shall have a part for each thread, and slices longer than their halos. */
static int64_t wanted_bytes(const struct lw_plan_spec *spec, const struct lw_plan *plan, int64_t sample_bytes)
{
    enum { TIMES = 4, MOST = 8 };
    const struct lw_shifts *const sums = lw_op_sums(&spec->job->op);
    const int64_t reach = sums && spec->engine->device_bytes > 0 ? sums->before + sums->after : 0;
    int64_t rows = 0;
    if (plan->op.input_width > 1) {
        const int64_t threads = lw_comm_max(spec->comm, spec->engine->n_workers);
        const int64_t units = plan->op.parts > 0 ? lw_divide_up(threads, parts_of(plan, 1, spec->job->op.n_channels)) : 0;
        rows = lw_max64(units * plan->op.unit, TIMES * plan->op.halo);
    }
    return lw_max64(lw_max64(wanted_slot_bytes, TIMES * reach * sample_bytes),
                    lw_min64(rows * sample_bytes, MOST * wanted_slot_bytes));
}

/* Halve the slots until they fit the memory limits; return whether they do.
 * @param least  fewest bytes of a slot */
static bool fit_slots(const struct lw_plan_spec *spec, struct lw_plan *plan, const struct lw_grid *grid, enum lw_split split,
                      int64_t group, int64_t least)
{
    const struct lw_job *const job = spec->job;
    const int64_t each = job->op.n_channels * sample_slot_bytes(job, &plan->op), all = job->n_outputs * each;
    const int64_t even = lw_max64(all / lw_comm_size(spec->comm) / wanted_rounds(spec, plan), least_slot_bytes);

    for (int64_t slot_bytes = lw_min64(even, wanted_bytes(spec, plan, each)); slot_bytes >= least; slot_bytes /= 2) {
        plan->rounds = rounds_with(spec, plan, grid, split, slot_bytes, group);
        lw_rounds_hold(&plan->rounds, lw_op_filters(&plan->spec));
        count_bytes(spec, plan);
        if (lw_plan_host_bytes(plan) <= plan->limits.host &&
            (plan->limits.device == 0 || plan->bytes.device <= plan->limits.device))
            return true;
    }
    return false;
}

/* ---- groups of filters ------------------------------------------------------------------------------------------------ */

/* Return whether the engine may hold a part of the filters at a time. The best filter so far is read back from the result, which
 * only I/O threads do. */
static bool can_part(const struct lw_plan_spec *spec)
{
    const struct lw_op_spec *const op = &spec->job->op;
    const bool has_best = lw_search_products(&op->ols.search) & LW_BEST;
    return op->kind == LW_OP_OLS && op->ols.n_filters > 1 && spec->engine->ops->op_fill &&
           (!has_best || spec->n_io_threads > 0);
}

/* Spectra for which a CPU engine takes memory, where the whole bank is used for a short signal only: it would spend more time on
 * clearing new pages than on reading the signal again for each group of filters. */
static const int64_t wanted_spectra_bytes = 64 * (int64_t)MIB;

/* Return the filters that a rank holds best, of `most`: all, or as many as wanted_spectra_bytes hold, yet 8 for each thread. Each
 * group of filters reads the signal again, and the best outputs so far are read and written again. */
static int64_t best_held(const struct lw_plan_spec *spec, const struct lw_plan *plan, int64_t most)
{
    const int64_t real = plan->spec.precision == LW_SINGLE ? 4 : 8, each = lw_max64(1, plan->op.segment) * 2 * real;
    const int64_t threads = lw_comm_max(spec->comm, spec->engine->n_workers);
    const int64_t held = lw_min64(most, lw_max64(wanted_spectra_bytes / each, 8 * threads));
    const bool has_best = lw_search_products(lw_op_search(&plan->spec)) & LW_BEST;
    const int64_t moved = plan->input_bytes + (has_best ? 2 * plan->output_bytes : 0);
    const bool is_short = lw_divide_up(most, held) * moved < most * each / 4;
    return spec->engine->device_bytes == 0 && is_short ? lw_divide_up(most, lw_divide_up(most, held)) : most;
}

/* Plan the operation with `held` filters, unless it has been. */
static int hold(const struct lw_plan_spec *spec, struct lw_plan *plan, int64_t held, struct lw_error *err)
{
    if (plan->spec.kind != LW_OP_OLS || plan->spec.ols.n_filters == held)
        return LW_OK;
    plan->spec.ols.n_filters = (int)held;
    const double seconds = plan->op.seconds_per_output;         /* rank 0's */
    const int rc = spec->engine->ops->op_plan(spec->engine, &plan->spec, &plan->op, err);
    plan->op.seconds_per_output = seconds;
    return rc;
}

/* Hold the most filters, in groups as equal as possible, with which slots of a useful size fit the memory. Slots of half the size,
 * which have twice the rounds, are taken where they leave room for twice the filters, and so halve the groups. If no slots fit,
 * hold one filter. @param most  filters of a rank */
static int hold_fewer(const struct lw_plan_spec *spec, struct lw_plan *plan, const struct lw_grid *grid, enum lw_split split,
                      int64_t most, struct lw_error *err)
{
    int64_t best = 0;
    int rc = LW_OK;
    for (int64_t least = least_slot_bytes; least >= least_slot_bytes / 32; least /= 2) {
        int64_t fits = best, fails = most + 1;
        while (rc == LW_OK && fails - fits > 1) {
            const int64_t middle = fits + (fails - fits) / 2;
            rc = hold(spec, plan, middle, err);
            *(rc == LW_OK && fit_slots(spec, plan, grid, split, 0, least) ? &fits : &fails) = middle;
        }
        if (fits < 2 * best)
            break;
        best = fits;
    }
    return rc ? rc : hold(spec, plan, lw_divide_up(most, lw_divide_up(most, lw_max64(1, best))), err);
}

/* Make other rounds, which keep chunks, and use them if they are estimated to be faster by a tenth. */
static void try_rounds(const struct lw_plan_spec *spec, struct lw_plan *plan, const struct lw_grid *grid, enum lw_split split,
                       int64_t group)
{
    struct lw_plan other = *plan;
    other.chunks = LW_CHUNKS_KEPT;
    if (!fit_slots(spec, &other, grid, split, group, 1))
        return;
    estimate_rounds(spec, &other);
    if (lw_plan_seconds(&other) < 0.9 * lw_plan_seconds(plan))
        *plan = other;
}

/* Try groups of channels as wide as one or several chunks, so that slices cut no chunk along the channels. */
static void try_chunks(const struct lw_plan_spec *spec, struct lw_plan *plan, const struct lw_grid *grid, enum lw_split split)
{
    const struct lw_view_spec view = lw_plan_view(plan, spec->job);
    int64_t width = lw_reader_chunk_width(spec->reader, &view);
    if (width == 0)
        return;
    if (width % grid->channel_unit != 0)
        width *= grid->channel_unit;
    const int64_t most = rank_channels(spec, grid, split);
    try_rounds(spec, plan, grid, split, 0);
    for (int64_t group = most; group > 0; group = group > width ? lw_max64(group / 2 / width * width, width) : 0)
        try_rounds(spec, plan, grid, split, group);
}

static int choose_rounds(const struct lw_plan_spec *spec, struct lw_plan *plan, struct lw_error *err)
{
    const struct lw_job *const job = spec->job;
    const struct lw_grid grid = {
        .n_outputs = job->n_outputs, .unit = lw_sums_unit(job, &plan->op), .halo = plan->op.halo,
        .n_channels = job->op.n_channels, .channel_unit = plan->op.channel_unit, .n_filters = lw_op_filters(&job->op),
    };
    const bool parts = can_part(spec);
    struct lw_grid shared = grid;
    shared.n_filters = parts ? grid.n_filters : 1;
    if (spec->split == LW_SPLIT_CHANNELS && job->op.kind == LW_OP_OLS && job->op.ols.stacks)
        return lw_fail(err, LW_EUSAGE, "--split channels: a stack is one channel, which ranks cannot divide: choose --split axis "
                       "or filters");
    const enum lw_split split = lw_rounds_resolve_split(&shared, lw_comm_size(spec->comm), spec->split);
    if (split == LW_SPLIT_FILTERS && !parts)
        return lw_fail(err, LW_ECONFIG, "--split filters: %s: choose --split axis or channels", lw_op_filters(&job->op) == 1
                       ? "there is only one filter" : "the best filter needs all filters on each rank");
    plan->chunks = LW_CHUNKS_WHOLE;
    const int64_t share = lw_divide_up(grid.n_filters, split == LW_SPLIT_FILTERS ? lw_comm_size(spec->comm) : 1);
    const int64_t most = parts ? best_held(spec, plan, share) : share;
    int rc;
    if ((rc = hold(spec, plan, most, err)) ||
        (parts && most > 1 && !fit_slots(spec, plan, &grid, split, 0, least_slot_bytes) &&
         (rc = hold_fewer(spec, plan, &grid, split, most, err))))
        return rc;
    if (!fit_slots(spec, plan, &grid, split, 0, 1))
        return refuse(plan, job, err);
    estimate_rounds(spec, plan);
    try_chunks(spec, plan, &grid, split);
    const int64_t ahead = plan->rounds.held * lw_whole_row_bytes(&job->bank);
    plan->reads_ahead = parts && !job->op.ols.taps.data && plan->rounds.held < share &&
                        lw_plan_host_bytes(plan) + ahead <= plan->limits.host;
    plan->bytes.engine += plan->reads_ahead ? ahead : 0;
    return LW_OK;
}

/* Plan the operation on every rank, and estimate what does not depend on the rounds. */
static int plan_operation(const struct lw_plan_spec *spec, struct lw_plan *plan, struct lw_error *err)
{
    plan->spec = spec->job->op;
    if (plan->spec.kind == LW_OP_OLS)
        plan->spec.ols.n_bank = plan->spec.ols.n_filters;
    int rc = spec->engine->ops->op_plan(spec->engine, &plan->spec, &plan->op, err);
    const struct lw_op_spec *const op = &spec->job->op;
    const double input = (double)spec->job->n_outputs * (double)lw_op_inputs(op, op->n_channels) * (double)plan->op.input_width *
                         (double)lw_type_bytes(op->input);
    const double all = input + count_values(spec->job, plan) * (double)lw_type_bytes(op->output);
    if (rc == LW_OK && all > 0x1p62)        /* int64_t would overflow, a double does not */
        rc = lw_fail(err, LW_ECONFIG, "input and result have %.3g bytes, more than can be counted in 64 bits: choose a piece with "
                     "--start and --count, or fewer --channels", all);
    if ((rc = lw_comm_agree(spec->comm, rc, err)))
        return rc;
    /* Ranks on different processors (--engine allow-mixed) must choose the same rounds: all use the estimate of rank 0. */
    char text[200];
    snprintf(text, sizeof text, "N = %d, hop %" PRId64 ", halo %" PRId64 ", channels by %" PRId64, plan->op.segment, plan->op.unit,
             plan->op.halo, plan->op.channel_unit);
    lw_comm_broadcast(spec->comm, &plan->op.seconds_per_output, sizeof plan->op.seconds_per_output);
    rc = lw_comm_same(spec->comm, "what the engine chose for this job", text, err);
    if (rc == LW_OK)
        estimate(spec, plan);
    return rc;
}

int lw_plan_make(const struct lw_plan_spec *spec, struct lw_plan *plan, struct lw_error *err)
{
    *plan = (struct lw_plan){.depth = spec->engine->depth > 0 ? spec->engine->depth : 2, .limits = spec->limits};
    const int rc = plan_operation(spec, plan, err);
    return rc ? rc : lw_comm_agree(spec->comm, choose_rounds(spec, plan, err), err);
}

int lw_plan_model(struct lw_comm *comm, const struct lw_job *job, const struct lw_engine *engine, const struct lw_rates *rates,
                  struct lw_run_model *model, struct lw_error *err)
{
    const struct lw_plan_spec spec = {.comm = comm, .job = job, .engine = engine, .rates = rates};
    struct lw_plan plan = {0};
    const int rc = plan_operation(&spec, &plan, err);
    if (rc)
        return rc;
    const int64_t own = lw_choice_workers(comm, engine), workers = lw_comm_sum(comm, own);
    const double share = busy_share(parts_of(&plan, job->n_outputs, job->op.n_channels), workers);
    *model = (struct lw_run_model){
        .prepare = plan.op.seconds_to_prepare * lw_engine_slowness(engine) / (double)own,
        .compute = count_values(job, &plan) * plan.op.seconds_per_output * lw_rates_slowness(rates, engine) /
                   ((double)workers * share),
        .copy = copy_seconds_of(comm, engine, &plan), .read = plan.read_seconds, .write = plan.write_seconds,
    };
    return LW_OK;
}

int lw_plan_make_for(struct lw_setup *setup, struct lw_plan *plan, struct lw_error *err)
{
    const struct lw_plan_spec spec = {
        .comm = setup->comm, .job = &setup->job, .engine = setup->engine, .reader = setup->reader,
        .map = setup->map, .mask = setup->mask, .limits = setup->limits, .rates = &setup->rates,
        .split = (enum lw_split)lw_options_choice(setup->options, "split"),
        .n_io_threads = setup->pool ? lw_pool_threads(setup->pool) : 0,
    };
    const int rc = lw_plan_make(&spec, plan, err);
    if (rc != LW_OK)
        return rc;
    snprintf(setup->algorithm, sizeof setup->algorithm, "%s", plan->op.text);
    lw_sums_declare(plan, &setup->job);
    return LW_OK;
}

/* ---- in words -------------------------------------------------------------------------------------------------------- */

static void print_rounds(const struct lw_setup *setup, const struct lw_plan *plan)
{
    const struct lw_rounds *const rounds = &plan->rounds;
    const int workers = lw_rounds_workers(rounds, 0);
    const struct lw_job_ops *const words = setup->job.ops;
    const bool shares_axis = rounds->split == LW_SPLIT_AXIS;
    const char *const shared = shares_axis ? "axis" : rounds->split == LW_SPLIT_FILTERS ? "filter" : words->channel;
    printf("%-16s%d, sharing the %s%s%s\n", "ranks", rounds->n_ranks, shared, shares_axis ? "" : "s",
           workers < rounds->n_ranks ? "" : ", all with work");
    if (workers < rounds->n_ranks)
        printf("%-16sonly %d of them have work: there are too few %ss for more\n", "", workers, words->sample);
    if (rounds->held < rounds->grid.n_filters)
        printf("%-16s%" PRId64 " of %" PRId64 " at a time on each rank; it reads the signal once for each group of them\n",
               "filters", rounds->held, rounds->grid.n_filters);
    printf("%-16s%" PRId64 "%s%s%s\n", "rounds", rounds->n_rounds, rounds->n_groups > 1 ? ", in groups of " : "",
           rounds->n_groups > 1 ? words->channel : "",
           rounds->n_groups == 1 ? "" : lw_op_sums_channels(&plan->spec) ? "s, each of which reads the whole signal" : "s");
    printf("%-16s%" PRId64 " outputs x %" PRId64 " %ss per rank and round, cut at multiples of %" PRId64 "\n", "slice",
           rounds->slice, rounds->group, words->channel, rounds->grid.unit);
    printf("%-16s%" PRId64 " %ss", "halo", rounds->grid.halo, words->sample);
    if (lw_op_sums_channels(&plan->spec)) {
        char bytes[24];
        const int64_t n = lw_op_inputs(&plan->spec, 0), its = rounds->grid.halo * n * lw_plan_input_bytes(&setup->job, &plan->op);
        printf(" of %" PRId64 " %ss, %s from rank to rank in a round; ranks exchange no sums", n, words->channel,
               lw_bytes_text(its, bytes));
    }
    printf("\n");
    printf("%-16s%d\n", "slots", plan->depth);
    if (setup->job.mesh)
        printf("%-16s%" PRId64 " x %" PRId64 " cells, from all pixels in a pass before\n", "mesh", setup->job.mesh->noise.node_rows,
               setup->job.mesh->noise.node_columns);
}

void lw_plan_print(const struct lw_setup *setup, const struct lw_plan *plan)
{
    lw_plan_print_input(setup, plan->op.input_width);
    print_rounds(setup, plan);
    const struct lw_plan_bytes *const b = &plan->bytes;
    lw_plan_total_row("host memory", lw_plan_host_bytes(plan), plan->limits.host, plan->limits.host_source);
    lw_plan_base_row(setup, "round");
    lw_plan_bytes_row("  files", b->files, "");
    lw_plan_bytes_row("  halo", b->halo, "");
    lw_plan_bytes_row("  engine", b->engine, "");
    lw_plan_bytes_row("  pinned", b->pinned, "");
    if (plan->limits.device > 0)
        lw_plan_total_row("device memory", b->device, plan->limits.device, plan->limits.device_source);
    else
        lw_plan_bytes_row("device memory", b->device, "");
    lw_plan_bytes_row("reads", plan->input_bytes, "");
    lw_plan_bytes_row("writes", plan->output_bytes, "");
    const struct lw_chunk_cost *const cost = &plan->chunk_cost;
    const bool is_compressed = setup->job.inputs[0].is_compressed;
    if (cost->times != 0)
        printf("%-16seach %s %.3g times on average: %.3g s %s\n", "chunks", is_compressed ? "decoded" : "read", cost->times,
               cost->seconds, is_compressed ? "at an assumed rate" : "more than once, at an assumed 1 GB/s");
    const double start = setup->machine ? lw_planned_start(setup) : LW_PLAN_START_SECONDS;
    printf("%-16sabout %.3g s: computing %.3g s, files %.3g s", "time", lw_plan_seconds(plan) + start,
           plan->compute_seconds, plan->read_seconds + plan->write_seconds + plan->piece_seconds);
    if (setup->machine)
        printf(" at %.3g GB/s read, %.3g written", setup->rates.read / 1e9, setup->rates.write / 1e9);
    else
        printf(" at an assumed 1 GB/s");
    if (cost->seconds > 0)
        printf(", chunks %.3g s", cost->seconds);
    printf(", overlapping");
    if (plan->filter_seconds >= 0.01)
        printf("; filters %.3g s before", plan->filter_seconds);
    if (plan->mesh_seconds >= 0.01)
        printf("; mesh %.3g s before", plan->mesh_seconds);
    if (plan->halo_seconds >= 0.01)
        printf("; halo %.3g s", plan->halo_seconds);
    if (plan->round_seconds >= 0.5)
        printf("; %" PRId64 " rounds %.3g s at an assumed %.3g ms: more memory makes fewer", plan->rounds.n_rounds,
               plan->round_seconds, 1e3 * plan->round_seconds / (double)plan->rounds.n_rounds);
    printf("\n");
}
