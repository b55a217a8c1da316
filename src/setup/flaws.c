#include "setup/flaws.h"

#include "base/integers.h"

void lw_flaws_widen(struct lw_flaws *flaws, int64_t first, int64_t end, bool is_rough)
{
    flaws->first = flaws->end > 0 ? lw_min64(flaws->first, first) : first;
    if (end > flaws->end || (end == flaws->end && !is_rough)) {
        flaws->end = end;
        flaws->is_rough = is_rough;
    }
}

void lw_flaws_add(struct lw_flaws *flaws, const struct lw_flaws *more)
{
    flaws->n_not_finite += more->n_not_finite;
    flaws->n_sought += more->n_sought;
    flaws->n_out_of_range += more->n_out_of_range;
    flaws->n_quiet += more->n_quiet;
    flaws->loss.n_saturated += more->loss.n_saturated;
    flaws->loss.n_nan += more->loss.n_nan;
    if (more->end > 0)
        lw_flaws_widen(flaws, more->first, more->end, more->is_rough);
}

/* ---- all ranks ----------------------------------------------------------------------------------------------------- */

void lw_flaws_sum(struct lw_comm *comm, struct lw_flaws *flaws)
{
    int64_t *const counts[] = {&flaws->n_not_finite, &flaws->n_out_of_range, &flaws->n_quiet, &flaws->loss.n_saturated,
                               &flaws->loss.n_nan};
    enum { N = sizeof counts / sizeof *counts };
    int64_t sums[N];
    for (int i = 0; i < N; i++)
        sums[i] = *counts[i];
    lw_comm_sums(comm, sums, N);
    for (int i = 0; i < N; i++)
        *counts[i] = sums[i];
    const int64_t end = lw_comm_max(comm, flaws->end);
    flaws->first = lw_comm_min(comm, flaws->end > 0 ? flaws->first : INT64_MAX);
    flaws->is_rough = lw_comm_min(comm, flaws->end < end || flaws->is_rough) > 0;
    flaws->end = end;
}
