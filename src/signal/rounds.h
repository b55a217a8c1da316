/* rounds.h - who computes what, and when: rounds, slices and channel groups. Pure arithmetic, the same on every rank.
 *
 * This folder is the arithmetic of filtering; it knows neither files nor engines. An output passes through it in this order:
 *
 *     rounds.h       which rank computes it, and in which round
 *     convolution.h  which input samples it needs, and what stands beyond the ends of the signal
 *     post.h         what is made of the filtered series before it is stored: interpolation, power, derivative
 *     search.h       what is found beside the series: crossings of a threshold, the best filter, statistics of blocks
 *     peaks.h        which crossings are peaks. spread.h estimates their noise; separable.h splits kernels of images
 *
 * A slice is what one rank computes in one round:
 *
 *     outputs on the axis   |unit|unit|unit|unit|unit|unit|unit|unit|unit|unit|uni|
 *     round 0               |rank 0   |rank 1   |
 *     round 1                                   |rank 0   |rank 1   |
 *     round 2 (the rest)                                            |rank 0   |1  |
 *
 * Cuts lie at multiples of the grid unit, so that every output is computed in the same segment for any number of ranks and rounds.
 * If a slot, the buffers of a slice (engine/engine.h), cannot hold all channels, the rounds run over the whole axis once per group
 * of channels. If the engine cannot hold all filters, they run over all channels once per group of filters. With the channels or
 * the filters split, all ranks work on the same piece of the axis, each on its own channels or filters.
 *
 * The work is a list of stripes: each is a range of the axis, of channels and of filters. A resumed run does only what the
 * interrupted run left. */
#pragma once

#include "base/error.h"

#include <stdint.h>

LW_C_BEGIN

enum lw_split { LW_SPLIT_AUTO, LW_SPLIT_AXIS, LW_SPLIT_CHANNELS, LW_SPLIT_FILTERS };

/* The facts about cuts that depend on the job alone, not on ranks and memory. */
struct lw_grid {
    int64_t n_outputs;          /* outputs on the axis, >= 1 */
    int64_t unit;               /* outputs between two legal cuts, >= 1 */
    int64_t halo;               /* samples of the axis that a slice needs before its own samples, >= 0 */
    int64_t n_channels;         /* >= 1 */
    int64_t channel_unit;       /* channels between two legal cuts: 2 where adjacent channels are paired, else 1 */
    int64_t n_filters;          /* >= 1; 0 counts as 1 */
};

/* A slice with its channels and filters: the work of one rank in one round; count 0: the rank has none. */
struct lw_block {
    int64_t first, count;               /* outputs on the axis */
    int64_t channel, n_channels;
    int64_t filter, n_filters;          /* filters of the bank that the engine holds in this round, see lw_rounds_hold */
    int64_t round;
};

/* Work: outputs [first, end) of some channels, behind some filters. All begin at legal cuts; `end` is one, or the axis' end. */
struct lw_stripe {
    int64_t first, end;
    int64_t channel, n_channels;
    int64_t filter, n_filters;
};

struct lw_rounds {
    struct lw_grid grid;
    const struct lw_stripe *stripes;    /* the work, one stripe after the other; borrowed; NULL: all outputs */
    int64_t n_stripes;
    int n_ranks;
    enum lw_split split;                /* never AUTO: see lw_rounds_resolve_split */
    int64_t slice;                      /* most outputs of the axis for a rank in a round, a multiple of the unit */
    int64_t group;                      /* most channels for a rank in a round, a multiple of the channel unit */
    int64_t held;                       /* most filters for a rank in a round */
    int64_t n_groups;                   /* groups into which all channels are divided, without regard to stripes */
    int64_t n_rounds;                   /* rounds of all stripes, of all their groups of filters and channels */
};

/** Return the smallest legal `slice` for `n_ranks` ranks. Ranks that share the axis may be left with a rest that is too short to
 * be cut into slices of at least a halo's length; the slice must have room for it. */
int64_t lw_rounds_least_slice(const struct lw_grid *grid, int n_ranks, enum lw_split split);

/** Return `wanted`, or the split that AUTO stands for. AUTO is the axis, unless it is too short to give each rank a slice of a
 * halo's length and the channels or the filters keep more ranks busy, or short beside a bank that gives each rank several
 * filters. */
enum lw_split lw_rounds_resolve_split(const struct lw_grid *grid, int n_ranks, enum lw_split wanted);

/** Return the rounds for the whole job.
 * @param slice  outputs wanted; rounded down to the unit, raised to the least slice, cut to what a single round needs
 * @param group  channels wanted; rounded down to the channel unit, cut to what a single round needs. A rank holds all filters, or
 *               its share of them where they are split */
struct lw_rounds lw_rounds_make(const struct lw_grid *grid, int n_ranks, enum lw_split split,
                                int64_t slice, int64_t group);

/** Let a rank hold at most `held` >= 1 filters in a round. */
void lw_rounds_hold(struct lw_rounds *rounds, int64_t held);

/** Restrict the rounds to the stripes; slice, group and held stay.
 * @param stripes  [n_stripes >= 1]; borrowed for the life of `rounds` */
void lw_rounds_limit(struct lw_rounds *rounds, const struct lw_stripe *stripes, int64_t n_stripes);

/** Find the stripes that are left after the first `n_done` rounds. @param left  set; [lw_rounds_most_left] @return  their number */
int64_t lw_rounds_left(const struct lw_rounds *rounds, int64_t n_done, struct lw_stripe *left);
int64_t lw_rounds_most_left(const struct lw_rounds *rounds);

/** Return the outputs of all rounds, of some stripes, or of the whole job: outputs on the axis times channels times filters. */
int64_t lw_rounds_all_outputs(const struct lw_rounds *rounds);
int64_t lw_stripes_outputs(const struct lw_stripe *stripes, int64_t n_stripes);
int64_t lw_grid_outputs(const struct lw_grid *grid);

/** Return the work of `rank` in `round`, 0 <= round < n_rounds. */
struct lw_block lw_rounds_block(const struct lw_rounds *rounds, int64_t round, int rank);

/** Return the number of ranks with work in `round`: they are the ranks 0 .. workers - 1. */
int lw_rounds_workers(const struct lw_rounds *rounds, int64_t round);

/** Return the outputs of all ranks in `round`: outputs on the axis times channels times filters. */
int64_t lw_rounds_outputs(const struct lw_rounds *rounds, int64_t round);

/** Return whether `round` is the first of its groups of channels and filters in its stripe: the carry (comm/halo.h) must be filled
 * anew. */
bool lw_rounds_starts_axis(const struct lw_rounds *rounds, int64_t round);

LW_C_END
