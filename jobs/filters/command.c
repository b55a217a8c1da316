/* command.c - `lapwing filters KIND`: make a bank, write it to a file, log its figures. A new kind is a line in lw_filter_kinds. */
#include "jobs/filters/kinds.h"

#include "base/log.h"
#include "base/memory.h"
#include "io/hdf5/result/release.h"
#include "jobs/filters/bank.h"
#include "version.h"

#include <time.h>

const struct lw_filter_kind *const lw_filter_kinds[] = {
    &lw_filter_bandpass, &lw_filter_lowpass, &lw_filter_highpass, &lw_filter_boxcar, &lw_filter_gaussian, &lw_filter_ricker,
    &lw_filter_chirp, &lw_filter_inspiral, NULL,
};

const struct lw_option lw_bank_options[] = {
    {.name = "output", .kind = LW_OPTION_FILE, .argument = "FILE", .is_required = true,
     .help = "HDF5 file to make, with the dataset /taps."},
    LW_OPTION_OVERWRITE,
    {.name = "type", .kind = LW_OPTION_CHOICE, .choices = "float64|float32", .fallback = "float64",
     .help = "Type of the taps. The printed properties of a filter are measured on taps of this type."},
    {0},
};

/* The contents of the file; filled on rank 0 only. */
struct file {
    struct lw_writer_dataset taps;
    struct lw_bank_attributes notes;
    char *configuration;
    float *rounded;             /* the taps as float32; NULL: the file gets them as float64 */
};

static int prepare(const struct lw_bank *bank, const struct lw_options *given, struct file *file, struct lw_error *err)
{
    const int64_t count = bank->n_filters * lw_bank_values(bank);
    if (!(file->configuration = lw_options_resolved(given, "", err)) || lw_bank_describe(bank, &file->notes, err))
        return LW_ESYSTEM;
    if (lw_options_choice(given, "type") == 0)
        return LW_OK;
    if (!(file->rounded = lw_alloc_array(count, sizeof *file->rounded, "taps", err)))
        return LW_ESYSTEM;
    for (int64_t i = 0; i < count; i++)
        file->rounded[i] = (float)bank->taps[i];
    return LW_OK;
}

static int write_file(struct lw_comm *comm, const struct lw_bank *bank, const struct lw_options *given, const char *command_line,
                      const struct file *file, struct lw_error *err)
{
    const bool is_one = bank->n_filters == 1;
    const struct lw_writer_dataset taps = {
        .path = "/taps", .n_dims = is_one ? 1 : 2, .dims = {is_one ? bank->n_taps : bank->n_filters, bank->n_taps},
        .dim_names = {is_one ? "tap" : "filter", "tap"},
        .type = {.scalar = lw_options_choice(given, "type") == 0 ? LW_FLOAT64 : LW_FLOAT32, .is_complex = bank->is_complex},
        .attributes = file->notes.list, .n_attributes = file->notes.count,
    };
    const bool is_mine = lw_comm_rank(comm) == 0;
    const int64_t first[2] = {0, 0}, count[2] = {is_mine ? taps.dims[0] : 0, is_mine ? bank->n_taps : 0};
    char now[32];
    struct tm parts;
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&(time_t){time(NULL)}, &parts));
    const struct lw_attribute root[] = {
        {.name = "title", .kind = LW_ATTRIBUTE_TEXT, .text = "filters for lapwing ols"},
        {.name = "program", .kind = LW_ATTRIBUTE_TEXT, .text = "lapwing"},
        {.name = "version", .kind = LW_ATTRIBUTE_TEXT, .text = LW_VERSION},
        {.name = "commit", .kind = LW_ATTRIBUTE_TEXT, .text = LW_COMMIT},
        {.name = "command_line", .kind = LW_ATTRIBUTE_TEXT, .text = command_line},
        {.name = "configuration", .kind = LW_ATTRIBUTE_TEXT, .text = file->configuration},
        {.name = "hdf5", .kind = LW_ATTRIBUTE_TEXT, .text = lw_hdf5_text()},
        {.name = "host", .kind = LW_ATTRIBUTE_TEXT, .text = lw_comm_host(comm)},
        {.name = "made_utc", .kind = LW_ATTRIBUTE_TEXT, .text = now},
    };
    const struct lw_writer_spec spec = {
        .file = lw_options_text(given, "output"), .overwrite = lw_options_flag(given, "overwrite"),
        .attributes = root, .n_attributes = sizeof root / sizeof *root, .datasets = &taps, .n_datasets = 1,
    };
    const void *const samples = file->rounded ? (const void *)file->rounded : bank->taps;
    struct lw_writer *writer = NULL;
    int rc;
    (void)((rc = lw_writer_create(comm, &spec, &writer, err)) || (rc = lw_writer_write(writer, 0, first, count, samples, err)) ||
           (rc = lw_writer_finish(writer, NULL, 0, err)));
    lw_writer_destroy(writer);
    return rc;
}

static int make(const struct lw_filter_kind *kind, const struct lw_options *given, struct lw_bank *bank, struct lw_error *err)
{
    bank->kind = kind;
    bank->rate_hz = lw_options_real(given, "rate");
    bank->norm = lw_options_choice(given, "norm") == 1 ? "energy" : "gain";
    int rc;
    if ((rc = kind->design(given, bank, err)) || (rc = lw_bank_scale(bank, err)))
        return rc;
    const bool is_single = lw_options_choice(given, "type") == 1;
    for (int64_t i = 0; is_single && i < bank->n_filters * lw_bank_values(bank); i++)
        bank->taps[i] = (double)(float)bank->taps[i];
    return lw_bank_measure(bank, err);
}

int lw_filters_run(struct lw_comm *comm, const struct lw_filter_kind *kind, const struct lw_options *given,
                   const char *command_line, struct lw_error *err)
{
    struct lw_bank bank = {0};
    const bool is_mine = lw_comm_rank(comm) == 0;
    struct file file = {0};
    int rc = lw_comm_agree(comm, is_mine ? make(kind, given, &bank, err) : LW_OK, err);
    if (rc == LW_OK) {
        /* Ranks other than 0 only need the shape, for the collective calls that write the file. */
        int64_t shape[3] = {bank.n_filters, bank.n_taps, bank.is_complex};
        lw_comm_broadcast(comm, shape, sizeof shape);
        bank.n_filters = (int)shape[0];
        bank.n_taps = shape[1];
        bank.is_complex = shape[2] != 0;
        rc = lw_comm_agree(comm, is_mine ? prepare(&bank, given, &file, err) : LW_OK, err);
        rc = rc ? rc : write_file(comm, &bank, given, command_line, &file, err);
    }
    if (rc == LW_OK && is_mine) {
        lw_bank_report(&bank, lw_options_choice(given, "type") == 1);
        lw_log_info("Next: lapwing ols --input FILE:/dataset --filters %s:/taps --output filtered.h5",
                    lw_options_text(given, "output"));
    }
    lw_bank_attributes_release(&file.notes);
    lw_free(file.configuration);
    lw_free(file.rounded);
    lw_bank_release(&bank);
    return rc;
}
