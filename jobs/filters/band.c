/* band.c - band-pass, low-pass and high-pass: the ideal filter times a Kaiser window. --from and --to are where the gain is
 * half of that in the pass band; transitions lie half on either side of them. */
#include "filters/kaiser.h"
#include "filters/taps.h"
#include "base/log.h"
#include "jobs/filters/bank.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define FREQUENCY(option, text)                                                                         \
    {                                                                                                   \
        .name = option, .kind = LW_OPTION_REAL, .argument = "HZ", .minimum = 0, .maximum = 1e18,        \
        .is_required = true, .help = text " There the gain is half of that in the pass band (-6 dB).",  \
    }
#define LENGTH_OPTIONS                                                                                                          \
    {                                                                                                                           \
        .name = "taps", .kind = LW_OPTION_INT, .argument = "M", .minimum = 3, .maximum = LW_BANK_MOST_TAPS,                     \
        .help = "Length. With an odd one the delay is a whole number of samples. Or give --transition.",                        \
    },                                                                                                                          \
    {                                                                                                                           \
        .name = "transition", .kind = LW_OPTION_REAL, .argument = "HZ", .minimum = 1e-12, .maximum = 1e18,                      \
        .help = "Width of the transition from pass band to stop band, half of it on either side of an edge: the length, an "    \
                "odd one, follows from it.",                                                                                    \
    },                                                                                                                          \
    {                                                                                                                           \
        .name = "attenuation", .kind = LW_OPTION_REAL, .argument = "DB", .fallback = "60", .minimum = LW_KAISER_LEAST_DB,       \
        .maximum = LW_KAISER_MOST_DB,                                                                                           \
        .help = "Attenuation beyond the transitions; the ripple of the pass band follows from it. The more, the longer the "    \
                "filter, or the wider the transition.",                                                                         \
    }

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

/* What is asked for. A low-pass begins at 0, a high-pass ends at half the rate, and neither has an edge there. */
struct request {
    double rate_hz;
    bool has_low, has_high;
    double low_hz, high_hz;
    double attenuation_db;
    double transition_hz;           /* 0: follows from n_taps */
    double n_taps;                  /* 0: follows from transition_hz */
};

/* ---- options ------------------------------------------------------------------------------------------------------- */

static int read_edges(const struct lw_options *given, const struct lw_bank *bank, struct request *request, struct lw_error *err)
{
    int rc = LW_OK;
    if (request->has_low)
        rc = lw_bank_read_frequency(bank, given, "from", &request->low_hz, err);
    if (rc == LW_OK && request->has_high)
        rc = lw_bank_read_frequency(bank, given, "to", &request->high_hz, err);
    if (rc)
        return rc;
    if (request->has_low && (request->low_hz == 0 || request->low_hz == bank->rate_hz / 2))
        return lw_fail(err, LW_EUSAGE, "--from %.12g: the lower edge lies between 0 and %.12g Hz, half of --rate; a pass band from 0 "
                       "on is a lowpass", request->low_hz, bank->rate_hz / 2);
    if (request->has_high && (request->high_hz == 0 || request->high_hz == bank->rate_hz / 2))
        return lw_fail(err, LW_EUSAGE, "--to %.12g: the upper edge lies between 0 and %.12g Hz, half of --rate; a pass band up to "
                       "there is a highpass", request->high_hz, bank->rate_hz / 2);
    if (request->low_hz >= request->high_hz)
        return lw_fail(err, LW_EUSAGE, "--from %.12g is not below --to %.12g: the pass band lies between them", request->low_hz,
                       request->high_hz);
    return LW_OK;
}

/* Room on both sides of an edge. */
static double room(const struct request *request, double edge_hz)
{
    return fmin(2 * edge_hz, request->rate_hz - 2 * edge_hz);
}

/* Transitions must be narrower than this to leave a pass band and stop bands. */
static double widest_transition(const struct request *request)
{
    double widest = INFINITY;
    if (request->has_low)
        widest = fmin(widest, room(request, request->low_hz));
    if (request->has_high)
        widest = fmin(widest, room(request, request->high_hz));
    return request->has_low && request->has_high ? fmin(widest, request->high_hz - request->low_hz) : widest;
}

