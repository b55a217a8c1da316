/* ols.c - the job `ols`: 1-D convolution of an archived signal with a bank of FIR filters by overlap-save. */
#include "base/integers.h"
#include "job/choose.h"
#include "job/coordinates.h"
#include "job/search.h"
#include "jobs/aliasing.h"
#include "jobs/filters/asked.h"
#include "jobs/filters/whitening.h"
#include "jobs/jobs.h"
#include "jobs/ols_array.h"
#include "jobs/ols_filters.h"
#include "jobs/synth/synth.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#define POST_CHOICE(kind, name, unit, traits, function, help) "|" name
#define POST_HELP(kind, name, unit, traits, function, help) help

static const struct lw_option options[] = {
    {.name = "filters", .kind = LW_OPTION_FILE, .argument = "FILE:/dataset",
     .help = "Filter bank: taps as [M], [F x M] or [F x C x M]. The last has taps of its own for each channel of the input. Taps "
             "are real or complex; [M x 1] is one filter, too. Instead, one of the next four options makes the filters: one of the "
             "five is required."},
    LW_ASKED_OPTIONS,
    LW_WHITENING_OPTIONS,
    LW_OLS_ARRAY_OPTIONS,
    {.name = "mode", .kind = LW_OPTION_CHOICE, .choices = "full|same|valid", .fallback = "same",
     .help = "Part of the convolution to keep. full: all n+M-1 outputs. same: the central n; output i is output i+(M-1)/2 of "
             "full. valid: the n-M+1 that need no sample beyond the ends."},
    {.name = "reference", .kind = LW_OPTION_TEXT, .argument = "first|middle|last|NUMBER", .is_rare = true,
     .help = "Tap that sets the time of an output. An output has the time of the input sample under this tap, in every mode; "
             "NUMBER counts taps from 0, as stored. It changes times, never which outputs are kept. Default: the attribute "
             "reference_tap of --filters, else middle, (M-1)/2 rounded down."},
    {.name = "boundary", .kind = LW_OPTION_CHOICE, .choices = "zero|edge|wrap|reflect", .fallback = "zero",
     .help = "Samples beyond the ends (--mode same). zero: zeros. edge: the end sample repeated. wrap: the signal repeated. "
             "reflect: the signal mirrored, with its end sample. These are numpy.pad's constant, edge, wrap and symmetric."},
    {.name = "correlate", .kind = LW_OPTION_FLAG,
     .help = "Correlate instead of convolving. Taps are conjugated and reversed."},
    {.name = "allow-rate-mismatch", .kind = LW_OPTION_FLAG, .is_rare = true,
     .help = "Accept filters made for another sampling rate. Otherwise they are an error, where both rates are known."},
    {.name = "interpolate", .kind = LW_OPTION_INT, .argument = "R", .fallback = "1", .minimum = 1, .maximum = LW_POST_MOST_RATE,
     .is_rare = true,
     .help = "Interpolate the outputs to R times their sampling rate. Cubics through four samples turn n outputs into R (n - 1) "
             "+ 1, from the first to the last. Every R-th is an output itself."},
    {.name = "decimate", .kind = LW_OPTION_INT, .argument = "D", .fallback = "1", .minimum = 1, .maximum = LW_POST_MOST_EVERY,
     .help = "Keep every D-th output, beginning with the first. The sampling rate falls to a D-th. The filters must leave "
             "nothing beyond half the new rate; a filter that leaves more than 1% of its energy there causes a warning."},
    {.name = "post", .kind = LW_OPTION_CHOICE, .choices = &LW_POSTS(POST_CHOICE)[1], .fallback = "none",
     .help = "What to make of each output. " LW_POSTS(POST_HELP) " It comes after --interpolate or --decimate. "
             "Powers beyond float32's range cause a warning; --output-type float64 holds them."},
    {.name = "products", .group = LW_GROUP_PRODUCTS, .kind = LW_OPTION_TEXT, .argument = "LIST", .fallback = "filtered",
     .help = "What to write: filtered, peaks, best, blocks. Give one or more, separated by commas. filtered: the outputs, "
             "/filtered. peaks: a table of the places where a filter responds, /peaks. best: for each sample the filter that "
             "responds most, /best/value and /best/filter. blocks: statistics of consecutive outputs, /blocks. All but filtered "
             "are made of the outputs before --decimate."},
    {.name = "noise-every", .kind = LW_OPTION_STRETCH, .argument = "TIME", .minimum = 1, .maximum = 9e18, .within = "noise",
     .word = "every",
     .help = "measure it anew for each stretch of TIME, for data whose noise changes. A number without a unit counts samples, "
             "4096 at least. Stretches count from the data's first sample, whatever part is used. If the part cuts a stretch, "
             "what remains of it is measured; if that is less than half, it takes the noise of the stretch beside it. Default: "
             "one noise for the whole run."},
    LW_SEARCH_OPTIONS(
        "output", "outputs of the same channel and filter", "channel and filter", "peaks and best",
        "positive with --boxcar W,baseline=LENGTH, and for input that a result's --post made power or amplitude; else both",
        "", ""),
    {.name = "noise-unit", .kind = LW_OPTION_CHOICE, .choices = "sigma|mad", .fallback = "sigma", .is_rare = true,
     .help = "Unit of --threshold. mad is the median absolute deviation of the noise, 0.67449 sigma: --threshold 8 --noise-unit "
             "mad is --threshold 5.396. The column snr has sigma."},
    {.name = "cluster-filters", .kind = LW_OPTION_FLAG, .within = "cluster", .word = "filters",
     .help = "peaks of all filters of a channel compete."},
    {.name = "cluster-trials", .kind = LW_OPTION_INT, .argument = "K", .minimum = 1, .maximum = 1 << 20, .within = "cluster",
     .word = "trials",
     .help = "keep one peak for a pulse in many trials of --beams, or channels. Outputs above the threshold are neighbours within "
             "+- W outputs and +- K trials. All that chains of neighbours connect are one cluster, and its strongest is the peak. "
             "Give it with filters, so that widths compete, too."},
    {.name = "mask", .kind = LW_OPTION_FILE, .argument = "FILE:/dataset",
     .help = "Samples to ignore, marked by numbers other than 0. The mask has one for each sample, for each channel, or both, in "
             "the shape of the input; or bits of these, eight in a uint8 along the last dimension (numpy.packbits). Masked "
             "samples count as zeros, and outputs that need one are no peaks."},
    {.name = "good-data", .kind = LW_OPTION_TEXT, .argument = "TESTS", .within = "mask", .word = "good-data",
     .help = "take the mask from the data quality of GWOSC's strain files, in place of a dataset. Samples count in seconds that "
             "pass these tests, separated by commas. Tests have their names in /quality/simple/DQmask and "
             "/quality/injections/Injmask of the input, such as DATA,CBC_CAT2,NO_CBC_HW_INJ. Or give a number, such as 7 or "
             "0x7f: seconds count that have its bits in DQmask. All others are masked."},
    {.name = "masked-fraction", .kind = LW_OPTION_REAL, .argument = "F", .fallback = "0", .minimum = 0, .maximum = 1,
     .is_rare = true,
     .help = "Part of a filter's energy that may be masked at a peak. It goes with --products peaks. With --nan zero, samples "
             "that are not finite count as masked, too."},
    {.name = "blocks", .kind = LW_OPTION_TEXT, .argument = "D:VALUES",
     .help = "Statistics of each D consecutive outputs. It goes with --products blocks. VALUES are max (the largest |y|), mean "
             "and rms (the root of the mean of |y|^2). Without VALUES all three."},
    {.name = "segment", .group = LW_GROUP_OWN, .kind = LW_OPTION_INT, .argument = "N", .minimum = 1, .maximum = 1 << 30,
     .is_rare = true,
     .help = "FFT length, at least the number of taps. Default: chosen by a cost model; 'lapwing plan ols' shows it."},
    {0},
};

