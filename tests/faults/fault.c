/* fault.c - a library for LD_PRELOAD that makes chosen calls of the program fail. Environment variables choose them:
 *
 *   FAULT       KIND:K    the K-th call of KIND fails, counted from 1; K = 0: calls are only counted
 *               KIND:K+   the K-th and all later calls fail
 *               held-KIND:K  the call succeeds, but first it makes the file FAULT_HELD and waits until
 *                         another process removes that file, at most a minute
 *   FAULT_FILE  only calls for files whose path contains this text count; calls without a file always count
 *   FAULT_RANK  the rank on which calls are counted and fail
 *   FAULT_COUNT a file; the number of counted calls is appended when the process ends
 *
 * KIND is one of
 *   memory                allocations of the program itself, not of its libraries
 *   open, read, write, sync, reserve (fallocate), truncate, lock, rename, unlink
 *   short-read, short-write   half of the requested bytes are transferred
 *   map, thread, process  mmap, pthread_create and fork of the program itself
 *   mpi-read, mpi-write   file calls of MPI, which fail after MPI has taken part in them
 *   attributes, attribute HDF5 crashes when it lists attributes, or reads one
 *   start                 SIGTERM arrives before the program starts itself again */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
    bool is_on;
    const char *held;           /* file that shows that a call is held; NULL: the call fails */
    char kind[16];
    long wanted, last, seen;    /* calls from number `wanted` to `last` fail; `seen` counts them */
    const char *file, *count;
    uintptr_t begin, end;       /* address range of the program's own code */
} fault;

/* The first object that dl_iterate_phdr visits is the program. */
static int find_program(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *const segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
            continue;
        fault.begin = info->dlpi_addr + segment->p_vaddr;
        fault.end = fault.begin + segment->p_memsz;
    }
    return 1;
}

__attribute__((constructor)) static void set_up(void)
{
    const char *const what = getenv("FAULT"), *const rank = getenv("FAULT_RANK"), *const mine = getenv("OMPI_COMM_WORLD_RANK");
    const bool is_held = what && strncmp(what, "held-", 5) == 0;
    fault.held = is_held ? getenv("FAULT_HELD") : NULL;
    if (!what || sscanf(what + (is_held ? 5 : 0), "%15[a-z-]:%ld", fault.kind, &fault.wanted) != 2 ||
        (rank && strcmp(rank, mine ? mine : "0") != 0))
        return;
    fault.last = what[strlen(what) - 1] == '+' ? LONG_MAX : fault.wanted;
    fault.file = getenv("FAULT_FILE") ? getenv("FAULT_FILE") : "";
    fault.count = getenv("FAULT_COUNT");
    dl_iterate_phdr(find_program, NULL);
    fault.is_on = true;
}

__attribute__((destructor)) static void report(void)
{
    if (!fault.is_on || !fault.count)
        return;
    fault.is_on = false;
    FILE *const file = fopen(fault.count, "a");
    if (file) {
        fprintf(file, "%ld\n", fault.seen);
        fclose(file);
    }
}

/* Direct system calls, since the functions below replace the library's. */
static void wait_for_release(void)
{
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, fault.held, O_WRONLY | O_CREAT, 0600);
    if (fd >= 0)
        close(fd);
    for (int i = 0; i < 60000 && access(fault.held, F_OK) == 0; i++)
        usleep(1000);
}

/* Count a call, and return whether it fails. */
static bool is_hit(int error)
{
    const long number = __atomic_add_fetch(&fault.seen, 1, __ATOMIC_RELAXED);
    if (number < fault.wanted || number > fault.last)
        return false;
    if (fault.held)
        wait_for_release();
    errno = error;
    return !fault.held;
}

static bool hits_path(const char *kind, const char *path)
{
    return fault.is_on && strcmp(fault.kind, kind) == 0 && strstr(path, fault.file) && is_hit(EIO);
}

