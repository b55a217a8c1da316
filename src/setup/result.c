#include "setup/result.h"

#include "base/instant.h"
#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "io/hdf5/result/release.h"
#include "io/notes/notes.h"
#include "io/shield.h"
#include "version.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { TEXTS_BYTES = 1 << 16, MOST_LATE = 8, MOST_DAS = 3 };

/* ---- provenance: the attributes of the root group --------------------------------------------------------------------- */

/* Attributes collected so far, and the free part of their text storage. */
struct collector {
    struct lw_result *result;
    char *free;
    size_t room;
};

static struct lw_attribute text_of(const char *name, const char *text)
{
    return (struct lw_attribute){.name = name, .kind = LW_ATTRIBUTE_TEXT, .text = text};
}

static struct lw_attribute int_of(const char *name, int64_t value)
{
    return (struct lw_attribute){.name = name, .kind = LW_ATTRIBUTE_INT, .integer = value};
}

static void add(struct collector *c, struct lw_attribute attribute)
{
    assert(c->result->n_attributes < LW_RESULT_ATTRIBUTES);
    c->result->attributes[c->result->n_attributes++] = attribute;
}

/* Keep the text that was just printed at c->free. @param length  its length before any cut @return  the text */
static const char *keep(struct collector *c, int length)
{
    const char *const text = c->free;
    const size_t used = (size_t)length + 1 < c->room ? (size_t)length + 1 : c->room - 1;
    c->free += used;
    c->room -= used;
    return text;
}

__attribute__((format(printf, 3, 4)))
static void add_format(struct collector *c, const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(c->free, c->room, format, arguments);
    va_end(arguments);
    add(c, text_of(name, keep(c, length)));
}

/* Join two parts to a name, which is stored with the texts. */
static const char *join(struct collector *c, const char *first, const char *second)
{
    return keep(c, snprintf(c->free, c->room, "%s%s", first, second));
}

static void add_machine(struct collector *c, const struct lw_setup *setup)
{
    const struct lw_comm *const comm = setup->comm;
    add(c, text_of("mpi", lw_comm_library(comm)));
    add(c, text_of("hdf5", lw_hdf5_text()));
    add(c, int_of("ranks", lw_comm_size(comm)));
    add(c, text_of("host", lw_comm_host(comm)));
    add(c, text_of("engine", setup->engine->ops->name));
    add(c, text_of("engine_runs_on", setup->engine_text));
    add(c, text_of("algorithm", setup->algorithm));
    static const char *const variables[][2] = {
        {"slurm_job_id", "SLURM_JOB_ID"}, {"slurm_job_name", "SLURM_JOB_NAME"}, {"slurm_nodes", "SLURM_JOB_NODELIST"},
        {"slurm_array_task_id", "SLURM_ARRAY_TASK_ID"},
    };
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *const value = getenv(variables[i][1]);
        if (value)
            add_format(c, variables[i][0], "%.200s", value);
    }
}

/* List the attributes whose values are known only at the end; until then they hold placeholders. @return  their number */
static int list_late(const struct lw_result *result, const char *end_time, int64_t n_runs, const char *written,
                     const struct lw_flaws *flaws, struct lw_attribute attributes[MOST_LATE])
{
    int n = 0;
    attributes[n++] = text_of("end_time_utc", end_time);
    attributes[n++] = int_of("runs", n_runs);
    attributes[n++] = int_of("samples_not_finite", flaws->n_not_finite);
    attributes[n++] = text_of("written", written);
    if (result->has_range)
        attributes[n++] = int_of("powers_out_of_range", flaws->n_out_of_range > 0);
    if (result->saturates)
        attributes[n++] = int_of("samples_saturated", flaws->loss.n_saturated);
    if (result->has_no_nan)
        attributes[n++] = int_of("samples_nan_stored_as_zero", flaws->loss.n_nan);
    if (result->is_normalized)
        attributes[n++] = int_of("windows_quiet", flaws->n_quiet);
    for (int a = 0; a < n; a++)
        attributes[a].is_late = true;
    return n;
}

