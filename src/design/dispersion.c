#include "design/dispersion.h"

#include <math.h>

/* ---- DDplan -------------------------------------------------------------------------------------------------------------- */

/* Steps of DM to choose from. */
static const double round_steps[] = {0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300};
enum { N_ROUND = sizeof round_steps / sizeof *round_steps, MOST_DECIMATE = 1 << (LW_DISPERSION_STEPS - 1) };

/* Times up to this factor apart count as equal. */
#define SOFT 1.2

/* A step ends where channels smear this many times as much as everything else. */
#define CHANNEL_FACTOR 2.0

/* PRESTO's dispersion constant, as its inverse. */
#define INVERSE 0.000241

/* Return the delay over a width around the middle of the band. */
static double smearing(const struct lw_band *band, double dm, double width_mhz)
{
    const double low = band->centre_mhz - width_mhz / 2, high = band->centre_mhz + width_mhz / 2;
    return dm / (INVERSE * low * low) - dm / (INVERSE * high * high);
}

/* Return the smearing over the band of a pulse half a step away from a trial. */
static double step_smearing(const struct lw_band *band, double step)
{
    return smearing(band, step / 2, band->width_mhz);
}

/* Return the DM at which a step ends; a channel is narrow beside the frequency here. */
static double crossing(const struct lw_band *band, double step, int decimate)
{
    const double sample = band->interval_s * decimate, smear = step_smearing(band, step);
    const double others = sqrt(band->interval_s * band->interval_s + sample * sample + smear * smear);
    return CHANNEL_FACTOR * others / band->channel_mhz * INVERSE / 2 * pow(band->centre_mhz, 3);
}

/* Return the first factor by which the data are down-sampled. */
static int first_decimate(const struct lw_band *band, double low, double resolution_s)
{
    const double channel = smearing(band, low, band->channel_mhz), interval = band->interval_s;
    const double fair = fmax(fmax(resolution_s, channel), fmax(step_smearing(band, round_steps[0]), interval));
    const double wanted = fmax(fair, SOFT * channel);
    int decimate = 1;
    if (SOFT * channel > interval || fair > interval)
        while (decimate < MOST_DECIMATE && interval * 2 * decimate < wanted)
            decimate *= 2;
    return decimate;
}

int lw_dispersion_steps(const struct lw_band *band, double low, double high, double resolution_s,
                        struct lw_dispersion_step steps[LW_DISPERSION_STEPS])
{
    int decimate = first_decimate(band, low, resolution_s), r = 0, n = 0;
    const double best = band->interval_s * decimate / step_smearing(band, 1);
    while (r + 1 < N_ROUND && round_steps[r + 1] < SOFT * best)
        r++;
    for (;; decimate *= 2) {
        while (n > 0 && r + 1 < N_ROUND && step_smearing(band, round_steps[r + 1]) < SOFT * band->interval_s * decimate)
            r++;
        const double end = decimate == MOST_DECIMATE ? high : fmin(crossing(band, round_steps[r], decimate), high);
        const double count = ceil((end - low) / round_steps[r]);
        if (count < 1 && end < high)
            continue;
        steps[n++] = (struct lw_dispersion_step){low, round_steps[r], (int64_t)fmax(count, 1), decimate};
        low += fmax(count, 1) * round_steps[r];
        if (low >= high || decimate == MOST_DECIMATE)
            return n;
    }
}

/* ---- Levin --------------------------------------------------------------------------------------------------------------- */

int64_t lw_dispersion_trials(const struct lw_band *band, double low, double high, double tolerance, double pulse_s, int64_t most,
                             double *trials)
{
    const double channel = 8.3e-6 * band->channel_mhz / pow(band->centre_mhz * 1e-3, 3);
    const double quarter = band->width_mhz / band->channel_mhz / 4;
    const double a = channel * channel, b = a * quarter * quarter, excess = tolerance * tolerance - 1;
    const double fixed = (band->interval_s * band->interval_s + pulse_s * pulse_s) * excess;
    double dm = low;
    for (int64_t n = 0; n < most; n++) {
        trials[n] = dm;
        if (dm >= high)
            return n + 1;
        /* The next trial u solves a u^2 + b (u - dm)^2 = fixed + tolerance^2 a dm^2. */
        const double right = fixed + tolerance * tolerance * a * dm * dm;
        dm = (b * dm + sqrt((a + b) * right - a * b * dm * dm)) / (a + b);
    }
    return most + 1;
}
