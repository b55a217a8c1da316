#include "io/bytes/store.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/bytes/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25        /* Linux has it from 6.1 on, the C library's headers got it later */
#endif

/* ---- file systems ---------------------------------------------------------------------------------------------------- */

/* File system numbers that <linux/magic.h> of some kernels lacks, from statfs(2) and the sources of the file systems. */
enum {
    BEEGFS_NUMBER = 0x19830326,
    GFS2_NUMBER = 0x01161970,
    GPFS_NUMBER = 0x47504653,
    JFS_NUMBER = 0x3153464a,
    LUSTRE_NUMBER = 0x0bd00bd0,
    OCFS2_NUMBER = 0x7461636f,
    ZFS_NUMBER = 0x2fc12fc1,
};
#define BCACHEFS_NUMBER 0xca451a4eu
#define SMB2_NUMBER 0xfe534d42u
#define CIFS_NUMBER 0xff534d42u

/* File systems by number. The kernel keeps the writers of one node coherent; that suffices where only one node has the file system.
 * Some file systems that nodes share pass locks from node to node. The others write whole pages back, and so overwrite newer bytes
 * of other nodes with older ones. */
static const struct {
    uint32_t number;            /* f_type of statfs */
    const char *name;
    bool is_coherent, is_memory;
} table[] = {
    {TMPFS_MAGIC, "tmpfs", true, true},
    {RAMFS_MAGIC, "ramfs", true, true},
    {EXT4_SUPER_MAGIC, "ext4", true, false},    /* ext2 and ext3 have the same number */
    {XFS_SUPER_MAGIC, "XFS", true, false},
    {BTRFS_SUPER_MAGIC, "Btrfs", true, false},
    {F2FS_SUPER_MAGIC, "F2FS", true, false},
    {ZFS_NUMBER, "ZFS", true, false},
    {BCACHEFS_NUMBER, "bcachefs", true, false},
    {JFS_NUMBER, "JFS", true, false},
    {OVERLAYFS_SUPER_MAGIC, "overlayfs", true, false},
    {LUSTRE_NUMBER, "Lustre", true, false},
    {GPFS_NUMBER, "GPFS", true, false},
    {BEEGFS_NUMBER, "BeeGFS", true, false},
    {GFS2_NUMBER, "GFS2", true, false},
    {OCFS2_NUMBER, "OCFS2", true, false},
    {NFS_SUPER_MAGIC, "NFS", false, false},
    {SMB_SUPER_MAGIC, "SMB", false, false},
    {SMB2_NUMBER, "SMB", false, false},
    {CIFS_NUMBER, "SMB", false, false},
    {FUSE_SUPER_MAGIC, "FUSE", false, false},
    {V9FS_MAGIC, "9p", false, false},
    {CEPH_SUPER_MAGIC, "Ceph", false, false},
    {AFS_SUPER_MAGIC, "AFS", false, false},
};

/* Head of a layout of Lustre (lustre_user.h). A list of parts tells behind it where the layout of each part is. */
struct layout {
    uint32_t kind, pattern;
    uint16_t id[3], n_parts;
    uint64_t sequence;
    uint32_t stripe_bytes;
    uint16_t n_stripes, generation;
};

void lw_storage_read_layout(const void *layout, int64_t bytes, struct lw_storage *storage)
{
    enum { PLAIN = 0x0bd10bd0, POOLED = 0x0bd30bd0, PARTS = 0x0bd60bd0, PART_BYTES = 48, PLACE = 24 };
    const int64_t head_bytes = sizeof(struct layout);
    struct layout head;
    uint32_t at;
    if (bytes < head_bytes)
        return;
    memcpy(&head, layout, sizeof head);
    if (head.kind == PARTS && head.n_parts > 0 && head_bytes + head.n_parts * (int64_t)PART_BYTES <= bytes) {
        memcpy(&at, (const char *)layout + head_bytes + (head.n_parts - 1) * PART_BYTES + PLACE, sizeof at);
        if (at >= head_bytes)
            lw_storage_read_layout((const char *)layout + at, bytes - at, storage);
    } else if ((head.kind == PLAIN || head.kind == POOLED) && head.n_stripes > 0 && head.n_stripes != UINT16_MAX) {
        storage->stripe_bytes = head.stripe_bytes;
        storage->n_stripes = head.n_stripes;
    }
}

bool lw_storage_knows_huge_pages(void)
{
    return madvise(NULL, 0, MADV_COLLAPSE) == 0;        /* advice about no bytes fails only if it is unknown */
}

