/* mask.h - the mask: samples that do not count for a search. --mask names a mask in one of two ways:
 *
 *     --mask FILE:/dataset       a dataset of marks
 *     --mask good-data=TESTS     tests, whose results are in the input files (io/notes/notes.h); samples that fail are masked
 *
 * A dataset of marks holds numbers: 0 for a sample that counts, any other for a masked one. There is one mark for each sample of
 * the axis, each channel, or each sample of each channel in the input's shape. Packed marks are bits, eight in a uint8 along
 * the last dimension, the first one in the highest place (numpy.packbits); every rank keeps all bits in memory. Masked samples are
 * set to zero before the engine reads them. They prevent peaks and do not count for the noise (counted.h). */
#pragma once

#include "job/job.h"
#include "stream/window.h"

struct lw_plan;
struct lw_mask;

/** Open the mask that the job's search names, and check its shape; *out stays NULL without a mask. A dataset of marks is added to
 * the job's inputs. Errors are those of lw_reader_open, lw_quality_find and lw_reader_read_numbers. LW_EDATA: the shape does not
 * fit the input; or results of the tests are missing; or times of the results or of the input are unknown. Collective. */
int lw_mask_open(struct lw_comm *comm, const struct lw_reader *input, struct lw_job *job, struct lw_mask **out,
                 struct lw_error *err);
void lw_mask_close(struct lw_mask *mask);                   /* NULL is legal */

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
