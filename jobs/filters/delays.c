/* delays.c - delays of channels for trials of `ols --beams`: dispersion measures of a filterbank, slownesses of a line array.
 *
 *     coordinate of the channels, trials  -->  delays [trial x channel]  -->  command.c: file
 *
 * The beam of a trial at sample t sums the channels' samples t + delay. */
#include "base/log.h"
#include "base/memory.h"
#include "design/dispersion.h"
#include "job/coordinates.h"
#include "jobs/filters/bank.h"

#include <inttypes.h>
#include <stdio.h>

enum { MOST_TRIALS = 1 << 20 };

struct range {
    double low, high, step;             /* step 0: none is given */
};

/* Read "LOW:HIGH:STEP". @param is_dm  STEP may be left out, and LOW is not negative */
static int read_range(const struct lw_options *given, const char *option, bool is_dm, struct range *range, struct lw_error *err)
{
    const char *const text = lw_options_text(given, option);
    int end = 0, end_step = 0;
    *range = (struct range){0, 0, 0};
    const int n = sscanf(text, "%lf:%lf%n:%lf%n", &range->low, &range->high, &end, &range->step, &end_step);
    if (isfinite(range->high - range->low) && range->low <= range->high && (!is_dm || range->low >= 0) &&
        ((n == 3 && !text[end_step] && range->step > 0 && isfinite(range->step)) || (n == 2 && !text[end] && is_dm)))
        return LW_OK;
    return lw_fail(err, LW_EUSAGE, "--%s %.200s is not LOW:HIGH:STEP%s with %sLOW <= HIGH and STEP above 0", option, text,
                   is_dm ? " or LOW:HIGH" : "", is_dm ? "0 <= " : "");
}

/* ---- trials -------------------------------------------------------------------------------------------------------------- */

/* A series of trials. The delay of trial i and channel c is scale x values[i] x places[c] samples. */
struct trials {
    double *values;                     /* owned; [n] */
    int64_t n;
    double *places;                     /* owned; [n_channels] */
    int64_t n_channels;
    double scale, longest;              /* longest: the longest delay, in samples */
};

/* Round the delays of a trial to whole samples, halves away from 0. */
static int make(const void *context, int f, double *work, double *row, struct lw_error *err)
{
    const struct trials *const trials = context;
    (void)row;
    (void)err;
    for (int64_t c = 0; c < trials->n_channels; c++)
        work[c] = round(trials->scale * trials->values[f] * trials->places[c]);
    return LW_OK;
}

static void release(void *context)
{
    struct trials *const trials = context;
    lw_free(trials->values);
    lw_free(trials->places);
    lw_free(trials);
}

static void report(const struct lw_bank *bank, const double *rows)
{
    const struct trials *const trials = bank->series.context;
    (void)rows;
    lw_log_info("%" PRId64 " trials from %.9g to %.9g %s, %" PRId64 " channels, delays up to %.0f samples (%.6g s)", trials->n,
                trials->values[0], trials->values[trials->n - 1], bank->layout.scales[0].units, trials->n_channels, trials->longest,
                trials->longest / bank->rate_hz);
}

static int create_trials(struct lw_bank *bank, struct trials **out, struct lw_error *err)
{
    const int64_t n = lw_range_length(&bank->data.channels);
    struct trials *const trials = *out = lw_alloc(sizeof *trials, "trials", err);
    if (!trials)
        return LW_ESYSTEM;
    bank->series = (struct lw_bank_series){.context = trials, .work_doubles = n, .make = make, .report = report,
                                           .release = release};
    trials->n_channels = n;
    trials->values = lw_alloc_array(MOST_TRIALS, sizeof *trials->values, "trials", err);
    trials->places = lw_alloc_array(n, sizeof *trials->places, "trials", err);
    return trials->values && trials->places ? LW_OK : LW_ESYSTEM;
}

/* List the trials of a range with both ends, to within a millionth of a step. */
static int list_range(const struct range *range, struct trials *trials, struct lw_error *err)
{
    const double count = floor((range->high - range->low) / range->step + 1e-6) + 1;
    if (count > MOST_TRIALS)
        return lw_fail(err, LW_EUSAGE, "there would be %.0f trials, but at most %d are possible: give wider steps", count,
                       MOST_TRIALS);
    trials->n = (int64_t)count;
    for (int64_t i = 0; i < trials->n; i++) {
        const double value = range->low + (double)i * range->step;
        trials->values[i] = fabs(value) < range->step * 1e-6 ? 0 : value;       /* 0, not 1e-17 */
    }
    return LW_OK;
}