static bool hits_descriptor(const char *kind, int fd)
{
    char link[40], path[1024] = "";
    if (!fault.is_on || strcmp(fault.kind, kind) != 0)
        return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return readlink(link, path, sizeof path - 1) > 0 && hits_path(kind, path);
}

static bool hits_caller(const char *kind, void *caller, int error)
{
    const uintptr_t at = (uintptr_t)caller;
    return fault.is_on && strcmp(fault.kind, kind) == 0 && at >= fault.begin && at < fault.end && is_hit(error);
}

/* ---- memory: the program allocates by lw_alloc only, which calls this; the CUDA runtime, linked into the program, does not */

void *__libc_memalign(size_t alignment, size_t bytes);      /* glibc's own name, since dlsym allocates */

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return hits_caller("memory", __builtin_return_address(0), ENOMEM) ? NULL : __libc_memalign(alignment, bytes);
}

/* A direct system call, since dlsym may map memory. */
void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t at)
{
    if (hits_caller("map", __builtin_return_address(0), ENOMEM))
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, at);
}

/* ---- threads and processes ---- */

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    int (*const call)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
        (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))real("pthread_create");
    return hits_caller("thread", __builtin_return_address(0), EAGAIN) ? EAGAIN : call(thread, attributes, start, argument);
}

pid_t fork(void)
{
    pid_t (*const call)(void) = (pid_t (*)(void))real("fork");
    return hits_caller("process", __builtin_return_address(0), EAGAIN) ? -1 : call();
}

int execv(const char *path, char *const arguments[])
{
    int (*const call)(const char *, char *const[]) = (int (*)(const char *, char *const[]))real("execv");
    if (hits_caller("start", __builtin_return_address(0), 0))
        raise(SIGTERM);
    return call(path, arguments);
}

/* ---- files ---- */

