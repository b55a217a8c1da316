#include "setup/limits.h"

#include "base/memory.h"

#include <stdio.h>

static void find_host(struct lw_comm *comm, int64_t memory, struct lw_limits *limits)
{
    const struct lw_memory_limit node = lw_memory_available();
    const int ranks = lw_comm_node_size(comm);
    limits->base = lw_comm_max(comm, lw_memory_resident_bytes());
    /* a fifth stays free for the page cache, through which the files pass */
    const int64_t share = lw_comm_min(comm, node.bytes / 5 * 4 / ranks);
    limits->host = memory > 0 ? memory : limits->base + share;
    if (memory > 0)
        snprintf(limits->host_source, sizeof limits->host_source, "--memory");
    else
        snprintf(limits->host_source, sizeof limits->host_source, "%s on the node, %d rank%s there", node.source, ranks,
                 ranks == 1 ? "" : "s");
}

static void find_device(struct lw_comm *comm, const struct lw_engine *engine, int64_t memory, struct lw_limits *limits)
{
    const int64_t free_bytes = lw_comm_min(comm, engine->device_bytes);
    const int sharing = (int)lw_comm_max(comm, engine->device_ranks);
    const bool is_asked = memory > 0 && memory < free_bytes;
    limits->device = is_asked ? memory : free_bytes;
    if (is_asked)
        snprintf(limits->device_source, sizeof limits->device_source, "--gpu-memory");
    else if (sharing > 1)
        snprintf(limits->device_source, sizeof limits->device_source, "free on the GPU, %d ranks share it", sharing);
    else
        snprintf(limits->device_source, sizeof limits->device_source, "free on the GPU");
}

void lw_limits_find(struct lw_comm *comm, const struct lw_engine *engine, int64_t memory, int64_t gpu_memory,
                    struct lw_limits *limits)
{
    *limits = (struct lw_limits){0};
    find_host(comm, memory, limits);
    find_device(comm, engine, gpu_memory, limits);
}
