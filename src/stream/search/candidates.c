#include "stream/search/candidates.h"

#include "base/integers.h"
#include "base/leave.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/select.h"
#include "io/bytes/spool.h"
#include "signal/clusters.h"
#include "stream/listener.h"
#include "stream/search/counted.h"
#include "stream/search/sources.h"

#include <inttypes.h>
#include <stdio.h>

/* Rows that a rank sends at a time. */
enum { SENT_ROWS = 1 << 14 };

/* Shape of a histogram of the peaks by log2(SNR / threshold). */
enum { BINS_PER_OCTAVE = 1024, OCTAVES = 64, BINS = BINS_PER_OCTAVE * OCTAVES };

/* The run ends if there are more than HOPELESS times max-peaks peaks, or will be at the rate so far. The rate is used once there
 * are more than LEAST_RATE peaks and more than 1/RATE_FROM of max-peaks. The run also ends if there are more than HOPELESS times
 * max-peaks crossings, and these are more than one in CROWDED of all outputs so far. */
enum { HOPELESS = 4, RATE_FROM = 16, LEAST_RATE = 1000, CROWDED = 10 };

/* Rows that are sifted together: the outputs with crossings within +- 2 `cluster` of each other, in a channel. */
enum { SIFTED_ROWS = 1 << 17 };

/* Most parts of a block that wait to be computed again. A part is split in two, by grid units, channels or filters. */
enum { MOST_PARTS = 192 };

struct lw_candidates {
    struct lw_candidates_spec spec;
    const struct lw_search *search;     /* search of the job */
    struct lw_counted counted;
    int product;                        /* number of the crossings among the products, and of the table among the datasets */
    struct lw_part parts[MOST_PARTS];   /* parts that wait, a stack: the last one is done next */
    int n_parts;
    struct lw_peak *peaks;              /* [most_rows] peaks of the part done last */
    int64_t n_peaks;                    /* number of these peaks */
    void *rows;                         /* [most_rows] the same peaks as rows of the table */
    int64_t row_bytes;
    struct lw_sources *sources;         /* measures the peaks of images; NULL: of signals */
    int64_t n_crossings;                /* crossings of the part done last, in the slot's table */
    int64_t values;                     /* values of an output of one filter: the pixels of a row, or 1 */
    int64_t n_part;                     /* outputs of the part done last, of its filters; 0: no part was done */
    int64_t n_crossed, n_values;        /* crossings and outputs in the blocks so far, of all filters and ranks */
    bool is_crowded;                    /* too many crossings: the run ends once some part's peaks are counted */
    void *received;                     /* rank 0: [SENT_ROWS] rows of another rank */
    void *placed;                       /* rank 0: [SENT_ROWS] rows with their places on the sky */
    int64_t *counts;                    /* rank 0: [BINS] histogram of the peaks */
    int64_t n_found;                    /* rank 0: peaks of all ranks; if peaks are chosen later, rows that wait for it */
    int64_t n_seen;                     /* outputs, of all filters, that have been searched for peaks */
    bool waits;                         /* peaks are chosen after the last block (lw_search_waits) */
    struct lw_crossing *sifted;         /* rank 0, if so: [SIFTED_ROWS] crossings of a channel, sorted by index */
    struct lw_peak *picked;             /* likewise: [SIFTED_ROWS], or [lw_clusters_most] */
    int64_t n_sifted, sifted_end;       /* number of these crossings; output before which peaks were picked */
    struct lw_clusters *clusters;       /* rank 0, in place of `sifted`: clusters over channels; NULL: channels are apart */
    int32_t filter;                     /* filter of the clusters, if these have one */
};

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */

static int64_t most_rows(const struct lw_op_plan *op, int64_t count, int64_t n_channels)
{
    const int product = lw_op_find_product(op, LW_OP_CROSSINGS);
    return product < 0 ? 0 : lw_op_most_rows(op, product, count, n_channels);
}

