/* ols.c - `lapwing synth ols`: write the synthetic survey of survey.h and its filter bank to a file. */
#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "jobs/synth/survey.h"
#include "jobs/synth/synth.h"

#include <inttypes.h>
#include <stdio.h>

const struct lw_option lw_ols_synth_options[] = {
    {.name = "output", .kind = LW_OPTION_FILE, .argument = "FILE", .is_required = true,
     .help = "HDF5 file to make, with the datasets /signal and /filters."},
    LW_OPTION_OVERWRITE,
    {.name = "samples", .kind = LW_OPTION_INT, .argument = "N", .fallback = "4M", .minimum = 1, .maximum = 1e15,
     .help = "Samples on the time axis; may be larger than 2^31."},
    {.name = "channels", .kind = LW_OPTION_INT, .argument = "C", .fallback = "4", .minimum = 1, .maximum = 1 << 20,
     .help = "Channels. With 1, /signal has one dimension."},
    {.name = "layout", .kind = LW_OPTION_CHOICE, .choices = "time-fast|time-slow", .fallback = "time-fast",
     .help = "Order of /signal: [channel x time] or [time x channel]."},
    {.name = "type", .kind = LW_OPTION_CHOICE, .choices = LW_FLOATS(LW_SCALAR_TEXT, "|") "|" LW_INTEGERS(LW_SCALAR_TEXT, "|"),
     .fallback = "float32",
     .help = "Type of the samples. The noise has a standard deviation of 1, 16 (8 bits), 256 (16 bits) or 65536 (32 bits)."},
    {.name = "complex", .kind = LW_OPTION_FLAG, .help = "Complex samples and filters; with a floating-point type."},
    {.name = "n-filters", .kind = LW_OPTION_INT, .argument = "F", .fallback = "4", .minimum = 1, .maximum = 4096,
     .help = "Filters: matched filters of chirps and band-passes in turn."},
    {.name = "taps", .kind = LW_OPTION_INT, .argument = "M", .fallback = "513", .minimum = 1, .maximum = 1 << 24,
     .help = "Length of every filter and chirp."},
    {.name = "sample-rate", .kind = LW_OPTION_FREQUENCY, .argument = "HZ", .fallback = "4096", .minimum = 1e-9, .maximum = 1e15,
     .help = "Sampling rate that the file states."},
    {.name = "seed", .kind = LW_OPTION_INT, .argument = "S", .fallback = "1", .minimum = 0, .maximum = 9e18,
     .help = "Seed of the noise."},
    {0},
};

enum { SIGNAL, FILTERS, N_DATASETS, MAX_NOTES = 64, NOTE_SIZE = 240, BLOCK_VALUES = 1 << 19, BLOCK_MIN = 4096 };

static int read_options(const struct lw_options *given, struct lw_synth *synth, struct lw_error *err)
{
    *synth = (struct lw_synth){
        .n_samples = lw_options_int(given, "samples"), .n_channels = lw_options_int(given, "channels"),
        .n_taps = lw_options_int(given, "taps"), .n_filters = (int)lw_options_int(given, "n-filters"),
        .is_complex = lw_options_flag(given, "complex"), .seed = (uint64_t)lw_options_int(given, "seed"),
        .sample_rate_hz = lw_options_real(given, "sample-rate"),
    };
    const char *const type = lw_options_text(given, "type");
    if (!lw_scalar_parse(type, &synth->scalar))
        return lw_fail(err, LW_EUSAGE, "--type %s is not a type of samples", type);
    if (synth->is_complex && lw_scalar_is_integer(synth->scalar))
        return lw_fail(err, LW_EUSAGE, "--complex goes with --type float32 or float64, not with %s", type);
    int64_t values;
    if (__builtin_mul_overflow(synth->n_samples, synth->n_channels * 16, &values))
        return lw_fail(err, LW_EUSAGE, "--samples %" PRId64 " times --channels %" PRId64 " is more than a file can hold",
                       synth->n_samples, synth->n_channels);
    return LW_OK;
}

/* Attributes of the two datasets, and the storage of their texts. */
struct notes {
    struct lw_attribute signal[MAX_NOTES + 4], filters[MAX_NOTES];
    int n_signal, n_filters;
    char names[2][MAX_NOTES][24];
    char texts[2][MAX_NOTES][NOTE_SIZE];
};

struct work {
    struct lw_synth synth;
    struct lw_synth_series series;
    struct notes *notes;
    double *taps;
    int64_t block;              /* samples of a block */
    double *line;               /* [block], or [block x 2]: a block of one channel */
    char *samples;              /* [n_channels][block] or [block][n_channels] in the stored type */
    struct lw_writer *writer;
};

static int create_file(const struct lw_options *given, struct lw_comm *comm, struct work *work, struct lw_error *err)
{
    const struct lw_synth *const synth = &work->synth;
    const struct lw_writer_dataset datasets[N_DATASETS] = {
        [SIGNAL] = lw_synth_describe(&work->series, work->notes->signal, work->notes->n_signal),
        [FILTERS] = {
            .path = "/filters", .n_dims = 2, .dims = {synth->n_filters, synth->n_taps}, .dim_names = {"filter", "tap"},
            .type = {.scalar = LW_FLOAT64, .is_complex = synth->is_complex}, .attributes = work->notes->filters,
            .n_attributes = work->notes->n_filters,
        },
    };
    return lw_synth_create(given, comm, "synthetic survey for lapwing ols", datasets, N_DATASETS, &work->writer, err);
}

