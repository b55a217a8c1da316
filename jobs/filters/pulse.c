/* pulse.c - banks of boxcars, Gaussians or Ricker wavelets of several widths, all as long as the longest, with a common middle. */
#include "base/log.h"
#include "design/taps.h"
#include "jobs/filters/bank.h"

#include <inttypes.h>

/* Half lengths of pulses: a Gaussian's in sigma (it falls to 4e-6), a Ricker wavelet's in periods of its peak frequency (2e-7). */
#define GAUSSIAN_REACH 5
#define RICKER_REACH 1.4

/* The shortest time that an option accepts; with shorter times computations would overflow. */
#define LEAST_SECONDS 1e-15

#define TAPS_OPTION                                                                                           \
    {.name = "taps", .kind = LW_OPTION_INT, .argument = "M", .minimum = 1, .maximum = LW_BANK_MOST_TAPS,      \
     .help = "Number of taps, odd. Default: from where the longest pulse rises to where it has died away."}

static const struct lw_option boxcar_options[] = {
    {.name = "widths", .kind = LW_OPTION_TEXT, .argument = "W,W,...", .help = "Widths in samples. Or give --durations."},
    {.name = "durations", .kind = LW_OPTION_TEXT, .argument = "S,S,...",
     .help = "Widths in seconds, rounded to whole samples. They need --rate."},
    {.name = "baseline", .kind = LW_OPTION_TEXT, .argument = "LENGTH", .help = LW_BASELINE_HELP},
    {.name = "rate", .kind = LW_OPTION_FREQUENCY, .argument = "HZ", .minimum = 1e-9, .maximum = 1e18,
     .help = "Sampling rate of the signals to filter. ols refuses signals of another rate. Default: none; the bank is for any "
             "rate."},
    LW_OPTION_NORM("energy"),
    {0},
};

static const struct lw_option gaussian_options[] = {
    LW_OPTION_RATE,
    {.name = "sigma", .kind = LW_OPTION_TEXT, .argument = "S,S,...", .help = "Standard deviations in seconds. Or give --fwhm."},
    {.name = "fwhm", .kind = LW_OPTION_TEXT, .argument = "S,S,...",
     .help = "Full widths at half maximum in seconds, 2.3548 sigma each."},
    TAPS_OPTION,
    LW_OPTION_NORM("gain"),
    {0},
};

static const struct lw_option ricker_options[] = {
    LW_OPTION_RATE,
    {.name = "frequency", .kind = LW_OPTION_TEXT, .argument = "HZ,HZ,...", .is_required = true,
     .help = "Frequencies at which the wavelets' spectra are largest."},
    TAPS_OPTION,
    LW_OPTION_NORM("energy"),
    {0},
};

/* ---- common -------------------------------------------------------------------------------------------------------- */

/* Check that exactly one of two options is given. */
static int check_either(const struct lw_options *given, const char *a, const char *b, struct lw_error *err)
{
    const bool has_a = lw_options_given(given, a), has_b = lw_options_given(given, b);
    if (has_a && has_b)
        return lw_fail(err, LW_EUSAGE, "--%s and --%s exclude each other: give one of them", a, b);
    if (!has_a && !has_b)
        return lw_fail(err, LW_EUSAGE, "--%s is missing: give --%s or --%s, one number or several with commas between them", a, a,
                       b);
    return LW_OK;
}

/* Choose the length: --taps, or enough for `reach` samples on either side of the middle. */
static int choose_length(const struct lw_options *given, double reach, double *n_taps, struct lw_error *err)
{
    const int64_t wanted = lw_options_int(given, "taps");
    *n_taps = lw_options_given(given, "taps") ? (double)wanted : 2 * fmax(1, ceil(reach)) + 1;
    if (fmod(*n_taps, 2) == 0)
        return lw_fail(err, LW_EUSAGE, "--taps %" PRId64 " is even: the pulse's middle would lie between two taps; give %" PRId64
                       " or %" PRId64, wanted, wanted - 1, wanted + 1);
    return LW_OK;
}

/* ---- boxcar -------------------------------------------------------------------------------------------------------- */

int lw_boxcar_read_width(const char *option, const char *item, double rate_hz, double *width, struct lw_error *err)
{
    struct lw_stretch stretch;
    if (lw_parse_stretch(item, &stretch) != LW_PARSE_OK)
        return lw_fail(err, LW_EUSAGE, "--%s: '%s' is no width such as 16 (samples) or 2ms (a time)", option, item);
    if (stretch.is_time && rate_hz == 0)
        return lw_fail(err, LW_EUSAGE, "--%s: %s is a time and needs --rate; give --rate, or the width in samples", option, item);
    const double samples = stretch.is_time ? stretch.seconds * rate_hz : (double)stretch.samples;
    *width = round(samples);
    if (!(*width >= 1 && *width <= LW_BANK_MOST_TAPS))
        return lw_fail(err, LW_EUSAGE, "--%s: %s is %.12g samples; it must be 1 to %d", option, item, samples, LW_BANK_MOST_TAPS);
    return LW_OK;
}

