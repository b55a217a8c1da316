#include "channels/state.h"

#include "accel/sift.h"
#include "base/integers.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- who searches what -------------------------------------------------------------------------------------------------- */

int64_t lw_channels_index(const struct lw_channels *run, int64_t step)
{
    const int64_t left = run->n_todo - run->own * run->n_ranks;
    if (step < run->own)
        return run->own * run->rank + step;
    return step < run->n_steps ? run->own * run->n_ranks + run->rank * left / run->n_ranks : -1;
}

static struct lw_channels_item *item_of(struct lw_channels *run, int64_t step) { return &run->items[step % run->n_items]; }

/* Ranks of a team that search: each has at least a cell. */
static int64_t active_ranks(const struct lw_accel_plan *plan, const struct lw_comm *team)
{
    return team ? lw_min64(lw_comm_size(team), lw_divide_up(plan->end - plan->begin, LW_ACCEL_CELL)) : 1;
}

/* Return this rank's number among those that share the channel, and whether it is the one that writes for them. */
static int place_of(const struct lw_channels_item *item) { return item->team ? lw_comm_rank(item->team) : 0; }
static bool writes(const struct lw_channels_item *item) { return item->channel >= 0 && place_of(item) == 0; }

static int fail_many(const struct lw_channels *run, int64_t channel, const char *what, int64_t most, struct lw_error *err)
{
    const struct lw_range *const channels = &run->setup.job.view.channels;
    return lw_fail(err, LW_EDATA, "channel %" PRId64 " has more than %" PRId64 " %s: raise --sigma, which is %.6g, or leave "
                   "interference out with --zap", channels->begin + channel * channels->step, most, what,
                   run->request->plan.spec.sigma);
}

/* Return cut `i` of n of the points [begin, plan->end): between cells, unless it is an end. */
static int64_t cut(const struct lw_accel_plan *plan, int64_t begin, int64_t i, int64_t n)
{
    const int64_t first = begin / LW_ACCEL_CELL, cells = lw_divide_up(plan->end, LW_ACCEL_CELL) - first;
    return lw_max64(begin, lw_min64(plan->end, (first + cells * i / n) * LW_ACCEL_CELL));
}

/* Begin a step. An interrupted run may have left hits. */
static void begin_item(struct lw_channels *run, int64_t step, struct lw_channels_item *item)
{
    const int64_t index = lw_channels_index(run, step);
    item->channel = index < 0 ? -1 : run->todo[index];
    item->team = step >= run->own ? run->team : NULL;
    const int place = place_of(item);
    item->is_active = index >= 0 && place < active_ranks(&run->request->plan, item->team);
    item->from = index >= 0 ? run->reached[item->channel] : 0;
    item->hits.n = 0;
    for (int64_t i = 0; i < run->n_earlier && place == 0; i++)
        if (run->earlier[i].channel == item->channel && item->hits.n < item->hits.most)
            item->hits.hits[item->hits.n++] = run->earlier[i].hit;
    item->n_kept = item->hits.n;
}

int lw_channels_begin(struct lw_channels *run, int64_t part, struct lw_error *err)
{
    const struct lw_accel_plan *const plan = &run->request->plan;
    const int64_t step = part / run->n_parts, own_part = part % run->n_parts;
    struct lw_channels_item *const item = item_of(run, step);
    const struct lw_channels_series *const series = &run->series[run->at];
    if (own_part == 0)
        begin_item(run, step, item);
    if (!item->is_active)
        return LW_OK;
    const int64_t n = active_ranks(plan, item->team), i = own_part * n + place_of(item);
    run->searched_since = lw_now();
    const int rc = lw_channels_ops(run)->begin(run->search, series->samples + (item->channel - series->channel) * plan->spec.n,
                                               cut(plan, item->from, i, n * run->n_parts),
                                               cut(plan, item->from, i + 1, n * run->n_parts), err);
    run->is_searching = rc == LW_OK;
    return rc;
}

