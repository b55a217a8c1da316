#include "jobs/aliasing.h"

#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "design/response.h"

#include <stdio.h>

static const double most_beyond = 0.01;

/* ---- a set of filters ------------------------------------------------------------------------------------------------ */

/* A set of filters: tap m of filter i is taps[(i step + m stride) parts]. */
struct filters {
    const double *taps;
    int64_t n_filters, n_taps, step, stride;
    int parts;                  /* doubles of a tap: 2 if complex */
    double every;               /* D of --decimate */
};

static int64_t grid_points(int64_t n_taps)
{
    int64_t points = 64;
    while (points < 4 * n_taps)
        points *= 2;
    return points;
}

/* Return the doubles of work space: for a filter and its response. */
static int64_t work_doubles(int64_t n_taps) { return 2 * n_taps + lw_response_work(grid_points(n_taps)); }

/* Return the part of the filters' energy beyond half the new rate; 0 for filters of zeros. */
static double part_beyond(const struct filters *f, double *work)
{
    double all = 0, beyond = 0;
    for (int64_t i = 0; i < f->n_filters; i++) {
        const int64_t points = grid_points(f->n_taps);
        double *const response = work + 2 * f->n_taps;
        for (int64_t m = 0; m < f->n_taps; m++)
            memcpy(work + m * f->parts, f->taps + (i * f->step + m * f->stride) * f->parts, (size_t)f->parts * sizeof *work);
        lw_response_magnitudes(work, f->n_taps, f->parts, points, response);
        for (int64_t k = 0; k < points; k++) {
            const double frequency = (double)lw_min64(k, points - k) / (double)points, energy = response[k] * response[k];
            all += energy;
            beyond += 2 * f->every * frequency > 1 ? energy : 0;
        }
    }
    return all > 0 ? beyond / all : 0;
}

/* ---- banks ----------------------------------------------------------------------------------------------------------- */

/* Bytes of filters that are taken at a time. */
enum { PIECE_BYTES = 16 << 20 };

int lw_ols_warn_of_aliasing(struct lw_job *job, struct lw_error *err)
{
    const struct lw_ols_spec *const ols = &job->op.ols;
    const double rate_hz = job->inputs[0].axis.sample_rate_hz;
    double most = 0;
    int worst = 0, n_wide = 0, rc = LW_OK;
    if (lw_post_every(ols->post) == 1)
        return LW_OK;
    const int64_t doubles = work_doubles(ols->n_taps);
    LW_FREED double *const work = lw_alloc_array(doubles + 2 * ols->n_taps, sizeof *work, "the filters' responses", err);
    if (!work)
        return LW_ESYSTEM;
    double *const taps = work + doubles;
    const struct filters filter = {taps, 1, ols->n_taps, ols->n_taps, 1, ols->taps_complex ? 2 : 1, lw_post_every(ols->post)};
    const int64_t together = lw_max64(1, PIECE_BYTES / lw_max64(1, lw_job_filter_bytes(job, 1)));
    struct lw_stored_taps held = {0};
    for (int f = 0; f < ols->n_filters; f++) {
        if (f % together == 0 && (rc = lw_job_take_filters(job, f, lw_min64(together, ols->n_filters - f), &held, err)))
            break;
        lw_stored_filter(&held, ols->n_taps, f % together, taps);
        const double part = part_beyond(&filter, work);
        n_wide += part > most_beyond;
        worst = part > most ? f : worst;
        most = fmax(most, part);
    }
    if (rc == LW_OK && n_wide > 0) {
        char nyquist[40] = "", all[80] = "";
        if (rate_hz > 0)
            snprintf(nyquist, sizeof nyquist, " (%.6g Hz)", rate_hz / 2 / lw_post_every(ols->post));
        if (n_wide > 1)
            snprintf(all, sizeof all, ", and %d of %d filters have more than %g%%", n_wide, ols->n_filters, 100 * most_beyond);
        lw_log_warn("filter %d has %.3g%% of its energy beyond half the new sampling rate%s%s: --decimate folds this part back "
                    "into the result; decimate by less, or use narrower filters", worst, 100 * most, nyquist, all);
    }
    return rc;
}

/* ---- kernels --------------------------------------------------------------------------------------------------------- */

int lw_conv2d_warn_of_aliasing(const struct lw_conv2d_spec *c, struct lw_error *err)
{
    const double every = lw_conv2d_every(c);
    const int parts = c->kernel_complex ? 2 : 1;
    const struct filters down = {c->kernel, c->kernel_columns, c->kernel_rows, 1, c->kernel_columns, parts, every};
    const struct filters across = {c->kernel, c->kernel_rows, c->kernel_columns, c->kernel_columns, 1, parts, every};
    if (lw_conv2d_every(c) == 1)
        return LW_OK;
    const int64_t longest = lw_max64(c->kernel_rows, c->kernel_columns);
    LW_FREED double *const work = lw_alloc_array(work_doubles(longest), sizeof *work, "the kernel's response", err);
    if (!work)
        return LW_ESYSTEM;
    const double rows = part_beyond(&down, work), columns = part_beyond(&across, work);
    if (fmax(rows, columns) > most_beyond)
        lw_log_warn("the kernel has %.3g%% of its energy beyond half the new sampling rate from row to row and %.3g%% from column "
                    "to column: --decimate folds this part back into the result; decimate by less, or use a smoother kernel",
                    100 * rows, 100 * columns);
    return LW_OK;
}