/* Reads and writes, each with and without a position, each under the two names that compilers use. */
#define TRANSFER(name, kind, buffer)                                                                        \
    ssize_t name(int fd, buffer data, size_t bytes)                                                         \
    {                                                                                                       \
        ssize_t (*const call)(int, buffer, size_t) = (ssize_t (*)(int, buffer, size_t))real(#name);         \
        return hits_descriptor(kind, fd) ? -1 : call(fd, data, hits_descriptor("short-" kind, fd) ? bytes / 2 : bytes); \
    }
#define TRANSFER_AT(name, kind, buffer)                                                                     \
    ssize_t name(int fd, buffer data, size_t bytes, off_t at)                                               \
    {                                                                                                       \
        ssize_t (*const call)(int, buffer, size_t, off_t) = (ssize_t (*)(int, buffer, size_t, off_t))real(#name); \
        return hits_descriptor(kind, fd) ? -1 : call(fd, data, hits_descriptor("short-" kind, fd) ? bytes / 2 : bytes, at); \
    }
TRANSFER(read, "read", void *)
TRANSFER_AT(pread, "read", void *)
TRANSFER_AT(pread64, "read", void *)
TRANSFER(write, "write", const void *)
TRANSFER_AT(pwrite, "write", const void *)
TRANSFER_AT(pwrite64, "write", const void *)

#define OPEN(name)                                                                                          \
    int name(const char *path, int flags, ...)                                                              \
    {                                                                                                       \
        va_list arguments;                                                                                  \
        va_start(arguments, flags);                                                                         \
        const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;                  \
        va_end(arguments);                                                                                  \
        int (*const call)(const char *, int, ...) = (int (*)(const char *, int, ...))real(#name);           \
        return hits_path("open", path) ? -1 : call(path, flags, mode);                                      \
    }
OPEN(open)
OPEN(open64)

int fsync(int fd)
{
    int (*const call)(int) = (int (*)(int))real("fsync");
    return hits_descriptor("sync", fd) ? -1 : call(fd);
}

int fallocate(int fd, int mode, off_t at, off_t bytes)
{
    int (*const call)(int, int, off_t, off_t) = (int (*)(int, int, off_t, off_t))real("fallocate");
    return hits_descriptor("reserve", fd) ? -1 : call(fd, mode, at, bytes);
}

#define TRUNCATE(name)                                                                                      \
    int name(int fd, off_t bytes)                                                                           \
    {                                                                                                       \
        int (*const call)(int, off_t) = (int (*)(int, off_t))real(#name);                                   \
        return hits_descriptor("truncate", fd) ? -1 : call(fd, bytes);                                      \
    }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

int unlink(const char *path)
{
    int (*const call)(const char *) = (int (*)(const char *))real("unlink");
    return hits_path("unlink", path) ? -1 : call(path);
}

int flock(int fd, int operation)
{
    int (*const call)(int, int) = (int (*)(int, int))real("flock");
    return hits_descriptor("lock", fd) ? -1 : call(fd, operation);
}

int rename(const char *from, const char *to)
{
    int (*const call)(const char *, const char *) = (int (*)(const char *, const char *))real("rename");
    return hits_path("rename", from) ? -1 : call(from, to);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    int (*const call)(int, const char *, int, const char *, unsigned) =
        (int (*)(int, const char *, int, const char *, unsigned))real("renameat2");
    return hits_path("rename", from) ? -1 : call(from_folder, from, to_folder, to, flags);
}

/* ---- files through MPI: the disk fails after the ranks have exchanged their data ---- */

static int after(const char *kind, MPI_File file, int code)
{
    if (!fault.is_on || strcmp(fault.kind, kind) != 0 || !is_hit(EIO))
        return code;
    MPI_File_call_errhandler(file, MPI_ERR_IO);
    return MPI_ERR_IO;
}

int MPI_File_write_at(MPI_File file, MPI_Offset at, const void *data, int n, MPI_Datatype type, MPI_Status *status)
{
    return after("mpi-write", file, PMPI_File_write_at(file, at, data, n, type, status));
}

int MPI_File_write_at_all(MPI_File file, MPI_Offset at, const void *data, int n, MPI_Datatype type, MPI_Status *status)
{
    return after("mpi-write", file, PMPI_File_write_at_all(file, at, data, n, type, status));
}

int MPI_File_read_at(MPI_File file, MPI_Offset at, void *data, int n, MPI_Datatype type, MPI_Status *status)
{
    return after("mpi-read", file, PMPI_File_read_at(file, at, data, n, type, status));
}

int MPI_File_read_at_all(MPI_File file, MPI_Offset at, void *data, int n, MPI_Datatype type, MPI_Status *status)
{
    return after("mpi-read", file, PMPI_File_read_at_all(file, at, data, n, type, status));
}

int MPI_File_sync(MPI_File file)
{
    return after("mpi-write", file, PMPI_File_sync(file));
}

/* ---- HDF5, without its header: herr_t H5Aiterate2(hid_t, H5_index_t, H5_iter_order_t, hsize_t *, H5A_operator2_t, void *),
 * herr_t H5Aread(hid_t, hid_t, void *) ---- */

int H5Aiterate2(int64_t object, int index, int order, uint64_t *at, void *visit, void *context);

int H5Aiterate2(int64_t object, int index, int order, uint64_t *at, void *visit, void *context)
{
    int (*const call)(int64_t, int, int, uint64_t *, void *, void *) =
        (int (*)(int64_t, int, int, uint64_t *, void *, void *))real("H5Aiterate2");
    if (fault.is_on && strcmp(fault.kind, "attributes") == 0 && is_hit(EIO))
        raise(SIGSEGV);
    return call(object, index, order, at, visit, context);
}

int H5Aread(int64_t attribute, int64_t type, void *into);

int H5Aread(int64_t attribute, int64_t type, void *into)
{
    int (*const call)(int64_t, int64_t, void *) = (int (*)(int64_t, int64_t, void *))real("H5Aread");
    if (fault.is_on && strcmp(fault.kind, "attribute") == 0 && is_hit(EIO))
        raise(SIGSEGV);
    return call(attribute, type, into);
}
