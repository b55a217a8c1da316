#include "io/write/runs.h"

#include "base/integers.h"

/* A run that is cut begins anywhere between two borders, and so may touch one piece more than its length says. */
static void cut(struct lw_runs *runs, int64_t piece_bytes)
{
    runs->piece_bytes = piece_bytes;
    runs->together = lw_max64(1, piece_bytes / runs->run_bytes);
    runs->parts = runs->run_bytes > piece_bytes ? lw_divide_up(runs->run_bytes - 1, piece_bytes) + 1 : 1;
    runs->n_pieces = runs->parts > 1 ? runs->n_runs * runs->parts : lw_divide_up(runs->n_runs, runs->together);
}

struct lw_runs lw_runs_plan(const struct lw_extent *extent, const int64_t *first, const int64_t *count, int64_t piece_bytes)
{
    int inner = extent->n_dims - 1;     /* the first dimension of those that make a run: all after it are taken whole */
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