/* Collect the provenance: program, command, configuration, inputs, libraries, ranks, engine, Slurm ids and start time. */
static int collect_provenance(struct lw_result *result, const char *command_line, struct lw_error *err)
{
    static const struct lw_flaws none;
    const struct lw_setup *const setup = result->setup;
    char start[LW_INSTANT_TEXT];
    if (!(result->texts = lw_alloc(TEXTS_BYTES, "the provenance", err)) ||
        !(result->configuration = lw_options_resolved(setup->options, setup->job.defaults, err)))
        return LW_ESYSTEM;
    struct collector c = {result, result->texts, TEXTS_BYTES};
    add(&c, text_of("program", "lapwing"));
    add(&c, text_of("version", LW_VERSION));
    add(&c, text_of("commit", LW_COMMIT));
    add(&c, text_of("command_line", command_line));
    add(&c, text_of("job", setup->job.ops->name));
    add(&c, text_of("configuration", result->configuration));
    for (int i = 0; i < setup->job.n_inputs; i++) {
        const struct lw_dataset_info *const info = &setup->job.inputs[i];
        const char *const name = setup->job.input_names[i];
        char modified[LW_INSTANT_TEXT], packing[LW_PACKING_TEXT];
        add_format(&c, name, "%s", lw_dataset_name(info).text);
        add(&c, int_of(join(&c, name, "_file_bytes"), info->file_bytes));
        add_format(&c, join(&c, name, "_modified_utc"), "%sZ",
                   lw_instant_text((struct lw_instant){.seconds = info->modified_ns / 1000000000}, modified));
        if (info->packing.is_on)
            add_format(&c, join(&c, name, "_packing"), "%s", lw_packing_text(&info->packing, packing));
    }
    add_machine(&c, setup);
    add_format(&c, "start_time_utc", "%s", lw_instant_now(start));
    result->n_attributes += list_late(result, "1970-01-01T00:00:00Z", 1, "unfinished, how is noted at the end", &none,
                                      result->attributes + result->n_attributes);
    return LW_OK;
}

/* ---- warnings of flaws in the data ------------------------------------------------------------------------------------ */

/* Write the place of a sample: "sample 500 (2015-09-14T09:50:45.39 UTC)", or with seconds if the start time is unknown. */
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

void lw_result_warn(const struct lw_result *result, const struct lw_flaws *flaws)
{
    if (lw_comm_rank(result->setup->comm) != 0)
        return;
    if (flaws->n_not_finite > 0) {
        char where[400] = "", first[160], last[160];
        if (flaws->end > 0 && flaws->first + 1 == flaws->end)
            snprintf(where, sizeof where, ": %s", place_text(&result->setup->job, flaws->first, first));
        else if (flaws->end > 0)
            snprintf(where, sizeof where, ": the first is %s, the last %s%s", place_text(&result->setup->job, flaws->first, first),
                     flaws->is_rough ? "comes before " : "",
                     place_text(&result->setup->job, flaws->end - (flaws->is_rough ? 0 : 1), last));
        lw_log_warn("%" PRId64 " sample%s not finite%s", flaws->n_not_finite, flaws->n_not_finite == 1 ? " was" : "s were", where);
    }
    if (flaws->n_out_of_range > 0)
        lw_log_warn("some powers are too small or too large for the result's type: they have lost digits, or are 0 or infinite; "
                    "use --output-type float64, or --post amplitude");
    if (flaws->n_quiet > 0)
        lw_log_warn("%" PRId64 " windows of channels have too little energy to be normalized: their correlation coefficients are 0",
                    flaws->n_quiet);
    char text[40];
    lw_type_text((struct lw_type){.scalar = result->setup->job.op.output.scalar}, text);
    if (flaws->loss.n_saturated > 0)
        lw_log_warn("%" PRId64 " of the outputs are beyond the range of %s and were stored as the type's nearest number: use "
                    "--output-type float32, or a larger scale", flaws->loss.n_saturated, text);
    if (flaws->loss.n_nan > 0)
        lw_log_warn("%" PRId64 " of the outputs are not numbers, which %s cannot hold, and were stored as 0: use --output-type "
                    "float32", flaws->loss.n_nan, text);
}

