/* device.h - the GPU that this rank drives (the device), and its CUDA context. The rank creates no context on any other GPU. */
#pragma once

#include "engine/engine.h"

LW_C_BEGIN

struct lw_device {
    int index;                      /* number among the visible devices */
    char name[256];
    char uuid[LW_DEVICE_ID];        /* "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", as nvidia-smi prints it */
    char bus[16];                   /* PCI bus address: "0000:1b:00.0" */
    int major, minor;               /* compute capability */
    int n_multiprocessors;
    int shared_bytes;               /* most dynamic shared memory of a thread block */
    int64_t memory_bytes;           /* memory of the device */
    int64_t usable_bytes;           /* 95% of the bytes free once the context exists, or of all if the engine only plans; ranks that
                                       share the device divide them */
};

struct lw_cuda_engine {
    struct lw_engine base;
    struct lw_device device;
};

static inline const struct lw_device *lw_cuda_device_of(const struct lw_engine *engine)
{
    return &((const struct lw_cuda_engine *)engine)->device;
}

/** Choose the visible device whose number is spec->node_rank modulo their count, create its context (but not if the engine only
 * plans), and fill *device.
 * LW_ECONFIG if the node has more ranks than visible devices, and ranks may not share a device. LW_ESYSTEM if there is no device,
 * or this build has no code for the chosen device. */
int lw_device_open(const struct lw_engine_spec *spec, struct lw_device *device, struct lw_error *err);

/** Create the context before lw_device_open, to save its time there; lw_device_open reports any failure. May run on any thread. */
void lw_device_warm_up(const struct lw_engine_spec *spec);

/** Return whether lw_device_open would find a device. `text` names the device, or tells why there is none. Creates no context. */
bool lw_device_is_usable(const struct lw_engine_spec *spec, char text[LW_ENGINE_TEXT]);

LW_C_END
