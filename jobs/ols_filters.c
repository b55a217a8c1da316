#include "jobs/ols_filters.h"

#include "base/log.h"
#include "base/memory.h"
#include "io/notes/notes.h"
#include "job/choose.h"
#include "job/coordinates.h"
#include "jobs/filters/asked.h"
#include "jobs/filters/whitening.h"
#include "jobs/ols_array.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum { MAX_FILTERS = 1 << 20 };

/* Filters that this run makes, as a bank. */
struct lw_made_filters {
    struct lw_bank bank;
    struct lw_bank_attributes attributes;       /* attributes of /filters; rank 0 only */
};

/* ---- from a file ----------------------------------------------------------------------------------------------------- */

int lw_ols_check_rate(const struct lw_options *given, const struct lw_job *job, const struct lw_dataset_info *made,
                      const char *what, struct lw_error *err)
{
    const struct lw_dataset_info *const input = &job->inputs[0];
    const struct lw_axis_metadata *const a = &input->axis, *const b = &made->axis;
    const double accuracy = fmax(1e-9, a->rate_accuracy + b->rate_accuracy);
    if (a->sample_rate_hz <= 0 || b->sample_rate_hz <= 0 || lw_options_flag(given, "allow-rate-mismatch") ||
        fabs(a->sample_rate_hz - b->sample_rate_hz) <= accuracy * a->sample_rate_hz)
        return LW_OK;
    return lw_fail(err, LW_EDATA, "the %s in %.600s are for a rate of %.12g Hz (%s), but the samples in %.600s have %.12g Hz "
                   "(%s): make %s for the samples' rate, or give --allow-rate-mismatch", what, lw_dataset_name(made).text,
                   b->sample_rate_hz, b->source, lw_dataset_name(input).text, a->sample_rate_hz, a->source, what);
}

/* Read the attribute reference_tap of a bank: the tap that gives outputs their time. -1: no such attribute. Rank 0 only. */
static int find_reference(const struct lw_dataset_info *filters, int64_t n_taps, int64_t *tap, struct lw_error *err)
{
    struct lw_attribute said_tap;
    LW_FREED struct lw_said *const said = lw_alloc(sizeof *said, "attributes of the filters", err);
    int rc = said ? lw_notes_collect(filters, said, err) : LW_ESYSTEM;
    *tap = -1;
    if (rc == LW_OK && lw_said_find(said, "reference_tap", &said_tap)) {
        const double number = said_tap.kind == LW_ATTRIBUTE_TEXT || said_tap.n_reals != 1 ? -1 : said_tap.reals[0];
        if (number >= 0 && number < (double)n_taps && number == floor(number))
            *tap = (int64_t)number;
        else
            rc = lw_fail(err, LW_EDATA, "the attribute reference_tap of %.600s must be a single number, the index of a tap from 0 "
                         "to %" PRId64 ": correct the attribute", lw_dataset_name(filters).text, n_taps - 1);
    }
    return rc;
}

/* Return whether the ranks hold the bank whole, as it is stored: it takes less than a quarter of what they may use, or more than
 * some filters at a time are needed. LAPWING_BANK_BYTES sets the limit for tests. The same on all ranks. */
static bool holds_whole(const struct lw_options *given, struct lw_comm *comm, const struct lw_job *job)
{
    const char *const limit = getenv("LAPWING_BANK_BYTES");
    const int ranks = lw_comm_node_size(comm);
    const int64_t memory = lw_options_int(given, "memory");
    const double most = limit ? atof(limit) : memory > 0 ? (double)memory / 4 * ranks : (double)lw_memory_available().bytes / 5;
    return lw_comm_min(comm, (double)lw_whole_bytes(&job->bank) <= most) > 0;
}

/* Find the channels of a bank [filter x channel x tap] that this run takes.
 * @param its  set to them; NULL: the bank has no channels */
