#include "run/setup.h"

#include "base/integers.h"
#include "base/log.h"
#include "base/proc.h"
#include "engine/registry.h"
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

/* Whether every rank can use an engine. @param missing  what the first rank that cannot says */
static bool is_usable(struct lw_setup *setup, const struct lw_engine_type *type, const struct lw_engine_spec *spec,
                      struct lw_error *missing)
{
    char text[LW_ENGINE_TEXT];
    const int rc = type->is_usable(spec, text) ? LW_OK : lw_fail(missing, LW_ECONFIG, "%s", text);
    if (lw_comm_agree(setup->comm, rc, missing))
        return false;
    lw_log_info("%s engine: %s", type->name, text);
    return true;
}

/* --engine auto: the last engine of the registry that all ranks can use, since all must take the same. */
static const struct lw_engine_type *choose_engine(struct lw_setup *setup, const struct lw_engine_spec *spec)
{
    struct lw_error missing;
    int last = 0;
    while (lw_engines[last + 1])
        last++;
    for (int e = last; e > 0; e--)
        if (is_usable(setup, lw_engines[e], spec, &missing))
            return lw_engines[e];
    if (lw_comm_size(setup->comm) > 1)
        lw_log_info("%s engine: rank %d (%s): %s", lw_engines[0]->name, missing.rank, missing.host, missing.message);
    else
        lw_log_info("%s engine: %s", lw_engines[0]->name, missing.message);
    return lw_engines[0];
}

static const struct lw_engine_type *take_engine(struct lw_setup *setup, const struct lw_engine_spec *spec)
{
    const int choice = lw_options_choice(setup->options, "engine");     /* 0: auto */
    if (choice == 0)
        return choose_engine(setup, spec);
    lw_log_info("%s engine: asked for", lw_engines[choice - 1]->name);
    return lw_engines[choice - 1];
}

static int open_engine(struct lw_setup *setup, struct lw_error *err)
{
    const struct lw_options *const options = setup->options;
    const struct lw_engine_spec spec = {
        .n_threads = (int)lw_options_int(options, "threads"),
        .node_rank = lw_comm_node_rank(setup->comm),
        .node_ranks = lw_comm_node_size(setup->comm),
        .share_device = lw_options_flag(options, "share-gpu"),
    };
    const struct lw_engine_type *const type = take_engine(setup, &spec);
    const int rc = lw_comm_agree(setup->comm, type->create(&spec, &setup->engine, err), err);
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

/* Copying bytes takes a core, waiting for a disk none: a rank with few cores has more threads than these. */
static int count_io_threads(const struct lw_options *options)
{
    enum { LEAST = 4, MOST = 16 };
    const int64_t wanted = lw_options_int(options, "io-threads");
    return (int)(wanted > 0 ? wanted : max64(LEAST, min64(lw_proc_cores(), MOST)));
}

/* After the last look at a file in a child process (io/shield.h), which is a copy of a process without threads. */
static int open_pool(struct lw_setup *setup, struct lw_error *err)
{
    if (lw_options_choice(setup->options, "io") == LW_IO_COLLECTIVE)
        return LW_OK;
    const int rc = lw_pool_create(count_io_threads(setup->options), &setup->pool, err);
    if (rc == LW_OK)
        lw_reader_use(setup->reader, setup->pool);
    return lw_comm_agree(setup->comm, rc, err);
}

static void find_limits(struct lw_setup *setup)
{
    lw_limits_find(setup->comm, setup->engine, lw_options_int(setup->options, "memory"),
                   lw_options_int(setup->options, "gpu-memory"), &setup->limits);
}

int lw_setup_open(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options,
                  struct lw_setup *setup, struct lw_error *err)
{
    *setup = (struct lw_setup){.comm = comm, .options = options, .job = {.ops = ops}};
    int rc;
    if ((rc = open_input(setup, err)) ||
        (rc = lw_comm_agree(comm, ops->prepare(options, comm, lw_reader_info(setup->reader), &setup->job, err), err)) ||
        (rc = open_pool(setup, err)) || (rc = open_engine(setup, err)) || (rc = compare_engines(setup, err)) ||
        (rc = lw_reader_check(setup->reader, &setup->job.view, err)))
        return rc;
    find_limits(setup);
    return LW_OK;
}

void lw_setup_close(struct lw_setup *setup)
{
    if (setup->job.ops)
        setup->job.ops->release(&setup->job);
    lw_engine_destroy(setup->engine);
    lw_reader_close(setup->reader);
    lw_pool_destroy(setup->pool);
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
