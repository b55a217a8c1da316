/* asked.h - filters that a job makes for the rate of its input: --bandpass, --lowpass, --highpass and --boxcar. */
#pragma once

#include "jobs/filters/bank.h"

/* Entries of a job's table of options: ways to make filters instead of reading them with --filters. */
#define LW_ASKED_OPTIONS                                                                                                        \
    {.name = "bandpass", .kind = LW_OPTION_TEXT, .argument = "LOW:HIGH,...",                                                    \
     .help = "Make band-pass filters, one for each band in Hz. Units are possible, as in 1.2kHz:1.5kHz. The filters are made "     \
             "for the sampling rate of the input, as 'lapwing filters bandpass' makes them, and stored in the result as "          \
             "/filters. At LOW and HIGH the gain is half. --taps or --transition sets their length."},                             \
    {.name = "lowpass", .kind = LW_OPTION_TEXT, .argument = "HZ,...",                                                           \
     .help = "Make low-pass filters, one for each frequency. See --bandpass."},                                                    \
    {.name = "highpass", .kind = LW_OPTION_TEXT, .argument = "HZ,...",                                                          \
     .help = "Make high-pass filters, one for each frequency. See --bandpass."},                                                   \
    {.name = "boxcar", .kind = LW_OPTION_TEXT, .argument = "WIDTH,...",                                                         \
     .help = "Make running sums, one for each width or time. A width is a number of samples, which needs no sampling rate, or "    \
             "a time such as 2ms. The sums are scaled so that white noise keeps its power; with norm=gain they are means."},       \
    {.name = "baseline", .kind = LW_OPTION_TEXT, .argument = "LENGTH", .within = "boxcar", .word = "baseline",                  \
     .help = LW_BASELINE_HELP},                                                                                                 \
    {.name = "norm", .kind = LW_OPTION_CHOICE, .choices = "gain|energy", .argument = "gain|energy", .within = "boxcar",         \
     .word = "norm",                                                                                                            \
     .help = "what is scaled to 1. gain: the sum of the taps, so that W of them are 1/W each. energy: the sum of their "         \
             "squares. Default: energy."},                                                                                      \
    {.name = "taps", .kind = LW_OPTION_INT, .argument = "M", .minimum = 3, .maximum = LW_BANK_MOST_TAPS,                        \
     .help = "Length of the filters that are made. It goes with --bandpass, --lowpass and --highpass. With an odd number "         \
             "--mode same keeps the phase. Or give --transition."},                                                                \
    {.name = "transition", .kind = LW_OPTION_FREQUENCY, .argument = "HZ", .minimum = 1e-12, .maximum = 1e18,                    \
     .help = "Width from pass band to stop band; sets the length. The length is then odd. Default: a quarter of the widest "       \
             "that leaves a pass band, and a stop band on the other side of each edge."},                                          \
    {.name = "attenuation", .kind = LW_OPTION_REAL, .argument = "DB", .minimum = LW_KAISER_LEAST_DB,                            \
     .maximum = LW_KAISER_MOST_DB, .is_rare = true, .help = "Attenuation of the stop bands. Default: 60."}

/** Find the option that gives the filters: "filters", "bandpass", "lowpass", "highpass" or "boxcar". LW_EUSAGE: none or several of
 * them are given, or an option that goes with another of them. */
int lw_asked_find(const struct lw_options *given, const char **name, struct lw_error *err);

/** Make the bank of option `name` on rank 0, reversed if --correlate is given, print its figures, and broadcast its shape and taps.
 * LW_EUSAGE: the rate of the input is needed, but not known. Collective.
 * @param bank  ranks other than 0 get no figures, bands and notes; to be released with lw_bank_release, after errors too */
int lw_asked_design(const struct lw_options *given, const char *name, struct lw_comm *comm, const struct lw_dataset_info *input,
                    struct lw_bank *bank, struct lw_error *err);

/** Parse a band "LOW:HIGH" of frequencies with units, LOW below HIGH. LW_EUSAGE. @param option  option's name for the message */
int lw_asked_read_pair(const char *option, const char *text, double *low_hz, double *high_hz, struct lw_error *err);