/* A RAM disk lets only one pwrite at a time into a file, whereas all threads can fill a mapping. With huge pages a thread is as
 * fast through a mapping as through pwrite. Without huge pages the kernel enters pages one by one, and fills each with zeros first.
 * A mapping then takes twice as long, and pays from four processors on instead of two. */
void lw_storage_find(int fd, struct lw_storage *storage)
{
    const long enough = lw_storage_knows_huge_pages() ? 2 : 4;
    struct statfs status;
    char layout[1 << 14];
    *storage = (struct lw_storage){.name = "unknown"};
    const bool is_known = fstatfs(fd, &status) == 0;
    if (is_known)
        snprintf(storage->name, sizeof storage->name, "0x%" PRIx32 " (unknown)", (uint32_t)status.f_type);
    for (size_t i = 0; is_known && i < sizeof table / sizeof *table; i++) {
        if (table[i].number != (uint32_t)status.f_type)
            continue;
        snprintf(storage->name, sizeof storage->name, "%s", table[i].name);
        storage->is_coherent = table[i].is_coherent;
        storage->is_memory = table[i].is_memory;
        storage->is_striped = table[i].number == LUSTRE_NUMBER || table[i].number == GPFS_NUMBER;
        if (table[i].number == LUSTRE_NUMBER)
            lw_storage_read_layout(layout, fgetxattr(fd, "lustre.lov", layout, sizeof layout), storage);
        else if (storage->is_striped)
            storage->stripe_bytes = status.f_bsize;         /* GPFS tells its block */
    }
    storage->way = storage->is_memory && sysconf(_SC_NPROCESSORS_ONLN) >= enough ? LW_STORE_MAP : LW_STORE_WRITE;
}

const char *lw_store_way_text(enum lw_store_way way)
{
    static const char *const texts[] = {[LW_STORE_WRITE] = "pwrite", [LW_STORE_MAP] = "shared mapping"};
    return texts[way];
}

/* ---- SIGBUS --------------------------------------------------------------------------------------------------------- */

/* Part of the mapping that a thread is filling, and the place to jump to if that fails. */
struct guard {
    sigjmp_buf out;
    const char *begin, *end;
};

static _Thread_local struct guard *volatile guarded;
static struct sigaction before;

/* Jump out of a failed fill. Any other SIGBUS gets the former action: its instruction runs again, or the signal is sent again. */
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

/* ---- a mapped file ---------------------------------------------------------------------------------------------------- */

/* Refusals in a row after which no more huge pages are asked for; a file that is not in memory gets only refusals. */
enum { MOST_REFUSALS = 8 };

struct lw_store {
    int fd;
    bool is_memory;
    int64_t file_bytes;         /* length of the file when it was opened */
    char *reserved;             /* addresses for the file, and spare ones to align it */
    size_t reserved_bytes;
    char *file;                 /* mapping of the whole file, aligned for huge pages; NULL: the file is not mapped */
    atomic_int n_refusals;      /* refused huge pages since the last one that was made */
    atomic_bool is_huge[];      /* [parts] whether a huge page has been made of the part */
};

/* Replace 512 pages by one huge page. The kernel enters each page of a file under the file's lock: on a RAM disk all threads
 * together are as fast as about four. Zeroing single pages takes as long as filling them. The kernel makes a huge page only where a
 * page exists: the read at `mine`, where no other thread writes, creates it. Threads that write elsewhere in the part are not
 * disturbed. */
static void make_huge(struct lw_store *store, char *part, const char *mine)
{
    (void)*(const volatile char *)mine;
    if (madvise(part, (size_t)LW_MAPPING_BYTES, MADV_COLLAPSE) == 0) {
        store->is_huge[(part - store->file) / LW_MAPPING_BYTES] = true;
        store->n_refusals = 0;
    } else {
        store->n_refusals++;
    }
}

/* Copy bytes to their place in a part; is_huge: make it a huge page first. Return false where the file has no room there.
 * siglongjmp restores the signal mask; otherwise SIGBUS would stay blocked. */
static bool fill(struct lw_store *store, char *part, int64_t place, const char *from, int64_t bytes, bool is_huge)
{
    struct guard guard = {.begin = part, .end = part + LW_MAPPING_BYTES};
    if (sigsetjmp(guard.out, 1) != 0) {
        guarded = NULL;
        return false;
    }
    guarded = &guard;
    atomic_signal_fence(memory_order_seq_cst);
    if (is_huge)
        make_huge(store, part, part + place);
    memcpy(part + place, from, (size_t)bytes);
    atomic_signal_fence(memory_order_seq_cst);
    guarded = NULL;
    return true;
}

