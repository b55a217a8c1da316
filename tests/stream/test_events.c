/* test_events.c - tests of a run's listeners. After each round a listener gets, in order and the same on every rank, the outputs
 * that all ranks have written. A listener's error ends the run on every rank without a result. */
#include "../check.h"
#include "cli/commands.h"
#include "stream/loop.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum { N = 1 << 19, N_CHANNELS = 8, N_TAPS = 33, N_FILTERS = 2 };

static void write_dataset(struct lw_writer *writer, struct lw_comm *comm, int dataset, int64_t rows, int64_t length)
{
    struct lw_error err;
    const bool writes = lw_comm_rank(comm) == 0;
    const int64_t first[2] = {0, 0}, count[2] = {writes ? rows : 0, writes ? length : 0};
    float *const data = calloc((size_t)(rows * length), sizeof *data);
    for (int64_t i = 0; i < rows * length; i++)
        data[i] = (float)(i % 17);
    CHECK(lw_writer_write(writer, dataset, first, count, data, &err) == LW_OK, "%s", err.message);
    free(data);
}

static void make_input(struct lw_comm *comm, const char *file)
{
    const struct lw_writer_dataset datasets[] = {
        {.path = "/signal", .n_dims = 2, .dims = {N_CHANNELS, N}, .dim_names = {"channel", "time"},
         .type = {.scalar = LW_FLOAT32}},
        {.path = "/filters", .n_dims = 2, .dims = {N_FILTERS, N_TAPS}, .type = {.scalar = LW_FLOAT32}},
    };
    const struct lw_writer_spec spec = {.file = file, .overwrite = true, .datasets = datasets, .n_datasets = 2};
    struct lw_error err;
    struct lw_writer *writer = NULL;
    CHECK(lw_writer_create(comm, &spec, &writer, &err) == LW_OK, "%s", err.message);
    write_dataset(writer, comm, 0, N_CHANNELS, N);
    write_dataset(writer, comm, 1, N_FILTERS, N_TAPS);
    CHECK(lw_writer_finish(writer, NULL, 0, &err) == LW_OK, "%s", err.message);
    lw_writer_destroy(writer);
}

struct watch {
    struct lw_comm *comm;
    const struct lw_rounds *rounds;
    int64_t n_told;
    int64_t fails_at;           /* number of written rounds after which the listener fails; 0: never */
    struct lw_written last;
};

/* Number of outputs of all blocks before round `end`. */
static int64_t outputs_before(const struct lw_rounds *rounds, int64_t end)
{
    int64_t outputs = 0;
    for (int64_t round = 0; round < end; round++)
        for (int rank = 0; rank < rounds->n_ranks; rank++) {
            const struct lw_block block = lw_rounds_block(rounds, round, rank);
            outputs += block.count * block.n_channels * block.n_filters;
        }
    return outputs;
}

static int watch(void *context, const struct lw_written *written, struct lw_error *err)
{
    struct watch *const w = context;
    w->n_told++;
    w->last = *written;
    CHECK(written->n_rounds == w->n_told, "round %" PRId64 " is told as number %" PRId64, written->n_rounds, w->n_told);
    CHECK(written->n_outputs == outputs_before(w->rounds, written->n_rounds), "%" PRId64 " outputs after %" PRId64 " rounds",
          written->n_outputs, written->n_rounds);
    CHECK(written->all_outputs == (int64_t)N * N_CHANNELS * N_FILTERS, "%" PRId64 " outputs in all", written->all_outputs);
    CHECK(lw_comm_max(w->comm, written->n_outputs) == lw_comm_min(w->comm, written->n_outputs),
          "ranks report different numbers of outputs");
    return written->n_rounds == w->fails_at ? lw_fail(err, LW_EIO, "the listener gives up") : LW_OK;
}

