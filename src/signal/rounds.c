#include "signal/rounds.h"

#include "base/integers.h"

#include <assert.h>

static int64_t count_filters(const struct lw_grid *grid) { return lw_max64(1, grid->n_filters); }

/* Return the least grid units of a slice when ranks share the axis: enough for a halo. */
static int64_t least_units(const struct lw_grid *grid)
{
    return lw_max64(1, lw_divide_up(grid->halo, grid->unit));
}

int64_t lw_rounds_least_slice(const struct lw_grid *grid, int n_ranks, enum lw_split split)
{
    const bool alone = n_ranks == 1 || split != LW_SPLIT_AXIS;
    /* A rest of up to 2 least - 1 units is too short for two slices of `least` units, so that one rank takes the whole rest. */
    return (alone ? 1 : 2 * least_units(grid) - 1) * grid->unit;
}

/* Ranks that share the axis all prepare every filter, which takes about the time of filtering a segment. They share the filters if
 * a rank would have fewer than UNITS_PER_RANK segments, and at least FILTERS_PER_RANK filters. */
#define UNITS_PER_RANK 16
#define FILTERS_PER_RANK 4

enum lw_split lw_rounds_resolve_split(const struct lw_grid *grid, int n_ranks, enum lw_split wanted)
{
    if (wanted != LW_SPLIT_AUTO)
        return wanted;
    if (n_ranks == 1)
        return LW_SPLIT_AXIS;
    const int64_t units = lw_divide_up(grid->n_outputs, grid->unit), slices = lw_max64(1, units / least_units(grid));
    const int64_t shares = lw_divide_up(grid->n_channels, grid->channel_unit);
    const bool is_bank = count_filters(grid) >= FILTERS_PER_RANK * n_ranks;
    if (is_bank && units * shares < UNITS_PER_RANK * n_ranks)
        return LW_SPLIT_FILTERS;
    const int64_t filters = count_filters(grid);
    if (slices >= n_ranks || lw_max64(shares, filters) <= slices)
        return LW_SPLIT_AXIS;
    return lw_min64(shares, n_ranks) >= lw_min64(filters, n_ranks) ? LW_SPLIT_CHANNELS : LW_SPLIT_FILTERS;
}

/* Return the outputs on the axis that all ranks together compute in a full round; group_span: their channels; held_span: their
 * filters. */
static int64_t round_span(const struct lw_rounds *rounds)
{
    return rounds->slice * (rounds->split == LW_SPLIT_AXIS ? rounds->n_ranks : 1);
}

static int64_t group_span(const struct lw_rounds *rounds)
{
    return rounds->group * (rounds->split == LW_SPLIT_CHANNELS ? rounds->n_ranks : 1);
}

static int64_t held_span(const struct lw_rounds *rounds)
{
    return rounds->held * (rounds->split == LW_SPLIT_FILTERS ? rounds->n_ranks : 1);
}

static struct lw_stripe all_of(const struct lw_grid *grid)
{
    return (struct lw_stripe){.end = grid->n_outputs, .n_channels = grid->n_channels, .n_filters = count_filters(grid)};
}

static struct lw_stripe stripe_of(const struct lw_rounds *rounds, int64_t number)
{
    return rounds->stripes ? rounds->stripes[number] : all_of(&rounds->grid);
}

static int64_t count_stripes(const struct lw_rounds *rounds) { return rounds->stripes ? rounds->n_stripes : 1; }

/* Return the rounds of one group of channels and one of filters in a stripe; held_rounds: of one group of filters and all channels;
 * stripe_rounds: of all. */
static int64_t axis_rounds(const struct lw_rounds *rounds, const struct lw_stripe *stripe)
{
    return lw_divide_up(stripe->end - stripe->first, round_span(rounds));
}

static int64_t held_rounds(const struct lw_rounds *rounds, const struct lw_stripe *stripe)
{
    return axis_rounds(rounds, stripe) * lw_divide_up(stripe->n_channels, group_span(rounds));
}

static int64_t stripe_rounds(const struct lw_rounds *rounds, const struct lw_stripe *stripe)
{
    return held_rounds(rounds, stripe) * lw_divide_up(stripe->n_filters, held_span(rounds));
}

static int64_t count_rounds(const struct lw_rounds *rounds)
{
    int64_t n = 0;
    for (int64_t number = 0; number < count_stripes(rounds); number++) {
        const struct lw_stripe stripe = stripe_of(rounds, number);
        n += stripe_rounds(rounds, &stripe);
    }
    return n;
}

