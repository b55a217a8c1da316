/* band.c - band-pass, low-pass and high-pass filters: the ideal filter times a Kaiser window. At --from and --to the gain is half
 * the gain in the pass band; the middles of the transitions lie there. */
#include "jobs/filters/band.h"

#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "design/taps.h"

#include <inttypes.h>
#include <stdio.h>

#define FREQUENCY(option, text)                                                                                         \
    {.name = option, .kind = LW_OPTION_FREQUENCY, .argument = "HZ", .minimum = 0, .maximum = 1e18, .is_required = true, \
     .help = text " The gain there is half of that in the pass band (-6 dB)."}
#define LENGTH_OPTIONS                                                                                                            \
    {.name = "taps", .kind = LW_OPTION_INT, .argument = "M", .minimum = 3, .maximum = LW_BANK_MOST_TAPS,                          \
     .help = "Number of taps. With an odd number the delay is a whole number of samples. Or give --transition."},                  \
    {.name = "transition", .kind = LW_OPTION_FREQUENCY, .argument = "HZ", .minimum = 1e-12, .maximum = 1e18,                      \
     .help = "Width from pass band to stop band; sets the length. Half of it lies on either side of an edge. The length is odd."}, \
    {.name = "attenuation", .kind = LW_OPTION_REAL, .argument = "DB", .fallback = "60", .minimum = LW_KAISER_LEAST_DB,            \
     .maximum = LW_KAISER_MOST_DB,                                                                                                \
     .help = "Attenuation of the stop bands. The ripple of the pass band follows from it. The more, the longer the filter, or "    \
             "the wider the transition."}

#define LOWER "Lower edge of the pass band."
#define UPPER "Upper edge of the pass band."

static const struct lw_option bandpass_options[] = {
    LW_OPTION_RATE, FREQUENCY("from", LOWER), FREQUENCY("to", UPPER), LENGTH_OPTIONS, LW_OPTION_NORM("gain"), {0},
};
static const struct lw_option lowpass_options[] = {
    LW_OPTION_RATE, FREQUENCY("to", UPPER), LENGTH_OPTIONS, LW_OPTION_NORM("gain"), {0},
};
static const struct lw_option highpass_options[] = {
    LW_OPTION_RATE, FREQUENCY("from", LOWER), LENGTH_OPTIONS, LW_OPTION_NORM("gain"), {0},
};

/* ---- checks -------------------------------------------------------------------------------------------------------- */

static int check_edges(double rate_hz, const struct lw_band *band, struct lw_error *err)
{
    if (band->has_low && (band->low_hz == 0 || band->low_hz == rate_hz / 2))
        return lw_fail(err, LW_EUSAGE, "%s: the lower edge must lie between 0 and %.12g Hz, half of the sampling rate; for a pass "
                       "band from 0 on make a lowpass", band->low_text, rate_hz / 2);
    if (band->has_high && (band->high_hz == 0 || band->high_hz == rate_hz / 2))
        return lw_fail(err, LW_EUSAGE, "%s: the upper edge must lie between 0 and %.12g Hz, half of the sampling rate; for a pass "
                       "band up to there make a highpass", band->high_text, rate_hz / 2);
    return LW_OK;
}

/* Return the width of the widest transition around an edge that lies between 0 and half the rate. */
static double room(double rate_hz, double edge_hz) { return fmin(2 * edge_hz, rate_hz - 2 * edge_hz); }

double lw_band_widest_transition(double rate_hz, const struct lw_band *bands, int count)
{
    double widest = INFINITY;
    for (const struct lw_band *band = bands; band < bands + count; band++) {
        if (band->has_low)
            widest = fmin(widest, room(rate_hz, band->low_hz));
        if (band->has_high)
            widest = fmin(widest, room(rate_hz, band->high_hz));
        if (band->has_low && band->has_high)
            widest = fmin(widest, band->high_hz - band->low_hz);
    }
    return widest;
}

