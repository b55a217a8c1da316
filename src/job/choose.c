#include "job/choose.h"

#include "base/log.h"
#include "base/memory.h"
#include "job/mesh.h"
#include "job/selection.h"

#include <inttypes.h>

int lw_job_choose_axis(const struct lw_options *given, const char *job, const struct lw_dataset_info *input, int *axis,
                       struct lw_error *err)
{
    if (input->n_dims > 2)
        return lw_fail(err, LW_EDATA, "%s has %d dimensions: %s takes 1 (time) or 2 (time and channel)",
                       lw_dataset_name(input).text, input->n_dims, job);
    const int known = input->metadata_axis;
    const bool asked = lw_options_given(given, "axis");
    const int wanted = (int)lw_options_int(given, "axis");
    if (asked && wanted >= input->n_dims)
        return lw_fail(err, LW_EUSAGE, "--axis %d: %s has %d dimension%s", wanted, lw_dataset_name(input).text,
                       input->n_dims, input->n_dims == 1 ? ", so only axis 0" : "s, so 0 or 1");
    if (asked && known >= 0 && known != wanted)
        return lw_fail(err, LW_EDATA, "--axis %d contradicts the metadata of %s, where dimension %d is time: correct one of them",
                       wanted, lw_dataset_name(input).text, known);

    if (input->n_dims == 1)
        *axis = 0;
    else if (asked)
        *axis = wanted;
    else if (known >= 0)
        *axis = known;
    else if (input->dims[0] == 1 || input->dims[1] == 1)
        *axis = input->dims[1] == 1 ? 0 : 1;
    else
        return lw_fail(err, LW_EUSAGE, "%s is [%" PRId64 " x %" PRId64 "]: choose the time dimension with --axis 0 or --axis 1",
                       lw_dataset_name(input).text, input->dims[0], input->dims[1]);
    return LW_OK;
}

int lw_job_choose_view(const struct lw_options *given, const struct lw_dataset_info *input, struct lw_job *job,
                       struct lw_error *err)
{
    struct lw_view_spec *const view = &job->view;
    int rc;
    if ((rc = lw_job_choose_axis(given, job->ops->name, input, &view->axis, err)) ||
        (rc = lw_job_choose_piece(given, input, view->axis, view, err)) ||
        (rc = lw_job_choose_channels(given, input, input->n_dims == 1 ? -1 : 1 - view->axis, &view->channels, err)))
        return rc;
    job->op.layout = input->n_dims == 2 && view->axis == 0 ? LW_TIME_SLOW : LW_TIME_FAST;
    job->op.n_channels = lw_range_length(&view->channels);
    job->window_start = view->start;
    job->window_count = view->count;
    return LW_OK;
}

static int fail_outputs(const struct lw_job *job, int64_t n_taps, int64_t n, struct lw_error *err)
{
    const char *const delays = lw_op_sums(&job->op) ? " with their delays" : "";
    if (n_taps > n)
        return lw_fail(err, LW_ECONFIG, "--mode valid: the filters%s have %" PRId64 " taps and the signal only %" PRId64 " %ss, so "
                       "no output is valid; use --mode same or full", delays, n_taps, n, job->ops->sample);
    return lw_fail(err, LW_ECONFIG, "no output has its time in %ss %" PRId64 "..%" PRId64 ": there, the filters' %" PRId64 " taps"
                   "%s need %ss beyond the ends of the data; use --mode same or full", job->ops->sample, job->window_start,
                   job->window_start + job->window_count - 1, n_taps, delays, job->ops->sample);
}

int64_t lw_job_data_length(const struct lw_options *given, const struct lw_job *job)
{
    const struct lw_dataset_info *const input = &job->inputs[0];
    return lw_options_flag(given, "isolated") ? job->window_count : input->before + input->dims[job->view.axis] + input->after;
}

