#include "jobs/synth/survey.h"

#include "base/integers.h"
#include "design/window.h"

#include <inttypes.h>
#include <stdio.h>

/* Frequencies are counted in 1/65536 of the sample rate, so that a tone's phase is exact at any sample number. */
#define TURN 65536
bool lw_synth_is_chirp(int filter) { return filter % 2 == 0; }

int64_t lw_synth_channel(const struct lw_synth *synth, int filter) { return filter % synth->n_channels; }

/* Bands lie side by side between 0.05 and 0.45 of the sample rate. */
static int centre_turns(const struct lw_synth *synth, int filter)
{
    return (int)lrint(TURN * (0.05 + 0.4 * (filter + 0.5) / synth->n_filters));
}

static double half_width(const struct lw_synth *synth) { return fmin(0.04, 0.15 / synth->n_filters); }

double lw_synth_centre_hz(const struct lw_synth *synth, int filter)
{
    return synth->sample_rate_hz * centre_turns(synth, filter) / TURN;
}

static double half_width_hz(const struct lw_synth *synth) { return synth->sample_rate_hz * half_width(synth); }

/* Chirps begin at equal distances; the last one ends before the survey ends. */
int64_t lw_synth_chirp_start(const struct lw_synth *synth, int filter)
{
    const int64_t room = synth->n_samples - synth->n_taps;
    return room < 0 ? -1 : (int64_t)((double)room * (filter + 1) / (synth->n_filters + 1));
}

static double hann(int64_t i, int64_t n) { return lw_window_at(LW_WINDOW_HANN, (double)i + 0.5, (double)n); }

/* Sample i of a filter's chirp: n_taps samples with unit energy, whose frequency rises through the band. The energy of a real chirp
 * is 1 on average over its phase, which is nearly exact for more than a few cycles. */
static void chirp(const struct lw_synth *synth, int filter, int64_t i, double *sample)
{
    const double n = (double)synth->n_taps, t = (double)i - (n - 1) / 2;
    const double centre = (double)centre_turns(synth, filter) / TURN;
    const double phase = 2 * M_PI * (centre * t + half_width(synth) * t * t / n);
    const double energy = n == 1 ? 1 : n == 2 ? 0.5 : 0.375 * n;       /* sum of the squares of the window */
    const double scale = hann(i, synth->n_taps) / sqrt(energy);
    sample[0] = (synth->is_complex ? scale : scale * sqrt(2)) * cos(phase);
    if (synth->is_complex)
        sample[1] = scale * sin(phase);
}

static void add_chirp(const struct lw_synth *synth, int filter, int64_t first, int64_t count, double *line)
{
    const int64_t start = lw_synth_chirp_start(synth, filter);
    if (start < 0)
        return;
    const int64_t end = lw_min64(start + synth->n_taps, first + count);
    for (int64_t at = lw_max64(start, first); at < end; at++) {
        const int parts = synth->is_complex ? 2 : 1;
        double sample[2];
        chirp(synth, filter, at - start, sample);
        for (int part = 0; part < parts; part++)
            line[(at - first) * parts + part] += LW_SYNTH_SIGNAL_TO_NOISE * sample[part];
    }
}

static void add_tone(const struct lw_synth *synth, int filter, int64_t first, int64_t count, double *line)
{
    const uint64_t step = (uint64_t)centre_turns(synth, filter);
    for (int64_t i = 0; i < count; i++) {
        const uint64_t turns = step * (uint64_t)(first + i) % TURN;
        const double phase = 2 * M_PI * (double)turns / TURN;
        double *const sample = line + i * (synth->is_complex ? 2 : 1);
        sample[0] += cos(phase);
        if (synth->is_complex)
            sample[1] += sin(phase);
    }
}

