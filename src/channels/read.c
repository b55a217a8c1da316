#include "channels/state.h"

#include "base/integers.h"

#include <inttypes.h>
#include <math.h>

/* Samples of a piece that one thread converts, and of a piece of the running mean. */
enum { CONVERTED = 4096, PIECE = 1024 };

/* ---- samples as stored to float32 ------------------------------------------------------------------------------------- */

static struct lw_slab slab_of(const struct lw_channels *run, const struct lw_channels_series *series, int64_t first, int64_t end,
                              int64_t number)
{
    const int64_t begin = first + number * run->block, count = lw_min64(run->block, end - begin);
    return (struct lw_slab){
        .first = begin, .count = count, .channel = series->channel, .n_channels = series->n, .into = run->blocks[number % 2],
        .into_axis = count,
    };
}

static void take_numbers(const struct lw_channels *run, const struct lw_slab *slab, int64_t channel, int64_t begin, int64_t count,
                         double *values)
{
    const struct lw_type type = run->setup.job.op.input;
    const char *const fast = (const char *)slab->into + (channel * slab->count + begin) * (int64_t)lw_type_bytes(type);
    if (run->setup.job.op.layout == LW_TIME_FAST)
        lw_type_numbers(type, fast, count, values);
    for (int64_t i = 0; run->setup.job.op.layout == LW_TIME_SLOW && i < count; i++)
        values[i] = lw_type_number(type, slab->into, (begin + i) * slab->n_channels + channel);
}

/* Convert a slab; samples that are not finite become infinite. @return  their number */
static int64_t convert(const struct lw_channels *run, const struct lw_channels_series *series, const struct lw_slab *slab)
{
    const int64_t n = run->request->plan.spec.n, pieces = lw_divide_up(slab->count, CONVERTED);
    int64_t bad = 0;
#pragma omp parallel for num_threads(run->n_threads) schedule(static) reduction(+ : bad)
    for (int64_t p = 0; p < pieces * slab->n_channels; p++) {
        const int64_t c = p / pieces, begin = p % pieces * CONVERTED, count = lw_min64(CONVERTED, slab->count - begin);
        float *const to = series->samples + c * n + slab->first + begin;
        double values[CONVERTED];
        take_numbers(run, slab, c, begin, count, values);
        for (int64_t i = 0; i < count; i++) {
            const float x = (float)(values[i] - series->offsets[c]);
            bad += !isfinite(x);
            to[i] = isfinite(x) ? x : INFINITY;
        }
    }
    return bad;
}

/* Choose offsets that keep the digits of types that float32 does not hold: each channel's first sample. */
static int find_offsets(struct lw_channels *run, struct lw_channels_series *series, struct lw_error *err)
{
    const enum lw_scalar scalar = run->setup.job.op.input.scalar;
    const struct lw_slab slab = slab_of(run, series, 0, 1, 0);
    const bool is_wide = scalar == LW_INT32 || scalar == LW_FLOAT64;
    const int rc = is_wide ? lw_reader_read(run->setup.reader, &slab, err) : LW_OK;
    for (int64_t c = 0; c < series->n; c++) {
        double value = 0;
        if (rc == LW_OK && is_wide)
            take_numbers(run, &slab, c, 0, 1, &value);
        series->offsets[c] = isfinite(value) ? value : 0;
    }
    return rc;
}

/* Return whether a sample of a slab is masked; channel and sample are counted in the slab. */
static bool is_masked(const struct lw_channels *run, const struct lw_slab *slab, int64_t c, int64_t i)
{
    const struct lw_marks *const marks = &run->marks;
    const struct lw_view_spec *const view = &run->setup.job.view;
    if (marks->shape == LW_MARKS_BY_CHANNEL)
        return marks->channels[slab->channel + c] != 0;
    if (marks->bits)
        return lw_marks_bit(marks, view->axis, view->channels.begin + (slab->channel + c) * view->channels.step,
                            view->start + slab->first + i);
    const bool is_fast = run->setup.job.op.layout == LW_TIME_FAST;
    const int64_t at = marks->shape == LW_MARKS_BY_SAMPLE ? i : is_fast ? c * slab->count + i : i * slab->n_channels + c;
    return lw_type_number(marks->type, run->numbers, at) != 0;
}

