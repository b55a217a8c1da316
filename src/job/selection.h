/* selection.h - which part of the input a job takes: samples by their numbers or times, channels by their numbers or
 * coordinates. */
#pragma once

#include "job/job.h"

/* Entries of every table of options for those who choose channels. */
#define LW_OPTIONS_COORDINATES                                                                                                 \
    {.name = "distance", .kind = LW_OPTION_TEXT, .argument = "A:B",                                                            \
     .help = "Use the channels from A to B along the fibre or line, in the unit of the file's metadata, or as 100m:2km; A or " \
             "B may be left out."},                                                                                            \
    {.name = "frequency", .kind = LW_OPTION_TEXT, .argument = "A:B",                                                           \
     .help = "Use the channels of frequencies from A to B, in the unit of the file's metadata, or as 1.2GHz:1.5GHz; A or B "   \
             "may be left out."}

/** --start and --count, or --from and --to: the piece of dimension `axis`. From the first sample that is not before --from to the
 * last before --to. LW_ECONFIG if it leaves the axis or is empty, or if times are not known; LW_EUSAGE if a time cannot be read, or
 * both ways are mixed. */
int lw_job_choose_piece(const struct lw_options *given, const struct lw_dataset_info *input, int axis, struct lw_view_spec *view,
                        struct lw_error *err);

/** --channels, --distance or --frequency: some of dimension `channels`; negative: there is none, as if its length were 1. Those
 * whose coordinate is in a closed interval. LW_ECONFIG if that is none, or one that does not exist, or the coordinate is not known;
 * LW_EUSAGE if an interval cannot be read. */
int lw_job_choose_channels(const struct lw_options *given, const struct lw_dataset_info *input, int channels,
                           struct lw_range *range, struct lw_error *err);

/** Samples of an option that is a stretch, as a time the nearest whole number of them; LW_ECONFIG if the rate is not known. */
int lw_job_count_samples(const struct lw_options *given, const char *option, const struct lw_dataset_info *input, int64_t *samples,
                         struct lw_error *err);

/** A time of an option as seconds since the start of the axis, which the input's metadata tell; LW_EUSAGE, LW_ECONFIG. */
int lw_job_read_time(const char *option, const char *text, const struct lw_dataset_info *input, double *since_start_s,
                     struct lw_error *err);

int64_t lw_range_length(const struct lw_range *range);
