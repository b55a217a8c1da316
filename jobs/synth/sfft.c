/* sfft.c - `lapwing synth sfft`: write a signal of tones in white noise, and the table of the tones. Their frequencies are
 * multiples of 1/n cycles per sample. A sample depends on the seed and its place only. */
#include "base/log.h"
#include "base/memory.h"
#include "jobs/synth/random.h"
#include "jobs/synth/synth.h"
#include "sfft/number.h"

#include <complex.h>
#include <inttypes.h>
#include <stdlib.h>

const struct lw_option lw_sfft_synth_options[] = {
    {.name = "output", .kind = LW_OPTION_FILE, .argument = "FILE", .is_required = true,
     .help = "HDF5 file to make, with the signal as /signal and its tones as the table /tones."},
    LW_OPTION_OVERWRITE,
    {.name = "samples", .kind = LW_OPTION_INT, .argument = "N", .fallback = "2^22", .minimum = 8, .maximum = 1e14,
     .help = "Samples on the time axis."},
    {.name = "channels", .kind = LW_OPTION_INT, .argument = "C", .fallback = "1", .minimum = 1, .maximum = 1 << 20,
     .help = "Channels, each with tones of its own. With 1, /signal has one dimension."},
    {.name = "layout", .kind = LW_OPTION_CHOICE, .choices = "time-fast|time-slow", .fallback = "time-fast",
     .help = "Order of /signal: [channel x time] or [time x channel]."},
    {.name = "type", .kind = LW_OPTION_CHOICE, .choices = "float32|float64", .fallback = "float64", .help = "Type of the samples."},
    {.name = "complex", .kind = LW_OPTION_FLAG, .help = "Complex samples."},
    {.name = "tones", .kind = LW_OPTION_INT, .argument = "K", .fallback = "100", .minimum = 1, .maximum = 1e6,
     .help = "Tones of each channel. Making the signal takes time in proportion to samples times tones."},
    {.name = "snr", .kind = LW_OPTION_REAL, .argument = "DB", .fallback = "20", .minimum = -100, .maximum = 300,
     .help = "Power of all tones to that of the noise, per sample. 300 makes no noise."},
    {.name = "range", .kind = LW_OPTION_REAL, .argument = "DB", .fallback = "0", .minimum = 0, .maximum = 200,
     .help = "Range of the amplitudes, drawn between 1 and this far below, evenly in dB."},
    {.name = "sample-rate", .kind = LW_OPTION_FREQUENCY, .argument = "HZ", .fallback = "4096", .minimum = 1e-9, .maximum = 1e15,
     .help = "Sampling rate that the file states."},
    {.name = "seed", .kind = LW_OPTION_INT, .argument = "S", .fallback = "1", .minimum = 0, .maximum = 1e15,
     .help = "Seed of tones and noise."},
    {0},
};

enum { SIGNAL, TONES, N_DATASETS, NO_NOISE_DB = 300, BLOCK_VALUES = 1 << 19, RUN = 256 };

struct tone_row {
    int64_t channel, index;
    double frequency, re, im, magnitude;
};
static const struct lw_column tone_columns[] = {
    {"channel", LW_COLUMN_INT}, {"index", LW_COLUMN_INT}, {"frequency", LW_COLUMN_REAL}, {"re", LW_COLUMN_REAL},
    {"im", LW_COLUMN_REAL}, {"magnitude", LW_COLUMN_REAL},
};

struct synth {
    struct lw_synth_series series;
    int64_t n_tones;
    double snr_db, range_db, sample_rate_hz;
    uint64_t seed;
    struct tone_row *tones;         /* [n_channels][n_tones], rows of the file's table */
    double *sigma;                  /* [n_channels]: standard deviation of the noise, of each part if complex */
    double *re, *im;                /* [most]: a block of one channel */
    struct lw_writer *writer;
    void *block;                    /* [most][n_channels] or [n_channels][most] */
    int64_t most;                   /* samples of a block */
};

static double uniform(uint64_t seed, uint64_t counter) { return (double)(lw_random_bits(seed, counter) >> 11) * 0x1p-53; }

static double normal(uint64_t seed, uint64_t counter)
{
    return sqrt(-2 * log(uniform(seed, 2 * counter) + 0x1p-54)) * cos(2 * M_PI * uniform(seed, 2 * counter + 1));
}

/* ---- tones --------------------------------------------------------------------------------------------------------- */

static int by_index(const void *a, const void *b)
{
    const struct tone_row *const x = a, *const y = b;
    return (x->index > y->index) - (x->index < y->index);
}

static bool is_free(const struct tone_row *rows, int64_t count, int64_t index)
{
    for (int64_t i = 0; i < count; i++)
        if (rows[i].index == index)
            return false;
    return true;
}

