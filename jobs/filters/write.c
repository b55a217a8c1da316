/* write.c - the file that a bank goes to, and what is said of its filters. */
#include "base/log.h"
#include "base/memory.h"
#include "jobs/filters/bank.h"
#include "version.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- attributes ---------------------------------------------------------------------------------------------------- */

enum { N_FIGURES = 6, MAX_ATTRIBUTES = LW_BANK_NOTES + N_FIGURES + 6 };

/* What is told of each filter, in the file's units. */
static const struct {
    const char *name;
    size_t offset;
    bool is_frequency;
} figures[N_FIGURES] = {
    {"gain", offsetof(struct lw_filter_figures, gain), false},
    {"energy", offsetof(struct lw_filter_figures, energy), false},
    {"ripple_db", offsetof(struct lw_filter_figures, ripple_db), false},
    {"attenuation_db", offsetof(struct lw_filter_figures, attenuation_db), false},
    {"low_edge_hz", offsetof(struct lw_filter_figures, edge_low), true},
    {"high_edge_hz", offsetof(struct lw_filter_figures, edge_high), true},
};

/* The attributes of /taps. */
struct notes {
    struct lw_attribute list[MAX_ATTRIBUTES];
    int count;
    double *numbers;            /* owned; [N_FIGURES][n_filters] */
};

static void add_text(struct notes *notes, const char *name, const char *text)
{
    notes->list[notes->count++] = (struct lw_attribute){.name = name, .kind = LW_ATTRIBUTE_TEXT, .text = text};
}

/* A number for each filter: an array only where there are several. */
static void add_numbers(struct notes *notes, const char *name, const double *numbers, int count)
{
    notes->list[notes->count++] = count == 1
        ? (struct lw_attribute){.name = name, .kind = LW_ATTRIBUTE_REAL, .real = numbers[0]}
        : (struct lw_attribute){.name = name, .kind = LW_ATTRIBUTE_REALS, .reals = numbers, .n_reals = count};
}

/* Figures that the kind does not have are NaN for all filters, and stay away; so do frequencies where no rate is known. */
static void add_figures(const struct lw_bank *bank, struct notes *notes)
{
    for (int i = 0; i < N_FIGURES; i++) {
        double *const numbers = notes->numbers + (ptrdiff_t)i * bank->n_filters;
        for (int f = 0; f < bank->n_filters; f++) {
            memcpy(&numbers[f], (const char *)&bank->figures[f] + figures[i].offset, sizeof *numbers);
            numbers[f] *= figures[i].is_frequency ? bank->rate_hz : 1;
        }
        if (!isnan(numbers[0]) && (!figures[i].is_frequency || bank->rate_hz > 0))
            add_numbers(notes, figures[i].name, numbers, bank->n_filters);
    }
}

static int collect(const struct lw_bank *bank, const struct lw_options *given, struct notes *notes, struct lw_error *err)
{
    if (!(notes->numbers = lw_alloc_array((int64_t)N_FIGURES * bank->n_filters, sizeof *notes->numbers, "attributes", err)))
        return LW_ESYSTEM;
    if (bank->rate_hz > 0)
        add_numbers(notes, "sample_rate_hz", &bank->rate_hz, 1);
    add_text(notes, "kind", bank->kind->name);
    add_text(notes, "design", bank->design);
    add_text(notes, "norm", lw_options_text(given, "norm"));
    for (int i = 0; i < bank->n_notes; i++)
        notes->list[notes->count++] = bank->notes[i];
    if (bank->parameter_name)
        add_numbers(notes, bank->parameter_name, bank->parameters, bank->n_filters);
    add_numbers(notes, "group_delay_samples", bank->delays, bank->n_filters);
    add_figures(bank, notes);
    return LW_OK;
}

/* ---- the file ------------------------------------------------------------------------------------------------------ */

static struct lw_writer_dataset describe(const struct lw_bank *bank, enum lw_scalar scalar, const struct notes *notes)
{
    struct lw_writer_dataset taps = {
        .path = "/taps",
        .n_dims = 1,
        .dims = {bank->n_taps},
        .dim_names = {"tap"},
        .type = {.scalar = scalar, .is_complex = bank->is_complex},
        .attributes = notes->list,
        .n_attributes = notes->count,
    };
    if (bank->n_filters > 1) {
        taps.n_dims = 2;
        taps.dims[0] = bank->n_filters;
        taps.dims[1] = bank->n_taps;
        taps.dim_names[0] = "filter";
        taps.dim_names[1] = "tap";
    }
    return taps;
}

