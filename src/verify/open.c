#include "verify/state.h"

#include "base/memory.h"
#include "base/proc.h"
#include "io/format.h"
#include "job/weights.h"
#include "sfft/number.h"
#include "stream/search/mesh_pass.h"
#include "stream/search/noise.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- the table, random numbers, names ---------------------------------------------------------------------------- */

struct lw_verify_row *lw_verify_add_row(struct lw_verify *verify, const char *name)
{
    const int last = LW_VERIFY_ROWS - 1;
    struct lw_verify_row *const row = &verify->rows[verify->n_rows < last ? verify->n_rows++ : last];
    *row = (struct lw_verify_row){0};
    snprintf(row->name, sizeof row->name, "%s", name);
    return row;
}

void lw_verify_count(struct lw_verify_row *row, double part, const char *format, ...)
{
    const double size = isnan(part) ? INFINITY : part;
    row->n_checked++;
    row->n_wrong += size > 1;
    if (row->worst[0] && size <= row->largest)
        return;
    row->largest = size;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(row->worst, sizeof row->worst, format, arguments);
    va_end(arguments);
}

int64_t lw_verify_draw(struct lw_verify *verify, int64_t n) { return lw_random_below(verify->seed, verify->n_drawn++, n); }

/* The first array of a FITS result is in the primary unit; the others are extensions with names such as BEST_VALUE. */
struct lw_name lw_verify_name(const struct lw_verify *verify, const char *path)
{
    char unit[LW_MAX_PATH];
    const struct lw_product *const first = &verify->job.products[0];
    if (!verify->is_fits)
        return lw_name_of(verify->request->file, path);
    if (first->dataset.n_columns == 0 && strcmp(first->dataset.path, path) == 0)
        return lw_name_of(verify->request->file, "/0");
    snprintf(unit, sizeof unit, "%s", path);
    for (char *c = unit; *c; c++)
        *c = (char)(*c == '/' && c > unit ? '_' : toupper((unsigned char)*c));
    return lw_name_of(verify->request->file, unit);
}

int lw_verify_read_notes(const struct lw_verify *verify, const char *path, struct lw_notes **notes, struct lw_error *err)
{
    *notes = lw_alloc(sizeof **notes, "attributes of the result", err);
    return *notes ? lw_notes_read(lw_verify_name(verify, path).text, NULL, *notes, err) : LW_ESYSTEM;
}

/* ---- the job ----------------------------------------------------------------------------------------------------- */

static int open_input(struct lw_verify *verify, struct lw_error *err)
{
    struct lw_reader_request request;
    int rc = lw_setup_request(verify->request->ops, verify->request->options, &request, err);
    request.hints.as_stored = request.hints.as_stored || verify->as_stored;
    if (rc || (rc = lw_reader_open_all(verify->comm, &request, &verify->reader, err)))
        return rc;
    const struct lw_dataset_info *const input = lw_reader_info(verify->reader);
    rc = verify->request->ops->prepare(verify->request->options, verify->comm, verify->pool, input, &verify->job, err);
    return lw_comm_agree(verify->comm, rc, err);
}

/* Return whether an input is packed and was read as stored: by an earlier version, whose result notes no packing. */
static bool was_as_stored(const struct lw_verify *verify, int input)
{
    struct lw_attribute found;
    char name[64];
    snprintf(name, sizeof name, "%s_packing", verify->job.input_names[input]);
    return verify->job.inputs[input].packing.is_on && !lw_said_find(&verify->notes->file, name, &found);
}

/* Refuse filters, kernels and masks that an earlier version read as stored: this version cannot read them like that. */
static int check_packing(const struct lw_verify *verify, struct lw_error *err)
{
    for (int i = 1; i < verify->job.n_inputs; i++)
        if (was_as_stored(verify, i))
            return lw_fail(err, LW_EDATA, "the result is from an earlier version, which read %.500s as stored, without its scale "
                           "and offset: make the result again, or verify it with that version",
                           lw_dataset_name(&verify->job.inputs[i]).text);
    return LW_OK;
}

/* Check that the inputs have the sizes noted in the result. Their modification times may differ, as those of copies do. */
static int check_sizes(const struct lw_verify *verify, struct lw_error *err)
{
    for (int i = 0; i < verify->job.n_inputs; i++) {
        const struct lw_dataset_info *const info = &verify->job.inputs[i];
        char name[64];
        snprintf(name, sizeof name, "%s_file_bytes", verify->job.input_names[i]);
        const double bytes = lw_said_real(&verify->notes->file, name, -1);
        if (bytes >= 0 && (int64_t)bytes != info->file_bytes)
            return lw_fail(err, LW_EDATA, "%.500s is not the file that the result was made from: it has %" PRId64 " bytes, and had "
                           "%.0f then; name the right one with --input, --filters or --map",
                           lw_dataset_name(info).text, info->file_bytes, bytes);
    }
    return LW_OK;
}