/* Draw the tones of a channel. A row holds X[f] = n a for a tone of amplitude a, or n a / 2 if the signal is real. */
static void draw_tones(struct synth *synth, int64_t channel)
{
    struct tone_row *const rows = synth->tones + channel * synth->n_tones;
    const uint64_t seed = lw_random_bits(synth->seed, (uint64_t)channel);
    const bool is_complex = synth->series.type.is_complex;
    const int64_t n = synth->series.n_samples, span = is_complex ? n : (n - 1) / 2;
    double power = 0;
    uint64_t draw = 0;
    for (int64_t i = 0; i < synth->n_tones; i++) {
        int64_t index;
        do
            index = lw_random_below(seed, draw++, span) + !is_complex;
        while (!is_free(rows, i, index));
        const double amplitude = pow(10, -synth->range_db / 20 * uniform(seed + 1, (uint64_t)i));
        const double size = (double)n * amplitude * (is_complex ? 1 : 0.5);
        const double complex value = size * cexp(2 * M_PI * I * uniform(seed + 2, (uint64_t)i));
        const int64_t turns = is_complex && 2 * index >= n ? index - n : index;
        rows[i] = (struct tone_row){channel, index, (double)turns / (double)n * synth->sample_rate_hz, creal(value), cimag(value),
                                    size};
        power += amplitude * amplitude * (is_complex ? 1 : 0.5);
    }
    qsort(rows, (size_t)synth->n_tones, sizeof *rows, by_index);
    const double noise = synth->snr_db >= NO_NOISE_DB ? 0 : power * pow(10, -synth->snr_db / 10);
    synth->sigma[channel] = sqrt(is_complex ? noise / 2 : noise);
}

/* ---- samples ------------------------------------------------------------------------------------------------------- */

/* Add a tone to a block that begins at sample `first`. RUN rotations are computed once, and turned to the beginning of each run. */
static void add_tone(const struct synth *synth, const struct tone_row *tone, int64_t first, int64_t count)
{
    double re[RUN], im[RUN];
    const double n = (double)synth->series.n_samples;
    const double complex value = (synth->series.type.is_complex ? 1 : 2) / n * CMPLX(tone->re, tone->im);
    const double complex step = cexp(2 * M_PI * I * (double)tone->index / n);
    double complex turn = 1;
    for (int64_t t = 0; t < RUN && t < count; t++, turn *= step) {
        re[t] = creal(turn);
        im[t] = cimag(turn);
    }
    for (int64_t begin = 0; begin < count; begin += RUN) {
        const int64_t length = lw_min64(RUN, count - begin);
        const double complex x =
            value * cexp(2 * M_PI * I * (double)lw_mod_multiply(tone->index, first + begin, synth->series.n_samples) / n);
        const double x_re = creal(x), x_im = cimag(x);
        for (int64_t t = 0; t < length; t++)
            synth->re[begin + t] += x_re * re[t] - x_im * im[t];
        for (int64_t t = 0; synth->series.type.is_complex && t < length; t++)
            synth->im[begin + t] += x_re * im[t] + x_im * re[t];
    }
}

static void make_channel(const struct synth *synth, int64_t channel, int64_t first, int64_t count)
{
    const uint64_t seed = lw_random_bits(synth->seed + 1, (uint64_t)channel);
    const double sigma = synth->sigma[channel];
    const bool is_complex = synth->series.type.is_complex, slow = synth->series.layout == LW_TIME_SLOW;
    for (int64_t t = 0; t < count; t++) {
        const uint64_t place = (uint64_t)(first + t);
        synth->re[t] = sigma == 0 ? 0 : sigma * normal(seed, place);
        synth->im[t] = sigma == 0 || !is_complex ? 0 : sigma * normal(seed + 1, place);
    }
    for (int64_t i = 0; i < synth->n_tones; i++)
        add_tone(synth, &synth->tones[channel * synth->n_tones + i], first, count);
    for (int64_t t = 0; t < count; t++) {
        const int64_t place = slow ? t * synth->series.n_channels + channel : channel * count + t;
        lw_type_put(synth->series.type, synth->block, is_complex ? 2 * place : place, synth->re[t]);
        if (is_complex)
            lw_type_put(synth->series.type, synth->block, 2 * place + 1, synth->im[t]);
    }
}

/* ---- the file ------------------------------------------------------------------------------------------------------ */

