/* device.h - which GPU this rank drives. Creates a context on that one only. */
#pragma once

#include "base/linkage.h"
#include "engine/engine.h"

LW_C_BEGIN

struct lw_device {
    int index;                      /* among the visible devices */
    char name[256];
    char uuid[LW_DEVICE_ID];        /* "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", as nvidia-smi prints it */
    char bus[16];                   /* its place on the PCI bus: "0000:1b:00.0" */
    int major, minor;               /* compute capability */
    int n_multiprocessors;
    int shared_bytes;               /* most that a block may use */
    int64_t memory_bytes;
    int64_t usable_bytes;           /* what is free after the context was made; ranks that share it divide it */
};

struct lw_cuda_engine {
    struct lw_engine base;
    struct lw_device device;
};

static inline const struct lw_device *lw_cuda_device_of(const struct lw_engine *engine)
{
    return &((const struct lw_cuda_engine *)engine)->device;
}

/** Take device `node_rank` modulo the visible devices and create its context.
 * LW_ECONFIG if more ranks are on the node than devices are visible and they may not share; LW_ESYSTEM if there is none
 * or it cannot be used by this build. */
int lw_device_open(const struct lw_engine_spec *spec, struct lw_device *device, struct lw_error *err);

/** Make the context that lw_device_open will take, which then finds it there and reports what has failed. On any thread. */
void lw_device_warm_up(const struct lw_engine_spec *spec);

/** Whether lw_device_open would find a device for this rank, and which, or what is missing. Creates no context. */
bool lw_device_is_usable(const struct lw_engine_spec *spec, char text[LW_ENGINE_TEXT]);

LW_C_END
