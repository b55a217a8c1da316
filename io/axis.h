/* axis.h - the sampling of an axis in both of its forms, whatever a file tells. */
#pragma once

#include "base/error.h"
#include "io/dataset.h"

#include <stddef.h>

/** Let info->hints overrule info->axis and the channels' coordinate; then derive the period from the rate or the rate from the
 * period, and the instant from the start or the start from the instant. LW_EUSAGE: a hint that is no time, or a spacing where there
 * are no channels. */
int lw_sampling_settle(struct lw_dataset_info *info, struct lw_error *err);

/** "4096 Hz from 2015-09-14T09:16:29.39 (GPS 1126256206.39)", or "" if nothing is known. Returns `text`. */
const char *lw_sampling_text(const struct lw_axis_metadata *axis, char *text, size_t size);

/** The instant of sample i of the axis, as text: UTC, or "" where it is not known. */
const char *lw_sampling_time_text(const struct lw_axis_metadata *axis, int64_t i, char text[LW_INSTANT_TEXT]);

/** Seconds in one of a unit: "s", "ms", "seconds since 1970-01-01", ...; 0 if it is no unit of time. */
double lw_sampling_unit_seconds(const char *unit);
