/* accel.c - `lapwing synth accel`: write trials of dispersion with a pulsed signal whose frequency drifts, in white noise. The
 * closer a channel's trial is to the pulsar's, the stronger is its pulse. A sample depends on the seed and its place only. */
#include "accel/accel.h"
#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "jobs/synth/random.h"
#include "jobs/synth/synth.h"

#include <math.h>

const struct lw_option lw_accel_synth_options[] = {
    {.name = "output", .kind = LW_OPTION_FILE, .argument = "FILE", .is_required = true,
     .help = "HDF5 file to make, with the series as /signal and their dispersion measures as /dm."},
    LW_OPTION_OVERWRITE,
    {.name = "samples", .kind = LW_OPTION_INT, .argument = "N", .fallback = "2^18", .minimum = 8, .maximum = 1e14,
     .help = "Samples on the time axis."},
    {.name = "channels", .kind = LW_OPTION_INT, .argument = "C", .fallback = "3", .minimum = 1, .maximum = 1 << 20,
     .help = "Trials of dispersion, 1 pc cm-3 apart from 10 on. The middle one is the pulsar's."},
    {.name = "sample-rate", .kind = LW_OPTION_FREQUENCY, .argument = "HZ", .fallback = "4096", .minimum = 1e-9, .maximum = 1e15,
     .help = "Sampling rate that the file states."},
    {.name = "r", .kind = LW_OPTION_REAL, .argument = "R", .fallback = "2000.3", .minimum = 0, .maximum = 1e14,
     .help = "Mean frequency, in bins: turns in the whole time."},
    {.name = "z", .kind = LW_OPTION_REAL, .argument = "Z", .fallback = "-12.5", .minimum = -1e6, .maximum = 1e6,
     .help = "Drift of the frequency over the whole time, in bins."},
    {.name = "w", .kind = LW_OPTION_REAL, .argument = "W", .fallback = "0", .minimum = -1e6, .maximum = 1e6,
     .help = "Change of the drift over the whole time, in bins."},
    {.name = "width", .kind = LW_OPTION_REAL, .argument = "TURNS", .fallback = "0.03", .minimum = 1e-4, .maximum = 1,
     .help = "Standard deviation of the Gaussian pulse, in turns."},
    {.name = "amplitude", .kind = LW_OPTION_REAL, .argument = "A", .fallback = "0.3", .minimum = 0, .maximum = 1e6,
     .help = "Height of the pulse; noise has a standard deviation of 1."},
    {.name = "seed", .kind = LW_OPTION_INT, .argument = "S", .fallback = "1", .minimum = 0, .maximum = 1e15,
     .help = "Seed of the noise."},
    {0},
};

enum { BLOCK_VALUES = 1 << 19 };

struct synth {
    struct lw_synth_series series;
    double r, z, w, width, amplitude;
    uint64_t seed;
    double *dms;                /* [n_channels] */
    float *block;               /* [n_channels][most] */
    int64_t most;               /* samples of a block */
    struct lw_writer *writer;
};

static float sample(const struct synth *synth, int64_t channel, int64_t i)
{
    const double u = (double)i / (double)synth->series.n_samples;
    const double turns = lw_accel_turns(synth->r, synth->z, synth->w, u);
    const double from = (turns - rint(turns)) / synth->width, off = (double)(channel - synth->series.n_channels / 2);
    double noise;
    lw_noise_normals(lw_noise_bits(synth->seed, (uint64_t)channel), (uint64_t)i, &noise, NULL);
    return (float)(noise + synth->amplitude / (1 + off * off) * exp(-from * from / 2));
}

static int write_block(void *context, int64_t axis, int64_t first, int64_t count, struct lw_error *err)
{
    const struct synth *const synth = context;
    (void)axis;
    for (int64_t c = 0; c < synth->series.n_channels; c++)
        for (int64_t i = 0; i < count; i++)
            synth->block[c * count + i] = sample(synth, c, first + i);
    return lw_synth_write(&synth->series, synth->writer, first, count, synth->block, err);
}

static int create_file(const struct lw_options *given, struct lw_comm *comm, struct synth *synth, struct lw_error *err)
{
    const struct lw_attribute notes[] = {
        {.name = "sample_rate_hz", .kind = LW_ATTRIBUTE_REAL, .real = lw_options_real(given, "sample-rate")},
        {.name = "r", .kind = LW_ATTRIBUTE_REAL, .real = synth->r}, {.name = "z", .kind = LW_ATTRIBUTE_REAL, .real = synth->z},
        {.name = "w", .kind = LW_ATTRIBUTE_REAL, .real = synth->w},
        {.name = "amplitude", .kind = LW_ATTRIBUTE_REAL, .real = synth->amplitude},
        {.name = "seed", .kind = LW_ATTRIBUTE_INT, .integer = (int64_t)synth->seed},
    };
    struct lw_writer_dataset signal = lw_synth_describe(&synth->series, notes, (int)(sizeof notes / sizeof *notes));
    if (signal.n_dims == 2) {
        signal.has_scales = true;
        signal.dim_names[0] = "dm";
        signal.scales[0] = (struct lw_writer_scale){.kind = LW_SCALE_VALUES, .step = 1, .values = synth->dms, .units = "pc cm-3"};
    }
    return lw_synth_create(given, comm, NULL, &signal, 1, &synth->writer, err);
}

int lw_accel_synth(const struct lw_options *given, struct lw_comm *comm, struct lw_error *err)
{
    struct synth synth = {
        .series = {.n_samples = lw_options_int(given, "samples"), .n_channels = lw_options_int(given, "channels"),
                   .layout = LW_TIME_FAST, .type = {.scalar = LW_FLOAT32}},
        .r = lw_options_real(given, "r"), .z = lw_options_real(given, "z"), .w = lw_options_real(given, "w"),
        .width = lw_options_real(given, "width"), .amplitude = lw_options_real(given, "amplitude"),
        .seed = (uint64_t)lw_options_int(given, "seed"),
    };
    const int64_t n_channels = synth.series.n_channels;
    synth.most = lw_min64(lw_max64(BLOCK_VALUES / n_channels, 1), synth.series.n_samples);
    LW_FREED double *const dms = synth.dms = lw_alloc_array(n_channels, sizeof *dms, "trials", err);
    LW_FREED float *const block = synth.block = lw_alloc_array(synth.most * n_channels, sizeof *block, "samples", err);
    int rc = lw_comm_agree(comm, dms && block ? LW_OK : LW_ESYSTEM, err);
    for (int64_t c = 0; rc == LW_OK && c < n_channels; c++)
        dms[c] = 10 + (double)c;
    const struct lw_synth_turns turns = {.n = synth.series.n_samples, .block = synth.most, .n_axes = 1, .weight = 1};
    (void)(rc || (rc = create_file(given, comm, &synth, err)) ||
           (rc = lw_synth_in_turns(comm, &turns, write_block, &synth, err)) || (rc = lw_writer_finish(synth.writer, NULL, 0, err)));
    lw_writer_destroy(synth.writer);
    if (rc == LW_OK)
        lw_log_info("%s holds /signal. Next: lapwing accel --input %s:/signal --zmax 50 --output candidates.h5",
                    lw_options_text(given, "output"), lw_options_text(given, "output"));
    return rc;
}
