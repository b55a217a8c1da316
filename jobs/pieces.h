/* pieces.h - which part of the input a job takes: samples by their numbers or times, channels by their numbers or coordinates. */
#ifndef LW_JOBS_PIECES_H
#define LW_JOBS_PIECES_H

#include "job/job.h"

/** --start and --count, or --from and --to: the piece of dimension `axis`. From the first sample that is not before --from to the
 * last before --to. LW_ECONFIG if it leaves the axis or is empty, or if times are not known; LW_EUSAGE if a time cannot be read, or
 * both ways are mixed. */
int lw_job_choose_piece(const struct lw_options *given, const struct lw_dataset_info *input, int axis, struct lw_view_spec *view,
                        struct lw_error *err);

/** --channels, --distance or --frequency: some of dimension `channels`; negative: there is none, as if its length were 1. Those
 * whose coordinate is in a closed interval. LW_ECONFIG if that is none, or one that does not exist, or the coordinate is not known;
 * LW_EUSAGE if an interval cannot be read. */
int lw_job_choose_channels(const struct lw_options *given, const struct lw_dataset_info *input, int channels, struct lw_range *range,
                           struct lw_error *err);

int64_t lw_range_length(const struct lw_range *range);

#endif
