/* command.c - `lapwing filters KIND`: make a bank, write it to a file, log its figures. A new kind is a line in lw_filter_kinds. */
#include "jobs/filters/kinds.h"

#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/proc.h"
#include "io/hdf5/result/release.h"
#include "jobs/filters/bank.h"
#include "version.h"

#include <omp.h>
#include <string.h>
#include <time.h>

const struct lw_filter_kind *const lw_filter_kinds[] = {
    &lw_filter_bandpass, &lw_filter_lowpass, &lw_filter_highpass, &lw_filter_boxcar, &lw_filter_gaussian, &lw_filter_ricker,
    &lw_filter_chirp, &lw_filter_inspiral, &lw_filter_gaussian_2d, &lw_filter_mexican_hat, &lw_filter_psf, NULL,
};

const struct lw_option lw_bank_options[] = {
    {.name = "output", .kind = LW_OPTION_FILE, .argument = "FILE", .is_required = true,
     .help = "HDF5 file to make, with the dataset /taps; of kernels for images /kernel."},
    LW_OPTION_OVERWRITE,
    {.name = "type", .kind = LW_OPTION_CHOICE, .choices = "float64|float32", .fallback = "float64",
     .help = "Type of the taps. The printed properties of a filter are measured on taps of this type."},
    {0},
};

/* This rank's filters, while it makes and writes them. */
struct part {
    const struct lw_bank *bank;
    bool is_single;
    int first, end, n_threads;
    double *work;               /* [n_threads x work_doubles] */
    double *rows;               /* [n_filters x n_columns] of a series; rows of other ranks' filters are 0 */
    void *buffers[2];           /* taps of n_threads filters, in the file's type */
};

static int open_part(struct lw_comm *comm, struct part *part, struct lw_error *err)
{
    const struct lw_bank *const bank = part->bank;
    const bool is_shared = bank->series.make;           /* else rank 0 has all filters */
    const int64_t n = bank->n_filters, rank = lw_comm_rank(comm), size = lw_comm_size(comm);
    part->first = is_shared ? (int)(n * rank / size) : 0;
    part->end = is_shared ? (int)(n * (rank + 1) / size) : rank == 0 ? bank->n_filters : 0;
    part->n_threads = (int)lw_max64(1, lw_min64(lw_proc_cores(), part->end - part->first));
    for (int i = 0; i < 2; i++)
        if (!(part->buffers[i] = lw_alloc_array(part->n_threads * lw_bank_values(bank),
                                                part->is_single ? sizeof(float) : sizeof(double), "taps", err)))
            return LW_ESYSTEM;
    part->work = lw_alloc_array(part->n_threads * bank->series.work_doubles, sizeof *part->work, "filters", err);
    part->rows = lw_alloc_array(n * bank->series.n_columns, sizeof *part->rows, "filters", err);
    return part->work && part->rows ? LW_OK : LW_ESYSTEM;
}

/* Make filters at .. at + count, each by a thread, or take those that are made. */
static void fill(const struct part *part, int at, int count, void *taps)
{
    const struct lw_bank *const bank = part->bank;
    const struct lw_bank_series *const series = &bank->series;
    const int64_t values = lw_bank_values(bank);
    #pragma omp parallel for num_threads(part->n_threads) schedule(static, 1)
    for (int i = 0; i < count; i++) {
        double *const work = part->work + omp_get_thread_num() * series->work_doubles;
        const double *const made = series->make ? work : lw_bank_filter(bank, at + i);
        if (series->make)
            series->make(series->context, at + i, work, part->rows + (int64_t)(at + i) * series->n_columns);
        for (int64_t v = 0; v < values; v++)
            if (part->is_single)
                ((float *)taps)[i * values + v] = (float)made[v];
            else
                ((double *)taps)[i * values + v] = made[v];
    }
}

/* The shape of a bank in the file: [filter x tap], or [kernel x row x column]; a single one lacks the first dimension. */
struct shape {
    int n_dims;
    int64_t dims[3];
    const char *names[3];
};

static struct shape shape_of(const struct lw_bank *bank)
{
    const bool is_kernel = bank->columns > 0;
    const struct shape all = is_kernel
        ? (struct shape){3, {bank->n_filters, bank->n_taps / bank->columns, bank->columns},
                         {"kernel", "kernel_row", "kernel_column"}}
        : (struct shape){2, {bank->n_filters, bank->n_taps}, {"filter", "tap"}};
    if (bank->n_filters > 1)
        return all;
    return (struct shape){all.n_dims - 1, {all.dims[1], all.dims[2]}, {all.names[1], all.names[2]}};
}