static int create_file(struct lw_comm *comm, const struct lw_options *given, const struct lw_writer_dataset *taps,
                       const char *configuration, const char *command_line, struct lw_writer **out, struct lw_error *err)
{
    char now[32];
    const time_t when = time(NULL);
    struct tm parts;
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&when, &parts));
    const struct lw_attribute root[] = {
        {.name = "title", .kind = LW_ATTRIBUTE_TEXT, .text = "filters for lapwing ols"},
        {.name = "program", .kind = LW_ATTRIBUTE_TEXT, .text = "lapwing"},
        {.name = "version", .kind = LW_ATTRIBUTE_TEXT, .text = LW_VERSION},
        {.name = "commit", .kind = LW_ATTRIBUTE_TEXT, .text = LW_COMMIT},
        {.name = "command_line", .kind = LW_ATTRIBUTE_TEXT, .text = command_line},
        {.name = "configuration", .kind = LW_ATTRIBUTE_TEXT, .text = configuration},
        {.name = "hdf5", .kind = LW_ATTRIBUTE_TEXT, .text = lw_hdf5_text()},
        {.name = "host", .kind = LW_ATTRIBUTE_TEXT, .text = lw_comm_host(comm)},
        {.name = "made_utc", .kind = LW_ATTRIBUTE_TEXT, .text = now},
    };
    return lw_writer_create(comm, &(struct lw_writer_spec){
        .file = lw_options_text(given, "output"),
        .overwrite = lw_options_flag(given, "overwrite"),
        .attributes = root,
        .n_attributes = sizeof root / sizeof *root,
        .datasets = taps,
        .n_datasets = 1,
    }, out, err);
}

/* The taps in the type of the file; those of float32 are already rounded. */
static int make_samples(const struct lw_bank *bank, enum lw_scalar scalar, void **out, struct lw_error *err)
{
    const int64_t count = bank->n_filters * lw_bank_values(bank);
    void *const samples = lw_alloc_array(count, lw_scalar_bytes(scalar), "taps", err);
    if (!samples)
        return LW_ESYSTEM;
    for (int64_t i = 0; i < count; i++)
        if (scalar == LW_FLOAT32)
            ((float *)samples)[i] = (float)bank->taps[i];
        else
            ((double *)samples)[i] = bank->taps[i];
    *out = samples;
    return LW_OK;
}

/* Everybody's: shape and type. Rank 0's: what the attributes say and the samples. */
struct file {
    struct notes notes;
    char *configuration;
    void *samples;
};

static int prepare(const struct lw_bank *bank, const struct lw_options *given, enum lw_scalar scalar, struct file *file,
                   struct lw_error *err)
{
    int rc;
    if (!(file->configuration = lw_options_resolved(given, err)))
        return LW_ESYSTEM;
    (void)((rc = collect(bank, given, &file->notes, err)) || (rc = make_samples(bank, scalar, &file->samples, err)));
    return rc;
}

static int write_file(struct lw_comm *comm, const struct lw_bank *bank, const struct lw_options *given, const char *command_line,
                      const struct lw_writer_dataset *taps, const struct file *file, struct lw_error *err)
{
    const bool is_mine = lw_comm_rank(comm) == 0;
    const int64_t first[2] = {0, 0};
    const int64_t count[2] = {is_mine ? taps->dims[0] : 0, is_mine ? bank->n_taps : 0};
    struct lw_writer *writer = NULL;
    int rc;
    (void)((rc = create_file(comm, given, taps, file->configuration, command_line, &writer, err)) ||
           (rc = lw_writer_write(writer, 0, first, count, file->samples, err)) ||
           (rc = lw_writer_finish(writer, NULL, 0, err)));
    lw_writer_destroy(writer);
    return rc;
}