int64_t lw_candidates_bytes(const struct lw_job *job, const struct lw_engine *engine, const struct lw_op_plan *op, int64_t count,
                            int64_t n_channels)
{
    const int64_t all = job->op.n_channels;
    const int64_t joined = lw_clusters_most(all) * (int64_t)sizeof(struct lw_peak) + lw_clusters_bytes(all);
    const int64_t apart = SIFTED_ROWS * (int64_t)(sizeof(struct lw_crossing) + sizeof(struct lw_peak));
    const int64_t sifting = (lw_op_search(&job->op)->cluster_channels > 0 ? joined : apart) + LW_SPOOL_BYTES;
    const int64_t rows = most_rows(op, count, n_channels), row = lw_search_row_bytes(job);
    if (rows == 0)
        return 0;
    return (int64_t)sizeof(struct lw_candidates) + rows * ((int64_t)sizeof(struct lw_peak) + row) + 2 * SENT_ROWS * row +
           BINS * (int64_t)sizeof(int64_t) + lw_sources_bytes(job, engine) + (lw_search_waits(job) ? sifting : 0);
}

static int bin_of(const struct lw_candidates *candidates, double snr)
{
    const double octaves = log2(snr / candidates->search->threshold);
    return (int)fmin(fmax(octaves * BINS_PER_OCTAVE, 0), BINS - 1);
}

/* Count rows, also those of an interrupted run. */
static void see_rows(void *context, const void *rows, int64_t n)
{
    struct lw_candidates *const candidates = context;
    for (int64_t i = 0; i < n; i++)
        candidates->counts[bin_of(candidates, lw_search_row_snr(&candidates->spec.setup->job, rows, i))]++;
    candidates->n_found += n;
}

int lw_candidates_create(const struct lw_candidates_spec *spec, struct lw_candidates **out, struct lw_error *err)
{
    const int64_t rows = most_rows(spec->op, spec->plan->rounds.slice, spec->plan->rounds.group);
    if (rows == 0)
        return LW_OK;
    struct lw_candidates *const candidates = *out = lw_alloc(sizeof *candidates, "the candidates", err);
    if (!candidates)
        return LW_ESYSTEM;
    *candidates = (struct lw_candidates){
        .spec = *spec, .search = lw_op_search(&spec->setup->job.op), .product = lw_op_find_product(spec->op, LW_OP_CROSSINGS),
        .counted = lw_counted_of(spec->setup, spec->op),
        .values = lw_plan_output_values(spec->plan), .waits = lw_search_waits(&spec->setup->job),
        .row_bytes = lw_search_row_bytes(&spec->setup->job),
    };
    const bool sifts = candidates->waits && lw_comm_rank(spec->setup->comm) == 0;
    const bool joins = sifts && candidates->search->cluster_channels > 0;
    const int64_t n_channels = spec->setup->job.op.n_channels, sifted = sifts && !joins ? SIFTED_ROWS : 0;
    if (!(candidates->peaks = lw_alloc_array(rows, sizeof *candidates->peaks, "the peaks of a block", err)) ||
        !(candidates->rows = lw_alloc_array(rows, (size_t)candidates->row_bytes, "rows of a block", err)) ||
        !(candidates->received = lw_alloc_array(SENT_ROWS, (size_t)candidates->row_bytes, "rows of other ranks", err)) ||
        !(candidates->placed = lw_alloc_array(SENT_ROWS, (size_t)candidates->row_bytes, "rows of the table", err)) ||
        !(candidates->counts = lw_alloc_array(BINS, sizeof *candidates->counts, "the count of peaks", err)) ||
        !(candidates->sifted = lw_alloc_array(sifted, sizeof *candidates->sifted, "crossings of all filters", err)) ||
        !(candidates->picked = lw_alloc_array(joins ? lw_clusters_most(n_channels) : sifted, sizeof *candidates->picked,
                                              "peaks of all filters", err)) ||
        (joins && lw_clusters_create(candidates->search, n_channels, &candidates->clusters, err)) ||
        lw_sources_create(&spec->setup->job, spec->op, spec->setup->engine, spec->sky, &candidates->sources, err))
        return LW_ESYSTEM;
    memset(candidates->counts, 0, BINS * sizeof *candidates->counts);
    if (lw_comm_rank(spec->setup->comm) != 0)
        return LW_OK;
    candidates->n_seen = (lw_grid_outputs(&spec->plan->rounds.grid) - lw_rounds_all_outputs(&spec->plan->rounds)) *
                         candidates->values;
    return candidates->n_seen == 0
        ? LW_OK : lw_writer_recall(spec->writer, candidates->product, spec->n_rows, see_rows, candidates, err);
}

