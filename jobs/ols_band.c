#include "jobs/ols_band.h"

#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"

#include <fftw3.h>
#include <math.h>
#include <stdio.h>

static const double most_beyond = 0.01;

/* A filter's taps at the front, zeros behind, and their transform in the same place. */
struct grid {
    int n;
    fftw_complex *points;
    fftw_plan plan;
};

static int open_grid(const struct lw_ols_spec *ols, struct grid *grid, struct lw_error *err)
{
    int64_t n = 64;
    while (n < 4 * ols->n_taps)
        n *= 2;
    *grid = (struct grid){.n = (int)min64(n, 1 << 30)};
    if (!(grid->points = lw_alloc_array(grid->n, sizeof *grid->points, "the filters' spectra", err)))
        return LW_ESYSTEM;
    grid->plan = fftw_plan_dft_1d(grid->n, grid->points, grid->points, FFTW_FORWARD, FFTW_ESTIMATE);
    return grid->plan ? LW_OK : lw_fail(err, LW_ESYSTEM, "FFTW cannot plan the filters' spectra of %d points", grid->n);
}

static void close_grid(struct grid *grid)
{
    fftw_destroy_plan(grid->plan);
    lw_free(grid->points);
}

static void fill(const struct grid *grid, const struct lw_ols_spec *ols, int filter)
{
    const int parts = ols->taps_complex ? 2 : 1;
    const double *const taps = ols->taps + filter * ols->n_taps * parts;
    for (int64_t i = 0; i < grid->n; i++) {
        const bool is_tap = i < ols->n_taps;
        grid->points[i][0] = is_tap ? taps[i * parts] : 0;
        grid->points[i][1] = is_tap && parts == 2 ? taps[i * parts + 1] : 0;
    }
}

/* The part of a filter's energy at frequencies beyond 1 / (2 every) of the sampling rate; 0 for a filter of zeros. */
static double part_beyond(const struct grid *grid, const struct lw_ols_spec *ols, int filter)
{
    const double every = lw_post_every(ols->post);
    double all = 0, beyond = 0;
    fill(grid, ols, filter);
    fftw_execute(grid->plan);
    for (int64_t k = 0; k < grid->n; k++) {
        const double frequency = (double)min64(k, grid->n - k) / grid->n;
        const double energy = grid->points[k][0] * grid->points[k][0] + grid->points[k][1] * grid->points[k][1];
        all += energy;
        beyond += 2 * every * frequency > 1 ? energy : 0;
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
    struct grid grid;
    double most = 0;
    int worst = 0, n_wide = 0;
    if (lw_post_every(ols->post) == 1)
        return LW_OK;
    const int rc = open_grid(ols, &grid, err);
    for (int f = 0; rc == LW_OK && f < ols->n_filters; f++) {
        const double part = part_beyond(&grid, ols, f);
        n_wide += part > most_beyond;
        worst = part > most ? f : worst;
        most = fmax(most, part);
    }
    close_grid(&grid);
    if (rc == LW_OK && n_wide > 0)
        warn(ols, rate_hz, worst, most, n_wide);
    return rc;
}