/* Make and write a block of the signal with all channels. */
static int write_block(void *context, int64_t axis, int64_t first, int64_t count, struct lw_error *err)
{
    struct work *const work = context;
    const struct lw_synth *const synth = &work->synth;
    const int parts = synth->is_complex ? 2 : 1;
    (void)axis;
    for (int64_t c = 0; c < synth->n_channels; c++) {
        lw_synth_line(synth, c, first, count, work->line);
        for (int64_t i = 0; i < count; i++) {
            const int64_t at = work->series.layout == LW_TIME_FAST ? c * count + i : i * synth->n_channels + c;
            for (int part = 0; part < parts; part++)
                lw_type_put(work->series.type, work->samples, at * parts + part, work->line[i * parts + part]);
        }
    }
    return lw_synth_write(&work->series, work->writer, first, count, work->samples, err);
}

/* Write the filters one by one. Rank 0 makes them; the other ranks only take part in the collective calls. */
static int write_filters(struct lw_comm *comm, const struct work *work, struct lw_error *err)
{
    const struct lw_synth *const synth = &work->synth;
    const int64_t mine = lw_comm_rank(comm) == 0 ? 1 : 0;
    int rc = LW_OK;
    for (int f = 0; rc == LW_OK && f < synth->n_filters; f++) {
        if (mine)
            lw_synth_filter(synth, f, work->taps);
        rc = lw_writer_write(work->writer, FILTERS, (int64_t[]){mine * f, 0}, (int64_t[]){mine, mine * synth->n_taps}, work->taps,
                             err);
    }
    return rc;
}

static int prepare(const struct lw_options *given, struct work *work, struct lw_error *err)
{
    const struct lw_synth *const synth = &work->synth;
    work->series = (struct lw_synth_series){
        .n_samples = synth->n_samples, .n_channels = synth->n_channels,
        .layout = (enum lw_layout)lw_options_choice(given, "layout"),
        .type = {.scalar = synth->scalar, .is_complex = synth->is_complex},
    };
    work->block = lw_min64(lw_max64(BLOCK_VALUES / synth->n_channels, BLOCK_MIN), synth->n_samples);
    if (!(work->line = lw_alloc_array(work->block, 2 * sizeof *work->line, "synthetic samples", err)) ||
        !(work->samples =
              lw_alloc_array(work->block * synth->n_channels, lw_type_bytes(work->series.type), "synthetic samples", err)) ||
        !(work->taps = lw_alloc_array(synth->n_taps, 2 * sizeof *work->taps, "taps", err)) ||
        !(work->notes = lw_alloc(sizeof *work->notes, "attributes", err)))
        return LW_ESYSTEM;
    const struct lw_attribute common[] = {
        {.name = "sample_rate_hz", .kind = LW_ATTRIBUTE_REAL, .real = synth->sample_rate_hz},
        {.name = "start_time", .kind = LW_ATTRIBUTE_REAL, .real = 0},
        {.name = "start_unit", .kind = LW_ATTRIBUTE_TEXT, .text = "second"},
        {.name = "noise_sigma", .kind = LW_ATTRIBUTE_REAL, .real = lw_synth_sigma(synth->scalar)},
    };
    struct notes *const notes = work->notes;
    memcpy(notes->signal, common, sizeof common);
    notes->n_signal = sizeof common / sizeof *common;
    for (int f = 0; f < synth->n_filters && f < MAX_NOTES; f++) {
        snprintf(notes->names[SIGNAL][f], sizeof notes->names[SIGNAL][f], "hidden_%d", f);
        snprintf(notes->names[FILTERS][f], sizeof notes->names[FILTERS][f], "filter_%d", f);
        notes->signal[notes->n_signal++] = (struct lw_attribute){
            .name = notes->names[SIGNAL][f], .kind = LW_ATTRIBUTE_TEXT,
            .text = lw_synth_hidden_text(synth, f, notes->texts[SIGNAL][f], NOTE_SIZE),
        };
        notes->filters[notes->n_filters++] = (struct lw_attribute){
            .name = notes->names[FILTERS][f], .kind = LW_ATTRIBUTE_TEXT,
            .text = lw_synth_filter_text(synth, f, notes->texts[FILTERS][f], NOTE_SIZE),
        };
    }
    return LW_OK;
}

int lw_ols_synth(const struct lw_options *given, struct lw_comm *comm, struct lw_error *err)
{
    const char *const file = lw_options_text(given, "output");
    struct work work = {0};
    int rc = read_options(given, &work.synth, err);
    if (rc != LW_OK)
        return rc;
    rc = lw_comm_agree(comm, prepare(given, &work, err), err);
    const int64_t n_samples = work.synth.n_samples, n_channels = work.synth.n_channels;
    const struct lw_synth_turns turns = {
        .n = n_samples, .block = work.block, .n_axes = 1, .weight = n_channels,
        .bytes = n_samples * n_channels * (int64_t)lw_type_bytes(work.series.type),
    };
    (void)(rc || (rc = create_file(given, comm, &work, err)) || (rc = write_filters(comm, &work, err)) ||
           (rc = lw_synth_in_turns(comm, &turns, write_block, &work, err)) || (rc = lw_writer_finish(work.writer, NULL, 0, err)));
    lw_writer_destroy(work.writer);
    if (rc == LW_OK) {
        lw_log_info("%s holds /signal and /filters. Signals hidden in /signal:", file);
        for (int f = 0; f < work.notes->n_filters; f++)
            lw_log_info("  %s", work.notes->texts[SIGNAL][f]);
        lw_log_info("Next: lapwing ols --input %s:/signal --filters %s:/filters --output filtered.h5", file, file);
    }
    lw_free(work.line);
    lw_free(work.samples);
    lw_free(work.taps);
    lw_free(work.notes);
    return rc;
}
