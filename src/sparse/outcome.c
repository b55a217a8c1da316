#include "sparse/outcome.h"

#include "base/integers.h"

#include <string.h>

int64_t lw_sparse_most_own(const struct lw_sparse *run)
{
    return run->has_own_pieces ? lw_divide_up(run->n_pieces, run->n_ranks) * run->piece_channels
                               : lw_divide_up(run->n_channels, run->n_ranks);
}

struct lw_sfft_line *lw_sparse_lines_of(const struct lw_sparse *run, int64_t channel)
{
    const int64_t place = run->has_own_pieces ? channel - run->own_begin : channel / run->n_ranks;
    return run->lines + place * run->request.spec.sparsity;
}

void lw_sparse_keep(struct lw_sparse *run, int64_t channel, const struct lw_sfft_result *result,
                    struct lw_sparse_outcome outcome)
{
    outcome.lines = (double)result->n_lines;
    outcome.residual = result->residual;
    outcome.noise_power = result->noise_power;
    outcome.detection_limit = result->detection_limit;
    outcome.is_explained = result->is_explained;
    run->mine[channel] = outcome;
    struct lw_sfft_line *const lines = lw_sparse_lines_of(run, channel);
    if (result->lines != lines)
        memcpy(lines, result->lines, (size_t)result->n_lines * sizeof *lines);
}

void lw_sparse_share_outcomes(struct lw_sparse *run)
{
    const int64_t count = run->n_channels * (int64_t)(sizeof *run->all / sizeof(double));
    memcpy(run->all, run->mine, (size_t)run->n_channels * sizeof *run->all);
    lw_comm_collect(run->setup.comm, (double *)run->all, count, 0);
    lw_comm_broadcast(run->setup.comm, run->all, count * (int64_t)sizeof(double));
}

bool lw_sparse_is_tried(const struct lw_sparse *run, int64_t channel, int n_attempts)
{
    return run->all[channel].is_explained != 0 || run->all[channel].attempts >= n_attempts;
}

int64_t lw_sparse_next_untried(const struct lw_sparse *run, int64_t from, int n_attempts)
{
    for (int64_t c = from; c < run->n_channels; c++)
        if (lw_sparse_owner(run, c) == run->rank && !lw_sparse_is_tried(run, c, n_attempts))
            return c;
    return -1;
}

int64_t lw_sparse_next_unexplained(const struct lw_sparse *run, int64_t from)
{
    for (int64_t c = from; c < run->n_channels; c++)
        if (lw_sparse_owner(run, c) == run->rank && run->all[c].is_explained == 0 && run->all[c].is_dense == 0)
            return c;
    return -1;
}