static int prepare(const struct lw_options *given, struct synth *synth, struct lw_error *err)
{
    *synth = (struct synth){
        .series = {
            .n_samples = lw_options_int(given, "samples"), .n_channels = lw_options_int(given, "channels"),
            .layout = (enum lw_layout)lw_options_choice(given, "layout"),
            .type = {.scalar = lw_options_choice(given, "type") == 0 ? LW_FLOAT32 : LW_FLOAT64,
                     .is_complex = lw_options_flag(given, "complex")},
        },
        .n_tones = lw_options_int(given, "tones"),
        .snr_db = lw_options_real(given, "snr"), .range_db = lw_options_real(given, "range"),
        .sample_rate_hz = lw_options_real(given, "sample-rate"), .seed = (uint64_t)lw_options_int(given, "seed"),
    };
    const int64_t room = synth->series.type.is_complex ? synth->series.n_samples : (synth->series.n_samples - 1) / 2;
    if (2 * synth->n_tones > room)
        return lw_fail(err, LW_ECONFIG, "--tones %" PRId64 " is more than %" PRId64 ", half of the frequencies of %" PRId64
                       " samples", synth->n_tones, room / 2, synth->series.n_samples);
    synth->most = lw_min64(lw_max64(BLOCK_VALUES / synth->series.n_channels, 1), synth->series.n_samples);
    if (!(synth->tones = lw_alloc_array(synth->series.n_channels * synth->n_tones, sizeof *synth->tones, "tones", err)) ||
        !(synth->sigma = lw_alloc_array(synth->series.n_channels, sizeof *synth->sigma, "tones", err)) ||
        !(synth->re = lw_alloc_array(synth->most, sizeof *synth->re, "samples", err)) ||
        !(synth->im = lw_alloc_array(synth->most, sizeof *synth->im, "samples", err)) ||
        !(synth->block = lw_alloc_array(synth->most * synth->series.n_channels, lw_type_bytes(synth->series.type), "samples", err)))
        return LW_ESYSTEM;
    for (int64_t c = 0; c < synth->series.n_channels; c++)
        draw_tones(synth, c);
    return LW_OK;
}

static int create_file(const struct lw_options *given, struct lw_comm *comm, struct synth *synth, struct lw_error *err)
{
    const struct lw_attribute notes[] = {
        {.name = "sample_rate_hz", .kind = LW_ATTRIBUTE_REAL, .real = synth->sample_rate_hz},
        {.name = "snr_db", .kind = LW_ATTRIBUTE_REAL, .real = synth->snr_db},
        {.name = "seed", .kind = LW_ATTRIBUTE_INT, .integer = (int64_t)synth->seed},
    };
    const struct lw_writer_dataset datasets[N_DATASETS] = {
        [SIGNAL] = lw_synth_describe(&synth->series, notes, (int)(sizeof notes / sizeof *notes)),
        [TONES] = {.path = "/tones", .n_dims = 1, .dims = {synth->series.n_channels * synth->n_tones}, .columns = tone_columns,
                   .n_columns = (int)(sizeof tone_columns / sizeof *tone_columns)},
    };
    return lw_synth_create(given, comm, NULL, datasets, N_DATASETS, &synth->writer, err);
}

static int write_block(void *context, int64_t axis, int64_t first, int64_t count, struct lw_error *err)
{
    const struct synth *const synth = context;
    (void)axis;
    for (int64_t c = 0; count > 0 && c < synth->series.n_channels; c++)
        make_channel(synth, c, first, count);
    return lw_synth_write(&synth->series, synth->writer, first, count, synth->block, err);
}

int lw_sfft_synth(const struct lw_options *given, struct lw_comm *comm, struct lw_error *err)
{
    struct synth synth = {0};
    int rc = lw_comm_agree(comm, prepare(given, &synth, err), err);
    const int64_t rows = lw_comm_rank(comm) == 0 ? synth.series.n_channels * synth.n_tones : 0;
    const struct lw_synth_turns turns = {.n = synth.series.n_samples, .block = synth.most, .n_axes = 1, .weight = 1};
    (void)(rc || (rc = create_file(given, comm, &synth, err)) ||
           (rc = lw_writer_write(synth.writer, TONES, &(int64_t){0}, &rows, synth.tones, err)) ||
           (rc = lw_synth_in_turns(comm, &turns, write_block, &synth, err)) || (rc = lw_writer_finish(synth.writer, NULL, 0, err)));
    lw_writer_destroy(synth.writer);
    if (rc == LW_OK)
        lw_log_info("%s holds /signal and /tones. Next: lapwing sfft --input %s:/signal --sparsity %" PRId64
                    " --output lines.h5", lw_options_text(given, "output"), lw_options_text(given, "output"), synth.n_tones);
    lw_free(synth.tones);
    lw_free(synth.sigma);
    lw_free(synth.re);
    lw_free(synth.im);
    lw_free(synth.block);
    return rc;
}
