#include "signal/rounds.h"

#include "base/integers.h"

#include <assert.h>

/* Units in the shortest slice while more than one rank has work. */
static int64_t least_units(const struct lw_grid *grid)
{
    return max64(1, divide_up(grid->halo, grid->unit));
}

int64_t lw_rounds_least_slice(const struct lw_grid *grid, int n_ranks, enum lw_split split)
{
    const bool alone = n_ranks == 1 || split == LW_SPLIT_CHANNELS;
    /* A rest too short for w + 1 least slices goes to w ranks, so the longest slice has up to 2 least - 1 units. */
    return (alone ? 1 : 2 * least_units(grid) - 1) * grid->unit;
}

enum lw_split lw_rounds_resolve_split(const struct lw_grid *grid, int n_ranks, enum lw_split wanted)
{
    if (wanted != LW_SPLIT_AUTO)
        return wanted;
    const int64_t slices = max64(1, divide_up(grid->n_outputs, grid->unit) / least_units(grid));
    const int64_t shares = divide_up(grid->n_channels, grid->channel_unit);
    return slices < n_ranks && shares > slices ? LW_SPLIT_CHANNELS : LW_SPLIT_AXIS;
}

/* Units [begin, end) of `total` that fall to part `part` of `parts`: as even as can be, the longer ones first. */
static void share(int64_t total, int64_t parts, int64_t part, int64_t *begin, int64_t *end)
{
    const int64_t base = total / parts, longer = total % parts;
    *begin = part * base + min64(part, longer);
    *end = *begin + base + (part < longer);
}

/* Outputs that all ranks together take in a full round. */
static int64_t round_span(const struct lw_rounds *rounds)
{
    return rounds->slice * (rounds->split == LW_SPLIT_AXIS ? rounds->n_ranks : 1);
}

static int64_t axis_rounds(const struct lw_rounds *rounds)
{
    return divide_up(rounds->grid.n_outputs, round_span(rounds));
}

/* Most channels that one rank has over the whole run. */
static int64_t rank_channels(const struct lw_grid *grid, int n_ranks, enum lw_split split)
{
    if (split == LW_SPLIT_AXIS)
        return grid->n_channels;
    const int64_t units = divide_up(divide_up(grid->n_channels, grid->channel_unit), n_ranks);
    return min64(units * grid->channel_unit, grid->n_channels);
}

struct lw_rounds lw_rounds_make(const struct lw_grid *grid, int n_ranks, enum lw_split split,
                                int64_t slice, int64_t group)
{
    assert(split != LW_SPLIT_AUTO && grid->n_outputs > 0 && grid->unit > 0 && n_ranks > 0);
    struct lw_rounds rounds = {.grid = *grid, .n_ranks = n_ranks, .split = split};

    const int64_t parts = split == LW_SPLIT_AXIS ? n_ranks : 1;
    const int64_t enough = divide_up(divide_up(grid->n_outputs, grid->unit), parts) * grid->unit;
    rounds.slice = max64(slice - slice % grid->unit, lw_rounds_least_slice(grid, n_ranks, split));
    rounds.slice = max64(min64(rounds.slice, enough), lw_rounds_least_slice(grid, n_ranks, split));

    const int64_t most = rank_channels(grid, n_ranks, split);
    rounds.group = max64(group - group % grid->channel_unit, grid->channel_unit);
    rounds.group = min64(rounds.group, divide_up(most, grid->channel_unit) * grid->channel_unit);

    rounds.n_groups = divide_up(most, rounds.group);
    rounds.n_rounds = rounds.n_groups * axis_rounds(&rounds);
    return rounds;
}

int64_t lw_rounds_end(const struct lw_rounds *rounds, int64_t round)
{
    return min64((round % axis_rounds(rounds) + 1) * round_span(rounds), rounds->grid.n_outputs);
}

int lw_rounds_workers(const struct lw_rounds *rounds, int64_t round)
{
    const struct lw_grid *const grid = &rounds->grid;
    if (rounds->split == LW_SPLIT_CHANNELS)
        return (int)min64(rounds->n_ranks, divide_up(grid->n_channels, grid->channel_unit));
    const int64_t begin = round % axis_rounds(rounds) * round_span(rounds);
    const int64_t units = divide_up(lw_rounds_end(rounds, round) - begin, grid->unit);
    return (int)max64(1, min64(rounds->n_ranks, units / least_units(grid)));
}

static void axis_part(const struct lw_rounds *rounds, int64_t round, int rank, int workers, struct lw_block *block)
{
    const struct lw_grid *const grid = &rounds->grid;
    const int64_t begin = round % axis_rounds(rounds) * round_span(rounds);
    const int64_t length = lw_rounds_end(rounds, round) - begin;
    int64_t first = 0, last = divide_up(length, grid->unit);
    if (rounds->split == LW_SPLIT_AXIS)
        share(last, workers, rank, &first, &last);
    block->first = begin + first * grid->unit;
    block->count = min64(last * grid->unit, length) - first * grid->unit;
}

static void channel_part(const struct lw_rounds *rounds, int64_t round, int rank, int workers, struct lw_block *block)
{
    const struct lw_grid *const grid = &rounds->grid;
    int64_t begin = 0, end = grid->n_channels;
    if (rounds->split == LW_SPLIT_CHANNELS) {
        share(divide_up(grid->n_channels, grid->channel_unit), workers, rank, &begin, &end);
        begin *= grid->channel_unit;
        end = min64(end * grid->channel_unit, grid->n_channels);
    }
    block->channel = min64(begin + round / axis_rounds(rounds) * rounds->group, end);
    block->n_channels = min64(rounds->group, end - block->channel);
}

struct lw_block lw_rounds_block(const struct lw_rounds *rounds, int64_t round, int rank)
{
    struct lw_block block = {.round = round};
    const int workers = lw_rounds_workers(rounds, round);
    if (rank >= workers)
        return block;
    axis_part(rounds, round, rank, workers, &block);
    channel_part(rounds, round, rank, workers, &block);
    if (block.n_channels == 0)
        block.count = 0;
    return block;
}

bool lw_rounds_starts_axis(const struct lw_rounds *rounds, int64_t round)
{
    return round % axis_rounds(rounds) == 0;
}

int64_t lw_rounds_outputs(const struct lw_rounds *rounds, int64_t round)
{
    int64_t outputs = 0;
    for (int rank = 0; rank < rounds->n_ranks; rank++) {
        const struct lw_block block = lw_rounds_block(rounds, round, rank);
        outputs += block.count * block.n_channels;
    }
    return outputs;
}
