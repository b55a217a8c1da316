#include "jobs/ols_result.h"

#include "job/choose.h"
#include "job/coordinates.h"
#include "job/search.h"
#include "jobs/ols_filters.h"
#include "signal/convolution.h"

#include <stdio.h>

/* An array [filter,] and the input's dimensions, the axis `length` long. */
static struct lw_product *add_array(const struct lw_dataset_info *input, const char *path, struct lw_type type, bool has_filter_dim,
                                    int64_t length, struct lw_job *job)
{
    struct lw_product *const product = &job->products[job->n_products++];
    struct lw_writer_dataset *const result = &product->dataset;
    *result = (struct lw_writer_dataset){.path = path, .type = type};
    if (has_filter_dim) {
        result->dim_names[result->n_dims] = "filter";
        result->dims[result->n_dims++] = job->op.ols.n_filters;
    }
    product->channel_dim = -1;
    for (int d = 0; d < input->n_dims; d++) {
        const bool is_axis = d == job->view.axis;
        *(is_axis ? &product->axis_dim : &product->channel_dim) = result->n_dims;
        result->dim_names[result->n_dims] = is_axis ? "time" : "channel";
        result->dims[result->n_dims++] = is_axis ? length : job->op.n_channels;
    }
    return product;
}

/* Of the outputs, "" where it is not known. Whitened, they are signal-to-noise ratios. */
static const char *unit_of(const struct lw_job *job) { return job->whitening ? "1" : job->inputs[0].axis.unit; }

/* The axis of a product that has an output for every `every` samples of the series, or `rate` for each. */
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
    /* beside a causal convolution, whose output has the time of its newest input sample */
    lw_product_note_int(product, "group_delay_removed_samples", job->reference_tap);
    lw_product_note_int(product, "first_input_sample", first);
    if (axis->sample_rate_hz > 0)
        lw_product_note_real(product, "sample_rate_hz", axis->sample_rate_hz * rate / (double)every);
    if (axis->has_start && (first == 0 || axis->sample_rate_hz > 0)) {
        lw_product_note_real(product, "start_time", first == 0 ? axis->start : axis->start + (double)first / axis->sample_rate_hz);
        lw_product_note_text(product, "start_unit", axis->start_unit);
    }
    if (job->inputs[0].n_dims > 1) {
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

/* Time of the first output, and from one to the next. */
static void find_times(struct lw_job *job)
{
    const struct lw_axis_metadata *const axis = &job->inputs[0].axis;
    if (axis->sample_rate_hz <= 0)
        return;
    job->search.time_step = 1 / axis->sample_rate_hz;
    job->search.first_time = (axis->has_start ? axis->start : 0) + (double)job->first_input / axis->sample_rate_hz;
}

static void add_best(const struct lw_options *given, const struct lw_dataset_info *input, struct lw_type type, struct lw_job *job)
{
    static const struct lw_type number = {.scalar = LW_INT32};
    struct lw_product *const value = add_array(input, "/best/value", type, false, job->n_outputs, job);
    describe_axis(given, job, 1, 1, value);
    note_unit(job, value);
    lw_product_note_text(value, "sign", lw_sign_text(job->op.ols.search.sign));
    describe_axis(given, job, 1, 1, add_array(input, "/best/filter", number, false, job->n_outputs, job));
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

void lw_ols_shape_result(const struct lw_options *given, struct lw_job *job)
{
    const struct lw_dataset_info *const input = &job->inputs[0];
    const struct lw_ols_spec *const ols = &job->op.ols;
    const unsigned wanted = lw_search_products(&ols->search);
    const struct lw_type computed = {.scalar = job->op.precision == LW_SINGLE ? LW_FLOAT32 : LW_FLOAT64,
                                     .is_complex = input->type.is_complex || ols->taps_complex};
    find_times(job);
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
    }
    if (wanted & LW_BEST)
        add_best(given, input, computed, job);
    if (wanted & LW_BLOCKS)
        add_blocks(given, input, computed, job->has_filter_dim, job);
    lw_search_shape_noise(job);
    lw_ols_shape_filters(job);
}