/* The index of a choice of --mode and --boundary is the value of the enumeration. */
static_assert(LW_MODE_FULL == 0 && LW_MODE_SAME == 1 && LW_MODE_VALID == 2, "order of --mode");
static_assert(LW_BOUNDARY_ZERO == 0 && LW_BOUNDARY_EDGE == 1 && LW_BOUNDARY_WRAP == 2 &&
              LW_BOUNDARY_REFLECT == 3, "order of --boundary");

/* ---- output -------------------------------------------------------------------------------------------------------- */

static int choose_outputs(const struct lw_options *given, struct lw_job *job, struct lw_error *err)
{
    const enum lw_mode mode = (enum lw_mode)lw_options_choice(given, "mode");
    const struct lw_shifts *const sums = lw_op_sums(&job->op);
    const int64_t n_taps = job->op.ols.n_taps, all = n_taps + (sums ? sums->before + sums->after : 0);
    const int64_t of_same = lw_middle_tap(n_taps) + (sums ? sums->after : 0);
    const int64_t look_ahead = mode == LW_MODE_SAME ? of_same : lw_mode_look_ahead(mode, all);
    int rc;
    job->boundary = (enum lw_boundary)lw_options_choice(given, "boundary");
    if (mode != LW_MODE_SAME && job->boundary != LW_BOUNDARY_ZERO)
        return lw_fail(err, LW_EUSAGE, "--boundary %s goes with --mode same only, not with --mode %s",
                       lw_boundary_text(job->boundary), lw_mode_text(mode));
    if ((rc = lw_job_choose_outputs(given, mode, all, look_ahead, job, err)))
        return rc;
    job->look_ahead += lw_post_reach(job->op.ols.post).after;
    return lw_post_check(job->op.ols.post, job->n_outputs, err);
}

