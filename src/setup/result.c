#include "setup/result.h"

#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "io/dataset.h"
#include "io/notes/notes.h"
#include "io/shield.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
                    "store them with --output-type float32, or give a larger scale with it", loss->n_saturated, text);
    if (loss->n_nan > 0)
        lw_log_warn("%" PRId64 " of the result's samples are not numbers, which %s cannot hold, and were stored as 0: store them "
                    "with --output-type float32", loss->n_nan, text);
}

/* "sample 500 (2015-09-14T09:50:45.39 UTC)"; in seconds from the start of the axis where nobody knows when that was. */
static const char *place_text(const struct lw_job *job, int64_t index, char text[160])
{
    const struct lw_axis_metadata *const axis = &job->inputs[0].axis;
    char time[LW_INSTANT_TEXT];
    const bool has_time = lw_sampling_time_text(axis, index, time)[0] != '\0', has_rate = axis->sample_rate_hz > 0;
    const int used = snprintf(text, 160, "%s %" PRId64, job->ops->sample, index);
    if (has_time)
        snprintf(text + used, 160 - (size_t)used, " (%s UTC)", time);
    else if (has_rate)
        snprintf(text + used, 160 - (size_t)used, " (%.9g s)", (double)index / axis->sample_rate_hz);
    return text;
}

static void warn_of_not_finite(const struct lw_job *job, const struct lw_flaws *flaws)
{
    char where[400] = "", first[160], last[160];
    if (flaws->end > 0 && flaws->first + 1 == flaws->end)
        snprintf(where, sizeof where, ": %s", place_text(job, flaws->first, first));
    else if (flaws->end > 0)
        snprintf(where, sizeof where, ": the first is %s, the last %s%s", place_text(job, flaws->first, first),
                 flaws->is_rough ? "comes before " : "", place_text(job, flaws->end - (flaws->is_rough ? 0 : 1), last));
    lw_log_warn("%" PRId64 " sample%s not finite%s", flaws->n_not_finite, flaws->n_not_finite == 1 ? " was" : "s were", where);
}