static int read_transition(struct request *request, struct lw_error *err)
{
    const double widest = widest_transition(request);
    if (request->transition_hz >= widest)
        return lw_fail(err, LW_EUSAGE, "--transition %.12g Hz is too wide: it must be below %.12g Hz to leave a pass band, and a stop "
                       "band on the other side of each edge", request->transition_hz, widest);
    return LW_OK;
}

static int read_length(const struct lw_options *given, struct request *request, struct lw_error *err)
{
    const bool has_taps = lw_options_given(given, "taps"), has_transition = lw_options_given(given, "transition");
    request->attenuation_db = lw_options_real(given, "attenuation");
    request->transition_hz = lw_options_real(given, "transition");
    if (has_taps && has_transition)
        return lw_fail(err, LW_EUSAGE, "--taps and --transition exclude each other: the one follows from the other");
    if (has_transition)
        return read_transition(request, err);
    if (!has_taps)
        return lw_fail(err, LW_EUSAGE, "--taps is missing: give --taps M, or --transition HZ to have the length found");
    const int64_t n_taps = lw_options_int(given, "taps");
    if (!request->has_high && n_taps % 2 == 0)
        return lw_fail(err, LW_EUSAGE, "--taps %" PRId64 " is even: a highpass of even length passes nothing at half the rate; give %"
                       PRId64 " or %" PRId64, n_taps, n_taps - 1, n_taps + 1);
    request->n_taps = (double)n_taps;
    return LW_OK;
}

/* ---- the filter ---------------------------------------------------------------------------------------------------- */

/* A Kaiser window made for so much attenuation. */
struct trial {
    double attenuation_db;
    double n_taps;
    double transition;              /* fraction of the rate */
};

static struct trial plan_trial(const struct request *request, double attenuation_db)
{
    struct trial trial = {.attenuation_db = attenuation_db, .n_taps = request->n_taps};
    if (request->transition_hz > 0) {
        trial.transition = request->transition_hz / request->rate_hz;
        trial.n_taps = fmax(3, 2 * floor(lw_kaiser_length(attenuation_db, trial.transition) / 2) + 1);
    } else {
        trial.transition = lw_kaiser_transition(attenuation_db, (int64_t)request->n_taps);
    }
    return trial;
}

static struct lw_filter_bands find_bands(const struct request *request, double transition)
{
    const double low = request->low_hz / request->rate_hz, high = request->high_hz / request->rate_hz;
    return (struct lw_filter_bands){
        .pass_low = request->has_low ? low + transition / 2 : 0,
        .pass_high = request->has_high ? high - transition / 2 : 0.5,
        .stop_low = request->has_low ? low - transition / 2 : -1,
        .stop_high = request->has_high ? high + transition / 2 : 1,
    };
}

static int fill(const struct request *request, const struct trial *trial, struct lw_bank *bank, struct lw_error *err)
{
    const double low = request->low_hz / request->rate_hz, high = request->high_hz / request->rate_hz;
    const int rc = lw_bank_shape(bank, 1, trial->n_taps, false, "a wider --transition or less --attenuation", err);
    if (rc)
        return rc;
    lw_taps_band(request->has_low ? low : 0, request->has_high ? high : 0.5, lw_kaiser_beta(trial->attenuation_db), bank->n_taps,
                 bank->taps);
    bank->references[0] = !request->has_low ? 0 : !request->has_high ? 0.5 : (low + high) / 2;
    bank->bands = find_bands(request, trial->transition);
    bank->has_bands = true;
    return lw_bank_measure(bank, err);
}

/* Kaiser's formulas are good to some tenths of a dB for one edge. What two edges and their mirror images let through adds up, so
 * the window is made for somewhat more, until the filter does what it should. Where there is no stop band any will do. */
static int search(const struct request *request, struct lw_bank *bank, struct trial *trial, struct lw_error *err)
{
    enum { MOST_TRIALS = 12 };
    double attenuation_db = request->attenuation_db;
    for (int i = 0; i < MOST_TRIALS; i++) {
        *trial = plan_trial(request, attenuation_db);
        const int rc = fill(request, trial, bank, err);
        const double lacking_db = rc ? 0 : request->attenuation_db - bank->figures[0].attenuation_db;
        if (rc || !(lacking_db > 0))
            return rc;
        attenuation_db += lacking_db + 0.02;
    }
    return LW_OK;
}

