#include "setup/setup.h"

#include "base/integers.h"
#include "base/memory.h"
#include "base/proc.h"
#include "base/text.h"
#include "engine/registry.h"
#include "io/codecs/hash.h"
#include "io/format.h"
#include "io/shield.h"
#include "io/write/result_file.h"
#include "job/hints.h"
#include "setup/choice.h"
#include "setup/devices.h"
#include "setup/planned.h"
#include "setup/report.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* The choices of --gaps and --overlap are in the order of their enumerations. */
static_assert(LW_OVERLAP_ERROR == 0 && LW_OVERLAP_FIRST == 1 && LW_OVERLAP_LAST == 2, "order of --overlap");
static_assert(LW_GAPS_SPLIT == 0 && LW_GAPS_ZERO == 1 && LW_GAPS_ERROR == 2, "order of --gaps");

int lw_setup_request(const struct lw_job_ops *ops, const struct lw_options *options, struct lw_reader_request *request,
                     struct lw_error *err)
{
    *request = (struct lw_reader_request){
        .names = lw_options_text(options, "input"), .least_dims = ops->least_dims, .most_dims = ops->most_dims, .join = ops->join,
        .gaps = (enum lw_gaps)lw_options_choice(options, "gaps"),
        .overlap = (enum lw_overlap_choice)lw_options_choice(options, "overlap"),
        .precision = (enum lw_precision)lw_options_choice(options, "precision"),
        .beside = ops->is_isolated ? NULL : lw_options_text(options, "beside"),
    };
    if (!request->names)
        return lw_fail(err, LW_EUSAGE, "--input is missing: give the signal as FILE:/dataset");
    if (request->join == LW_JOIN_TIME && lw_options_given(options, "axis"))
        request->join = lw_options_choice(options, "axis");
    return lw_hints_take(options, &request->hints, err);
}

/* Refuse gaps in the chosen part of the axis if the job needs every sample and --gaps zero is not given. */
static int check_gaps(const struct lw_setup *setup, struct lw_error *err)
{
    const struct lw_view_spec *const view = &setup->job.view;
    const struct lw_gap *gaps;
    const int64_t n = lw_reader_gaps(setup->reader, &gaps);
    int64_t found = 0;
    if (!setup->job.ops->needs_all || lw_options_choice(setup->options, "gaps") == LW_GAPS_ZERO)
        return LW_OK;
    for (int64_t g = 0; g < n; g++)
        found += gaps[g].first < view->start + view->count && gaps[g].first + gaps[g].count > view->start;
    if (found == 0)
        return LW_OK;
    return lw_fail(err, LW_EDATA,
                   "%s needs every sample, but there %s %" PRId64 " gap%s in the chosen part: give --gaps zero, or --each stretch "
                   "for one result per stretch between gaps",
                   setup->job.ops->name, found == 1 ? "is" : "are", found, found == 1 ? "" : "s");
}

/* ---- the engine ---------------------------------------------------------------------------------------------------- */

/* Describe what engines are made of. The engine that --engine names is chosen and begins its warm-up. Only open_engine reports
 * that it cannot be created. */
static void begin_engine(struct lw_setup *setup)
{
    const struct lw_options *const options = setup->options;
    setup->engine_spec = (struct lw_engine_spec){
        .n_threads = (int)lw_options_int(options, "threads"), .node_rank = lw_comm_node_rank(setup->comm),
        .node_ranks = lw_comm_node_size(setup->comm), .share_device = lw_options_flag(options, "share-gpu"),
        .only_plans = setup->machine != NULL, .gpu = setup->machine ? setup->machine->gpu : NULL,
    };
    const bool only_cpu = setup->machine && (setup->machine->only_cpu || !setup->machine->gpu);
    const int choice = only_cpu ? 1 : lw_options_choice(options, "engine");     /* 0: auto; else 1 + the index in lw_engines */
    if (choice == 0)
        return;
    lw_choice_take(setup, choice - 1, "requested");
    if (!setup->machine)
        lw_warm_up_begin(&setup->warm_up, setup->engine_type, &setup->engine_spec);
}

/* Warn if rank 0's node has GPUs but Slurm has granted the job none. If Slurm hides the GPUs, they stay idle; else other jobs may
 * use them at the same time. The driver's folder lists GPUs even where a control group hides them. */
