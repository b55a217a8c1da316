#include "stream/search/power_spectrum.h"

#include "resume/stop.h"

#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "design/welch.h"
#include "design/whiten.h"
#include "stream/plan.h"
#include "stream/search/mask.h"

#include <inttypes.h>

/* Most frequencies (columns) whose medians are found at a time, and most numbers that a rank sends for these. */
enum { MOST_COLUMNS = 256, NUMBERS_SENT = 1 << 20 };

/* ---- which segments -------------------------------------------------------------------------------------------------- */

/* Segments that are used: blocks 0, step, 2 step, ... of `run` segments each; the last block may be shorter. */
struct sample {
    int64_t n, hop;             /* samples of a segment, and from one segment to the next */
    int64_t n_segments;         /* segments of the samples that the user chose, used or not */
    int64_t run, step, count;   /* segments of a block; blocks from one used block to the next; used blocks */
};

static struct sample choose_segments(const struct lw_job *job)
{
    const int64_t n = job->whitening->segment, hop = n / 2;
    struct sample sample = {.n = n, .hop = hop, .n_segments = (job->window_count - n) / hop + 1};
    sample.run = lw_max64(4, LW_SPECTRUM_BLOCK / hop);
    const int64_t blocks = lw_divide_up(sample.n_segments, sample.run);
    const int64_t most = lw_max64(1, LW_SPECTRUM_VALUES / lw_welch_frequencies(n) / sample.run);
    sample.step = lw_divide_up(blocks, most);
    sample.count = lw_divide_up(blocks, sample.step);
    return sample;
}

static int64_t block_samples(const struct sample *sample, int64_t n_segments) { return (n_segments + 1) * sample->hop; }

/* Return the largest number of segments that one rank has. */
static int64_t most_of_rank(const struct sample *sample, int n_ranks)
{
    return lw_min64(lw_divide_up(sample->count, n_ranks) * sample->run, sample->n_segments);
}

static int64_t columns_of(const struct sample *sample, int n_ranks)
{
    const int64_t most = lw_min64(MOST_COLUMNS, lw_welch_frequencies(sample->n));
    return lw_max64(1, lw_min64(most, NUMBERS_SENT / most_of_rank(sample, n_ranks)));
}

static struct lw_view_spec view_of(const struct lw_job *job, const struct sample *sample)
{
    struct lw_view_spec view = job->view;
    view.max_axis = block_samples(sample, lw_min64(sample->run, sample->n_segments));
    view.max_channels = 1;
    view.chunks = LW_CHUNKS_WHOLE;
    return view;
}

int64_t lw_spectrum_taps_bytes(const struct lw_job *job)
{
    const struct lw_ols_spec *const ols = &job->op.ols;
    return job->whitening && ols->taps.data ? ols->n_filters * ols->n_taps * (int64_t)lw_type_bytes(ols->taps.type) : 0;
}

int64_t lw_spectrum_work_bytes(const struct lw_job *job, const struct lw_engine *engine)
{
    return job->whitening ? lw_whiten_bytes(job->whitening->n_taps, job->whitening->segment, lw_engine_host_threads(engine)) : 0;
}

int64_t lw_spectrum_bytes(const struct lw_job *job, const struct lw_engine *engine, const struct lw_reader *reader, int n_ranks)
{
    if (!job->whitening)
        return 0;
    const struct sample sample = choose_segments(job);
    const struct lw_view_spec view = view_of(job, &sample);
    const int64_t most = most_of_rank(&sample, n_ranks), sent = most * columns_of(&sample, n_ranks);
    const int64_t samples = view.max_axis * (job->search.mask ? 2 : 1);
    const int64_t numbers = most * lw_welch_frequencies(sample.n) + (2 * n_ranks + 1) * sent + samples;
    const int64_t stored = 2 * view.max_axis * (int64_t)lw_type_bytes(job->op.input);
    const int64_t measuring = numbers * (int64_t)sizeof(double) + stored + lw_reader_bytes(reader, &view) +
                              lw_welch_bytes(sample.n, lw_engine_host_threads(engine));
    return lw_max64(measuring, lw_spectrum_work_bytes(job, engine));
}

/* ---- a rank's share -------------------------------------------------------------------------------------------------- */

/* A block, which is read while the block before is transformed. */
struct reading {
    void *stored;               /* [block_samples], as in the file */
    int64_t first, n_segments;  /* first sample in the view; segments */
    int64_t count;              /* samples; 0: no block */
};

struct pass {
    struct lw_setup *setup;
    struct sample sample;
    int n_threads;
    struct lw_welch *welch;
    struct reading readings[2];
    double *samples;            /* [block_samples] */
    double *spectra;            /* [most_of_rank][frequencies] this rank's spectra that count, at the front */
    int64_t n_spectra;
    /* Spectra at some frequencies: this rank's [most_of_rank][columns_of], all ranks', and all ranks' as [columns_of][segments]. */
    double *mine, *all, *columns;
};

