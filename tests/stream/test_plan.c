/* test_plan.c - tests of the memory budget over many shapes and limits. A plan never exceeds its limit. A refusal names the limit
 * and is justified: the smallest legal round exceeds it. More memory never gives smaller rounds, and the limit affects only the
 * rounds. */
#include "../check.h"
#include "io/read/state.h"
#include "io/write/writer.h"
#include "setup/choice.h"
#include "setup/planned.h"
#include "stream/plan.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* An engine that computes nothing and needs a known number of bytes. */
static int plan_op(const struct lw_engine *engine, const struct lw_op_spec *spec, struct lw_op_plan *plan,
                   struct lw_error *err)
{
    (void)engine;
    (void)err;
    *plan = (struct lw_op_plan){.halo = spec->ols.n_taps - 1, .unit = 1000, .channel_unit = spec->n_channels > 1 ? 2 : 1,
                                .input_width = 1, .segment = 2048, .seconds_per_output = 1e-9};
    lw_op_ols_products(spec, plan);
    return LW_OK;
}

static struct lw_bytes op_bytes(const struct lw_engine *engine, const struct lw_op_spec *spec,
                                const struct lw_op_plan *plan, int64_t count, int64_t n_channels, int depth)
{
    (void)engine;
    const int64_t in = lw_op_input_bytes(spec, plan, count, n_channels);
    const int64_t out = lw_op_product_bytes(plan, 0, count, n_channels);
    return (struct lw_bytes){.host = depth * (in + out) + 100000, .device = in + out};
}

static const struct lw_engine_ops fake_ops = {.name = "fake", .op_plan = plan_op, .op_bytes = op_bytes};
static const struct lw_job_ops fake_job = {.remedy = "less of it"};
static const struct lw_engine fake = {.ops = &fake_ops, .depth = 2, .n_workers = 1};
static const struct lw_rates assumed = {.read = 1e9, .write = 1e9, .slowdown = 1};

static void make_job(struct lw_job *job, int64_t n, int64_t n_channels, int64_t n_taps, enum lw_layout layout)
{
    *job = (struct lw_job){.ops = &fake_job, .n_samples = n, .n_outputs = n, .look_ahead = (n_taps - 1) / 2,
                           .boundary = LW_BOUNDARY_REFLECT};
    job->op = (struct lw_op_spec){.input.scalar = LW_INT16, .output.scalar = LW_FLOAT32, .layout = layout,
                                  .n_channels = n_channels, .ols = {.n_filters = 3, .n_taps = n_taps}};
}

/* Host bytes of a plan with the smallest possible rounds. */
static int64_t smallest_bytes(const struct lw_plan_spec *spec, struct lw_plan plan)
{
    const struct lw_grid grid = plan.rounds.grid;
    plan.rounds = lw_rounds_make(&grid, plan.rounds.n_ranks, plan.rounds.split, 1, 1);
    const struct lw_halo_spec halo = lw_plan_halo(&plan, spec->job);
    const struct lw_window_spec window = lw_plan_window(&plan, spec->job, NULL);
    plan.bytes.halo = lw_halo_bytes(&halo) + lw_window_bytes(&window);
    plan.bytes.engine = op_bytes(&fake, &spec->job->op, &plan.op, plan.rounds.slice, plan.rounds.group, plan.depth).host;
    return lw_plan_host_bytes(&plan);
}

static void check_limits(struct lw_plan_spec spec)
{
    int64_t before = 0;
    for (int64_t memory = 1 << 20; memory < INT64_C(1) << 36; memory *= 2) {
        struct lw_plan plan;
        struct lw_error err = {0};
        lw_limits_find(spec.comm, spec.engine, memory, 0, &spec.limits);
        const int rc = lw_plan_make(&spec, &plan, &err);
        const struct lw_rounds *const r = &plan.rounds;
        const int64_t now = rc == LW_OK ? r->slice * r->group : 0;
        if (rc == LW_OK)
            CHECK(lw_plan_host_bytes(&plan) <= memory, "%" PRId64 " bytes above the limit %" PRId64,
                  lw_plan_host_bytes(&plan), memory);
        else
            CHECK(rc == LW_ECONFIG && strstr(err.message, "--memory") && smallest_bytes(&spec, plan) > memory,
                  "refused %" PRId64 " though %" PRId64 " would do: %s", memory, smallest_bytes(&spec, plan), err.message);
        CHECK(now >= before, "%" PRId64 " bytes give rounds of %" PRId64 ", less gave %" PRId64, memory, now, before);
        before = now;
    }
    CHECK(before > 0, "64 GiB are not enough");
}

