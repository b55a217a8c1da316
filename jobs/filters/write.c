/* write.c - the file that a bank goes to. */
#include "base/memory.h"
#include "io/hdf5/result/release.h"
#include "jobs/filters/bank.h"
#include "version.h"

#include <time.h>

/* ---- the file ------------------------------------------------------------------------------------------------------ */

static struct lw_writer_dataset describe(const struct lw_bank *bank, enum lw_scalar scalar, const struct lw_bank_attributes *notes)
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
    struct lw_bank_attributes notes;
    char *configuration;
    void *samples;
};

static int prepare(const struct lw_bank *bank, const struct lw_options *given, enum lw_scalar scalar, struct file *file,
                   struct lw_error *err)
{
    int rc;
    if (!(file->configuration = lw_options_resolved(given, "", err)))
        return LW_ESYSTEM;
    (void)((rc = lw_bank_describe(bank, &file->notes, err)) || (rc = make_samples(bank, scalar, &file->samples, err)));
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
    lw_bank_attributes_release(&file.notes);
    lw_free(file.configuration);
    lw_free(file.samples);
    return rc;
}