void lw_candidates_destroy(struct lw_candidates *candidates)
{
    if (!candidates)
        return;
    lw_free(candidates->peaks);
    lw_sources_destroy(candidates->sources);
    lw_free(candidates->received);
    lw_free(candidates->placed);
    lw_free(candidates->rows);
    lw_free(candidates->counts);
    lw_free(candidates->sifted);
    lw_free(candidates->picked);
    lw_clusters_destroy(candidates->clusters);
    lw_free(candidates);
}

/* ---- the peaks of this rank's block, part by part ---------------------------------------------------------------------- */

static int64_t half(int64_t n, int64_t unit) { return lw_divide_up(lw_divide_up(n, unit), 2) * unit; }

/* Put the halves of a part on the stack, the first half on top.
 * @return  false: the part cannot be split, or the stack is full */
static bool split(struct lw_candidates *candidates, struct lw_part part)
{
    const struct lw_op_plan *const op = candidates->spec.op;
    struct lw_part *const second = &candidates->parts[candidates->n_parts], *const first = second + 1;
    if (candidates->n_parts + 2 > MOST_PARTS)
        return false;
    *first = *second = part;
    if (part.count > op->unit) {
        first->count = half(part.count, op->unit);
        second->first += first->count;
        second->count -= first->count;
    } else if (part.n_channels > op->channel_unit) {
        first->n_channels = half(part.n_channels, op->channel_unit);
        second->channel += first->n_channels;
        second->n_channels -= first->n_channels;
    } else if (part.n_filters > 1 && (candidates->waits || !candidates->search->clusters_filters)) {
        first->n_filters = part.n_filters / 2;
        second->filter += first->n_filters;
        second->n_filters -= first->n_filters;
    } else
        return false;
    candidates->n_parts += 2;
    return true;
}

/* Return how peaks are picked among outputs [first, end), as far as these are wanted. */
static struct lw_peaks_spec peaks_of(const struct lw_candidates *candidates, int64_t first, int64_t end)
{
    const struct lw_op_spec *const op = &candidates->spec.setup->job.op;
    const struct lw_search_request *const request = &candidates->spec.setup->job.search;
    return (struct lw_peaks_spec){
        .search = candidates->search, .n_channels = op->n_channels, .n_filters = lw_op_filters(op),
        .is_image = lw_op_has_pixels(op), .has_errors = lw_op_is_weighted(op), .first = lw_max64(first, request->lead),
        .end = lw_min64(end, request->lead + request->n_wanted),
    };
}

/* Pick the peaks of a part among the n crossings in the slot's table, or what waits for other filters, neighbours of wanted outputs
 * included. @return  their number */
static int64_t pick(struct lw_candidates *candidates, const struct lw_part *part, struct lw_crossing *crossings, int64_t n)
{
    struct lw_peaks_spec spec = peaks_of(candidates, part->first, part->first + part->count);
    if (!candidates->waits)
        return lw_peaks_pick(&spec, crossings, n, candidates->peaks);
    spec.first = part->first;
    spec.end = part->first + part->count;
    return lw_peaks_gather(&spec, crossings, n, candidates->peaks);
}

/* Return the median SNR of n >= 1 crossings in the slot's table. Overwrites the memory of the peaks. */
static double typical_snr(struct lw_candidates *candidates, const struct lw_slot *slot, int64_t n)
{
    const struct lw_crossing *const crossings = slot->products[candidates->product].data;
    const struct lw_peaks_spec spec = peaks_of(candidates, 0, 0);
    double *const snr = (double *)candidates->peaks;
    for (int64_t i = 0; i < n; i++)
        snr[i] = lw_peaks_snr(&spec, &crossings[i]);
    return lw_select(snr, n, n / 2);
}

/* Pick the peaks of a part from its crossings in the slot's table; if the table was too short, split the part.
 * @param has_peaks  set: true if the peaks were picked, false if the part was split */
