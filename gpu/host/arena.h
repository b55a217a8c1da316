/* arena.h - sizes of device allocations that are carved into parts (base/arena.h). */
#pragma once

#include "base/arena.h"

#define LW_DEVICE_PAGE ((int64_t)2 << 20)   /* page size in which cudaMalloc takes device memory */

/** Return the device bytes that an allocation of `bytes` occupies. */
static inline int64_t lw_device_bytes(int64_t bytes)
{
    return (bytes + LW_DEVICE_PAGE - 1) / LW_DEVICE_PAGE * LW_DEVICE_PAGE;
}