int lw_channels_wait(struct lw_channels *run, int64_t part, struct lw_error *err)
{
    struct lw_channels_item *const item = item_of(run, part / run->n_parts);
    struct lw_accel_hits *const hits = &item->hits, more = {hits->hits + hits->n, hits->most - hits->n, 0};
    if (!run->is_searching)
        return LW_OK;
    const int rc = lw_channels_ops(run)->wait(run->search, item->spectrum, item->variances, &more, err);
    hits->n += more.n;
    run->is_searching = false;
    run->report.seconds[LW_CHANNELS_SEARCH] += lw_now() - run->searched_since;
    return rc || hits->n <= hits->most ? rc : fail_many(run, item->channel, "hits", hits->most, err);
}

/* ---- from hits to rows ------------------------------------------------------------------------------------------------- */

/* Bring the hits of a team to all its ranks. All of the team return the same code. */
static int share_hits(struct lw_channels *run, struct lw_channels_item *item, struct lw_error *err)
{
    struct lw_accel_hits *const hits = &item->hits;
    const int64_t bytes = sizeof *hits->hits;
    const int size = item->team ? lw_comm_size(item->team) : 1;
    int64_t counts[size], edges[size + 1];
    counts[0] = hits->n;
    if (item->team)
        lw_comm_gather_all(item->team, &hits->n, sizeof hits->n, counts);
    edges[0] = 0;
    for (int i = 0; i < size; i++)
        edges[i + 1] = edges[i] + counts[i] * bytes;
    if (edges[size] > hits->most * bytes)
        return fail_many(run, item->channel, "hits", hits->most, err);
    if (item->team) {
        const int me = lw_comm_rank(item->team);
        memmove((char *)hits->hits + edges[me], hits->hits, (size_t)(counts[me] * bytes));
        lw_comm_share(item->team, hits->hits, edges);
        hits->n = edges[size] / bytes;
    }
    return LW_OK;
}

static struct lw_accel_row row_of(const struct lw_channels *run, int64_t channel, const struct lw_accel_candidate *found)
{
    const struct lw_accel_request *const request = run->request;
    const struct lw_range *const channels = &run->setup.job.view.channels;
    const int64_t number = channels->begin + channel * channels->step;
    const double t = request->seconds, frequency = (found->r - found->w / 24) / t;
    return (struct lw_accel_row){
        .channel = number, .dm = request->dms ? request->dms[number] : request->dm, .harmonics = found->harmonics,
        .sigma = found->sigma, .power = found->power, .r = found->r, .z = found->z, .w = found->w, .frequency = frequency,
        .frequency_derivative = found->z / (t * t), .period = 1 / frequency,
        .acceleration = LW_ACCEL_LIGHT_M_S * found->z / (t * t * frequency), .r_error = found->r_error, .z_error = found->z_error,
        .w_error = found->w_error, .related = -1,
    };
}

static struct lw_accel_row done_row(int64_t channel, int64_t reached)
{
    return (struct lw_accel_row){.channel = channel, .r = (double)reached};
}

/* Refine this rank's share of a channel's hits; the harmonics of a hit are tasks, too, as hits are few. An exact sum may be
 * less significant than its hit, whose harmonics are at those points of the grid that suit noise best; below --sigma it is no
 * candidate. @param n_rows  set */