/* A plan with the least possible memory has slices of one part, so that one of eight threads works, and many rounds. */
static void check_seconds(struct lw_comm *comm, const struct lw_reader *reader)
{
    struct lw_engine threads = fake;
    struct lw_job job;
    struct lw_error err = {0};
    struct lw_plan least, most;
    threads.n_workers = 8;
    make_job(&job, 100000000, 1, 257, LW_TIME_FAST);
    struct lw_plan_spec spec = {.comm = comm, .job = &job, .engine = &threads, .reader = reader, .rates = &assumed};
    lw_limits_find(comm, &threads, 1 << 20, 0, &spec.limits);
    CHECK(lw_plan_make(&spec, &least, &err) == LW_ECONFIG, "1 MiB is enough");
    spec.limits.host = lw_comm_max(comm, smallest_bytes(&spec, least));     /* above the base that was measured with 1 MiB */
    CHECK(lw_plan_make(&spec, &least, &err) == LW_OK, "%s", err.message);
    lw_limits_find(comm, &threads, INT64_C(1) << 36, 0, &spec.limits);
    CHECK(lw_plan_make(&spec, &most, &err) == LW_OK, "%s", err.message);
    const int64_t parts = least.rounds.slice / 1000;
    CHECK(parts < 8 && least.compute_seconds > 0.99 * most.compute_seconds * 8 / (double)parts,
          "slices of %d parts take %g s, large ones %g s", (int)parts, least.compute_seconds, most.compute_seconds);
    CHECK(least.round_seconds > 5e-5 * (double)least.rounds.n_rounds && least.round_seconds > 1000 * most.round_seconds,
          "%d rounds take %g s of their own, %d take %g s", (int)least.rounds.n_rounds, least.round_seconds,
          (int)most.rounds.n_rounds, most.round_seconds);
}

/* The model of a run counts all outputs at the threads that have parts to compute, and the bytes of files and of copies. */
static void check_model(struct lw_comm *comm)
{
    const double ranks = lw_comm_size(comm), cores = fmax(1, (double)(sysconf(_SC_NPROCESSORS_ONLN) / lw_comm_size(comm)));
    const double slowdown = LW_CHOICE_CPU_SLOWDOWN, outputs = 3 * 10000000.0;     /* three filters; int16 in, float32 out */
    const struct lw_rates rates = {.read = 1e10, .write = 2e10, .slowdown = LW_CHOICE_CPU_SLOWDOWN};
    struct lw_engine engine = fake;
    struct lw_job job;
    struct lw_run_model model;
    struct lw_error err = {0};
    make_job(&job, 10000000, 1, 257, LW_TIME_FAST);
    engine.n_workers = 1 << 20;         /* far more than cores: a rank has its share of these */
    CHECK(lw_plan_model(comm, &job, &engine, &rates, &model, &err) == LW_OK, "%s", err.message);
    CHECK(fabs(model.compute - slowdown * outputs * 1e-9 / (cores * ranks)) < 0.05 * model.compute, "computing takes %g s",
          model.compute);
    CHECK(model.copy == 0 && model.start == 0, "copies take %g s, the start %g s", model.copy, model.start);
    CHECK(fabs(model.read * 1e10 - 20000000) < 1 && fabs(model.write * 2e10 - 4 * outputs) < 1, "files take %g and %g s",
          model.read, model.write);
    engine.link_rate = 1e9;
    CHECK(lw_plan_model(comm, &job, &engine, &rates, &model, &err) == LW_OK && fabs(model.copy * ranks - 4 * outputs / 1e9) < 1e-9,
          "copies take %g s: %s", model.copy, err.message);
    make_job(&job, 1000, 1, 257, LW_TIME_FAST);         /* one part, which one thread computes */
    CHECK(lw_plan_model(comm, &job, &engine, &rates, &model, &err) == LW_OK && fabs(model.compute - 3000 * 1e-9) < 1e-12,
          "one part takes %g s: %s", model.compute, err.message);
}

enum { FILTER_BYTES = 4 << 20 };

static struct lw_bytes bank_bytes(const struct lw_engine *engine, const struct lw_op_spec *spec, const struct lw_op_plan *plan,
                                  int64_t count, int64_t n_channels, int depth)
{
    struct lw_bytes bytes = op_bytes(engine, spec, plan, count, n_channels, depth);
    bytes.host += spec->ols.n_filters * (int64_t)FILTER_BYTES;
    return bytes;
}

static int fill_op(struct lw_op *op, const struct lw_ols_part *part, struct lw_error *err)
{
    (void)op, (void)part, (void)err;
    return LW_OK;
}