int lw_band_read_length(const struct lw_options *given, const struct lw_band *bands, int count, struct lw_band_length *length,
                        struct lw_error *err)
{
    const bool has_taps = lw_options_given(given, "taps"), has_transition = lw_options_given(given, "transition");
    const int64_t n_taps = lw_options_int(given, "taps");
    *length = (struct lw_band_length){
        .attenuation_db = lw_options_given(given, "attenuation") ? lw_options_real(given, "attenuation") : LW_BAND_ATTENUATION_DB,
        .transition_hz = lw_options_real(given, "transition"), .n_taps = (double)n_taps,
    };
    if (has_taps && has_transition)
        return lw_fail(err, LW_EUSAGE, "--taps and --transition exclude each other: give one; the other follows from it");
    for (int f = 0; f < count; f++)
        if (has_taps && !bands[f].has_high && n_taps % 2 == 0)
            return lw_fail(err, LW_EUSAGE, "--taps %" PRId64 " is even: a highpass of even length passes nothing at half the rate; "
                           "give %" PRId64 " or %" PRId64, n_taps, n_taps - 1, n_taps + 1);
    return LW_OK;
}

/* ---- one filter ---------------------------------------------------------------------------------------------------- */

/* A Kaiser window that is tried. */
struct trial {
    double attenuation_db;          /* attenuation that the window is designed for */
    double transition;              /* its transition, as a fraction of the rate */
};

static int fill(const struct lw_band *band, const struct lw_band_length *length, struct trial *trial, struct lw_bank *bank,
                struct lw_error *err)
{
    const double low = band->low_hz / bank->rate_hz, high = band->high_hz / bank->rate_hz;
    double n_taps = length->n_taps;
    if (length->transition_hz > 0) {
        trial->transition = length->transition_hz / bank->rate_hz;
        n_taps = fmax(3, 2 * floor(lw_kaiser_length(trial->attenuation_db, trial->transition) / 2) + 1);
    } else {
        trial->transition = lw_kaiser_transition(trial->attenuation_db, (int64_t)n_taps);
    }
    const int rc = lw_bank_shape(bank, 1, n_taps, false, "a wider --transition or less --attenuation", err);
    if (rc)
        return rc;
    lw_taps_band(band->has_low ? low : 0, band->has_high ? high : 0.5, lw_kaiser_beta(trial->attenuation_db), bank->n_taps,
                 bank->taps);
    bank->references[0] = !band->has_low ? 0 : !band->has_high ? 0.5 : (low + high) / 2;
    bank->bands[0] = (struct lw_filter_bands){
        .pass_low = band->has_low ? low + trial->transition / 2 : 0,
        .pass_high = band->has_high ? high - trial->transition / 2 : 0.5,
        .stop_low = band->has_low ? low - trial->transition / 2 : -1,
        .stop_high = band->has_high ? high + trial->transition / 2 : 1,
    };
    bank->has_bands = true;
    return lw_bank_measure(bank, err);
}

/* Raise the attenuation of the window's design until the filter has the attenuation wanted. Kaiser's formulas hold to some tenths
 * of a dB for one edge; leakage of two edges and their mirror images adds up. Without a stop band the first filter will do. */
static int search(const struct lw_band *band, const struct lw_band_length *length, struct trial *trial, struct lw_bank *bank,
                  struct lw_error *err)
{
    enum { MOST_TRIALS = 12 };
    double attenuation_db = length->attenuation_db;
    for (int i = 0; i < MOST_TRIALS; i++) {
        trial->attenuation_db = attenuation_db;
        const int rc = fill(band, length, trial, bank, err);
        const double lacking_db = rc ? 0 : length->attenuation_db - bank->figures[0].attenuation_db;
        if (rc || !(lacking_db > 0))
            return rc;
        attenuation_db += lacking_db + 0.02;
    }
    return LW_OK;
}

