/* accel.c - the job `accel`: signals in time series whose frequency drifts, such as those of pulsars in binaries. */
#include "accel/accel.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/notes/notes.h"
#include "job/candidate_rows.h"
#include "job/choose.h"
#include "job/coordinates.h"
#include "jobs/accel_zap.h"
#include "jobs/jobs.h"
#include "jobs/synth/synth.h"
#include "options/parse.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct lw_option options[] = {
    {.name = "zmax", .kind = LW_OPTION_REAL, .argument = "Z", .fallback = "200", .minimum = 0, .maximum = 1e5,
     .help = "Largest drift of the frequency over the observation, in bins of 1 / T, of the highest harmonic."},
    {.name = "wmax", .kind = LW_OPTION_REAL, .argument = "W", .fallback = "0", .minimum = 0, .maximum = 1e6,
     .help = "Largest change of the drift over the observation, in bins (a jerk search). 0: the drift is constant."},
    {.name = "numharm", .kind = LW_OPTION_CHOICE, .choices = "1|2|4|8|16", .fallback = "8",
     .help = "Most harmonics to sum. Sums of fewer, 1, 2, 4 and so on, are searched, too."},
    {.name = "sigma", .kind = LW_OPTION_REAL, .argument = "S", .fallback = "2", .minimum = 1e-3, .maximum = 999,
     .help = "Least significance of a candidate: that of a normal variable, after all trials of a channel are counted. It "
             "also counts that the level of the noise is an estimate, a poor one where few bins give it. The default is PRESTO's."},
    {.name = "fmin", .kind = LW_OPTION_FREQUENCY, .argument = "F", .minimum = 0, .maximum = 1e15,
     .help = "Lowest frequency to search, of the highest harmonic. Default: 1 Hz, or bin 16 where 1 Hz is above a tenth of the "
             "Nyquist frequency."},
    {.name = "fmax", .kind = LW_OPTION_FREQUENCY, .argument = "F", .minimum = 0, .maximum = 1e15,
     .help = "Highest frequency to search, of the highest harmonic. Default: the Nyquist frequency."},
    {.name = "accuracy", .kind = LW_OPTION_REAL, .argument = "LOST", .fallback = "0", .minimum = 0, .maximum = 0.5,
     .help = "Most power that a template loses by its ends, such as 0.01. 0: templates as long as PRESTO's of low accuracy."},
    {.name = "pad", .kind = LW_OPTION_TEXT, .argument = "N|none", .is_rare = true,
     .help = "Samples of the transform; zeros follow the data. Default: the next even length of the form 2^a 3^b 5^c 7^d. none: "
             "the length of the data, without the last sample where it is odd. T is the time of so many samples."},
    {.name = "zap", .kind = LW_OPTION_FILE, .argument = "FILE",
     .help = "Text file of interference to leave out: a line for each frequency with its width, in Hz. PRESTO's .zaplist and "
             ".birds are such files."},
    {.name = "mask", .kind = LW_OPTION_FILE, .argument = "FILE:/dataset",
     .help = "Samples to replace by the running mean: a dataset with a number that is not 0 for each of them. It has the length of "
             "the axis, or the input's shape; or it has bits for these, packed by numpy.packbits."},
    {.name = "keep-spectrum", .kind = LW_OPTION_FLAG,
     .help = "Keep the normalized spectrum of each channel, as /spectrum_normalised."},
    {.name = "output-type", .kind = LW_OPTION_NONE},        /* the types of tables are fixed */
    {.name = "output-scale", .kind = LW_OPTION_NONE},
    {.name = "split", .kind = LW_OPTION_NONE},
    {.name = "isolated", .kind = LW_OPTION_NONE},           /* a transform takes no samples but the chosen ones */
    {.name = "beside", .kind = LW_OPTION_NONE},
    {0},
};

/* ---- the plan ------------------------------------------------------------------------------------------------------- */

static int choose_length(const struct lw_options *given, struct lw_accel_spec *spec, struct lw_error *err)
{
    const char *const text = lw_options_text(given, "pad");
    int64_t most;
    spec->n_fft = lw_accel_good_length(spec->n);
    if (!text)
        return LW_OK;
    if (strcmp(text, "none") == 0) {
        spec->n_fft = spec->n -= spec->n % 2;
        return LW_OK;
    }
    if (lw_parse_int(text, &most) != LW_PARSE_OK || most < spec->n || most % 2 != 0)
        return lw_fail(err, LW_EUSAGE, "--pad %s is neither none nor an even number of samples, at least the %" PRId64 " there are",
                       text, spec->n);
    spec->n_fft = most;
    return LW_OK;
}

