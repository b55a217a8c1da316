/* arena.h - an allocation on a device that is carved into parts (base/arena.h). */
#pragma once

#include "base/arena.h"

#define LW_DEVICE_PAGE ((int64_t)2 << 20)   /* cudaMalloc takes device memory in pages of this size */

/** Device bytes that an allocation of `bytes` takes. */
static inline int64_t lw_device_bytes(int64_t bytes)
{
    return (bytes + LW_DEVICE_PAGE - 1) / LW_DEVICE_PAGE * LW_DEVICE_PAGE;
}
