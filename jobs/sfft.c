/* sfft.c - the job `sfft`: the largest Fourier coefficients of a very long signal, from a small part of its samples. */
#include "jobs/sfft.h"

#include "jobs/common.h"
#include "sfft/number.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

static const struct lw_option options[] = {
    {.name = "sparsity", .kind = LW_OPTION_INT, .argument = "K", .minimum = 1, .maximum = 1e9, .is_required = true,
     .help = "Lines wanted of each channel at most. Of a real signal the pair at f and -f counts once."},
    {.name = "snr", .kind = LW_OPTION_REAL, .argument = "DB", .minimum = -100, .maximum = 300,
     .help = "Signal-to-noise ratio per sample, for lines of about equal size. Default: estimated; knowing it saves attempts."},
    {.name = "min-magnitude", .kind = LW_OPTION_REAL, .argument = "A", .fallback = "0", .minimum = 0, .maximum = 1e300,
     .help = "Leave out coefficients of smaller magnitude (unnormalised: a tone of amplitude a has a n, or a n / 2 if real)."},
    {.name = "seed", .kind = LW_OPTION_INT, .argument = "S", .fallback = "1", .minimum = 0, .maximum = 1e15,
     .help = "Number that the random choice of samples follows from."},
    {.name = "algorithm", .kind = LW_OPTION_CHOICE, .choices = "auto|sparse|dense|sfft2", .fallback = "auto",
     .help = "dense transforms all samples on one rank. auto does so where a sparse transform would take more than a quarter "
             "of them. sfft2 is the published transform with flat windows and voting (Hassanieh et al., SODA 2012), to compare "
             "with: slower, and it reads a channel whole. The options from --window on are for it alone."},
    {.name = "fallback", .kind = LW_OPTION_CHOICE, .choices = "dense|error|partial", .fallback = "dense",
     .help = "What to do about a channel whose lines do not explain it down to the noise, after more attempts: transform all "
             "its samples, end with an error, or write what was found and mark it."},
    {.name = "window", .kind = LW_OPTION_CHOICE, .choices = "dolph-chebyshev|gaussian",
     .help = "What the window's box in frequency is multiplied with in time. Default: dolph-chebyshev, half as long."},
    {.name = "buckets", .kind = LW_OPTION_INT, .argument = "B", .minimum = 4, .maximum = 1 << 28,
     .help = "Buckets of a loop. Default: the power of two next to sqrt(n k / log2 n), at least 16 for each line."},
    {.name = "location-loops", .kind = LW_OPTION_INT, .argument = "L", .minimum = 1, .maximum = LW_PUBLISHED_LOOPS - 1,
     .help = "Loops whose largest buckets vote. Default: 4."},
    {.name = "votes", .kind = LW_OPTION_INT, .argument = "V", .minimum = 1, .maximum = LW_PUBLISHED_LOOPS - 1,
     .help = "Votes that make a frequency a candidate. Default: 3 of 4, else more than half of the loops."},
    {.name = "estimation-loops", .kind = LW_OPTION_INT, .argument = "L", .minimum = 1, .maximum = LW_PUBLISHED_LOOPS - 1,
     .help = "Loops more, for the medians that values are estimated by. Default: 10."},
    {.name = "comb", .kind = LW_OPTION_INT, .argument = "W", .minimum = 0, .maximum = 1 << 28,
     .help = "First fold the spectrum to W residues, a divisor of the number of samples, by every (n/W)-th sample; only "
             "frequencies of the strongest residues get votes (sFFT 2.0). Default: 0, no comb."},
    {.name = "comb-loops", .kind = LW_OPTION_INT, .argument = "L", .minimum = 1, .maximum = LW_PUBLISHED_COMBS,
     .help = "Combs; what one of them shows is enough. Default: 2."},
    {.name = "binning", .kind = LW_OPTION_CHOICE, .choices = "partition|serial",
     .help = "partition: threads divide the buckets of a loop, and each sample's index is computed by itself. serial: a "
             "thread takes a loop, each index from the one before it; cpu engine only. The same bits. Default: partition."},
    {.name = "fetch", .kind = LW_OPTION_CHOICE, .choices = "gather|direct",
     .help = "gather: bring a piece's samples, asked for ahead, into the order of the window, then fold. direct: fold each as "
             "it comes. The same bits. Default: gather."},
    {.name = "cutoff", .kind = LW_OPTION_CHOICE, .choices = "select|sort",
     .help = "How the largest buckets are found: by k-selection or by sorting all. The same buckets. Default: select."},
    {0},
};