static int find_channels(const struct lw_options *given, struct lw_comm *comm, const struct lw_job *job, struct lw_range *channels,
                         const struct lw_range **its, struct lw_error *err)
{
    struct lw_dataset_info info;
    const int rc = lw_reader_examine_numbers(comm, lw_options_text(given, "filters"), 3, &info, err);
    *its = NULL;
    if (rc || info.n_dims < 3)
        return rc;
    const int64_t all = lw_ols_all_channels(job);
    if (all > 1 && lw_job_find_channels(info.dims[1], all, &job->view.channels, channels))
        *its = channels;
    else if (info.dims[0] > 1 && info.dims[1] > 1 && info.dims[2] > 1)
        return lw_fail(err, LW_EDATA, "the filters in %.600s are for %" PRId64 " channels, but the input has %" PRId64 ": give "
                       "[filter x channel x tap] for these, or [filter x tap] for all channels", lw_dataset_name(&info).text,
                       info.dims[1], all);
    return LW_OK;
}

/* Read the filters of --filters. @param reference  set as by find_reference, on every rank */
static int read_filters(const struct lw_options *given, struct lw_comm *comm, struct lw_pool *pool, struct lw_job *job,
                        int64_t *reference, struct lw_error *err)
{
    struct lw_dataset_info *const info = &job->inputs[job->n_inputs];
    const struct lw_range *its = NULL;
    struct lw_range channels = {0};
    int rc = find_channels(given, comm, job, &channels, &its, err);
    if (rc || (rc = lw_whole_open(comm, pool, lw_options_text(given, "filters"), its, &job->bank, err)))
        return rc;
    *info = job->bank.info;
    job->input_names[job->n_inputs++] = "filters";

    struct lw_ols_spec *const ols = &job->op.ols;
    const bool is_column = info->n_dims == 2 && info->dims[1] == 1;
    const int64_t n_filters = info->n_dims > 1 && !is_column ? info->dims[0] : 1;
    if (n_filters > MAX_FILTERS)
        return lw_fail(err, LW_EDATA, "%s holds %" PRId64 " filters, at most %d are possible", lw_dataset_name(info).text,
                       n_filters, MAX_FILTERS);
    ols->n_filters = (int)n_filters;
    ols->n_taps = is_column ? info->dims[0] : info->dims[info->n_dims - 1];
    ols->taps_complex = info->type.is_complex;
    ols->own_taps = info->n_dims == 3 && job->op.n_channels > 1;
    job->has_filter_dim = info->n_dims >= 2;
    const bool has_time = info->metadata_axis >= 0 || info->axis.has_start || info->axis.scale != LW_TIME_UNKNOWN;
    if (lw_comm_rank(comm) == 0 && n_filters > 1 && (has_time || (info->n_dims == 2 && n_filters > ols->n_taps)))
        lw_log_warn("--filters %.600s looks like a record rather than a bank of filters: it has %s; it is taken as %d filters of "
                    "%" PRId64 " taps", lw_dataset_name(info).text, has_time ? "a time axis" : "more rows than columns",
                    ols->n_filters, ols->n_taps);
    if ((rc = lw_ols_check_rate(given, job, info, "filters", err)))
        return rc;
    ols->taps = (struct lw_stored_taps){NULL, job->bank.type, lw_options_flag(given, "correlate")};
    if (holds_whole(given, comm, job) && (rc = lw_job_hold_filters(job, comm, err)))
        return rc;
    rc = lw_comm_agree(comm, lw_comm_rank(comm) == 0 ? find_reference(info, ols->n_taps, reference, err) : LW_OK, err);
    lw_comm_broadcast(comm, reference, sizeof *reference);
    return rc;
}

/* ---- made here ------------------------------------------------------------------------------------------------------- */

static int make_filters(const struct lw_options *given, const char *way, struct lw_comm *comm, struct lw_job *job,
                        struct lw_error *err)
{
    struct lw_made_filters *const made = job->made = lw_alloc(sizeof *made, "filters", err);
    int rc = lw_comm_agree(comm, made ? LW_OK : LW_ESYSTEM, err);
    if (rc || (rc = lw_asked_design(given, way, comm, &job->inputs[0], &made->bank, err)))
        return rc;
    if (lw_comm_rank(comm) == 0)
        rc = lw_bank_describe(&made->bank, &made->attributes, err);
    struct lw_ols_spec *const ols = &job->op.ols;
    ols->n_filters = made->bank.n_filters;
    ols->n_taps = made->bank.n_taps;
    ols->taps_complex = made->bank.is_complex;
    job->has_filter_dim = ols->n_filters > 1;
    job->taps = made->bank.taps;
    made->bank.taps = NULL;
    ols->taps = lw_stored_doubles(job->taps, ols->taps_complex);
    return rc;
}

