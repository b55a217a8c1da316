#include "io/bytes/storage.h"

#include "io/bytes/mapping.h"

#include <inttypes.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Those that <linux/magic.h> of some kernel or other does not have; statfs(2) and the file systems' own sources do. */
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

/* The kernel keeps the writers of one node coherent, and so a file system that only one node has. Of those of several nodes,
 * some pass locks from node to node; the others write whole pages back, with what their node knew of other nodes' bytes. */
static const struct {
    uint32_t number;            /* as statfs gives it */
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

static void describe(uint32_t number, struct lw_storage *storage)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (table[i].number != number)
            continue;
        snprintf(storage->name, sizeof storage->name, "%s", table[i].name);
        storage->is_coherent = table[i].is_coherent;
        storage->is_memory = table[i].is_memory;
        return;
    }
    snprintf(storage->name, sizeof storage->name, "0x%" PRIx32 " (unknown)", number);
}

/* Where files are memory, one pwrite at a time gets into a file, while mappings are filled by all threads. With huge pages a
 * thread is as fast through a mapping as through pwrite. Without, pages are filled twice, with zeros first, and one by one, which
 * takes twice as long: then it pays where there are processors enough. */
static enum lw_store_way best_way(const struct lw_storage *storage)
{
    const long enough = lw_mapping_knows_huge_pages() ? 2 : 4;
    return storage->is_memory && sysconf(_SC_NPROCESSORS_ONLN) >= enough ? LW_STORE_MAP : LW_STORE_WRITE;
}

void lw_storage_find(int fd, struct lw_storage *storage)
{
    struct statfs status;
    *storage = (struct lw_storage){.name = "unknown"};
    if (fstatfs(fd, &status) == 0)
        describe((uint32_t)status.f_type, storage);
    storage->way = best_way(storage);
}

const char *lw_store_way_text(enum lw_store_way way)
{
    static const char *const texts[] = {[LW_STORE_WRITE] = "pwrite", [LW_STORE_MAP] = "shared mapping"};
    return texts[way];
}
