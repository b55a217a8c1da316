/* io_compare.c - compares the reads of a pool's threads with those of HDF5: random views and slabs of datasets, byte by byte.
 *
 *   io_compare SEED THREADS FILE:/path ...
 *
 * Each dataset gives a line: its name; "threads" or "library" for the reader that the pool's reads used; and "same", "different"
 * or "failed A B" with the error codes of library and pool. Some of the pool's reads are interrupted or cut short. */
#include "base/integers.h"
#include "base/log.h"
#include "io/read/reader.h"
#include "io/shield.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_VIEWS = 12, N_SLABS = 6, MOST_SAMPLES = 4000, GUARD = 64 };

/* ---- the system --------------------------------------------------------------------------------------------------- */

ssize_t __real_pread(int fd, void *into, size_t bytes, off_t offset);
ssize_t __wrap_pread(int fd, void *into, size_t bytes, off_t offset);

ssize_t __wrap_pread(int fd, void *into, size_t bytes, off_t offset)
{
    static atomic_int calls;
    const int call = atomic_fetch_add(&calls, 1);
    if (call % 5 == 1) {
        errno = EINTR;
        return -1;
    }
    return __real_pread(fd, into, call % 3 == 1 ? (bytes + 1) / 2 : bytes, offset);
}

/* ---- random views and slabs ----------------------------------------------------------------------------------------- */

static uint64_t state;

/* Random number in 0 ... n - 1. */
static int64_t choose(int64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)n);
}

static struct lw_view_spec choose_view(const struct lw_dataset_info *info)
{
    struct lw_view_spec view = {.has_rows = info->n_dims == 3 || (info->n_dims == 2 && choose(3) == 0), .channels = {0, 1, 1}};
    const int n_dims = info->n_dims - view.has_rows;
    view.axis = view.has_rows ? n_dims - 1 : (int)choose(n_dims);
    const int64_t n = info->dims[view.axis];
    view.start = choose(4) == 0 ? choose(n) : 0;
    view.count = choose(4) == 0 ? 1 + choose(n - view.start) : n - view.start;
    if (n_dims == 2) {
        const int64_t all = info->dims[1 - view.axis];
        view.channels.begin = choose(3) == 0 ? choose(all) : 0;
        view.channels.end = choose(3) == 0 ? view.channels.begin + 1 + choose(all - view.channels.begin) : all;
        view.channels.step = choose(2) == 0 ? 1 : 1 + choose(all);
    }
    view.max_channels = 1 + choose(lw_divide_up(view.channels.end - view.channels.begin, view.channels.step));
    view.max_axis = 1 + choose(lw_min64(view.count, MOST_SAMPLES));
    view.chunks = (enum lw_chunks)choose(3);
    return view;
}

struct subject {
    struct lw_reader *library, *threads;
    struct lw_view_spec view;
    int64_t n_channels, sample_bytes;
    int codes[2];
    bool differs;
};

/* Read a slab into memory between guard bytes, with some samples in front. */
static int read_one(struct subject *s, struct lw_reader *reader, const struct lw_slab *slab, char **memory, size_t *bytes)
{
    struct lw_slab mine = *slab;
    struct lw_error err;
    *bytes = (size_t)(slab->into_axis * slab->n_channels * s->sample_bytes) + 2 * GUARD;
    *memory = malloc(*bytes);
    memset(*memory, 0x5a, *bytes);
    mine.into = *memory + GUARD;
    return lw_reader_read(reader, &mine, &err);
}

static void compare_slab(struct subject *s, int64_t first, int64_t channel)
{
    const int64_t ahead = choose(4);
    const struct lw_slab slab = {.first = first, .count = lw_min64(s->view.max_axis, s->view.count - first), .channel = channel,
                                 .n_channels = lw_min64(s->view.max_channels, s->n_channels - channel),
                                 .into_axis = lw_min64(s->view.max_axis, s->view.count - first) + ahead, .into_first = ahead};
    char *a, *b;
    size_t bytes;
    const int codes[2] = {read_one(s, s->library, &slab, &a, &bytes), read_one(s, s->threads, &slab, &b, &bytes)};
    s->differs |= codes[0] == LW_OK && codes[1] == LW_OK && memcmp(a, b, bytes) != 0;
    for (int i = 0; i < 2; i++)
        s->codes[i] = s->codes[i] ? s->codes[i] : codes[i];
    free(a);
    free(b);
}

/* Read first in sequence, as a run of one rank or of one of two ranks does, then at random places. */
static void compare_view(struct subject *s)
{
    struct lw_error err;
    if (lw_reader_select(s->library, &s->view, &err) || lw_reader_select(s->threads, &s->view, &err)) {
        fprintf(stderr, "%s\n", err.message);
        s->differs = true;
        return;
    }
    const int64_t step = s->view.max_axis * (1 + choose(2));
    int n = 0;
    for (int64_t channel = 0; channel < s->n_channels; channel += s->view.max_channels)
        for (int64_t first = 0; first < s->view.count && n < 5 * N_SLABS; first += step, n++)
            compare_slab(s, first, channel);
    for (int i = 0; i < N_SLABS; i++)
        compare_slab(s, choose(s->view.count), choose(s->n_channels));
}

static int compare(struct lw_comm *comm, struct lw_pool *pool, const char *name, struct lw_error *err)
{
    struct subject s = {0};
    int rc = lw_reader_open(comm, name, &s.library, err);
    if (rc == LW_OK && (rc = lw_reader_open(comm, name, &s.threads, err)))
        lw_reader_close(s.library);
    if (rc)
        return rc;
    const double busy = lw_pool_busy_seconds(pool, LW_LANE_READ);
    const struct lw_dataset_info *const info = lw_reader_info(s.library);
    lw_reader_use(s.threads, pool);
    for (int v = 0; v < N_VIEWS; v++) {
        s.view = choose_view(info);
        s.n_channels = lw_divide_up(s.view.channels.end - s.view.channels.begin, s.view.channels.step);
        s.sample_bytes = (int64_t)lw_type_bytes(info->type) * (s.view.has_rows ? info->dims[info->n_dims - 1] : 1);
        compare_view(&s);
    }
    printf("%s %s ", name, lw_pool_busy_seconds(pool, LW_LANE_READ) > busy ? "threads" : "library");
    if (s.codes[0] || s.codes[1])
        printf("failed %d %d\n", s.codes[0], s.codes[1]);
    else
        printf("%s\n", s.differs ? "different" : "same");
    lw_reader_close(s.threads);
    lw_reader_close(s.library);
    return LW_OK;
}

int main(int argc, char **argv)
{
    struct lw_error err = {0};
    int rc = lw_shield_start(&err);         /* the shield must start before anything else, as in the program */
    struct lw_comm *const comm = lw_comm_start(&argc, &argv);
    struct lw_pool *pool = NULL;
    lw_log_start(0, "", LW_LOG_QUIET);
    if (!rc)
        rc = argc > 2 ? lw_pool_create(atoi(argv[2]), &pool, &err) : lw_fail(&err, LW_EUSAGE, "see the head of the source");
    for (int i = 3; rc == LW_OK && i < argc; i++) {
        state = (uint64_t)atoll(argv[1]) + (uint64_t)i;
        if (compare(comm, pool, argv[i], &err))
            printf("%s closed failed %d %d\n", argv[i], err.code, err.code);
    }
    if (rc)
        lw_log_error(&err);
    lw_pool_destroy(pool);
    lw_shield_stop();
    lw_comm_stop(comm);
    return rc;
}
