#include "jobs/ols_array.h"

#include "base/memory.h"
#include "base/text.h"
#include "job/coordinates.h"
#include "job/selection.h"
#include "jobs/ols_filters.h"

#include <inttypes.h>
#include <stdio.h>

enum { MOST_SUMS = 1 << 20 };

static const char *const normalize_texts[] = {
    [LW_NORMALIZE_NONE] = "none", [LW_NORMALIZE_ENERGY] = "energy", [LW_NORMALIZE_DEMEANED] = "demeaned",
};

int lw_ols_check_array(const struct lw_options *given, struct lw_error *err)
{
    const bool stacks = lw_options_given(given, "stack"), beams = lw_options_given(given, "beams");
    const bool normalizes = lw_options_given(given, "normalize");
    static const char *const of_stacks[] = {"delays", "weights"};
    if (stacks && beams)
        return lw_fail(err, LW_EUSAGE, "--stack and --beams exclude each other: channels are summed behind the filters or before");
    for (size_t i = 0; i < sizeof of_stacks / sizeof *of_stacks; i++)
        if (lw_options_given(given, of_stacks[i]) && !stacks)
            return lw_fail(err, LW_EUSAGE, "--%s goes with --stack: add --stack sum or mean%s", of_stacks[i],
                           beams ? ", or give --beam-weights for --beams" : "");
    if (lw_options_given(given, "beam-weights") && !beams)
        return lw_fail(err, LW_EUSAGE, "--beam-weights goes with --beams; a stack has --weights");
    if (lw_options_choice(given, "delay-unit") > 0 && !beams && !lw_options_given(given, "delays"))
        return lw_fail(err, LW_EUSAGE, "--delay-unit s goes with --delays or --beams only");
    if ((stacks || beams || normalizes) && lw_options_given(given, "whiten"))
        return lw_fail(err, LW_EUSAGE, "--whiten is for a single channel: leave out --%s", stacks ? "stack" : beams ? "beams"
                                                                                                          : "normalize");
    if (normalizes && lw_options_given(given, "noise") && strcmp(lw_options_text(given, "noise"), "energy") == 0)
        return lw_fail(err, LW_EUSAGE, "--noise energy is for white noise behind filters, not for --normalize: give --noise given, "
                       "measured or rms");
    return LW_OK;
}

/* ---- channels ---------------------------------------------------------------------------------------------------------- */

int64_t lw_ols_all_channels(const struct lw_job *job)
{
    const struct lw_dataset_info *const input = &job->inputs[0];
    return input->n_dims > 1 ? input->dims[1 - job->view.axis] : 1;
}

/* ---- delays and weights -------------------------------------------------------------------------------------------------- */

/* Read a table [n x channel], or [channel] for all rows, and keep the chosen channels.
 * @param n       rows; 0: set to those that there are
 * @param values  set to [n x chosen channels], owned by the caller, after errors too */
static int read_table(const struct lw_options *given, struct lw_comm *comm, const char *option, struct lw_job *job, int64_t *n,
                      double **values, struct lw_error *err)
{
    struct lw_dataset_info *const info = &job->inputs[job->n_inputs];
    LW_FREED double *all = NULL;
    *values = NULL;
    int rc = lw_reader_read_numbers(comm, lw_options_text(given, option), 2, info, &all, err);
    if (rc)
        return rc;
    job->input_names[job->n_inputs++] = option;
    if (*n == 0)
        *n = info->n_dims == 2 ? info->dims[0] : 1;
    if (*n > MOST_SUMS)
        rc = lw_fail(err, LW_EDATA, "--%s %.600s has %" PRId64 " rows, at most %d are possible", option,
                     lw_dataset_name(info).text, *n, MOST_SUMS);
    else
        rc = lw_job_channel_values(option, info, all, *n, lw_ols_all_channels(job), &job->view.channels, values, err);
    return lw_comm_agree(comm, rc, err);
}