/* Index into the choices is the value of the enumeration. */
static_assert(LW_SFFT_AUTO == 0 && LW_SFFT_SPARSE == 1 && LW_SFFT_DENSE == 2 && LW_SFFT_PUBLISHED == 3, "order of --algorithm");
static_assert(LW_PUBLISHED_DOLPH_CHEBYSHEV == 0 && LW_PUBLISHED_GAUSSIAN == 1, "order of --window");
static_assert(LW_PUBLISHED_PARTITION == 0 && LW_PUBLISHED_SERIAL == 1, "order of --binning");
static_assert(LW_PUBLISHED_GATHER == 0 && LW_PUBLISHED_DIRECT == 1, "order of --fetch");
static_assert(LW_PUBLISHED_SELECT == 0 && LW_PUBLISHED_SORT == 1, "order of --cutoff");
static_assert(LW_SFFT_FALL_DENSE == 0 && LW_SFFT_FALL_ERROR == 1 && LW_SFFT_FALL_PARTIAL == 2, "order of --fallback");

static int choose_view(const struct lw_options *given, const struct lw_dataset_info *input, struct lw_job *job,
                       struct lw_error *err)
{
    struct lw_view_spec *const view = &job->view;
    int rc;
    if ((rc = lw_choose_axis(given, "sfft", input, &view->axis, err)) ||
        (rc = lw_choose_piece(given, input->dims[view->axis], view, err)) ||
        (rc = lw_choose_channels(given, input->n_dims == 1 ? 1 : input->dims[1 - view->axis], &view->channels, err)))
        return rc;
    job->op.layout = input->n_dims == 2 && view->axis == 0 ? LW_TIME_SLOW : LW_TIME_FAST;
    job->op.n_channels = lw_range_length(&view->channels);
    job->n_samples = job->n_outputs = view->count;
    if (job->n_samples > LW_SFFT_MAX_SAMPLES)
        return lw_fail(err, LW_EDATA, "%s:%s has %" PRId64 " samples on the axis, at most %" PRId64 " are possible: choose a "
                       "piece with --count", input->file, input->path, job->n_samples, LW_SFFT_MAX_SAMPLES);
    return LW_OK;
}

/* A choice that is not given is the first. */
static int chosen(const struct lw_options *given, const char *name)
{
    return lw_options_given(given, name) ? lw_options_choice(given, name) : 0;
}

static int choose_published(const struct lw_options *given, struct lw_job *job, struct lw_error *err)
{
    static const char *const its_own[] = {"window", "buckets", "location-loops", "votes", "estimation-loops", "comb",
                                          "comb-loops", "binning", "fetch", "cutoff"};
    for (size_t i = 0; i < sizeof its_own / sizeof *its_own && job->sfft.algorithm != LW_SFFT_PUBLISHED; i++)
        if (lw_options_given(given, its_own[i]))
            return lw_fail(err, LW_EUSAGE, "--%s is for --algorithm sfft2 only: give that, or leave it out", its_own[i]);
    job->sfft2 = (struct lw_published_choice){
        .window = (enum lw_published_window)chosen(given, "window"), .n_buckets = lw_options_int(given, "buckets"),
        .location_loops = (int)lw_options_int(given, "location-loops"), .votes = (int)lw_options_int(given, "votes"),
        .estimation_loops = (int)lw_options_int(given, "estimation-loops"), .comb = lw_options_int(given, "comb"),
        .comb_loops = (int)lw_options_int(given, "comb-loops"),
        .ways = {(enum lw_published_binning)chosen(given, "binning"), (enum lw_published_fetch)chosen(given, "fetch"),
                 (enum lw_published_cutoff)chosen(given, "cutoff")},
    };
    return LW_OK;
}

