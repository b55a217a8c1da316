/* test_collect.c - tests that each rank of a sparse run gets the samples it needs, against the formula that made the file. The
 * gaps range from "reads are free" to "bandwidth is free", the I/O threads from none to many. Files are contiguous and chunked;
 * runs read all channels at a time or some, or all samples of a channel. A file that was cut off fails on all ranks. */
#include "../check.h"
#include "base/memory.h"
#include "cli/commands.h"
#include "sfft/number.h"
#include "sparse/state.h"

#include <hdf5.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 1 << 17, N_CHANNELS = 3, SPARSITY = 4, FIRST = 1000, N_VIEW = N - 2 * FIRST };

/* One part of a sample; some parts are not finite. */
static double number_of(int64_t channel, int64_t sample, int part)
{
    const uint64_t bits = lw_random_bits(77, (uint64_t)((channel * N + sample) * 2 + part));
    return bits % 100 == 0 ? NAN : (double)(int16_t)(bits >> 40);
}

/* ---- the file ------------------------------------------------------------------------------------------------------- */

static void write_dataset(hid_t file, const char *path, bool slow, bool packed, hid_t type, const void *data)
{
    const hsize_t dims[2] = {slow ? N : N_CHANNELS, slow ? N_CHANNELS : N}, chunk[2] = {2, 5000};
    const hid_t space = H5Screate_simple(2, dims, NULL), how = H5Pcreate(H5P_DATASET_CREATE);
    if (packed) {
        H5Pset_chunk(how, 2, chunk);
        H5Pset_deflate(how, 1);
    }
    const hid_t dataset = H5Dcreate2(file, path, type, space, H5P_DEFAULT, how, H5P_DEFAULT);
    CHECK(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0, "cannot write %s", path);
    H5Dclose(dataset);
    H5Pclose(how);
    H5Sclose(space);
}

/* Datasets: /fast and /packed are complex float64 [channel][time]; /slow is complex float32 [time][channel]. */
static void make_input(const char *name)
{
    const hid_t wide = H5Tcreate(H5T_COMPOUND, 16), narrow = H5Tcreate(H5T_COMPOUND, 8);
    const hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    double *const fast = malloc((size_t)N * N_CHANNELS * 2 * sizeof *fast);
    float *const slow = malloc((size_t)N * N_CHANNELS * 2 * sizeof *slow);
    for (int64_t c = 0; c < N_CHANNELS; c++)
        for (int64_t i = 0; i < N; i++)
            for (int part = 0; part < 2; part++) {
                fast[(c * N + i) * 2 + part] = number_of(c, i, part);
                slow[(i * N_CHANNELS + c) * 2 + part] = (float)number_of(c, i, part);
            }
    H5Tinsert(wide, "r", 0, H5T_NATIVE_DOUBLE);
    H5Tinsert(wide, "i", 8, H5T_NATIVE_DOUBLE);
    H5Tinsert(narrow, "r", 0, H5T_NATIVE_FLOAT);
    H5Tinsert(narrow, "i", 4, H5T_NATIVE_FLOAT);
    write_dataset(file, "/fast", false, false, wide, fast);
    write_dataset(file, "/packed", false, true, wide, fast);
    write_dataset(file, "/slow", true, false, narrow, slow);
    free(fast);
    free(slow);
    H5Tclose(wide);
    H5Tclose(narrow);
    H5Fclose(file);
}

/* ---- a run as far as collecting ------------------------------------------------------------------------------------- */

struct way {
    const char *dataset, *axis, *channels, *io, *threads;
    bool is_raw;                /* whether the run is expected to read raw bytes */
    int first_channel, n_channels, step;
};

/* Gaps to try: a read over this many bytes takes as long as one more read. */
static const double gaps[] = {0, 1, 100, 4096, 1e5, 1e30};

static void set(struct lw_options *options, const char *name, const char *text)
{
    struct lw_error err;
    CHECK(lw_options_set(options, name, text, name, &err) == LW_OK, "%s", err.message);
}

static struct lw_options *make_options(const char *file, const struct way *way)
{
    static const struct lw_option *tables[4];
    struct lw_options *options = NULL;
    char input[300];
    tables[0] = lw_job_sfft.options;
    tables[1] = lw_common_options;
    tables[2] = lw_message_options;
    snprintf(input, sizeof input, "%s:%s", file, way->dataset);
    CHECK(lw_options_create(tables, &options, NULL) == LW_OK, "the options cannot be created");
    set(options, "input", input);
    set(options, "axis", way->axis);
    set(options, "channels", way->channels);
    set(options, "start", "1000");
    set(options, "count", "129072");
    set(options, "sparsity", "4");
    set(options, "engine", "cpu");
    set(options, "nan", "zero");
    set(options, "io", way->io);
    setenv("LAPWING_IO_THREADS", way->threads, 1);
    return options;
}

