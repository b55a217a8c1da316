#include "run/result.h"

#include "base/log.h"

#include <inttypes.h>

/* ---- attributes that only the end knows: placeholders at first ---- */

#define LATE_ATTRIBUTES (LW_PROVENANCE_END + 3)

static struct lw_attribute late(const char *name, int64_t value)
{
    return (struct lw_attribute){.name = name, .kind = LW_ATTRIBUTE_INT, .integer = value, .is_late = true};
}

/* @return  how many there are */
static int list_flaws(const struct lw_result *result, const struct lw_flaws *flaws, struct lw_attribute *attributes)
{
    int count = 0;
    if (result->has_range)
        attributes[count++] = late("powers_out_of_range", flaws->n_out_of_range > 0);
    if (result->saturates)
        attributes[count++] = late("samples_saturated", flaws->loss.n_saturated);
    if (result->has_no_nan)
        attributes[count++] = late("samples_nan_stored_as_zero", flaws->loss.n_nan);
    return count;
}

static void warn_of_loss(const struct lw_loss *loss, struct lw_type type)
{
    char text[40];
    lw_type_text(type, text);
    if (loss->n_saturated > 0)
        lw_log_warn("%" PRId64 " of the result's samples are beyond the range of %s and were stored as the nearest number it has: "
                    "store them with --output-type float32, or give a larger --output-scale", loss->n_saturated, text);
    if (loss->n_nan > 0)
        lw_log_warn("%" PRId64 " of the result's samples are not numbers, which %s cannot hold, and were stored as 0: store them "
                    "with --output-type float32", loss->n_nan, text);
}

void lw_result_warn(const struct lw_result *result, const struct lw_flaws *flaws)
{
    if (lw_comm_rank(result->setup->comm) != 0)
        return;
    if (flaws->n_not_finite > 0)
        lw_log_warn("%" PRId64 " sample%s not finite", flaws->n_not_finite, flaws->n_not_finite == 1 ? " was" : "s were");
    if (flaws->n_out_of_range > 0)
        lw_log_warn("some powers are too small or too large for the result's type and have lost digits or are 0 or infinite: "
                    "store them with --output-type float64, or take --post amplitude");
    warn_of_loss(&flaws->loss, (struct lw_type){.scalar = result->setup->job.op.output.scalar});
}

/* ---- the file ---- */

int lw_result_begin(struct lw_setup *setup, const char *command_line, struct lw_result *result, struct lw_error *err)
{
    const struct lw_product *const first = &setup->job.products[0];
    const bool is_table = first->dataset.n_columns > 0;
    *result = (struct lw_result){
        .setup = setup, .has_range = setup->job.can_leave_range,
        .saturates = !is_table && lw_scalar_saturates(first->dataset.type.scalar),
        .has_no_nan = !is_table && lw_scalar_is_integer(first->dataset.type.scalar),
    };
    const int rc = lw_setup_check_output(setup, err);
    return rc ? rc : lw_comm_agree(setup->comm, lw_provenance_collect(setup, command_line, &result->provenance, err), err);
}

int lw_result_create(struct lw_result *result, const char *file, struct lw_error *err)
{
    static const struct lw_flaws none;
    struct lw_setup *const setup = result->setup;
    struct lw_provenance *const provenance = &result->provenance;
    struct lw_job *const job = &setup->job;
    struct lw_writer_dataset datasets[LW_JOB_PRODUCTS];
    const int n_datasets = job->n_products + (job->has_noise ? 1 : 0);
    provenance->n_attributes += list_flaws(result, &none, provenance->attributes + provenance->n_attributes);
    for (int p = 0; p < n_datasets; p++) {
        datasets[p] = job->products[p].dataset;
        datasets[p].attributes = job->products[p].attributes;
        datasets[p].n_attributes = job->products[p].n_attributes;
    }
    const struct lw_writer_spec spec = {
        .file = file ? file : lw_options_text(setup->options, "output"), .overwrite = lw_options_flag(setup->options, "overwrite"),
        .attributes = provenance->attributes, .n_attributes = provenance->n_attributes,
        .datasets = datasets, .n_datasets = n_datasets,
        .io = (enum lw_io)lw_options_choice(setup->options, "io"), .pool = setup->pool,
    };
    return lw_writer_create(setup->comm, &spec, &result->writer, err);
}

static void sum_flaws(struct lw_comm *comm, struct lw_flaws *flaws)
{
    flaws->n_not_finite = lw_comm_sum(comm, flaws->n_not_finite);
    flaws->n_out_of_range = lw_comm_sum(comm, flaws->n_out_of_range);
    flaws->loss.n_saturated = lw_comm_sum(comm, flaws->loss.n_saturated);
    flaws->loss.n_nan = lw_comm_sum(comm, flaws->loss.n_nan);
}

int lw_result_finish(struct lw_result *result, struct lw_flaws *flaws, struct lw_error *err)
{
    struct lw_attribute attributes[LATE_ATTRIBUTES];
    char now[32];
    const int rc = lw_setup_check_inputs(result->setup, err);
    if (rc)
        return rc;
    sum_flaws(result->setup->comm, flaws);
    lw_provenance_end(flaws->n_not_finite, now, attributes);
    const int count = LW_PROVENANCE_END + list_flaws(result, flaws, attributes + LW_PROVENANCE_END);
    return lw_writer_finish(result->writer, attributes, count, err);
}

void lw_result_close(struct lw_result *result)
{
    lw_writer_destroy(result->writer);
    lw_provenance_release(&result->provenance);
}