/* Set the bank's shape and dataset. @param name  the trials' coordinate, "dm" @param rate_hz  rate of the data of the beams */
static int finish(struct lw_bank *bank, const char *name, const char *unit, double rate_hz, struct lw_error *err)
{
    struct trials *const trials = bank->series.context;
    for (int64_t c = 0; c < trials->n_channels; c++)
        trials->longest = fmax(trials->longest, round(trials->scale * fabs(trials->places[c]) *
                                                      fmax(fabs(trials->values[0]), fabs(trials->values[trials->n - 1]))));
    bank->n_filters = (int)trials->n;
    bank->n_taps = trials->n_channels;
    bank->rate_hz = rate_hz;
    bank->design = "samples: the beam at t sums channels at t + delay";
    bank->layout = (struct lw_writer_dataset){
        .path = "/delays", .n_dims = 2, .dims = {trials->n, trials->n_channels}, .dim_names = {name, "channel"},
        .type = {.scalar = LW_INT32}, .has_scales = true,
        .scales = {{.kind = LW_SCALE_VALUES, .values = trials->values, .step = 1}},
    };
    snprintf(bank->layout.scales[0].units, sizeof bank->layout.scales[0].units, "%s", unit);
    lw_coordinates_channels(bank->data.places, &bank->data.channels, "channel", &bank->layout, 1);
    if (trials->longest > INT32_MAX)
        return lw_fail(err, LW_EUSAGE, "--%s: the longest delay would be %.6g samples, but at most 2^31 - 1 are possible", name,
                       trials->longest);
    return LW_OK;
}

/* Find the coordinates of the chosen channels, in metres or Hz.
 * @param name  "distance", "frequency" @param remedy  advice for the message @param step  set to that from channel to channel */
static int find_places(const struct lw_for *data, const char *name, const char *remedy, double *first, double *step,
                       struct lw_error *err)
{
    const struct lw_coordinate *const places = data->places;
    const double unit = places ? lw_job_unit_size(places->unit) : 0;
    if (!places || strcmp(places->name, name) != 0 || !places->is_regular || unit == 0)
        return lw_fail(err, LW_EDATA, "the metadata of %.600s have no regular %s of the channels with a unit%s",
                       lw_dataset_name(&data->info).text, name, remedy);
    if (data->info.axis.sample_rate_hz <= 0)
        return lw_fail(err, LW_EDATA, "%.600s has no sampling rate: give --sample-rate", lw_dataset_name(&data->info).text);
    *first = unit * (places->first + (double)data->channels.begin * places->step);
    *step = unit * places->step * (double)data->channels.step;
    return LW_OK;
}

/* ---- dispersion ---------------------------------------------------------------------------------------------------------- */

static const struct lw_option dispersion_options[] = {
    LW_FOR_OPTIONS,
    {.name = "type", .kind = LW_OPTION_NONE},
    {.name = "dm", .kind = LW_OPTION_TEXT, .argument = "LOW:HIGH:STEP", .is_required = true,
     .help = "Dispersion measures to try, in pc cm^-3. With a STEP they are LOW, LOW + STEP and so on up to HIGH, which is one of "
             "them if a step meets it. Without one, --dm-tolerance or else the data choose the steps."},
    {.name = "dm-tolerance", .kind = LW_OPTION_REAL, .argument = "T", .minimum = 1.000001, .maximum = 1e3,
     .help = "Choose steps that make a pulse at most T times as wide. Of two neighbours, the next trial's pulse is T times as wide "
             "as the trial's own, by the formula of L. Levin. It is that of heimdall, whose default is 1.25. All trials have the "
             "data's rate, and the last is at HIGH or beyond."},
    {.name = "pulse-width", .kind = LW_OPTION_DURATION, .argument = "TIME", .minimum = 1e-12, .maximum = 1e3,
     .within = "dm-tolerance", .word = "width", .help = "width of a pulse before it is smeared. Default: 40us, as heimdall."},
    {.name = "resolution", .kind = LW_OPTION_DURATION, .argument = "TIME", .minimum = 1e-12, .maximum = 1e3,
     .help = "Time resolution that is good enough, without STEP and --dm-tolerance. It is -r of DDplan. Default: the best that "
             "the data have."},
    {.name = "decimate", .kind = LW_OPTION_INT, .argument = "D", .minimum = 1, .maximum = 1 << 20,
     .help = "Make delays for data of which D samples have become one. Of a plan take the line of this down-sampling. Default: 1, "
             "of a plan its first line."},
    {.name = "constant", .kind = LW_OPTION_REAL, .argument = "K", .fallback = "4148.808", .minimum = 4000, .maximum = 4300,
     .is_rare = true,
     .help = "Dispersion constant, in MHz^2 pc^-1 cm^3 s. PRESTO and TEMPO have 1 / 0.000241 = 4149.377593361."},
    {0},
};

