/* sfft.c - the job `sfft`: the largest Fourier coefficients of a very long signal, from a small part of its samples. */
#include "base/memory.h"
#include "base/text.h"
#include "job/choose.h"
#include "job/line_rows.h"
#include "job/selection.h"
#include "jobs/jobs.h"
#include "jobs/sfft_published.h"
#include "jobs/synth/synth.h"
#include "sfft/number.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

static const struct lw_option options[] = {
    {.name = "sparsity", .kind = LW_OPTION_INT, .argument = "K", .minimum = 1, .maximum = 1e9, .is_required = true,
     .help = "Most lines to find in each channel. In a real signal the pair at f and -f counts once."},
    {.name = "snr", .kind = LW_OPTION_REAL, .argument = "DB", .minimum = -100, .maximum = 300,
     .help = "Signal-to-noise ratio per sample. Default: estimated before the first attempt, from a few samples of 64 channels "
             "at most."},
    {.name = "min-magnitude", .kind = LW_OPTION_REAL, .argument = "A", .fallback = "0", .minimum = 0, .maximum = 1e300,
     .help = "Leave out lines of smaller magnitude. Magnitudes are unnormalised: a tone of amplitude a has a n, or a n / 2 in a "
             "real signal."},
    {.name = "seed", .kind = LW_OPTION_INT, .argument = "S", .fallback = "1", .minimum = 0, .maximum = 1e15,
     .help = "Seed of the random choice of samples."},
    {.name = "algorithm", .kind = LW_OPTION_CHOICE, .choices = "auto|sparse|dense" LW_SFFT_PUBLISHED_CHOICE,
     .fallback = "auto",
     .help = "Whether to transform few samples or all. sparse: few. dense: all, on one rank. auto takes dense where sparse would "
             "need more than a quarter of the samples." LW_SFFT_PUBLISHED_HELP},
    {.name = "fallback", .kind = LW_OPTION_CHOICE, .choices = "dense|error|partial", .fallback = "dense",
     .help = "What to do if the lines do not explain a channel. This applies where more than noise is left after further "
             "attempts. dense: transform all its samples. error: end with an error. partial: write the lines found and mark the "
             "channel."},
    {.name = "window", .kind = LW_OPTION_STRETCH, .argument = "N", .minimum = 1, .maximum = 9e18,
     .help = "Transform each piece of N samples, or of a time, by itself. The tables then have the piece as their first column: "
             "the history of the lines over a long record. Ranks share the pieces."},
    {.name = "hop", .kind = LW_OPTION_STRETCH, .argument = "M", .minimum = 1, .maximum = 9e18,
     .help = "Distance between the first samples of two pieces. It goes with --window. Default: the window, so that pieces "
             "follow each other without a gap. Samples after the last whole piece are left out."},
    {.name = "refine", .kind = LW_OPTION_FLAG,
     .help = "Find tones between the transform's frequencies, too. Index, frequency and value of each line are then a tone's, "
             "with a fractional index. The search is for four times as many lines, which takes more samples. A dense transform "
             "is refined, too, where so many tones leave no more of the energy than the lines do."},
    LW_SFFT_PUBLISHED_OPTIONS
    {.name = "output-type", .kind = LW_OPTION_NONE},        /* the types of tables are fixed */
    {.name = "output-scale", .kind = LW_OPTION_NONE},
    {.name = "isolated", .kind = LW_OPTION_NONE},           /* a transform takes no samples but the chosen ones */
    {.name = "beside", .kind = LW_OPTION_NONE},
    {0},
};

/* The index of a choice is the value of the enumeration. */
static_assert(LW_SFFT_AUTO == 0 && LW_SFFT_SPARSE == 1 && LW_SFFT_DENSE == 2 && LW_SFFT_PUBLISHED == 3, "order of --algorithm");
static_assert(LW_SFFT_FALL_DENSE == 0 && LW_SFFT_FALL_ERROR == 1 && LW_SFFT_FALL_PARTIAL == 2, "order of --fallback");

/* Most transforms in a run: pieces times channels. */
enum { MOST_TRANSFORMS = 1 << 30 };

/* ---- pieces --------------------------------------------------------------------------------------------------------- */

static int read_window(const struct lw_options *given, const struct lw_dataset_info *input, const struct lw_job *job,
                       struct lw_sfft_request *request, struct lw_error *err)
{
    const char *const text = lw_options_text(given, "window");
    int64_t *const n = &request->spec.n;
    int rc = lw_job_count_samples(given, "window", input, n, err);
    if (rc)
        return rc;
    if (*n < 1)
        return lw_fail(err, LW_ECONFIG, "--window %s is less than a sample", text);
    if (*n > job->n_samples)
        return lw_fail(err, LW_ECONFIG, "--window %s is %" PRId64 " samples, but there are %" PRId64 " on the axis", text, *n,
                       job->n_samples);
    request->hop = *n;
    if (lw_options_given(given, "hop") && (rc = lw_job_count_samples(given, "hop", input, &request->hop, err)))
        return rc;
    if (request->hop < 1)
        return lw_fail(err, LW_ECONFIG, "--hop %s is less than a sample", lw_options_text(given, "hop"));
    request->n_pieces = (job->n_samples - *n) / request->hop + 1;
    return LW_OK;
}