int lw_job_choose_outputs(const struct lw_options *given, enum lw_mode mode, int64_t n_taps, int64_t look_ahead, struct lw_job *job,
                          struct lw_error *err)
{
    const bool is_isolated = lw_options_flag(given, "isolated");
    const struct lw_search *const search = lw_op_search(&job->op);
    const struct lw_shifts *const sums = lw_op_sums(&job->op);
    const int64_t reference = job->reference_tap + (sums ? sums->after : 0);
    const int64_t n = lw_job_data_length(given, job);
    const int64_t origin = is_isolated ? job->window_start : -job->inputs[0].before, begin = job->window_start - origin;
    const struct lw_convolution whole = {
        .n_samples = n, .n_outputs = lw_mode_length(mode, n, n_taps), .n_taps = n_taps, .look_ahead = look_ahead,
        .reference = reference, .boundary = job->boundary, .margin = search->products == LW_PEAKS ? search->cluster : 0,
    };
    if (whole.n_outputs < 1)
        return fail_outputs(job, n_taps, n, err);
    const struct lw_excerpt excerpt = lw_convolution_excerpt(&whole, begin, begin + job->window_count);
    if (excerpt.n_outputs < 1)
        return fail_outputs(job, n_taps, n, err);
    job->view.start = origin + excerpt.begin;
    job->view.count = job->n_samples = excerpt.end - excerpt.begin;
    job->n_outputs = job->op.n_outputs = excerpt.n_outputs;
    job->search.lead = excerpt.lead;
    job->search.n_wanted = excerpt.n_wanted;
    job->first_input = origin + excerpt.first + excerpt.lead + look_ahead - reference;
    job->look_ahead = excerpt.look_ahead;
    return LW_OK;
}

void lw_job_warn_if_long(const struct lw_job *job, const char *what, int64_t n_taps, int64_t n_samples)
{
    if (n_taps > n_samples)
        lw_log_warn("%s %" PRId64 " long, and only %" PRId64 " %ss are read: every output depends on samples beyond the ends, "
                    "which --boundary %s makes", what, n_taps, n_samples, job->ops->sample, lw_boundary_text(job->boundary));
}

int lw_job_choose_output_type(const struct lw_options *given, bool is_complex, struct lw_op_spec *op, struct lw_error *err)
{
    op->precision = (enum lw_precision)lw_options_choice(given, "precision");
    op->nan = (enum lw_nan)lw_options_choice(given, "nan");
    op->output = (struct lw_type){.scalar = lw_computed_scalar(op->precision), .is_complex = is_complex};
    const char *const wanted = lw_options_text(given, "output-type");
    char type[40];
    if (wanted && strcmp(wanted, "input") == 0)
        op->output.scalar = op->input.scalar;
    else if (wanted && !lw_scalar_parse(wanted, &op->output.scalar))
        return lw_fail(err, LW_EUSAGE, "--output-type %s is not float16, float32, float64, input or an integer type", wanted);
    if (op->output.is_complex && lw_scalar_is_integer(op->output.scalar))
        return lw_fail(err, LW_ECONFIG, "--output-type %s: the result is complex, so choose float16, float32 or float64", wanted);
    if (!lw_options_given(given, "output-scale"))
        return LW_OK;
    op->output_scale = lw_options_real(given, "output-scale");
    if (!lw_scalar_saturates(op->output.scalar))
        return lw_fail(err, LW_EUSAGE, "the scale of --output-type is for results of integers or float16, not for %s: give "
                       "--output-type int8, int16 or float16, or leave the scale out", lw_type_text(op->output, type));
    return LW_OK;
}

void lw_job_note_scale(struct lw_job *job)
{
    if (job->op.output_scale <= 0)
        return;
    lw_job_note_real(job, "scale_factor", job->op.output_scale);
    lw_job_note_real(job, "add_offset", 0);
}

void lw_job_release_taps(struct lw_job *job)
{
    lw_whole_release(&job->bank);
    lw_free(job->taps);
    lw_free(job->noise);
    lw_job_release_mesh(job);
    job->taps = job->noise = NULL;
}