static int refine(struct lw_channels *run, struct lw_channels_item *item, int64_t *n_rows, struct lw_error *err)
{
    const struct lw_accel_plan *const plan = &run->request->plan;
    const int64_t step = active_ranks(plan, item->team), place = place_of(item);
    int64_t n = item->hits.n;
    int worst = lw_accel_thin(plan, item->variances, item->hits.hits, &n, err);
    const int64_t own = worst == LW_OK && item->is_active && n > place ? lw_divide_up(n - place, step) : 0;
    if (own > LW_CHANNELS_MOST_KEPT)
        return fail_many(run, item->channel, "candidates", LW_CHANNELS_MOST_KEPT * step, err);
#pragma omp parallel num_threads(run->n_threads)
#pragma omp single
#pragma omp taskloop grainsize(1) shared(worst)
    for (int64_t i = 0; i < own; i++) {
        struct lw_error its;
        const int rc = lw_accel_refine(&run->refiner, item->spectrum, item->variances, &item->hits.hits[place + i * step],
                                       &run->candidates[i], &its);
        if (rc) {
#pragma omp critical
            {
                worst = rc;
                *err = its;
            }
        }
    }
    *n_rows = 0;
    for (int64_t i = 0; worst == LW_OK && i < own; i++)
        if (run->candidates[i].sigma >= plan->spec.sigma)
            run->rows[(*n_rows)++] = row_of(run, item->channel, &run->candidates[i]);
    if (place == 0)             /* behind the rows of its own channel, unless other ranks have some: all come in one message */
        run->rows[(*n_rows)++] = done_row(item->channel, plan->end);
    return worst;
}

void lw_channels_note(struct lw_channels *run, const struct lw_accel_row *rows, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (rows[i].harmonics == 0 && rows[i].channel >= 0 && rows[i].channel < run->setup.job.op.n_channels)
            run->reached[rows[i].channel] = (int64_t)rows[i].r;
        run->n_found += rows[i].harmonics > 0;
    }
}

static int append(void *context, const void *rows, int64_t bytes, struct lw_error *err)
{
    struct lw_channels *const run = context;
    const int64_t n = bytes / (int64_t)sizeof *run->rows;
    lw_channels_note(run, rows, n);
    run->n_rows += n;
    if (run->n_found > LW_CHANNELS_MOST_ROWS)
        return lw_fail(err, LW_EDATA, "there are more than %d candidates in the channels that are done: raise --sigma, which is "
                       "%.6g", LW_CHANNELS_MOST_ROWS, run->request->plan.spec.sigma);
    return lw_writer_append(run->result.writer, LW_ACCEL_CANDIDATES, rows, n, err);
}

/* Bring the first n_rows of each rank's run->rows to the growing table. */
static int bring(struct lw_channels *run, int64_t n_rows, struct lw_error *err)
{
    struct lw_comm *const comm = run->setup.comm;
    const int rc = lw_comm_bring(comm, run->rows, n_rows * (int64_t)sizeof *run->rows, run->received,
                                 LW_CHANNELS_MOST_SENT * (int64_t)sizeof *run->rows, append, run, err);
    return lw_comm_agree(comm, rc, err);
}

/* Add the hits of a part to the growing table. @param reached  the point of r at which it ends */
static int keep(struct lw_channels *run, struct lw_channels_item *item, int64_t reached, struct lw_error *err)
{
    int rc;
    do {
        int64_t n = 0;
        for (; n < LW_CHANNELS_MOST_KEPT && item->n_kept < item->hits.n; n++) {
            const struct lw_accel_hit *const hit = &item->hits.hits[item->n_kept++];
            run->rows[n] = (struct lw_accel_row){.channel = item->channel, .harmonics = -hit->stage - 1, .power = hit->sum,
                                                 .r = (double)hit->r, .z = hit->z, .w = hit->w};
        }
        if (writes(item))
            run->rows[n++] = done_row(item->channel, reached);
        rc = bring(run, n, err);
    } while (rc == LW_OK && lw_comm_max(run->setup.comm, item->hits.n - item->n_kept) > 0);
    return rc;
}

static int write(struct lw_channels *run, const struct lw_channels_item *item, int64_t n_rows, struct lw_error *err)
{
    const bool is_first = writes(item);
    const int64_t first[LW_MAX_DIMS] = {is_first ? item->channel : 0}, count[LW_MAX_DIMS] = {is_first, run->request->plan.n_bins};
    const int rc = bring(run, n_rows, err);
    if (rc || !run->request->keeps_spectrum)
        return rc;
    return lw_writer_write(run->result.writer, LW_ACCEL_SPECTRUM, first, count, item->spectrum, err);
}