static void open_run(struct lw_sparse *run, struct lw_comm *comm, const struct lw_options *options, const struct way *way)
{
    static const char *const stages[LW_REPORT_STAGES] = {"read"};
    struct lw_error err;
    *run = (struct lw_sparse){.rank = lw_comm_rank(comm), .n_ranks = lw_comm_size(comm)};
    CHECK(lw_setup_open(comm, &lw_job_sfft, options, NULL, &run->setup, &err) == LW_OK && lw_sparse_locate(run, &err) == LW_OK &&
              lw_report_open(&run->report, comm, stages, &err) == LW_OK, "%s", err.message);
    CHECK(run->is_raw == way->is_raw, "%s %s: read from its place: %d", way->dataset, way->io, run->is_raw);
    run->request = *(const struct lw_sfft_request *)run->setup.job.request;
    lw_sparse_deal(run, 1);
    run->plan = lw_sfft_plan_make(&run->request.spec);
    CHECK(run->request.spec.n == N_VIEW && run->n_channels == way->n_channels && run->plan.n_attempts > 0,
          "the run has another view than the options");
}

/* Limit reads to `block` samples of `group` channels. */
static void size_reads(struct lw_sparse *run, int64_t group, int64_t block)
{
    struct lw_view_spec view = run->setup.job.view;
    struct lw_error err;
    const int64_t width = run->is_raw ? run->place.axis_bytes : 16 * group;
    run->group = group;
    run->block = block;
    run->n_buffers = run->is_raw ? lw_pool_threads(run->setup.pool) : 2;
    run->buffer_bytes = block * width + 16 * N_CHANNELS;
    lw_free(run->buffers);
    run->buffers = lw_alloc_array(run->n_buffers, (size_t)run->buffer_bytes, "samples", &err);
    view.max_axis = run->is_raw ? 1 : block;
    view.max_channels = run->is_raw ? 1 : group;
    CHECK(run->buffers && lw_reader_select(run->setup.reader, &view, &err) == LW_OK, "%s", err.message);
}

static void close_run(struct lw_sparse *run)
{
    lw_free(run->buffers);
    lw_free(run->whole);
    lw_report_close(&run->report);
    lw_setup_close(&run->setup);
}

/* ---- checks --------------------------------------------------------------------------------------------------------- */

static bool is_same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

static void check_values(const struct lw_sparse *run, const struct way *way, const struct lw_sfft_layout *layout, int n_attempts,
                         int64_t channel, const double *values)
{
    int64_t place = 0, wrong = 0;
    for (int s = 0; s < lw_sfft_first_stage(layout, n_attempts); s++) {
        const struct lw_sfft_stage *const stage = &layout->stages[s];
        for (int d = 0; d < stage->spec.n_shifts; d++)
            for (int64_t i = 0; i < 2 * stage->window->half + 1; i++, place++)
                for (int part = 0; part < 2; part++)
                    wrong += !is_same(values[2 * place + part], number_of(way->first_channel + way->step * channel,
                                                                          FIRST + lw_sfft_stage_sample(stage, d, i), part));
    }
    CHECK(wrong == 0, "%s %s %s threads, gap %" PRId64 ", rank %d of %d: %" PRId64 " of %" PRId64 " samples are wrong",
          way->dataset, way->io, way->threads, lw_sparse_gap(run), run->rank, run->n_ranks, wrong, place);
}

static void check_collect(struct lw_sparse *run, const struct way *way, const struct lw_sfft_layout *layout, int n_attempts)
{
    struct lw_sfft_samples samples;
    struct lw_error err;
    CHECK(lw_sparse_list(run, layout, n_attempts, &samples, &err) == LW_OK, "%s", err.message);
    double *const values = malloc((size_t)(run->group * samples.total) * 2 * sizeof *values);
    for (int64_t c = 0; c < run->n_channels; c += run->group) {
        const int64_t n_channels = run->n_channels - c < run->group ? run->n_channels - c : run->group;
        memset(values, 0xff, (size_t)(run->group * samples.total) * 2 * sizeof *values);
        CHECK(lw_sparse_collect(run, &samples, c, n_channels, values, &err) == LW_OK, "%s", err.message);
        for (int64_t k = 0; k < n_channels; k++)
            if (lw_sparse_owner(run, c + k) == run->rank)
                check_values(run, way, layout, n_attempts, c + k, values + 2 * k * samples.total);
    }
    free(values);
    lw_sfft_samples_release(&samples);
}

