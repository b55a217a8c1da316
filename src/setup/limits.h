/* limits.h - the memory that each rank of a run may use: one rule for every job. */
#pragma once

#include "comm/comm.h"
#include "engine/engine.h"

/* What HDF5, the MPI file layer and messages were seen to take beyond the program's own buffers, with a margin. */
#define LW_FILE_LAYER_BYTES ((int64_t)24 << 20)

/* The same on every rank. */
struct lw_limits {
    int64_t base;               /* resident already, on the rank where most is: after MPI, engine and files have started */
    int64_t host;               /* host memory of a rank, the base included */
    int64_t device;             /* device memory of a rank; 0: the engine has no device */
    char host_source[160];      /* "--memory", "available memory on the node, 4 ranks there" */
    char device_source[64];     /* "--gpu-memory", "free on the GPU, 2 ranks share it" */
};

/** What was asked for; by default the base and a share of what the tightest node has, less a fifth for the page cache, and
 * what is free on the fullest device, which is also the most that may be asked for. Collective.
 * @param memory, gpu_memory  what was asked for, bytes; 0: nothing */
void lw_limits_find(struct lw_comm *comm, const struct lw_engine *engine, int64_t memory, int64_t gpu_memory,
                    struct lw_limits *limits);