int lw_channels_deliver(struct lw_channels *run, int64_t part, struct lw_error *err)
{
    struct lw_channels_item *const item = item_of(run, part / run->n_parts);
    const int64_t next = part % run->n_parts + 1;
    if (next < run->n_parts)
        return keep(run, item, cut(&run->request->plan, item->from, next, run->n_parts), err);
    int64_t n_rows = 0;
    const double start = lw_now();
    int rc = item->channel >= 0 ? share_hits(run, item, err) : LW_OK;
    if (rc == LW_OK && item->channel >= 0)
        rc = refine(run, item, &n_rows, err);
    rc = lw_comm_agree(run->setup.comm, rc, err);
    const double refined = lw_now();
    if (rc == LW_OK && run->result.writer)
        rc = write(run, item, n_rows, err);
    run->report.seconds[LW_CHANNELS_REFINE] += refined - start;
    run->report.seconds[LW_CHANNELS_WRITE] += lw_now() - refined;
    return rc;
}

/* ---- the table ---------------------------------------------------------------------------------------------------------- */

/* Rows of candidates, the most significant first. */
struct table {
    struct lw_accel_row *rows;
    int64_t n;
};

static int take_rows(void *context, const void *rows, int64_t n, struct lw_error *err)
{
    struct table *const table = context;
    const struct lw_accel_row *const row = rows;
    (void)err;
    for (int64_t i = 0; i < n; i++)
        if (row[i].harmonics > 0)
            table->rows[table->n++] = row[i];
    return LW_OK;
}

static int relate(struct table *table, struct lw_error *err)
{
    LW_FREED struct lw_accel_candidate *const candidates = lw_alloc_array(table->n, sizeof *candidates, "candidates", err);
    LW_FREED struct lw_accel_relation *const relations = lw_alloc_array(table->n, sizeof *relations, "candidates", err);
    if (!candidates || !relations)
        return LW_ESYSTEM;
    for (int64_t i = 0; i < table->n; i++) {
        const struct lw_accel_row *const row = &table->rows[i];
        candidates[i] = (struct lw_accel_candidate){
            .harmonics = (int)row->harmonics, .sigma = row->sigma, .power = row->power, .r = row->r, .z = row->z, .w = row->w,
            .r_error = row->r_error, .z_error = row->z_error, .w_error = row->w_error,
        };
    }
    const int rc = lw_accel_relate(candidates, table->n, relations, err);
    for (int64_t i = 0; rc == LW_OK && i < table->n; i++) {
        const bool is_related = relations[i].to >= 0;
        table->rows[i].related = is_related ? relations[i].to : -1;
        table->rows[i].numerator = is_related ? relations[i].numerator : 0;
        table->rows[i].denominator = is_related ? relations[i].denominator : 0;
    }
    return rc;
}

/* Do the work of lw_channels_finish on rank 0. */
static int make_table(struct lw_channels *run, int64_t *n, struct lw_error *err)
{
    LW_FREED struct lw_accel_row *const rows = lw_alloc_array(run->n_found, sizeof *rows, "candidates", err);
    struct table table = {.rows = rows};
    int rc;
    if (!rows)
        return LW_ESYSTEM;
    if ((rc = lw_writer_sift(run->result.writer, LW_ACCEL_CANDIDATES, take_rows, &table, err)) || (rc = relate(&table, err)))
        return rc;
    *n = table.n;
    return lw_writer_append(run->result.writer, LW_ACCEL_CANDIDATES, rows, table.n, err);
}

int lw_channels_finish(struct lw_channels *run, int64_t *n, struct lw_error *err)
{
    *n = 0;
    return lw_comm_agree(run->setup.comm, run->rank == 0 ? make_table(run, n, err) : LW_OK, err);
}
