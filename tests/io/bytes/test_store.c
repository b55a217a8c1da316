/* test_store.c - tests of threads that write one file in pieces. Each way makes the same file, for pieces of any place and
 * length. A failure is an error with its reason, also under a mapping. */
#include "../../check.h"
#include "base/pool.h"
#include "calls.h"
#include "io/bytes/store.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PART ((int64_t)1 << 20)         /* half of the bytes that a thread maps at a time */
#define LONGEST (7 * PART)

static const char *const folders[] = {"/tmp", "/dev/shm"};      /* usually a disk, and memory */
static const enum lw_store_way ways[] = {LW_STORE_WRITE, LW_STORE_MAP};
enum { N_FOLDERS = 2, N_WAYS = 2, N_THREADS = 4 };

static char *data, *found;              /* LONGEST bytes */

static int make_file(const char *folder, int64_t bytes)
{
    char path[100];
    snprintf(path, sizeof path, "%s/lapwing-store-XXXXXX", folder);
    const int fd = mkstemp(path);
    unlink(path);
    CHECK(fd >= 0 && ftruncate(fd, bytes) == 0, "a file in %s", folder);
    return fd;
}

static struct lw_store *open_store(int fd, enum lw_store_way way)
{
    struct lw_storage storage;
    struct lw_store *store = NULL;
    struct lw_error err;
    lw_storage_find(fd, &storage);
    CHECK(lw_store_open(fd, &storage, way, &store, &err) == LW_OK, "%s", err.message);
    return store;
}

/* ---- the same file -------------------------------------------------------------------------------------------------- */

struct pieces {
    struct lw_store *store;
    int64_t first, bytes, piece_bytes;
};

static int put_piece(void *context, int64_t piece, int thread, struct lw_error *err)
{
    const struct pieces *const pieces = context;
    const int64_t begin = piece * pieces->piece_bytes;
    const int64_t left = pieces->bytes - begin, bytes = left < pieces->piece_bytes ? left : pieces->piece_bytes;
    (void)thread;
    return lw_store_put(pieces->store, data + begin, pieces->first + begin, bytes, err);
}

static int put_all(struct lw_pool *pool, struct pieces *pieces, struct lw_error *err)
{
    struct lw_batch batch = {.lane = LW_LANE_WRITE, .work = put_piece, .context = pieces};
    batch.n_pieces = (pieces->bytes + pieces->piece_bytes - 1) / pieces->piece_bytes;
    lw_pool_start(pool, &batch);
    return lw_pool_wait(pool, &batch, err);
}

static void check_content(int fd, int64_t first, int64_t bytes, const char *what)
{
    const ssize_t n = pread(fd, found, (size_t)bytes, first);
    CHECK(n == bytes && memcmp(found, data, (size_t)bytes) == 0, "%s: %" PRId64 " bytes at %" PRId64 " differ", what, bytes,
          first);
    char around[2] = {0};
    CHECK(pread(fd, around, 1, first + bytes) == 1 && around[0] == 0, "%s: byte %" PRId64 " behind", what, first + bytes);
    CHECK(first == 0 || (pread(fd, around, 1, first - 1) == 1 && around[0] == 0), "%s: byte %" PRId64 " before", what,
          first - 1);
}

static void check_pieces(struct lw_pool *pool, const char *folder, enum lw_store_way way, int64_t first, int64_t bytes,
                         int64_t piece_bytes)
{
    struct lw_error err = {.code = LW_OK};
    const int fd = make_file(folder, first + bytes + 1);
    struct pieces pieces = {open_store(fd, way), first, bytes, piece_bytes};
    CHECK(put_all(pool, &pieces, &err) == LW_OK, "%s, %s: %s", folder, lw_store_way_text(way), err.message);
    check_content(fd, first, bytes, lw_store_way_text(way));
    lw_store_close(pieces.store);
    close(fd);
}

