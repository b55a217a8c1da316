/* test_flaws.c - tests of the search for samples that are not finite: in every layout it finds the places that a full search
 * finds, its work is bounded, and ranks combine their findings. */
#include "../check.h"
#include "comm/comm.h"
#include "stream/not_finite.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { LENGTH = 30000, HALO = 7, BEFORE = 3, CHANNELS = 3, WIDTH = 5 };

/* Address of position `p` of the axis. The halo of the block comes first. */
static float *place(float *samples, enum lw_layout layout, int64_t width, int channel, int64_t p, int64_t value)
{
    if (layout == LW_TIME_SLOW)
        return &samples[(HALO + p) * CHANNELS + channel];
    return &samples[((HALO + LENGTH) * channel + HALO + p) * width + value];
}

/* The block's first sample has window position BEFORE. Sample 1000 of the input has window position 0. */
static void check_one(enum lw_layout layout, int64_t width, const int64_t *positions, int n_positions, int64_t begin)
{
    float *const samples = calloc((size_t)((HALO + LENGTH) * CHANNELS * width), sizeof *samples);
    int64_t first = INT64_MAX, last = -1, n = 0;
    for (int i = 0; i < n_positions; i++) {
        *place(samples, layout, width, i % CHANNELS, positions[i], i % width) = i % 2 ? NAN : -INFINITY;
        if (positions[i] < begin)
            continue;
        first = positions[i] < first ? positions[i] : first;
        last = positions[i] > last ? positions[i] : last;
        n++;
    }
    const struct lw_op_spec op = {.layout = layout, .input = {.scalar = LW_FLOAT32}};
    const struct lw_window_part part = {.begin = BEFORE, .end = BEFORE + LENGTH, .n_channels = CHANNELS, .into = samples,
                                        .into_axis = HALO + LENGTH, .into_first = HALO};
    const struct lw_samples_view view = {&op, width, &part};
    struct lw_flaws flaws = {0};
    CHECK(lw_not_finite_count(&view, BEFORE + begin, BEFORE + LENGTH) == n, "layout %d: count", (int)layout);
    lw_not_finite_locate(&view, BEFORE + begin, BEFORE + LENGTH, 1000, &flaws);
    if (n == 0)
        CHECK(flaws.end == 0, "layout %d: nothing is found, but %lld", (int)layout, (long long)flaws.end);
    else
        CHECK(flaws.first == 1000 + BEFORE + first && flaws.end == 1000 + BEFORE + last + 1 && !flaws.is_rough,
              "layout %d: [%lld, %lld), not [%lld, %lld]", (int)layout, (long long)flaws.first, (long long)flaws.end,
              (long long)(1000 + BEFORE + first), (long long)(1000 + BEFORE + last));

    /* the search is bounded: its end may be approximate, but is never before the last such sample */
    struct lw_flaws tired = {.n_sought = (int64_t)1 << 30};
    lw_not_finite_locate(&view, BEFORE + begin, BEFORE + LENGTH, 1000, &tired);
    CHECK(n == 0 || (tired.first == flaws.first && tired.end >= flaws.end && (tired.is_rough || tired.end == flaws.end)),
          "layout %d: a rough end %lld before %lld", (int)layout, (long long)tired.end, (long long)flaws.end);
    CHECK(n == 0 || last >= LENGTH - 8192 || tired.is_rough, "layout %d: the search for %lld does not end", (int)layout,
          (long long)last);
    free(samples);
}

static void check_layouts(void)
{
    int64_t positions[40];
    srand(7);
    for (int trial = 0; trial < 40; trial++) {
        const int n = trial % 8;
        const int64_t range = trial % 3 == 0 ? 40 : LENGTH;     /* all near the beginning, or one in each fortieth of the axis */
        for (int i = 0; i < n; i++)
            positions[i] = (rand() % (range / 40)) * 40 + i * (range > 40 ? 1 : 5);
        const int64_t begin = trial % 5 == 4 ? LENGTH / 2 : 0;
        check_one(LW_TIME_FAST, 1, positions, n, begin);
        check_one(LW_TIME_FAST, WIDTH, positions, n, begin);
        check_one(LW_TIME_SLOW, 1, positions, n, begin);
    }
    check_one(LW_TIME_FAST, 1, (const int64_t[]){0}, 1, 0);
    check_one(LW_TIME_SLOW, 1, (const int64_t[]){LENGTH - 1}, 1, 0);
}

/* Ranks with and without such samples. An approximate end counts only if no other rank has a later exact one. */
static void check_sum(struct lw_comm *comm)
{
    const int rank = lw_comm_rank(comm), size = lw_comm_size(comm);
    struct lw_flaws flaws = {.n_not_finite = 0};
    lw_flaws_sum(comm, &flaws);
    CHECK(flaws.end == 0 && flaws.n_not_finite == 0, "samples are reported although all are finite");

    if (rank == size - 1)
        flaws = (struct lw_flaws){.n_not_finite = 2, .first = 70, .end = 90};
    lw_flaws_sum(comm, &flaws);
    CHECK(flaws.n_not_finite == 2 && flaws.first == 70 && flaws.end == 90 && !flaws.is_rough, "on the last rank alone");

    flaws = (struct lw_flaws){.n_not_finite = 1, .first = 10 * (size - rank), .end = 1000 + rank, .is_rough = rank < size - 1};
    lw_flaws_sum(comm, &flaws);
    CHECK(flaws.n_not_finite == size && flaws.first == 10 && flaws.end == 1000 + size - 1 && !flaws.is_rough, "rough ones before");

    flaws = (struct lw_flaws){.n_not_finite = 1, .first = 5, .end = 1000 + rank, .is_rough = rank == size - 1};
    lw_flaws_sum(comm, &flaws);
    CHECK(flaws.end == 1000 + size - 1 && flaws.is_rough, "the last is rough");
}

int main(int argc, char **argv)
{
    struct lw_comm *const comm = lw_comm_start(&argc, &argv);
    check_layouts();
    check_sum(comm);
    const int failed = check_result("flaws");
    lw_comm_stop(comm);
    return failed;
}
