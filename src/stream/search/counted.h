/* counted.h - the outputs that count for the noise: those made of recorded samples.
 *
 * An output touches the input samples that its filter's taps multiply. Three kinds of outputs do not count:
 *
 *     - outputs that touch bad samples: masked samples, samples in gaps between files, and with --nan zero non-finite samples;
 *       --masked-fraction F allows the part F of an output's samples to be bad
 *     - outputs that touch boundary samples, which have less noise; but all of these count with boundary wrap, or if they are
 *       fewer than one in LW_COUNTED_ENDS of all outputs, or more than half
 *     - outputs that touch only equal samples, at least LW_COUNTED_ALIKE of them: nothing was recorded there
 *
 * A sum over channels touches what it needs of each, with its delays. Channels that are masked as a whole are left out.
 *
 * The same masked and non-finite samples prevent peaks: an output that touches them becomes no peak, unless their taps have at
 * most the part F of the filter's energy. Gaps filled with zeros do not prevent peaks. */
#pragma once

#include "setup/setup.h"
#include "stream/search/mask.h"

#define LW_COUNTED_ALIKE 16
#define LW_COUNTED_ENDS 16

struct lw_counted {
    const struct lw_job *job;           /* borrowed, like all members */
    const struct lw_op_plan *op;        /* plan of the operation that makes the outputs */
    const struct lw_mask *mask;         /* NULL: no mask */
    bool masks;                         /* masked samples touch outputs; channels of a sum that are masked whole do not */
    const struct lw_gap *gaps;          /* [n_gaps] gaps between the reader's files */
    int64_t n_gaps;
    bool skips_ends;                    /* outputs that touch boundary samples do not count */
};

/** Return the rules for a setup and an operation. @param op  borrowed, like the members of the setup */
struct lw_counted lw_counted_of(const struct lw_setup *setup, const struct lw_op_plan *op);

/** Return the bytes of `scratch` of lw_counted_mark, for blocks of at most `count` outputs on the axis. */
int64_t lw_counted_bytes(const struct lw_job *job, const struct lw_op_plan *op, int64_t count);

/** Mark the outputs of channel c of a slot's block that do not count for the noise. All sums over channels have the same marks.
 * @param number  number of the slot, see lw_mask_apply
 * @param skip    set: 1 for an output that does not count; [outputs on the axis], images [rows][columns]
 * @return        whether any output is marked */
bool lw_counted_mark(const struct lw_counted *counted, const struct lw_slot *slot, int number, int64_t c, unsigned char *skip,
                     void *scratch);

/** Remove the crossings of a block that masked or non-finite samples prevent from being peaks. @param number  as above
 * @return  number of crossings left, at the front */
int64_t lw_counted_drop(const struct lw_counted *counted, const struct lw_slot *slot, int number, struct lw_crossing *crossings,
                        int64_t n);
