/* band.h - banks of band-pass, low-pass or high-pass filters: one filter for `lapwing filters`, or several for a job's option. */
#pragma once

#include "jobs/filters/bank.h"

#define LW_BAND_ATTENUATION_DB 60       /* default of --attenuation, in dB */

/* A pass band. At an edge the gain is half the gain in the pass band. */
struct lw_band {
    bool has_low, has_high;             /* which edges it has */
    double low_hz, high_hz;             /* the edges; 0 and half the rate for edges that the band lacks */
    char low_text[64], high_text[64];   /* names of the edges for messages: "--from 1", "--bandpass 1:20" */
};

/* The options that determine the length of all filters of a bank. */
struct lw_band_length {
    double attenuation_db;
    double transition_hz;               /* 0: follows from n_taps */
    double n_taps;                      /* 0: follows from transition_hz */
};

/** Read --taps, --transition (0 if not given) and --attenuation. LW_EUSAGE: both given, or --taps is even without an upper edge. */
int lw_band_read_length(const struct lw_options *given, const struct lw_band *bands, int count, struct lw_band_length *length,
                        struct lw_error *err);

/** Return the widest transition in Hz: with a narrower transition each filter has a pass band, and a stop band beyond each edge. */
double lw_band_widest_transition(double rate_hz, const struct lw_band *bands, int count);

/** Fill the bank, whose rate is set, with a filter for each band, without its final scale. Zeros on both sides give all filters the
 * length of the longest. LW_EUSAGE: edges or a transition that make no filter. */
int lw_band_design(const struct lw_band *bands, int count, const struct lw_band_length *length, struct lw_bank *bank,
                   struct lw_error *err);