static void warn_of_grant(const struct lw_setup *setup)
{
    const bool takes_gpu = setup->engine_type != lw_engines[0];
    const bool has_grant = getenv("SLURM_GPUS_ON_NODE") || getenv("SLURM_JOB_GPUS") || getenv("SLURM_STEP_GPUS");
    const bool is_wanted = takes_gpu || (lw_options_choice(setup->options, "engine") == 0 && !setup->engine_times[0]);
    if (!getenv("SLURM_JOB_ID") || has_grant || !is_wanted)
        return;
    const int n = setup->machine ? 0 : lw_proc_entries("/proc/driver/nvidia/gpus");
    if (n > 0 && lw_comm_rank(setup->comm) == 0)
        lw_log_warn("this node has %d GPU%s, and Slurm has granted this job none: %s; submit it with --gpus-per-node=%d, or give "
                    "--engine cpu", n, n == 1 ? "" : "s", takes_gpu ? "other jobs may use them, too" : "it computes on the CPU", n);
}

static int open_engine(struct lw_setup *setup, lw_run_model_fn *model, struct lw_error *err)
{
    if (!setup->engine_type)
        lw_choice_make(setup, model);
    lw_log_info("%s", setup->engine_choice);
    warn_of_grant(setup);
    lw_warm_up_end(&setup->warm_up);
    const int rc = lw_comm_agree(setup->comm, setup->engine_type->create(&setup->engine_spec, &setup->engine, err), err);
    if (rc == LW_OK) {
        setup->engine->ops->describe(setup->engine, setup->engine_text, sizeof setup->engine_text);
        lw_report_warning(setup->comm, setup->engine->warning);
    }
    return rc;
}

void lw_setup_architecture(const struct lw_setup *setup, char *text, size_t size)
{
    const int used = snprintf(text, size, "%s ", setup->engine->ops->name);
    setup->engine->ops->architecture(setup->engine, text + used, size - (size_t)used);
}

/* Settle the devices, then refuse ranks on different processors or GPUs: a result must not depend on which rank computes what. */
static int compare_engines(struct lw_setup *setup, struct lw_error *err)
{
    const struct lw_options *const options = setup->options;
    int rc = lw_devices_settle(setup->comm, setup->engine, lw_options_flag(options, "share-gpu"), err);
    if (rc)
        return rc;
    char architecture[128];
    lw_setup_architecture(setup, architecture, sizeof architecture);
    if (lw_options_flag(options, "allow-mixed"))
        return LW_OK;
    rc = lw_comm_same(setup->comm, "the processor or GPU", architecture, err);
    if (rc)
        lw_append(err->message, sizeof err->message,
                  ": results would depend on which rank computes what; choose equal nodes, or --engine auto,allow-mixed");
    return rc;
}

static int open_pool(struct lw_setup *setup, struct lw_error *err)
{
    if (lw_options_choice(setup->options, "io") == LW_IO_COLLECTIVE)
        return LW_OK;
    /* A thread that waits for a disk needs no core, so that a rank with few cores gets at least LEAST threads. A rank bound to some
     * of the node's cores counts these; unbound ranks share all cores equally. Tests set the number with LAPWING_IO_THREADS. */
    enum { LEAST = 4, MOST = 16 };
    const char *const wanted = getenv("LAPWING_IO_THREADS");
    const int64_t given = setup->given_cores;
    const bool is_bound = given < lw_proc_node_cores();
    const int64_t share = lw_min64(lw_proc_cores(), is_bound ? given : given / lw_comm_node_size(setup->comm));
    const int n = wanted && atoi(wanted) > 0 ? atoi(wanted) : (int)lw_max64(LEAST, lw_min64(share, MOST));
    const int rc = lw_pool_create(n, &setup->pool, err);
    if (rc == LW_OK)
        lw_reader_use(setup->reader, setup->pool);
    return lw_comm_agree(setup->comm, rc, err);
}

/* Prepare --checksum: each table gets an attribute here, each array a dataset in a streamed run (stream/sums/sums.h). */
static int choose_sums(struct lw_setup *setup, struct lw_error *err)
{
    if (!lw_options_flag(setup->options, "checksum"))
        return LW_OK;
    if (!lw_hash_is_there())
        return lw_fail(err, LW_ECONFIG, "--checksum: this build of lapwing has no checksums: build it with xxHash (Debian's "
                       "libxxhash-dev)");
    if (lw_setup_result_format(setup) != LW_RESULT_HDF5)
        return lw_fail(err, LW_EUSAGE, "--checksum goes with HDF5 results only, not with FITS: give --output another name, such as "
                       "NAME.h5");
    setup->job.has_sums = true;
    for (int p = 0; p < setup->job.n_products; p++) {
        struct lw_product *const product = &setup->job.products[p];
        if (product->dataset.n_columns == 0)
            continue;
        lw_product_note_text(product, LW_WRITER_SUM, LW_WRITER_NO_SUM);
        product->attributes[product->n_attributes - 1].is_late = true;
    }
    return LW_OK;
}

