/* command.c - `lapwing filters KIND`: make a bank, write it to a file, log its figures. A new kind is a line in lw_filter_kinds. */

#include "base/instant.h"
#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/proc.h"
#include "io/hdf5/result/release.h"
#include "job/choose.h"
#include "jobs/filters/bank.h"
#include "version.h"

#include <omp.h>

const struct lw_filter_kind *const lw_filter_kinds[] = {
    &lw_filter_bandpass, &lw_filter_lowpass, &lw_filter_highpass, &lw_filter_boxcar, &lw_filter_gaussian, &lw_filter_ricker,
    &lw_filter_chirp, &lw_filter_inspiral, &lw_filter_gaussian_2d, &lw_filter_mexican_hat, &lw_filter_psf,
    &lw_filter_dispersion, &lw_filter_beams, &lw_filter_cut, NULL,
};

const struct lw_option lw_bank_options[] = {
    {.name = "output", .kind = LW_OPTION_FILE, .argument = "FILE", .is_required = true,
     .help = "HDF5 file to make, with the dataset /taps; of kernels for images /kernel, of delays /delays."},
    LW_OPTION_OVERWRITE,
    {.name = "type", .kind = LW_OPTION_CHOICE, .choices = "float64|float32", .fallback = "float64",
     .help = "Type of the taps. The printed properties of a filter are measured on taps of this type."},
    {0},
};

/* This rank's filters, while it makes and writes them. */
struct part {
    const struct lw_bank *bank;
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
    part->n_threads = bank->data.reader ? 1 : (int)lw_max64(1, lw_min64(lw_proc_cores(), part->end - part->first));
    for (int i = 0; i < 2; i++)
        if (!(part->buffers[i] = lw_alloc_array(part->n_threads * lw_bank_values(bank), lw_scalar_bytes(bank->layout.type.scalar),
                                                "taps", err)))
            return LW_ESYSTEM;
    part->work = lw_alloc_array(part->n_threads * bank->series.work_doubles, sizeof *part->work, "filters", err);
    part->rows = lw_alloc_array(n * bank->series.n_columns, sizeof *part->rows, "filters", err);
    return part->work && part->rows ? LW_OK : LW_ESYSTEM;
}

/* Make filters at .. at + count, each by a thread, or take those that are made. @return  an error of one that failed */
static int fill(const struct part *part, int at, int count, void *taps, struct lw_error *err)
{
    const struct lw_bank *const bank = part->bank;
    const struct lw_bank_series *const series = &bank->series;
    const int64_t values = lw_bank_values(bank);
    int rc = LW_OK;
    #pragma omp parallel for num_threads(part->n_threads) schedule(static, 1)
    for (int i = 0; i < count; i++) {
        double *const work = part->work + omp_get_thread_num() * series->work_doubles;
        const double *const made = series->make ? work : lw_bank_filter(bank, at + i);
        struct lw_error own;
        double *const row = part->rows + (int64_t)(at + i) * series->n_columns;
        const int code = series->make ? series->make(series->context, at + i, work, row, &own) : LW_OK;
        if (code) {
            #pragma omp critical
            *err = own;
            #pragma omp atomic write
            rc = code;
        }
        for (int64_t v = 0; v < values; v++)
            if (bank->layout.type.scalar == LW_INT32)
                ((int32_t *)taps)[i * values + v] = (int32_t)made[v];
            else if (bank->layout.type.scalar == LW_FLOAT32)
                ((float *)taps)[i * values + v] = (float)made[v];
            else
                ((double *)taps)[i * values + v] = made[v];
    }
    return rc;
}

/* Set the dataset of filters [filter x tap], or kernels [kernel x row x column]; a single one lacks the first dimension. */
static void set_layout(struct lw_bank *bank, bool is_single)
{
    static const char *const names[2][3] = {{"filter", "tap"}, {"kernel", "kernel_row", "kernel_column"}};
    const bool is_kernel = bank->columns > 0;
    const int skipped = bank->n_filters > 1 ? 0 : 1;
    const int64_t dims[3] = {bank->n_filters, is_kernel ? bank->n_taps / bank->columns : bank->n_taps, bank->columns};
    bank->layout = (struct lw_writer_dataset){
        .path = is_kernel ? "/kernel" : "/taps", .n_dims = (is_kernel ? 3 : 2) - skipped,
        .type = {.scalar = is_single ? LW_FLOAT32 : LW_FLOAT64, .is_complex = bank->is_complex},
    };
    for (int d = 0; d < bank->layout.n_dims; d++) {
        bank->layout.dims[d] = dims[skipped + d];
        bank->layout.dim_names[d] = names[is_kernel][skipped + d];
    }
}

