/* calls.h - pread, pwrite and madvise as the program under test meets them: each may be made to fail, or to do half of
 * it. The linker puts these in the place of the C library's (--wrap). */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum mishap { NO_MISHAP, INTERRUPTED, SHORT, NOTHING, FAULTY, OVER_QUOTA, PRETENDED };

/* What happens to each `every`-th call of pread or pwrite, from the first on. */
struct mishaps {
    enum mishap kind;
    int every;
    atomic_int seen;
    atomic_size_t longest;      /* call that was pretended: nothing is moved, all of it is said to be */
    unsigned char *seen_at;     /* if not NULL, counts the calls that begin in each MiB of the file */
    bool is_kernel_old;         /* madvise knows nothing of huge pages on request */
};
extern struct mishaps mishaps;

void mishaps_set(enum mishap kind, int every);
