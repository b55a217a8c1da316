/* band.h - banks of band-pass, low-pass and high-pass filters, each the ideal filter times a Kaiser window: what `lapwing filters`
 * makes one of, and what the options of a job ask for several of. */
#pragma once

#include "jobs/filters/bank.h"

#define LW_BAND_ATTENUATION_DB 60       /* where none is asked for */

/* One pass band. It begins at 0 or ends at half the rate where it has no edge there. Edges are where the gain is half of that in
 * the pass band. */
struct lw_band {
    bool has_low, has_high;
    double low_hz, high_hz;             /* low_hz = 0 and high_hz = half the rate where there is no edge */
    char low_text[64], high_text[64];   /* how messages name the edges: "--from 1", "--bandpass 1:20" */
};

/* The same for all filters of a bank. */
struct lw_band_length {
    double attenuation_db;
    double transition_hz;               /* 0: follows from n_taps */
    double n_taps;                      /* 0: follows from transition_hz */
};

/** --taps, --transition and --attenuation; where only the last is given, both others are 0. LW_EUSAGE if the two exclude each
 * other, or for an even length where a band has no upper edge. */
int lw_band_read_length(const struct lw_options *given, const struct lw_band *bands, int count, struct lw_band_length *length,
                        struct lw_error *err);

/** The transition below which each of these filters has a pass band, and a stop band on the other side of each edge. */
double lw_band_widest_transition(double rate_hz, const struct lw_band *bands, int count);

/** Fill the bank, whose rate is set, with a filter for each band, but for its scale. All have the length of the longest: shorter
 * ones have zeros on both sides. LW_EUSAGE: edges or a transition that make no filter. */
int lw_band_design(const struct lw_band *bands, int count, const struct lw_band_length *length, struct lw_bank *bank,
                   struct lw_error *err);