/* ---- numbers that need a pass over all of the data are taken from the result ----------------------------------- */

/* Read n numbers from a dataset of the result. @param values  [n], set */
static int take_numbers(struct lw_verify *verify, const char *path, double *values, int64_t n, struct lw_error *err)
{
    struct lw_dataset_info info;
    LW_FREED double *numbers = NULL;
    int rc = lw_reader_read_numbers(verify->comm, lw_verify_name(verify, path).text, 3, &info, &numbers, err);
    const int64_t found = rc ? 0 : lw_product64(info.dims, info.n_dims);
    if (rc == LW_OK && (found != n || info.type.is_complex))
        rc = lw_fail(err, LW_EDATA, "%s of the result has %" PRId64 " numbers instead of %" PRId64, path, found, n);
    if (rc == LW_OK)
        memcpy(values, numbers, (size_t)n * sizeof *values);
    return lw_comm_agree(verify->comm, rc, err);
}

static int take_measured(struct lw_verify *verify, struct lw_error *err)
{
    struct lw_job *const job = &verify->job;
    struct lw_whitening *const whitening = job->whitening;
    int rc = LW_OK;
    if (whitening && (rc = take_numbers(verify, "/psd", whitening->spectrum, whitening->segment / 2 + 1, err)) == LW_OK) {
        whitening->n_segments = 1;
        whitening->n_threads = lw_proc_cores();
        rc = lw_comm_agree(verify->comm, job->ops->whiten(job, &whitening->stored, 0, job->op.ols.n_filters, err), err);
    }
    if (rc == LW_OK && lw_noise_is_measured(job))
        rc = take_numbers(verify, "/noise", job->noise,
                          lw_search_stretches(lw_op_search(&job->op)) * job->op.n_channels * lw_op_filters(&job->op), err);
    return rc;
}

/* ---- the operation as a convolution of images -------------------------------------------------------------------- */

/* @param taps  the filters in float64 */
static struct lw_verify_shape shape_ols(const struct lw_job *job, const double *taps)
{
    const struct lw_ols_spec *const ols = &job->op.ols;
    return (struct lw_verify_shape){
        .taps = taps, .n_filters = ols->n_filters, .parts = ols->taps_complex ? 2 : 1,
        .tap_rows = ols->n_taps, .tap_columns = 1, .ahead_rows = job->look_ahead - lw_post_reach(ols->post).after,
        .columns = 1, .output_columns = 1, .post = ols->post, .search = &ols->search,
    };
}

static struct lw_verify_shape shape_conv2d(const struct lw_job *job)
{
    const struct lw_conv2d_spec *const c = &job->op.conv2d;
    return (struct lw_verify_shape){
        .taps = c->kernel, .n_filters = c->n_kernels, .parts = c->kernel_complex ? 2 : 1,
        .tap_rows = c->kernel_rows, .tap_columns = c->kernel_columns,
        .ahead_rows = c->look_ahead_rows, .ahead_columns = c->look_ahead_columns,
        .columns = c->columns, .output_columns = c->output_columns,
        .outside = c->outside, .post = {.every = c->every}, .search = &c->search, .is_image = true,
        .is_weighted = lw_op_is_weighted(&job->op),
    };
}