/* Choose the range of r, in bins of 1 / seconds. */
static int choose_range(const struct lw_options *given, double seconds, struct lw_accel_spec *spec, struct lw_error *err)
{
    const double most = (double)(spec->n_fft / 2), one_hz = seconds;
    spec->r_low = lw_options_given(given, "fmin") ? lw_options_real(given, "fmin") * seconds : one_hz < most / 10 ? one_hz : 16;
    spec->r_high = lw_options_given(given, "fmax") ? fmin(most, lw_options_real(given, "fmax") * seconds) : most;
    if (spec->r_low < spec->r_high)
        return LW_OK;
    return lw_fail(err, LW_ECONFIG, "no frequency lies from %.9g Hz (--fmin) to %.9g Hz (--fmax); the Nyquist frequency is %.9g Hz",
                   spec->r_low / seconds, spec->r_high / seconds, most / seconds);
}

static int choose_plan(const struct lw_options *given, struct lw_job *job, struct lw_error *err)
{
    struct lw_accel_request *const request = job->request = lw_alloc(sizeof *request, "what is asked for", err);
    const struct lw_dataset_info *const input = &job->inputs[0];
    struct lw_accel_spec spec = {
        .n = job->n_samples, .n_stages = 1 + lw_options_choice(given, "numharm"), .z_max = lw_options_real(given, "zmax"),
        .w_max = lw_options_real(given, "wmax"), .sigma = lw_options_real(given, "sigma"),
        .lost = lw_options_real(given, "accuracy"),
    };
    int rc;
    job->taps = lw_alloc_array(2 * LW_ACCEL_MOST_STAGES, sizeof *job->taps, "figures of the search", err);
    if (!request || !job->taps)
        return LW_ESYSTEM;
    request->keeps_spectrum = lw_options_flag(given, "keep-spectrum");
    if (job->op.input.is_complex)
        return lw_fail(err, LW_EDATA, "%s is complex: accel takes real series, such as powers or sums of channels",
                       lw_dataset_name(input).text);
    if (input->axis.sample_rate_hz <= 0)
        return lw_fail(err, LW_ECONFIG, "the metadata of %s have no sampling rate: give --sample-rate",
                       lw_dataset_name(input).text);
    if (spec.n < LW_ACCEL_LEAST_SAMPLES || spec.n > LW_ACCEL_MOST_SAMPLES)
        return lw_fail(err, LW_EDATA, "%s: a search takes %" PRId64 " to %" PRId64 " samples, and there are %" PRId64 ": give a "
                       "longer series, or choose a part of it with --count", lw_dataset_name(input).text, LW_ACCEL_LEAST_SAMPLES,
                       LW_ACCEL_MOST_SAMPLES, spec.n);
    if ((rc = choose_length(given, &spec, err)))
        return rc;
    request->seconds = (double)spec.n_fft / input->axis.sample_rate_hz;
    if ((rc = choose_range(given, request->seconds, &spec, err)) || (rc = lw_accel_plan(&spec, &request->plan, err)))
        return rc;
    job->n_samples = job->n_outputs = job->view.count = spec.n;
    return LW_OK;
}

/* Find the dispersion measures of the channels: the coordinate of their dimension, or that of the file (SIGPROC and PRESTO). */
static int choose_dms(struct lw_comm *comm, struct lw_job *job, struct lw_error *err)
{
    struct lw_accel_request *const request = job->request;
    const struct lw_dataset_info *const input = &job->inputs[0];
    const int channels = 1 - job->view.axis;
    char unit[32];
    if (input->n_dims > 1 && strcmp(input->coordinates[channels].name, "dm") == 0)
        return lw_coordinates_read(comm, input, channels, &request->dms, unit, err);
    LW_FREED struct lw_said *const said = lw_alloc(sizeof *said, "the input's attributes", err);
    int rc = said ? LW_OK : LW_ESYSTEM;
    if (rc == LW_OK && lw_comm_rank(comm) == 0)
        rc = lw_notes_collect(input, said, err);
    if ((rc = lw_comm_agree(comm, rc, err)))
        return rc;
    request->dm = lw_said_real(said, "refdm", NAN);
    lw_comm_broadcast(comm, &request->dm, sizeof request->dm);
    return LW_OK;
}

/* ---- the products --------------------------------------------------------------------------------------------------- */