/* Filters get at least half of the memory that the smallest round leaves. */
static void check_groups(struct lw_comm *comm, const struct lw_reader *reader)
{
    struct lw_engine_ops ops = fake_ops;
    struct lw_engine engine = fake;
    struct lw_job job;
    struct lw_error err = {0};
    struct lw_plan plan;
    ops.op_bytes = bank_bytes;
    ops.op_fill = fill_op;
    engine.ops = &ops;
    make_job(&job, 100000000, 1, 257, LW_TIME_FAST);
    job.op.ols.n_filters = 64;
    struct lw_plan_spec spec = {.comm = comm, .job = &job, .engine = &engine, .reader = reader, .rates = &assumed,
                                .split = LW_SPLIT_AXIS};
    lw_limits_find(comm, &engine, 1 << 20, 0, &spec.limits);
    CHECK(lw_plan_make(&spec, &plan, &err) == LW_ECONFIG, "1 MiB is enough");
    const int64_t least = lw_comm_max(comm, smallest_bytes(&spec, plan)) + FILTER_BYTES;
    for (int64_t more = 24 * FILTER_BYTES; more > FILTER_BYTES; more /= 2) {
        spec.limits.host = least + more;
        CHECK(lw_plan_make(&spec, &plan, &err) == LW_OK, "%s", err.message);
        const int64_t held = plan.rounds.held;
        CHECK(held >= more / FILTER_BYTES / 2 && lw_plan_host_bytes(&plan) <= spec.limits.host,
              "%" PRId64 " filters are held in %" PRId64 " bytes beside the smallest round", held, more);
        const double seconds = (double)(plan.input_bytes * ((64 + held - 1) / held)) / 1e9;
        CHECK(fabs(plan.read_seconds - seconds) < 1e-9 * seconds, "groups of %" PRId64 " filters read in %g s, not %g", held,
              plan.read_seconds, seconds);
    }
}

/* The start is the launcher's, half of a device's, 0.14 s for each further device of a node, and 0.3 ms for each further file.
 * The ranks share the files. */
static void check_start(struct lw_comm *comm)
{
    const struct lw_engine_type cpu = {.name = "fake"}, device = {.name = "fake", .start_seconds = 0.8};
    const struct lw_machine machine = {.start = 2};
    struct lw_reader reader = {.info.n_files = 1001};
    struct lw_comm *model;
    struct lw_error err = {0};
    CHECK(lw_comm_model(comm, 8, 4, &model, &err) == LW_OK, "%s", err.message);
    struct lw_setup setup = {.comm = model, .engine_type = &cpu, .reader = &reader, .machine = &machine};
    CHECK(fabs(lw_planned_start(&setup) - 2.0375) < 1e-9, "1001 files: the start takes %g s", lw_planned_start(&setup));
    reader.info.n_files = 1;
    setup.engine_type = &device;
    CHECK(fabs(lw_planned_start(&setup) - 2.82) < 1e-9, "4 devices a node: the start takes %g s", lw_planned_start(&setup));
    lw_comm_forget(model);
}

static void check_shapes(struct lw_comm *comm, const struct lw_reader *reader)
{
    static const int64_t lengths[] = {1, 999, 100000, 10000000, INT64_C(3) << 31};
    static const int64_t channels[] = {1, 2, 7, 832, 100000};
    static const int64_t taps[] = {1, 257, 5000, 1000000};
    for (int layout = LW_TIME_FAST; layout <= LW_TIME_SLOW; layout++)
        for (int split = LW_SPLIT_AUTO; split <= LW_SPLIT_CHANNELS; split++)
            for (int n = 0; n < 5; n++)
                for (int c = 0; c < 5; c++)
                    for (int m = 0; m < 4; m++) {
                        struct lw_job job;
                        make_job(&job, lengths[n], channels[c], taps[m], (enum lw_layout)layout);
                        check_limits((struct lw_plan_spec){.comm = comm, .job = &job, .engine = &fake, .reader = reader,
                                                           .rates = &assumed, .split = (enum lw_split)split});
                    }
}

static struct lw_reader *open_small_file(struct lw_comm *comm, const char *file)
{
    const struct lw_writer_dataset dataset = {.path = "/x", .n_dims = 1, .dims = {4}, .dim_names = {"time"},
                                              .type = {.scalar = LW_INT16}};
    const struct lw_writer_spec spec = {.file = file, .overwrite = true, .datasets = &dataset, .n_datasets = 1};
    struct lw_error err;
    struct lw_writer *writer = NULL;
    struct lw_reader *reader = NULL;
    CHECK(lw_writer_create(comm, &spec, &writer, &err) == LW_OK && lw_writer_finish(writer, NULL, 0, &err) == LW_OK, "%s",
          err.message);
    lw_writer_destroy(writer);
    char name[100];
    snprintf(name, sizeof name, "%s:/x", file);
    CHECK(lw_reader_open(comm, name, &reader, &err) == LW_OK, "%s", err.message);
    return reader;
}

int main(int argc, char **argv)
{
    struct lw_comm *const comm = lw_comm_start(&argc, &argv);
    int pid = (int)getpid();
    lw_comm_broadcast(comm, &pid, sizeof pid);
    char file[64];
    snprintf(file, sizeof file, "plan-%d.h5", pid);
    struct lw_reader *const reader = open_small_file(comm, file);
    check_shapes(comm, reader);
    check_seconds(comm, reader);
    check_groups(comm, reader);
    check_model(comm);
    check_start(comm);
    lw_reader_close(reader);
    if (lw_comm_rank(comm) == 0)
        remove(file);
    const int failed = (int)lw_comm_max(comm, check_failed);
    const int result = check_result("plan");
    lw_comm_stop(comm);
    return result || failed;
}
