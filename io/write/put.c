#include "io/write/put.h"

#include "base/integers.h"

/* Cut runs into pieces. A long run may begin between two multiples of the piece size, and so touch one piece more. */
static void cut(struct lw_runs *runs, int64_t piece_bytes)
{
    runs->piece_bytes = piece_bytes;
    runs->together = lw_max64(1, piece_bytes / runs->run_bytes);
    runs->parts = runs->run_bytes > piece_bytes ? lw_divide_up(runs->run_bytes - 1, piece_bytes) + 1 : 1;
    runs->n_pieces = runs->parts > 1 ? runs->n_runs * runs->parts : lw_divide_up(runs->n_runs, runs->together);
}

struct lw_runs lw_runs_plan(const struct lw_extent *extent, const int64_t *first, const int64_t *count, int64_t piece_bytes)
{
    int inner = extent->n_dims - 1;     /* first dimension within a run: all dimensions behind it are taken whole */
    while (inner > 0 && count[inner] == extent->dims[inner])
        inner--;
    struct lw_runs runs = {.offset = extent->offset, .run_bytes = extent->element_bytes, .n_runs = 1, .n_outer = inner};
    int64_t pitch = extent->element_bytes;
    for (int d = extent->n_dims - 1; d >= 0; d--) {
        runs.offset += first[d] * pitch;
        if (d >= inner) {
            runs.run_bytes *= count[d];
        } else {
            runs.count[d] = count[d];
            runs.pitch[d] = pitch;
            runs.n_runs *= count[d];
        }
        pitch *= extent->dims[d];
    }
    if (runs.run_bytes == 0 || runs.n_runs == 0)
        return (struct lw_runs){0};
    cut(&runs, piece_bytes);
    return runs;
}

int64_t lw_runs_in_piece(const struct lw_runs *runs, int64_t piece)
{
    return runs->parts > 1 ? 1 : lw_min64(runs->together, runs->n_runs - piece * runs->together);
}

static struct lw_run whole_run(const struct lw_runs *runs, int64_t run)
{
    struct lw_run whole = {.memory = run * runs->run_bytes, .file = runs->offset, .bytes = runs->run_bytes};
    for (int d = runs->n_outer - 1; d >= 0; d--) {
        whole.file += run % runs->count[d] * runs->pitch[d];
        run /= runs->count[d];
    }
    return whole;
}

struct lw_run lw_runs_get(const struct lw_runs *runs, int64_t piece, int64_t index)
{
    if (runs->parts == 1)
        return whole_run(runs, piece * runs->together + index);
    struct lw_run run = whole_run(runs, piece / runs->parts);
    const int64_t border = (run.file / runs->piece_bytes + piece % runs->parts) * runs->piece_bytes;
    const int64_t begin = lw_min64(run.bytes, lw_max64(0, border - run.file));
    const int64_t end = lw_min64(run.bytes, border + runs->piece_bytes - run.file);
    return (struct lw_run){.memory = run.memory + begin, .file = run.file + begin, .bytes = end - begin};
}

/* Bytes that are converted at a time, on the thread's stack: as many as go to the disk at once (bytes/store.c). */
enum { BUFFER_BYTES = 256 << 10 };

#define DEFINE_SWAP(name, type, swap)                                       \
    static void name(const char *from, int64_t bytes, char *to)             \
    {                                                                       \
        for (int64_t at = 0; at < bytes; at += (int64_t)sizeof(type)) {     \
            type number;                                                    \
            memcpy(&number, from + at, sizeof number);                      \
            number = swap(number);                                          \
            memcpy(to + at, &number, sizeof number);                        \
        }                                                                   \
    }
DEFINE_SWAP(swap_2, uint16_t, __builtin_bswap16)
DEFINE_SWAP(swap_4, uint32_t, __builtin_bswap32)
DEFINE_SWAP(swap_8, uint64_t, __builtin_bswap64)

static void order(const struct lw_put *put, const char *from, int64_t bytes, char *to)
{
    if (!put->extent->is_swapped || put->extent->number_bytes == 1)
        memcpy(to, from, (size_t)bytes);
    else if (put->extent->number_bytes == 2)
        swap_2(from, bytes, to);
    else if (put->extent->number_bytes == 4)
        swap_4(from, bytes, to);
    else
        swap_8(from, bytes, to);
}

/* Write a run in the file's form. is_about_middle implies big-endian order, so the highest bit is in the first byte. */
static int put_changed(const struct lw_put *put, const struct lw_run *run, struct lw_error *err)
{
    _Alignas(16) char buffer[BUFFER_BYTES];
    int rc = LW_OK;
    for (int64_t at = 0, bytes; at < run->bytes && rc == LW_OK; at += bytes) {
        bytes = lw_min64(BUFFER_BYTES, run->bytes - at);
        order(put, put->data + run->memory + at, bytes, buffer);
        for (int64_t n = 0; put->extent->is_about_middle && n < bytes; n += put->extent->number_bytes)
            buffer[n] = (char)((unsigned char)buffer[n] ^ 0x80);
        rc = lw_store_put(put->store, buffer, run->file + at, bytes, err);
    }
    return rc;
}

static int put_piece(void *context, int64_t piece, int thread, struct lw_error *err)
{
    const struct lw_put *const put = context;
    const int64_t n_runs = lw_runs_in_piece(&put->runs, piece);
    int rc = LW_OK;
    (void)thread;
    for (int64_t r = 0; r < n_runs && rc == LW_OK; r++) {
        const struct lw_run run = lw_runs_get(&put->runs, piece, r);
        rc = put->extent->is_swapped || put->extent->is_about_middle ? put_changed(put, &run, err)
                                                     : lw_store_put(put->store, put->data + run.memory, run.file, run.bytes, err);
    }
    return rc;
}

void lw_put_begin(struct lw_pool *pool, struct lw_store *store, const struct lw_extent *extent, const int64_t *first,
                  const int64_t *count, const void *data, struct lw_put *put)
{
    *put = (struct lw_put){
        .store = store, .extent = extent, .data = data, .runs = lw_runs_plan(extent, first, count, LW_PUT_PIECE_BYTES),
    };
    put->batch = (struct lw_batch){
        .lane = LW_LANE_WRITE, .n_pieces = put->runs.n_pieces, .work = put_piece, .context = put,
    };
    if (pool) {
        lw_pool_start(pool, &put->batch);
        return;
    }
    for (int64_t piece = 0; piece < put->runs.n_pieces && put->failure.code == LW_OK; piece++)
        put_piece(put, piece, 0, &put->failure);
}

int lw_put_end(struct lw_pool *pool, struct lw_put *put, struct lw_error *err)
{
    if (pool)
        return lw_pool_wait(pool, &put->batch, err);
    if (put->failure.code != LW_OK)
        *err = put->failure;
    return put->failure.code;
}
