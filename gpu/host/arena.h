/* arena.h - the device memory that an allocation occupies, including its last page; base/arena.h carves allocations into parts. */
#pragma once

#include "base/arena.h"

#define LW_DEVICE_PAGE ((int64_t)2 << 20)   /* bytes of a page, the unit in which cudaMalloc takes device memory */

/** Return the bytes of device memory that an allocation of `bytes` occupies: whole pages. */
static inline int64_t lw_device_bytes(int64_t bytes)
{
    return (bytes + LW_DEVICE_PAGE - 1) / LW_DEVICE_PAGE * LW_DEVICE_PAGE;
}