static int open_pass(struct pass *pass, struct lw_error *err)
{
    struct lw_setup *const setup = pass->setup;
    const struct lw_job *const job = &setup->job;
    const struct lw_view_spec view = view_of(job, &pass->sample);
    const int n_ranks = lw_comm_size(setup->comm);
    const int64_t most = most_of_rank(&pass->sample, n_ranks), sent = most * columns_of(&pass->sample, n_ranks);
    const int64_t received = lw_comm_rank(setup->comm) == 0 ? n_ranks * sent : 0;
    for (int i = 0; i < 2; i++)
        if (!(pass->readings[i].stored = lw_alloc_array(view.max_axis, lw_type_bytes(job->op.input), "samples", err)))
            return LW_ESYSTEM;
    if (!(pass->samples = lw_alloc_array(view.max_axis, sizeof(double), "samples", err)) ||
        !(pass->spectra = lw_alloc_array(most * lw_welch_frequencies(pass->sample.n), sizeof(double), "power spectra", err)) ||
        !(pass->mine = lw_alloc_array(sent, sizeof(double), "power spectra", err)) ||
        !(pass->all = lw_alloc_array(received, sizeof(double), "power spectra", err)) ||
        !(pass->columns = lw_alloc_array(received, sizeof(double), "power spectra", err)))
        return LW_ESYSTEM;
    /* The mask takes the size of a block from a plan. */
    const struct lw_plan plan = {.depth = 1, .rounds = {.slice = view.max_axis, .group = 1}, .op = {.input_width = 1}};
    int rc;
    if ((rc = lw_reader_select(setup->reader, &view, err)) ||
        (rc = setup->mask ? lw_mask_start(setup->mask, job, &plan, err) : LW_OK))
        return rc;
    return lw_welch_create(pass->sample.n, job->whitening->rate_hz, pass->n_threads, &pass->welch, err);
}

/* Begin to read a used block. @param block  number among the used blocks; from `end` on nothing is read */
static int begin_block(struct pass *pass, int64_t block, int64_t end, struct reading *reading, struct lw_error *err)
{
    const struct sample *const sample = &pass->sample;
    const int64_t first = block * sample->step * sample->run;
    reading->count = 0;
    if (block >= end)
        return LW_OK;
    reading->n_segments = lw_min64(sample->run, sample->n_segments - first);
    reading->first = pass->setup->job.window_start - pass->setup->job.view.start + first * sample->hop;
    reading->count = block_samples(sample, reading->n_segments);
    const struct lw_slab slab = {.first = reading->first, .count = reading->count, .n_channels = 1, .into = reading->stored,
                                 .into_axis = reading->count};
    return lw_reader_begin(pass->setup->reader, &slab, err);
}

/* Convert the samples of a block to double precision; masked samples become NaN. */
static int take_samples(struct pass *pass, const struct reading *reading, struct lw_error *err)
{
    const struct lw_type type = pass->setup->job.op.input;
    struct lw_mask *const mask = pass->setup->mask;
    const struct lw_window_part part = {.begin = reading->first, .end = reading->first + reading->count, .n_channels = 1,
                                        .into = reading->stored, .into_axis = reading->count};
    const int rc = mask ? lw_mask_apply(mask, 0, &part, err) : LW_OK;
    if (rc)
        return rc;
    for (int64_t i = 0; i < reading->count; i++)
        pass->samples[i] = mask && lw_mask_is_set(mask, 0, 0, i) ? NAN : lw_type_number(type, reading->stored, i);
    return LW_OK;
}

/* Read this rank's share of the used blocks, which are consecutive, and compute their spectra. */
static int take_share(struct pass *pass, struct lw_error *err)
{
    struct lw_comm *const comm = pass->setup->comm;
    const int64_t share = lw_divide_up(pass->sample.count, lw_comm_size(comm)), begin = lw_comm_rank(comm) * share;
    const int64_t end = lw_min64(begin + share, pass->sample.count);
    int rc = begin_block(pass, begin, end, &pass->readings[0], err);
    for (int64_t block = begin; rc == LW_OK && block < end; block++) {
        const struct reading *const reading = &pass->readings[(block - begin) % 2];
        if ((rc = lw_stop_check(err)) || (rc = lw_reader_end(pass->setup->reader, err)) ||
            (rc = begin_block(pass, block + 1, end, &pass->readings[(block - begin + 1) % 2], err)) ||
            (rc = take_samples(pass, reading, err)))
            break;
        /* All spectra of the block are appended; then spectra that do not count are removed. */
        const int64_t width = lw_welch_frequencies(pass->sample.n);
        double *const added = pass->spectra + pass->n_spectra * width;
        int64_t kept = 0;
        lw_welch_spectra(pass->welch, pass->samples, reading->n_segments, added);
        for (int64_t s = 0; s < reading->n_segments; s++) {
            if (!(added[s * width] >= 0))
                continue;
            if (kept < s)
                memcpy(added + kept * width, added + s * width, (size_t)width * sizeof *added);
            kept++;
        }
        pass->n_spectra += kept;
    }
    const int end_rc = lw_reader_end(pass->setup->reader, rc ? NULL : err);     /* a read in progress still uses the memory */
    return rc ? rc : end_rc;
}