static void check_ways(struct lw_pool *pool, const char *folder, enum lw_store_way way)
{
    static const int64_t firsts[] = {0, 1, 100, 4095, 4096, 4097, 8191, PART - 1, PART, PART + 2049,
                                     2 * PART - 4096};
    static const int64_t lengths[] = {1, 2, 511, 4095, 4096, 4097, 3 * 4096, 100001, PART - 1, PART, PART + 1,
                                      2 * PART + 5000, 4 * PART};
    for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
            check_pieces(pool, folder, way, firsts[f], lengths[l], lengths[l]);
    check_pieces(pool, folder, way, 1000, LONGEST, 3000);               /* several pieces share a page */
    check_pieces(pool, folder, way, 2048, LONGEST, 2 * PART + 100);     /* pieces longer than two parts */
    check_pieces(pool, folder, way, 0, LONGEST, 16384);                 /* whole pages */
    check_pieces(pool, folder, way, 0, 5000, 1);
}

static void check_nothing(enum lw_store_way way)
{
    struct lw_error err;
    const int fd = make_file("/tmp", 10);
    struct lw_store *const store = open_store(fd, way);
    CHECK(lw_store_put(store, data, 7, 0, &err) == LW_OK, "%s: nothing is put", lw_store_way_text(way));
    lw_store_close(store);
    lw_store_close(NULL);
    close(fd);
}

/* ---- refused, cut off -------------------------------------------------------------------------------------------------- */

/* Mapping fails for a file longer than the address space, nearly all of it a hole. */
static void check_map_refused(void)
{
    struct lw_error err;
    const size_t bytes = (size_t)1 << 50;
    const int fd = make_file("/dev/shm", (int64_t)bytes);
    struct lw_store *const store = open_store(fd, LW_STORE_MAP);
    CHECK(mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED, "2^50 bytes can be mapped");
    CHECK(lw_store_put(store, data, 2, LONGEST, &err) == LW_OK, "%s", err.message);
    check_content(fd, 2, LONGEST, "the file cannot be mapped");
    lw_store_close(store);
    close(fd);
}

/* Another program cuts the file off: a mapping must neither crash nor make it long again, with huge pages and without. */
static void check_cut_off(const char *folder, bool is_kernel_old)
{
    struct lw_error err = {.code = LW_OK};
    const int fd = make_file(folder, LONGEST);
    struct lw_store *const store = open_store(fd, LW_STORE_MAP);
    CHECK(lw_store_put(store, data, 0, LONGEST, &err) == LW_OK, "%s", err.message);
    CHECK(ftruncate(fd, PART + 17) == 0, "the file cannot be cut off");
    mishaps.is_kernel_old = is_kernel_old;
    for (int i = 0; i < 3; i++) {
        CHECK(lw_store_put(store, data, 0, LONGEST, &err) == LW_EIO, "%s", folder);
        CHECK(strcmp(err.message, "the file ends at byte 1048593") == 0, "%s", err.message);
    }
    CHECK(lseek(fd, 0, SEEK_END) == PART + 17, "%d bytes", (int)lseek(fd, 0, SEEK_END));
    CHECK(lw_store_put(store, data, 1, PART, &err) == LW_OK, "the rest of the cut file cannot be written: %s", err.message);
    mishaps.is_kernel_old = false;
    lw_store_close(store);
    close(fd);
}

/* The file is cut off again and again while it is written: each put succeeds, or reports where the file ends. A page may vanish
 * between its creation and its writing. */
struct cutter {
    int fd;
    atomic_bool is_over;
};

static int cut_and_prolong(void *context, int64_t piece, int thread, struct lw_error *err)
{
    struct cutter *const cutter = context;
    (void)piece, (void)thread, (void)err;
    while (!cutter->is_over) {
        CHECK(ftruncate(cutter->fd, 4096) == 0, "the file cannot be cut off");
        CHECK(ftruncate(cutter->fd, LONGEST) == 0, "the file cannot be made longer");
    }
    return LW_OK;
}

static void check_cutter(const char *folder)
{
    struct lw_error err;
    struct lw_pool *pool = NULL;
    struct cutter cutter = {.fd = make_file(folder, LONGEST)};
    struct lw_batch batch = {.lane = LW_LANE_READ, .n_pieces = 1, .work = cut_and_prolong, .context = &cutter};
    struct lw_store *const store = open_store(cutter.fd, LW_STORE_MAP);
    CHECK(lw_pool_create(1, &pool, &err) == LW_OK, "%s", err.message);
    lw_pool_start(pool, &batch);
    int wrong = 0;
    for (int i = 0; i < 100; i++) {
        const int rc = lw_store_put(store, data, 0, LONGEST, &err);
        wrong += rc != LW_OK && !(rc == LW_EIO && strncmp(err.message, "the file ends at byte ", 22) == 0);
    }
    cutter.is_over = true;
    lw_pool_wait(pool, &batch, &err);
    CHECK(wrong == 0, "%d puts failed otherwise: %s", wrong, err.message);
    lw_pool_destroy(pool);
    lw_store_close(store);
    close(cutter.fd);
}

