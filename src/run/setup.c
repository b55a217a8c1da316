#include "run/setup.h"

#include "base/log.h"
#include "io/result_file.h"
#include "run/devices.h"

#include <stdio.h>
#include <string.h>

static int open_input(struct lw_setup *setup, struct lw_error *err)
{
    const char *const input = lw_options_text(setup->options, "input");
    if (!input)
        return lw_fail(err, LW_EUSAGE, "--input is missing: give the signal as FILE:/dataset");
    return lw_reader_open(setup->comm, input, &setup->reader, err);
}

/* Settle LW_ENGINE_AUTO: cuda where every rank has a GPU of its own, since all must take the same. */
static enum lw_engine_kind choose_engine(struct lw_setup *setup, const struct lw_engine_spec *spec)
{
    if (spec->kind != LW_ENGINE_AUTO) {
        lw_log_info("%s engine: asked for", spec->kind == LW_ENGINE_CUDA ? "cuda" : "cpu");
        return spec->kind;
    }
    char why[160];
    struct lw_error missing;
    const int rc = lw_cuda_engine_usable(spec, why) ? LW_OK : lw_fail(&missing, LW_ECONFIG, "%s", why);
    if (lw_comm_agree(setup->comm, rc, &missing) == LW_OK) {
        lw_log_info("cuda engine: %s", why);
        return LW_ENGINE_CUDA;
    }
    if (lw_comm_size(setup->comm) > 1)
        lw_log_info("cpu engine: rank %d (%s): %s", missing.rank, missing.host, missing.message);
    else
        lw_log_info("cpu engine: %s", missing.message);
    return LW_ENGINE_CPU;
}

static int open_engine(struct lw_setup *setup, struct lw_error *err)
{
    const struct lw_options *const options = setup->options;
    struct lw_engine_spec spec = {
        .kind = (enum lw_engine_kind)lw_options_choice(options, "engine"),
        .n_threads = (int)lw_options_int(options, "threads"),
        .node_rank = lw_comm_node_rank(setup->comm),
        .node_ranks = lw_comm_node_size(setup->comm),
        .share_device = lw_options_flag(options, "share-gpu"),
    };
    spec.kind = choose_engine(setup, &spec);
    const int rc = lw_comm_agree(setup->comm, lw_engine_create(&spec, &setup->engine, err), err);
    if (rc == LW_OK)
        setup->engine->ops->describe(setup->engine, setup->engine_text, sizeof setup->engine_text);
    return rc;
}

/* Ranks must compute alike, and not two of them on one device unknowingly. */
static int compare_engines(struct lw_setup *setup, struct lw_error *err)
{
    const struct lw_options *const options = setup->options;
    int rc = lw_devices_settle(setup->comm, setup->engine, lw_options_flag(options, "share-gpu"), err);
    if (rc)
        return rc;
    char architecture[128];
    int used = snprintf(architecture, sizeof architecture, "%s ", setup->engine->ops->name);
    setup->engine->ops->architecture(setup->engine, architecture + used, sizeof architecture - (size_t)used);
    if (lw_options_flag(options, "allow-mixed"))
        return LW_OK;
    rc = lw_comm_same(setup->comm, "the processor or GPU", architecture, err);
    if (rc)
        strncat(err->message, ": results would depend on which rank computes what; choose equal nodes, or --allow-mixed",
                sizeof err->message - strlen(err->message) - 1);
    return rc;
}

static int make_plan(struct lw_setup *setup, struct lw_error *err)
{
    const struct lw_plan_spec spec = {
        .comm = setup->comm, .job = &setup->job, .engine = setup->engine, .reader = setup->reader,
        .split = (enum lw_split)lw_options_choice(setup->options, "split"),
        .memory = lw_options_int(setup->options, "memory"),
        .gpu_memory = lw_options_int(setup->options, "gpu-memory"),
    };
    const int rc = lw_reader_check(setup->reader, &setup->job.view, err);
    return rc ? rc : lw_plan_make(&spec, &setup->plan, err);
}

int lw_setup_open(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options,
                  struct lw_setup *setup, struct lw_error *err)
{
    *setup = (struct lw_setup){.comm = comm, .options = options, .job = {.ops = ops}};
    int rc;
    if ((rc = open_input(setup, err)) ||
        (rc = lw_comm_agree(comm, ops->prepare(options, comm, lw_reader_info(setup->reader), &setup->job, err), err)) ||
        (rc = open_engine(setup, err)) || (rc = compare_engines(setup, err)) ||
        (!ops->is_sampled && (rc = make_plan(setup, err))))
        return rc;
    return LW_OK;
}

void lw_setup_close(struct lw_setup *setup)
{
    if (setup->job.ops)
        setup->job.ops->release(&setup->job);
    lw_engine_destroy(setup->engine);
    lw_reader_close(setup->reader);
}

static int check_output(const struct lw_setup *setup, struct lw_error *err)
{
    const char *const output = lw_options_text(setup->options, "output");
    struct lw_result_file result;
    int rc;
    if (!output)
        return lw_fail(err, LW_EUSAGE, "--output is missing: give the file for the result");
    if ((rc = lw_job_check_output(&setup->job, output, err)) ||
        (rc = lw_result_file_name(&result, output, lw_options_flag(setup->options, "overwrite"), err)))
        return rc;
    return lw_result_file_check(&result, err);
}

int lw_setup_check_output(const struct lw_setup *setup, struct lw_error *err)
{
    return lw_comm_agree(setup->comm, lw_comm_rank(setup->comm) == 0 ? check_output(setup, err) : LW_OK, err);
}

int lw_setup_check_inputs(const struct lw_setup *setup, struct lw_error *err)
{
    return lw_comm_agree(setup->comm, lw_comm_rank(setup->comm) == 0 ? lw_job_check_inputs(&setup->job, err) : LW_OK, err);
}