static int finish_part(struct lw_candidates *candidates, struct lw_slot *slot, const struct lw_part *part, bool *has_peaks,
                       struct lw_error *err)
{
    const struct lw_slot_product *const product = &slot->products[candidates->product];
    *has_peaks = product->n_rows <= product->most_rows;
    for (int64_t i = 0; i < product->n_rows && *has_peaks; i++)     /* the engine numbers the filters that it holds */
        ((struct lw_crossing *)product->data)[i].filter += (int32_t)slot->block.filter;
    if (*has_peaks) {
        const int number = lw_pipeline_number(candidates->spec.pipeline, slot);
        const int64_t n = lw_counted_drop(&candidates->counted, slot, number, product->data, product->n_rows);
        candidates->n_peaks = pick(candidates, part, product->data, n);
        candidates->n_crossings = n;
        lw_search_fill_rows(&candidates->spec.setup->job, candidates->peaks, candidates->n_peaks, candidates->rows);
        lw_sources_measure(candidates->sources, slot, candidates->peaks, candidates->n_peaks, candidates->rows);
        candidates->n_part = part->count * part->n_channels * part->n_filters * candidates->values;
    } else if (!split(candidates, *part))
        return lw_fail(err, LW_EDATA, "%" PRId64 " neighbouring outputs, from number %" PRId64 " on, are beyond --threshold %g "
                       "(half of them beyond %.4g): too many to compare at a time. Raise the threshold, or lower --cluster",
                       product->n_rows, part->first, candidates->search->threshold,
                       typical_snr(candidates, slot, product->most_rows));
    return LW_OK;
}

/* Return this rank's crossings in a block. A block's table also has crossings of outputs near the block: the block's own are
 * estimated by its share of these outputs. */
static int64_t own_crossings(const struct lw_candidates *candidates, const struct lw_slot *slot)
{
    const struct lw_op_plan *const op = candidates->spec.op;
    const struct lw_block *const block = &slot->block;
    const int64_t reach = op->products[candidates->product].beyond / 2;
    const int64_t begin = lw_max64(0, block->first - reach), end = lw_min64(op->n_outputs, block->first + block->count + reach);
    if (block->count == 0)
        return 0;
    return (int64_t)((double)slot->products[candidates->product].n_rows * (double)block->count / (double)(end - begin));
}

/* Set is_crowded: whether all blocks so far have too many crossings. @param n  crossings of all ranks in a round */
static void count_crossings(struct lw_candidates *candidates, int64_t round, int64_t n)
{
    candidates->n_crossed += n;
    candidates->n_values += lw_rounds_outputs(&candidates->spec.plan->rounds, round) * candidates->values;
    candidates->is_crowded = candidates->n_crossed / HOPELESS > candidates->spec.setup->job.search.most_peaks &&
                             candidates->n_crossed > candidates->n_values / CROWDED;
}

/* Find the peaks of the next part whose crossings fit the slot's table. */
static int next_part(struct lw_candidates *candidates, struct lw_slot *slot, struct lw_error *err)
{
    bool has_peaks = false;
    int rc = LW_OK;
    candidates->n_peaks = candidates->n_part = 0;
    while (rc == LW_OK && candidates->n_parts > 0 && !has_peaks) {
        const struct lw_part part = candidates->parts[--candidates->n_parts];
        if ((rc = lw_leave_check(err)) == LW_OK && (rc = lw_pipeline_again(candidates->spec.pipeline, slot, &part, err)) == LW_OK)
            rc = finish_part(candidates, slot, &part, &has_peaks, err);
    }
    return rc;
}

/* ---- on rank 0 --------------------------------------------------------------------------------------------------------- */

/* Return a threshold, rounded up from the edge of a bin, that keeps at most `most` of the counted peaks. */
static double keeping_threshold(const struct lw_candidates *candidates, double most)
{
    int bin = BINS;
    for (double kept = 0; bin > 0 && kept + (double)candidates->counts[bin - 1] <= most; bin--)
        kept += (double)candidates->counts[bin - 1];
    const double exact = candidates->search->threshold * exp2((double)bin / BINS_PER_OCTAVE);
    const double digits = exp10(floor(log10(exact)) - 4);
    return ceil(exact / digits) * digits;
}

/* Return the fraction of all outputs that have been searched for peaks. */
static double seen_part(const struct lw_candidates *candidates)
{
    return (double)candidates->n_seen / lw_plan_values(candidates->spec.plan);
}