int lw_boxcar_read_baseline(const struct lw_options *given, double rate_hz, int64_t *samples, struct lw_error *err)
{
    double width = 0;
    const int rc = lw_options_given(given, "baseline")
        ? lw_boxcar_read_width("baseline", lw_options_text(given, "baseline"), rate_hz, &width, err)
        : LW_OK;
    *samples = (int64_t)width;
    return rc;
}

/* Read the widths in samples: --widths, or --durations rounded to whole samples. */
static int read_widths(const struct lw_options *given, struct lw_bank *bank, int *count, struct lw_error *err)
{
    int rc = check_either(given, "widths", "durations", err);
    if (rc)
        return rc;
    if (lw_options_given(given, "widths"))
        return lw_bank_read_list(given, &(struct lw_bank_list){"widths", "samples", 1, LW_BANK_MOST_TAPS, true, NULL},
                                 &bank->parameters, count, err);
    if (bank->rate_hz == 0)
        return lw_fail(err, LW_EUSAGE, "--durations needs --rate: give --rate, or --widths in samples");
    rc = lw_bank_read_list(given, &(struct lw_bank_list){"durations", "seconds", 0.5 / bank->rate_hz,
                                                         LW_BANK_MOST_TAPS / bank->rate_hz, false, lw_parse_duration},
                           &bank->parameters, count, err);
    for (int f = 0; rc == LW_OK && f < *count; f++)
        bank->parameters[f] = round(bank->parameters[f] * bank->rate_hz);
    return rc;
}

/* A boxcar minus its mean over the baseline is the best filter for a pulse of its width in white noise on an unknown constant: it
 * is the boxcar's projection onto the filters that give 0 for a constant. */
int lw_boxcar_design(int count, int64_t baseline, struct lw_bank *bank, struct lw_error *err)
{
    const double widest = lw_bank_largest(bank->parameters, count);
    if (baseline > 0 && (double)baseline <= widest)
        return lw_fail(err, LW_EUSAGE, "baseline: %" PRId64 " samples are not more than the widest boxcar, %.12g, which would "
                       "cancel: give a longer baseline", baseline, widest);
    if (baseline > 0 && strcmp(bank->norm, "gain") == 0)
        return lw_fail(err, LW_EUSAGE,
                       "norm gain is the gain at 0 Hz, which is 0 for filters with a baseline: leave out the norm or the "
                       "baseline");
    const int rc = lw_bank_shape(bank, count, fmax(widest, (double)baseline), false, "fewer or narrower boxcars", err);
    if (rc)
        return rc;
    for (int f = 0; f < count; f++) {
        const int64_t width = (int64_t)bank->parameters[f];
        lw_taps_boxcar(width, bank->n_taps, lw_bank_filter(bank, f));
        if (baseline > 0)
            lw_taps_remove_mean(bank->n_taps, lw_bank_filter(bank, f));
        bank->delays[f] = (double)lw_taps_boxcar_begin(width, bank->n_taps) + (double)(width - 1) / 2;
    }
    bank->design =
        baseline > 0 ? "as many equal taps as the width, less the mean over all taps" : "as many equal taps as the width";
    return LW_OK;
}

static int design_boxcar(const struct lw_options *given, struct lw_bank *bank, struct lw_error *err)
{
    int count, rc;
    int64_t baseline;
    if ((rc = read_widths(given, bank, &count, err)) || (rc = lw_boxcar_read_baseline(given, bank->rate_hz, &baseline, err)))
        return rc;
    return lw_boxcar_design(count, baseline, bank, err);
}

const struct lw_filter_kind lw_filter_boxcar = {
    .name = "boxcar", .title = "running sums over some widths, as pulsar searches take",
    .description = "Sums over neighbouring samples, one filter for each width. Narrower ones have zeros on both sides, so that "
                   "with --mode same each gives what it would give alone: output i of width W is the sum from i - W / 2 on, "
                   "rounded down. With --norm energy white noise keeps its standard deviation for every width; with --norm gain "
                   "the filters are means. With --baseline they are as long as the baseline, and their sum is 0.",
    .example = "lapwing filters boxcar --widths 1,2,4,8,16,32,64 --output bank.h5\n"
               "lapwing filters boxcar --widths 1,2,4,8 --baseline 256 --output bank.h5",
    .options = boxcar_options, .design = design_boxcar, .parameter_name = "width_samples", .parameter_text = "%.12g wide",
};