static int open_files(struct lw_setup *setup, int (*open_more)(struct lw_setup *setup, struct lw_error *err), struct lw_error *err)
{
    struct lw_job *const job = &setup->job;
    struct lw_reader_request request;
    int rc;
    setup->reader = setup->kept ? *setup->kept : NULL;
    if ((rc = lw_setup_request(job->ops, setup->options, &request, err)) ||
        (rc = setup->reader ? LW_OK : lw_reader_open_all(setup->comm, &request, &setup->reader, err)))
        return rc;
    if (setup->kept)
        *setup->kept = setup->reader;
    if ((rc = open_pool(setup, err)))
        return rc;
    rc = job->ops->prepare(setup->options, setup->comm, setup->pool, lw_reader_info(setup->reader), job, err);
    rc = rc ? rc : choose_sums(setup, err);
    if ((rc = lw_comm_agree(setup->comm, rc, err)) || (rc = open_more ? open_more(setup, err) : LW_OK))
        return rc;
    const bool is_narrowed = job->op.input.scalar == LW_FLOAT64 && job->op.output.scalar == LW_FLOAT32;
    if (is_narrowed && !lw_options_given(setup->options, "output-type"))
        lw_log_info("the input is float64, the result by default float32: --output-type float64 stores float64, --precision double "
                    "also computes in it");
    return LW_OK;
}

void lw_limits_find(struct lw_comm *comm, const struct lw_engine *engine, int64_t memory, int64_t gpu_memory,
                    struct lw_limits *limits)
{
    const struct lw_memory_limit node = lw_memory_available();
    const int ranks = lw_comm_node_size(comm);
    limits->base = lw_comm_max(comm, lw_memory_resident_bytes());
    const int64_t share = lw_comm_min(comm, node.bytes / 5 * 4 / ranks);
    limits->host = memory > 0 ? memory : limits->base + share;
    if (memory > 0)
        snprintf(limits->host_source, sizeof limits->host_source, "--memory");
    else
        snprintf(limits->host_source, sizeof limits->host_source, "%s on the node, %d rank%s there", node.source, ranks,
                 ranks == 1 ? "" : "s");
    const int64_t free_bytes = lw_comm_min(comm, engine->device_bytes);
    const int sharing = (int)lw_comm_max(comm, engine->device_ranks);
    const bool is_asked = gpu_memory > 0 && gpu_memory < free_bytes;
    limits->device = is_asked ? gpu_memory : free_bytes;
    if (is_asked)
        snprintf(limits->device_source, sizeof limits->device_source, "--gpu-memory");
    else if (sharing > 1)
        snprintf(limits->device_source, sizeof limits->device_source, "free on the GPU, %d ranks share it", sharing);
    else
        snprintf(limits->device_source, sizeof limits->device_source, "free on the GPU");
}

/* Have one process, which has opened the input, stand for all ranks of the machine to plan for. */
static int move_to_machine(struct lw_setup *setup, struct lw_error *err)
{
    const struct lw_machine *const machine = setup->machine;
    char missing[LW_ENGINE_TEXT];
    const int rc = lw_comm_model(setup->comm, (int)(machine->nodes * machine->ranks_per_node), (int)machine->ranks_per_node,
                                 &setup->model, err);
    if (rc)
        return rc;
    setup->comm = setup->model;
    begin_engine(setup);
    bool has_engine = !setup->engine_spec.gpu || machine->only_cpu;
    for (int e = 1; !has_engine && lw_engines[e]; e++)
        has_engine = lw_engines[e]->is_usable(&setup->engine_spec, missing);
    if (has_engine)
        return LW_OK;
    return lw_fail(err, LW_ECONFIG, "--for, gpu %s: %s: leave gpu out, or plan with a lapwing that was built with CUDA; it needs "
                   "no GPU for that", machine->gpu->name, missing);
}

int lw_setup_open(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options,
                  const struct lw_setup_way *way, struct lw_setup *setup, struct lw_error *err)
{
    static const struct lw_setup_way no_way;
    way = way ? way : &no_way;
    const struct lw_machine *const machine = way->planned ? way->planned->machine : NULL;
    *setup = (struct lw_setup){.comm = comm, .options = options, .job = {.ops = ops}, .machine = machine,
                               .kept = way->planned ? way->planned->reader : NULL, .rates = lw_machine_rates(machine)};
    lw_formats_start();         /* sets environment variables, so it must precede the engine's warm-up */
    setup->given_cores = lw_proc_cores();
    if (!machine)
        begin_engine(setup);
    else
        lw_memory_imagine(0);       /* what opening reads, such as a bank of filters, must fit this process */
    int rc = open_files(setup, way->open_more, err);
    lw_memory_imagine(machine ? machine->memory : 0);
    lw_timeline_end(LW_START_OPENING);
    if (rc == LW_OK && machine)
        rc = move_to_machine(setup, err);
    if (rc)
        return rc;
    /* Now all ranks have examined the input. Only rank 0 examines later files; in further runs (--each), one rank of each node. */
    if (lw_comm_node_rank(comm) > 0)
        lw_shield_stop();
    else if (lw_comm_rank(comm) > 0)
        lw_shield_rest();
    if ((rc = open_engine(setup, way->model, err)) || (rc = compare_engines(setup, err)) ||
        (rc = lw_reader_check(setup->reader, &setup->job.view, err)) || (rc = check_gaps(setup, err)))
        return rc;
    lw_limits_find(setup->comm, setup->engine, lw_options_int(setup->options, "memory"),
                   lw_options_int(setup->options, "gpu-memory"), &setup->limits);
    if (setup->machine)
        setup->limits.base += lw_comm_size(setup->comm) * LW_PEER_BYTES + (setup->engine->device_bytes ? LW_DEVICE_BASE_BYTES : 0);
    lw_timeline_end(LW_START_ENGINE);
    return LW_OK;
}