/* Find the channels' band, and their squared inverse frequencies less that of the highest, MHz^-2. */
static int find_band(const struct lw_for *data, struct trials *trials, struct lw_band *band, struct lw_error *err)
{
    const int64_t n = trials->n_channels;
    double first, step;
    const int rc = find_places(data, "frequency", "", &first, &step, err);
    if (rc)
        return rc;
    const double last = first + (double)(n - 1) * step, high = fmax(first, last) * 1e-6, spacing = fabs(step) * 1e-6;
    *band = (struct lw_band){(first + last) / 2 * 1e-6, spacing / (double)data->channels.step, spacing * (double)n,
                             1 / data->info.axis.sample_rate_hz};
    for (int64_t c = 0; c < n; c++) {
        const double frequency = (first + (double)c * step) * 1e-6;
        trials->places[c] = 1 / (frequency * frequency) - 1 / (high * high);
    }
    if (band->width_mhz > 0 && band->centre_mhz > band->width_mhz / 2)
        return LW_OK;
    return lw_fail(err, LW_EDATA, "the channels of %.600s are at %.9g to %.9g Hz: dispersion needs frequencies above 0",
                   lw_dataset_name(&data->info).text, first, last);
}

static int list_tolerant(const struct lw_options *given, const struct lw_band *band, const struct range *range,
                         struct trials *trials, struct lw_error *err)
{
    const double pulse = lw_options_given(given, "pulse-width") ? lw_options_real(given, "pulse-width") : 40e-6;
    trials->n = lw_dispersion_trials(band, range->low, range->high, lw_options_real(given, "dm-tolerance"), pulse, MOST_TRIALS,
                                     trials->values);
    if (trials->n > MOST_TRIALS)
        return lw_fail(err, LW_EUSAGE, "--dm-tolerance %s makes more than %d trials: give a larger tolerance",
                       lw_options_text(given, "dm-tolerance"), MOST_TRIALS);
    return LW_OK;
}

/* Log a plan as a table, and list the trials of --decimate or of the first line.
 * @param decimate  0: the first line; set to the line's down-sampling */
static int list_plan(const struct lw_band *band, const struct range *range, double resolution_s, int *decimate,
                     struct trials *trials, struct lw_error *err)
{
    struct lw_dispersion_step steps[LW_DISPERSION_STEPS];
    const int n = lw_dispersion_steps(band, range->low, range->high, resolution_s, steps);
    int chosen = *decimate == 0 ? 0 : -1;
    lw_log_info("%10s %10s %7s %9s %7s", "low DM", "high DM", "step", "decimate", "trials");
    for (int s = 0; s < n; s++) {
        lw_log_info("%10.3f %10.3f %7.2f %9d %7" PRId64, steps[s].low, steps[s].low + (double)steps[s].n * steps[s].step,
                    steps[s].step, steps[s].decimate, steps[s].n);
        chosen = steps[s].decimate == *decimate ? s : chosen;
    }
    if (chosen < 0)
        return lw_fail(err, LW_EUSAGE, "--decimate %d: the plan has no such line, but %d to %d", *decimate, steps[0].decimate,
                       steps[n - 1].decimate);
    *decimate = steps[chosen].decimate;
    const struct lw_dispersion_step *const step = &steps[chosen];
    return list_range(&(struct range){step->low, step->low + (double)(step->n - 1) * step->step, step->step}, trials, err);
}