/* Write the filters in rounds: those of a round are written while those of the next are made. Then write and report the table of a
 * series. Collective: all ranks take part in as many rounds. */
static int write_filters(struct lw_comm *comm, struct part *part, struct lw_writer *writer, struct lw_error *err)
{
    const struct lw_bank *const bank = part->bank;
    const bool is_first = lw_comm_rank(comm) == 0;
    const struct shape shape = shape_of(bank);
    struct lw_write writes[2] = {{0}};
    int rc = lw_comm_agree(comm, open_part(comm, part, err), err);
    const int64_t rounds = rc ? 0 : lw_comm_max(comm, lw_divide_up(part->end - part->first, part->n_threads));
    for (int64_t r = 0; r < rounds + 2 && rc == LW_OK; r++) {
        const int at = (int)lw_min64(part->end, part->first + r * part->n_threads);
        const int count = (int)lw_min64(part->n_threads, part->end - at);
        const int64_t first[3] = {bank->n_filters == 1 ? 0 : at};
        int64_t counts[3];
        memcpy(counts, shape.dims, sizeof counts);
        counts[0] = bank->n_filters == 1 ? count * shape.dims[0] : count;
        if ((rc = lw_comm_agree(comm, lw_writer_end(writer, &writes[r % 2], err), err)))
            break;
        fill(part, at, count, part->buffers[r % 2]);
        if (r < rounds)
            lw_writer_begin(writer, 0, first, counts, part->buffers[r % 2], &writes[r % 2]);
    }
    /* Writes may be under way if there was an error. */
    (void)lw_writer_end(writer, &writes[0], &(struct lw_error){0});
    (void)lw_writer_end(writer, &writes[1], &(struct lw_error){0});
    if (rc || !bank->series.make)
        return rc;
    const int64_t n_rows = is_first ? bank->n_filters : 0;
    lw_comm_collect(comm, part->rows, (int64_t)bank->n_filters * bank->series.n_columns, 0);
    if (is_first)
        bank->series.report(bank, part->rows);
    return lw_writer_write(writer, 1, &(int64_t){0}, &n_rows, part->rows, err);
}

static int write_file(struct lw_comm *comm, const struct lw_bank *bank, const struct lw_options *given, const char *command_line,
                      struct lw_pool *pool, struct lw_error *err)
{
    const struct shape shape = shape_of(bank);
    struct part part = {.bank = bank, .is_single = lw_options_choice(given, "type") == 1};
    struct lw_bank_attributes notes = {0};      /* rank 0's count */
    char *configuration = NULL;
    struct lw_writer *writer = NULL;
    int rc = LW_OK;
    if (lw_comm_rank(comm) == 0 && (!(configuration = lw_options_resolved(given, "", err)) || lw_bank_describe(bank, &notes, err)))
        rc = LW_ESYSTEM;
    const struct lw_writer_dataset datasets[2] = {{
        .path = bank->columns > 0 ? "/kernel" : "/taps",
        .n_dims = shape.n_dims, .dims = {shape.dims[0], shape.dims[1], shape.dims[2]},
        .dim_names = {shape.names[0], shape.names[1], shape.names[2]},
        .type = {.scalar = part.is_single ? LW_FLOAT32 : LW_FLOAT64, .is_complex = bank->is_complex},
        .attributes = notes.list, .n_attributes = notes.count,
    }, {
        .path = "/templates", .n_dims = 1, .dims = {bank->n_filters}, .dim_names = {"filter"},
        .columns = bank->series.columns, .n_columns = bank->series.n_columns,
    }};
    char now[32];
    struct tm parts;
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&(time_t){time(NULL)}, &parts));
    const struct lw_attribute root[] = {
        {.name = "title", .kind = LW_ATTRIBUTE_TEXT,
         .text = bank->columns > 0 ? "kernels for lapwing conv2d" : "filters for lapwing ols"},
        {.name = "program", .kind = LW_ATTRIBUTE_TEXT, .text = "lapwing"},
        {.name = "version", .kind = LW_ATTRIBUTE_TEXT, .text = LW_VERSION},
        {.name = "commit", .kind = LW_ATTRIBUTE_TEXT, .text = LW_COMMIT},
        {.name = "command_line", .kind = LW_ATTRIBUTE_TEXT, .text = command_line},
        {.name = "configuration", .kind = LW_ATTRIBUTE_TEXT, .text = configuration},
        {.name = "hdf5", .kind = LW_ATTRIBUTE_TEXT, .text = lw_hdf5_text()},
        {.name = "host", .kind = LW_ATTRIBUTE_TEXT, .text = lw_comm_host(comm)},
        {.name = "made_utc", .kind = LW_ATTRIBUTE_TEXT, .text = now},
    };
    const struct lw_writer_spec spec = {
        .file = lw_options_text(given, "output"), .overwrite = lw_options_flag(given, "overwrite"),
        .attributes = root, .n_attributes = sizeof root / sizeof *root,
        .datasets = datasets, .n_datasets = bank->series.make ? 2 : 1, .pool = pool,
    };
    (void)((rc = lw_comm_agree(comm, rc, err)) || (rc = lw_writer_create(comm, &spec, &writer, err)) ||
           (rc = write_filters(comm, &part, writer, err)) || (rc = lw_writer_finish(writer, NULL, 0, err)));
    lw_writer_destroy(writer);
    lw_bank_attributes_release(&notes);
    lw_free(configuration);
    lw_free(part.buffers[0]);
    lw_free(part.buffers[1]);
    lw_free(part.work);
    lw_free(part.rows);
    return rc;
}

