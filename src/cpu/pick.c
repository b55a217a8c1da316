#include "cpu/pick.h"

#include <string.h>

/* The lengths are spelled out, so that no call is made per sample. */
void lw_cpu_pick(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t count, size_t bytes)
{
#define X(size)                                                                                             \
    case size:                                                                                              \
        for (int64_t i = 0; i < count; i++)                                                                 \
            memmove(to + (size_t)(i * to_stride) * size, from + (size_t)(i * from_stride) * size, size);    \
        break;
    switch (bytes) {
        X(4)
        X(8)
        X(16)
    }
#undef X
}
