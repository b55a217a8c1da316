/* hints.h - options with which a user supplies or corrects metadata of the input: its format, sampling, start and packing. */
#pragma once

#include "io/dataset.h"
#include "options/options.h"

/* Entries for the table of options of every command that reads an input. */
#define LW_OPTIONS_HINTS                                                                                                        \
    {.name = "format", .kind = LW_OPTION_TEXT, .argument = "NAME",                                                              \
     .help = "Format of the input, if lapwing does not recognise it. It is one of HDF5, SIGPROC (filterbank files), PSRFITS, "     \
             "FITS (images), NumPy, PRESTO (time series), SEG-Y, miniSEED or raw."},                                               \
    {.name = "raw", .kind = LW_OPTION_TEXT, .argument = "TYPE,CHANNELS,ORDER,OFFSET", .within = "format", .word = "raw",        \
     .help = "the input is numbers without a header. TYPE is int8 to uint64, float16, float32 or float64, with be or le for "      \
             "big or little endian, and complex- before it for pairs. CHANNELS is their number (1). ORDER is time-slow (all "      \
             "channels of a time, then the next time) or time-fast (all times of a channel, then the next channel). OFFSET is "    \
             "the bytes before the first sample (0). An incomplete last row is left out. Example: raw=int16be,64,time-slow,512."}, \
    {.name = "sample-rate", .kind = LW_OPTION_FREQUENCY, .argument = "HZ", .minimum = 1e-9, .maximum = 1e18,                    \
     .help = "Sampling rate; replaces that of the input's file."},                                                                 \
    {.name = "start-time", .kind = LW_OPTION_TEXT, .argument = "TIME", .is_rare = true,                                         \
     .help = "Time of the first sample; replaces that of the file. Example: 2015-09-14T09:50:45.39 in UTC, or seconds of GPS."},   \
    {.name = "channel-spacing", .kind = LW_OPTION_REAL, .argument = "METRES", .minimum = 1e-9, .maximum = 1e9, .is_rare = true, \
     .help = "Distance between channels; replaces that of the file."},                                                             \
    {.name = "as-stored", .kind = LW_OPTION_FLAG, .is_rare = true,                                                              \
     .help = "Take packed numbers as stored, without unpacking. Otherwise lapwing applies scale_factor, add_offset, _FillValue, "  \
             "missing_value, valid_range and _Unsigned, an instrument's scale, and BSCALE, BZERO and BLANK."}

/** Set `hints` from these options. LW_EUSAGE: raw= is given with another --format. */
int lw_hints_take(const struct lw_options *options, struct lw_hints *hints, struct lw_error *err);
