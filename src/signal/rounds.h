/* rounds.h - who computes what, and when: rounds, slices and channel groups. Pure arithmetic, the same on every rank.
 *
 *     outputs on the axis   |unit|unit|unit|unit|unit|unit|unit|unit|unit|unit|uni|
 *     round 0               |rank 0   |rank 1   |
 *     round 1                                   |rank 0   |rank 1   |
 *     round 2 (the rest)                                            |rank 0   |1  |
 *
 * Cuts lie at multiples of the grid unit, so that every output is computed in the same segment whatever the number of
 * ranks and rounds. Where there are more channels than a slot holds, the rounds run over the whole axis once per group
 * of channels. With the channels split, all ranks work on the same piece of the axis and each on channels of its own.
 *
 * A run that goes on with what an earlier one has left does the rest, stripe by stripe: of each range of channels, the outputs from
 * where the earlier one came to. */
#pragma once

#include "base/error.h"
#include "base/linkage.h"

#include <stdbool.h>
#include <stdint.h>

LW_C_BEGIN

enum lw_split { LW_SPLIT_AUTO, LW_SPLIT_AXIS, LW_SPLIT_CHANNELS };

/* What the job fixes: independent of ranks and memory. */
struct lw_grid {
    int64_t n_outputs;          /* on the axis, >= 1 */
    int64_t unit;               /* outputs between two legal cuts, >= 1 */
    int64_t halo;               /* axis samples needed before a slice, >= 0 */
    int64_t n_channels;         /* >= 1 */
    int64_t channel_unit;       /* channels between two legal cuts: 2 where adjacent channels are paired, else 1 */
};

/* The part of the work that one rank does in one round. `count` = 0: nothing. */
struct lw_block {
    int64_t first, count;               /* outputs on the axis */
    int64_t channel, n_channels;
    int64_t round;
};

/* Work that is left: outputs [first, end of the axis) of channels [channel, channel + n_channels). Both begin at legal cuts. */
struct lw_stripe {
    int64_t first;
    int64_t channel, n_channels;
};

struct lw_rounds {
    struct lw_grid grid;
    const struct lw_stripe *stripes;    /* what is to be done, one after the other; borrowed; NULL: all */
    int64_t n_stripes;
    int n_ranks;
    enum lw_split split;                /* resolved: never AUTO */
    int64_t slice;                      /* most outputs a rank takes in a round, a multiple of the unit */
    int64_t group;                      /* most channels a rank takes in a round, a multiple of the channel unit */
    int64_t n_groups;
    int64_t n_rounds;                   /* all groups and stripes together */
};

/** The smallest legal `slice` for that many ranks: where ranks share the axis it must hold a rest that is too short to be
 * cut into slices of a halo's length. */
int64_t lw_rounds_least_slice(const struct lw_grid *grid, int n_ranks, enum lw_split split);

/** AUTO resolved: channels, where the axis has too few least slices to give each rank one and there are enough channels
 * to occupy more ranks than the axis can; otherwise the axis. */
enum lw_split lw_rounds_resolve_split(const struct lw_grid *grid, int n_ranks, enum lw_split wanted);

/** @param slice  wanted; rounded down to the unit, raised to the least slice, capped at what one round needs
 *  @param group  wanted; rounded down to the channel unit, capped likewise */
struct lw_rounds lw_rounds_make(const struct lw_grid *grid, int n_ranks, enum lw_split split,
                                int64_t slice, int64_t group);

/** Do no more than what is left, in rounds of the same size.
 * @param stripes  1 or more; their channels rise; borrowed for the rounds' life */
void lw_rounds_limit(struct lw_rounds *rounds, const struct lw_stripe *stripes, int64_t n_stripes);

/** What the first `n_done` rounds leave to be done. @param left  room for lw_rounds_most_left stripes @return  how many there
 * are */
int64_t lw_rounds_left(const struct lw_rounds *rounds, int64_t n_done, struct lw_stripe *left);
int64_t lw_rounds_most_left(const struct lw_rounds *rounds);

/** Outputs of all rounds, and of stripes: on the axis times channels. */
int64_t lw_rounds_all_outputs(const struct lw_rounds *rounds);
int64_t lw_stripes_outputs(const struct lw_grid *grid, const struct lw_stripe *stripes, int64_t n_stripes);

/** What `rank` does in `round`, 0 <= round < n_rounds. */
struct lw_block lw_rounds_block(const struct lw_rounds *rounds, int64_t round, int rank);

/** Ranks with work in `round`: ranks 0 .. workers-1 have some, the others none. */
int lw_rounds_workers(const struct lw_rounds *rounds, int64_t round);

/** Outputs of all ranks in `round`, on the axis times channels. */
int64_t lw_rounds_outputs(const struct lw_rounds *rounds, int64_t round);

/** Whether `round` is the first on the axis of its group of channels, or of what is left of it: there the carry starts afresh. */
bool lw_rounds_starts_axis(const struct lw_rounds *rounds, int64_t round);

LW_C_END
