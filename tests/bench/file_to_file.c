/* file_to_file.c - how well reading, computing and writing overlap: a whole run of a job, from file to file, beside its parts
 * alone, in one process and one run.
 *
 *     mpirun -np P bench_file_to_file INPUT FILTERS OUTPUT_FOLDER [options of lapwing ols]
 *
 *   read, write   the same bytes in the same slices by plain collective HDF5 calls, without anything else
 *   compute       the same blocks through the engine, from and to memory
 *   run           lapwing ols from INPUT to a file in OUTPUT_FOLDER
 *
 * Printed: the median of each over several repetitions, taken in turn; (read + write + compute) / run: 100 % is a run that
 * hides nothing and loses nothing, more is overlap; and max(read + write, compute) / run, what is reached of all the overlap
 * there can be: files are read and written by one thread, and computing on a GPU includes the copies to it and back. Give a
 * folder on a RAM disk to leave the disk out, and set OMP_WAIT_POLICY=passive, as lapwing does for itself. */
#include "base/log.h"
#include "base/memory.h"
#include "cli/commands.h"
#include "comm/raw.h"
#include "io/shield.h"
#include "run/loop.h"
#include "run/pipeline.h"
#include "run/sink.h"

#include <hdf5.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REPETITIONS = 5 };
enum part { READ, WRITE, COMPUTE, RUN, N_PARTS };

struct bench {
    struct lw_comm *comm;
    struct lw_options *options;
    struct lw_setup setup;
    struct lw_plan plan;
    char output[LW_MAX_PATH];
    char plain[LW_MAX_PATH];
    char *buffers;              /* as many as there are slots, used in turn: one alone would stay in the processor's cache */
    int64_t buffer_bytes;       /* a slot's input or output, whichever is longer */
};

static void stop(struct bench *b, const struct lw_error *err)
{
    lw_comm_abort(b->comm, err);
}

/* ---- plain HDF5 ---------------------------------------------------------------------------------------------------- */

static hid_t collective_file_access(const struct bench *b)
{
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, lw_comm_mpi(b->comm), MPI_INFO_NULL);
    return access;
}

static char *buffer_of(const struct bench *b, int64_t round)
{
    return b->buffers + round % b->plan.depth * b->buffer_bytes;
}

/* Move the slab [first, first + count) of a dataset, collectively. */
static void transfer(hid_t dataset, int n_dims, const int64_t *first, const int64_t *count, char *buffer, bool is_write)
{
    hsize_t start[LW_MAX_DIMS], length[LW_MAX_DIMS];
    bool is_empty = false;
    for (int d = 0; d < n_dims; d++) {
        start[d] = (hsize_t)first[d];
        length[d] = (hsize_t)count[d];
        is_empty = is_empty || count[d] == 0;
    }
    const hid_t file_space = H5Dget_space(dataset), memory_space = H5Screate_simple(n_dims, length, NULL);
    const hid_t how = H5Pcreate(H5P_DATASET_XFER), type = H5Dget_type(dataset);
    H5Pset_dxpl_mpio(how, H5FD_MPIO_COLLECTIVE);
    if (is_empty) {
        H5Sselect_none(file_space);
        H5Sselect_none(memory_space);
    } else
        H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, length, NULL);
    if (is_write)
        H5Dwrite(dataset, type, memory_space, file_space, how, buffer);
    else
        H5Dread(dataset, type, memory_space, file_space, how, buffer);
    H5Tclose(type);
    H5Pclose(how);
    H5Sclose(memory_space);
    H5Sclose(file_space);
}

static double plain_read(struct bench *b)
{
    const struct lw_job *const job = &b->setup.job;
    const struct lw_rounds *const rounds = &b->plan.rounds;
    const double start = lw_now();
    const hid_t access = collective_file_access(b);
    const hid_t file = H5Fopen(job->inputs[0].file, H5F_ACC_RDONLY, access);
    const hid_t dataset = H5Dopen2(file, job->inputs[0].path, H5P_DEFAULT);
    for (int64_t round = 0; round < rounds->n_rounds; round++) {
        const struct lw_block block = lw_rounds_block(rounds, round, lw_comm_rank(b->comm));
        int64_t first[LW_MAX_DIMS] = {0}, count[LW_MAX_DIMS] = {1, 1, 1, 1};
        const int axis = job->view.axis;
        first[axis] = block.first;
        count[axis] = block.first + block.count <= job->n_samples ? block.count : 0;
        if (job->inputs[0].n_dims == 2) {
            first[1 - axis] = block.channel;
            count[1 - axis] = block.n_channels;
        }
        transfer(dataset, job->inputs[0].n_dims, first, count, buffer_of(b, round), false);
    }
    H5Dclose(dataset);
    H5Fclose(file);
    H5Pclose(access);
    lw_comm_barrier(b->comm);
    return lw_now() - start;
}

