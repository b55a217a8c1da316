/* setup.h - from options to something that can be planned: input opened, job prepared, engine created, limits found. The same
 * for every job. */
#pragma once

#include "base/pool.h"
#include "comm/comm.h"
#include "engine/warm_up.h"
#include "job/job.h"

struct lw_mask;

/* What HDF5, the MPI file layer and messages were seen to take beyond the program's own buffers, with a margin. */
#define LW_FILE_LAYER_BYTES ((int64_t)24 << 20)

/* The memory that each rank of a run may use: the same on every rank. */
struct lw_limits {
    int64_t base;               /* resident already, on the rank where most is: after MPI, engine and files have started */
    int64_t host;               /* host memory of a rank, the base included */
    int64_t device;             /* device memory of a rank; 0: the engine has no device */
    char host_source[160];      /* "--memory", "available memory on the node, 4 ranks there" */
    char device_source[64];     /* "--gpu-memory", "free on the GPU, 2 ranks share it" */
};

struct lw_setup {
    struct lw_comm *comm;               /* borrowed */
    const struct lw_options *options;   /* borrowed */
    struct lw_pool *pool;               /* the I/O threads; NULL with --io collective */
    struct lw_reader *reader;           /* reads with them */
    struct lw_mask *mask;               /* of a streamed run's --mask, which opens and closes it; NULL: none */
    const struct lw_engine_type *engine_type;
    int given_cores;                /* that this rank was started with */
    struct lw_engine_spec engine_spec;
    char engine_choice[LW_ENGINE_TEXT + 128];   /* which type was taken and why, for the log */
    struct lw_warm_up warm_up;          /* of that type, while the input is opened */
    struct lw_engine *engine;
    struct lw_job job;
    struct lw_limits limits;
    char engine_text[160];              /* what it runs on */
    char algorithm[160];                /* what computes, in words; for the provenance, set by whoever plans */
};

/** What the options ask to be read. LW_EUSAGE: nothing. @param request  borrows from the options */
int lw_setup_request(const struct lw_job_ops *ops, const struct lw_options *options, struct lw_reader_request *request,
                     struct lw_error *err);

/** Collective; every rank returns the same code. `setup` may be closed whatever the outcome.
 * @param open_more  what a way of running opens beside the input, once the job is prepared; collective; NULL: nothing */
int lw_setup_open(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options,
                  int (*open_more)(struct lw_setup *setup, struct lw_error *err), struct lw_setup *setup, struct lw_error *err);
void lw_setup_close(struct lw_setup *setup);    /* Collective. */

/** The memory that was asked for; by default the base and a share of what the tightest node has, less a fifth for the page cache,
 * and what is free on the fullest device, which is also the most that may be asked for. Collective.
 * @param memory, gpu_memory  what was asked for, bytes; 0: nothing */
void lw_limits_find(struct lw_comm *comm, const struct lw_engine *engine, int64_t memory, int64_t gpu_memory,
                    struct lw_limits *limits);

/** The format of the result: what the name of --output ends with. */
enum lw_result_format lw_setup_result_format(const struct lw_setup *setup);

/** Where the ending of a name begins that names a format of files, that of results or another: ".h5", ".png"; "" if it has none. */
const char *lw_setup_ending(const char *name);

/** Hours of work must not end in a file that cannot be made, or that is an input. LW_EUSAGE, LW_EIO. Collective. */
int lw_setup_check_output(const struct lw_setup *setup, struct lw_error *err);

/** After the last read: the inputs are still those that were opened, see lw_job_check_inputs. Collective. */
int lw_setup_check_inputs(const struct lw_setup *setup, struct lw_error *err);