/* ---- search -------------------------------------------------------------------------------------------------------- */

static int choose_search(const struct lw_options *given, struct lw_job *job, struct lw_error *err)
{
    static const struct lw_search_word words[] = {
        {"filtered", LW_FILTERED}, {"peaks", LW_PEAKS}, {"best", LW_BEST}, {"blocks", LW_BLOCKS}, {0},
    };
    struct lw_ols_spec *const ols = &job->op.ols;
    static const double mad = 0.67449;          /* median of |y| in units of sigma, for normally distributed y */
    int rc;
    if ((rc = lw_search_choose(given, words, job, &ols->search, err)) || (rc = lw_search_choose_blocks(given, &ols->search, err)))
        return rc;
    if (lw_options_choice(given, "noise-unit") > 0 && !(ols->search.products & LW_PEAKS))
        return lw_fail(err, LW_EUSAGE, "--noise-unit mad goes with --products peaks only");
    ols->search.threshold *= lw_options_choice(given, "noise-unit") > 0 ? mad : 1;
    /* Only /filtered may be interpolated or changed. Decimation is allowed: the search takes the series before decimation. */
    const bool searches = lw_search_is_needed(&ols->search);
    if (searches && lw_post_rate(ols->post) > 1)
        return lw_fail(err, LW_EUSAGE, "--interpolate %d goes with --products filtered alone", ols->post.rate);
    if (searches && ols->post.kind != LW_POST_NONE)
        return lw_fail(err, LW_EUSAGE, "--post %s goes with --products filtered alone", lw_post_operations[ols->post.kind].name);
    if (lw_post_every(ols->post) > 1 && !(lw_search_products(&ols->search) & LW_FILTERED))
        return lw_fail(err, LW_EUSAGE, "--decimate %d only affects the product filtered: add it to --products, or leave --decimate "
                       "out", ols->post.every);
    /* If the input is powers, or a baseline is subtracted, signals can only raise the outputs: the default sign is positive. */
    const bool adds = (lw_options_given(given, "boxcar") && lw_options_given(given, "baseline")) || job->inputs[0].is_power;
    if ((rc = lw_search_choose_sign(given, job->op.input.is_complex || ols->taps_complex, adds, job, &ols->search, err)))
        return rc;
    ols->search.clusters_filters = lw_options_flag(given, "cluster-filters");
    ols->search.cluster_channels = lw_options_int(given, "cluster-trials");
    job->search.mask = lw_options_text(given, "mask");
    job->search.good_data = lw_options_text(given, "good-data");
    if (job->search.mask && job->search.good_data)
        return lw_fail(err, LW_EUSAGE, "--mask takes a dataset or good-data=TESTS, not both");
    if ((job->search.mask || job->search.good_data) && lw_options_given(given, "beside"))
        return lw_fail(err, LW_EUSAGE, "--beside and --mask exclude each other: the mask does not cover the files of --beside");
    job->search.masked_fraction = lw_options_real(given, "masked-fraction");
    if ((ols->search.clusters_filters || ols->search.cluster_channels > 0) && !(ols->search.products & LW_PEAKS))
        return lw_fail(err, LW_EUSAGE, "--cluster W,%s goes with --products peaks only",
                       ols->search.clusters_filters ? "filters" : "trials=K");
    return LW_OK;
}

