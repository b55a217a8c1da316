#include "verify/state.h"

#include "base/integers.h"
#include "base/proc.h"
#include "base/text.h"
#include "io/journal/journal.h"
#include "io/list.h"
#include "job/candidate_rows.h"
#include "options/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

const struct lw_option lw_verify_options[] = {
    {.name = "sample", .kind = LW_OPTION_INT, .argument = "N", .fallback = "1000", .minimum = 0, .maximum = 1e9,
     .help = "Random values of each dataset, and rows of each table, to check. Fewer are checked where a value takes very many "
             "sums. If N is not less than there are, all are checked. 0: only checksums are compared (--checksum of a job), "
             "without the input."},
    {.name = "seed", .kind = LW_OPTION_INT, .argument = "N", .fallback = "1", .minimum = 0, .maximum = 9e18,
     .help = "Seed of the random choice. Another seed checks other values."},
    {.name = "input", .kind = LW_OPTION_NAMES, .argument = "FILE:/dataset",
     .help = "Where the input is now, if it was moved."},
    {.name = "beside", .kind = LW_OPTION_NAMES, .argument = "FILE:/dataset",
     .help = "Where the files beside the input are now."},
    {.name = "filters", .kind = LW_OPTION_NAMES, .argument = "FILE:/dataset",
     .help = "Where the filters are now, or the kernels of conv2d. It is for those that were read from a file."},
    {.name = "map", .kind = LW_OPTION_NAMES, .argument = "FILE:/dataset",
     .help = "Where the map of --noise-map or --weight-map is now."},
    {.name = NULL},
};

/* The journal vouches only for the outputs it lists as done; the rest of the file is unknown. */
static int fail_incomplete(const char *file, struct lw_error *err)
{
    struct lw_journal_progress progress;
    struct lw_error none;
    char result[LW_MAX_PATH], done[160] = "";
    const size_t before = lw_before_ending(file, LW_PART_SUFFIX);
    snprintf(result, sizeof result, "%.*s", (int)(before > 0 ? before : strlen(file)), file);
    if (lw_journal_progress(result, &progress, &none) == LW_OK)
        snprintf(done, sizeof done, " (%s are done)", progress.done);
    return lw_fail(err, LW_EDATA, "'%.600s' is incomplete%s: its run has not finished; run the same command again", file, done);
}

int lw_verify_check_complete(const char *file, struct lw_error *err)
{
    struct lw_listing_origin origin;
    char part[LW_MAX_PATH];
    const int length = snprintf(part, sizeof part, "%s" LW_PART_SUFFIX, file);
    if (length < (int)sizeof part && access(file, F_OK) != 0 && access(part, F_OK) == 0)
        return fail_incomplete(part, err);      /* the result is begun, but not complete */
    const int rc = lw_list_check(file, err);
    if (rc)
        return rc;
    const bool is_ours = lw_list_origin(file, &origin), is_incomplete = origin.is_incomplete;
    lw_list_origin_release(&origin);
    if (is_incomplete || (is_ours && lw_before_ending(file, LW_PART_SUFFIX) > 0))
        return fail_incomplete(file, err);
    if (!is_ours)
        return lw_fail(err, LW_EDATA, "'%.600s' is no result of a job of lapwing, so there is nothing to compare it with; 'lapwing "
                       "info FILE' shows its contents", file);
    return LW_OK;
}

/* Print a line of the table. A sample of n among N values misses all of K wrong values, wherever they lie, with a probability of
 * about (1 - n / N)^K. The line has the least K of which the sample has one or more with a probability of 95%. */
static void print_row(const struct lw_verify_row *row)
{
    const double part = (double)row->n_checked / (double)lw_max64(1, row->n_all);
    const bool is_sample = !row->is_sums && row->n_checked > 0 && row->n_all > 0;
    char largest[32] = "-", sample[120] = "";
    if (row->is_sums)
        snprintf(largest, sizeof largest, "checksums");
    else if (row->n_checked > 0)
        snprintf(largest, sizeof largest, row->largest > 1e6 ? "%.1e" : row->largest > 10 ? "%.0f" : "%.3f", row->largest);
    if (is_sample && row->n_checked >= row->n_all)
        snprintf(sample, sizeof sample, "; all there are");
    else if (is_sample)
        snprintf(sample, sizeof sample, "; of %" PRId64 ": 95%% sure to find %.0f or more wrong ones", row->n_all,
                 ceil(log(0.05) / log1p(-part)));
    printf("%-16s %10" PRId64 " %8" PRId64 "  %s%s%s%s\n", row->name, row->n_checked, row->n_wrong, largest, sample,
           row->remark[0] ? "; " : "", row->remark);
}