static int find_shape(struct lw_verify *verify, struct lw_error *err)
{
    const struct lw_job *const job = &verify->job;
    const struct lw_ols_spec *const ols = &job->op.ols;
    struct lw_verify_shape *const shape = &verify->shape;
    const int64_t own = job->op.kind == LW_OP_OLS ? lw_op_filter_values(&job->op) / ols->n_taps : 1;
    switch (job->op.kind) {
    case LW_OP_OLS:
        if (!(verify->taps = lw_stored_all(&ols->taps, ols->n_filters * own, ols->n_taps, err)))
            return LW_ESYSTEM;
        *shape = shape_ols(job, verify->taps);
        break;
    case LW_OP_CONV2D:
        *shape = shape_conv2d(job);
        break;
    case LW_OP_SFFT:
    case LW_OP_ACCEL:
        return LW_OK;
    }
    shape->own = own;
    shape->sums = lw_op_sums(&job->op);
    shape->n_series = shape->sums ? shape->sums->n_inputs : 1;
    shape->reach = shape->tap_rows;
    if (shape->sums) {
        shape->reach += shape->sums->before + shape->sums->after;
        shape->ahead_rows -= shape->sums->after;
    }
    shape->n_channels = job->op.n_channels;
    shape->n_rows = job->n_samples;
    shape->n_outputs = job->n_outputs;
    shape->boundary = job->boundary;
    /* The provenance has segments as "overlap-save, N = 4096, .." or "overlap-save on tiles of 128 x 256, ..", direct sums none. */
    const char *const text = lw_said_text(&verify->notes->file, "algorithm");
    const char *const length = strstr(text, "N = "), *const tile = strstr(text, " of ");
    shape->segment_rows = shape->tap_rows;
    shape->segment_columns = shape->tap_columns;
    if (!shape->is_image && length)
        sscanf(length, "N = %" SCNd64, &shape->segment_rows);
    else if (shape->is_image && tile)
        sscanf(tile, " of %" SCNd64 " x %" SCNd64, &shape->segment_rows, &shape->segment_columns);
    shape->segment_rows = lw_max64(shape->segment_rows, shape->tap_rows);
    shape->segment_columns = lw_min64(lw_max64(shape->segment_columns, shape->tap_columns), shape->columns + shape->tap_columns);
    shape->segment_values = (double)shape->segment_rows * (double)shape->segment_columns;
    if (!(shape->promises = lw_alloc_array(2 * shape->n_filters * own, sizeof *shape->promises, "promised errors", err)))
        return LW_ESYSTEM;
    const double n = shape->is_image ? fmax(shape->segment_values, 256) : shape->segment_values;
    for (int f = 0; f < shape->n_filters * own; f++)
        for (int squares = 0; squares <= shape->is_weighted; squares++)
            shape->promises[2 * f + squares] = lw_verify_promise(verify, f, n, squares);
    return LW_OK;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

/* Read the attributes of the result's first dataset and of its root group on rank 0, and send them to all ranks. */
static int share_notes(struct lw_verify *verify, struct lw_error *err)
{
    const bool reads = lw_comm_rank(verify->comm) == 0;
    int rc = LW_OK;
    if (reads)
        rc = lw_verify_read_notes(verify, verify->job.products[0].dataset.path, &verify->notes, err);
    else if (!(verify->notes = lw_alloc(sizeof *verify->notes, "attributes of the result", err)))
        rc = LW_ESYSTEM;
    rc = lw_comm_agree(verify->comm, rc, err);
    if (rc == LW_OK)
        lw_comm_broadcast(verify->comm, verify->notes, sizeof *verify->notes);
    return rc;
}

int lw_verify_open(struct lw_verify *verify, struct lw_error *err)
{
    const struct lw_format *format = NULL;
    int rc = lw_formats_find(verify->request->file, NULL, &format, err);
    verify->is_fits = rc == LW_OK && strcmp(format->name, "HDF5") != 0;
    verify->job = (struct lw_job){.ops = verify->request->ops};
    if ((rc = lw_comm_agree(verify->comm, rc, err)))
        return rc;
    if ((rc = open_input(verify, err)) == LW_EIO) {
        const size_t used = strlen(err->message);
        snprintf(err->message + used, sizeof err->message - used, "; if files have moved, name them with --input, --filters, "
                 "--beside and --map");
    }
    if (rc || (rc = share_notes(verify, err)))
        return rc;
    if (was_as_stored(verify, 0)) {         /* open the input again, as stored */
        verify->as_stored = true;
        verify->job.ops->release(&verify->job);
        verify->job = (struct lw_job){.ops = verify->request->ops};
        lw_reader_close(verify->reader);
        verify->reader = NULL;
        if ((rc = open_input(verify, err)))
            return rc;
    }
    if ((rc = lw_mask_open(verify->comm, verify->reader, &verify->job, &verify->mask, err)) ||
        (rc = lw_weights_open(verify->comm, verify->request->options, verify->reader, verify->pool, &verify->job,
                              &verify->map_reader, err)) ||
        (rc = check_packing(verify, err)) ||
        (rc = check_sizes(verify, err)))
        return rc;
    if (verify->job.op.kind == LW_OP_OLS && !verify->job.op.ols.taps.data &&
        (rc = lw_job_hold_filters(&verify->job, verify->comm, err)))
        return rc;
    if ((rc = take_measured(verify, err)))
        return rc;
    lw_reader_use(verify->reader, verify->pool);
    if ((rc = lw_mesh_measure(verify->comm, verify->reader, verify->map_reader, &verify->job, lw_proc_cores(), err)))
        return rc;
    return lw_comm_agree(verify->comm, find_shape(verify, err), err);
}

void lw_verify_close(struct lw_verify *verify)
{
    lw_window_destroy(verify->window);
    lw_free(verify->taps);
    lw_free(verify->raw);
    for (int m = 0; m < LW_VERIFY_MESHES; m++)
        lw_free(verify->meshes[m]);
    lw_free(verify->shape.promises);
    if (verify->job.ops)
        verify->job.ops->release(&verify->job);
    lw_map_destroy(verify->map);
    lw_free(verify->raw_map);
    lw_reader_close(verify->map_reader);
    lw_mask_close(verify->mask);
    lw_reader_close(verify->reader);
    lw_pool_destroy(verify->pool);
    lw_free(verify->notes);
}