static int plan_dispersion(const struct lw_options *given, struct lw_comm *comm, struct lw_bank *bank, struct lw_error *err)
{
    const bool is_tolerant = lw_options_given(given, "dm-tolerance");
    const double constant = lw_options_real(given, "constant"), rate = bank->data.info.axis.sample_rate_hz;
    int decimate = (int)lw_options_int(given, "decimate"), rc;
    struct trials *trials;
    struct lw_band band;
    struct range range;
    (void)comm;
    if ((rc = read_range(given, "dm", true, &range, err)) || (rc = create_trials(bank, &trials, err)) ||
        (rc = find_band(&bank->data, trials, &band, err)))
        return rc;
    if ((range.step > 0) + is_tolerant + lw_options_given(given, "resolution") > 1)
        return lw_fail(err, LW_EUSAGE, "a STEP of --dm, --dm-tolerance and --resolution each choose the steps: give one of them");
    rc = is_tolerant        ? list_tolerant(given, &band, &range, trials, err)
         : range.step > 0 ? list_range(&range, trials, err)
                            : list_plan(&band, &range, lw_options_real(given, "resolution"), &decimate, trials, err);
    decimate = decimate > 0 ? decimate : 1;
    trials->scale = constant * rate / decimate;
    lw_bank_note_int(bank, "decimate", decimate);
    lw_bank_note_real(bank, "dispersion_constant", constant);
    return rc ? rc : finish(bank, "dm", "pc cm-3", rate / decimate, err);
}

const struct lw_filter_kind lw_filter_dispersion = {
    .name = "dispersion", .title = "delays of channels for dispersion measures",
    .description = "Delays [trial x channel] in whole samples for ols --beams, and the trials as the coordinate /dm. A delay is "
                   "4148.808 s x DM x (f^-2 - h^-2). f is the channel's middle in MHz, h that of the highest channel, which has "
                   "the delay 0. It is rounded to the nearest sample. Without STEP and --dm-tolerance the trials are those of "
                   "DDplan of PRESTO with blocks of 1024. Steps are round numbers, and rates become a half, a quarter and so on "
                   "where channels smear more than a sample. The log shows the plan; --decimate chooses a line of it, for data "
                   "that ols --boxcar 2,norm=gain --mode valid --decimate 2 makes.",
    .example = "lapwing filters dispersion --for crab.fil --dm 0:1000:5 --output dm.h5\n"
               "lapwing filters dispersion --for crab.fil --dm 0:1000 --dm-tolerance 1.25 \\\n"
               "    --output dm.h5\n"
               "lapwing ols --input crab.fil --beams dm.h5:/delays --boxcar 1,2,4,8 \\\n"
               "    --products peaks --threshold 8 --output pulses.h5",
    .options = dispersion_options, .plan = plan_dispersion,
};

/* ---- plane waves along a line ------------------------------------------------------------------------------------------- */

static const struct lw_option beams_options[] = {
    LW_FOR_OPTIONS,
    {.name = "type", .kind = LW_OPTION_NONE},
    {.name = "slowness", .kind = LW_OPTION_TEXT, .argument = "MIN:MAX:STEP", .is_required = true,
     .help = "Apparent slownesses along the line, in s/km: the inverse of km/s. MAX is one of them if a step meets it. A wave of "
             "positive slowness goes towards larger distances. Negative ones are possible: -1:1:0.05."},
    {0},
};

static int plan_beams(const struct lw_options *given, struct lw_comm *comm, struct lw_bank *bank, struct lw_error *err)
{
    struct trials *trials;
    struct range range;
    double first, distance;
    int rc;
    (void)comm;
    if ((rc = read_range(given, "slowness", false, &range, err)) || (rc = create_trials(bank, &trials, err)) ||
        (rc = find_places(&bank->data, "distance", ": give --channel-spacing", &first, &distance, err)) ||
        (rc = list_range(&range, trials, err)))
        return rc;
    for (int64_t c = 0; c < trials->n_channels; c++)
        trials->places[c] = (double)c * distance * 1e-3;
    trials->scale = bank->data.info.axis.sample_rate_hz;
    return finish(bank, "slowness", "s km-1", trials->scale, err);
}

const struct lw_filter_kind lw_filter_beams = {
    .name = "beams", .title = "delays of channels along a line for plane waves",
    .description = "Delays [trial x channel] in whole samples for ols --beams, and the slownesses as the coordinate /slowness. A "
                   "delay is the slowness times the channel's distance from the first chosen channel, which has the delay 0. It "
                   "is rounded to the nearest sample. The distance is that of the file's metadata or of --channel-spacing.",
    .example = "lapwing filters beams --for das.h5 --slowness -1:1:0.05 --output beams.h5\n"
               "lapwing ols --input das.h5 --beams beams.h5:/delays --bandpass 1:20 \\\n"
               "    --output beams-band.h5",
    .options = beams_options, .plan = plan_beams,
};
