/* counted.h - outputs that count: those that are made of recorded samples.
 *
 * For the noise, these do not count:
 *
 *     - outputs that touch samples that do not count: masked ones, with --nan zero those that are not finite, and those of gaps
 *       between files; with --masked-fraction F only where such samples are more than this part of all that the output is made of
 *     - outputs that reach beyond the ends (an image's sides), where the boundary makes the samples, so that they are of less
 *       noise; but where fewer than one in LW_COUNTED_ENDS outputs or more than half of them do, and behind boundary wrap, these
 *       count, too
 *     - outputs of samples that are all alike, LW_COUNTED_ALIKE at least: nothing was recorded there
 *
 * The rest of a channel's outputs are noise and signals. Outputs that touch samples that do not count, gaps apart, become no peaks,
 * unless the part of the filter's energy that meets such samples is no more than the job's `masked_fraction`. */
#pragma once

#include "setup/setup.h"
#include "stream/search/mask.h"

#define LW_COUNTED_ALIKE 16
#define LW_COUNTED_ENDS 16

struct lw_counted {
    const struct lw_job *job;           /* all borrowed */
    const struct lw_op_plan *op;        /* of the operation that makes the outputs */
    const struct lw_mask *mask;         /* NULL: none */
    const struct lw_gap *gaps;          /* [n_gaps] of the reader */
    int64_t n_gaps;
    bool skips_ends;
};

/** @param op  borrowed, as what the setup has */
struct lw_counted lw_counted_of(const struct lw_setup *setup, const struct lw_op_plan *op);

/** Bytes of the scratch that marking takes, for blocks of at most so many outputs on the axis. */
int64_t lw_counted_bytes(const struct lw_job *job, const struct lw_op_plan *op, int64_t count);

/** Mark the outputs of channel c of a slot's block that do not count for the noise.
 * @param number  of the slot, see lw_mask_apply
 * @param skip    [outputs on the axis][pixels of a row] 1: it does not count
 * @return        whether any is marked */
bool lw_counted_mark(const struct lw_counted *counted, const struct lw_slot *slot, int number, int64_t c, unsigned char *skip,
                     void *scratch);

/** Drop the crossings of a block that become no peaks. @param number  of the slot, see lw_mask_apply
 * @return  how many are left, at the front */
int64_t lw_counted_drop(const struct lw_counted *counted, const struct lw_slot *slot, int number, struct lw_crossing *crossings,
                        int64_t n);