/* The taps that --taps gives may be too few for the edges. */
static void warn_if_short(const struct request *request, double transition_hz)
{
    const double widest = widest_transition(request);
    if (request->transition_hz == 0 && transition_hz >= widest)
        lw_log_warn("%.0f taps make transitions of %.4g Hz, too wide for a pass band and all stop bands; what is said of ripple and "
                    "attenuation holds for those that are left. --transition below %.4g Hz finds a length that is enough, above %.0f "
                    "taps", request->n_taps, transition_hz, widest,
                    lw_kaiser_length(request->attenuation_db, widest / request->rate_hz));
}

static void describe(const struct request *request, const struct trial *trial, struct lw_bank *bank)
{
    bank->attenuation_wanted_db = request->attenuation_db;
    bank->design = "ideal response times a Kaiser window";
    if (request->has_low)
        lw_bank_note_real(bank, "from_hz", request->low_hz);
    if (request->has_high)
        lw_bank_note_real(bank, "to_hz", request->high_hz);
    lw_bank_note_real(bank, "transition_hz", trial->transition * request->rate_hz);
    lw_bank_note_real(bank, "attenuation_wanted_db", request->attenuation_db);
    lw_bank_note_real(bank, "kaiser_beta", lw_kaiser_beta(trial->attenuation_db));
}

static int make(const struct request *request, struct lw_bank *bank, struct lw_error *err)
{
    struct trial trial;
    const int rc = search(request, bank, &trial, err);
    if (rc)
        return rc;
    warn_if_short(request, trial.transition * request->rate_hz);
    describe(request, &trial, bank);
    return LW_OK;
}

static int design(const struct lw_options *given, bool has_low, bool has_high, struct lw_bank *bank, struct lw_error *err)
{
    struct request request = {
        .rate_hz = bank->rate_hz,
        .has_low = has_low,
        .has_high = has_high,
        .high_hz = bank->rate_hz / 2,
    };
    int rc;
    (void)((rc = read_edges(given, bank, &request, err)) ||
           (rc = read_length(given, &request, err)) ||
           (rc = make(&request, bank, err)));
    return rc;
}

/* ---- the kinds ----------------------------------------------------------------------------------------------------- */

static int design_bandpass(const struct lw_options *given, struct lw_bank *bank, struct lw_error *err)
{
    return design(given, true, true, bank, err);
}

static int design_lowpass(const struct lw_options *given, struct lw_bank *bank, struct lw_error *err)
{
    return design(given, false, true, bank, err);
}

static int design_highpass(const struct lw_options *given, struct lw_bank *bank, struct lw_error *err)
{
    return design(given, true, false, bank, err);
}

#define METHOD                                                                                                               \
    " The taps are those of the ideal filter times a Kaiser window. Give the length, or have it found from the width of the " \
    "transition; what the filter then does is measured and said."

const struct lw_filter_kind lw_filter_bandpass = {
    .name = "bandpass",
    .title = "passes what lies between two frequencies",
    .description = "A band-pass with linear phase. Gain 1 is that in the middle of the pass band." METHOD,
    .example = "lapwing filters bandpass --rate 500 --from 2 --to 20 \\\n"
               "    --transition 2 --output bank.h5",
    .options = bandpass_options,
    .design = design_bandpass,
};

const struct lw_filter_kind lw_filter_lowpass = {
    .name = "lowpass",
    .title = "passes what lies below a frequency",
    .description = "A low-pass with linear phase. Gain 1 is that at 0 Hz." METHOD,
    .example = "lapwing filters lowpass --rate 500 --to 20 --taps 513 --output bank.h5",
    .options = lowpass_options,
    .design = design_lowpass,
};

const struct lw_filter_kind lw_filter_highpass = {
    .name = "highpass",
    .title = "passes what lies above a frequency",
    .description = "A high-pass with linear phase, of odd length. Gain 1 is that at half the sampling rate." METHOD,
    .example = "lapwing filters highpass --rate 500 --from 1 --taps 2049 --output bank.h5",
    .options = highpass_options,
    .design = design_highpass,
};
