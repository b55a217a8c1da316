/* calls.h - replacements for pread, pwrite and madvise in the program under test: each call may fail, or transfer half of its
 * bytes. The linker's --wrap puts them in place of the C library's. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum mishap { NO_MISHAP, INTERRUPTED, SHORT, NOTHING, FAULTY, OVER_QUOTA, PRETENDED };

/* The mishap of each `every`-th call of pread or pwrite, beginning with the first. */
struct mishaps {
    enum mishap kind;
    int every;
    atomic_int seen;
    atomic_size_t longest;      /* length of the longest call with the mishap PRETENDED, which transfers nothing and reports
                                 * success */
    unsigned char *seen_at;     /* if not NULL, counts for each MiB of the file the calls that begin there */
    bool is_kernel_old;         /* madvise refuses huge pages on request */
};
extern struct mishaps mishaps;

void mishaps_set(enum mishap kind, int every);