/* Write the filters in rounds: those of a round are written while those of the next are made. Then write and report the table of a
 * series. Collective: all ranks take part in as many rounds. */
static int write_filters(struct lw_comm *comm, struct part *part, struct lw_writer *writer, struct lw_error *err)
{
    const struct lw_bank *const bank = part->bank;
    const bool is_first = lw_comm_rank(comm) == 0;
    const bool is_one = bank->layout.dims[0] != bank->n_filters;        /* the only filter, without a dimension that counts it */
    struct lw_write writes[2] = {{0}};
    int rc = lw_comm_agree(comm, open_part(comm, part, err), err);
    const int64_t rounds = rc ? 0 : lw_comm_max(comm, lw_divide_up(part->end - part->first, part->n_threads));
    for (int64_t r = 0; r < rounds + 2 && rc == LW_OK; r++) {
        const int at = (int)lw_min64(part->end, part->first + r * part->n_threads);
        const int count = (int)lw_min64(part->n_threads, part->end - at);
        const int64_t first[LW_MAX_DIMS] = {is_one ? 0 : at};
        int64_t counts[LW_MAX_DIMS];
        memcpy(counts, bank->layout.dims, sizeof counts);
        counts[0] = is_one ? count * counts[0] : count;
        if ((rc = lw_comm_agree(comm, lw_writer_end(writer, &writes[r % 2], err), err)) ||
            (rc = lw_comm_agree(comm, fill(part, at, count, part->buffers[r % 2], err), err)))
            break;
        if (r < rounds)
            lw_writer_begin(writer, 0, first, counts, part->buffers[r % 2], &writes[r % 2]);
    }
    /* Writes may be under way if there was an error. */
    (void)lw_writer_end(writer, &writes[0], &(struct lw_error){0});
    (void)lw_writer_end(writer, &writes[1], &(struct lw_error){0});
    if (rc == LW_OK && bank->data.reader)
        rc = lw_comm_agree(comm, lw_reader_check_unchanged(bank->data.reader, err), err);
    if (rc || !bank->series.make)
        return rc;
    const int64_t n_rows = is_first ? bank->n_filters : 0;
    lw_comm_collect(comm, part->rows, (int64_t)bank->n_filters * bank->series.n_columns, 0);
    if (is_first)
        bank->series.report(bank, part->rows);
    return bank->series.n_columns == 0 ? LW_OK : lw_writer_write(writer, 1, &(int64_t){0}, &n_rows, part->rows, err);
}

static int write_file(struct lw_comm *comm, struct lw_bank *bank, const struct lw_options *given, const char *command_line,
                      struct lw_pool *pool, struct lw_error *err)
{
    struct part part = {.bank = bank};
    struct lw_bank_attributes notes = {0};      /* rank 0's count */
    LW_FREED char *configuration = NULL;
    struct lw_writer *writer = NULL;
    int rc = LW_OK;
    if (lw_comm_rank(comm) == 0 && (!(configuration = lw_options_resolved(given, "", err)) || lw_bank_describe(bank, &notes, err)))
        rc = LW_ESYSTEM;
    struct lw_writer_dataset datasets[2] = {bank->layout, {
        .path = "/templates", .n_dims = 1, .dims = {bank->n_filters}, .dim_names = {"filter"},
        .columns = bank->series.columns, .n_columns = bank->series.n_columns,
    }};
    datasets[0].attributes = notes.list;
    datasets[0].n_attributes = notes.count;
    char now[LW_INSTANT_TEXT];
    const struct lw_attribute root[] = {
        {.name = "title", .kind = LW_ATTRIBUTE_TEXT,
         .text = bank->columns > 0                         ? "kernels for lapwing conv2d"
                 : bank->layout.type.scalar == LW_INT32 ? "delays for lapwing ols --beams"
                                                        : "filters for lapwing ols"},
        {.name = "program", .kind = LW_ATTRIBUTE_TEXT, .text = "lapwing"},
        {.name = "version", .kind = LW_ATTRIBUTE_TEXT, .text = LW_VERSION},
        {.name = "commit", .kind = LW_ATTRIBUTE_TEXT, .text = LW_COMMIT},
        {.name = "command_line", .kind = LW_ATTRIBUTE_TEXT, .text = command_line},
        {.name = "configuration", .kind = LW_ATTRIBUTE_TEXT, .text = configuration},
        {.name = "hdf5", .kind = LW_ATTRIBUTE_TEXT, .text = lw_hdf5_text()},
        {.name = "host", .kind = LW_ATTRIBUTE_TEXT, .text = lw_comm_host(comm)},
        {.name = "made_utc", .kind = LW_ATTRIBUTE_TEXT, .text = lw_instant_now(now)},
    };
    const struct lw_writer_spec spec = {
        .file = lw_options_text(given, "output"), .overwrite = lw_options_flag(given, "overwrite"),
        .attributes = root, .n_attributes = sizeof root / sizeof *root,
        .datasets = datasets, .n_datasets = bank->series.n_columns > 0 ? 2 : 1, .pool = pool,
    };
    (void)((rc = lw_comm_agree(comm, rc, err)) || (rc = lw_writer_create(comm, &spec, &writer, err)) ||
           (rc = write_filters(comm, &part, writer, err)) || (rc = lw_writer_finish(writer, NULL, 0, err)));
    lw_writer_destroy(writer);
    lw_free(part.buffers[0]);
    lw_free(part.buffers[1]);
    lw_free(part.work);
    lw_free(part.rows);
    return rc;
}