/* Noise measured in fewer outputs is uncertain by more than 2%. MOST_SIGMAS limits memory: one per stretch, channel and filter. */
#define LEAST_STRETCH ((int64_t)1 << 12)
#define MOST_SIGMAS ((int64_t)1 << 27)

static int choose_stretches(const struct lw_options *given, struct lw_job *job, struct lw_error *err)
{
    int64_t length;
    int rc;
    if (!lw_options_given(given, "noise-every"))
        return LW_OK;
    if (!(job->op.ols.search.products & (LW_PEAKS | LW_BEST)))
        return lw_fail(err, LW_EUSAGE, "--noise measured,every=TIME goes with --products peaks or best only");
    if (job->search.noise != LW_NOISE_MEASURED)
        return lw_fail(err, LW_EUSAGE, "--noise measured,every=TIME goes with --noise measured only%s",
                       job->whitening ? "; with --whiten give --noise measured, too" : "");
    if ((rc = lw_job_count_samples(given, "noise-every", &job->inputs[0], &length, err)))
        return rc;
    const char *const text = lw_options_text(given, "noise-every");
    if (length < LEAST_STRETCH)
        return lw_fail(err, LW_ECONFIG, "--noise every=%s is %" PRId64 " sample%s; noise measured in fewer than %" PRId64
                       " is too uncertain: give a longer time", text, length, length == 1 ? "" : "s", LEAST_STRETCH);
    const int64_t most = lw_max64(1, MOST_SIGMAS / (job->op.n_channels * job->op.ols.n_filters)),
                  all = lw_divide_up(job->n_outputs, length);
    if (all > most)
        return lw_fail(err, LW_ECONFIG, "--noise every=%s makes %" PRId64 " stretches of %" PRId64 " channels and %d filters, with "
                       "more than %" PRId64 " noise values: give a time %" PRId64 " times as long",
                       text, all, job->op.n_channels, job->op.ols.n_filters, MOST_SIGMAS, lw_divide_up(all, most));
    lw_search_part(&job->op.ols.search, length, job->first_input - job->search.lead, job->n_outputs);
    return LW_OK;
}

/* ---- result -------------------------------------------------------------------------------------------------------- */

/* Add an array product: the input's dimensions with `length` places on the axis, behind a dimension `filter` if has_filter_dim. A
 * stack has no channels; beams take their place, before the axis. */
