#include "job/search.h"

#include "base/integers.h"
#include "base/memory.h"
#include "base/proc.h"
#include "base/text.h"
#include "design/taps.h"
#include "job/coordinates.h"
#include "signal/source.h"

#include <assert.h>
#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

/* The choices of --noise and --sign are in the order of their enumerations. */
static_assert(LW_NOISE_GIVEN == 0 && LW_NOISE_ENERGY == 1 && LW_NOISE_MEASURED == 2 && LW_NOISE_RMS == 3 &&
              LW_NOISE_MESH == 4, "order of --noise");

static_assert(LW_SIGN_BOTH == 0 && LW_SIGN_POSITIVE == 1 && LW_SIGN_NEGATIVE == 2, "order of --sign");

static const char *const noise_texts[] = {
    [LW_NOISE_GIVEN] = "given", [LW_NOISE_ENERGY] = "energy", [LW_NOISE_MEASURED] = "measured", [LW_NOISE_RMS] = "rms",
    [LW_NOISE_MESH] = "mesh",
};

/* ---- options ------------------------------------------------------------------------------------------------------- */

/* Combine the bits of a comma-separated list of words. @return  0: a word is unknown */
static unsigned parse_list(const struct lw_search_word *words, const char *list)
{
    unsigned found = 0;
    while (true) {
        const size_t length = strcspn(list, ",");
        int i = 0;
        while (words[i].word && (strlen(words[i].word) != length || strncmp(words[i].word, list, length) != 0))
            i++;
        if (!words[i].word)
            return 0;
        found |= words[i].product;
        if (!list[length])
            return found;
        list += length + 1;
    }
}

int lw_search_choose_blocks(const struct lw_options *given, struct lw_search *search, struct lw_error *err)
{
    static const struct lw_search_word values[] = {
        {"max", LW_BLOCK_MAX}, {"mean", LW_BLOCK_MEAN}, {"rms", LW_BLOCK_RMS}, {0},
    };
    const char *const text = lw_options_text(given, "blocks");
    if (!(search->products & LW_BLOCKS))
        return text ? lw_fail(err, LW_EUSAGE, "--blocks goes with --products blocks only") : LW_OK;
    if (!text)
        return lw_fail(err, LW_EUSAGE, "--products blocks needs --blocks D:VALUES, as in --blocks 1000:max,rms");
    char *end;
    search->every = strtoll(text, &end, 10);
    search->values = *end == ':' ? parse_list(values, end + 1) : *end ? 0 : LW_BLOCK_MAX | LW_BLOCK_MEAN | LW_BLOCK_RMS;
    if (end == text || search->every < 1 || search->every > LW_SEARCH_MOST_EVERY || !search->values)
        return lw_fail(err, LW_EUSAGE, "--blocks %.200s is not D:VALUES with D in 1..%" PRId64 " and VALUES some of max, mean, "
                       "rms, as in --blocks 1000:max,rms", text, LW_SEARCH_MOST_EVERY);
    return LW_OK;
}

int lw_search_choose(const struct lw_options *given, const struct lw_search_word *words, struct lw_job *job,
                     struct lw_search *search, struct lw_error *err)
{
    const char *const list = lw_options_text(given, "products");
    char text[120] = "";
    search->products = parse_list(words, list);
    for (int i = 0; words[i].word; i++)
        lw_append(text, sizeof text, "%s%s", i ? ", " : "", words[i].word);
    if (!search->products)
        return lw_fail(err, LW_EUSAGE, "--products %.200s is not a list of these, separated by commas: %s", list, text);
    search->threshold = lw_options_real(given, "threshold");
    search->cluster = lw_options_int(given, "cluster");
    if ((search->products & LW_PEAKS) && search->threshold <= 0)
        return lw_fail(err, LW_EUSAGE, "--products peaks needs --threshold T: the least signal-to-noise ratio of a peak");
    if (!(search->products & LW_PEAKS) && (search->threshold > 0 || search->cluster > 0))
        return lw_fail(err, LW_EUSAGE, "--%s goes with --products peaks only", search->threshold > 0 ? "threshold" : "cluster");
    if ((lw_options_given(given, "output-type") || lw_options_given(given, "output-scale")) && !(search->products & LW_FILTERED))
        return lw_fail(err, LW_EUSAGE, "--output-type is for the product %s, which --products %.200s leaves out", words[0].word,
                       list);
    /* Sigma is 1 behind whitened filters and behind weighted pixels. */
    const bool is_known = job->whitening || lw_op_has_map(&job->op);
    job->search.noise = is_known ? LW_NOISE_GIVEN : LW_NOISE_MEASURED;
    if (lw_options_given(given, "noise"))
        job->search.noise = (enum lw_noise)lw_options_choice(given, "noise");
    if (is_known && job->search.noise == LW_NOISE_ENERGY)
        return lw_fail(err, LW_EUSAGE, "--noise energy is for white noise, but the noise behind %s is 1: give --noise given, "
                       "measured or rms", job->whitening ? "whitened filters" : "weighted pixels");
    job->search.most_peaks = lw_options_int(given, "max-peaks");
    job->search.first_time = job->search.time_step = NAN;
    return LW_OK;
}

