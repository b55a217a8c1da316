#include "io/codecs/shuffle.h"

#include <string.h>

/* Elements of a size that the compiler knows. */
static inline __attribute__((always_inline)) void gather(const char *restrict from, int64_t n, char *restrict to, int64_t size)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t b = 0; b < size; b++)
            to[i * size + b] = from[b * n + i];
}

void lw_shuffle_restore(const char *restrict from, int64_t bytes, char *restrict to, int64_t size)
{
    const int64_t n = bytes / size;
    switch (size) {
    case 1: memcpy(to, from, (size_t)n); break;
    case 2: gather(from, n, to, 2); break;
    case 4: gather(from, n, to, 4); break;
    case 8: gather(from, n, to, 8); break;
    case 16: gather(from, n, to, 16); break;
    default: gather(from, n, to, size);
    }
    memcpy(to + n * size, from + n * size, (size_t)(bytes - n * size));
}