static int make_one(const struct lw_band *band, const struct lw_band_length *length, struct trial *trial, struct lw_bank *bank,
                    struct lw_error *err)
{
    const double widest = lw_band_widest_transition(bank->rate_hz, band, 1);
    int rc;
    if ((rc = check_edges(bank->rate_hz, band, err)))
        return rc;
    if (length->transition_hz >= widest)
        return lw_fail(err, LW_EUSAGE, "--transition %.12g Hz is too wide: it must be below %.12g Hz to leave a pass band, and a "
                       "stop band on the other side of each edge", length->transition_hz, widest);
    if ((rc = search(band, length, trial, bank, err)))
        return rc;
    const double transition_hz = trial->transition * bank->rate_hz;
    if (length->transition_hz == 0 && transition_hz >= widest)      /* --taps may be too few for these edges */
        lw_log_warn("%.0f taps make transitions of %.4g Hz, too wide for a pass band and all stop bands: ripple and attenuation "
                    "are those of the remaining bands. Transitions below %.4g Hz are enough: give --transition, or more than %.0f "
                    "taps", length->n_taps, transition_hz, widest,
                    lw_kaiser_length(length->attenuation_db, widest / bank->rate_hz));
    return LW_OK;
}

/* ---- the bank ------------------------------------------------------------------------------------------------------ */

/* The filters before they are joined: each is a bank of its own. */
struct parts {
    struct lw_bank *banks;          /* [count] banks of one filter */
    struct trial *trials;           /* [count] trial that gave each filter */
    int count;
};

static int make_parts(double rate_hz, const struct lw_band *bands, const struct lw_band_length *length, struct parts *parts,
                      struct lw_error *err)
{
    int rc = LW_OK;
    if (!(parts->banks = lw_alloc_array(parts->count, sizeof *parts->banks, "filters", err)) ||
        !(parts->trials = lw_alloc_array(parts->count, sizeof *parts->trials, "filters", err)))
        return LW_ESYSTEM;
    for (int f = 0; rc == LW_OK && f < parts->count; f++) {
        parts->banks[f].rate_hz = rate_hz;
        rc = make_one(&bands[f], length, &parts->trials[f], &parts->banks[f], err);
    }
    return rc;
}

/* Join the filters to a bank. Shorter filters go into the middle: all lengths are odd (--transition) or equal (--taps). */
static int join(const struct parts *parts, struct lw_bank *bank, struct lw_error *err)
{
    int64_t n_taps = 0;
    for (int f = 0; f < parts->count; f++)
        n_taps = lw_max64(n_taps, parts->banks[f].n_taps);
    const int rc = lw_bank_shape(bank, parts->count, (double)n_taps, false, "a wider --transition or fewer bands", err);
    if (rc)
        return rc;
    for (int f = 0; f < parts->count; f++) {
        const struct lw_bank *const part = &parts->banks[f];
        memcpy(lw_bank_filter(bank, f) + (n_taps - part->n_taps) / 2, part->taps, (size_t)part->n_taps * sizeof *part->taps);
        bank->references[f] = part->references[0];
        bank->bands[f] = part->bands[0];
    }
    bank->has_bands = true;
    return LW_OK;
}

static int describe(const struct lw_band *bands, const struct lw_band_length *length, const struct parts *parts,
                    struct lw_bank *bank, struct lw_error *err)
{
    bank->attenuation_wanted_db = length->attenuation_db;
    bank->design = "ideal response times a Kaiser window";
    double *const low = bands[0].has_low ? lw_bank_note_each(bank, "from_hz", err) : NULL;
    double *const high = bands[0].has_high ? lw_bank_note_each(bank, "to_hz", err) : NULL;
    double *const transition = lw_bank_note_each(bank, "transition_hz", err);
    lw_bank_note_real(bank, "attenuation_wanted_db", length->attenuation_db);
    double *const beta = lw_bank_note_each(bank, "kaiser_beta", err);
    if ((bands[0].has_low && !low) || (bands[0].has_high && !high) || !transition || !beta)
        return LW_ESYSTEM;
    for (int f = 0; f < parts->count; f++) {
        if (low)
            low[f] = bands[f].low_hz;
        if (high)
            high[f] = bands[f].high_hz;
        transition[f] = parts->trials[f].transition * bank->rate_hz;
        beta[f] = lw_kaiser_beta(parts->trials[f].attenuation_db);
    }
    return LW_OK;
}