static const struct lw_column columns[] = {
    {"channel", LW_COLUMN_INT},    {"dm", LW_COLUMN_REAL},        {"harmonics", LW_COLUMN_INT},
    {"sigma", LW_COLUMN_REAL},     {"power", LW_COLUMN_REAL},     {"r", LW_COLUMN_REAL},
    {"z", LW_COLUMN_REAL},         {"w", LW_COLUMN_REAL},         {"frequency", LW_COLUMN_REAL},
    {"frequency_derivative", LW_COLUMN_REAL},                     {"period", LW_COLUMN_REAL},
    {"acceleration", LW_COLUMN_REAL},                             {"r_error", LW_COLUMN_REAL},
    {"z_error", LW_COLUMN_REAL},   {"w_error", LW_COLUMN_REAL},   {"related", LW_COLUMN_INT},
    {"numerator", LW_COLUMN_INT},  {"denominator", LW_COLUMN_INT},
};
enum { COLUMNS = sizeof columns / sizeof *columns };
static_assert(sizeof(struct lw_accel_row) == 8 * COLUMNS, "a row is as the file has it");

static int compare_reals(double a, double b) { return (a > b) - (a < b); }

/* Order of rows: the most significant first. No two rows are equal, unless all of their numbers are. */
static int by_sigma(const void *left, const void *right)
{
    const struct lw_accel_row *const a = left, *const b = right;
    const int orders[] = {
        compare_reals(b->sigma, a->sigma), lw_compare64(a->channel, b->channel), compare_reals(a->r, b->r),
        compare_reals(a->z, b->z), compare_reals(a->w, b->w), lw_compare64(a->harmonics, b->harmonics),
        compare_reals(a->power, b->power), lw_compare64(a->related, b->related),
    };
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (orders[i])
            return orders[i];
    return 0;
}

static void note_plan(struct lw_job *job)
{
    const struct lw_accel_request *const request = job->request;
    const struct lw_accel_plan *const plan = &request->plan;
    struct lw_product *const table = &job->products[LW_ACCEL_CANDIDATES];
    double *const least = job->taps, *const trials = least + LW_ACCEL_MOST_STAGES;     /* numbers that outlive the job's plan */
    for (int s = 0; s < plan->spec.n_stages; s++) {
        least[s] = plan->least[s];
        trials[s] = plan->trials[s];
    }
    lw_product_note_int(table, "samples", plan->spec.n);
    lw_product_note_int(table, "transform_samples", plan->spec.n_fft);
    lw_product_note_int(table, "first_input_sample", job->view.start);
    lw_product_note_real(table, "seconds", request->seconds);
    lw_product_note_real(table, "sample_rate_hz", job->inputs[0].axis.sample_rate_hz);
    lw_product_note_real(table, "z_max", plan->spec.z_max);
    lw_product_note_real(table, "w_max", plan->spec.w_max);
    lw_product_note_real(table, "r_low", plan->spec.r_low);
    lw_product_note_real(table, "r_high", plan->spec.r_high);
    lw_product_note_real(table, "least_sigma", plan->spec.sigma);
    lw_product_note_int(table, "half_width", plan->half_width);
    lw_product_note_reals(table, "trials", trials, plan->spec.n_stages);
    lw_product_note_reals(table, "least_power", least, plan->spec.n_stages);
    lw_product_note_int(table, "zapped_ranges", request->n_zaps);
    lw_product_note_text(table, "units", "dm: pc cm-3; r, z, w: bins of 1 / seconds; frequency: Hz; frequency_derivative: Hz s-1; "
                         "period: s; acceleration: m s-2; trials, least_power: one for each of 1, 2, 4 .. harmonics");
    lw_product_note_text(table, "definitions", "r: mean frequency of the fundamental; frequency: at seconds / 2 after the start, "
                         "(r - w / 24) / seconds; frequency_derivative: z / seconds^2; acceleration: c z / (seconds^2 frequency)");
}

static void choose_products(struct lw_job *job)
{
    const struct lw_accel_request *const request = job->request;
    struct lw_product *const spectrum = &job->products[LW_ACCEL_SPECTRUM];
    job->products[LW_ACCEL_CANDIDATES].dataset = (struct lw_writer_dataset){
        .path = "/candidates", .n_dims = 1, .dim_names = {"candidate"}, .has_scales = true, .columns = columns,
        .n_columns = COLUMNS, .grows = true, .compare = by_sigma, .gathered = by_sigma,
    };
    job->n_products = 1 + request->keeps_spectrum;
    note_plan(job);
    if (!request->keeps_spectrum)
        return;
    *spectrum = (struct lw_product){
        .axis_dim = -1, .channel_dim = 0,
        .dataset = {.path = "/spectrum_normalised", .n_dims = 2, .dims = {job->op.n_channels, request->plan.n_bins},
                    .dim_names = {"channel", "frequency"}, .type = {.scalar = LW_FLOAT32, .is_complex = true}},
    };
    lw_coordinates_set(job, (struct lw_steps){0, 1, 1}, spectrum);
    lw_coordinates_place(spectrum, 1, (struct lw_writer_scale){.step = 1, .distance = 1 / request->seconds, .units = "Hz"});
}