/* Choose the pieces to transform: the windows of --window, or the whole channel as a single piece. */
static int choose_pieces(const struct lw_options *given, const struct lw_dataset_info *input, const struct lw_job *job,
                         struct lw_sfft_request *request, struct lw_error *err)
{
    request->has_pieces = lw_options_given(given, "window");
    if (!request->has_pieces && lw_options_given(given, "hop"))
        return lw_fail(err, LW_EUSAGE, "--hop goes with --window, the length of the pieces: give both, or leave --hop out");
    request->spec.n = job->n_samples;
    request->n_pieces = 1;
    const int rc = request->has_pieces ? read_window(given, input, job, request, err) : LW_OK;
    if (rc)
        return rc;
    if (request->spec.n > LW_SFFT_MAX_SAMPLES)
        return lw_fail(err, LW_EDATA, "%s: %" PRId64 " samples are more than the %" PRId64 " that a transform takes: choose a part "
                       "of them with --count, or pieces with --window", lw_dataset_name(input).text, request->spec.n,
                       LW_SFFT_MAX_SAMPLES);
    if (request->n_pieces > MOST_TRANSFORMS / job->op.n_channels)
        return lw_fail(err, LW_ECONFIG, "%" PRId64 " pieces of %" PRId64 " channels are more than the %d that a run takes: give "
                       "a larger --hop, or fewer --channels", request->n_pieces, job->op.n_channels, MOST_TRANSFORMS);
    return LW_OK;
}

/* ---- the tables ----------------------------------------------------------------------------------------------------- */

/* Columns of the tables. The first, piece, is left out without --window. */
static const struct lw_column line_columns[] = {
    {"piece", LW_COLUMN_INT}, {"channel", LW_COLUMN_INT}, {"index", LW_COLUMN_INT},      {"frequency", LW_COLUMN_REAL},
    {"re", LW_COLUMN_REAL},   {"im", LW_COLUMN_REAL},     {"magnitude", LW_COLUMN_REAL}, {"fractional_index", LW_COLUMN_REAL},
};
static const struct lw_column channel_columns[] = {
    {"piece", LW_COLUMN_INT},        {"channel", LW_COLUMN_INT},          {"lines", LW_COLUMN_INT},    {"residual", LW_COLUMN_REAL},
    {"noise_power", LW_COLUMN_REAL}, {"detection_limit", LW_COLUMN_REAL}, {"samples", LW_COLUMN_INT},  {"attempts", LW_COLUMN_INT},
    {"dense", LW_COLUMN_INT},        {"explained", LW_COLUMN_INT},        {"off_grid", LW_COLUMN_INT}, {"refined", LW_COLUMN_INT},
};
enum {
    LINE_COLUMNS = sizeof line_columns / sizeof *line_columns - 1,
    CHANNEL_COLUMNS = sizeof channel_columns / sizeof *channel_columns - 1,
};
static_assert(sizeof(struct lw_sfft_line_row) == 8 * LINE_COLUMNS, "a row is as the file has it");
static_assert(sizeof(struct lw_sfft_channel_row) == 8 * CHANNEL_COLUMNS, "a row is as the file has it");

/* ---- the request ---------------------------------------------------------------------------------------------------- */

static int choose_request(const struct lw_options *given, struct lw_job *job, struct lw_error *err)
{
    struct lw_sfft_request *const request = job->request = lw_alloc(sizeof *request, "what is asked for", err);
    if (!request)
        return LW_ESYSTEM;
    *request = (struct lw_sfft_request){
        .spec = {
            .is_real = !job->op.input.is_complex, .sparsity = lw_options_int(given, "sparsity"),
            .precision = job->op.precision, .has_snr = lw_options_given(given, "snr"),
            .snr_db = lw_options_real(given, "snr"), .min_magnitude = lw_options_real(given, "min-magnitude"),
            .seed = (uint64_t)lw_options_int(given, "seed"),
        },
        .algorithm = (enum lw_sfft_algorithm)lw_options_choice(given, "algorithm"),
        .fallback = (enum lw_sfft_fallback)lw_options_choice(given, "fallback"), .refines = lw_options_flag(given, "refine"),
    };
    if (request->refines && request->algorithm > LW_SFFT_DENSE)
        return lw_fail(err, LW_EUSAGE, "--refine does not go with --algorithm %s, only with sparse and dense transforms: leave one "
                       "of the two options out", lw_options_text(given, "algorithm"));
    const int rc = choose_pieces(given, &job->inputs[0], job, request, err);
    if (rc)
        return rc;
    request->spec.sparsity = lw_min64(request->spec.sparsity, lw_sfft_n_frequencies(&request->spec));
    return lw_sfft_published_choose(given, request, err);
}