/* Write the bytes of one part. Filled pages are unmapped at once, since they would count as memory of this process; the file keeps
 * them. Few bytes do not ask for a huge page, because the rest of the part may be written much later. Where the mapping fails, and
 * behind the end that the file had when mapped, pwrite takes over or reports the reason. A truncated file is an error:
 * pwrite would lengthen it again, but its other bytes are lost. */
static int write_part(struct lw_store *store, const char *from, int64_t offset, int64_t bytes, struct lw_error *err)
{
    const int64_t place = offset % LW_MAPPING_BYTES, begin = offset - place;
    char *const part = store->file + begin;
    const bool wants_huge = bytes >= LW_MAPPING_BYTES / 8 && begin + LW_MAPPING_BYTES <= store->file_bytes &&
                            store->n_refusals < MOST_REFUSALS && !store->is_huge[begin / LW_MAPPING_BYTES];
    struct stat status;
    if (offset + bytes <= store->file_bytes && fill(store, part, place, from, bytes, wants_huge)) {
        madvise(part, (size_t)LW_MAPPING_BYTES, MADV_DONTNEED);
        return LW_OK;
    }
    if (fstat(store->fd, &status) != 0)
        return lw_fail(err, LW_EIO, "%s", strerror(errno));
    if (status.st_size < offset + bytes)
        return lw_fail(err, LW_EIO, "the file ends at byte %" PRId64, (int64_t)status.st_size);
    return lw_bytes_write(store->fd, from, offset, bytes, err);
}

/* Map the whole file at once. Mapping part by part would make threads wait for each other, including threads that fill. The mapping
 * takes addresses, rounded up to whole parts, but no memory. If the system refuses, the file stays unmapped. */
static void map(struct lw_store *store)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const size_t bytes = (size_t)lw_round_up(store->file_bytes, LW_MAPPING_BYTES);
    store->reserved_bytes = bytes + (size_t)LW_MAPPING_BYTES;
    store->reserved = mmap(NULL, store->reserved_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (store->reserved == MAP_FAILED)
        return;
    char *const file = store->reserved + (-(uintptr_t)store->reserved & (uintptr_t)(LW_MAPPING_BYTES - 1));
    if (bytes > 0 && mmap(file, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, store->fd, 0) == MAP_FAILED) {
        munmap(store->reserved, store->reserved_bytes);
        return;
    }
    store->file = file;
    pthread_once(&once, install);
}

/* ---- any file ---------------------------------------------------------------------------------------------------------- */

#define WRITE_BACK_BYTES ((int64_t)256 << 10)

int64_t lw_store_bytes(int n_threads) { return n_threads * LW_MAPPING_BYTES; }

/* Write bytes, and let the disk begin with a piece of at least WRITE_BACK_BYTES at once. Otherwise the piece would stay in the page
 * cache, and fsync at the end would write the whole file. Shorter pieces share pages, which would be written more than once. */
int lw_store_put(struct lw_store *store, const void *data, int64_t offset, int64_t bytes, struct lw_error *err)
{
    const char *const from = data;
    int rc = store->file ? LW_OK : lw_bytes_write(store->fd, from, offset, bytes, err);
    for (int64_t done = 0, part; store->file && done < bytes && rc == LW_OK; done += part) {
        part = lw_min64(bytes - done, LW_MAPPING_BYTES - (offset + done) % LW_MAPPING_BYTES);
        rc = write_part(store, from + done, offset + done, part, err);
    }
    if (rc == LW_OK && !store->is_memory && bytes >= WRITE_BACK_BYTES)
        sync_file_range(store->fd, offset, bytes, SYNC_FILE_RANGE_WRITE);
    return rc;
}

int lw_store_open(int fd, const struct lw_storage *storage, enum lw_store_way way, struct lw_store **out, struct lw_error *err)
{
    struct stat status;
    struct lw_store how = {.fd = fd, .is_memory = storage->is_memory};
    if (way == LW_STORE_MAP) {
        how.file_bytes = fstat(fd, &status) == 0 ? status.st_size : 0;
        map(&how);
    }
    const size_t n_parts = how.file ? (size_t)lw_divide_up(how.file_bytes, LW_MAPPING_BYTES) : 0;
    struct lw_store *const store = lw_alloc(sizeof *store + n_parts * sizeof(atomic_bool), "a file to be written", err);
    if (store) {
        *store = how;
        *out = store;
    } else if (how.file) {
        munmap(how.reserved, how.reserved_bytes);
    }
    return store ? LW_OK : LW_ESYSTEM;
}

void lw_store_close(struct lw_store *store)
{
    if (!store)
        return;
    if (store->file)
        munmap(store->reserved, store->reserved_bytes);
    lw_free(store);
}