int lw_band_design(const struct lw_band *bands, int count, const struct lw_band_length *length, struct lw_bank *bank,
                   struct lw_error *err)
{
    struct parts parts = {.count = count};
    int rc;
    (void)((rc = make_parts(bank->rate_hz, bands, length, &parts, err)) || (rc = join(&parts, bank, err)) ||
           (rc = describe(bands, length, &parts, bank, err)));
    for (int f = 0; parts.banks && f < parts.count; f++)
        lw_bank_release(&parts.banks[f]);
    lw_free(parts.banks);
    lw_free(parts.trials);
    return rc;
}

/* ---- lapwing filters ----------------------------------------------------------------------------------------------- */

static int design(const struct lw_options *given, struct lw_bank *bank, struct lw_error *err)
{
    const bool has_low = bank->kind != &lw_filter_lowpass, has_high = bank->kind != &lw_filter_highpass;
    struct lw_band band = {.has_low = has_low, .has_high = has_high, .high_hz = bank->rate_hz / 2};
    struct lw_band_length length;
    int rc = has_low ? lw_bank_read_frequency(bank, given, "from", &band.low_hz, err) : LW_OK;
    if (rc == LW_OK && has_high)
        rc = lw_bank_read_frequency(bank, given, "to", &band.high_hz, err);
    if (rc)
        return rc;
    snprintf(band.low_text, sizeof band.low_text, "--from %.12g", band.low_hz);
    snprintf(band.high_text, sizeof band.high_text, "--to %.12g", band.high_hz);
    if ((rc = check_edges(bank->rate_hz, &band, err)))
        return rc;
    if (band.low_hz >= band.high_hz)
        return lw_fail(err, LW_EUSAGE, "%s is not below %s: the pass band must lie between them", band.low_text, band.high_text);
    if ((rc = lw_band_read_length(given, &band, 1, &length, err)))
        return rc;
    if (length.n_taps == 0 && length.transition_hz == 0)
        return lw_fail(err, LW_EUSAGE, "--taps is missing: give --taps M, or --transition HZ, from which the length follows");
    return lw_band_design(&band, 1, &length, bank, err);
}

/* ---- the kinds ----------------------------------------------------------------------------------------------------- */

#define METHOD                                                                                                                     \
    " The taps are those of the ideal filter times a Kaiser window. Give their number, or the width of the transition, which "     \
    "sets it. The properties of the filter are measured and printed."

const struct lw_filter_kind lw_filter_bandpass = {
    .name = "bandpass", .title = "passes what lies between two frequencies",
    .description = "A band-pass with linear phase. Gain 1 is that in the middle of the pass band." METHOD,
    .example = "lapwing filters bandpass --rate 500 --from 2 --to 20 \\\n"
               "    --transition 2 --output bank.h5",
    .options = bandpass_options, .design = design,
};

const struct lw_filter_kind lw_filter_lowpass = {
    .name = "lowpass", .title = "passes what lies below a frequency",
    .description = "A low-pass with linear phase. Gain 1 is that at 0 Hz." METHOD,
    .example = "lapwing filters lowpass --rate 500 --to 20 --taps 513 --output bank.h5",
    .options = lowpass_options, .design = design,
};

const struct lw_filter_kind lw_filter_highpass = {
    .name = "highpass", .title = "passes what lies above a frequency",
    .description = "A high-pass with linear phase, of odd length. Gain 1 is that at half the sampling rate." METHOD,
    .example = "lapwing filters highpass --rate 500 --from 1 --taps 2049 --output bank.h5",
    .options = highpass_options, .design = design,
};