static double plain_write(struct bench *b)
{
    const struct lw_job *const job = &b->setup.job;
    const struct lw_rounds *const rounds = &b->plan.rounds;
    if (lw_comm_rank(b->comm) == 0)
        unlink(b->plain);
    lw_comm_barrier(b->comm);
    const double start = lw_now();
    const hid_t access = collective_file_access(b);
    const hid_t file = H5Fcreate(b->plain, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    hsize_t dims[LW_MAX_DIMS];
    for (int d = 0; d < job->products[0].dataset.n_dims; d++)
        dims[d] = (hsize_t)job->products[0].dataset.dims[d];
    const hid_t space = H5Screate_simple(job->products[0].dataset.n_dims, dims, NULL), how = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_fill_time(how, H5D_FILL_TIME_NEVER);
    const hid_t type = job->products[0].dataset.type.scalar == LW_FLOAT64 ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT;
    const hid_t dataset = H5Dcreate2(file, "/plain", type, space, H5P_DEFAULT, how, H5P_DEFAULT);
    for (int64_t round = 0; round < rounds->n_rounds; round++) {
        const struct lw_block block = lw_rounds_block(rounds, round, lw_comm_rank(b->comm));
        int64_t first[LW_MAX_DIMS], count[LW_MAX_DIMS];
        lw_sink_place(job, &b->plan.op, 0, &block, first, count);
        transfer(dataset, job->products[0].dataset.n_dims, first, count, buffer_of(b, round), true);
    }
    H5Dclose(dataset);
    H5Pclose(how);
    H5Sclose(space);
    H5Fclose(file);
    H5Pclose(access);
    lw_comm_barrier(b->comm);
    return lw_now() - start;
}

/* ---- the engine ---------------------------------------------------------------------------------------------------- */

/* Samples of every slot: random, so that no arithmetic is easy. */
static void fill(const struct bench *b, struct lw_slot *slot)
{
    const struct lw_plan *const plan = &b->plan;
    const struct lw_type type = b->setup.job.op.input;
    const int64_t n = (plan->op.halo + plan->rounds.slice) * plan->rounds.group * (type.is_complex ? 2 : 1);
    uint32_t state = 1;
    for (int64_t i = 0; i < n; i++) {
        state = state * 1664525 + 1013904223;
        const double value = (double)state / 4294967296.0 - 0.5;
        if (type.scalar == LW_FLOAT32)
            ((float *)slot->input)[i] = (float)value;
        else if (type.scalar == LW_FLOAT64)
            ((double *)slot->input)[i] = value;
        else
            memset((char *)slot->input + (size_t)i * lw_scalar_bytes(type.scalar), (int)(state >> 24),
                   lw_scalar_bytes(type.scalar));
    }
}

static void collect(struct bench *b, struct lw_pipeline *pipeline)
{
    struct lw_error err;
    struct lw_slot *slot;
    if (lw_pipeline_collect(pipeline, &slot, &err))
        stop(b, &err);
    lw_pipeline_release(pipeline, slot);
}

static double compute(struct bench *b)
{
    const struct lw_plan *const plan = &b->plan;
    struct lw_error err;
    struct lw_pipeline *pipeline;
    if (lw_pipeline_create(b->setup.engine, &b->setup.job.op, &plan->op, plan->rounds.slice, plan->rounds.group,
                           plan->depth, &pipeline, &err))
        stop(b, &err);
    for (int i = 0; i < plan->depth; i++) {
        struct lw_slot *const slot = lw_pipeline_acquire(pipeline);
        fill(b, slot);
        lw_pipeline_release(pipeline, slot);
    }
    lw_comm_barrier(b->comm);
    const double start = lw_now();
    for (int64_t round = 0; round < plan->rounds.n_rounds; round++) {
        if (lw_pipeline_is_full(pipeline))
            collect(b, pipeline);
        const struct lw_block block = lw_rounds_block(&plan->rounds, round, lw_comm_rank(b->comm));
        if (lw_pipeline_submit(pipeline, lw_pipeline_acquire(pipeline), &block, &err))
            stop(b, &err);
    }
    while (lw_pipeline_submitted(pipeline) > 0)
        collect(b, pipeline);
    lw_comm_barrier(b->comm);
    const double seconds = lw_now() - start;
    lw_pipeline_destroy(pipeline);
    return seconds;
}

static double whole_run(struct bench *b)
{
    if (lw_comm_rank(b->comm) == 0)
        unlink(b->output);
    lw_comm_barrier(b->comm);
    struct lw_error err;
    const double start = lw_now();
    if (lw_stream_run(b->comm, b->setup.job.ops, b->options, "bench_file_to_file", &err))
        stop(b, &err);
    lw_comm_barrier(b->comm);
    return lw_now() - start;
}

/* ---- the comparison ------------------------------------------------------------------------------------------------ */

static void prepare(struct bench *b, int argc, char **argv)
{
    struct lw_error err;
    const struct lw_option *const tables[] = {lw_job_ols.options, lw_common_options, lw_message_options, NULL};
    snprintf(b->output, sizeof b->output, "%s/bench-run.h5", argv[3]);
    snprintf(b->plain, sizeof b->plain, "%s/bench-plain.h5", argv[3]);
    int used;
    if (lw_options_create(tables, &b->options, &err) ||
        lw_options_set(b->options, "input", argv[1], "INPUT", &err) ||
        lw_options_set(b->options, "filters", argv[2], "FILTERS", &err) ||
        lw_options_set(b->options, "output", b->output, "OUTPUT_FOLDER", &err) ||
        lw_options_parse(b->options, argc - 4, argv + 4, &used, &err) ||
        lw_setup_open(b->comm, &lw_job_ols, b->options, &b->setup, &err) ||
        lw_plan_make_for(&b->setup, &b->plan, &err))
        stop(b, &err);
    const struct lw_plan *const plan = &b->plan;
    const int64_t samples = plan->rounds.slice * plan->rounds.group;
    const int64_t in = samples * (int64_t)lw_type_bytes(b->setup.job.op.input);
    const int64_t out = samples * plan->op.products[0].n_planes * (int64_t)lw_type_bytes(b->setup.job.op.output);
    b->buffer_bytes = in > out ? in : out;
    if (!(b->buffers = lw_alloc_array(plan->depth, (size_t)b->buffer_bytes, "the benchmark's buffers", &err)))
        stop(b, &err);
}

static int compare(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static void report_ratio(const char *name, double ratios[REPETITIONS])
{
    qsort(ratios, REPETITIONS, sizeof(double), compare);
    printf("%s: %.0f %%   (%.0f .. %.0f)\n", name, 100 * ratios[REPETITIONS / 2], 100 * ratios[0],
           100 * ratios[REPETITIONS - 1]);
}

static void report(double seconds[N_PARTS][REPETITIONS])
{
    static const char *const names[N_PARTS] = {"read", "write", "compute", "run"};
    double sums[REPETITIONS], longest[REPETITIONS];
    for (int i = 0; i < REPETITIONS; i++) {
        const double files = seconds[READ][i] + seconds[WRITE][i], compute = seconds[COMPUTE][i], run = seconds[RUN][i];
        sums[i] = (files + compute) / run;
        longest[i] = (files > compute ? files : compute) / run;
    }
    for (int part = 0; part < N_PARTS; part++) {
        qsort(seconds[part], REPETITIONS, sizeof(double), compare);
        printf("%-8s %8.3f s   (%.3f .. %.3f)\n", names[part], seconds[part][REPETITIONS / 2], seconds[part][0],
               seconds[part][REPETITIONS - 1]);
    }
    report_ratio("(read + write + compute) / run", sums);
    report_ratio("max(read + write, compute) / run", longest);
}

int main(int argc, char **argv)
{
    struct lw_error err;
    if (lw_shield_start(&err)) {
        fprintf(stderr, "%s\n", err.message);
        return err.code;
    }
    struct bench b = {.comm = lw_comm_start(&argc, &argv)};
    const int rank = lw_comm_rank(b.comm);
    if (argc < 4) {
        if (rank == 0)
            fprintf(stderr, "usage: bench_file_to_file INPUT FILTERS OUTPUT_FOLDER [options of lapwing ols]\n");
        lw_comm_stop(b.comm);
        return LW_EUSAGE;
    }
    lw_log_start(rank, lw_comm_host(b.comm), LW_LOG_QUIET);
    prepare(&b, argc, argv);
    double seconds[N_PARTS][REPETITIONS];
    for (int i = 0; i < REPETITIONS; i++) {
        seconds[READ][i] = plain_read(&b);
        seconds[WRITE][i] = plain_write(&b);
        seconds[COMPUTE][i] = compute(&b);
        seconds[RUN][i] = whole_run(&b);
    }
    if (rank == 0) {
        printf("%s; %d ranks\n", b.plan.op.text, lw_comm_size(b.comm));
        report(seconds);
        unlink(b.output);
        unlink(b.plain);
    }
    lw_setup_close(&b.setup);
    lw_options_destroy(b.options);
    lw_free(b.buffers);
    lw_comm_stop(b.comm);
    lw_shield_stop();
    return 0;
}