/* ---- the file --------------------------------------------------------------------------------------------------------- */

int lw_result_begin(struct lw_setup *setup, const char *command_line, struct lw_result *result, struct lw_error *err)
{
    const struct lw_product *const first = &setup->job.products[0];
    const bool is_table = first->dataset.n_columns > 0;
    *result = (struct lw_result){
        .setup = setup, .has_range = setup->job.can_leave_range,
        .saturates = !is_table && lw_scalar_saturates(first->dataset.type.scalar),
        .is_normalized = setup->job.op.kind == LW_OP_OLS && setup->job.op.ols.normalize != LW_NORMALIZE_NONE,
        .has_no_nan = !is_table && lw_scalar_is_integer(first->dataset.type.scalar),
    };
    const int rc = lw_setup_check_output(setup, err);
    return rc ? rc : lw_comm_agree(setup->comm, collect_provenance(result, command_line, err), err);
}

/* Collect the attributes of the input's file. For a table of sources, find its coordinates of the sky, and note their frame.
 * Rank 0 only. */
static int look_at_input(struct lw_result *result, struct lw_error *err)
{
    struct lw_job *const job = &result->setup->job;
    struct lw_error reason;
    if (lw_comm_rank(result->setup->comm) != 0)
        return LW_OK;
    if (!(result->said = lw_alloc(sizeof *result->said, "the input's attributes", err)))
        return LW_ESYSTEM;
    const int rc = lw_notes_collect(&job->inputs[0], result->said, err);
    for (int p = 0; p < job->n_products && rc == LW_OK; p++) {
        if (!lw_op_has_pixels(&job->op) || job->products[p].dataset.n_columns == 0)
            continue;
        if (lw_sky_open(result->said, &result->sky, &reason) || lw_sky_turn(&result->sky, &reason)) {
            lw_log_warn("the table of sources lacks places on the sky: %s", reason.message);
            lw_sky_close(&result->sky);
        }
        if (result->sky.wcs && result->sky.frame[0])
            lw_product_note_text(&job->products[p], "RADESYS", result->sky.frame);
        if (result->sky.wcs && result->sky.equinox > 0)
            lw_product_note_real(&job->products[p], "EQUINOX", result->sky.equinox);
    }
    return rc;
}

/* Copy the input's own attributes to the result: all to each FITS image, else those of lw_kept_add to the first dataset. Rank 0
 * only.
 * @param attributes  room for the product's own attributes, those of distributed acoustic sensing (DASCore's names), and the kept
 * ones */
static int carry_over(struct lw_result *result, struct lw_attribute *attributes, struct lw_writer_dataset *first,
                      int n_datasets, struct lw_error *err)
{
    if (lw_comm_rank(result->setup->comm) != 0)
        return LW_OK;
    if (lw_setup_result_format(result->setup) == LW_RESULT_FITS) {
        const int n = result->said->n;
        if (!(result->carried = lw_alloc_array(lw_max64(1, n), sizeof *result->carried, "the input's attributes", err)))
            return LW_ESYSTEM;
        for (int a = 0; a < n; a++)
            result->carried[a] = lw_said_get(result->said, a);
        for (struct lw_writer_dataset *image = first; image < first + n_datasets; image++)
            if (image->n_dims > 0 && image->map.every[image->n_dims - 1] > 0) {
                image->carried = result->carried;
                image->n_carried = n;
            }
        return LW_OK;
    }
    memcpy(attributes, first->attributes, (size_t)first->n_attributes * sizeof *attributes);
    const struct lw_dataset_info *const input = &result->setup->job.inputs[0];
    if (input->is_das)
        attributes[first->n_attributes++] = text_of("data_category", "DAS");
    if (input->gauge_length_m > 0) {
        attributes[first->n_attributes++] =
            (struct lw_attribute){.name = "gauge_length", .kind = LW_ATTRIBUTE_REAL, .real = input->gauge_length_m};
        attributes[first->n_attributes++] = text_of("gauge_length_units", "m");
    }
    first->n_attributes = lw_kept_add(result->said, attributes, first->n_attributes);
    first->attributes = attributes;
    return LW_OK;
}

