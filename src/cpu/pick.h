/* pick.h - every D-th of working samples. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** to[i] = from[every i], i < count. @param to  <= from @param bytes  of a working sample: 4, 8 or 16 */
void lw_cpu_pick(char *to, const char *from, int64_t count, int64_t every, size_t bytes);