int lw_bank_write(struct lw_comm *comm, const struct lw_bank *bank, const struct lw_options *given, const char *command_line,
                  struct lw_error *err)
{
    const enum lw_scalar scalar = lw_options_choice(given, "type") == 0 ? LW_FLOAT64 : LW_FLOAT32;
    struct file file = {0};
    int rc = lw_comm_rank(comm) == 0 ? prepare(bank, given, scalar, &file, err) : LW_OK;
    if ((rc = lw_comm_agree(comm, rc, err)) == LW_OK) {
        const struct lw_writer_dataset taps = describe(bank, scalar, &file.notes);
        rc = write_file(comm, bank, given, command_line, &taps, &file, err);
    }
    lw_free(file.notes.numbers);
    lw_free(file.configuration);
    lw_free(file.samples);
    return rc;
}

/* ---- what is said -------------------------------------------------------------------------------------------------- */

enum { MOST_SAID = 64, LINE_SIZE = 400 };

static void append(char line[LINE_SIZE], const char *format, ...) __attribute__((format(printf, 2, 3)));

static void append(char line[LINE_SIZE], const char *format, ...)
{
    va_list arguments;
    const size_t length = strlen(line);
    va_start(arguments, format);
    vsnprintf(line + length, LINE_SIZE - length, format, arguments);
    va_end(arguments);
}

/* Frequencies in Hz, or as fractions of a rate that is not known. */
static double shown(const struct lw_bank *bank, double frequency)
{
    return bank->rate_hz > 0 ? frequency * bank->rate_hz : frequency;
}

static const char *unit(const struct lw_bank *bank)
{
    return bank->rate_hz > 0 ? "Hz" : "cycles per sample";
}

static void append_bands(const struct lw_bank *bank, const struct lw_filter_figures *figure, char line[LINE_SIZE])
{
    if (!bank->has_bands)
        return;
    if (isnan(figure->ripple_db))
        append(line, ", no flat pass band");
    else
        append(line, ", ripple %.2g dB", figure->ripple_db);
    if (isnan(figure->attenuation_db))
        append(line, ", no stop band");
    else
        append(line, ", attenuation %.1f dB", figure->attenuation_db);
}

static void report_filter(const struct lw_bank *bank, int f)
{
    const struct lw_filter_figures *const figure = &bank->figures[f];
    char line[LINE_SIZE] = "", parameter[80] = "";
    if (bank->parameter_text)
        snprintf(parameter, sizeof parameter, bank->parameter_text, bank->parameters[f]);
    append(line, "filter %d: %s%s%s, %" PRId64 " %s taps, gain %.6g at %.6g %s, energy %.6g", f, bank->kind->name,
           parameter[0] ? " " : "", parameter, bank->n_taps, bank->is_complex ? "complex" : "real", figure->gain,
           shown(bank, bank->references[f]), unit(bank), figure->energy);
    append_bands(bank, figure, line);
    append(line, ", within 3 dB from %.6g to %.6g %s, delay %.12g samples", shown(bank, figure->edge_low),
           shown(bank, figure->edge_high), unit(bank), bank->delays[f]);
    if (bank->rate_hz > 0)
        append(line, " (%.6g s)", bank->delays[f] / bank->rate_hz);
    lw_log_info("%s", line);
}

static void warn_if_weak(const struct lw_bank *bank, bool is_single)
{
    const double reached = bank->figures[0].attenuation_db, wanted = bank->attenuation_wanted_db;
    if (bank->has_bands && reached < wanted - 0.5)
        lw_log_warn("the attenuation is %.1f dB, %.1f dB less than asked for: %s", reached, wanted - reached,
                    is_single ? "float32 has no better taps, --type float64 does" : "give more --taps or a wider --transition");
}

void lw_bank_report(const struct lw_bank *bank, const char *output, bool is_single)
{
    for (int f = 0; f < bank->n_filters && f < MOST_SAID; f++)
        report_filter(bank, f);
    if (bank->n_filters > MOST_SAID)
        lw_log_info("and %d more: the attributes of /taps tell of all", bank->n_filters - MOST_SAID);
    warn_if_weak(bank, is_single);
    lw_log_info("Next: lapwing ols --input FILE:/dataset --filters %s:/taps --output filtered.h5", output);
}