/* Return the most rows of the table. */
static int64_t most_found(const struct lw_candidates *candidates)
{
    const int64_t most = candidates->spec.setup->job.search.most_peaks;
    return candidates->waits ? most * LW_CANDIDATES_KEPT : most;
}

/* Count at most SENT_ROWS rows, and append them to the table unless there are more than `most`. */
static int append_rows(struct lw_candidates *candidates, const void *rows, int64_t n, int64_t most, struct lw_error *err)
{
    see_rows(candidates, rows, n);
    if (candidates->n_found > most)
        return LW_OK;
    memmove(candidates->placed, rows, (size_t)(n * candidates->row_bytes));
    lw_sources_place(candidates->sources, candidates->placed, n);
    return lw_writer_append(candidates->spec.writer, candidates->product, candidates->placed, n, err);
}

static int add_rows(struct lw_candidates *candidates, const void *rows, int64_t n, struct lw_error *err)
{
    const int64_t most = most_found(candidates);
    const bool fitted = candidates->n_found <= most;
    const int rc = append_rows(candidates, rows, n, most, err);
    const int64_t found = candidates->n_found;
    const double part = seen_part(candidates);
    const bool is_hopeless = found / HOPELESS > most || (found > lw_max64(most / RATE_FROM, LEAST_RATE) &&
                                                         (double)found > HOPELESS * (double)most * part);
    if (candidates->waits && !candidates->is_crowded && (is_hopeless || found > most))
        return lw_fail(err, LW_EDATA, "%" PRId64 " outputs in the first %.3g%% of the data wait to be compared; max-peaks=%"
                       PRId64 " lets %d times as many wait. Give about --threshold %.6g, or a greater max-peaks", found, 100 * part,
                       most / LW_CANDIDATES_KEPT, LW_CANDIDATES_KEPT, keeping_threshold(candidates, (double)most * part));
    if (!candidates->is_crowded && is_hopeless)
        return lw_fail(err, LW_EDATA, "there are %" PRId64 " peaks in the first %.3g%% of the data; max-peaks is %" PRId64
                       ". By this part, --threshold %.6g would have kept about that many: give it, or allow more peaks with "
                       "--threshold T,max-peaks=N", found, 100 * part, most, keeping_threshold(candidates, (double)most * part));
    if (found > most && fitted && !candidates->waits)
        lw_log_warn("there are more than max-peaks=%" PRId64 " peaks: there will be no result. The run goes on to find the "
                    "threshold that would have kept max-peaks", most);
    return rc;
}

static int take_rows(void *context, const void *data, int64_t bytes, struct lw_error *err)
{
    struct lw_candidates *const candidates = context;
    const int64_t all = bytes / candidates->row_bytes;
    int rc = LW_OK;
    for (int64_t first = 0; first < all && rc == LW_OK; first += SENT_ROWS)
        rc = add_rows(candidates, (const char *)data + first * candidates->row_bytes, lw_min64(SENT_ROWS, all - first), err);
    return rc;
}

/* Fail because of is_crowded. The peaks counted so far determine the threshold in the message. */
static int fail_crowded(struct lw_candidates *candidates, const struct lw_slot *slot, struct lw_error *err)
{
    const int64_t most = candidates->spec.setup->job.search.most_peaks;
    const double kept = keeping_threshold(candidates, (double)most * seen_part(candidates));
    char half[64] = "";
    if (candidates->n_part > 0 && candidates->n_crossings > 0)
        snprintf(half, sizeof half, ", half of them beyond %.4g", typical_snr(candidates, slot, candidates->n_crossings));
    return lw_fail(err, LW_EDATA, "%" PRId64 " of the first %" PRId64 " outputs are beyond --threshold %g%s. By this part, "
                   "--threshold %.6g would have kept about max-peaks=%" PRId64 ". Check --noise if |y| / sigma is not as expected",
                   candidates->n_crossed, candidates->n_values, candidates->search->threshold, half, kept, most);
}

/* ---- all together ---------------------------------------------------------------------------------------------------- */

enum { SEEN, CROSSED, PARTS, N_SUMS };     /* what ranks add up for each part of a block */

void lw_candidates_traffic(const struct lw_op_plan *op, int n_ranks, struct lw_traffic *traffic)
{
    if (lw_op_find_product(op, LW_OP_CROSSINGS) >= 0)
        lw_traffic_add(traffic, n_ranks, 2, 2, (N_SUMS + 1) * (int64_t)sizeof(int64_t));    /* lw_comm_bring adds up one more */
}

