/* unpacked.c - open a FITS file for reading; a gzipped file is unpacked into memory. */
#include "io/archive/fits/header.h"

#include "base/file.h"
#include "base/integers.h"
#include "base/memory.h"
#include "io/archive/shared.h"
#include "io/bytes/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Largest unpacked file, in bytes. */
#define MOST_UNPACKED ((int64_t)4 << 30)

/* A compressed byte becomes at most MOST_RATIO bytes. HEAD_BYTES and LEAST_ROOM hold any block that deflate stores uncompressed (up
 * to 64 KiB). gzip's header and trailer have LEAST_PACKED bytes. */
enum { MOST_RATIO = 1032, HEAD_BYTES = 128 << 10, LEAST_ROOM = 128 << 10, LEAST_PACKED = 18 };

static const char first[] = "SIMPLE  =";
enum { FIRST_BYTES = sizeof first - 1 };

static bool is_packed(const unsigned char *bytes, int64_t n)
{
    return n >= 3 && bytes[0] == 0x1f && bytes[1] == 0x8b && bytes[2] == 8;
}

/* Memory with a descriptor, into which a file is unpacked. */
struct target {
    int fd;
    char *memory;
    int64_t room, used;
};

static int fail_memory(const char *file, int64_t bytes, struct lw_error *err)
{
    return lw_fail(err, LW_ESYSTEM, "no memory for the %" PRId64 " bytes that '%.600s' unpacks to: %s", bytes, file,
                   strerror(errno));
}

/* Grow the memory. Its pages are reserved here, so that a lack of memory is an error and does not kill the process later. */
static int grow(const char *file, struct target *target, int64_t room, struct lw_error *err)
{
    if (target->memory)
        munmap(target->memory, (size_t)target->room);
    target->memory = NULL;
    target->room = room;
    if (ftruncate(target->fd, room) != 0 || (errno = posix_fallocate(target->fd, 0, room)) != 0)
        return fail_memory(file, room, err);
    void *const memory = mmap(NULL, (size_t)room, PROT_READ | PROT_WRITE, MAP_SHARED, target->fd, 0);
    if (memory == MAP_FAILED)
        return fail_memory(file, room, err);
    target->memory = memory;
    return LW_OK;
}

/* Unpack all members of a file. As in gzip, bytes after the last member are ignored. */
static int unpack_members(const char *file, const unsigned char *packed, int64_t n, struct lw_gunzip *gunzip, struct target *target,
                          struct lw_error *err)
{
    /* The first room is the size (modulo 2^32) in the last member's last 4 bytes, but at most MOST_RATIO times the packed bytes. */
    const int64_t told = lw_min64((int64_t)lw_field_unsigned(packed + n - 4, 4, false), MOST_UNPACKED);
    int rc = grow(file, target, lw_max64(LEAST_ROOM, lw_min64(told, n * MOST_RATIO)), err);
    for (int64_t at = 0; rc == LW_OK && is_packed(packed + at, n - at); ) {
        size_t taken = 0, made = 0;
        switch (lw_gunzip_member(gunzip, packed + at, (size_t)(n - at), target->memory + target->used,
                                 (size_t)(target->room - target->used), &taken, &made)) {
        case LW_GUNZIP_DONE:
            at += (int64_t)taken;
            target->used += (int64_t)made;
            break;
        case LW_GUNZIP_FULL:
            if (target->room >= MOST_UNPACKED)
                return lw_fail(err, LW_EDATA,
                               "'%.600s' unpacks to more than %" PRId64 " GiB, the limit: unpack it first, with gunzip",
                               file, MOST_UNPACKED >> 30);
            rc = grow(file, target, lw_min64(2 * target->room, MOST_UNPACKED), err);
            break;
        case LW_GUNZIP_DAMAGED:
            return lw_fail(err, LW_EDATA,
                           "'%.600s' is damaged: the gzip data from its byte %" PRId64 " on cannot be unpacked, or has "
                           "another checksum",
                           file, at);
        }
    }
    return rc;
}

static int unpack(const char *file, const unsigned char *packed, int64_t n, struct target *target, struct lw_error *err)
{
    struct lw_gunzip *gunzip = NULL;
    target->fd = memfd_create("lapwing-fits", MFD_CLOEXEC);
    if (target->fd < 0)
        return fail_memory(file, 0, err);
    int rc;
    if ((rc = lw_gunzip_create(&gunzip, err)) == LW_OK && (rc = unpack_members(file, packed, n, gunzip, target, err)) == LW_OK &&
        ftruncate(target->fd, target->used) != 0)
        rc = fail_memory(file, target->used, err);
    lw_gunzip_destroy(gunzip);
    return rc;
}

/* Unpack an open file. @param fd  descriptor of the file; set to the memory's @param bytes  packed size; set to the unpacked one */
static int open_packed(const char *file, int *fd, int64_t *bytes, struct lw_error *err)
{
    struct target target = {.fd = -1};
    const int64_t n = *bytes;
    /* mmap and munmap: this memory is not in the plan, so that it must go back to the system at once. */
    void *const packed = mmap(NULL, (size_t)n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (packed == MAP_FAILED)
        return lw_fail(err, LW_ESYSTEM, "no memory for the %" PRId64 " bytes of '%.600s': %s", n, file, strerror(errno));
    int rc = lw_bytes_read_file(*fd, file, packed, 0, n, err);
    if (rc == LW_OK && (rc = unpack(file, packed, n, &target, err)) == LW_OK) {
        close(*fd);
        *fd = target.fd;
        *bytes = target.used;
        target.fd = -1;
    }
    munmap(packed, (size_t)n);
    if (target.memory)
        munmap(target.memory, (size_t)target.room);
    if (target.fd >= 0)
        close(target.fd);
    return rc;
}

int lw_fits_open(const char *file, int *fd, int64_t *bytes, bool *is_unpacked, struct lw_error *err)
{
    struct stat status;
    unsigned char head[3];
    int rc = lw_file_open_input(file, fd, err);
    if (rc)
        return rc;
    *bytes = fstat(*fd, &status) == 0 ? status.st_size : 0;
    *is_unpacked =
        *bytes >= LEAST_PACKED && pread(*fd, head, sizeof head, 0) == (ssize_t)sizeof head && is_packed(head, sizeof head);
    if (*is_unpacked && (rc = open_packed(file, fd, bytes, err))) {
        close(*fd);
        *fd = -1;
    }
    return rc;
}

/* Read the file's first bytes to `head`. If they are gzipped, unpack them to `start` until `head` ends or `start` is full. */
int lw_fits_begins(const char *file, bool *begins, struct lw_error *err)
{
    struct lw_gunzip *gunzip = NULL;
    size_t taken, made;
    int fd;
    const int rc = lw_file_open_input(file, &fd, err);
    if (rc)
        return rc;
    LW_FREED unsigned char *const head = lw_alloc(HEAD_BYTES + LEAST_ROOM, "the beginning of a file", err);
    unsigned char *const start = head ? head + HEAD_BYTES : NULL;
    const ssize_t n = head ? pread(fd, head, HEAD_BYTES, 0) : 0;
    if (is_packed(head, n) && lw_gunzip_create(&gunzip, NULL) == LW_OK)
        lw_gunzip_member(gunzip, head, (size_t)n, (char *)start, LEAST_ROOM, &taken, &made);
    *begins = n >= FIRST_BYTES && (memcmp(head, first, FIRST_BYTES) == 0 || memcmp(start, first, FIRST_BYTES) == 0);
    lw_gunzip_destroy(gunzip);
    close(fd);
    return head ? LW_OK : LW_ESYSTEM;
}