int lw_search_choose_sign(const struct lw_options *given, bool is_complex, bool is_positive, struct lw_job *job,
                          struct lw_search *search, struct lw_error *err)
{
    const bool is_given = lw_options_given(given, "sign");
    const enum lw_sign fallback = is_positive && !is_complex ? LW_SIGN_POSITIVE : LW_SIGN_BOTH;
    const enum lw_sign sign = is_given ? (enum lw_sign)lw_options_choice(given, "sign") : fallback;
    if (!(search->products & (LW_PEAKS | LW_BEST)))
        return is_given ? lw_fail(err, LW_EUSAGE, "--sign goes with --products peaks or best only") : LW_OK;
    if (is_complex && sign != LW_SIGN_BOTH)
        return lw_fail(err, LW_EUSAGE, "--sign %s: complex outputs have no sign; leave --sign out", lw_sign_text(sign));
    search->sign = sign;
    if (!is_given)
        snprintf(job->defaults, sizeof job->defaults, "sign = %s\n", lw_sign_text(sign));
    return LW_OK;
}

/* ---- noise --------------------------------------------------------------------------------------------------------- */

/* Set the energies of rows [begin, end) of taps, the sums of their squares. @param taps  the first of them */
static int find_energies(const struct lw_stored_taps *taps, int64_t n_taps, int64_t begin, int64_t end, double *energies,
                         struct lw_error *err)
{
    const int64_t values = n_taps * (taps->type.is_complex ? 2 : 1);
    const int n_threads = (int)lw_max64(1, lw_min64(lw_proc_cores(), end - begin));
    LW_FREED double *const work = lw_alloc_array(n_threads * values, sizeof *work, "a filter of each thread", err);
    if (!work)
        return LW_ESYSTEM;
#pragma omp parallel for num_threads(n_threads) schedule(static)
    for (int64_t f = begin; f < end; f++) {
        double *const its = work + omp_get_thread_num() * values;
        lw_stored_filter(taps, n_taps, f - begin, its);
        energies[f] = lw_taps_energy(its, values);
    }
    return LW_OK;
}

/* Bytes of filters that a rank reads at a time, of a bank that it does not hold. */
static const int64_t piece_bytes = (int64_t)64 << 20;

/* Find the energies of this rank's share of the bank. @param own  rows of taps of a filter: 1, or one for each channel */
static int find_share(struct lw_job *job, int rank, int n_ranks, int64_t own, double *energies, struct lw_error *err)
{
    const struct lw_ols_spec *const ols = &job->op.ols;
    const int64_t n = ols->n_filters, begin = n * rank / n_ranks, end = n * (rank + 1) / n_ranks;
    const int64_t row = own * ols->n_taps * (int64_t)lw_type_bytes(ols->taps.type), most = lw_max64(1, piece_bytes / row);
    int rc = LW_OK;
    for (int64_t first = begin, next; rc == LW_OK && first < end; first = next) {
        struct lw_stored_taps taps;
        next = ols->taps.data ? end : lw_min64(end, first + most);
        if ((rc = lw_job_take_filters(job, first, next - first, &taps, err)) == LW_OK)
            rc = find_energies(&taps, ols->n_taps, first * own, next * own, energies, err);
    }
    return rc;
}

/* Return the variance behind a filter, in a channel of the outputs, of white noise of variance 1. In a sum over channels each adds
 * the energy of its taps times the square of its weight. @param energies  [filter x own] */