void lw_setup_close(struct lw_setup *setup)
{
    lw_warm_up_end(&setup->warm_up);
    if (setup->job.ops)
        setup->job.ops->release(&setup->job);
    lw_engine_destroy(setup->engine);
    lw_reader_close(setup->map);
    if (!setup->kept)
        lw_reader_close(setup->reader);
    lw_pool_destroy(setup->pool);
    lw_comm_forget(setup->model);
}

static const char *const hdf5[] = {".h5", ".hdf5", ".hdf", ".he5", ".nc"}, *const fits[] = {".fits", ".fit", ".fts"};
static const char *const others[] = {".png", ".jpg", ".jpeg", ".gif",   ".bmp", ".svg", ".pdf", ".ps",
                                     ".eps", ".tif", ".tiff", ".npy",   ".npz", ".mat", ".csv", ".txt",
                                     ".fil", ".sgy", ".segy", ".mseed", ".wav", ".gz",  ".zip"};

static bool is_among(const char *const *endings, size_t n, const char *ending)
{
    for (size_t e = 0; e < n; e++)
        if (strcasecmp(endings[e], ending) == 0)
            return true;
    return false;
}

const char *lw_setup_ending(const char *name)
{
    const char *const dot = strrchr(lw_last_part(name), '.');
    const bool is_known =
        dot && (is_among(hdf5, sizeof hdf5 / sizeof *hdf5, dot) || is_among(fits, sizeof fits / sizeof *fits, dot) ||
                is_among(others, sizeof others / sizeof *others, dot));
    return is_known ? dot : name + strlen(name);
}

enum lw_result_format lw_setup_result_format(const struct lw_setup *setup)
{
    const char *const output = lw_options_text(setup->options, "output"), *const ending = output ? lw_setup_ending(output) : "";
    return ending != output && is_among(fits, sizeof fits / sizeof *fits, ending) ? LW_RESULT_FITS : LW_RESULT_HDF5;
}

/* Do the work of lw_setup_check_output, on rank 0. */
static int check_output(const struct lw_setup *setup, struct lw_error *err)
{
    const char *const output = lw_options_text(setup->options, "output");
    struct lw_result_file result;
    int rc;
    if (output && lw_reader_has_file(setup->reader, output))
        return lw_fail(err, LW_EUSAGE, "--output %s is also the input: give the result a file of its own", output);
    if (!output)
        return lw_fail(err, LW_EUSAGE, "--output is missing: give the file for the result");
    const char *const ending = lw_setup_ending(output);
    if (is_among(others, sizeof others / sizeof *others, ending))       /* results do not have this format */
        return lw_fail(err, LW_EUSAGE, "--output %s: results are HDF5%s: name it %.*s.h5; 'lapwing plot' makes pictures of results",
                       output, setup->job.makes_images ? " or FITS" : "", (int)(ending - output), output);
    if (lw_setup_result_format(setup) != LW_RESULT_HDF5 && !setup->job.makes_images)
        return lw_fail(err, LW_EUSAGE, "--output %s: FITS is for results of images, which %s does not make; give it another name, "
                       "such as %s.h5", output, setup->job.ops->name, output);
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
    int rc = lw_comm_rank(setup->comm) == 0 ? lw_job_check_inputs(&setup->job, err) : LW_OK;
    const struct lw_dataset_info *const input = lw_reader_info(setup->reader);
    if (rc == LW_OK && (input->n_files > 1 || input->before > 0 || input->after > 0))
        rc = lw_reader_check_unchanged(setup->reader, err);
    if (rc == LW_OK && setup->map && lw_reader_info(setup->map)->n_files > 1)
        rc = lw_reader_check_unchanged(setup->map, err);
    return lw_comm_agree(setup->comm, rc, err);
}
