/* survey.h - the synthetic survey: what its samples and filters are. Pure arithmetic.
 *
 * Every channel is white noise. For each filter of the bank something is hidden in one channel that this filter, and no
 * other, brings out:
 *
 *     even filters   matched filters of a chirp; the chirp occurs once, at a known sample, with a signal-to-noise of 12
 *     odd filters    band-passes (windowed sinc, gain 1); a tone at the band's centre lasts for the whole survey
 *
 * Every sample is a function of the seed and its place alone: any part can be made anywhere. */
#pragma once

#include "jobs/synth/random.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/** Samples [first, first + count) of a channel: noise with what is hidden in it, before rounding.
 * @param line  [count], or [count x 2] (re, im) if complex */
void lw_synth_line(const struct lw_synth *synth, int64_t channel, int64_t first, int64_t count, double *line);

/** The taps of one filter. @param taps  [n_taps], or [n_taps x 2] if complex */
void lw_synth_filter(const struct lw_synth *synth, int filter, double *taps);

/** Whether a filter is a chirp's; the channel its target is in; the sample at which a chirp begins, -1 if the survey is too
 * short for it; the centre and half the width of its band. */
bool lw_synth_is_chirp(int filter);
int64_t lw_synth_channel(const struct lw_synth *synth, int filter);
int64_t lw_synth_chirp_start(const struct lw_synth *synth, int filter);
double lw_synth_centre_hz(const struct lw_synth *synth, int filter);
double lw_synth_half_width_hz(const struct lw_synth *synth);

/** What a filter is, and what is hidden for it, in words: attributes of the file. Return `text`. */
const char *lw_synth_filter_text(const struct lw_synth *synth, int filter, char *text, size_t size);
const char *lw_synth_hidden_text(const struct lw_synth *synth, int filter, char *text, size_t size);
