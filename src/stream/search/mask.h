/* mask.h - samples that do not count: --mask FILE:/dataset, or those that do not pass the tests of --mask good-data=TESTS, of
 * which the input files themselves keep the results (io/notes/notes.h).
 *
 * The dataset holds numbers, 0 where a sample counts; it is as long as the axis of the input (one for each sample), as the
 * channels (one for each channel), or of the input's shape; or bits of these, eight in a uint8 along the last dimension, the first
 * in the highest place (numpy.packbits), of which every rank keeps all in memory. Masked samples are made zero before the engine
 * sees them; outputs of which too much comes from masked samples become no peaks. */
#pragma once

#include "job/job.h"
#include "stream/window.h"

struct lw_plan;
struct lw_mask;

/** Open the dataset that the job's search names as its mask and look at its shape; *out stays NULL where there is none. Adds the
 * dataset to the job's inputs. Errors are those of lw_reader_open, lw_quality_find and lw_reader_read_numbers; LW_EDATA
 * for a shape that does not fit, and where a file keeps no such series, or its times or the input's are not known. Collective. */
int lw_mask_open(struct lw_comm *comm, const struct lw_reader *input, struct lw_job *job, struct lw_mask **out,
                 struct lw_error *err);
void lw_mask_close(struct lw_mask *mask);                   /* NULL is legal */

/** Host bytes that lw_mask_start allocates for such a plan; 0 for no mask. */
int64_t lw_mask_bytes(const struct lw_mask *mask, const struct lw_job *job, const struct lw_plan *plan);

/** Make ready for the blocks of a plan, again where it was another one before. Not collective. */
int lw_mask_start(struct lw_mask *mask, const struct lw_job *job, const struct lw_plan *plan, struct lw_error *err);

/** Read the marks of a part of the window that a slot's input holds from its beginning on (into_first 0), and make its masked
 * samples zero. `number` tells the slots apart, 0 <= number < plan's depth: the marks stay until the slot is read anew. */
int lw_mask_apply(struct lw_mask *mask, int number, const struct lw_window_part *part, struct lw_error *err);

/** Whether sample i of the part is masked in channel c of it. */
bool lw_mask_is_set(const struct lw_mask *mask, int number, int64_t c, int64_t i);