/* Masked samples become NaN. */
static int apply_mask(struct lw_channels *run, const struct lw_channels_series *series, const struct lw_slab *slab,
                      struct lw_error *err)
{
    const int64_t n = run->request->plan.spec.n;
    struct lw_slab marks = *slab;
    marks.into = run->numbers;
    if (run->marks.shape == LW_MARKS_BY_SAMPLE) {
        marks.channel = 0;
        marks.n_channels = 1;
    }
    const int rc = run->numbers ? lw_reader_read(run->marks.reader, &marks, err) : LW_OK;
    if (rc || !run->setup.job.search.mask)
        return rc;
#pragma omp parallel for num_threads(run->n_threads) schedule(static) collapse(2)
    for (int64_t c = 0; c < slab->n_channels; c++)
        for (int64_t i = 0; i < slab->count; i++)
            if (is_masked(run, slab, c, i))
                series->samples[c * n + slab->first + i] = NAN;
    return LW_OK;
}

/* Count the samples of a slab that are not finite and not masked, or refuse them; they become NaN. */
static int note_bad(struct lw_channels *run, const struct lw_channels_series *series, const struct lw_slab *slab, int64_t bad,
                    struct lw_error *err)
{
    const struct lw_job *const job = &run->setup.job;
    const int64_t n = run->request->plan.spec.n, all = slab->n_channels * slab->count, start = job->view.start;
    for (int64_t i = 0; bad > 0 && i < all; i++) {
        const int64_t c = i / slab->count, sample = slab->first + i % slab->count;
        float *const x = &series->samples[c * n + sample];
        if (!isinf(*x))
            continue;
        *x = NAN;
        run->flaws.n_not_finite++;
        lw_flaws_widen(&run->flaws, start + sample, start + sample + 1, false);
        if (job->op.nan != LW_NAN_ZERO)
            return lw_fail(err, LW_EDATA, "channel %" PRId64 ", sample %" PRId64 " of %.600s is not finite: give --nan zero to put "
                           "the running mean in the place of such samples",
                           job->view.channels.begin + (series->channel + c) * job->view.channels.step, start + sample,
                           lw_dataset_name(&job->inputs[0]).text);
    }
    return LW_OK;
}

int lw_channels_load(struct lw_channels *run, struct lw_channels_series *series, int64_t first, int64_t end, struct lw_error *err)
{
    struct lw_reader *const reader = run->setup.reader;
    const int64_t n_slabs = lw_divide_up(end - first, run->block);
    struct lw_slab next = slab_of(run, series, first, end, 0);
    int rc = find_offsets(run, series, err);
    if (rc == LW_OK && n_slabs > 0)
        rc = lw_reader_begin(reader, &next, err);
    for (int64_t s = 0; rc == LW_OK && s < n_slabs; s++) {
        const struct lw_slab slab = next;
        next = slab_of(run, series, first, end, s + 1);
        if ((rc = lw_reader_end(reader, err)) || (s + 1 < n_slabs && (rc = lw_reader_begin(reader, &next, err))))
            break;
        const int64_t bad = convert(run, series, &slab);
        (void)((rc = apply_mask(run, series, &slab, err)) || (rc = note_bad(run, series, &slab, bad, err)));
    }
    if (rc)
        lw_reader_end(reader, NULL);
    return rc;
}

/* ---- the running mean ------------------------------------------------------------------------------------------------- */

/* Mark the samples in gaps, which the reader gives as zeros. */
static void mark_gaps(const struct lw_channels *run, float *samples)
{
    const struct lw_gap *gaps;
    const int64_t n_gaps = lw_reader_gaps(run->setup.reader, &gaps), n = run->request->plan.spec.n,
                  start = run->setup.job.view.start;
    for (int64_t g = 0; g < n_gaps; g++)
        for (int64_t i = lw_max64(0, gaps[g].first - start); i < lw_min64(n, gaps[g].first + gaps[g].count - start); i++)
            samples[i] = NAN;
}