static double variance_of(const struct lw_job *job, const double *energies, int64_t own, int64_t channel, int64_t filter)
{
    const struct lw_ols_spec *const ols = &job->op.ols;
    const struct lw_shifts *const sums = lw_op_sums(&job->op);
    if (!sums)
        return energies[filter * own + (own > 1 ? channel : 0)];
    double variance = 0;
    for (int64_t c = 0; c < sums->n_inputs; c++) {
        const double weight = lw_shifts_weight(sums, ols->beams ? channel : filter, c);
        variance += weight * weight * energies[filter * own + (own > 1 ? c : 0)];
    }
    return variance;
}

/* Set the noise of every channel to the root of each filter's energy. The ranks share the filters. */
static int take_energies(struct lw_job *job, struct lw_comm *comm, struct lw_error *err)
{
    const int n = job->op.ols.n_filters;
    const int64_t own = lw_op_filter_values(&job->op) / job->op.ols.n_taps, all = n * own;
    LW_FREED double *const energies = lw_alloc_array(all, sizeof *energies, "the energies of filters", err);
    int rc = energies ? find_share(job, lw_comm_rank(comm), lw_comm_size(comm), own, energies, err) : LW_ESYSTEM;
    if ((rc = lw_comm_agree(comm, rc, err)) == LW_OK) {
        lw_comm_collect(comm, energies, all, 0);
        lw_comm_broadcast(comm, energies, all * (int64_t)sizeof *energies);
        for (int64_t c = 0; c < job->op.n_channels; c++)
            for (int f = 0; f < n; f++)
                job->noise[c * n + f] = sqrt(variance_of(job, energies, own, c, f));
    }
    return rc;
}

int lw_search_make_noise(struct lw_job *job, struct lw_comm *comm, struct lw_search *search, struct lw_error *err)
{
    const int n_filters = lw_op_filters(&job->op);
    int rc = LW_OK;
    if (!(search->products & (LW_PEAKS | LW_BEST)) || job->search.noise == LW_NOISE_GIVEN || job->search.noise == LW_NOISE_MESH)
        return LW_OK;
    job->noise = lw_alloc_array(lw_search_stretches(search) * job->op.n_channels * n_filters, sizeof *job->noise,
                                "the noise of channels and filters", err);
    if ((rc = lw_comm_agree(comm, job->noise ? LW_OK : LW_ESYSTEM, err)))
        return rc;
    search->noise = job->noise;
    if (job->search.noise != LW_NOISE_ENERGY)
        return LW_OK;
    if (job->op.kind == LW_OP_OLS)
        return take_energies(job, comm, err);
    const struct lw_conv2d_spec *const c = &job->op.conv2d;
    const int64_t values = c->kernel_rows * c->kernel_columns * (c->kernel_complex ? 2 : 1);
    for (int64_t i = 0; i < job->op.n_channels * n_filters; i++)
        job->noise[i] = sqrt(lw_taps_energy(c->kernel + i % n_filters * values, values));
    return LW_OK;
}

void lw_search_shape_noise(struct lw_job *job)
{
    if (!job->noise)
        return;
    const bool is_image = lw_op_has_pixels(&job->op), is_stack = !is_image && job->op.ols.stacks;
    const char *const channel = is_image ? "image" : is_stack ? "stack" : job->array ? job->array->trial : "channel";
    struct lw_product *const product = &job->products[job->n_products + job->n_given++];
    product->values = job->noise;
    product->dataset = (struct lw_writer_dataset){
        .path = "/noise", .type = {.scalar = LW_FLOAT64}, .n_dims = is_image && !job->has_filter_dim ? 1 : 2,
        .dims = {job->op.n_channels, lw_op_filters(&job->op)},
        .dim_names = {channel, is_image ? "kernel" : "filter"},
    };
    product->axis_dim = -1;
    product->channel_dim = 0;
    const struct lw_search *const search = lw_op_search(&job->op);
    if (search->stretch > 0) {
        /* [stretch][channel][filter]; a stretch has the time of the input's sample at which it begins. */
        const double rate_hz = job->inputs[0].axis.sample_rate_hz;
        const int64_t first = search->first_stretch - job->search.lead;
        product->dataset = (struct lw_writer_dataset){
            .path = "/noise", .type = {.scalar = LW_FLOAT64}, .n_dims = 3, .dim_names = {"stretch", channel, "filter"},
            .dims = {search->n_stretches, job->op.n_channels, lw_op_filters(&job->op)},
        };
        product->axis_dim = 0;
        product->channel_dim = 1;
        lw_coordinates_set(job, (struct lw_steps){.first = job->first_input + first, .every = search->stretch, .rate = 1}, product);
        lw_product_note_int(product, "stretch_length", search->stretch);
        if (rate_hz > 0)
            lw_product_note_real(product, "stretch_s", (double)search->stretch / rate_hz);
        lw_product_note_int(product, "first_output", first);
    } else
        lw_coordinates_set(job, (struct lw_steps){0}, product);
    lw_product_note_text(product, "noise", noise_texts[job->search.noise]);
}