static struct lw_product *add_array(const struct lw_dataset_info *input, const char *path, struct lw_type type, bool has_filter_dim,
                                    int64_t length, struct lw_job *job)
{
    struct lw_product *const product = &job->products[job->n_products++];
    struct lw_writer_dataset *const result = &product->dataset;
    *result = (struct lw_writer_dataset){.path = path, .type = type};
    if (has_filter_dim) {
        product->has_filters = true;
        result->dim_names[result->n_dims] = "filter";
        result->dims[result->n_dims++] = job->op.ols.n_filters;
    }
    product->channel_dim = product->axis_dim = -1;
    if (job->op.ols.beams) {
        product->channel_dim = result->n_dims;
        result->dim_names[result->n_dims] = job->array->trial;
        result->dims[result->n_dims++] = job->op.n_channels;
    }
    if (lw_op_sums_channels(&job->op)) {
        product->axis_dim = result->n_dims;
        result->dim_names[result->n_dims] = "time";
        result->dims[result->n_dims++] = length;
        return product;
    }
    for (int d = 0; d < input->n_dims; d++) {
        const bool is_axis = d == job->view.axis;
        *(is_axis ? &product->axis_dim : &product->channel_dim) = result->n_dims;
        result->dim_names[result->n_dims] = is_axis ? "time" : "channel";
        result->dims[result->n_dims++] = is_axis ? length : job->op.n_channels;
    }
    return product;
}

/* Return the unit of the outputs; "": not known. Outputs of whitened filters are signal-to-noise ratios, and normalized ones
 * correlation coefficients. */
static const char *unit_of(const struct lw_job *job)
{
    return job->whitening || job->op.ols.normalize != LW_NORMALIZE_NONE ? "1" : job->inputs[0].axis.unit;
}

/* Describe the axis of a product with one output for each `every` samples of the series, or with `rate` outputs for each sample. */
static void describe_axis(const struct lw_options *given, const struct lw_job *job, int rate, int64_t every,
                          struct lw_product *product)
{
    const enum lw_mode mode = (enum lw_mode)lw_options_choice(given, "mode");
    const struct lw_axis_metadata *const axis = &job->inputs[0].axis;
    const int64_t first = job->first_input;

    lw_coordinates_set(job, (struct lw_steps){.first = first, .every = every, .rate = rate}, product);
    if (job->whitening)
        lw_product_note_real(product, "whitened_by_segments_s", (double)job->whitening->segment / job->whitening->rate_hz);
    lw_product_note_text(product, "mode", lw_mode_text(mode));
    lw_product_note_text(product, "boundary", lw_boundary_text(job->boundary));
    lw_product_note_int(product, "filter_taps", job->op.ols.n_taps);
    /* the delay is relative to a causal convolution, whose outputs have the time of their newest input sample */
    lw_product_note_int(product, "group_delay_removed_samples", job->reference_tap);
    lw_product_note_int(product, "first_input_sample", first);
    if (axis->sample_rate_hz > 0)
        lw_product_note_real(product, "sample_rate_hz", axis->sample_rate_hz * rate / (double)every);
    if (axis->has_start && (first == 0 || axis->sample_rate_hz > 0)) {
        lw_product_note_real(product, "start_time", first == 0 ? axis->start : axis->start + (double)first / axis->sample_rate_hz);
        lw_product_note_text(product, "start_unit", axis->start_unit);
    }
    lw_ols_describe_array(given, job, product);
    if (job->inputs[0].n_dims > 1 && !lw_op_sums_channels(&job->op)) {
        lw_product_note_int(product, "first_channel", job->view.channels.begin);
        lw_product_note_int(product, "channel_step", job->view.channels.step);
    }
}

static void describe_series(const struct lw_options *given, struct lw_job *job, struct lw_product *product)
{
    const struct lw_post post = job->op.ols.post;
    describe_axis(given, job, lw_post_rate(post), lw_post_every(post), product);
    lw_product_note_text(product, "post", lw_post_operations[post.kind].name);
    lw_product_note_int(product, "interpolate", post.rate);
    lw_product_note_int(product, "decimate", post.every);
    lw_job_note_scale(job);
    if (!unit_of(job)[0])
        return;
    snprintf(job->unit, sizeof job->unit, lw_post_operations[post.kind].unit, unit_of(job));
    lw_product_note_unit(&job->products[0], job->unit);
}

