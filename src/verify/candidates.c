/* candidates.c - checks random rows of a table of candidates: the power at their r, z and w by its definition, from the spectrum of
 * all samples of their channel, in double precision, and the significance of that. Samples are read and replaced as by the run. */
#include "verify/state.h"

#include "accel/normalize.h"
#include "accel/refine.h"
#include "base/integers.h"
#include "base/memory.h"
#include "base/proc.h"
#include "base/select.h"
#include "channels/state.h"
#include "design/transform.h"
#include "signal/significance.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Most rows that are checked; bins on either side of a harmonic that its power has; allowed error of a power, relative. */
enum { MOST_ROWS = 16, HALF_WIDTH = 16384 };
#define ALLOWED 0.01

static const char *const columns[] = {"channel", "harmonics", "sigma", "power", "r", "z", "w"};
enum { CHANNEL, HARMONICS, SIGMA, POWER, R, Z, W, N_COLUMNS };

struct row {
    int64_t number;
    double values[N_COLUMNS];
};

struct candidates {
    struct lw_channels run;         /* what reading a channel needs */
    struct lw_transform *transform;
    double *data;                   /* samples, then the spectrum */
    float *spectrum;                /* [n_bins][2] normalized */
    double *powers;                 /* powers of a block */
    int64_t n_blocks, *edges, *counted;
    float *medians, *variances;
};

static int open_candidates(struct lw_verify *verify, struct candidates *c, struct lw_error *err)
{
    const struct lw_accel_request *const request = verify->job.request;
    const struct lw_accel_plan *const plan = &request->plan;
    c->run.setup.job = verify->job;
    c->run.setup.reader = verify->reader;
    c->run.request = request;
    c->run.n_threads = lw_proc_cores();
    c->run.group = c->run.n_items = 1;
    c->run.block = lw_min64(plan->spec.n, 1 << 20);
    if (verify->mask)
        c->run.marks = *lw_mask_marks(verify->mask);
    c->n_blocks = plan->n_blocks;
    const int rc = lw_channels_allocate(&c->run, err);
    if (rc || (c->edges = lw_alloc_array(c->n_blocks + 1, sizeof *c->edges, "blocks", err)) == NULL ||
        !(c->counted = lw_alloc_array(c->n_blocks, sizeof *c->counted, "blocks", err)) ||
        !(c->medians = lw_alloc_array(c->n_blocks, sizeof *c->medians, "blocks", err)) ||
        !(c->variances = lw_alloc_array(c->n_blocks, sizeof *c->variances, "blocks", err)) ||
        !(c->powers = lw_alloc_array(plan->n_bins, sizeof *c->powers, "powers", err)) ||
        !(c->data = lw_alloc_array(lw_transform_doubles(LW_TRANSFORM_REAL, plan->spec.n_fft), sizeof *c->data, "samples", err)))
        return rc ? rc : LW_ESYSTEM;
    c->spectrum = c->run.items[0].spectrum;
    lw_accel_blocks(plan->n_bins, c->edges);
    return lw_transform_create(LW_TRANSFORM_REAL, plan->spec.n_fft, &c->transform, err);
}

static void close_candidates(struct candidates *c)
{
    lw_channels_free(&c->run);
    lw_transform_destroy(c->transform);
    lw_free(c->data);
    lw_free(c->powers);
    lw_free(c->edges);
    lw_free(c->counted);
    lw_free(c->medians);
    lw_free(c->variances);
}

/* Normalize the spectrum in `data`, whose zapped bins are 0: levels are the medians of the other bins of a block. */
static void normalize(struct candidates *c)
{
    for (int64_t b = 0; b < c->n_blocks; b++) {
        int64_t n = 0;
        for (int64_t k = c->edges[b]; k < c->edges[b + 1]; k++) {
            c->powers[n] = c->data[2 * k] * c->data[2 * k] + c->data[2 * k + 1] * c->data[2 * k + 1];
            n += !isnan(c->powers[n]);
        }
        c->counted[b] = n;
        c->medians[b] = n > 0 ? (float)lw_select(c->powers, n, (n - 1) / 2) : 0;
    }
    lw_accel_factors(c->n_blocks, c->counted, c->medians, c->medians, c->variances);
    for (int64_t b = 0; b < c->n_blocks; b++)
        for (int64_t i = 2 * c->edges[b]; i < 2 * c->edges[b + 1]; i++)
            c->spectrum[i] = isnan(c->data[i]) ? 0 : (float)(c->data[i] * c->medians[b]);
}

