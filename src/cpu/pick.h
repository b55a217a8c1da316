/* pick.h - every so-many-th of working samples. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** to[i to_stride] = from[i from_stride], i < count. The two may overlap where `to` does not run ahead of `from`.
 * @param bytes  of a sample: 4, 8 or 16 */
void lw_cpu_pick(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t count, size_t bytes);
