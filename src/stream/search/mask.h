/* mask.h - the mask of a streamed run: marks of samples (job/marks.h), read slot by slot unless they are in memory. Masked samples
 * are set to zero before the engine reads them. They prevent peaks and do not count for the noise (counted.h). */
#pragma once

#include "job/marks.h"
#include "stream/window.h"

struct lw_plan;
struct lw_mask;

/** Open the mask that the job's search names; *out stays NULL without a mask. Errors are those of lw_marks_open. Collective. */
int lw_mask_open(struct lw_comm *comm, const struct lw_reader *input, struct lw_job *job, struct lw_mask **out,
                 struct lw_error *err);
void lw_mask_close(struct lw_mask *mask);                   /* NULL is legal */
const struct lw_marks *lw_mask_marks(const struct lw_mask *mask);   /* borrowed */

/** Return the host bytes of the marks, those that lw_mask_start allocates for a plan included; 0 without a mask. */
int64_t lw_mask_bytes(const struct lw_mask *mask, const struct lw_job *job, const struct lw_plan *plan);

/** Allocate the marks of the slots of a plan. May be called again for another plan. LW_ESYSTEM: no memory. Not collective. */
int lw_mask_start(struct lw_mask *mask, const struct lw_job *job, const struct lw_plan *plan, struct lw_error *err);

/** Read the marks of a part of the window, and set its masked samples to zero. The part begins where the slot's input begins
 * (into_first 0). The marks of slot `number` stay valid until the next call for this slot. */
int lw_mask_apply(struct lw_mask *mask, int number, const struct lw_window_part *part, struct lw_error *err);

/** Return whether the mask has marks for whole channels. */
bool lw_mask_is_by_channel(const struct lw_mask *mask);

/** Return whether sample i of channel c, both counted in the last part of slot `number`, is masked. */
bool lw_mask_is_set(const struct lw_mask *mask, int number, int64_t c, int64_t i);
