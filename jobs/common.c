#include "jobs/common.h"

#include "base/memory.h"

#include <inttypes.h>
#include <string.h>

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
        return lw_fail(err, LW_EDATA, "--axis %d, but the metadata of %s says that dimension %d is time: correct the one "
                       "or the other", wanted, lw_dataset_name(input).text, known);

    if (input->n_dims == 1)
        *axis = 0;
    else if (asked)
        *axis = wanted;
    else if (known >= 0)
        *axis = known;
    else if (input->dims[0] == 1 || input->dims[1] == 1)
        *axis = input->dims[1] == 1 ? 0 : 1;
    else
        return lw_fail(err, LW_EUSAGE, "%s is [%" PRId64 " x %" PRId64 "]: say with --axis 0 or --axis 1 which of the two "
                       "is time", lw_dataset_name(input).text, input->dims[0], input->dims[1]);
    return LW_OK;
}

static int choose_output_scale(const struct lw_options *given, struct lw_op_spec *op, struct lw_error *err)
{
    if (!lw_options_given(given, "output-scale"))
        return LW_OK;
    char type[40];
    op->output_scale = lw_options_real(given, "output-scale");
    if (!lw_scalar_saturates(op->output.scalar))
        return lw_fail(err, LW_EUSAGE, "--output-scale is for results of integers or float16, not for %s: give --output-type int8, "
                       "int16 or float16, or leave the scale out", lw_type_text(op->output, type));
    return LW_OK;
}

int lw_job_choose_output_type(const struct lw_options *given, bool is_complex, struct lw_op_spec *op, struct lw_error *err)
{
    op->precision = (enum lw_precision)lw_options_choice(given, "precision");
    op->nan = (enum lw_nan)lw_options_choice(given, "nan");
    op->output = (struct lw_type){
        .scalar = op->precision == LW_SINGLE ? LW_FLOAT32 : LW_FLOAT64,
        .is_complex = is_complex,
    };
    const char *const wanted = lw_options_text(given, "output-type");
    if (wanted && strcmp(wanted, "input") == 0)
        op->output.scalar = op->input.scalar;
    else if (wanted && !lw_scalar_parse(wanted, &op->output.scalar))
        return lw_fail(err, LW_EUSAGE, "--output-type %s is not float16, float32, float64, input or an integer type", wanted);
    if (op->output.is_complex && lw_scalar_is_integer(op->output.scalar))
        return lw_fail(err, LW_ECONFIG, "--output-type %s: the result is complex, so float16, float32 or float64", wanted);
    return choose_output_scale(given, op, err);
}

void lw_job_note_scale(struct lw_job *job)
{
    if (job->op.output_scale <= 0)
        return;
    lw_job_note_real(job, "scale_factor", job->op.output_scale);
    lw_job_note_real(job, "add_offset", 0);
}

void lw_job_reverse_taps(double *taps, int64_t n, int parts)
{
    for (int64_t a = 0, b = n - 1; a < b; a++, b--) {
        for (int p = 0; p < parts; p++) {
            const double swap = taps[a * parts + p];
            taps[a * parts + p] = taps[b * parts + p];
            taps[b * parts + p] = swap;
        }
    }
    for (int64_t m = 0; parts == 2 && m < n; m++)
        taps[m * 2 + 1] = -taps[m * 2 + 1];
}

void lw_job_release_taps(struct lw_job *job)
{
    lw_free(job->taps);
    lw_free(job->noise);
    job->taps = job->noise = NULL;
}
