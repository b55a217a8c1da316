/* file_to_file.c - benchmark of a whole run, from file to file, beside the slowest of its parts alone: reading at the storage's
 * best rate, the engine with its copies, writing at the storage's best rate.
 *
 *   mpirun -np P bench_file_to_file OUTPUT_FOLDER JOB [options of the job, without --output]
 *
 *   read, write   the run's bytes at the best rate that the storages of input and output allow to 1 .. 16 threads of one process
 *                 (storage_rates.h): from the page cache if --cached is the first argument or files are in memory, else the disk
 *   engine        the same blocks through the engine, from and to memory, copies to a device and back included
 *   run           the same from file to file, from the first read until the result has its name; the start is not counted
 *
 * The program prints the median of each over several repetitions, taken in turn; how long each part was busy in the run; and the
 * time of the slowest part alone as a percentage of the run. 100 % is a run that hides everything but its slowest part and loses
 * nothing. If files are in memory, the same processors read and write them, and each part alone uses all processors. No such run
 * is faster than reading and writing one after the other, which has a percentage of its own. */
#include "base/log.h"
#include "base/memory.h"
#include "cli/commands.h"
#include "io/shield.h"
#include "setup/result.h"
#include "storage_rates.h"
#include "stream/loop.h"
#include "stream/pipeline.h"

#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REPETITIONS = 5, MOST_THREADS = 16 };
enum part { READ, ENGINE, WRITE, RUN, N_PARTS };

struct bench {
    struct lw_comm *comm;
    struct lw_options *options;
    struct lw_setup setup;
    struct lw_plan plan;
    const char *folder;
    char output[LW_MAX_PATH];
    bool is_cached;
    bool is_in_memory;          /* whether input and output are in the page cache or on a RAM disk */
    struct storage_best read, write;
    double seconds[N_PARTS][REPETITIONS], busy[N_PARTS][REPETITIONS];
};

static void stop(struct bench *b, const struct lw_error *err)
{
    lw_comm_abort(b->comm, err);
}

/* ---- the storage --------------------------------------------------------------------------------------------------- */

static void measure_folder(struct bench *b, const char *folder, bool is_write, struct storage_best *best)
{
    struct lw_error err;
    struct storage_bench storage;
    if (storage_bench_open(folder, (int64_t)4 << 30, 1.0, MOST_THREADS, &storage, &err))
        stop(b, &err);
    const bool is_disk = !b->is_cached && !storage.storage.is_memory;
    b->is_in_memory &= !is_disk;
    if ((is_write ? storage_best_write : storage_best_read)(&storage, is_disk, MOST_THREADS, best, &err))
        stop(b, &err);
    storage_bench_close(&storage);
}

/* Rank 0 measures while the other ranks wait. */
static void measure_storage(struct bench *b)
{
    char input[LW_MAX_PATH];
    snprintf(input, sizeof input, "%s", b->setup.job.inputs[0].file);
    if (lw_comm_rank(b->comm) == 0) {
        b->is_in_memory = true;
        measure_folder(b, dirname(input), false, &b->read);
        measure_folder(b, b->folder, true, &b->write);
    }
    lw_comm_barrier(b->comm);
}

/* ---- the engine ---------------------------------------------------------------------------------------------------- */

