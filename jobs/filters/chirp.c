/* chirp.c - the matched filter of a linear chirp, in quadrature. */
#include "design/taps.h"
#include "jobs/filters/bank.h"

static const struct lw_option options[] = {
    LW_OPTION_RATE,
    {.name = "from", .kind = LW_OPTION_FREQUENCY, .argument = "HZ", .minimum = 0, .maximum = 1e18, .is_required = true,
     .help = "Frequency at the chirp's start."},
    {.name = "to", .kind = LW_OPTION_FREQUENCY, .argument = "HZ", .minimum = 0, .maximum = 1e18, .is_required = true,
     .help = "Frequency at the chirp's end. If it is below the start, the chirp falls."},
    {.name = "duration", .kind = LW_OPTION_DURATION, .argument = "S", .minimum = 1e-15, .maximum = 1e18, .is_required = true,
     .help = "Length of the chirp, rounded to whole samples."},
    {.name = "window", .kind = LW_OPTION_CHOICE, .choices = LW_WINDOW_CHOICES, .fallback = "rectangular",
     .help = "Amplitude: constant, or rising and falling as sin^2."},
    LW_OPTION_NORM("energy"),
    {0},
};

static int design(const struct lw_options *given, struct lw_bank *bank, struct lw_error *err)
{
    double from_hz, to_hz;
    const double duration_s = lw_options_real(given, "duration"), n_taps = round(duration_s * bank->rate_hz);
    int rc;
    if ((rc = lw_bank_read_frequency(bank, given, "from", &from_hz, err)) ||
        (rc = lw_bank_read_frequency(bank, given, "to", &to_hz, err)))
        return rc;
    if (n_taps < 2)
        return lw_fail(err, LW_EUSAGE, "--duration %.6g s is less than two samples at --rate %.12g: the least is %.6g s",
                       duration_s, bank->rate_hz, 2 / bank->rate_hz);
    if ((rc = lw_bank_shape(bank, 1, n_taps, true, "a shorter --duration", err)))
        return rc;
    const double from = from_hz / bank->rate_hz, to = to_hz / bank->rate_hz;
    lw_taps_chirp(from, to, (enum lw_window)lw_options_choice(given, "window"), bank->n_taps, bank->taps);
    bank->references[0] = (from + to) / 2;
    bank->design = "conj(s[M - 1 - m]) of s[m] = w[m] exp(2 pi i (f0 t + (f1 - f0) t^2 / (2 T))), t = m / rate, T = M / rate";
    lw_bank_note_real(bank, "from_hz", from_hz);
    lw_bank_note_real(bank, "to_hz", to_hz);
    lw_bank_note_real(bank, "duration_s", n_taps / bank->rate_hz);
    return LW_OK;
}

const struct lw_filter_kind lw_filter_chirp = {
    .name = "chirp", .title = "the matched filter of a linear chirp, in quadrature",
    .description = "Complex taps: the chirp as cosine and sine, conjugated and reversed in time. Convolving is then matched "
                   "filtering; do not give ols --correlate. The magnitude of the output (--post amplitude) does not depend on the "
                   "chirp's phase. With --mode full a chirp that begins at sample i has its peak at output i + M - 1. With --mode "
                   "same the peak is at i + M / 2, rounded down. With --norm energy the mean of |y|^2 in white noise is the "
                   "noise's power. With --norm gain the gain is 1 in the middle of the chirp's frequencies.",
    .example = "lapwing filters chirp --rate 4096 --from 50 --to 300 --duration 0.25 \\\n"
               "    --output bank.h5",
    .options = options, .design = design,
};