static struct lw_options *make_options(const char *input, const char *output)
{
    const struct lw_option *const tables[] = {lw_job_ols.options, lw_common_options, lw_message_options, NULL};
    struct lw_options *options = NULL;
    struct lw_error err;
    char signal[300], filters[300];
    snprintf(signal, sizeof signal, "%s:/signal", input);
    snprintf(filters, sizeof filters, "%s:/filters", input);
    CHECK(lw_options_create(tables, &options, &err) == LW_OK && lw_options_set(options, "input", signal, "input", &err) == LW_OK &&
              lw_options_set(options, "filters", filters, "filters", &err) == LW_OK &&
              lw_options_set(options, "output", output, "output", &err) == LW_OK &&
              lw_options_set(options, "engine", "cpu", "engine", &err) == LW_OK &&
              lw_options_set(options, "overwrite", "yes", "overwrite", &err) == LW_OK, "%s", err.message);
    return options;
}

static void run(struct lw_comm *comm, const char *input, const char *output, bool fails)
{
    struct lw_options *const options = make_options(input, output);
    struct lw_setup setup;
    struct lw_plan plan;
    struct lw_result result = {0};
    struct lw_report report = {0};
    struct lw_loop *loop = NULL;
    struct lw_error err = {0};
    static const char *const stages[LW_REPORT_STAGES] = {"read", "halo", "compute", "write"};
    struct watch silent = {.comm = comm, .rounds = &plan.rounds}, failing = silent;
    CHECK(lw_setup_open(comm, &lw_job_ols, options, NULL, &setup, &err) == LW_OK &&
              lw_plan_make_for(&setup, &plan, &err) == LW_OK && lw_result_begin(&setup, "test", &result, &err) == LW_OK &&
              lw_result_create(&result, NULL, &err) == LW_OK && lw_report_open(&report, comm, stages, &err) == LW_OK,
          "%s", err.message);
    struct lw_loop_spec spec = {.setup = &setup, .plan = &plan, .writer = result.writer, .report = &report};
    lw_listeners_add(&spec.listeners, watch, &silent);
    lw_listeners_add(&spec.listeners, watch, &failing);
    CHECK(plan.rounds.n_rounds >= 2, "%" PRId64 " rounds are too few for this test", plan.rounds.n_rounds);
    failing.fails_at = fails ? 2 : 0;
    CHECK(lw_loop_create(&spec, &loop, &err) == LW_OK, "%s", err.message);
    const int rc = lw_loop_run(loop, 0, plan.rounds.n_rounds, &err);
    CHECK(rc == (fails ? LW_EIO : LW_OK), "code %d: %s", rc, err.message);
    CHECK(silent.n_told == (fails ? 2 : plan.rounds.n_rounds), "%" PRId64 " rounds were told", silent.n_told);
    CHECK(fails || silent.last.n_outputs == silent.last.all_outputs, "%" PRId64 " outputs at the end", silent.last.n_outputs);
    lw_loop_destroy(loop);
    lw_result_close(&result);
    lw_report_close(&report);
    lw_setup_close(&setup);
    lw_options_destroy(options);
    CHECK(access(output, F_OK) != 0, "'%s' bears its final name though nobody finished it", output);
}

int main(int argc, char **argv)
{
    struct lw_comm *const comm = lw_comm_start(&argc, &argv);
    lw_log_start(lw_comm_rank(comm), lw_comm_host(comm), LW_LOG_QUIET);
    int pid = (int)getpid();
    lw_comm_broadcast(comm, &pid, sizeof pid);
    char input[64], output[64];
    snprintf(input, sizeof input, "events-%d.h5", pid);
    snprintf(output, sizeof output, "events-%d-out.h5", pid);
    make_input(comm, input);
    run(comm, input, output, false);
    run(comm, input, output, true);
    if (lw_comm_rank(comm) == 0)
        remove(input);
    const int failed = (int)lw_comm_max(comm, check_failed);
    const int code = check_result("events");
    lw_comm_stop(comm);
    return code || failed;
}
