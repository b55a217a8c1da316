/* lustre.c - preloaded into the program, this library makes every open file look like one on Lustre with 2 stripes of 1 MiB: what
 * fstatfs says, and the attribute "lustre.lov". */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

int fstatfs(int fd, struct statfs *status)
{
    const long rc = syscall(SYS_fstatfs, fd, status);
    status->f_type = 0x0bd00bd0;
    return (int)rc;
}

ssize_t fgetxattr(int fd, const char *name, void *value, size_t size)
{
    static const uint32_t layout[8] = {0x0bd10bd0, [6] = 1 << 20, 2};      /* kind, size of a stripe, number of stripes */
    (void)fd;
    if (strcmp(name, "lustre.lov") != 0 || size < sizeof layout) {
        errno = ENODATA;
        return -1;
    }
    memcpy(value, layout, sizeof layout);
    return sizeof layout;
}
