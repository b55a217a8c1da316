/* selection.h - options that choose a part of the input: samples by number or time, channels by number or coordinate. */
#pragma once

#include "job/job.h"

/* Entries for the table of options of every command that lets its user choose channels. */
#define LW_OPTIONS_COORDINATES                                                                                                 \
    {.name = "distance", .kind = LW_OPTION_TEXT, .argument = "A:B",                                                            \
     .help = "Channels to use, by distance along the fibre or line. The unit is that of the file's metadata, or as in "            \
             "100m:2km. A or B may be left out."},                                                                                 \
    {.name = "frequency", .kind = LW_OPTION_TEXT, .argument = "A:B",                                                           \
     .help = "Channels to use, by their frequency. The unit is that of the file's metadata, or as in 1.2GHz:1.5GHz. A or B may "   \
             "be left out."}

/** Read --start and --count, or --from and --to, as the piece of dimension `axis` to read: from the first sample not before --from
 * to the last before --to. LW_ECONFIG: the piece leaves the axis or is empty, or the input's times are unknown. LW_EUSAGE: a time
 * cannot be read, or the two pairs are mixed. */
int lw_job_choose_piece(const struct lw_options *given, const struct lw_dataset_info *input, int axis, struct lw_view_spec *view,
                        struct lw_error *err);

/** Read --channels, --distance or --frequency as a range of dimension `channels`; negative: no such dimension, one channel.
 * --distance and --frequency choose the channels in a closed interval. LW_ECONFIG: no channel is chosen, or one that does not
 * exist, or the coordinate is unknown. LW_EUSAGE: an interval cannot be read. */
int lw_job_choose_channels(const struct lw_options *given, const struct lw_dataset_info *input, int channels,
                           struct lw_range *range, struct lw_error *err);

/** Read an option in samples or as a time (struct lw_stretch), which is rounded to whole samples. LW_ECONFIG: no sampling rate. */
int lw_job_count_samples(const struct lw_options *given, const char *option, const struct lw_dataset_info *input, int64_t *samples,
                         struct lw_error *err);

/** Read an option that is a time, as seconds since the start of the axis. LW_EUSAGE: it cannot be read. LW_ECONFIG: the input's
 * metadata have no start time. */
int lw_job_read_time(const char *option, const char *text, const struct lw_dataset_info *input, double *since_start_s,
                     struct lw_error *err);

/** Find the sample nearest to a time as for lw_job_read_time; it may lie beyond the axis. LW_ECONFIG: also without a rate.
 * @param off  set to the distance from the sample to the time, in samples */
int lw_job_nearest_sample(const char *option, const char *text, const struct lw_dataset_info *input, int64_t *sample, double *off,
                          struct lw_error *err);

/** Find the elements of a dimension of n channels that belong to the chosen channels of an input of n_all. The dimension has all
 * channels, or the chosen ones. @return  false: it has neither */
bool lw_job_find_channels(int64_t n, int64_t n_all, const struct lw_range *chosen, struct lw_range *range);

/** Take a table of an option, [n x channel], or [channel] for all n rows, for the chosen channels of an input of n_all. LW_EDATA:
 * it has another shape or complex numbers.
 * @param table, all  as read @param values  set to [n x chosen channels], owned by the caller */
int lw_job_channel_values(const char *option, const struct lw_dataset_info *table, const double *all, int64_t n, int64_t n_all,
                          const struct lw_range *chosen, double **values, struct lw_error *err);

/** Round delays of an option, in the unit of --delay-unit, to samples. LW_EDATA: a delay is not possible. LW_EUSAGE: no rate.
 * @param values  [n x n_channels]; NULL: 0 @param delays  [n x n_channels] set */
int lw_job_round_delays(const struct lw_options *given, const char *option, const struct lw_dataset_info *input,
                        const double *values, int64_t n, int64_t n_channels, int32_t *delays, struct lw_error *err);

/** Return the size of a coordinate's unit in metres or hertz; 0: the unit is unknown. */
double lw_job_unit_size(const char *unit);

int64_t lw_range_length(const struct lw_range *range);
