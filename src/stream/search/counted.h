/* counted.h - which outputs count for the noise: those that are made of recorded samples alone. These do not count:
 *
 *     - outputs that touch samples that do not count (touch.h): masked ones, with --nan zero those that are not finite, and those
 *       of gaps between files; with --masked-fraction F only where such samples are more than this part of all that the output is
 *         made of
 *     - outputs that reach beyond the ends (an image's sides), where the boundary makes the samples, so that they are of less
 *       noise; but where fewer than one in LW_COUNTED_ENDS outputs or more than half of them do, and behind boundary wrap, these
 *         count, too
 *     - outputs of samples that are all alike, LW_COUNTED_ALIKE at least: nothing was recorded there
 *
 * The rest of a channel's outputs are noise and signals. */
#pragma once

#include "stream/search/touch.h"

#define LW_COUNTED_ALIKE 16
#define LW_COUNTED_ENDS 16

struct lw_counted {
    struct lw_touch touch;              /* of the operation that makes the outputs */
    const struct lw_gap *gaps;          /* [n_gaps] borrowed of the reader */
    int64_t n_gaps;
    bool skips_ends;
};

/** @param op  all borrowed, as by struct lw_touch */
struct lw_counted lw_counted_of(const struct lw_job *job, const struct lw_op_plan *op, const struct lw_mask *mask,
                                const struct lw_reader *reader);

/** Bytes of the scratch that marking takes, for blocks of at most so many outputs on the axis. */
int64_t lw_counted_bytes(const struct lw_job *job, const struct lw_op_plan *op, int64_t count);

/** Mark the outputs of channel c of a slot's block that do not count.
 * @param skip  [outputs on the axis][pixels of a row] 1: it does not count
 * @return      whether any is marked */
bool lw_counted_mark(const struct lw_counted *counted, const struct lw_slot *slot, int number, int64_t c, unsigned char *skip,
                     void *scratch);