static void note_unit(const struct lw_job *job, struct lw_product *product)
{
    if (unit_of(job)[0])
        lw_product_note_unit(product, unit_of(job));
}

static void add_blocks(const struct lw_options *given, const struct lw_dataset_info *input, struct lw_type type,
                       bool has_filter_dim, struct lw_job *job)
{
    static const struct {
        const char *path;
        unsigned value;
    } all[] = {{"/blocks/max", LW_BLOCK_MAX}, {"/blocks/mean", LW_BLOCK_MEAN}, {"/blocks/rms", LW_BLOCK_RMS}};
    const struct lw_search *const search = &job->op.ols.search;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!(search->values & all[i].value))
            continue;
        const struct lw_type its = {.scalar = type.scalar, .is_complex = type.is_complex && all[i].value == LW_BLOCK_MEAN};
        struct lw_product *const product =
            add_array(input, all[i].path, its, has_filter_dim, (job->n_outputs - 1) / search->every + 1, job);
        describe_axis(given, job, 1, search->every, product);
        lw_product_note_int(product, "block_length", search->every);
        note_unit(job, product);
    }
}

static void shape_result(const struct lw_options *given, struct lw_job *job)
{
    const struct lw_dataset_info *const input = &job->inputs[0];
    const struct lw_ols_spec *const ols = &job->op.ols;
    const struct lw_axis_metadata *const axis = &input->axis;
    const unsigned wanted = lw_search_products(&ols->search);
    const struct lw_type computed = {.scalar = lw_computed_scalar(job->op.precision),
                                     .is_complex = input->type.is_complex || ols->taps_complex};
    if (axis->sample_rate_hz > 0) {     /* if the rate is not known, the table of peaks has no times */
        job->search.time_step = 1 / axis->sample_rate_hz;
        job->search.first_time = (axis->has_start ? axis->start : 0) + (double)job->first_input / axis->sample_rate_hz;
    }
    if (wanted & LW_FILTERED)
        describe_series(given, job, add_array(input, "/filtered", job->op.output, job->has_filter_dim,
                                              lw_post_length(ols->post, job->n_outputs), job));
    if (wanted & LW_PEAKS) {
        struct lw_product *const peaks = &job->products[job->n_products++];
        lw_search_shape_peaks(job, peaks);
        describe_axis(given, job, 1, 1, peaks);
        note_unit(job, peaks);
        lw_search_describe_peaks(job, &ols->search, peaks);
        lw_product_note_int(peaks, "cluster_filters", ols->search.clusters_filters);
        lw_product_note_int(peaks, "cluster_trials", ols->search.cluster_channels);
    }
    if (wanted & LW_BEST) {
        static const struct lw_type number = {.scalar = LW_INT32};
        struct lw_product *const value = add_array(input, "/best/value", computed, false, job->n_outputs, job);
        describe_axis(given, job, 1, 1, value);
        note_unit(job, value);
        lw_product_note_text(value, "sign", lw_sign_text(job->op.ols.search.sign));
        describe_axis(given, job, 1, 1, add_array(input, "/best/filter", number, false, job->n_outputs, job));
    }
    if (wanted & LW_BLOCKS)
        add_blocks(given, input, computed, job->has_filter_dim, job);
    lw_search_shape_noise(job);
    lw_ols_shape_filters(job);
}

static void summarize(const struct lw_options *given, struct lw_job *job)
{
    const struct lw_ols_spec *const ols = &job->op.ols;
    const enum lw_mode mode = (enum lw_mode)lw_options_choice(given, "mode");
    char whitened[64] = "";
    if (job->whitening)
        snprintf(whitened, sizeof whitened, ", whitened by segments of %.6g s",
                 (double)job->whitening->segment / job->whitening->rate_hz);
    snprintf(job->summary, sizeof job->summary,
             "%d filter%s of %" PRId64 " %s taps%s%s, mode %s, boundary %s%s, reference tap %" PRId64,
             ols->n_filters, ols->n_filters == 1 ? "" : "s", ols->n_taps, ols->taps_complex ? "complex" : "real",
             ols->own_taps ? " for each channel" : "", whitened,
             lw_mode_text(mode), lw_boundary_text(job->boundary), lw_options_flag(given, "correlate") ? ", correlation" : "",
             job->reference_tap);
    lw_ols_summarize_array(given, job, job->summary, sizeof job->summary);
    lw_post_describe(ols->post, job->summary, sizeof job->summary);
    lw_search_describe(&ols->search, "outputs", "filter", job->summary, sizeof job->summary);
}

