/* data.h - the data that some kinds of filters are made for: the option --for, the chosen channels and their coordinate. */
#pragma once

#include "job/hints.h"
#include "job/selection.h"

/* Entries of a table of options. */
#define LW_FOR_OPTIONS                                                                                                          \
    {.name = "for", .kind = LW_OPTION_NAMES, .argument = "FILE:/dataset ...", .is_required = true,                              \
     .help = "The data, as --input of ols. Several files are joined."},                                                            \
    {.name = "axis", .kind = LW_OPTION_CHOICE, .choices = "0|1", .is_rare = true, .help = "Time dimension, as for ols."},       \
    {.name = "channels", .kind = LW_OPTION_RANGE, .argument = "A:B:STEP",                                                       \
     .help = "Channels to use, from A to before B, every STEP-th; give ols the same. Default: all."},                              \
    LW_OPTIONS_COORDINATES, LW_OPTIONS_HINTS

struct lw_for {
    struct lw_reader *reader;           /* owned; describes the files, opens none */
    struct lw_dataset_info info;
    int axis, channel_dim;              /* channel_dim: -1: there is one channel */
    struct lw_range channels;           /* chosen channels */
    const struct lw_coordinate *places; /* coordinates of channel_dim, in `info`; NULL: none */
};