/* ---- peaks --------------------------------------------------------------------------------------------------------- */

static const struct lw_column peak_columns[] = {
    {"channel", LW_COLUMN_INT}, {"filter", LW_COLUMN_INT}, {"index", LW_COLUMN_INT}, {"time", LW_COLUMN_REAL},
    {"re", LW_COLUMN_REAL},     {"im", LW_COLUMN_REAL},    {"snr", LW_COLUMN_REAL},  {"cluster_size", LW_COLUMN_INT},
};
static const struct lw_column source_columns[] = {
    {"image", LW_COLUMN_INT}, {"kernel", LW_COLUMN_INT}, {"row", LW_COLUMN_INT}, {"column", LW_COLUMN_INT},
    {"re", LW_COLUMN_REAL},   {"im", LW_COLUMN_REAL},    {"snr", LW_COLUMN_REAL}, {"cluster_size", LW_COLUMN_INT},
    {"x", LW_COLUMN_REAL},    {"y", LW_COLUMN_REAL},     {"flux", LW_COLUMN_REAL}, {"flux_error", LW_COLUMN_REAL},
    {"peak", LW_COLUMN_REAL}, {"flags", LW_COLUMN_INT},  {"ra", LW_COLUMN_REAL},  {"dec", LW_COLUMN_REAL},
};
enum { SOURCE_COLUMNS = sizeof source_columns / sizeof *source_columns };
static_assert(sizeof peak_columns / sizeof *peak_columns == LW_PEAK_COLUMNS, "columns of peaks");
static_assert(offsetof(struct lw_peak_row, trial) == 8 * LW_PEAK_COLUMNS, "a row is as the file has it");
static_assert(sizeof(struct lw_source_row) == 8 * SOURCE_COLUMNS, "a row is as the file has it");

static int compare_peaks(const void *left, const void *right)
{
    const struct lw_peak_row *const a = left, *const b = right;
    const int index = lw_compare64(a->index, b->index), channel = lw_compare64(a->channel, b->channel);
    return index ? index : channel ? channel : lw_compare64(a->filter, b->filter);
}

/* Orders of rows that wait: for the last filters, each channel's together; for other channels, each filter's together. */
static int compare_gathered(const void *left, const void *right)
{
    const struct lw_peak_row *const a = left, *const b = right;
    return a->channel != b->channel ? lw_compare64(a->channel, b->channel) : compare_peaks(left, right);
}

static int compare_by_filter(const void *left, const void *right)
{
    const struct lw_peak_row *const a = left, *const b = right;
    return a->filter != b->filter ? lw_compare64(a->filter, b->filter) : compare_peaks(left, right);
}

static int compare_sources(const void *left, const void *right)
{
    const struct lw_source_row *const a = left, *const b = right;
    const int row = lw_compare64(a->row, b->row), image = lw_compare64(a->image, b->image);
    const int kernel = lw_compare64(a->kernel, b->kernel);
    return row ? row : image ? image : kernel ? kernel : lw_compare64(a->column, b->column);
}

static bool has_trials(const struct lw_job *job) { return job->array && job->array->trials; }