/* Make the bank on rank 0, or plan a series on all ranks. Collective. */
static int make(struct lw_comm *comm, const struct lw_options *given, struct lw_bank *bank, struct lw_error *err)
{
    bank->rate_hz = lw_option_find(bank->kind->options, "rate") ? lw_options_real(given, "rate") : 0;
    if (bank->kind->plan)
        return lw_comm_agree(comm, bank->kind->plan(given, comm, bank, err), err);
    const bool has_gain = lw_option_find(bank->kind->options, "norm") && lw_options_choice(given, "norm") == 0;
    bank->norm = has_gain ? "gain" : "energy";
    int rc = LW_OK;
    if (lw_comm_rank(comm) == 0 && !(rc = bank->kind->design(given, bank, err)) && !(rc = lw_bank_scale(bank, err))) {
        const bool is_single = lw_options_choice(given, "type") == 1;
        for (int64_t i = 0; is_single && i < bank->n_filters * lw_bank_values(bank); i++)
            bank->taps[i] = (double)(float)bank->taps[i];
        rc = lw_bank_measure(bank, err);
    }
    /* Ranks other than 0 only need the shape, for the collective calls that write the file. */
    int64_t shape[] = {bank->n_filters, bank->n_taps, bank->is_complex, bank->columns};
    if ((rc = lw_comm_agree(comm, rc, err)) == LW_OK)
        lw_comm_broadcast(comm, shape, sizeof shape);
    bank->n_filters = (int)shape[0];
    bank->n_taps = shape[1];
    bank->is_complex = shape[2] != 0;
    bank->columns = shape[3];
    return rc;
}

int lw_filters_run(struct lw_comm *comm, const struct lw_filter_kind *kind, const struct lw_options *given,
                   const char *command_line, struct lw_error *err)
{
    enum { N_WRITERS = 4 };
    struct lw_bank bank = {.kind = kind};
    struct lw_pool *pool = NULL;
    int rc;
    (void)((rc = make(comm, given, &bank, err)) || (rc = lw_comm_agree(comm, lw_pool_create(N_WRITERS, &pool, err), err)) ||
           (rc = write_file(comm, &bank, given, command_line, pool, err)));
    if (rc == LW_OK && lw_comm_rank(comm) == 0) {
        if (!bank.series.make)
            lw_bank_report(&bank, lw_options_choice(given, "type") == 1);
        const bool is_kernel = bank.columns > 0;
        lw_log_info("Next: lapwing %s --input FILE:/dataset --%s %s:/%s --output filtered.h5", is_kernel ? "conv2d" : "ols",
                    is_kernel ? "kernel" : "filters", lw_options_text(given, "output"), is_kernel ? "kernel" : "taps");
    }
    lw_pool_destroy(pool);
    lw_bank_release(&bank);
    return rc;
}
