/* dispersion.h - trial dispersion measures (DM) for a band of channels, and how finely to step them. Pure arithmetic.
 *
 * A trial of another DM smears a pulse over the band, and no trial undoes the smearing within a channel. There are two ways to
 * weigh steps against that:
 *
 *     lw_dispersion_steps     DDplan of PRESTO (S. Ransom): steps of round numbers, each as wide as a sample allows; where channels
 *                             smear more than a sample, data of half the rate, and so on
 *     lw_dispersion_trials    L. Levin, PhD thesis, Swinburne University (2012), as in dedisp and heimdall: each step makes a pulse
 *                             wider by a tolerance */
#pragma once

#include <stdint.h>

struct lw_band {
    double centre_mhz, channel_mhz, width_mhz;      /* middle; width of a channel; width of the band, below twice the middle */
    double interval_s;                  /* time from one sample to the next */
};

enum { LW_DISPERSION_STEPS = 9 };       /* most steps of a plan: down-samplings by 1, 2, 4 .. 256 */

/* A part of a plan: n trials from `low` on, `step` apart, for series of which `decimate` samples are made one. */
struct lw_dispersion_step {
    double low, step;
    int64_t n;
    int decimate;
};

/** Plan trials from `low` to `high` as DDplan.py does with -k 1024 (its state of 2025, exact for wide bands): the last trial is the
 * first at or beyond high - step. It has PRESTO's constant, 1 / 0.000241. Where even 256 samples are shorter than a channel smears,
 * the last step goes on to the end; DDplan.py fails there.
 * @param resolution_s  time resolution that is good enough, DDplan's -r; 0: the best that the data have
 * @return  number of steps */
int lw_dispersion_steps(const struct lw_band *band, double low, double high, double resolution_s,
                        struct lw_dispersion_step steps[LW_DISPERSION_STEPS]);

/** List trials from `low` to the first at or beyond `high`. The width w of a pulse that the trial t finds at the next trial u,
 *
 *     w(t, u)^2 = interval^2 + pulse^2 + c(u)^2 + (c(u - t) width_mhz / channel_mhz / 4)^2
 *     c(DM) = 8.3 us DM channel_mhz / centre_ghz^3,
 *
 * is `tolerance` times w(t, t). c is the smearing within a channel.
 * @param tolerance  above 1 @param pulse_s  width of a pulse before it is smeared; heimdall has 40 us
 * @param trials  [most] @return  number of trials; most + 1: there are more */
int64_t lw_dispersion_trials(const struct lw_band *band, double low, double high, double tolerance, double pulse_s, int64_t most,
                             double *trials);
