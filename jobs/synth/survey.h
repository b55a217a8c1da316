/* survey.h - the samples and filters of the synthetic survey. Pure arithmetic.
 *
 * Every channel is white noise. For each filter of the bank, one channel also holds a signal that only this filter brings out:
 *
 *     even filters   matched filters of a chirp; the chirp occurs once, at a known sample, with a signal-to-noise ratio of 12
 *     odd filters    band-passes (windowed sinc, gain 1); a tone at the band's centre lasts for the whole survey
 *
 * A sample depends on the seed and its place only, so that any rank can make any part. */
#pragma once

#include "jobs/synth/random.h"

struct lw_synth {
    int64_t n_samples, n_channels;
    int64_t n_taps;
    int n_filters;
    bool is_complex;
    enum lw_scalar scalar;
    uint64_t seed;
    double sample_rate_hz;
};

#define LW_SYNTH_SIGNAL_TO_NOISE 12.0

/** Make the samples [first, first + count) of a channel: noise and hidden signals, before rounding.
 * @param line  set; [count], or [count x 2] (re, im) if complex */
void lw_synth_line(const struct lw_synth *synth, int64_t channel, int64_t first, int64_t count, double *line);

/** Make the taps of a filter. @param taps  set; [n_taps], or [n_taps x 2] if complex */
void lw_synth_filter(const struct lw_synth *synth, int filter, double *taps);

/** Return properties of a filter: whether it is a chirp's; the channel of its signal; the sample at which its chirp begins, -1 if
 * the survey is too short; the centre of its band. */
bool lw_synth_is_chirp(int filter);
int64_t lw_synth_channel(const struct lw_synth *synth, int filter);
int64_t lw_synth_chirp_start(const struct lw_synth *synth, int filter);
double lw_synth_centre_hz(const struct lw_synth *synth, int filter);

/** Describe a filter, and the signal that is hidden for it, for attributes of the file. Return `text`. */
const char *lw_synth_filter_text(const struct lw_synth *synth, int filter, char *text, size_t size);
const char *lw_synth_hidden_text(const struct lw_synth *synth, int filter, char *text, size_t size);