/* The work of all ranks together in one round: outputs [first, first + count) of some channels, behind some filters. */
struct span {
    int64_t first, count;
    int64_t channel, n_channels;
    int64_t filter, n_filters;
    bool starts_axis;
};

static struct span span_of(const struct lw_rounds *rounds, int64_t round)
{
    struct lw_stripe stripe = stripe_of(rounds, 0);
    int64_t number = 0, its_rounds = stripe_rounds(rounds, &stripe);
    while (round >= its_rounds) {
        round -= its_rounds;
        stripe = stripe_of(rounds, ++number);
        its_rounds = stripe_rounds(rounds, &stripe);
    }
    const int64_t along = axis_rounds(rounds, &stripe), of_filters = held_rounds(rounds, &stripe);
    const int64_t step = round % along, channels = round % of_filters / along * group_span(rounds);
    const int64_t filters = round / of_filters * held_span(rounds), first = stripe.first + step * round_span(rounds);
    return (struct span){
        .first = first, .count = lw_min64(round_span(rounds), stripe.end - first),
        .channel = stripe.channel + channels, .n_channels = lw_min64(group_span(rounds), stripe.n_channels - channels),
        .filter = stripe.filter + filters, .n_filters = lw_min64(held_span(rounds), stripe.n_filters - filters),
        .starts_axis = step == 0,
    };
}

struct lw_rounds lw_rounds_make(const struct lw_grid *grid, int n_ranks, enum lw_split split,
                                int64_t slice, int64_t group)
{
    assert(split != LW_SPLIT_AUTO && grid->n_outputs > 0 && grid->unit > 0 && n_ranks > 0);
    struct lw_rounds rounds = {.grid = *grid, .n_ranks = n_ranks, .split = split};

    const int64_t parts = split == LW_SPLIT_AXIS ? n_ranks : 1, shares = split == LW_SPLIT_CHANNELS ? n_ranks : 1;
    const int64_t enough = lw_divide_up(lw_divide_up(grid->n_outputs, grid->unit), parts) * grid->unit;
    const int64_t all_channels = lw_divide_up(lw_divide_up(grid->n_channels, grid->channel_unit), shares) * grid->channel_unit;
    rounds.slice = lw_max64(slice - slice % grid->unit, lw_rounds_least_slice(grid, n_ranks, split));
    rounds.slice = lw_max64(lw_min64(rounds.slice, enough), lw_rounds_least_slice(grid, n_ranks, split));

    rounds.group = lw_min64(lw_max64(group - group % grid->channel_unit, grid->channel_unit), all_channels);

    rounds.held = lw_divide_up(count_filters(grid), split == LW_SPLIT_FILTERS ? n_ranks : 1);
    rounds.n_groups = lw_divide_up(grid->n_channels, group_span(&rounds));
    rounds.n_rounds = count_rounds(&rounds);
    return rounds;
}

void lw_rounds_hold(struct lw_rounds *rounds, int64_t held)
{
    assert(held >= 1);
    rounds->held = held;
    rounds->n_rounds = count_rounds(rounds);
}

/* ---- the rest of an interrupted run ---------------------------------------------------------------------------------- */

void lw_rounds_limit(struct lw_rounds *rounds, const struct lw_stripe *stripes, int64_t n_stripes)
{
    assert(n_stripes > 0);
    rounds->stripes = stripes;
    rounds->n_stripes = n_stripes;
    rounds->n_rounds = count_rounds(rounds);
}

int64_t lw_rounds_most_left(const struct lw_rounds *rounds) { return count_stripes(rounds) + 2; }

/* Find what is left of a stripe after its first n_done rounds: of the begun group of channels, of the other channels behind the
 * begun group of filters, and behind all other filters. @return  the number of these stripes, up to 3 */
static int64_t rest_of(const struct lw_rounds *rounds, const struct lw_stripe *stripe, int64_t n_done, struct lw_stripe *left)
{
    const int64_t of_filters = held_rounds(rounds, stripe), along = axis_rounds(rounds, stripe);
    const int64_t filters = n_done / of_filters * held_span(rounds), in_filters = n_done % of_filters;
    const int64_t begun_filters = in_filters > 0 ? lw_min64(held_span(rounds), stripe->n_filters - filters) : 0;
    const int64_t channels = in_filters / along * group_span(rounds), steps = in_filters % along;
    const int64_t begun = steps > 0 ? lw_min64(group_span(rounds), stripe->n_channels - channels) : 0;
    struct lw_stripe its = *stripe;
    int64_t n = 0;
    its.filter += filters;
    its.n_filters = begun_filters;
    if (begun > 0) {
        left[n] = its;
        left[n].first += steps * round_span(rounds);
        left[n].channel += channels;
        left[n++].n_channels = begun;
    }
    if (begun_filters > 0 && channels + begun < stripe->n_channels) {
        left[n] = its;
        left[n].channel += channels + begun;
        left[n++].n_channels -= channels + begun;
    }
    its.filter += begun_filters;
    its.n_filters = stripe->n_filters - filters - begun_filters;
    if (its.n_filters > 0)
        left[n++] = its;
    return n;
}

