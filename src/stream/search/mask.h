/* mask.h - samples that do not count for a search: the mask. --mask names it in one of two ways:
 *
 *     --mask FILE:/dataset       a dataset of marks
 *     --mask good-data=TESTS     samples that fail tests, whose results are in the input files (io/notes/notes.h)
 *
 * A dataset holds numbers; 0 means that a sample counts. It has one number for each sample of the axis, for each channel, or
 * for both in the shape of the input. It may instead hold bits, eight in a uint8 along the last dimension, the first bit in the
 * highest place (numpy.packbits); every rank keeps all bits in memory. Masked samples are set to zero before the engine reads
 * them. An output that masked samples contribute too much to becomes no peak. */
#pragma once

#include "job/job.h"
#include "stream/window.h"

struct lw_plan;
struct lw_mask;

/** Open the mask that the job's search names, and check its shape; *out stays NULL without a mask. A dataset is added to the
 * job's inputs. Errors are those of lw_reader_open, lw_quality_find and lw_reader_read_numbers. LW_EDATA: the shape does not
 * fit; or a file has no results of the tests, or their times or the input's are unknown. Collective. */
int lw_mask_open(struct lw_comm *comm, const struct lw_reader *input, struct lw_job *job, struct lw_mask **out,
                 struct lw_error *err);
void lw_mask_close(struct lw_mask *mask);                   /* NULL is legal */

/** Return the host bytes that lw_mask_start allocates for a plan; 0 without a mask. */
int64_t lw_mask_bytes(const struct lw_mask *mask, const struct lw_job *job, const struct lw_plan *plan);

/** Prepare for the blocks of a plan; may be called again for another plan. Not collective. */
int lw_mask_start(struct lw_mask *mask, const struct lw_job *job, const struct lw_plan *plan, struct lw_error *err);

/** Read the marks of a part of the window, and set its masked samples to zero. The part is at the beginning of a slot's input
 * (into_first 0). The marks of slot `number`, 0 <= number < plan's depth, stay valid until the slot is read again. */
int lw_mask_apply(struct lw_mask *mask, int number, const struct lw_window_part *part, struct lw_error *err);

/** Return whether sample i of channel c of the part is masked. */
bool lw_mask_is_set(const struct lw_mask *mask, int number, int64_t c, int64_t i);
