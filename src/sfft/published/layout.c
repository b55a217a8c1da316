#include "sfft/published/published.h"

#include "base/memory.h"

#include <complex.h>
#include <fftw3.h>
#include <inttypes.h>
#include <math.h>

/* Window whose transform over its 2 h + 1 places is T_2h(beta cos(pi k / (2 h + 1))), with beta such that all side lobes are at
 * the tolerance: Dolph, "A current distribution for broadside arrays", 1946. */
static int fill_dolph_chebyshev(const struct lw_published_plan *plan, int64_t half, double *factor, struct lw_error *err)
{
    const int64_t taps = 2 * half + 1;
    const double degree = 2 * (double)half, beta = cosh(acosh(1 / plan->window.tolerance) / degree);
    LW_FREED double complex *const spectrum = lw_alloc_array(half + 1, sizeof *spectrum, "a window", err);
    LW_FREED double *const values = lw_alloc_array(taps, sizeof *values, "a window", err);
    const fftw_iodim64 dims = {.n = taps, .is = 1, .os = 1};
    const fftw_plan plan_of_values = spectrum && values
                                         ? fftw_plan_guru64_dft_c2r(1, &dims, 0, NULL, spectrum, values, FFTW_ESTIMATE) : NULL;
    int rc = spectrum && values ? LW_OK : LW_ESYSTEM;
    if (rc == LW_OK && !plan_of_values)
        rc = lw_fail(err, LW_ESYSTEM, "FFTW cannot plan a transform of %" PRId64 " taps", taps);
    if (rc == LW_OK) {
        for (int64_t k = 0; k <= half; k++) {       /* Chebyshev polynomial of even degree */
            const double x = beta * cos(M_PI * (double)k / (double)taps);
            spectrum[k] = fabs(x) <= 1 ? cos(degree * acos(x)) : cosh(degree * acosh(fabs(x)));
        }
        fftw_execute(plan_of_values);
        for (int64_t i = 0; i <= half; i++)
            factor[i] = values[i];
    }
    fftw_destroy_plan(plan_of_values);
    return rc;
}

static int create_window(const struct lw_published_plan *plan, struct lw_sfft_window **out, struct lw_error *err)
{
    const int64_t half = lw_published_window_half(plan);
    LW_FREED double *const factor = lw_alloc_array(half + 1, sizeof *factor, "a window", err);
    int rc = factor ? LW_OK : LW_ESYSTEM;
    if (rc == LW_OK && plan->choice.window == LW_PUBLISHED_GAUSSIAN) {
        /* The Gaussian falls to the tolerance at its ends; its transform does so in frequency, at as many deviations. */
        const double decay = log(plan->window.tolerance) / ((double)half * (double)half);
        for (int64_t i = 0; i <= half; i++)
            factor[i] = exp(decay * (double)i * (double)i);
    } else if (rc == LW_OK) {
        rc = fill_dolph_chebyshev(plan, half, factor, err);
    }
    return rc ? rc : lw_sfft_window_create_of(&plan->window, plan->box_half, factor, out, err);
}

int lw_published_layout_create(const struct lw_published_plan *plan, int attempt, struct lw_published_layout **out,
                               struct lw_error *err)
{
    struct lw_published_layout *const layout = *out = lw_alloc(sizeof *layout, "a sparse transform", err);
    if (!layout)
        return LW_ESYSTEM;
    layout->plan = *plan;
    layout->attempt = attempt;
    layout->n_loops = lw_published_count_loops(plan);
    const int rc = create_window(plan, &layout->window, err);
    if (rc)
        return rc;
    for (int l = 0; l <= layout->n_loops; l++)
        layout->loops[l] = lw_published_loop(plan, attempt, l, layout->window);
    return LW_OK;
}

void lw_published_layout_destroy(struct lw_published_layout *layout)
{
    if (layout)
        lw_sfft_window_destroy(layout->window);
    lw_free(layout);
}

/* A transform of the window's length, from one buffer to another, computes the window. */
int64_t lw_published_layout_bytes(const struct lw_published_plan *plan)
{
    const int64_t taps = 2 * lw_published_window_half(plan) + 1;
    return (int64_t)sizeof(struct lw_published_layout) + lw_sfft_window_bytes(&plan->window) +
           2 * lw_sfft_dense_samples_bytes(taps, true) + lw_sfft_fftw_bytes(taps, true);
}