/* lw_writer_create or lw_writer_open. */
typedef int open_fn(struct lw_comm *comm, const struct lw_writer_spec *spec, struct lw_writer **out, struct lw_error *err);

/* Create or open the file of the result. @param file  NULL: --output, which a later run may continue */
static int open_file(struct lw_result *result, open_fn *open, const char *file, struct lw_error *err)
{
    struct lw_setup *const setup = result->setup;
    struct lw_job *const job = &setup->job;
    struct lw_writer_dataset datasets[LW_JOB_PRODUCTS + LW_OP_PRODUCTS];
    struct lw_attribute attributes[LW_PRODUCT_ATTRIBUTES + MOST_DAS + LW_KEPT_MOST];
    const int n_products = job->n_products + job->n_given, n_datasets = n_products + job->n_sums;
    int rc = lw_comm_agree(setup->comm, look_at_input(result, err), err);
    if (rc)
        return rc;
    for (int p = 0; p < n_datasets; p++) {
        const struct lw_product *const product = p < n_products ? &job->products[p] : &job->sums[p - n_products].product;
        datasets[p] = product->dataset;
        datasets[p].attributes = product->attributes;
        datasets[p].n_attributes = product->n_attributes;
    }
    rc = lw_comm_agree(setup->comm, carry_over(result, attributes, datasets, n_datasets, err), err);
    if (rc)
        return rc;
    lw_shield_rest();       /* this run examines no file from here on */
    const struct lw_writer_spec spec = {
        .file = file ? file : lw_options_text(setup->options, "output"), .format = lw_setup_result_format(setup),
        .overwrite = lw_options_flag(setup->options, "overwrite"),
        .attributes = result->attributes, .n_attributes = result->n_attributes,
        .datasets = datasets, .n_datasets = n_datasets, .can_resume = !file, .has_journal = result->has_journal,
        .io = (enum lw_io)lw_options_choice(setup->options, "io"), .pool = setup->pool,
    };
    return open(setup->comm, &spec, &result->writer, err);
}

int lw_result_create(struct lw_result *result, const char *file, struct lw_error *err)
{
    return open_file(result, lw_writer_create, file, err);
}

int lw_result_open(struct lw_result *result, struct lw_error *err) { return open_file(result, lw_writer_open, NULL, err); }

int lw_result_finish(struct lw_result *result, struct lw_flaws *flaws, struct lw_error *err)
{
    struct lw_attribute attributes[MOST_LATE];
    char now[LW_INSTANT_TEXT];
    const int rc = lw_setup_check_inputs(result->setup, err);
    if (rc)
        return rc;
    lw_flaws_sum(result->setup->comm, flaws);
    const char *const way = lw_writer_way(result->writer);
    const int n = list_late(result, lw_instant_now(now), result->n_runs + 1, way, flaws, attributes);
    return lw_writer_finish(result->writer, attributes, n, err);
}

int lw_result_hold(struct lw_result *result, bool has_journal, struct lw_error *err)
{
    const struct lw_setup *const setup = result->setup;
    const struct lw_writer_spec spec = {
        .file = lw_options_text(setup->options, "output"), .overwrite = lw_options_flag(setup->options, "overwrite"),
        .attributes = result->attributes, .n_attributes = result->n_attributes, .has_journal = has_journal,
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
    lw_sky_close(&result->sky);
    lw_free(result->carried);
    lw_free(result->said);
    lw_free(result->texts);
    lw_free(result->configuration);
}