/* Store the weights of a sum over channels, divided by their own sum for a mean. @param weights  NULL: 1 */
static int keep_weights(const char *option, const double *weights, bool is_mean, struct lw_job_array *array, struct lw_error *err)
{
    const int64_t n = array->shifts.n, n_inputs = array->shifts.n_inputs;
    if (!weights && !is_mean)
        return LW_OK;
    if (!(array->weights = lw_alloc_array(n * n_inputs, sizeof *array->weights, "weights", err)))
        return LW_ESYSTEM;
    for (int64_t row = 0; row < n; row++) {
        double sum = 0;
        bool has_any = false;
        for (int64_t c = 0; c < n_inputs; c++) {
            const double weight = weights ? weights[row * n_inputs + c] : 1;
            if (!(fabs(weight) <= (double)0x1.fffffep127f))
                return lw_fail(err, LW_EDATA, "--%s: the weight of row %" PRId64 ", channel %" PRId64 ", is %g: weights must be "
                               "finite in single precision", option, row, c, weight);
            sum += weight;
            has_any = has_any || (float)weight != 0;
        }
        if (!has_any || (is_mean && sum == 0))
            return lw_fail(err, LW_EDATA, "--%s: the weights of row %" PRId64 " %s", option, row,
                           has_any ? "add up to 0, which has no mean: give --stack sum" : "are all 0: leave the row out");
        for (int64_t c = 0; c < n_inputs; c++)
            array->weights[row * n_inputs + c] = (float)((weights ? weights[row * n_inputs + c] : 1) / (is_mean ? sum : 1));
    }
    return LW_OK;
}

/* Read the coordinate of the beams: the scale of the first dimension of their delays, in the same group. */
static int read_trials(struct lw_comm *comm, const struct lw_dataset_info *delays, struct lw_job_array *array, struct lw_error *err)
{
    const char *const name = delays->coordinates[0].name;
    snprintf(array->trial, sizeof array->trial, "beam");
    if (delays->n_dims < 2 || !name[0])
        return LW_OK;
    const int rc = lw_coordinates_read(comm, delays, 0, &array->trials, array->unit, err);
    if (rc == LW_OK && array->trials)
        snprintf(array->trial, sizeof array->trial, "%s", name);
    return rc;
}

static int make_array(const struct lw_options *given, struct lw_comm *comm, bool has_beams, struct lw_job *job,
                      struct lw_error *err)
{
    struct lw_job_array *const array = job->array = lw_alloc(sizeof *array, "delays", err);
    LW_FREED double *delays = NULL, *weights = NULL;
    int rc = lw_comm_agree(comm, array ? LW_OK : LW_ESYSTEM, err);
    if (rc)
        return rc;
    const char *const delaying = has_beams ? "beams" : "delays", *const weighting = has_beams ? "beam-weights" : "weights";
    *array = (struct lw_job_array){.shifts = {.n = has_beams ? 0 : job->op.ols.n_filters, .n_inputs = job->op.n_channels}};
    struct lw_shifts *const shifts = &array->shifts;
    const int place = job->n_inputs;
    if (lw_options_given(given, delaying))
        rc = read_table(given, comm, delaying, job, &shifts->n, &delays, err);
    if (rc == LW_OK && delays && lw_options_choice(given, "delay-unit") == 0)
        rc = lw_ols_check_rate(given, job, &job->inputs[place], "delays", err);
    if (rc == LW_OK && lw_options_given(given, weighting))
        rc = read_table(given, comm, weighting, job, &shifts->n, &weights, err);
    if (rc == LW_OK && !(array->delays = lw_alloc_array(shifts->n * shifts->n_inputs, sizeof *array->delays, "delays", err)))
        rc = LW_ESYSTEM;
    if (rc == LW_OK)
        rc = lw_job_round_delays(given, delaying, &job->inputs[0], delays, shifts->n, shifts->n_inputs, array->delays, err);
    if (rc == LW_OK)
        rc = keep_weights(weighting, weights, lw_options_choice(given, "stack") == 1, array, err);
    if ((rc = lw_comm_agree(comm, rc, err)))
        return rc;
    shifts->delays = array->delays;
    shifts->weights = array->weights;
    lw_shifts_span(shifts);
    *(has_beams ? &job->op.ols.beams : &job->op.ols.stacks) = shifts;
    job->op.n_channels = has_beams ? shifts->n : 1;
    return has_beams ? read_trials(comm, &job->inputs[place], array, err) : LW_OK;
}