int lw_candidates_take(struct lw_candidates *candidates, struct lw_slot *slot, struct lw_error *err)
{
    if (!candidates)
        return LW_OK;
    struct lw_comm *const comm = candidates->spec.setup->comm;
    const struct lw_block *const block = &slot->block;
    const struct lw_part whole = {block->first, block->count, block->channel, block->n_channels,
                                  0, (int)block->n_filters};
    const int64_t own = own_crossings(candidates, slot);
    bool is_done;
    candidates->n_parts = 0;
    candidates->n_peaks = candidates->n_part = 0;
    int rc = lw_comm_agree(comm, block->count > 0 ? finish_part(candidates, slot, &whole, &is_done, err) : LW_OK, err);
    const int64_t row = candidates->row_bytes;
    bool goes_on = true;
    for (bool is_first = true; rc == LW_OK && goes_on; is_first = false) {
        int64_t sums[N_SUMS] = {[SEEN] = candidates->n_part, [CROSSED] = own, [PARTS] = candidates->n_parts};
        lw_comm_sums(comm, sums, N_SUMS);
        if (is_first)
            count_crossings(candidates, block->round, sums[CROSSED]);
        candidates->n_seen += sums[SEEN];
        goes_on = sums[PARTS] > 0;
        rc = lw_comm_bring(comm, candidates->rows, candidates->n_peaks * row, candidates->received, SENT_ROWS * row, take_rows,
                           candidates, err);
        rc = lw_comm_agree(comm, rc, err);
        if (rc == LW_OK && candidates->is_crowded && sums[SEEN] > 0)
            return lw_comm_agree(comm, lw_comm_rank(comm) == 0 ? fail_crowded(candidates, slot, err) : LW_OK, err);
        if (rc == LW_OK && goes_on)
            rc = lw_comm_agree(comm, next_part(candidates, slot, err), err);
    }
    return rc;
}

int64_t lw_candidates_rows(const struct lw_candidates *candidates)
{
    if (!candidates)
        return 0;
    return candidates->n_found > most_found(candidates) ? LW_ROWS_TOO_MANY : candidates->n_found;
}

/* ---- peaks of all filters or channels, after the last block ------------------------------------------------------------- */

/* Append n picked peaks to the table. */
static int append_picked(struct lw_candidates *candidates, int64_t n, struct lw_error *err)
{
    int rc = LW_OK;
    for (int64_t i = 0; rc == LW_OK && i < n; i += SENT_ROWS) {
        const int64_t some = lw_min64(SENT_ROWS, n - i);
        lw_search_fill_rows(&candidates->spec.setup->job, candidates->picked + i, some, candidates->placed);
        rc = append_rows(candidates, candidates->placed, some, candidates->spec.setup->job.search.most_peaks, err);
    }
    return rc;
}

/* Pick the peaks before output `end`, whose neighbours are all there, of the crossings being sifted. Forget crossings that are
 * neighbours of no later output. */
static int pick_sifted(struct lw_candidates *candidates, int64_t end, struct lw_error *err)
{
    const int64_t cluster = candidates->search->cluster;
    const struct lw_peaks_spec spec = peaks_of(candidates, candidates->sifted_end, end);
    const struct lw_peaks_spec all = {.search = spec.search, .n_channels = spec.n_channels, .n_filters = spec.n_filters};
    struct lw_crossing *const sifted = candidates->sifted;
    const int64_t n = lw_peaks_merge(&all, sifted, candidates->n_sifted);
    const int64_t found = lw_peaks_pick(&spec, sifted, n, candidates->picked);
    const int rc = append_picked(candidates, found, err);
    int64_t first = 0;
    while (first < n && sifted[first].index < end - cluster)
        first++;
    candidates->n_sifted = n - first;
    memmove(sifted, sifted + first, (size_t)candidates->n_sifted * sizeof *sifted);
    candidates->sifted_end = lw_max64(candidates->sifted_end, end);
    return rc;
}