/* ---- Gaussian ------------------------------------------------------------------------------------------------------ */

static int design_gaussian(const struct lw_options *given, struct lw_bank *bank, struct lw_error *err)
{
    const bool is_sigma = lw_options_given(given, "sigma");
    const struct lw_bank_list list = {is_sigma ? "sigma" : "fwhm", "seconds", LEAST_SECONDS, 1e15, false, lw_parse_duration};
    int count, rc;
    double n_taps;
    if ((rc = check_either(given, "sigma", "fwhm", err)) || (rc = lw_bank_read_list(given, &list, &bank->parameters, &count, err)))
        return rc;
    for (int f = 0; !is_sigma && f < count; f++)
        bank->parameters[f] /= LW_FWHM;
    if ((rc = choose_length(given, GAUSSIAN_REACH * lw_bank_largest(bank->parameters, count) * bank->rate_hz, &n_taps, err)) ||
        (rc = lw_bank_shape(bank, count, n_taps, false, "fewer or narrower ones, or --taps", err)))
        return rc;
    for (int f = 0; f < count; f++)
        lw_taps_gaussian(bank->parameters[f] * bank->rate_hz, bank->n_taps, bank->taps + f * bank->n_taps);
    bank->design = "samples of exp(-t^2 / (2 sigma^2))";
    return LW_OK;
}

const struct lw_filter_kind lw_filter_gaussian = {
    .name = "gaussian", .title = "Gaussian pulses or smoothing of some widths",
    .description = "exp(-t^2 / (2 sigma^2)), one filter for each width, symmetric about the middle tap. Gain 1 is that at 0 Hz.",
    .example = "lapwing filters gaussian --rate 500 --fwhm 0.02,0.05,0.1 --output bank.h5",
    .options = gaussian_options, .design = design_gaussian, .parameter_name = "sigma_s", .parameter_text = "sigma %.6g s",
};

/* ---- Ricker -------------------------------------------------------------------------------------------------------- */

static int design_ricker(const struct lw_options *given, struct lw_bank *bank, struct lw_error *err)
{
    int count, rc;
    double n_taps, reach = 0;
    const struct lw_bank_list list = {"frequency", "Hz (up to half of --rate)", LEAST_SECONDS, bank->rate_hz / 2, false,
                                      lw_parse_frequency};
    if ((rc = lw_bank_read_list(given, &list, &bank->parameters, &count, err)))
        return rc;
    for (int f = 0; f < count; f++)
        reach = fmax(reach, RICKER_REACH / bank->parameters[f] * bank->rate_hz);
    if ((rc = choose_length(given, reach, &n_taps, err)) ||
        (rc = lw_bank_shape(bank, count, n_taps, false, "fewer or higher ones, or --taps", err)))
        return rc;
    for (int f = 0; f < count; f++) {
        bank->references[f] = bank->parameters[f] / bank->rate_hz;
        lw_taps_ricker(bank->references[f], bank->n_taps, bank->taps + f * bank->n_taps);
    }
    /* The spectrum of a wavelet goes as a exp(-a), a = (f / peak)^2. Its part beyond half the rate is folded back. */
    const double peak_hz = lw_bank_largest(bank->parameters, count), ratio = bank->rate_hz / 2 / peak_hz, a = ratio * ratio;
    const double left = a * exp(1 - a);
    if (left > 0.01)
        lw_log_warn("--frequency %.6g: at half of --rate %.6g the wavelet's spectrum still has %.0f%% of its maximum, so that its "
                    "taps distort it; frequencies up to a sixth of the rate are safe", peak_hz, bank->rate_hz,
                    100 * left);
    bank->design = "samples of (1 - 2 a) exp(-a), a = (pi f t)^2";
    return LW_OK;
}

const struct lw_filter_kind lw_filter_ricker = {
    .name = "ricker", .title = "Ricker wavelets, as in seismology",
    .description = "(1 - 2 a) exp(-a) with a = (pi f t)^2, one filter for each frequency f, symmetric about the middle tap. Gain "
                   "1 is that at f.",
    .example = "lapwing filters ricker --rate 500 --frequency 10,20,40 --output bank.h5",
    .options = ricker_options, .design = design_ricker, .parameter_name = "frequency_hz", .parameter_text = "peak at %.6g Hz",
};