/* A limit on the length of files is an error for the threads of a pool, which block the signal SIGXFSZ. */
static void check_limit(struct lw_pool *pool, enum lw_store_way way)
{
    struct lw_error err = {.code = LW_OK};
    struct rlimit before, limit;
    const int fd = make_file("/tmp", 1);
    struct pieces pieces = {open_store(fd, way), 0, LONGEST, 4096};
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 2 * PART;
    setrlimit(RLIMIT_FSIZE, &limit);
    CHECK(put_all(pool, &pieces, &err) == LW_EIO && strcmp(err.message, "File too large") == 0, "%s: %d %s",
          lw_store_way_text(way), err.code, err.message);
    setrlimit(RLIMIT_FSIZE, &before);
    lw_store_close(pieces.store);
    close(fd);
}

/* ---- signals of other causes ------------------------------------------------------------------------------------------ */

static void end_quietly(int signal)
{
    (void)signal;
    _exit(23);
}

static void send_signal(void)
{
    raise(SIGBUS);
}

static void touch_behind_the_end(void)
{
    char *const page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, make_file("/tmp", 0), 0);
    *(volatile char *)page = 1;
}

/* Exit status of a child that sets an action for SIGBUS, uses a mapping and then meets the signal elsewhere. */
static int status_of_child(void (*action)(int), void (*meet)(void))
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        const struct rlimit none = {0, 0};
        struct lw_error err;
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGBUS, action);
        const int rc = lw_store_put(open_store(make_file("/tmp", 100), LW_STORE_MAP), data, 0, 100, &err);
        if (rc == LW_OK)
            meet();
        _exit(1);
    }
    waitpid(child, &status, 0);
    return status;
}

/* Children run this test before this process itself uses a mapping, since the action for SIGBUS is set once per process. */
static void check_signals(void)
{
    void (*const meets[])(void) = {send_signal, touch_behind_the_end};
    for (int i = 0; i < 2; i++) {
        const int handled = status_of_child(end_quietly, meets[i]), fatal = status_of_child(SIG_DFL, meets[i]);
        CHECK(WIFEXITED(handled) && WEXITSTATUS(handled) == 23, "%d: the former handler is not called: %x", i, handled);
        CHECK(WIFSIGNALED(fatal) && WTERMSIG(fatal) == SIGBUS, "%d: the process does not end: status %x", i, fatal);
    }
}

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

static void check_bytes(void)
{
    CHECK(lw_store_bytes(0) == 0, "without threads there must be no bytes");
    CHECK(lw_store_bytes(16) == 16 * LW_MAPPING_BYTES, "each thread must count one mapping");
}

static void fill(void)
{
    data = malloc(LONGEST);
    found = malloc(LONGEST);
    uint32_t state = 1;
    for (int64_t i = 0; i < LONGEST; i++) {
        state = state * 1664525 + 1013904223;
        data[i] = (char)((state >> 24) | 1);        /* never 0, the value of the surrounding bytes */
    }
}

int main(void)
{
    struct lw_error err;
    struct lw_pool *pool = NULL;
    fill();
    check_signals();
    CHECK(lw_pool_create(N_THREADS, &pool, &err) == LW_OK, "%s", err.message);
    for (int w = 0; w < N_WAYS; w++) {
        check_nothing(ways[w]);
        for (int f = 0; f < N_FOLDERS; f++)
            check_ways(pool, folders[f], ways[w]);
    }
    check_limit(pool, LW_STORE_WRITE);
    lw_pool_destroy(pool);
    check_map_refused();
    for (int f = 0; f < N_FOLDERS; f++) {
        check_cut_off(folders[f], false);
        check_cut_off(folders[f], true);
        check_cutter(folders[f]);
    }
    check_bytes();
    free(found);
    free(data);
    return check_result("store");
}