void lw_result_warn(const struct lw_result *result, const struct lw_flaws *flaws)
{
    if (lw_comm_rank(result->setup->comm) != 0)
        return;
    if (flaws->n_not_finite > 0)
        warn_of_not_finite(&result->setup->job, flaws);
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

/* All of it, for a FITS image. */
static int carry_all(struct lw_result *result, struct lw_writer_dataset *first, struct lw_error *err)
{
    const int n = result->said->n;
    if (first->n_columns > 0)
        return LW_OK;
    if (!(result->carried = lw_alloc_array(lw_max64(1, n), sizeof *result->carried, "the input's attributes", err)))
        return LW_ESYSTEM;
    for (int a = 0; a < n; a++)
        result->carried[a] = lw_said_get(result->said, a);
    first->carried = result->carried;
    first->n_carried = n;
    return LW_OK;
}

/* What is known of distributed acoustic sensing, in DASCore's names. @return  how many attributes there are then */
enum { MOST_DAS = 3 };

static int add_das(const struct lw_dataset_info *input, struct lw_attribute *attributes, int n)
{
    if (input->is_das)
        attributes[n++] = (struct lw_attribute){.name = "data_category", .kind = LW_ATTRIBUTE_TEXT, .text = "DAS"};
    if (input->gauge_length_m > 0) {
        attributes[n++] = (struct lw_attribute){.name = "gauge_length", .kind = LW_ATTRIBUTE_REAL, .real = input->gauge_length_m};
        attributes[n++] = (struct lw_attribute){.name = "gauge_length_units", .kind = LW_ATTRIBUTE_TEXT, .text = "m"};
    }
    return n;
}

/* By rank 0, which writes it: what the input says of itself. @param attributes  those of the first product, then those that it
 * keeps of the input's */
static int carry_over(struct lw_result *result, struct lw_attribute *attributes, struct lw_writer_dataset *first,
                      struct lw_error *err)
{
    if (lw_comm_rank(result->setup->comm) != 0)
        return LW_OK;
    if (!(result->said = lw_alloc(sizeof *result->said, "the input's attributes", err)))
        return LW_ESYSTEM;
    const int rc = lw_notes_collect(&result->setup->job.inputs[0], result->said, err);
    if (rc)
        return rc;
    if (lw_setup_result_format(result->setup) == LW_RESULT_FITS)
        return carry_all(result, first, err);
    memcpy(attributes, first->attributes, (size_t)first->n_attributes * sizeof *attributes);
    first->n_attributes = add_das(&result->setup->job.inputs[0], attributes, first->n_attributes);
    first->n_attributes = lw_kept_add(result->said, attributes, first->n_attributes);
    first->attributes = attributes;
    return LW_OK;
}

/* Creates the file, or opens it. */
typedef int open_fn(struct lw_comm *comm, const struct lw_writer_spec *spec, struct lw_writer **out, struct lw_error *err);

/* @param file  NULL: --output, which a later run may go on with */
static int open_file(struct lw_result *result, open_fn *open, const char *file, struct lw_error *err)
{
    static const struct lw_flaws none;
    struct lw_setup *const setup = result->setup;
    struct lw_provenance *const provenance = &result->provenance;
    struct lw_job *const job = &setup->job;
    struct lw_writer_dataset datasets[LW_JOB_PRODUCTS + LW_OP_PRODUCTS];
    struct lw_attribute attributes[LW_PRODUCT_ATTRIBUTES + MOST_DAS + LW_KEPT_MOST];
    const int n_products = job->n_products + job->n_given, n_datasets = n_products + job->n_sums;
    provenance->n_attributes += list_flaws(result, &none, provenance->attributes + provenance->n_attributes);
    for (int p = 0; p < n_datasets; p++) {
        const struct lw_product *const product = p < n_products ? &job->products[p] : &job->sums[p - n_products].product;
        datasets[p] = product->dataset;
        datasets[p].attributes = product->attributes;
        datasets[p].n_attributes = product->n_attributes;
    }
    const int rc = lw_comm_agree(setup->comm, carry_over(result, attributes, &datasets[0], err), err);
    if (rc)
        return rc;
    lw_shield_rest();       /* that was the run's last look at a file */
    const struct lw_writer_spec spec = {
        .file = file ? file : lw_options_text(setup->options, "output"), .format = lw_setup_result_format(setup),
        .overwrite = lw_options_flag(setup->options, "overwrite"),
        .attributes = provenance->attributes, .n_attributes = provenance->n_attributes,
        .datasets = datasets, .n_datasets = n_datasets, .can_resume = !file, .has_journal = result->has_journal,
        .io = (enum lw_io)lw_options_choice(setup->options, "io"), .pool = setup->pool,
    };
    return open(setup->comm, &spec, &result->writer, err);
}

int lw_result_create(struct lw_result *result, const char *file, struct lw_error *err)
{
    return open_file(result, lw_writer_create, file, err);
}

int lw_result_open(struct lw_result *result, struct lw_error *err)
{
    return open_file(result, lw_writer_open, NULL, err);
}

int lw_result_finish(struct lw_result *result, struct lw_flaws *flaws, struct lw_error *err)
{
    struct lw_attribute attributes[LATE_ATTRIBUTES];
    char now[32];
    const int rc = lw_setup_check_inputs(result->setup, err);
    if (rc)
        return rc;
    lw_flaws_sum(result->setup->comm, flaws);
    lw_provenance_end(flaws->n_not_finite, result->n_runs + 1, lw_writer_way(result->writer), now, attributes);
    const int count = LW_PROVENANCE_END + list_flaws(result, flaws, attributes + LW_PROVENANCE_END);
    return lw_writer_finish(result->writer, attributes, count, err);
}

int lw_result_hold(struct lw_result *result, bool has_journal, struct lw_error *err)
{
    const struct lw_setup *const setup = result->setup;
    const struct lw_writer_spec spec = {
        .file = lw_options_text(setup->options, "output"), .overwrite = lw_options_flag(setup->options, "overwrite"),
        .attributes = result->provenance.attributes, .n_attributes = result->provenance.n_attributes, .has_journal = has_journal,
        .io = (enum lw_io)lw_options_choice(setup->options, "io"), .pool = setup->pool,
    };
    return lw_writer_create(setup->comm, &spec, &result->holder, err);
}

void lw_result_release(struct lw_result *result, bool has_journal)
{
    lw_writer_destroy(result->holder);
    result->holder = NULL;
    result->has_journal = has_journal;
}

void lw_result_close(struct lw_result *result)
{
    lw_writer_destroy(result->holder);
    lw_writer_destroy(result->writer);
    lw_free(result->carried);
    lw_free(result->said);
    lw_provenance_release(&result->provenance);
}