/* ---- the job -------------------------------------------------------------------------------------------------------- */

static void summarize(struct lw_job *job)
{
    const struct lw_accel_request *const request = job->request;
    const struct lw_accel_plan *const plan = &request->plan;
    snprintf(job->summary, sizeof job->summary, "%" PRId64 " channel%s of %" PRId64 " samples, T = %.9g s; 1 to %d harmonics of "
             "%.6g to %.6g Hz, |z| to %g, |w| to %g", job->op.n_channels, job->op.n_channels == 1 ? "" : "s", plan->spec.n,
             request->seconds, 1 << (plan->spec.n_stages - 1), plan->spec.r_low / request->seconds,
             plan->spec.r_high / request->seconds, (double)(plan->n_z / 2) * LW_ACCEL_Z_STEP,
             (double)(plan->n_w / 2) * LW_ACCEL_W_STEP);
}

static int prepare(const struct lw_options *given, struct lw_comm *comm, struct lw_pool *pool, const struct lw_dataset_info *input,
                   struct lw_job *job, struct lw_error *err)
{
    (void)pool;
    *job = (struct lw_job){.ops = &lw_job_accel, .inputs = {*input}, .input_names = {"input"}, .n_inputs = 1};
    job->op.kind = LW_OP_ACCEL;
    job->op.input = input->type;
    job->search.mask = lw_options_text(given, "mask");
    job->op.nan = (enum lw_nan)lw_options_choice(given, "nan");
    if (lw_options_choice(given, "precision") == LW_DOUBLE)
        return lw_fail(err, LW_EUSAGE, "--precision double: accel searches in single precision, and refines what it finds in "
                       "double; leave the option out");
    int rc = lw_job_choose_view(given, input, job, err);
    if (rc)
        return rc;
    job->n_samples = job->view.count;
    if ((rc = lw_comm_agree(comm, choose_plan(given, job, err), err)) || (rc = choose_dms(comm, job, err)))
        return rc;
    struct lw_accel_request *const request = job->request;
    if (lw_options_given(given, "zap") &&
        (rc = lw_accel_read_zaps(comm, lw_options_text(given, "zap"), request->seconds, request, err)))
        return rc;
    choose_products(job);
    summarize(job);
    return LW_OK;
}

static void release(struct lw_job *job)
{
    struct lw_accel_request *const request = job->request;
    if (request) {
        lw_free(request->zaps);
        lw_free(request->dms);
    }
    lw_free(request);
    job->request = NULL;
    lw_job_release_taps(job);
}

const struct lw_job_ops lw_job_accel = {
    .name = "accel", .way = LW_WAY_CHANNELS, .title = "find periodic signals whose frequency drifts",
    .description = "Searches the spectra of time series, such as trials of dispersion, for pulsars in binaries and other periodic "
                   "signals whose frequency drifts (acceleration and jerk search). A spectrum is correlated with the responses of "
                   "drifting signals, and powers are summed over harmonics. What stands out is refined to its exact frequency r, "
                   "drift z and change of drift w. The result is the table /candidates, the most significant first. Harmonics and "
                   "duplicates of stronger candidates are marked in its columns related, numerator and denominator. Powers are "
                   "normalized by running medians. Samples in gaps (--gaps zero) or not finite (--nan zero) are replaced by the "
                   "running mean.",
    .paper = "S. M. Ransom, S. S. Eikenberry, J. Middleditch: Fourier techniques for very long astrophysical time-series analysis. "
             "AJ 124, 1788, 2002; B. C. Andersen, S. M. Ransom: A Fourier domain \"jerk\" search for binary pulsars. ApJL 863, "
             "L13, 2018.",
    .sample = "sample", .channel = "channel", .least_dims = 1, .most_dims = 2, .join = LW_JOIN_TIME, .needs_all = true,
    .is_isolated = true, .options = options, .synth_options = lw_accel_synth_options,
    .example = "lapwing synth accel --output binary.h5\n"
               "mpirun -np 2 lapwing accel --input binary.h5:/signal --zmax 50 \\\n"
               "    --output candidates.h5",
    .prepare = prepare, .release = release, .synth = lw_accel_synth,
};