static int make_spectrum(struct candidates *c, int64_t channel, struct lw_error *err)
{
    const struct lw_accel_request *const request = c->run.request;
    const int64_t n = request->plan.spec.n, doubles = lw_transform_doubles(LW_TRANSFORM_REAL, request->plan.spec.n_fft);
    struct lw_channels_series *const series = &c->run.series[0];
    double most = 0;
    series->channel = channel;
    series->n = 1;
    const int rc = lw_channels_load(&c->run, series, 0, n, err);
    if (rc)
        return rc;
    lw_channels_settle(&c->run, series->samples);
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, fabs((double)series->samples[i]));
    for (int64_t i = 0; i < doubles; i++)
        c->data[i] = i < n && most > 0 ? (double)series->samples[i] / most : 0;
    lw_transform_run(c->transform, c->data);
    for (int64_t z = 0; z < request->n_zaps; z++)
        for (int64_t i = 2 * request->zaps[z].first; i < 2 * request->zaps[z].end; i++)
            c->data[i] = NAN;
    normalize(c);
    return LW_OK;
}

/* The significance is that of the row's own power. */
static int check_row(struct candidates *c, const struct row *row, struct lw_verify_row *report, struct lw_error *err)
{
    const struct lw_accel_plan *const plan = &c->run.request->plan;
    const double *const found = row->values;
    double sum = 0, powers[1 << (LW_ACCEL_MOST_STAGES - 1)];
    int rc = LW_OK, stage = 0;
    while (stage < plan->spec.n_stages - 1 && 1 << stage < found[HARMONICS])
        stage++;
    const int H = 1 << stage;
    for (int h = 1; rc == LW_OK && h <= H; h++) {
        rc = lw_accel_power(c->spectrum, plan->n_bins, HALF_WIDTH, h * found[R], h * found[Z], h * found[W], &powers[h - 1], err);
        sum += rc == LW_OK ? powers[h - 1] : 0;
    }
    if (rc)
        return rc;
    const double variance = lw_accel_variance(plan->n_blocks, c->variances, found[R], H, powers);
    const double sigma = lw_sum_sigma(H, found[POWER], variance, plan->trials[stage]);
    lw_verify_count(report, fmax(fabs(found[POWER] - sum) / (ALLOWED * sum), fabs(found[SIGMA] - sigma) / (ALLOWED * fabs(sigma))),
                    "row %" PRId64 ", channel %.0f: a power of %.9g instead of %.9g, sigma %.6g instead of %.6g", row->number,
                    found[CHANNEL], found[POWER], sum, found[SIGMA], sigma);
    return LW_OK;
}

static int by_channel(const void *a, const void *b)
{
    const struct row *const x = a, *const y = b;
    return lw_compare64((int64_t)x->values[CHANNEL], (int64_t)y->values[CHANNEL]);
}

/* Read the rows to check, all or one of each of equal parts, in the order of their channels. @param n  set to their number */
static int choose_rows(struct lw_verify *verify, struct lw_verify_row *report, struct row rows[MOST_ROWS], int64_t *n,
                       struct lw_error *err)
{
    LW_FREED struct lw_notes *notes = NULL;
    int rc = lw_verify_read_notes(verify, "/candidates", &notes, err);
    report->n_all = rc == LW_OK ? notes->n_rows : 0;
    *n = lw_min64(lw_min64(MOST_ROWS, verify->n_wanted), report->n_all);
    for (int64_t i = 0; rc == LW_OK && i < *n; i++) {
        const int64_t begin = report->n_all * i / *n, end = report->n_all * (i + 1) / *n;
        rows[i].number = begin + lw_verify_draw(verify, end - begin);
        const struct lw_rows wanted = {.first = rows[i].number, .count = 1, .columns = columns, .n_columns = N_COLUMNS};
        rc = lw_notes_read_rows(lw_verify_name(verify, "/candidates").text, &wanted, rows[i].values, err);
    }
    qsort(rows, (size_t)*n, sizeof *rows, by_channel);
    return rc;
}

int lw_verify_candidates(struct lw_verify *verify, struct lw_error *err)
{
    struct lw_verify_row *const report = lw_verify_add_row(verify, "/candidates");
    const struct lw_range *const channels = &verify->job.view.channels;
    struct candidates c = {0};
    struct row rows[MOST_ROWS];
    int64_t n, last = -1;
    int rc = choose_rows(verify, report, rows, &n, err);
    if (rc == LW_OK && n > 0)
        rc = open_candidates(verify, &c, err);
    for (int64_t i = 0; rc == LW_OK && i < n; i++) {
        const int64_t channel = ((int64_t)rows[i].values[CHANNEL] - channels->begin) / channels->step;
        if (channel < 0 || channel >= verify->job.op.n_channels) {
            lw_verify_count(report, INFINITY, "row %" PRId64 " has a channel %.0f that was not searched", rows[i].number,
                            rows[i].values[CHANNEL]);
            continue;
        }
        if (channel != last)
            rc = make_spectrum(&c, channel, err);
        last = channel;
        rc = rc ? rc : check_row(&c, &rows[i], report, err);
    }
    close_candidates(&c);
    return rc;
}
