#include "job/job.h"

#include "base/memory.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

static struct lw_attribute *add(struct lw_product *product, const char *name, enum lw_attribute_kind kind)
{
    assert(product->n_attributes < LW_PRODUCT_ATTRIBUTES);
    struct lw_attribute *const attribute = &product->attributes[product->n_attributes++];
    *attribute = (struct lw_attribute){.name = name, .kind = kind};
    return attribute;
}

void lw_product_note_text(struct lw_product *product, const char *name, const char *text)
{
    add(product, name, LW_ATTRIBUTE_TEXT)->text = text;
}

void lw_product_note_int(struct lw_product *product, const char *name, int64_t value)
{
    add(product, name, LW_ATTRIBUTE_INT)->integer = value;
}

void lw_product_note_real(struct lw_product *product, const char *name, double value)
{
    add(product, name, LW_ATTRIBUTE_REAL)->real = value;
}

void lw_product_note_reals(struct lw_product *product, const char *name, const double *values, int n)
{
    if (n == 1) {
        lw_product_note_real(product, name, values[0]);
        return;
    }
    struct lw_attribute *const attribute = add(product, name, LW_ATTRIBUTE_REALS);
    attribute->reals = values;
    attribute->n_reals = n;
}

void lw_product_note_unit(struct lw_product *product, const char *unit)
{
    lw_product_note_text(product, "unit", unit);
    lw_product_note_text(product, "units", unit);
}

void lw_job_note_text(struct lw_job *job, const char *name, const char *text)
{
    lw_product_note_text(&job->products[0], name, text);
}

void lw_job_note_int(struct lw_job *job, const char *name, int64_t value) { lw_product_note_int(&job->products[0], name, value); }

void lw_job_note_real(struct lw_job *job, const char *name, double value) { lw_product_note_real(&job->products[0], name, value); }

