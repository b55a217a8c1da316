/* conventions.h - the conventions that there are, and what else tells which dataset of a file is the data. */
#pragma once

#include "io/hdf5/conventions/convention.h"

/** The path of the data: that of the file's convention; the only dataset of numbers; the only one with two dimensions or more,
 * where all others are as long as one of these. False: none is, or several are. */
bool lw_conventions_find_data(hid_t file, char path[LW_MAX_PATH]);

/** Say what the file's convention knows of the dataset, and which convention it is; nothing where the dataset is not its data.
 * LW_EDATA: what is said cannot be. What cannot be read is noted in subject->err. */
int lw_conventions_describe(struct lw_subject *subject);

/** A dataset of times in the dataset's group: of one dimension, as long as one of its own, with a name that says so; the only one,
 * or the only one that begins with the dataset's name. It names the axis where nothing else does. False: there is none. */
bool lw_conventions_find_times(struct lw_subject *subject, struct lw_times *times);

/** Whether a dataset of that name holds times: "t", "timestamp", "RawDataTime". */
bool lw_conventions_name_times(const char *name);