/* ---- both ------------------------------------------------------------------------------------------------------------ */

/* Set job->reference_tap from --reference. @param own  the tap that the bank's attribute names; -1: none */
static int choose_reference(const struct lw_options *given, int64_t own, struct lw_job *job, struct lw_error *err)
{
    const char *const text = lw_options_text(given, "reference");
    const int64_t n_taps = job->op.ols.n_taps, last = n_taps - 1;
    const bool is_middle = text ? strcmp(text, "middle") == 0 : own < 0;
    int64_t stored = own;
    if (text && strcmp(text, "first") == 0)
        stored = 0;
    else if (text && strcmp(text, "last") == 0)
        stored = last;
    else if (text && !is_middle && lw_parse_int(text, &stored) != LW_PARSE_OK)
        return lw_fail(err, LW_EUSAGE, "--reference %.200s is not first, middle, last, or the number of a tap", text);
    if (!is_middle && (stored < 0 || stored > last))
        return lw_fail(err, LW_ECONFIG, "--reference %.200s: the filters have taps 0 to %" PRId64, text, last);
    job->reference_tap = is_middle ? lw_middle_tap(n_taps) : lw_options_flag(given, "correlate") ? last - stored : stored;
    return LW_OK;
}

int lw_ols_get_filters(const struct lw_options *given, struct lw_comm *comm, struct lw_pool *pool, struct lw_job *job,
                       struct lw_error *err)
{
    struct lw_ols_spec *const ols = &job->op.ols;
    const char *way;
    int64_t own = -1;
    int rc;
    if ((rc = lw_asked_find(given, &way, err)))
        return rc;
    ols->post = (struct lw_post){
        .kind = (enum lw_post_kind)lw_options_choice(given, "post"), .rate = (int)lw_options_int(given, "interpolate"),
        .every = (int)lw_options_int(given, "decimate"),
    };
    if (ols->post.rate > 1 && ols->post.every > 1)
        return lw_fail(err, LW_EUSAGE, "--interpolate %d and --decimate %d exclude each other", ols->post.rate, ols->post.every);
    rc = strcmp(way, "filters") == 0 ? read_filters(given, comm, pool, job, &own, err) : make_filters(given, way, comm, job, err);
    if (rc || (rc = choose_reference(given, own, job, err)))
        return rc;
    ols->segment = (int)lw_options_int(given, "segment");
    return lw_whitening_choose(given, job, err);
}

void lw_ols_shape_filters(struct lw_job *job)
{
    static_assert(LW_BANK_ATTRIBUTES < LW_PRODUCT_ATTRIBUTES, "a product has room for what is said of a bank");
    const struct lw_ols_spec *const ols = &job->op.ols;
    if (!job->made && !job->whitening)
        return;
    const bool is_one = ols->n_filters == 1;
    struct lw_product *const product = &job->products[job->n_products + job->n_given++];
    product->values = job->taps;
    product->dataset = (struct lw_writer_dataset){
        .path = "/filters", .type = {.scalar = LW_FLOAT64, .is_complex = ols->taps_complex},
        .n_dims = is_one ? 1 : 2, .dims = {is_one ? ols->n_taps : ols->n_filters, ols->n_taps},
        .dim_names = {is_one ? "tap" : "filter", "tap"},
    };
    product->axis_dim = product->channel_dim = -1;
    lw_coordinates_set(job, (struct lw_steps){0}, product);
    if (job->whitening) {
        lw_whitening_describe_taps(job, product);
    } else {
        product->n_attributes = job->made->attributes.count;
        memcpy(product->attributes, job->made->attributes.list, (size_t)product->n_attributes * sizeof *product->attributes);
    }
    if (job->reference_tap != lw_middle_tap(ols->n_taps))
        lw_product_note_int(product, "reference_tap", job->reference_tap);
    if (job->whitening)
        lw_whitening_shape_spectrum(job);
}

void lw_ols_release(struct lw_job *job)
{
    if (job->made)
        lw_bank_release(&job->made->bank);
    lw_free(job->made);
    job->made = NULL;
    lw_ols_release_array(job);
    lw_whitening_release(job);
    lw_job_release_taps(job);
}