static void summarize(struct lw_job *job)
{
    const struct lw_sfft_request *const request = job->request;
    const int64_t n = request->spec.n, last = (request->n_pieces - 1) * request->hop + n;
    char *const text = job->summary;
    const size_t size = sizeof job->summary;
    snprintf(text, size, "at most %" PRId64 " lines per transform: %" PRId64 " channel%s", request->spec.sparsity,
             job->op.n_channels, job->op.n_channels == 1 ? "" : "s");
    if (request->has_pieces)
        lw_append(text, size, ", %" PRId64 " piece%s (one per %" PRId64 " samples)", request->n_pieces,
                  request->n_pieces == 1 ? "" : "s", request->hop);
    lw_append(text, size, " of %" PRId64 " %s samples", n, job->op.input.is_complex ? "complex" : "real");
    if (request->has_pieces && last < job->n_samples)
        lw_append(text, size, "; the last %" PRId64 " samples are in no piece", job->n_samples - last);
}

static int prepare(const struct lw_options *given, struct lw_comm *comm, struct lw_pool *pool, const struct lw_dataset_info *input,
                   struct lw_job *job, struct lw_error *err)
{
    (void)pool;
    (void)comm;
    *job = (struct lw_job){.ops = &lw_job_sfft, .inputs = {*input}, .input_names = {"input"}, .n_inputs = 1};
    job->op.kind = LW_OP_SFFT;
    job->op.input = input->type;
    job->op.precision = (enum lw_precision)lw_options_choice(given, "precision");
    job->op.nan = (enum lw_nan)lw_options_choice(given, "nan");
    int rc = lw_job_choose_view(given, input, job, err);
    if (rc)
        return rc;
    job->n_samples = job->n_outputs = job->view.count;
    if ((rc = choose_request(given, job, err)))
        return rc;
    const int extra = ((const struct lw_sfft_request *)job->request)->has_pieces ? 1 : 0;
    job->products[LW_SFFT_SPECTRUM].dataset = (struct lw_writer_dataset){
        .path = "/spectrum", .n_dims = 1, .dim_names = {"line"}, .has_scales = true,
        .columns = line_columns + 1 - extra, .n_columns = LINE_COLUMNS + extra,
    };
    job->products[LW_SFFT_CHANNELS].dataset = (struct lw_writer_dataset){
        .path = "/channels", .n_dims = 1, .dim_names = {"channel"}, .has_scales = true,
        .columns = channel_columns + 1 - extra, .n_columns = CHANNEL_COLUMNS + extra,
    };
    job->n_products = 2;
    summarize(job);
    return LW_OK;
}

static void release(struct lw_job *job)
{
    struct lw_sfft_request *const request = job->request;
    if (request)
        lw_free((void *)request->published);
    lw_free(request);
    job->request = NULL;
}

const struct lw_job_ops lw_job_sfft = {
    .name = "sfft", .way = LW_WAY_SPARSE, .title = "find the strongest lines of a very long signal (sparse FFT)",
    .description = "Finds the K largest Fourier coefficients (lines) of each channel of a signal whose spectrum has few strong "
                   "lines. It reads a small part of the samples: 0.1% of 2^27 samples for 1000 lines. It measures what the lines "
                   "leave unexplained with samples that were not used to find them. If that is more than noise, further attempts "
                   "follow, and in the end the transform of all samples. What is not sampled is not seen: a signal that is zero "
                   "but for rare spikes counts as zero. The result is the table /spectrum {channel, index, frequency, re, im, "
                   "magnitude, fractional_index}, sorted by channel and frequency. Frequencies are in Hz where the sampling rate "
                   "is known, else in cycles per sample; values are unnormalised like numpy.fft. The table /channels has what is "
                   "left of each channel and how it was found. A real signal has lines at frequencies from 0 on only. A tone "
                   "between two frequencies of the transform leaks into all others: --refine finds its own frequency. With "
                   "--window each piece of a long record is transformed by itself.",
    .paper = "C. Wang, S. Chandrasekaran, B. Chapman: cusFFT, a high-performance sparse fast Fourier transform algorithm on GPUs. "
             "IPDPS 2016; H. Hassanieh, P. Indyk, D. Katabi, E. Price: Simple and practical algorithm for sparse Fourier "
             "transform. SODA 2012.",
    .sample = "sample", .channel = "channel", .least_dims = 1, .most_dims = 2, .join = LW_JOIN_TIME, .needs_all = true,
    .is_isolated = true, .options = options, .synth_options = lw_sfft_synth_options,
    .example = "lapwing synth sfft --output tones.h5\n"
               "mpirun -np 2 lapwing sfft --input tones.h5:/signal --sparsity 100 \\\n"
               "    --output lines.h5",
    .prepare = prepare, .release = release, .synth = lw_sfft_synth,
};
