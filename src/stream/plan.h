/* plan.h - the plan of a run: rounds, slices, buffers and bytes, chosen before any large allocation. */
#pragma once

#include "comm/halo.h"
#include "setup/setup.h"
#include "stream/window.h"

/* Bytes of one rank by purpose, in addition to limits.base: host memory, except for `device`. */
struct lw_plan_bytes {
    int64_t files;              /* HDF5 and MPI, reader, writer, checksums, with the buffers of their threads */
    int64_t halo;               /* carry and messages (comm/halo.h), boundary samples (window.h), mask */
    int64_t engine;             /* pageable: slots, filters, FFT work space, peaks; or noise or spectrum before, if larger */
    int64_t pinned;
    int64_t device;
};

struct lw_plan {
    struct lw_op_spec spec;     /* the operation: the job's, with as many filters as the engine holds at a time */
    struct lw_op_plan op;
    struct lw_rounds rounds;
    int depth;                  /* number of slots */
    enum lw_chunks chunks;      /* how chunks of the input are read */
    bool reads_ahead;           /* the filters of the next group are read while these are in use */
    struct lw_plan_bytes bytes;
    struct lw_limits limits;
    int64_t input_bytes, output_bytes;      /* totals of all ranks */
    double compute_seconds, read_seconds, write_seconds;    /* estimates for the whole run, s */
    double copy_seconds;                    /* copies to a device or from it, whichever take longer, s */
    double halo_seconds;                    /* time of all rounds' halos on the network, s; overlaps nothing */
    double busy_seconds;                    /* compute_seconds if all threads were always busy, s */
    double mesh_seconds;                    /* time of the pass for the mesh, s; overlaps nothing */
    double filter_seconds;                  /* time to read and prepare the filters, s; overlaps nothing */
    double round_seconds;                   /* cost of all rounds that does not depend on their size, s; overlaps nothing */
    struct lw_chunk_cost chunk_cost;        /* cost of decoding chunks, or of reading them more than once */
    bool cores_decode;                      /* the cores that compute decode chunks, too */
    double piece_seconds;                   /* cost of writing the result's rows in pieces, s; added to write_seconds */
};

/* Input of planning. All members are borrowed during the call. */
struct lw_plan_spec {
    struct lw_comm *comm;
    const struct lw_job *job;
    const struct lw_engine *engine;
    const struct lw_reader *reader;
    const struct lw_reader *map;        /* NULL: no map of weights */
    const struct lw_mask *mask; /* NULL: no mask */
    struct lw_limits limits;
    const struct lw_rates *rates;
    enum lw_split split;
    int n_io_threads;           /* threads of the pool, which read and write; 0: no pool */
};

/** Return the computed values of the whole job, and of one output of a filter. */
double lw_plan_values(const struct lw_plan *plan);
int64_t lw_plan_output_values(const struct lw_plan *plan);

/** Return all host bytes of one rank, limits.base included. */
int64_t lw_plan_host_bytes(const struct lw_plan *plan);

/** Return the estimated times of the rounds, and their seconds; computing overlaps reading and writing. */
struct lw_run_model lw_plan_times(const struct lw_plan *plan);
double lw_plan_seconds(const struct lw_plan *plan);
double lw_plan_serial_seconds(const struct lw_plan *plan);     /* the same if nothing overlapped */

/** Plan a run: plan the engine's operation, then choose the largest rounds (up to a size that overlaps well) that fit the memory
 * of every rank. A chunked input gets rounds that fit its chunks if these are estimated to be clearly faster. LW_ECONFIG: the
 * smallest round does not fit (the message names its bytes and the limit), or 64 bits cannot count the bytes. Collective. */
int lw_plan_make(const struct lw_plan_spec *spec, struct lw_plan *plan, struct lw_error *err);

/** Model a run on an engine that only plans, see lw_run_model_fn. */
int lw_plan_model(struct lw_comm *comm, const struct lw_job *job, const struct lw_engine *engine, const struct lw_rates *rates,
                  struct lw_run_model *model, struct lw_error *err);

/** Plan the run of a setup like lw_plan_make. Also sets setup->algorithm, and describes the checksums in the job. */
int lw_plan_make_for(struct lw_setup *setup, struct lw_plan *plan, struct lw_error *err);

/** Return the bytes of one sample of one channel of the input; images: of a row of pixels. */
int64_t lw_plan_input_bytes(const struct lw_job *job, const struct lw_op_plan *op);

/** Return the halo, window and view of a plan. The window borrows `reader`, whose view the caller selects. */
struct lw_halo_spec lw_plan_halo(const struct lw_plan *plan, const struct lw_job *job);
struct lw_window_spec lw_plan_window(const struct lw_plan *plan, const struct lw_job *job, struct lw_reader *reader);
struct lw_view_spec lw_plan_view(const struct lw_plan *plan, const struct lw_job *job);

/** Print the plan in words on standard output. Rank 0 only. */
void lw_plan_print(const struct lw_setup *setup, const struct lw_plan *plan);
