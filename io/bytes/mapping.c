#include "io/bytes/mapping.h"

#include "base/integers.h"
#include "io/bytes/transfer.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- SIGBUS --------------------------------------------------------------------------------------------------------- */

/* What a thread is copying to, and where it goes on if that fails. */
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

void lw_mapping_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install);
}

/* memcpy, but for a return value. The jump restores the mask, or else the signal would stay blocked. */
static bool copy(char *to, const void *from, size_t bytes)
{
    struct guard guard = {.begin = to, .end = to + bytes};
    if (sigsetjmp(guard.out, 1) != 0) {
        guarded = NULL;
        return false;
    }
    guarded = &guard;
    atomic_signal_fence(memory_order_seq_cst);
    memcpy(to, from, bytes);
    atomic_signal_fence(memory_order_seq_cst);
    guarded = NULL;
    return true;
}

/* ---- parts ---------------------------------------------------------------------------------------------------------- */

/* Have the pages made all at once, which is faster than one by one, and says what is wrong without a signal. A kernel before
 * 5.14 does not know how: the copy makes them. */
static bool populate(char *at, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
    return madvise(at, bytes, MADV_POPULATE_WRITE) == 0 || errno == EINVAL;
#else
    (void)at, (void)bytes;
    return true;
#endif
}

static bool write_mapped(int fd, const void *from, int64_t offset, int64_t bytes)
{
    const int64_t into_page = offset % sysconf(_SC_PAGESIZE);
    const size_t mapped = (size_t)(into_page + bytes);
    char *const at = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset - into_page);
    if (at == MAP_FAILED)
        return false;
    const bool is_done = populate(at, mapped) && copy(at + into_page, from, (size_t)bytes);
    munmap(at, mapped);
    return is_done;
}

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

int lw_mapping_write(int fd, const void *from, int64_t offset, int64_t bytes, struct lw_error *err)
{
    const char *rest = from;
    int rc = LW_OK;
    while (bytes > 0 && rc == LW_OK) {
        const int64_t part = min64(bytes, LW_MAPPING_BYTES - offset % LW_MAPPING_BYTES);
        if (!write_mapped(fd, rest, offset, part))
            rc = write_instead(fd, rest, offset, part, err);
        rest += part;
        offset += part;
        bytes -= part;
    }
    return rc;
}
