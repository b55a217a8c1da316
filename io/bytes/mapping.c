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
    char *reserved;             /* addresses for the file, and for what aligns it */
    size_t reserved_bytes;
    char *file;                 /* all of it, at an address fit for huge pages */
    atomic_int n_refusals;      /* of huge pages, since the last that was made */
    atomic_bool is_huge[];      /* of each part: one page has been made of it */
};

/* ---- SIGBUS --------------------------------------------------------------------------------------------------------- */

/* The part that a thread is filling, and where it goes on if that fails. */
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

/* ---- parts ---------------------------------------------------------------------------------------------------------- */

/* Have one huge page in the place of 512 pages. Each page of a file is entered under the file's lock: on a RAM disk, that bounds
 * all threads together at the rate of about four, and zeroing pages one by one takes as long as filling them. There has to be a
 * page already, which looking at it makes: at `mine`, where nobody else writes. Those who write elsewhere in the part meanwhile are
 * not disturbed. */
static void make_huge(struct lw_mapping *mapping, char *part, const char *mine)
{
    (void)*(const volatile char *)mine;
    if (madvise(part, (size_t)LW_MAPPING_BYTES, MADV_COLLAPSE) == 0) {
        mapping->is_huge[(part - mapping->file) / LW_MAPPING_BYTES] = true;
        mapping->n_refusals = 0;
    } else {
        mapping->n_refusals++;
    }
}

/* Not for a few bytes, for others may write the rest much later; nor for what lies behind the file's end. */
static bool wants_huge(const struct lw_mapping *mapping, int64_t begin, int64_t bytes)
{
    return bytes >= LW_MAPPING_BYTES / 8 && begin + LW_MAPPING_BYTES <= mapping->file_bytes &&
           mapping->n_refusals < MOST_REFUSALS && !mapping->is_huge[begin / LW_MAPPING_BYTES];
}

/* Bytes from memory to their place in a part. false: the file has none there. The jump restores the mask, or else the signal
 * would stay blocked. */
static bool fill(struct lw_mapping *mapping, char *part, int64_t place, const char *from, int64_t bytes, bool is_huge)
{
    struct guard guard = {.begin = part, .end = part + LW_MAPPING_BYTES};
    if (sigsetjmp(guard.out, 1) != 0) {
        guarded = NULL;
        return false;
    }
    guarded = &guard;
    atomic_signal_fence(memory_order_seq_cst);
    if (is_huge)
        make_huge(mapping, part, part + place);
    memcpy(part + place, from, (size_t)bytes);
    atomic_signal_fence(memory_order_seq_cst);
    guarded = NULL;
    return true;
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

/* What has been filled is no longer shown to this process, whose memory it would count as; the file has it. */
static int write_part(struct lw_mapping *mapping, const char *from, int64_t offset, int64_t bytes, struct lw_error *err)
{
    const int64_t place = offset % LW_MAPPING_BYTES, begin = offset - place;
    char *const part = mapping->file + begin;
    if (offset + bytes > mapping->file_bytes ||
        !fill(mapping, part, place, from, bytes, wants_huge(mapping, begin, bytes)))
        return write_instead(mapping->fd, from, offset, bytes, err);
    madvise(part, (size_t)LW_MAPPING_BYTES, MADV_DONTNEED);
    return LW_OK;
}

int lw_mapping_write(struct lw_mapping *mapping, const void *from, int64_t offset, int64_t bytes, struct lw_error *err)
{
    const char *rest = from;
    int rc = LW_OK;
    while (bytes > 0 && rc == LW_OK) {
        const int64_t part = lw_min64(bytes, LW_MAPPING_BYTES - offset % LW_MAPPING_BYTES);
        rc = write_part(mapping, rest, offset, part, err);
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

/* ---- the file ------------------------------------------------------------------------------------------------------- */

/* All at once: to map part after part would have the threads wait for each other, and for those that fill. It takes addresses,
 * whole parts of them, but no memory. */
static int map(struct lw_mapping *mapping, struct lw_error *err)
{
    const size_t bytes = (size_t)lw_round_up(mapping->file_bytes, LW_MAPPING_BYTES);
    mapping->reserved_bytes = bytes + (size_t)LW_MAPPING_BYTES;
    mapping->reserved = mmap(NULL, mapping->reserved_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping->reserved == MAP_FAILED)
        return lw_fail(err, LW_ESYSTEM, "no addresses for a file of %zu bytes: %s", bytes, strerror(errno));
    mapping->file = mapping->reserved + (-(uintptr_t)mapping->reserved & (uintptr_t)(LW_MAPPING_BYTES - 1));
    if (bytes > 0 && mmap(mapping->file, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, mapping->fd, 0) == MAP_FAILED)
        return lw_fail(err, LW_ESYSTEM, "cannot map a file of %zu bytes: %s", bytes, strerror(errno));
    return LW_OK;
}

int lw_mapping_open(int fd, struct lw_mapping **out, struct lw_error *err)
{
    struct stat status;
    const int64_t file_bytes = fstat(fd, &status) == 0 ? status.st_size : 0;
    const size_t n_parts = (size_t)lw_divide_up(file_bytes, LW_MAPPING_BYTES);
    struct lw_mapping *const mapping = lw_alloc(sizeof *mapping + n_parts * sizeof(atomic_bool), "a file to be written", err);
    if (!mapping)
        return LW_ESYSTEM;
    *mapping = (struct lw_mapping){.fd = fd, .file_bytes = file_bytes, .reserved = MAP_FAILED};
    const int rc = map(mapping, err);
    if (rc) {
        lw_mapping_close(mapping);
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
    if (mapping->reserved != MAP_FAILED)
        munmap(mapping->reserved, mapping->reserved_bytes);
    lw_free(mapping);
}
