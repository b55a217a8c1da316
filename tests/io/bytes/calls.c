#include "calls.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

struct mishaps mishaps;

ssize_t __real_pread(int fd, void *into, size_t bytes, off_t offset);
ssize_t __real_pwrite(int fd, const void *from, size_t bytes, off_t offset);
int __real_madvise(void *at, size_t bytes, int advice);
ssize_t __wrap_pread(int fd, void *into, size_t bytes, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *from, size_t bytes, off_t offset);
int __wrap_madvise(void *at, size_t bytes, int advice);

void mishaps_set(enum mishap kind, int every)
{
    mishaps.kind = kind;
    mishaps.every = every;
    mishaps.seen = 0;
    mishaps.longest = 0;
    mishaps.seen_at = NULL;
}

static enum mishap next(void)
{
    if (mishaps.kind == NO_MISHAP)
        return NO_MISHAP;
    return atomic_fetch_add(&mishaps.seen, 1) % mishaps.every == 0 ? mishaps.kind : NO_MISHAP;
}

static void note_length(size_t bytes)
{
    size_t longest = mishaps.longest;
    while (bytes > longest && !atomic_compare_exchange_weak(&mishaps.longest, &longest, bytes))
        ;
}

/* Whether the real call is made, for *bytes; otherwise *result and errno are the answer. */
static bool goes_on(enum mishap mishap, size_t *bytes, ssize_t *result)
{
    *result = mishap == NOTHING ? 0 : mishap == PRETENDED ? (ssize_t)*bytes : -1;
    errno = mishap == INTERRUPTED ? EINTR : mishap == OVER_QUOTA ? EDQUOT : EIO;
    if (mishap == SHORT)
        *bytes = (*bytes + 1) / 2;
    if (mishap == PRETENDED)
        note_length(*bytes);
    return mishap == NO_MISHAP || mishap == SHORT;
}

ssize_t __wrap_pread(int fd, void *into, size_t bytes, off_t offset)
{
    ssize_t result;
    if (mishaps.seen_at)
        __atomic_fetch_add(&mishaps.seen_at[offset >> 20], 1, __ATOMIC_RELAXED);
    return goes_on(next(), &bytes, &result) ? __real_pread(fd, into, bytes, offset) : result;
}

ssize_t __wrap_pwrite(int fd, const void *from, size_t bytes, off_t offset)
{
    ssize_t result;
    return goes_on(next(), &bytes, &result) ? __real_pwrite(fd, from, bytes, offset) : result;
}

int __wrap_madvise(void *at, size_t bytes, int advice)
{
    if (!mishaps.is_kernel_old || advice != MADV_COLLAPSE)
        return __real_madvise(at, bytes, advice);
    errno = EINVAL;
    return -1;
}
