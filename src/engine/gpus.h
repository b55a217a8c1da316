/* gpus.h - GPUs by name, for plans of machines that are not here: their properties, and their speed beside that of the models. */
#pragma once

#include "base/linkage.h"

#include <stdbool.h>
#include <stdint.h>

LW_C_BEGIN

/* X(NAME, capability x 10, multiprocessors, KiB of shared memory of a block, GiB of memory, GB/s of the memory, GB/s of the link
 * each way). The models are measured on H200 and H100, whose kernels differ by a few percent. Other GPUs' times are derived:
 * kernels of long series take as long as their memory does. */
#define LW_GPUS(X)                             \
    X(H200, 90, 132, 227, 139.8, 4800, 45)     \
    X(H100, 90, 132, 227, 79.1, 3350, 45)      \
    X(A100, 80, 108, 163, 79.3, 2039, 22)      \
    X(A100_40GB, 80, 108, 163, 39.4, 1555, 22) \
    X(A40, 86, 84, 99, 44.4, 696, 22)          \
    X(L40S, 89, 142, 99, 44.4, 864, 22)

struct lw_gpu {
    const char *name;
    int capability;                 /* 90 means 9.0 */
    int n_multiprocessors;
    int shared_bytes;               /* most dynamic shared memory of a thread block */
    int64_t memory_bytes;
    double link_rate;               /* modelled bytes per second to the device, and from it at the same time */
    double slowness;                /* its seconds for one second of the models */
    bool is_derived;
};

/* The GPUs in the order of LW_GPUS. */
extern const struct lw_gpu lw_gpus[];

LW_C_END