/* Print the findings, even if the checks ended with error `rc`. A wrong value is reported rather than `rc`. */
static int judge(const struct lw_verify *verify, int rc, struct lw_error *err)
{
    const struct lw_verify_row *worst = NULL;
    int64_t n_wrong = 0;
    if (verify->n_rows > 0)
        printf("%-16s %10s %8s  %s\n", "dataset", "checked", "wrong", "largest error (1 = the guaranteed bound)");
    for (int r = 0; r < verify->n_rows; r++) {
        const struct lw_verify_row *const row = &verify->rows[r];
        print_row(row);
        n_wrong += row->n_wrong;
        if (row->n_wrong > 0 && (!worst || row->largest > worst->largest))
            worst = row;
    }
    if (!worst)
        return rc;
    if (worst->is_sums)
        return lw_fail(err, LW_EDATA, "'%.400s' has changed since it was written: %" PRId64 " of %" PRId64 " checksums of %s "
                       "differ, first %s; run the same command again to replace it", verify->request->file, worst->n_wrong,
                       worst->n_checked, worst->name, worst->worst);
    return lw_fail(err, LW_EDATA, "'%.400s' is not what its input and configuration give: %" PRId64 " of the checked values are "
                   "wrong, the worst in %s, %s; run the same command again to replace it", verify->request->file, n_wrong,
                   worst->name, worst->worst);
}

static int check_product(struct lw_verify *verify, int number, struct lw_error *err)
{
    const struct lw_product *const product = &verify->job.products[number];
    const char *const path = product->dataset.path;
    const bool is_measured = !product->mesh && (strcmp(path, "/psd") == 0 || strcmp(path, "/noise") == 0);
    if (verify->job.op.kind == LW_OP_ACCEL)
        return number == LW_ACCEL_CANDIDATES ? lw_verify_candidates(verify, err) : LW_OK;
    if (verify->job.op.kind == LW_OP_SFFT)
        return number == 0 ? lw_verify_lines(verify, err) : LW_OK;
    if (number >= verify->job.n_products && is_measured)
        return LW_OK;
    if (number >= verify->job.n_products)
        return lw_verify_given(verify, product, err);
    if (product->dataset.n_columns > 0)
        return lw_verify_peaks(verify, product, err);
    if (strcmp(path, "/best/value") == 0)
        return lw_verify_best(verify, product, product + 1, err);
    if (strcmp(path, "/best/filter") == 0 || strcmp(path, "/best/kernel") == 0)
        return LW_OK;
    if (strncmp(path, "/blocks/", strlen("/blocks/")) == 0)
        return lw_verify_blocks(verify, product, err);
    return lw_verify_series_product(verify, product, err);
}

/* Replace files in the configuration by those that the user names because they have moved. */
static int move_files(const struct lw_verify_request *request, struct lw_error *err)
{
    const char *const input = lw_options_text(request->given, "input"), *const filters = lw_options_text(request->given, "filters");
    static const char *const maps[] = {"noise-map", "weight-map"};
    const char *const taps = request->ops->taps;
    const char *const beside = lw_options_text(request->given, "beside"), *const map = lw_options_text(request->given, "map");
    int rc = input ? lw_options_set(request->options, "input", input, "--input", err) : LW_OK;
    if (rc == LW_OK && beside && !request->ops->is_isolated)
        rc = lw_options_set(request->options, "beside", beside, "--beside", err);
    for (int m = 0; rc == LW_OK && map && m < 2; m++)
        if (lw_option_find(request->ops->options, maps[m]) && lw_options_given(request->options, maps[m]))
            rc = lw_options_set(request->options, maps[m], map, "--map", err);
    if (rc || !filters)
        return rc;
    if (!taps || !lw_options_given(request->options, taps))
        return lw_fail(err, LW_EUSAGE, "--filters %.600s: the result was made without filters from a file", filters);
    char name[2 * LW_MAX_PATH];         /* a single name is kept without the backslashes before its blanks */
    const bool is_single = lw_option_find(request->ops->options, taps)->kind == LW_OPTION_FILE;
    const char *const text = is_single && lw_words_take(filters, name, sizeof name) ? name : filters;
    return lw_options_set(request->options, taps, text, "--filters", err);
}

int lw_verify_run(struct lw_comm *comm, const struct lw_verify_request *request, struct lw_error *err)
{
    struct lw_verify verify = {
        .comm = comm, .request = request, .n_wanted = lw_options_int(request->given, "sample"),
        .seed = (uint64_t)lw_options_int(request->given, "seed"),
    };
    const bool works = lw_comm_rank(comm) == 0;
    int rc = lw_pool_create((int)lw_max64(4, lw_proc_cores()), &verify.pool, err);
    rc = lw_comm_agree(comm, rc == LW_OK && works ? lw_verify_sums(&verify, err) : rc, err);
    if (rc == LW_OK && verify.n_wanted > 0 && (rc = move_files(request, err)) == LW_OK &&
        (rc = lw_verify_open(&verify, err)) == LW_OK) {
        for (int p = 0; works && p < verify.job.n_products + verify.job.n_given && rc == LW_OK; p++)
            rc = check_product(&verify, p, err);
        rc = lw_comm_agree(comm, rc, err);
    }
    if (works)
        rc = judge(&verify, rc, err);
    rc = lw_comm_agree(comm, rc, err);
    lw_verify_close(&verify);
    return rc;
}
