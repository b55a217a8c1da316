/* device.h - the GPU that this rank drives, and its context. No context is created on any other device. */
#pragma once

#include "base/linkage.h"
#include "engine/engine.h"

LW_C_BEGIN

struct lw_device {
    int index;                      /* number among the visible devices */
    char name[256];
    char uuid[LW_DEVICE_ID];        /* "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", as nvidia-smi prints it */
    char bus[16];                   /* PCI bus address: "0000:1b:00.0" */
    int major, minor;               /* compute capability */
    int n_multiprocessors;
    int shared_bytes;               /* largest shared memory of a block */
    int64_t memory_bytes;
    int64_t usable_bytes;           /* free bytes once the context exists; ranks that share the device divide them */
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
 * LW_ECONFIG if the node has more ranks than visible devices and they may not share. LW_ESYSTEM if there is no device, or this
 * build cannot use it. */
int lw_device_open(const struct lw_engine_spec *spec, struct lw_device *device, struct lw_error *err);

/** Create the context ahead of lw_device_open, which finds it ready and reports any failure. May run on any thread. */
void lw_device_warm_up(const struct lw_engine_spec *spec);

/** Return whether lw_device_open would find a device; `text` names it, or tells what is missing. Creates no context. */
bool lw_device_is_usable(const struct lw_engine_spec *spec, char text[LW_ENGINE_TEXT]);

LW_C_END
