/* setup.h - what every run needs before it can be planned, whatever its job.
 *
 *     options --> lw_setup_open: input opened, job prepared, engine type chosen (choice.h; its warm-up runs meanwhile if --engine
 *                                names it), engine created, devices compared (devices.h), limits of memory found
 *             --> a plan, made in stream/ or sparse/; planned.h prints it
 *             --> result.h, which creates the result with its provenance and finishes it
 *                 flaws.h and report.h, which collect faults of the data and times while the run goes on */
#pragma once

#include "engine/warm_up.h"
#include "job/job.h"
#include "setup/machine.h"

struct lw_mask;
struct lw_planned;

/* Choices of --resume, in their order. */
enum lw_resume { LW_RESUME_AUTO, LW_RESUME_NEVER, LW_RESUME_REQUIRE };

/* Key of a journal's line with what lw_setup_architecture returns: an interrupted run goes on with this engine and processor. */
#define LW_ARCHITECTURE_KEY "processor or GPU"

/* Host bytes that HDF5, MPI's files and MPI's messages take beyond the program's own buffers: measured, plus a margin. */
#define LW_FILE_LAYER_BYTES ((int64_t)24 << 20)

/* Host bytes that MPI takes of a rank for each rank of the run: measured on one node (tests/bench/results/scaling.md). */
#define LW_PEER_BYTES ((int64_t)52 << 10)

/* Host bytes that a device's driver and context take of a rank: measured on an H200 (tests/bench/results/scale/messages.md). */
#define LW_DEVICE_BASE_BYTES ((int64_t)103 << 20)

/* Memory that each rank of a run may use, in bytes, the same on every rank. */
struct lw_limits {
    int64_t base;               /* resident memory after MPI, engine and files have started, of the rank with the most */
    int64_t host;               /* host memory of a rank, the base included */
    int64_t device;             /* device memory of a rank; 0: the engine has no device */
    char host_source[160];      /* source of `host`: "--memory", or "available memory on the node, 4 ranks there" */
    char device_source[64];     /* source of `device`: "--gpu-memory", or "free on the GPU, 2 ranks share it" */
};

/* Modelled seconds of a whole run on an engine. */
struct lw_run_model {
    double start;               /* driver and context of a device */
    double prepare;             /* spectra of the filters */
    double compute;
    double copy;                /* the longer of the copies to the device and from it */
    double read, write;         /* reading and writing of files, which share the storage */
    double halo;                /* exchange of halos */
    double messages;            /* what rounds take whatever their size: waiting for threads, and for messages of other ranks */
    bool is_in_turn;            /* computing, copies and files come one after the other; else at the same time */
};

/* A function that models a prepared job on an engine, but for `start`. LW_ECONFIG: the engine cannot do it. Collective; every rank
 * returns the same code.
 * @param engine  an engine for planning alone */
typedef int lw_run_model_fn(struct lw_comm *comm, const struct lw_job *job, const struct lw_engine *engine,
                            const struct lw_rates *rates, struct lw_run_model *model, struct lw_error *err);

/** Return the modelled seconds of a whole run. Computing, copies and files overlap unless is_in_turn; the rest does not. */
double lw_run_model_seconds(const struct lw_run_model *model);

/** Return what limits a modelled run, in a word: "reading", "computing", "messages". */
const char *lw_run_model_limit(const struct lw_run_model *model);

struct lw_setup {
    struct lw_comm *comm;               /* borrowed; `model` if there is a machine and the input is open */
    struct lw_comm *model;              /* owned; the ranks of the machine */
    const struct lw_machine *machine;   /* borrowed; the machine to plan for; NULL: the ranks that are here */
    struct lw_rates rates;              /* rates for the plan */
    const struct lw_options *options;   /* borrowed */
    struct lw_pool *pool;               /* owned; I/O threads; NULL with --io collective */
    struct lw_reader *reader;           /* owned, unless it is `kept`; reader of the input; uses `pool` */
    struct lw_reader **kept;            /* borrowed; where the reader is left for the next plan; NULL: nowhere */
    struct lw_reader *map;              /* owned; reader of the map of weights, opened by stream.c; NULL: none */
    struct lw_mask *mask;               /* mask of a streamed run, opened and closed by stream.c; NULL: none */
    const struct lw_engine_type *engine_type;
    int given_cores;                /* CPU cores of this rank before it is pinned near its device */
    struct lw_engine_spec engine_spec;
    char engine_choice[LW_ENGINE_TEXT + 128];   /* engine type and the reason for it, for the log */
    char engine_times[160];             /* times of engines by which engine_type was chosen; "": it was not */
    struct lw_warm_up warm_up;          /* starts engine_type in another thread, while the input is opened if --engine names it */
    struct lw_engine *engine;
    struct lw_job job;
    struct lw_limits limits;
    char engine_text[160];              /* processor or GPU that the engine runs on */
    char algorithm[160];                /* algorithm in words, for the provenance; set when the plan is made */
};

/** Set the reader's request from the options. LW_EUSAGE: --input is missing, or options on its format contradict each other.
 * @param request  borrows texts from the options */
int lw_setup_request(const struct lw_job_ops *ops, const struct lw_options *options, struct lw_reader_request *request,
                     struct lw_error *err);

/* The parts that a way to run adds to the setup. */
struct lw_setup_way {
    int (*open_more)(struct lw_setup *setup, struct lw_error *err);     /* open what the run needs beside the input (a mask), once
                                                                           the job is prepared; collective; NULL: nothing */
    lw_run_model_fn *model;             /* model the run, for --engine auto */
    const struct lw_planned *planned;   /* plan for its machine alone, with its reader; NULL: for the ranks that are here */
};

/** Write the engine's name and its instruction set or GPU architecture, which the bits of results depend on. */
void lw_setup_architecture(const struct lw_setup *setup, char *text, size_t size);

/** Open the input, prepare the job, create the engine, find the limits. Collective; every rank returns the same code. `setup` may
 * be closed whatever the outcome.
 * @param way  NULL: nothing is added, and --engine auto takes a device wherever it is usable */
int lw_setup_open(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options,
                  const struct lw_setup_way *way, struct lw_setup *setup, struct lw_error *err);
void lw_setup_close(struct lw_setup *setup);    /* Collective. */

/** Find the limits of memory. Host: --memory, else the base plus a rank's share of 4/5 of the available memory of the tightest
 * node; a fifth is left to the page cache. Device: free memory of the fullest device, or --gpu-memory if less. Collective.
 * @param memory, gpu_memory  values of --memory and --gpu-memory, bytes; 0: not given */
void lw_limits_find(struct lw_comm *comm, const struct lw_engine *engine, int64_t memory, int64_t gpu_memory,
                    struct lw_limits *limits);

/** Return the result's format, which the ending of --output chooses: FITS or HDF5. */
enum lw_result_format lw_setup_result_format(const struct lw_setup *setup);

/** Return the ending of a file's name, such as ".h5" or ".png", if it is a known format's; else "". */
const char *lw_setup_ending(const char *name);

/** Check, before hours of work, that --output can be created and is not an input. LW_EUSAGE, LW_EIO. Collective. */
int lw_setup_check_output(const struct lw_setup *setup, struct lw_error *err);

/** Check after the last read that the inputs have not changed since they were opened, see lw_job_check_inputs. Collective. */
int lw_setup_check_inputs(const struct lw_setup *setup, struct lw_error *err);