static bool is_same_file(const char *a, const char *b)
{
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

int lw_job_check_output(const struct lw_job *job, const char *output, struct lw_error *err)
{
    char part[LW_MAX_PATH + sizeof LW_PART_SUFFIX];
    snprintf(part, sizeof part, "%.*s" LW_PART_SUFFIX, LW_MAX_PATH, output);
    for (int i = 0; i < job->n_inputs; i++) {
        const char *const input = job->inputs[i].file;
        if (is_same_file(output, input))
            return lw_fail(err, LW_EUSAGE, "--output %s is also the %s: give the result a file of its own", output,
                           job->input_names[i]);
        if (is_same_file(part, input))
            return lw_fail(err, LW_EUSAGE, "the %s '%s' is the file in which --output %s grows until it is complete: rename "
                           "the %s, or give another --output", job->input_names[i], input, output, job->input_names[i]);
    }
    return LW_OK;
}

int lw_job_check_inputs(const struct lw_job *job, struct lw_error *err)
{
    for (int i = 0; i < job->n_inputs; i++) {
        const struct lw_dataset_info *const info = &job->inputs[i];
        char what[40];
        snprintf(what, sizeof what, "the %s ", job->input_names[i]);
        const int rc = info->n_files > 1 ? LW_OK : lw_dataset_check_unchanged(info, what, err);
        if (rc)
            return rc;
    }
    return LW_OK;
}

/* ---- filters ---------------------------------------------------------------------------------------------------------- */

/* Refuse filters [first, first + n) of the bank, which are in memory, if a tap is not finite. */
static int check_finite(const struct lw_job *job, int64_t first, int64_t n, struct lw_error *err)
{
    const struct lw_whole *const bank = &job->bank;
    const int64_t bad = lw_whole_not_finite(bank, first, first + n);
    if (bad < 0)
        return LW_OK;
    double tap[2];
    const struct lw_stored_taps its = {lw_whole_row(bank, bad / bank->row), bank->type, false};
    const struct lw_stored_taps at = lw_stored_from(&its, 1, bad % bank->row);
    lw_type_numbers(at.type, at.data, at.type.is_complex ? 2 : 1, tap);
    return lw_fail(err, LW_EDATA, "tap %" PRId64 " of filter %" PRId64 " in %s is %f: filters must be finite",
                   bad % bank->row % job->op.ols.n_taps, bad / bank->row, lw_dataset_name(&bank->info).text,
                   isfinite(tap[0]) ? tap[1] : tap[0]);
}

int lw_job_hold_filters(struct lw_job *job, struct lw_comm *comm, struct lw_error *err)
{
    struct lw_whole *const bank = &job->bank;
    int64_t begin, end;
    int rc = lw_whole_hold(comm, bank, err);
    if (rc)
        return rc;
    lw_shared_part(&bank->memory, &begin, &end);
    if (job->whitening) {
        const struct lw_ols_spec *const ols = &job->op.ols;
        job->whitening->stored.data = bank->data;
        job->taps = lw_alloc_array(ols->n_filters * ols->n_taps, lw_type_bytes(ols->taps.type), "whitened filters", err);
        for (int p = job->n_products; p < job->n_products + job->n_given; p++)
            job->products[p].values = job->products[p].values ? job->products[p].values : job->taps;
        if ((rc = lw_comm_agree(comm, job->taps ? LW_OK : LW_ESYSTEM, err)))
            return rc;
    }
    job->op.ols.taps.data = job->whitening ? job->taps : bank->data;
    return lw_comm_agree(comm, check_finite(job, begin, end - begin, err), err);
}

struct lw_stored_taps lw_job_filter(const struct lw_job *job, int64_t filter)
{
    struct lw_stored_taps taps = job->op.ols.taps;
    if (taps.data)
        return lw_stored_from(&taps, lw_op_filter_values(&job->op), filter);
    taps.data = job->whitening ? job->taps : lw_whole_row(&job->bank, filter);
    return job->whitening ? lw_stored_from(&taps, job->op.ols.n_taps, filter - job->whitening->first) : taps;
}

int64_t lw_job_filter_bytes(const struct lw_job *job, int64_t n)
{
    const struct lw_ols_spec *const ols = &job->op.ols;
    const int64_t whitened = job->whitening ? ols->n_taps * (int64_t)lw_type_bytes(ols->taps.type) : 0;
    return n * (lw_whole_row_bytes(&job->bank) + whitened);
}

/* Whiten filters [first, first + n), which are in memory as they are stored. */
static int whiten_part(struct lw_job *job, int64_t first, int64_t n, struct lw_error *err)
{
    struct lw_whitening *const w = job->whitening;
    struct lw_stored_taps stored = w->stored;
    stored.data = lw_whole_row(&job->bank, first);
    w->n = 0;
    if (n > w->most) {
        lw_free(job->taps);
        w->most = 0;
        const size_t bytes = (size_t)job->op.ols.n_taps * lw_type_bytes(job->op.ols.taps.type);
        if (!(job->taps = lw_alloc_array(n, bytes, "whitened filters", err)))
            return LW_ESYSTEM;
        w->most = n;
    }
    const int rc = job->ops->whiten(job, &stored, first, n, err);
    w->first = first;
    w->n = rc ? 0 : n;
    return rc;
}

int lw_job_take_filters(struct lw_job *job, int64_t first, int64_t n, struct lw_stored_taps *taps, struct lw_error *err)
{
    const struct lw_whitening *const w = job->whitening;
    const bool has = job->op.ols.taps.data || (w && first >= w->first && first + n <= w->first + w->n);
    int rc;
    if (!has && ((rc = lw_whole_reserve(&job->bank, n, err)) || (rc = lw_whole_take(&job->bank, first, n, err)) ||
                 (rc = check_finite(job, first, n, err)) || (w && (rc = whiten_part(job, first, n, err)))))
        return rc;
    *taps = lw_job_filter(job, first);
    return LW_OK;
}