/* Compute the mean of each piece's samples that are not NaN; pieces without any take that of a neighbour, or 0. */
static void find_means(const struct lw_channels *run, const float *samples)
{
    const int64_t n = run->request->plan.spec.n, n_pieces = lw_divide_up(n, PIECE);
    double *const means = run->means;
#pragma omp parallel for num_threads(run->n_threads) schedule(static)
    for (int64_t p = 0; p < n_pieces; p++) {
        double sum = 0;
        int64_t count = 0;
        for (int64_t i = p * PIECE; i < lw_min64(n, (p + 1) * PIECE); i++)
            if (!isnan(samples[i])) {
                sum += samples[i];
                count++;
            }
        means[p] = count > 0 ? sum / (double)count : NAN;
    }
    for (int64_t p = 1; p < n_pieces; p++)
        means[p] = isnan(means[p]) ? means[p - 1] : means[p];
    for (int64_t p = n_pieces - 1; p >= 0; p--)
        means[p] = !isnan(means[p]) ? means[p] : p + 1 < n_pieces ? means[p + 1] : 0;
}

/* Sums have a fixed order, for any number of threads. */
void lw_channels_settle(const struct lw_channels *run, float *samples)
{
    const int64_t n = run->request->plan.spec.n, n_pieces = lw_divide_up(n, PIECE);
    double *const means = run->means, all = 0;
    mark_gaps(run, samples);
    find_means(run, samples);
#pragma omp parallel for num_threads(run->n_threads) schedule(static)
    for (int64_t p = 0; p < n_pieces; p++) {
        double sum = 0;
        for (int64_t i = p * PIECE; i < lw_min64(n, (p + 1) * PIECE); i++) {
            samples[i] = isnan(samples[i]) ? (float)means[p] : samples[i];
            sum += samples[i];
        }
        means[p] = sum;
    }
    for (int64_t p = 0; p < n_pieces; p++)
        all += means[p];
    const double mean = all / (double)n;
#pragma omp parallel for num_threads(run->n_threads) schedule(static)
    for (int64_t i = 0; i < n; i++)
        samples[i] = (float)((double)samples[i] - mean);
}

/* ---- a step's channel -------------------------------------------------------------------------------------------------- */

/* Bring the parts of a channel to all ranks of its team. @param edges  [size + 1] samples */
static void share(struct lw_channels *run, struct lw_comm *team, float *samples, int64_t *edges)
{
    const double start = lw_now();
    for (int i = 0; i <= lw_comm_size(team); i++)
        edges[i] *= (int64_t)sizeof *samples;
    lw_comm_share(team, samples, edges);
    run->report.seconds[LW_CHANNELS_SHARE] += lw_now() - start;
}

static bool is_held(const struct lw_channels_series *series, int64_t channel)
{
    return channel >= series->channel && channel < series->channel + series->n;
}

int lw_channels_read(struct lw_channels *run, int64_t step, struct lw_error *err)
{
    const int64_t index = lw_channels_index(run, step), n = run->request->plan.spec.n;
    struct lw_comm *const team = step >= run->own ? run->team : NULL;
    const int size = team ? lw_comm_size(team) : 1, place = team ? lw_comm_rank(team) : 0;
    const bool has_new = index >= 0 && !is_held(&run->series[run->at], run->todo[index]);
    int64_t edges[size + 1];
    for (int i = 0; i <= size; i++)
        edges[i] = n / size * i + n % size * i / size;
    const double start = lw_now();
    if (has_new)
        run->at = run->n_items == 1 ? 0 : !run->at;
    struct lw_channels_series *const series = &run->series[run->at];
    if (has_new) {
        const int64_t most = step >= run->own ? 1 : lw_min64(run->group, run->own - step);
        series->channel = run->todo[index];
        for (series->n = 1; series->n < most && run->todo[index + series->n] == series->channel + series->n; series->n++)
            ;
    }
    int rc = has_new ? lw_channels_load(run, series, edges[place], edges[place + 1], err) : LW_OK;
    rc = lw_comm_agree(run->setup.comm, rc, err);
    run->report.seconds[LW_CHANNELS_READ] += lw_now() - start;
    if (rc == LW_OK && has_new && team)
        share(run, team, series->samples, edges);
    for (int64_t c = 0; rc == LW_OK && has_new && c < series->n; c++)
        lw_channels_settle(run, series->samples + c * n);
    return rc;
}