/* Take rows of the table, sorted by channel, index and filter. */
static int sift_rows(void *context, const void *rows, int64_t n, struct lw_error *err)
{
    struct lw_candidates *const candidates = context;
    const struct lw_job *const job = &candidates->spec.setup->job;
    int rc = LW_OK;
    for (int64_t i = 0; rc == LW_OK && i < n; i++) {
        const struct lw_crossing next = lw_search_row_crossing(job, lw_search_row(job, rows, i));
        if (candidates->n_sifted > 0 && candidates->sifted[0].channel != next.channel) {
            rc = pick_sifted(candidates, INT64_MAX, err);
            candidates->n_sifted = candidates->sifted_end = 0;
        } else if (candidates->n_sifted == SIFTED_ROWS &&
                   (rc = pick_sifted(candidates, next.index - candidates->search->cluster, err)) == LW_OK &&
                   candidates->n_sifted == SIFTED_ROWS)
            rc = lw_fail(err, LW_EDATA, "%d neighbouring outputs of channel %" PRId32 ", up to number %" PRId64 ", are beyond "
                         "--threshold %g: too many to compare at a time. Raise the threshold, or lower --cluster", SIFTED_ROWS,
                         next.channel, next.index, candidates->search->threshold);
        if (rc == LW_OK)
            candidates->sifted[candidates->n_sifted++] = next;
    }
    return rc;
}

/* Append the wanted peaks of clusters that no output from `next` on can join. */
static int end_clusters(struct lw_candidates *candidates, int64_t next, struct lw_error *err)
{
    const struct lw_peaks_spec wanted = peaks_of(candidates, 0, INT64_MAX);
    const int64_t n = lw_clusters_end(candidates->clusters, next, candidates->picked);
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++)
        if (candidates->picked[i].index >= wanted.first && candidates->picked[i].index < wanted.end)
            candidates->picked[kept++] = candidates->picked[i];
    return append_picked(candidates, kept, err);
}

/* Take rows of the table, sorted by index, channel and filter; first by filter if clusters have one. */
static int join_rows(void *context, const void *rows, int64_t n, struct lw_error *err)
{
    struct lw_candidates *const candidates = context;
    const struct lw_job *const job = &candidates->spec.setup->job;
    int rc = LW_OK;
    for (int64_t i = 0; rc == LW_OK && i < n; i++) {
        const struct lw_peak_row *const row = lw_search_row(job, rows, i);
        const struct lw_crossing next = lw_search_row_crossing(job, row);
        const bool is_other = !candidates->search->clusters_filters && next.filter != candidates->filter;
        if (is_other || lw_clusters_are_full(candidates->clusters))
            rc = end_clusters(candidates, is_other ? INT64_MAX : next.index, err);
        candidates->filter = next.filter;
        lw_clusters_add(candidates->clusters, &next, row->snr);
    }
    return rc;
}

/* Make the peaks of the rows that have waited for all filters or channels. */
static int sift(struct lw_candidates *candidates, struct lw_error *err)
{
    memset(candidates->counts, 0, BINS * sizeof *candidates->counts);
    candidates->n_found = 0;
    const bool joins = candidates->clusters;
    const int rc = lw_writer_sift(candidates->spec.writer, candidates->product, joins ? join_rows : sift_rows, candidates, err);
    return rc ? rc : joins ? end_clusters(candidates, INT64_MAX, err) : pick_sifted(candidates, INT64_MAX, err);
}

int lw_candidates_finish(struct lw_candidates *candidates, struct lw_error *err)
{
    if (!candidates)
        return LW_OK;
    struct lw_comm *const comm = candidates->spec.setup->comm;
    const bool is_first = lw_comm_rank(comm) == 0;
    int rc = is_first && candidates->waits ? sift(candidates, err) : LW_OK;
    const int64_t most = candidates->spec.setup->job.search.most_peaks, found = candidates->n_found;
    if (rc == LW_OK && is_first && found > most)
        rc = lw_fail(err, LW_EDATA, "there are %" PRId64 " peaks, more than max-peaks=%" PRId64 ". --threshold %.6g would have "
                     "kept at most that many: give it, or allow more with --threshold T,max-peaks=N", found, most,
                     keeping_threshold(candidates, (double)most));
    else if (rc == LW_OK && is_first)
        lw_log_info("%" PRId64 " peak%s", found, found == 1 ? "" : "s");
    return lw_comm_agree(comm, rc, err);
}
