#include "jobs/ols_band.h"

#include "base/log.h"
#include "base/memory.h"
#include "filters/response.h"

#include <math.h>
#include <stdio.h>

static const double most_beyond = 0.01;

static int64_t grid_points(const struct lw_ols_spec *ols)
{
    int64_t points = 64;
    while (points < 4 * ols->n_taps)
        points *= 2;
    return points;
}

/* The part of a filter's energy at frequencies beyond 1 / (2 every) of the sampling rate; 0 for a filter of zeros. */
static double part_beyond(const struct lw_ols_spec *ols, int filter, int64_t points, double *work)
{
    const int parts = ols->taps_complex ? 2 : 1;
    const double every = lw_post_every(ols->post);
    double all = 0, beyond = 0;
    lw_response_magnitudes(ols->taps + filter * ols->n_taps * parts, ols->n_taps, parts, points, work);
    for (int64_t k = 0; k < points; k++) {
        const double frequency = (double)(k < points - k ? k : points - k) / (double)points;
        all += work[k] * work[k];
        beyond += 2 * every * frequency > 1 ? work[k] * work[k] : 0;
    }
    return all > 0 ? beyond / all : 0;
}

static void warn(const struct lw_ols_spec *ols, double rate_hz, int worst, double part, int n_wide)
{
    char nyquist[40] = "", all[80] = "";
    if (rate_hz > 0)
        snprintf(nyquist, sizeof nyquist, " (%.6g Hz)", rate_hz / 2 / lw_post_every(ols->post));
    if (n_wide > 1)
        snprintf(all, sizeof all, ", and %d of %d filters have more than %g%%", n_wide, ols->n_filters, 100 * most_beyond);
    lw_log_warn("filter %d has %.3g%% of its energy beyond half the new sampling rate%s%s: it is folded back into the result; decimate by "
                "less, or filter more narrowly", worst, 100 * part, nyquist, all);
}

int lw_ols_warn_of_aliasing(const struct lw_ols_spec *ols, double rate_hz, struct lw_error *err)
{
    double most = 0;
    int worst = 0, n_wide = 0;
    if (lw_post_every(ols->post) == 1)
        return LW_OK;
    const int64_t points = grid_points(ols);
    double *const work = lw_alloc_array(lw_response_work(points), sizeof *work, "the filters' responses", err);
    if (!work)
        return LW_ESYSTEM;
    for (int f = 0; f < ols->n_filters; f++) {
        const double part = part_beyond(ols, f, points, work);
        n_wide += part > most_beyond;
        worst = part > most ? f : worst;
        most = fmax(most, part);
    }
    lw_free(work);
    if (n_wide > 0)
        warn(ols, rate_hz, worst, most, n_wide);
    return LW_OK;
}