int lw_ols_choose_array(const struct lw_options *given, struct lw_comm *comm, struct lw_job *job, struct lw_error *err)
{
    struct lw_ols_spec *const ols = &job->op.ols;
    const bool stacks = lw_options_given(given, "stack"), beams = lw_options_given(given, "beams");
    ols->normalize = lw_options_given(given, "normalize") ? (enum lw_normalize)(1 + lw_options_choice(given, "normalize"))
                                                          : LW_NORMALIZE_NONE;
    if (ols->normalize != LW_NORMALIZE_NONE && (job->op.input.is_complex || ols->taps_complex))
        return lw_fail(err, LW_ECONFIG, "--normalize is for real samples and real filters: the %s complex",
                       job->op.input.is_complex ? "samples are" : "filters are");
    if (beams && ols->own_taps)
        return lw_fail(err, LW_ECONFIG, "--beams sums the channels before the filters, which then cannot differ between them: give "
                       "--filters [filter x tap], or --stack");
    return stacks || beams ? make_array(given, comm, beams, job, err) : LW_OK;
}

/* ---- in words ------------------------------------------------------------------------------------------------------------ */

void lw_ols_describe_array(const struct lw_options *given, const struct lw_job *job, struct lw_product *product)
{
    const struct lw_ols_spec *const ols = &job->op.ols;
    const struct lw_shifts *const sums = lw_op_sums(&job->op);
    if (ols->normalize != LW_NORMALIZE_NONE)
        lw_product_note_text(product, "normalize", normalize_texts[ols->normalize]);
    if (!sums)
        return;
    if (ols->stacks)
        lw_product_note_text(product, "stack", lw_options_text(given, "stack"));
    else
        lw_product_note_int(product, "beams", sums->n);
    if (job->array->unit[0])
        lw_product_note_text(product, "trial_unit", job->array->unit);
    lw_product_note_int(product, "summed_channels", sums->n_inputs);
    lw_product_note_int(product, "first_summed_channel", job->view.channels.begin);
    lw_product_note_int(product, "summed_channel_step", job->view.channels.step);
    lw_product_note_int(product, "least_delay_samples", -sums->before);
    lw_product_note_int(product, "greatest_delay_samples", sums->after);
}

void lw_ols_summarize_array(const struct lw_options *given, const struct lw_job *job, char *text, size_t size)
{
    const struct lw_ols_spec *const ols = &job->op.ols;
    const struct lw_shifts *const sums = lw_op_sums(&job->op);
    if (ols->normalize != LW_NORMALIZE_NONE)
        lw_append(text, size, ", normalized (%s)", normalize_texts[ols->normalize]);
    if (sums && ols->stacks)
        lw_append(text, size, ", %" PRId64 " channels stacked (%s)", sums->n_inputs, lw_options_text(given, "stack"));
    else if (sums)
        lw_append(text, size, ", %" PRId64 " beams of %" PRId64 " channels", sums->n, sums->n_inputs);
    if (sums)
        lw_append(text, size, ", delays %" PRId64 "..%" PRId64, -sums->before, sums->after);
}

void lw_ols_release_array(struct lw_job *job)
{
    if (job->array) {
        lw_free(job->array->delays);
        lw_free(job->array->weights);
        lw_free(job->array->trials);
    }
    lw_free(job->array);
    job->array = NULL;
}