int64_t lw_rounds_left(const struct lw_rounds *rounds, int64_t n_done, struct lw_stripe *left)
{
    int64_t n = 0;
    for (int64_t s = 0; s < count_stripes(rounds); s++) {
        const struct lw_stripe stripe = stripe_of(rounds, s);
        const int64_t n_its = lw_min64(n_done, stripe_rounds(rounds, &stripe));
        n += rest_of(rounds, &stripe, n_its, left + n);
        n_done -= n_its;
    }
    return n;
}

int64_t lw_stripes_outputs(const struct lw_stripe *stripes, int64_t n_stripes)
{
    int64_t outputs = 0;
    for (int64_t s = 0; s < n_stripes; s++)
        outputs += (stripes[s].end - stripes[s].first) * stripes[s].n_channels * stripes[s].n_filters;
    return outputs;
}

int64_t lw_grid_outputs(const struct lw_grid *grid)
{
    const struct lw_stripe all = all_of(grid);
    return lw_stripes_outputs(&all, 1);
}

int64_t lw_rounds_all_outputs(const struct lw_rounds *rounds)
{
    return rounds->stripes ? lw_stripes_outputs(rounds->stripes, rounds->n_stripes) : lw_grid_outputs(&rounds->grid);
}

/* ---- a round --------------------------------------------------------------------------------------------------------- */

static int count_workers(const struct lw_rounds *rounds, const struct span *span)
{
    const struct lw_grid *const grid = &rounds->grid;
    if (rounds->split == LW_SPLIT_CHANNELS)
        return (int)lw_min64(rounds->n_ranks, lw_divide_up(span->n_channels, grid->channel_unit));
    if (rounds->split == LW_SPLIT_FILTERS)
        return (int)lw_min64(rounds->n_ranks, span->n_filters);
    return (int)lw_max64(1, lw_min64(rounds->n_ranks, lw_divide_up(span->count, grid->unit) / least_units(grid)));
}

int lw_rounds_workers(const struct lw_rounds *rounds, int64_t round)
{
    const struct span span = span_of(rounds, round);
    return count_workers(rounds, &span);
}

/* The part of `length` that worker `rank` gets. Cuts lie at multiples of `unit`; parts are as even as that allows, longer first. */
static void cut(int64_t length, int64_t unit, int workers, int rank, int64_t *first, int64_t *count)
{
    const int64_t units = lw_divide_up(length, unit), base = units / workers, longer = units % workers;
    const int64_t begin = rank * base + lw_min64(rank, longer), end = begin + base + (rank < longer);
    *first = begin * unit;
    *count = lw_min64(end * unit, length) - *first;
}

struct lw_block lw_rounds_block(const struct lw_rounds *rounds, int64_t round, int rank)
{
    const struct lw_grid *const grid = &rounds->grid;
    const struct span span = span_of(rounds, round);
    const int workers = count_workers(rounds, &span);
    struct lw_block block = {.count = span.count, .n_channels = span.n_channels, .n_filters = span.n_filters, .round = round};
    if (rank >= workers)
        return (struct lw_block){.round = round};
    if (rounds->split == LW_SPLIT_AXIS)
        cut(span.count, grid->unit, workers, rank, &block.first, &block.count);
    else if (rounds->split == LW_SPLIT_CHANNELS)
        cut(span.n_channels, grid->channel_unit, workers, rank, &block.channel, &block.n_channels);
    else
        cut(span.n_filters, 1, workers, rank, &block.filter, &block.n_filters);
    block.first += span.first;
    block.channel += span.channel;
    block.filter += span.filter;
    return block;
}

bool lw_rounds_starts_axis(const struct lw_rounds *rounds, int64_t round)
{
    return span_of(rounds, round).starts_axis;
}

int64_t lw_rounds_outputs(const struct lw_rounds *rounds, int64_t round)
{
    const struct span span = span_of(rounds, round);
    return span.count * span.n_channels * span.n_filters;
}