/* ---- medians over all ranks ------------------------------------------------------------------------------------------ */

/* Turn the gathered rows, one a segment, into columns, one a frequency. @return  numbers in each column */
static int64_t sort_into_columns(const struct pass *pass, int64_t count, int64_t rows, int64_t n)
{
    int64_t found = 0;
    for (int64_t row = 0; row < rows; row++) {
        if (pass->all[row * count] < 0)
            continue;
        for (int64_t k = 0; k < count; k++)
            pass->columns[k * n + found] = pass->all[row * count + k];
        found++;
    }
    return found;
}

/* Find the median at each frequency. @param n  number of spectra of all ranks */
static void find_medians(struct pass *pass, int64_t n)
{
    struct lw_comm *const comm = pass->setup->comm;
    const int64_t most = most_of_rank(&pass->sample, lw_comm_size(comm)), width = lw_welch_frequencies(pass->sample.n);
    const int64_t columns = columns_of(&pass->sample, lw_comm_size(comm));
    double *const spectrum = pass->setup->job.whitening->spectrum;
    for (int64_t first = 0; first < width; first += columns) {
        const int64_t count = lw_min64(columns, width - first);
        for (int64_t s = 0; s < most; s++)      /* -1: this rank has fewer than `most` segments */
            for (int64_t k = 0; k < count; k++)
                pass->mine[s * count + k] = s < pass->n_spectra ? pass->spectra[s * width + first + k] : -1;
        lw_comm_gather(comm, pass->mine, (int)(most * count), pass->all);
        if (lw_comm_rank(comm) == 0 && sort_into_columns(pass, count, lw_comm_size(comm) * most, n) == n)
            lw_welch_medians(pass->columns, n, count, pass->n_threads, spectrum + first);
    }
}

/* ---- all ------------------------------------------------------------------------------------------------------------- */

static int measure(struct pass *pass, struct lw_error *err)
{
    struct lw_setup *const setup = pass->setup;
    const struct lw_dataset_info *const input = &setup->job.inputs[0];
    struct lw_whitening *const whitening = setup->job.whitening;
    const double start = lw_now();
    int rc;
    if ((rc = lw_comm_agree(setup->comm, open_pass(pass, err), err)) ||
        (rc = lw_comm_agree(setup->comm, take_share(pass, err), err)))
        return rc;
    whitening->n_segments = lw_comm_sum(setup->comm, pass->n_spectra);
    if (whitening->n_segments == 0)
        return lw_fail(err, LW_EDATA, "each segment of %" PRId64 " samples of %.600s has some that are not finite or masked: "
                       "there is no power spectrum; give --whiten fewer seconds", pass->sample.n, lw_dataset_name(input).text);
    find_medians(pass, whitening->n_segments);
    lw_log_info("the power spectrum is the median over %" PRId64 " segments of %" PRId64 " samples, measured in %.3g s",
                whitening->n_segments, pass->sample.n, lw_now() - start);
    return LW_OK;
}

int lw_spectrum_whiten(struct lw_setup *setup, struct lw_error *err)
{
    if (!setup->job.whitening)
        return LW_OK;
    struct pass pass = {.setup = setup, .sample = choose_segments(&setup->job), .n_threads = lw_engine_host_threads(setup->engine)};
    int rc = measure(&pass, err);
    lw_welch_destroy(pass.welch);
    for (int i = 0; i < 2; i++)
        lw_free(pass.readings[i].stored);
    lw_free(pass.samples);
    lw_free(pass.spectra);
    lw_free(pass.mine);
    lw_free(pass.all);
    lw_free(pass.columns);
    if (rc)
        return rc;
    struct lw_job *const job = &setup->job;
    struct lw_whitening *const whitening = job->whitening;
    const bool is_first = lw_comm_rank(setup->comm) == 0;
    whitening->n_threads = pass.n_threads;
    lw_product_note_int(&job->products[job->n_products + job->n_given - 1], "segments", whitening->n_segments);
    lw_comm_broadcast(setup->comm, whitening->spectrum, lw_welch_frequencies(whitening->segment) * (int64_t)sizeof(double));
    if (is_first && whitening->stored.data)
        rc = job->ops->whiten(job, &whitening->stored, 0, job->op.ols.n_filters, err);
    rc = rc || !is_first ? rc : job->ops->whitened(job, err);
    if ((rc = lw_comm_agree(setup->comm, rc, err)))
        return rc;
    lw_comm_broadcast(setup->comm, job->taps, lw_spectrum_taps_bytes(job));     /* the same bits on every rank */
    return LW_OK;
}