void lw_synth_line(const struct lw_synth *synth, int64_t channel, int64_t first, int64_t count, double *line)
{
    const uint64_t seed = lw_noise_bits(synth->seed, 0);      /* plain seeds 1 and 2 would give shifted copies of the noise */
    for (int64_t i = 0; i < count; i++) {
        const uint64_t index = (uint64_t)channel * (uint64_t)synth->n_samples + (uint64_t)(first + i);
        double *const sample = line + i * (synth->is_complex ? 2 : 1);
        lw_noise_normals(seed, index, sample, synth->is_complex ? sample + 1 : NULL);
    }
    for (int64_t filter = channel; filter < synth->n_filters; filter += synth->n_channels) {
        if (lw_synth_is_chirp((int)filter))
            add_chirp(synth, (int)filter, first, count, line);
        else
            add_tone(synth, (int)filter, first, count, line);
    }
    const double sigma = lw_synth_sigma(synth->scalar), mean = lw_synth_mean(synth->scalar);
    for (int64_t i = 0; i < count * (synth->is_complex ? 2 : 1); i++)
        line[i] = mean + sigma * line[i];
}

/* The impulse response of a low-pass of half width w: sin(2 pi w t) / (pi t). */
static double sinc_lowpass(double w, double t) { return t == 0 ? 2 * w : sin(2 * M_PI * w * t) / (M_PI * t); }

/* A low-pass moved to the band's centre. Divided by its sum, it has gain 1 there. */
static void band_pass(const struct lw_synth *synth, int filter, double *taps)
{
    const double centre = (double)centre_turns(synth, filter) / TURN;
    double sum = 0;
    for (int64_t m = 0; m < synth->n_taps; m++)
        sum += hann(m, synth->n_taps) * sinc_lowpass(half_width(synth), (double)m - (double)(synth->n_taps - 1) / 2);
    for (int64_t m = 0; m < synth->n_taps; m++) {
        const double t = (double)m - (double)(synth->n_taps - 1) / 2;
        const double tap = hann(m, synth->n_taps) * sinc_lowpass(half_width(synth), t) / sum;
        if (synth->is_complex) {
            taps[2 * m] = tap * cos(2 * M_PI * centre * t);
            taps[2 * m + 1] = tap * sin(2 * M_PI * centre * t);
        } else {
            taps[m] = 2 * tap * cos(2 * M_PI * centre * t);
        }
    }
}

/* The matched filter of a chirp is the chirp reversed and conjugated. */
void lw_synth_filter(const struct lw_synth *synth, int filter, double *taps)
{
    const int parts = synth->is_complex ? 2 : 1;
    if (!lw_synth_is_chirp(filter)) {
        band_pass(synth, filter, taps);
        return;
    }
    for (int64_t m = 0; m < synth->n_taps; m++) {
        chirp(synth, filter, synth->n_taps - 1 - m, taps + m * parts);
        for (int part = 1; part < parts; part++)
            taps[m * parts + part] = -taps[m * parts + part];
    }
}

const char *lw_synth_filter_text(const struct lw_synth *synth, int filter, char *text, size_t size)
{
    const double centre = lw_synth_centre_hz(synth, filter), half = half_width_hz(synth);
    if (lw_synth_is_chirp(filter))
        snprintf(text, size, "matched filter of a chirp from %.6g to %.6g Hz", centre - half, centre + half);
    else
        snprintf(text, size, "band-pass from %.6g to %.6g Hz, gain 1 at %.6g Hz", centre - half, centre + half, centre);
    return text;
}

const char *lw_synth_hidden_text(const struct lw_synth *synth, int filter, char *text, size_t size)
{
    const int64_t channel = lw_synth_channel(synth, filter), start = lw_synth_chirp_start(synth, filter);
    if (!lw_synth_is_chirp(filter))
        snprintf(text, size, "channel %" PRId64 ": tone of %.9g Hz, amplitude %g, for filter %d", channel,
                 lw_synth_centre_hz(synth, filter), lw_synth_sigma(synth->scalar), filter);
    else if (start < 0)
        snprintf(text, size, "nothing for filter %d: the survey is shorter than its chirp", filter);
    else
        snprintf(text, size, "channel %" PRId64 ": chirp in samples %" PRId64 "..%" PRId64 ", signal-to-noise %g, for filter %d; "
                 "with --mode same the result peaks near sample %" PRId64 " with about %g", channel, start,
                 start + synth->n_taps - 1, LW_SYNTH_SIGNAL_TO_NOISE, filter, start + synth->n_taps / 2,
                 LW_SYNTH_SIGNAL_TO_NOISE * lw_synth_sigma(synth->scalar));
    return text;
}