static int prepare(const struct lw_options *given, struct lw_comm *comm, struct lw_pool *pool, const struct lw_dataset_info *input,
                   struct lw_job *job, struct lw_error *err)
{
    *job = (struct lw_job){.ops = &lw_job_ols, .inputs = {*input}, .input_names = {"input"}, .n_inputs = 1};
    job->op.kind = LW_OP_OLS;
    job->op.input = input->type;
    struct lw_ols_spec *const ols = &job->op.ols;
    int rc;
    if ((rc = lw_ols_check_array(given, err)) || (rc = lw_job_choose_view(given, input, job, err)) ||
        (rc = lw_ols_get_filters(given, comm, pool, job, err)) || (rc = lw_ols_choose_array(given, comm, job, err)) ||
        (rc = lw_job_choose_output_type(given, lw_op_is_complex(&job->op) && !lw_post_has(ols->post, LW_POST_REAL), &job->op,
                                        err)) ||
        (rc = choose_search(given, job, err)) || (rc = choose_outputs(given, job, err)) ||
        (rc = choose_stretches(given, job, err)) ||
        (rc = lw_search_make_noise(job, comm, &ols->search, err)))
        return rc;
    if (lw_comm_rank(comm) == 0) {
        lw_job_warn_if_long(job, "the filters are", ols->n_taps, job->n_samples);
        if (!job->whitening && (rc = lw_ols_warn_of_aliasing(job, err)))
            return rc;
    }
    job->can_leave_range = lw_post_has(job->op.ols.post, LW_POST_SQUARES);
    shape_result(given, job);
    summarize(given, job);
    return LW_OK;
}

const struct lw_job_ops lw_job_ols = {
    .name = "ols", .way = LW_WAY_STREAMED, .title = "filter a long signal with a bank of FIR filters (overlap-save)",
    .description = "Convolves each channel of a signal with every filter of a bank, by overlap-save: it cuts the signal into "
                   "overlapping segments and multiplies each with the filters in the frequency domain. Signal and filters may be "
                   "real or complex. /filtered has the input's shape, its time length set by --mode, and a first dimension "
                   "`filter` if there are several. On the way the outputs can be interpolated or decimated, made into power, "
                   "amplitude or derivative, and searched for peaks, without another pass over the data.",
    .paper = "K. Adamek, S. Dimoudi, M. Giles, W. Armour: GPU Fast Convolution via the Overlap-and-Save Method in Shared Memory. "
             "arXiv:1910.01972, 2020.",
    .remedy = "fewer --channels or a shorter --segment", .sample = "sample", .channel = "channel",
    .filter = "filter", .least_dims = 1, .most_dims = 2,
    .join = LW_JOIN_TIME, .taps = "filters", .options = options, .synth_options = lw_ols_synth_options,
    .example = "lapwing synth ols --output survey.h5\n"
               "mpirun -np 2 lapwing ols --input survey.h5:/signal \\\n"
               "    --filters survey.h5:/filters --output filtered.h5\n"
               "lapwing ols --input das.h5:/Acoustic --bandpass 1:20 --output band.h5\n"
               "lapwing ols --input crab.fil --boxcar 1,2,4,8,baseline=256 \\\n"
               "    --boundary reflect --products peaks --threshold 8 --output pulses.h5",
    .prepare = prepare, .release = lw_ols_release, .whiten = lw_whitening_make, .whitened = lw_ols_warn_of_aliasing,
    .synth = lw_ols_synth,
};
