/* hints.h - options with which a user supplies or corrects metadata of the input: its format, sampling, start and packing. */
#pragma once

#include "io/dataset.h"
#include "options/options.h"

/* Entries for the table of options of every command that reads an input. */
#define LW_OPTIONS_HINTS                                                                                                        \
    {.name = "format", .kind = LW_OPTION_TEXT, .argument = "NAME",                                                              \
     .help = "Format of the input, where its content does not tell it or tells it wrongly: HDF5, SIGPROC (filterbank files), "  \
             "PSRFITS, FITS (images), NumPy, PRESTO (time series), SEG-Y, miniSEED or raw. 'lapwing help' lists them, too."},   \
    {.name = "raw", .kind = LW_OPTION_TEXT, .argument = "TYPE,CHANNELS,ORDER,OFFSET", .within = "format", .word = "raw",        \
     .help = "the input is numbers without a header: their type (int8 to uint64, float16, float32, float64; with be or le for " \
             "big or little endian, complex- before it for pairs), how many channels there are (1), their order: time-slow "    \
             "(all channels of a time, then the next) or time-fast (all times of a channel, then the next), and the bytes "     \
             "before the first (0). An incomplete last row is left out. Example: raw=int16be,64,time-slow,512."},               \
    {.name = "sample-rate", .kind = LW_OPTION_FREQUENCY, .argument = "HZ", .minimum = 1e-9, .maximum = 1e18,                    \
     .help = "Sampling rate of the input, whatever its file says."},                                                            \
    {.name = "start-time", .kind = LW_OPTION_TEXT, .argument = "TIME", .is_rare = true,                                         \
     .help = "Time of the input's first sample, whatever its file says: 2015-09-14T09:50:45.39 in UTC, or seconds of GPS."},    \
    {.name = "channel-spacing", .kind = LW_OPTION_REAL, .argument = "METRES", .minimum = 1e-9, .maximum = 1e9, .is_rare = true, \
     .help = "Distance from one channel of the input to the next, whatever its file says."},                                    \
    {.name = "as-stored", .kind = LW_OPTION_FLAG, .is_rare = true,                                                              \
     .help = "Take the input's numbers as they are stored, although its file says that they are packed: by scale_factor, "      \
             "add_offset, _FillValue, missing_value, valid_range or _Unsigned, by a scale of its instrument's, or by BSCALE, "  \
             "BZERO and BLANK."}

/** Set `hints` from these options. LW_EUSAGE: raw= beside another --format. */
int lw_hints_take(const struct lw_options *options, struct lw_hints *hints, struct lw_error *err);