/* Describe the data, which the file must not replace, and choose their channels. Collective. */
static int open_data(struct lw_comm *comm, const struct lw_options *given, const char *kind, struct lw_for *data,
                     struct lw_error *err)
{
    struct lw_reader_request request = {.names = lw_options_text(given, "for"), .least_dims = 1, .most_dims = 2,
                                        .join = lw_options_given(given, "axis") ? lw_options_choice(given, "axis") : LW_JOIN_TIME};
    int rc;
    if ((rc = lw_hints_take(given, &request.hints, err)) || (rc = lw_reader_describe(comm, &request, &data->reader, err)))
        return rc;
    data->info = *lw_reader_info(data->reader);
    if (lw_reader_has_file(data->reader, lw_options_text(given, "output")))
        return lw_fail(err, LW_EUSAGE, "--output %.600s is a file of --for: name another one", lw_options_text(given, "output"));
    if ((rc = lw_job_choose_axis(given, kind, &data->info, &data->axis, err)))
        return rc;
    data->channel_dim = data->info.n_dims == 2 ? 1 - data->axis : -1;
    data->places = data->channel_dim >= 0 ? &data->info.coordinates[data->channel_dim] : NULL;
    return lw_job_choose_channels(given, &data->info, data->channel_dim, &data->channels, err);
}

/* Make the bank on rank 0, or plan a series on all ranks. Collective. */
static int make(struct lw_comm *comm, const struct lw_options *given, struct lw_bank *bank, struct lw_error *err)
{
    if (lw_option_find(bank->kind->options, "for")) {
        const int failed = lw_comm_agree(comm, open_data(comm, given, bank->kind->name, &bank->data, err), err);
        return failed ? failed : lw_comm_agree(comm, bank->kind->plan(given, comm, bank, err), err);
    }
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
    int rc = make(comm, given, &bank, err);
    const bool is_usual = rc == LW_OK && !bank.layout.path, is_single = is_usual && lw_options_choice(given, "type") == 1;
    if (is_usual)
        set_layout(&bank, is_single);
    (void)(rc || (rc = lw_comm_agree(comm, lw_pool_create(N_WRITERS, &pool, err), err)) ||
           (rc = write_file(comm, &bank, given, command_line, pool, err)));
    if (rc == LW_OK && lw_comm_rank(comm) == 0) {
        if (!bank.series.make)
            lw_bank_report(&bank, is_single);
        const bool is_kernel = bank.columns > 0, is_int = bank.layout.type.scalar == LW_INT32;
        lw_log_info("Next: lapwing %s --input %s --%s %s:%s%s --output filtered.h5", is_kernel ? "conv2d" : "ols",
                    bank.data.reader ? lw_options_text(given, "for") : "FILE:/dataset",
                    is_kernel ? "kernel" : is_int ? "beams" : "filters", lw_options_text(given, "output"), bank.layout.path,
                    !bank.data.reader ? "" : is_int ? " --boxcar 1,2,4" : " --correlate");
    }
    lw_pool_destroy(pool);
    lw_bank_release(&bank);
    return rc;
}
