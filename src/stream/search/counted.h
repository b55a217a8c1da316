/* counted.h - the outputs that count for the noise: those made of recorded samples.
 *
 * Three kinds of outputs do not count:
 *
 *     - outputs that touch bad samples: masked samples, samples in gaps between files, and with --nan zero samples that are not
 *       finite; --masked-fraction F allows up to this part of an output's samples to be bad
 *     - outputs that reach beyond the ends (an image's sides), where the boundary makes samples with less noise; but these count
 *       with boundary wrap, and if fewer than one in LW_COUNTED_ENDS of all outputs or more than half reach beyond
 *     - outputs of at least LW_COUNTED_ALIKE equal samples: nothing was recorded there
 *
 * All other outputs of a channel are noise and signals. Outputs that touch masked or non-finite samples also become no peaks,
 * unless these samples meet at most the part `masked_fraction` of the filter's energy. Gaps do not prevent peaks. */
#pragma once

#include "setup/setup.h"
#include "stream/search/mask.h"

#define LW_COUNTED_ALIKE 16
#define LW_COUNTED_ENDS 16

struct lw_counted {
    const struct lw_job *job;           /* borrowed, like all members */
    const struct lw_op_plan *op;        /* operation that makes the outputs */
    const struct lw_mask *mask;         /* NULL: no mask */
    const struct lw_gap *gaps;          /* [n_gaps] gaps between the reader's files */
    int64_t n_gaps;
    bool skips_ends;
};

/** Return the rules for a setup and an operation. @param op  borrowed, like the members of the setup */
struct lw_counted lw_counted_of(const struct lw_setup *setup, const struct lw_op_plan *op);

/** Return the bytes of scratch that marking a block of at most `count` outputs on the axis needs. */
int64_t lw_counted_bytes(const struct lw_job *job, const struct lw_op_plan *op, int64_t count);

/** Mark the outputs of channel c of a slot's block that do not count for the noise.
 * @param number  number of the slot, see lw_mask_apply
 * @param skip    [outputs on the axis][pixels of a row] set: 1 for an output that does not count
 * @return        whether any output is marked */
bool lw_counted_mark(const struct lw_counted *counted, const struct lw_slot *slot, int number, int64_t c, unsigned char *skip,
                     void *scratch);

/** Drop the crossings of a block that become no peaks. @param number  number of the slot, see lw_mask_apply
 * @return  number of crossings left, at the front */
int64_t lw_counted_drop(const struct lw_counted *counted, const struct lw_slot *slot, int number, struct lw_crossing *crossings,
                        int64_t n);