void lw_search_shape_peaks(const struct lw_job *job, struct lw_product *product)
{
    const bool is_image = lw_op_has_pixels(&job->op);
    const int n_columns = is_image ? SOURCE_COLUMNS : LW_PEAK_COLUMNS + has_trials(job);
    if (has_trials(job)) {
        memcpy(job->array->columns, peak_columns, sizeof peak_columns);
        job->array->columns[LW_PEAK_COLUMNS] = (struct lw_column){job->array->trial, LW_COLUMN_REAL};
    }
    const struct lw_search *const search = lw_op_search(&job->op);
    product->axis_dim = product->channel_dim = -1;
    product->dataset = (struct lw_writer_dataset){
        .path = "/peaks", .n_dims = 1, .dim_names = {"peak"}, .grows = true, .has_scales = true,
        .columns = is_image ? source_columns : has_trials(job) ? job->array->columns : peak_columns, .n_columns = n_columns,
        .compare = is_image ? compare_sources : compare_peaks,
        .gathered = !lw_search_waits(job) ? NULL : search->cluster_channels == 0 ? compare_gathered
                    : search->clusters_filters ? compare_peaks : compare_by_filter,
    };
}

int64_t lw_search_row_bytes(const struct lw_job *job)
{
    if (lw_op_has_pixels(&job->op))
        return (int64_t)sizeof(struct lw_source_row);
    return has_trials(job) ? (int64_t)sizeof(struct lw_peak_row) : (int64_t)offsetof(struct lw_peak_row, trial);
}

const struct lw_peak_row *lw_search_row(const struct lw_job *job, const void *rows, int64_t i)
{
    return (const struct lw_peak_row *)((const char *)rows + i * lw_search_row_bytes(job));
}

void lw_search_fill_rows(const struct lw_job *job, const struct lw_peak *peaks, int64_t n, void *rows)
{
    struct lw_source_row *const of_image = rows;
    const int64_t bytes = lw_search_row_bytes(job);
    const bool is_image = lw_op_has_pixels(&job->op), is_stack = !is_image && job->op.ols.stacks;
    const int64_t lead = job->search.lead;
    for (int64_t i = 0; i < n; i++)
        if (is_image)
            of_image[i] = (struct lw_source_row){
                .image = peaks[i].channel, .kernel = peaks[i].filter, .row = peaks[i].index - lead, .column = peaks[i].column,
                .re = peaks[i].re, .im = peaks[i].im, .snr = peaks[i].snr, .cluster_size = peaks[i].cluster_size,
                .x = NAN, .y = NAN, .flux = NAN, .flux_error = NAN, .peak = NAN, .flags = LW_SOURCE_NO_CENTRE, .ra = NAN,
                .dec = NAN,
            };
        else {
            const struct lw_peak_row row = {
                .channel = is_stack ? -1 : peaks[i].channel, .filter = peaks[i].filter, .index = peaks[i].index - lead,
                .time = job->search.first_time + (double)(peaks[i].index - lead) * job->search.time_step,
                .re = peaks[i].re, .im = peaks[i].im, .snr = peaks[i].snr, .cluster_size = peaks[i].cluster_size,
                .trial = has_trials(job) ? job->array->trials[peaks[i].channel] : 0,
            };
            memcpy((char *)rows + i * bytes, &row, (size_t)bytes);
        }
}

bool lw_search_waits(const struct lw_job *job)
{
    const struct lw_search *const search = lw_op_search(&job->op);
    return !lw_op_has_pixels(&job->op) && (search->clusters_filters || search->cluster_channels > 0);
}

struct lw_crossing lw_search_row_crossing(const struct lw_job *job, const struct lw_peak_row *row)
{
    return (struct lw_crossing){
        .index = row->index + job->search.lead, .channel = (int32_t)lw_max64(0, row->channel), .filter = (int32_t)row->filter,
        .column = row->cluster_size - 1, .re = row->re, .im = row->im,
    };
}

double lw_search_row_snr(const struct lw_job *job, const void *rows, int64_t i)
{
    const struct lw_source_row *const of_image = rows;
    return lw_op_has_pixels(&job->op) ? of_image[i].snr : lw_search_row(job, rows, i)->snr;
}

void lw_search_describe_peaks(const struct lw_job *job, const struct lw_search *search, struct lw_product *product)
{
    lw_product_note_real(product, "threshold", search->threshold);
    lw_product_note_text(product, "noise", noise_texts[job->search.noise]);
    lw_product_note_int(product, "cluster", search->cluster);
    lw_product_note_text(product, "sign", lw_sign_text(search->sign));
}