static void check_whole(struct lw_sparse *run, const struct way *way)
{
    struct lw_error err;
    const int64_t channel = run->rank < run->n_channels ? run->rank : -1;
    int64_t wrong = 0, flaws = 0;
    run->flaws.n_not_finite = 0;
    run->whole = run->whole ? run->whole : malloc((size_t)N_VIEW * 2 * sizeof *run->whole);
    CHECK(lw_sparse_collect_whole(run, channel, &err) == LW_OK, "%s", err.message);
    for (int64_t i = 0; channel >= 0 && i < N_VIEW; i++) {
        const int64_t c = way->first_channel + way->step * channel;
        const double re = number_of(c, FIRST + i, 0), im = number_of(c, FIRST + i, 1);
        const bool is_flaw = isnan(re) || isnan(im);
        flaws += is_flaw;
        wrong += run->whole[2 * i] != (is_flaw ? 0 : re) || run->whole[2 * i + 1] != (is_flaw ? 0 : im);
    }
    CHECK(wrong == 0, "%s %s: %" PRId64 " of all samples are wrong", way->dataset, way->io, wrong);
    CHECK(flaws == run->flaws.n_not_finite, "%s %s: %" PRId64 " are not finite, not %" PRId64, way->dataset, way->io,
          run->flaws.n_not_finite, flaws);
}

static void check_way(struct lw_comm *comm, const char *file, const struct way *way)
{
    struct lw_options *const options = make_options(file, way);
    struct lw_sfft_layout *layout = NULL;
    struct lw_sparse run;
    open_run(&run, comm, options, way);
    CHECK(lw_sfft_layout_create(&run.plan, &layout, NULL) == LW_OK, "the layout cannot be created");
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++) {
        if (!way->is_raw && gaps[g] < 1e5)      /* one call for each sample takes long */
            continue;
        run.pace = (struct lw_bytes_pace){.bytes_per_s = fmax(gaps[g], 1e-30), .reads_per_s = 1, .is_ahead = g % 2};
        size_reads(&run, g % 2 ? 1 : run.n_channels, g % 3 == 2 ? 100 : 10000);
        check_collect(&run, way, layout, 1 + (int)g % run.plan.n_attempts);
        if (g == 0 || gaps[g] == 1e5)
            check_whole(&run, way);
    }
    lw_sfft_layout_destroy(layout);
    close_run(&run);
    lw_options_destroy(options);
}

/* HDF5 reads zeros beyond the end of the cut file. The check after the last read finds that the file has changed. */
static void check_cut_off(struct lw_comm *comm, const char *file, const struct way *way)
{
    struct lw_options *const options = make_options(file, way);
    struct lw_sfft_layout *layout = NULL;
    struct lw_sfft_samples samples;
    struct lw_sparse run;
    struct lw_error err = {.code = LW_OK};
    open_run(&run, comm, options, way);
    run.pace = lw_bytes_assumed_pace;
    size_reads(&run, 1, 1000);
    CHECK(lw_sfft_layout_create(&run.plan, &layout, NULL) == LW_OK && lw_sparse_list(&run, layout, 1, &samples, &err) == LW_OK,
          "the list of samples cannot be made");
    double *const values = malloc((size_t)samples.total * 2 * sizeof *values);
    lw_comm_barrier(comm);
    if (run.rank == 0)          /* only the last part of channel 0 is cut off: other ranks report nothing */
        CHECK(truncate(file, run.place.offset + (int64_t)(N_VIEW - 2000) * run.place.axis_bytes) == 0, "cannot cut %s", file);
    lw_comm_barrier(comm);
    CHECK(lw_sparse_collect(&run, &samples, 0, 1, values, &err) == LW_EIO, "code %d", err.code);
    CHECK(strstr(err.message, "cannot read samples") && strstr(err.message, file) && strstr(err.message, "the file ends at byte"),
          "'%s'", err.message);
    free(values);
    lw_sfft_samples_release(&samples);
    lw_sfft_layout_destroy(layout);
    close_run(&run);
    lw_options_destroy(options);
}

int main(int argc, char **argv)
{
    struct lw_comm *const comm = lw_comm_start(&argc, &argv);
    static const struct way ways[] = {
        {"/fast", "1", "0:3", "direct", "1", true, 0, 3, 1},     {"/fast", "1", "0:3:2", "direct", "16", true, 0, 2, 2},
        {"/fast", "1", "0:3", "collective", "4", false, 0, 3, 1}, {"/packed", "1", "0:3", "direct", "3", false, 0, 3, 1},
        {"/slow", "0", "0:3", "direct", "3", true, 0, 3, 1},     {"/slow", "0", "1:3", "direct", "16", true, 1, 2, 1},
        {"/slow", "0", "0:3:2", "auto", "2", true, 0, 2, 2},     {"/slow", "0", "0:3", "collective", "1", false, 0, 3, 1},
    };
    char file[256];
    snprintf(file, sizeof file, "%s/collect-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    lw_log_start(lw_comm_rank(comm), lw_comm_host(comm), LW_LOG_QUIET);
    if (lw_comm_rank(comm) == 0) {
        close(mkstemp(file));
        make_input(file);
    }
    lw_comm_broadcast(comm, file, sizeof file);
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
        check_way(comm, file, &ways[w]);
    check_cut_off(comm, file, &ways[0]);
    if (lw_comm_rank(comm) == 0)
        unlink(file);
    check_failed = (int)lw_comm_sum(comm, check_failed);
    const int result = check_result("collect");
    lw_comm_stop(comm);
    return result;
}