static int prepare(const struct lw_options *given, struct lw_comm *comm, const struct lw_dataset_info *input,
                   struct lw_job *job, struct lw_error *err)
{
    (void)comm;
    *job = (struct lw_job){.ops = &lw_job_sfft, .inputs = {*input}, .input_names = {"input"}, .n_inputs = 1};
    job->op.kind = LW_OP_SFFT;
    job->op.input = input->type;
    job->op.precision = (enum lw_precision)lw_options_choice(given, "precision");
    job->op.nan = (enum lw_nan)lw_options_choice(given, "nan");
    int rc = choose_view(given, input, job, err);
    if (rc)
        return rc;
    job->sfft = (struct lw_sfft_request){
        .spec = {
            .n = job->n_samples, .is_real = !input->type.is_complex, .sparsity = lw_options_int(given, "sparsity"),
            .precision = job->op.precision, .has_snr = lw_options_given(given, "snr"),
            .snr_db = lw_options_real(given, "snr"), .min_magnitude = lw_options_real(given, "min-magnitude"),
            .seed = (uint64_t)lw_options_int(given, "seed"),
        },
        .algorithm = (enum lw_sfft_algorithm)lw_options_choice(given, "algorithm"),
        .fallback = (enum lw_sfft_fallback)lw_options_choice(given, "fallback"),
    };
    if ((rc = choose_published(given, job, err)))
        return rc;
    const int64_t n_bins = input->type.is_complex ? job->n_samples : job->n_samples / 2 + 1;
    if (job->sfft.spec.sparsity > n_bins)
        job->sfft.spec.sparsity = n_bins;
    snprintf(job->summary, sizeof job->summary, "at most %" PRId64 " lines of each of %" PRId64 " channel%s of %" PRId64
             " %s samples", job->sfft.spec.sparsity, job->op.n_channels, job->op.n_channels == 1 ? "" : "s", job->n_samples,
             input->type.is_complex ? "complex" : "real");
    return LW_OK;
}

static void release(struct lw_job *job)
{
    (void)job;
}

const struct lw_job_ops lw_job_sfft = {
    .name = "sfft",
    .title = "find the largest Fourier coefficients of a very long signal (sparse FFT)",
    .description =
        "Finds the K largest Fourier coefficients of each channel of a time series whose spectrum has few strong lines, from "
        "a small part of its samples: 0.1% of 2^27 samples for 1000 lines. What the lines leave unexplained is measured with "
        "samples that were not used to find them; if that is more than noise, further attempts follow, and in the end the "
        "transform of all samples. What is not sampled is not seen: a signal that is zero but for rare spikes counts as zero. "
        "The result is the table /spectrum {channel, index, frequency, re, im, magnitude}, sorted by channel and frequency "
        "(Hz where the sample rate is known, else cycles per sample), unnormalised like numpy.fft, and the table /channels "
        "with what is left of each channel and how it was found. Of a real signal only frequencies from 0 on are written.",
    .sample = "sample",
    .channel = "channel",
    .options = options,
    .synth_options = lw_sfft_synth_options,
    .example = "lapwing synth sfft --output tones.h5\n"
               "mpirun -np 2 lapwing sfft --input tones.h5:/signal --sparsity 100 \\\n"
               "    --output lines.h5",
    .is_sampled = true,
    .prepare = prepare,
    .release = release,
    .synth = lw_sfft_synth,
};