/* Fill every slot with random samples, so that no arithmetic is faster than usual. */
static void fill(const struct bench *b, struct lw_slot *slot)
{
    const struct lw_plan *const plan = &b->plan;
    const struct lw_type type = b->setup.job.op.input;
    const int64_t n = (plan->op.halo + plan->rounds.slice) * plan->rounds.group * plan->op.input_width * (type.is_complex ? 2 : 1);
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

static double run_engine(struct bench *b)
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

/* ---- the run ------------------------------------------------------------------------------------------------------- */

static double run_whole(struct bench *b, int repetition)
{
    static const char *const stages[LW_REPORT_STAGES] = {"read", "halo", "compute", "write"};
    struct lw_error err;
    struct lw_result result;
    struct lw_report report;
    struct lw_loop *loop;
    if (lw_comm_rank(b->comm) == 0)
        unlink(b->output);
    lw_comm_barrier(b->comm);
    if (lw_report_open(&report, b->comm, stages, &err) || lw_result_begin(&b->setup, "bench_file_to_file", &result, &err) ||
        lw_result_create(&result, NULL, &err))
        stop(b, &err);
    const struct lw_loop_spec spec = {.setup = &b->setup, .plan = &b->plan, .writer = result.writer, .report = &report};
    if (lw_loop_create(&spec, &loop, &err))
        stop(b, &err);
    lw_comm_barrier(b->comm);
    const double start = lw_now();
    struct lw_flaws flaws;
    if (lw_loop_run(loop, 0, b->plan.rounds.n_rounds, &err))
        stop(b, &err);
    flaws = lw_loop_written(loop)->flaws;
    if (lw_result_finish(&result, &flaws, &err))
        stop(b, &err);
    const double seconds = lw_now() - start;
    b->busy[READ][repetition] = report.seconds[LW_LOOP_READ];
    b->busy[ENGINE][repetition] = report.seconds[LW_LOOP_COMPUTE];
    b->busy[WRITE][repetition] = report.seconds[LW_LOOP_WRITE];
    lw_loop_destroy(loop);
    lw_result_close(&result);
    lw_report_close(&report);
    return seconds;
}

/* ---- the comparison ------------------------------------------------------------------------------------------------ */

static void prepare(struct bench *b, int argc, char **argv)
{
    struct lw_error err;
    const struct lw_job_ops *const ops = lw_job_find(argv[2]);
    if (!ops || ops->way != LW_WAY_STREAMED) {
        lw_fail(&err, LW_EUSAGE, "'%s' is no job that is run block by block", argv[2]);
        stop(b, &err);
    }
    const struct lw_option *const tables[] = {ops->options, lw_common_options, lw_message_options, NULL};
    b->folder = argv[1];
    snprintf(b->output, sizeof b->output, "%s/bench-run.h5", argv[1]);
    int used;
    if (lw_options_create(tables, &b->options, &err) ||
        lw_options_set(b->options, "output", b->output, "OUTPUT_FOLDER", &err) ||
        lw_options_parse(b->options, argc - 3, argv + 3, &used, &err) ||
        lw_setup_open(b->comm, ops, b->options, NULL, &b->setup, &err) ||
        lw_plan_make_for(&b->setup, &b->plan, &err))
        stop(b, &err);
}

static double row(const struct bench *b, enum part part, const char *name, double seconds[REPETITIONS])
{
    double busy[REPETITIONS];
    memcpy(busy, b->busy[part], sizeof busy);
    const double median = storage_median(seconds, REPETITIONS);
    printf("%-8s %8.3f s   (%.3f .. %.3f)", name, median, seconds[0], seconds[REPETITIONS - 1]);
    if (part != RUN)
        printf("   busy in the run: %.3f s", storage_median(busy, REPETITIONS));
    printf("\n");
    return median;
}

static void print_best(const char *what, const struct storage_best *best)
{
    printf("best %s: %.2f GB/s (%s, %d thread%s)\n", what, best->bytes_per_s / 1e9, storage_row_text(best->row), best->n_threads,
           best->n_threads == 1 ? "" : "s");
}

static void report(struct bench *b)
{
    static const char *const names[N_PARTS] = {"read", "engine", "write", "run"};
    double slowest = 0, files = 0;
    printf("%s; %s; %d ranks, %d I/O threads each\n", b->plan.op.text, b->setup.engine_text, lw_comm_size(b->comm),
           b->setup.pool ? lw_pool_threads(b->setup.pool) : 0);
    print_best("read", &b->read);
    print_best("write", &b->write);
    for (enum part part = READ; part < RUN; part++) {
        const double median = row(b, part, names[part], b->seconds[part]);
        slowest = median > slowest ? median : slowest;
        files += part == ENGINE ? 0 : median;
    }
    const double run = row(b, RUN, names[RUN], b->seconds[RUN]);
    printf("the slowest part alone / run: %.0f %%\n", 100 * slowest / run);
    if (b->is_in_memory)
        printf("reading and writing alone, one after the other / run: %.0f %%\n", 100 * files / run);
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
    b.is_cached = argc > 1 && strcmp(argv[1], "--cached") == 0;
    argc -= b.is_cached;
    argv += b.is_cached;
    if (argc < 3) {
        if (rank == 0)
            fprintf(stderr, "usage: bench_file_to_file [--cached] OUTPUT_FOLDER JOB [options of the job, without --output]\n");
        lw_comm_stop(b.comm);
        return LW_EUSAGE;
    }
    lw_log_start(rank, lw_comm_host(b.comm), LW_LOG_QUIET);
    prepare(&b, argc, argv);
    measure_storage(&b);
    for (int i = 0; i < REPETITIONS; i++) {
        b.seconds[READ][i] = (double)b.plan.input_bytes / (rank == 0 ? b.read.bytes_per_s : 1);
        b.seconds[WRITE][i] = (double)b.plan.output_bytes / (rank == 0 ? b.write.bytes_per_s : 1);
        b.seconds[ENGINE][i] = run_engine(&b);
        b.seconds[RUN][i] = run_whole(&b, i);
    }
    if (rank == 0) {
        report(&b);
        unlink(b.output);
    }
    lw_setup_close(&b.setup);
    lw_options_destroy(b.options);
    lw_comm_stop(b.comm);
    lw_shield_stop();
    return 0;
}
