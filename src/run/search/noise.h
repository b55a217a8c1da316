/* noise.h - the noise behind each filter, measured in the data: a pass over part of the input before the rounds.
 *
 * Of the grid's whole segments number 8, 24, 40, .. are taken, one in 16; of fewer than 9 the middle one, and where there is no
 * whole one, what there is. Of a long signal, LW_NOISE_ONE_IN LW_NOISE_RUN^2 segments and more whose outputs behind all filters are no more than
 * LW_NOISE_RUN_OUTPUTS, they are taken in runs of LW_NOISE_RUN: the runs 8, 24, 40, .. . Where that makes more than LW_NOISE_MOST
 * segments, or more than LW_NOISE_VALUES values of all channels and filters together (but LW_NOISE_LEAST segments at least), so many are taken,
 * evenly spaced. The noise of a channel and a filter is the median of the root mean squares of |y| in these segments; segments
 * with outputs that are not finite do not count, and where none counts the noise is 0, so that nothing is found. It does not
 * depend on ranks, rounds or memory.
 *
 * Segments of an image, whole rows, are cut into pieces of LW_NOISE_COLUMNS columns (more, where that would be more than LW_NOISE_PIECES
 * pieces; columns that are left over do not count), and the median is that of the pieces. */
#ifndef LW_RUN_SEARCH_NOISE_H
#define LW_RUN_SEARCH_NOISE_H

#include "run/plan.h"
#include "run/setup.h"

#define LW_NOISE_ONE_IN 16
#define LW_NOISE_RUN 8
#define LW_NOISE_RUN_OUTPUTS (1 << 20)
#define LW_NOISE_LEAST 16
#define LW_NOISE_MOST 1024
#define LW_NOISE_VALUES (1 << 22)
#define LW_NOISE_COLUMNS 64
#define LW_NOISE_PIECES 256

/** Whether the job asks for it. */
bool lw_noise_is_measured(const struct lw_job *job);

/** Host bytes per rank that measuring takes for so many channels at a time; 0 where nothing is measured. */
int64_t lw_noise_bytes(const struct lw_job *job, const struct lw_op_plan *op, int64_t n_channels, int n_ranks);

/** Fill job->noise on every rank; the plan is that of the run. Selects another view of the reader. Collective. */
int lw_noise_measure(struct lw_setup *setup, const struct lw_plan *plan, struct lw_error *err);

#endif
