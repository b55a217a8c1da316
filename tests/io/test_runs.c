/* test_runs.c - tests of the pieces of a hyperslab: they hold each byte once, at its place in memory and in the file. All small
 * shapes, all hyperslabs in them and several sizes of pieces are tried. */
#include "../check.h"
#include "io/write/put.h"

#include <string.h>

enum { MOST = 4, ELEMENT_BYTES = 3, OFFSET = 17 };

/* The byte of the file that belongs to byte `byte` of element number `element` of the block. */
static int64_t place(const struct lw_extent *extent, const int64_t *first, const int64_t *count, int64_t element, int64_t byte)
{
    int64_t index = 0, scale = 1;
    for (int d = extent->n_dims - 1; d >= 0; d--) {
        index += (first[d] + element % count[d]) * scale;
        element /= count[d];
        scale *= extent->dims[d];
    }
    return extent->offset + index * extent->element_bytes + byte;
}

static void check_hyperslab(const struct lw_extent *extent, const int64_t *first, const int64_t *count, int64_t piece_bytes)
{
    int times[MOST * MOST * MOST * ELEMENT_BYTES] = {0};
    int64_t bytes = ELEMENT_BYTES, wrong = 0;
    for (int d = 0; d < extent->n_dims; d++)
        bytes *= count[d];
    const struct lw_runs runs = lw_runs_plan(extent, first, count, piece_bytes);
    for (int64_t piece = 0; piece < runs.n_pieces; piece++) {
        int64_t in_piece = 0;
        for (int64_t r = 0; r < lw_runs_in_piece(&runs, piece); r++) {
            const struct lw_run run = lw_runs_get(&runs, piece, r);
            CHECK(run.bytes >= 0 && run.memory >= 0 && run.memory + run.bytes <= bytes, "run of %d bytes at %d of %d",
                  (int)run.bytes, (int)run.memory, (int)bytes);
            CHECK(runs.parts == 1 || run.bytes == 0 || run.file / piece_bytes == (run.file + run.bytes - 1) / piece_bytes,
                  "%d bytes at %d cross a border", (int)run.bytes, (int)run.file);
            for (int64_t i = run.memory; i < run.memory + run.bytes; i++) {
                times[i]++;
                wrong += place(extent, first, count, i / ELEMENT_BYTES, i % ELEMENT_BYTES) != run.file + i - run.memory;
            }
            in_piece += run.bytes;
        }
        CHECK(in_piece <= piece_bytes, "piece of %d bytes, limit %d", (int)in_piece, (int)piece_bytes);
    }
    for (int64_t i = 0; i < bytes; i++)
        wrong += times[i] != 1;
    CHECK(wrong == 0, "%d wrong bytes of %d x %d x %d, pieces of %d", (int)wrong, (int)count[0], (int)count[1], (int)count[2],
          (int)piece_bytes);
}

/* Check every hyperslab of a dataset; dimensions before `d` are chosen. */
static void check_all(const struct lw_extent *extent, int64_t *first, int64_t *count, int d)
{
    static const int64_t sizes[] = {1, 2, ELEMENT_BYTES, 7, 1000};
    if (d == LW_MAX_DIMS || d == extent->n_dims) {
        for (int s = 0; s < 5; s++)
            check_hyperslab(extent, first, count, sizes[s]);
        return;
    }
    for (first[d] = 0; first[d] < extent->dims[d]; first[d]++)
        for (count[d] = 0; first[d] + count[d] <= extent->dims[d]; count[d]++)
            check_all(extent, first, count, d + 1);
}

/* A hyperslab beyond 2^31 elements: the slice of a filter bank's result. */
static void check_large(void)
{
    const struct lw_extent extent = {.offset = 4096, .element_bytes = 8, .n_dims = 3, .dims = {8, 4, (int64_t)1 << 31}};
    const int64_t first[] = {0, 1, (int64_t)1 << 30}, count[] = {8, 2, 1000000}, piece = (int64_t)1 << 21;
    const struct lw_runs runs = lw_runs_plan(&extent, first, count, piece);
    CHECK(runs.n_pieces == 16 * 5, "%d pieces", (int)runs.n_pieces);
    const struct lw_run last = lw_runs_get(&runs, runs.n_pieces - 2, 0), behind = lw_runs_get(&runs, runs.n_pieces - 1, 0);
    CHECK(last.memory + last.bytes == 16 * 8000000 && behind.bytes == 0, "the last pieces do not end with the block in memory");
    CHECK(last.file + last.bytes == 4096 + ((((int64_t)7 * 4 + 2) << 31) + ((int64_t)1 << 30) + 1000000) * 8,
          "the last piece is at the wrong place of the file");
}

int main(void)
{
    for (int n_dims = 1; n_dims <= 3; n_dims++)
        for (int64_t shape = 0; shape < MOST * MOST * MOST; shape++) {
            int64_t first[LW_MAX_DIMS] = {0}, count[LW_MAX_DIMS] = {0};
            const struct lw_extent extent = {
                .offset = OFFSET, .element_bytes = ELEMENT_BYTES, .n_dims = n_dims,
                .dims = {shape % MOST + 1, shape / MOST % MOST + 1, shape / MOST / MOST + 1},
            };
            check_all(&extent, first, count, 0);
        }
    check_large();
    return check_result("runs");
}
