#include "io/bytes/mapping.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/bytes/transfer.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25        /* in Linux from 6.1 on, in the C library's headers later */
#endif

/* Refusals one after the other before huge pages are no longer asked for: on a file that is not in memory, say. */
enum { MOST_REFUSALS = 8 };

struct lw_mapping {
    int fd;
    int64_t file_bytes;
    atomic_int n_refusals;      /* of huge pages, since the last that was made */
    char *reserved;             /* addresses */
    int64_t reserved_bytes;
    char *windows;              /* in them, aligned as huge pages must be: LW_MAPPING_BYTES of each thread */
    int64_t units[];            /* which part of the file a thread's window shows; NONE at first */
};
#define NONE (-1)

/* ---- SIGBUS --------------------------------------------------------------------------------------------------------- */

/* The window that a thread is filling, and where it goes on if that fails. */
struct guard {
    sigjmp_buf out;
    const char *begin, *end;
};

static _Thread_local struct guard *volatile guarded;
static struct sigaction before;

/* A signal of another cause: the instruction that caused it is tried again and meets the former action; one that was sent is
 * sent again. */
static void on_bus_error(int signal, siginfo_t *info, void *context)
{
    (void)context;
    struct guard *const guard = guarded;
    const char *const at = info->si_addr;
    const bool is_sent = info->si_code <= 0;
    if (guard && !is_sent && at >= guard->begin && at < guard->end)
        siglongjmp(guard->out, 1);
    sigaction(SIGBUS, &before, NULL);
    if (is_sent)
        raise(signal);
}

static void install(void)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &before);
}

static void install_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install);
}

/* Have one huge page in the place of 512 pages. Each page of a file is entered under the file's lock: on a RAM disk, that bounds
 * all threads together at the rate of about four, and zeroing pages one by one takes as long as filling them. There has to be a
 * page already, which looking at it makes. Whoever else writes there meanwhile is not disturbed. */
static void make_huge(struct lw_mapping *mapping, char *window)
{
    (void)*(const volatile char *)window;
    if (madvise(window, (size_t)LW_MAPPING_BYTES, MADV_COLLAPSE) == 0)
        mapping->n_refusals = 0;
    else
        mapping->n_refusals++;
}

/* Bytes from memory to their place in a window. false: the file has none there. The jump restores the mask, or else the signal
 * would stay blocked. */
static bool fill(struct lw_mapping *mapping, char *window, int64_t place, const char *from, int64_t bytes, bool is_huge)
{
    struct guard guard = {.begin = window, .end = window + LW_MAPPING_BYTES};
    if (sigsetjmp(guard.out, 1) != 0) {
        guarded = NULL;
        return false;
    }
    guarded = &guard;
    atomic_signal_fence(memory_order_seq_cst);
    if (is_huge)
        make_huge(mapping, window);
    memcpy(window + place, from, (size_t)bytes);
    atomic_signal_fence(memory_order_seq_cst);
    guarded = NULL;
    return true;
}

/* ---- windows -------------------------------------------------------------------------------------------------------- */

static int reserve_windows(struct lw_mapping *mapping, int n_threads, struct lw_error *err)
{
    mapping->reserved_bytes = (n_threads + 1) * LW_MAPPING_BYTES;
    mapping->reserved = mmap(NULL, (size_t)mapping->reserved_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping->reserved == MAP_FAILED)
        return lw_fail(err, LW_ESYSTEM, "no addresses for the windows of %d I/O threads: %s", n_threads, strerror(errno));
    mapping->windows = mapping->reserved + (-(uintptr_t)mapping->reserved & (uintptr_t)(LW_MAPPING_BYTES - 1));
    return LW_OK;
}

int lw_mapping_open(int fd, int n_threads, struct lw_mapping **out, struct lw_error *err)
{
    struct stat status;
    const size_t units_bytes = (size_t)n_threads * sizeof(int64_t);
    struct lw_mapping *const mapping = lw_alloc(sizeof *mapping + units_bytes, "a file to be written", err);
    if (!mapping)
        return LW_ESYSTEM;
    *mapping = (struct lw_mapping){.fd = fd, .file_bytes = fstat(fd, &status) == 0 ? status.st_size : 0};
    for (int thread = 0; thread < n_threads; thread++)
        mapping->units[thread] = NONE;
    const int rc = reserve_windows(mapping, n_threads, err);
    if (rc) {
        lw_free(mapping);
        return rc;
    }
    install_once();
    *out = mapping;
    return LW_OK;
}

void lw_mapping_close(struct lw_mapping *mapping)
{
    if (!mapping)
        return;
    munmap(mapping->reserved, (size_t)mapping->reserved_bytes);
    lw_free(mapping);
}

/* The thread's window, at a part of the file; it stays there until the thread needs another. NULL: it cannot be mapped. */
static char *show(struct lw_mapping *mapping, int thread, int64_t unit)
{
    char *const window = mapping->windows + thread * LW_MAPPING_BYTES;
    if (mapping->units[thread] == unit)
        return window;
    mapping->units[thread] = NONE;
    if (mmap(window, (size_t)LW_MAPPING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, mapping->fd,
             unit * LW_MAPPING_BYTES) == MAP_FAILED)
        return NULL;
    mapping->units[thread] = unit;
    return window;
}

/* ---- write ---------------------------------------------------------------------------------------------------------- */

/* What a mapping could not do, pwrite does, or says why not; but it would prolong a file that was cut off, whose other bytes
 * are lost. */
static int write_instead(int fd, const void *from, int64_t offset, int64_t bytes, struct lw_error *err)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return lw_fail(err, LW_EIO, "%s", strerror(errno));
    if (status.st_size < offset + bytes)
        return lw_fail(err, LW_EIO, "the file ends at byte %" PRId64, (int64_t)status.st_size);
    return lw_bytes_write(fd, from, offset, bytes, err);
}

/* A huge page where at least half of it is written now: others may write the rest much later. */
static int write_part(struct lw_mapping *mapping, int thread, const char *from, int64_t offset, int64_t bytes,
                      struct lw_error *err)
{
    const int64_t unit = offset / LW_MAPPING_BYTES;
    const bool is_huge = bytes >= LW_MAPPING_BYTES / 2 && (unit + 1) * LW_MAPPING_BYTES <= mapping->file_bytes &&
                         mapping->n_refusals < MOST_REFUSALS;
    char *const window = show(mapping, thread, unit);
    if (window && fill(mapping, window, offset % LW_MAPPING_BYTES, from, bytes, is_huge))
        return LW_OK;
    return write_instead(mapping->fd, from, offset, bytes, err);
}

int lw_mapping_write(struct lw_mapping *mapping, int thread, const void *from, int64_t offset, int64_t bytes,
                     struct lw_error *err)
{
    const char *rest = from;
    int rc = LW_OK;
    while (bytes > 0 && rc == LW_OK) {
        const int64_t part = min64(bytes, LW_MAPPING_BYTES - offset % LW_MAPPING_BYTES);
        rc = write_part(mapping, thread, rest, offset, part, err);
        rest += part;
        offset += part;
        bytes -= part;
    }
    return rc;
}

bool lw_mapping_knows_huge_pages(void)
{
    return madvise(NULL, 0, MADV_COLLAPSE) == 0;        /* an advice about nothing fails only if it is unknown */
}
