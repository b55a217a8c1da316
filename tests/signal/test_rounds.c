/* test_rounds.c - exhaustive tests of rounds, slices and groups over small ranges: every output of every channel is computed
 * once, in order; cuts lie on the grid only; and no slice that another rank depends on is shorter than the halo. */
#include "../check.h"
#include "signal/rounds.h"

#include <stdlib.h>

static void check_round(const struct lw_rounds *rounds, int64_t round, unsigned char *seen, int64_t *next)
{
    const struct lw_grid *const grid = &rounds->grid;
    const int workers = lw_rounds_workers(rounds, round);
    CHECK(workers >= 1 && workers <= rounds->n_ranks, "workers %d", workers);
    if (lw_rounds_starts_axis(rounds, round))
        *next = lw_rounds_block(rounds, round, 0).first;

    for (int rank = 0; rank < rounds->n_ranks; rank++) {
        const struct lw_block b = lw_rounds_block(rounds, round, rank);
        CHECK(b.round == round, "round %d", (int)b.round);
        if (rank >= workers || b.count == 0) {
            CHECK(b.count == 0, "idle rank %d has %d outputs", rank, (int)b.count);
            continue;
        }
        CHECK(b.count <= rounds->slice && b.n_channels <= rounds->group, "block %d x %d above %d x %d", (int)b.count,
              (int)b.n_channels, (int)rounds->slice, (int)rounds->group);
        CHECK(b.first % grid->unit == 0 && b.channel % grid->channel_unit == 0, "cut off the grid at %d, %d",
              (int)b.first, (int)b.channel);
        CHECK(b.first + b.count == grid->n_outputs || b.count % grid->unit == 0, "end off the grid");
        CHECK(b.n_filters <= rounds->held, "%d filters above %d", (int)b.n_filters, (int)rounds->held);
        if (rounds->split == LW_SPLIT_AXIS) {
            CHECK(b.first == *next, "slice begins at %d, not %d", (int)b.first, (int)*next);
            CHECK(workers == 1 || b.count >= grid->halo || b.first + b.count == grid->n_outputs,
                  "slice of %d below the halo %d", (int)b.count, (int)grid->halo);
            CHECK(rank == workers - 1 || b.count >= grid->halo, "slice of %d below the halo %d", (int)b.count,
                  (int)grid->halo);
            *next = b.first + b.count;
        }
        for (int64_t f = b.filter; f < b.filter + b.n_filters; f++)
            for (int64_t c = b.channel; c < b.channel + b.n_channels; c++)
                for (int64_t o = b.first; o < b.first + b.count; o++)
                    seen[(f * grid->n_channels + c) * grid->n_outputs + o]++;
    }
}

/* A run ends after `n_done` rounds. Further runs, with rounds of other sizes, each continue with the outputs that the runs before
 * have left. */
static void check_rest(struct lw_grid grid, int n_ranks, enum lw_split split, int64_t n_done)
{
    enum { MOST = 64 };
    static const struct { int n_ranks; int64_t slice, group, held; } others[] = {{1, 9, 2, 3}, {3, 4, 1, 1}, {2, 16, 3, 2},
                                                                                 {4, 100, 100, 100}};
    struct lw_stripe left[2][MOST];
    const int64_t all = lw_grid_outputs(&grid);
    unsigned char *const seen = calloc((size_t)all, 1);
    struct lw_rounds rounds = lw_rounds_make(&grid, n_ranks, split, 8, 2);
    lw_rounds_hold(&rounds, 2);
    int64_t next = 0, n_left = 0, n_seen = 0;
    for (int run = 0; run == 0 || n_left > 0; run++) {
        const int64_t n = run < 5 && n_done < rounds.n_rounds ? n_done : rounds.n_rounds;
        for (int64_t round = 0; round < n; round++) {
            check_round(&rounds, round, seen, &next);
            n_seen += lw_rounds_outputs(&rounds, round);
        }
        CHECK(lw_rounds_most_left(&rounds) <= MOST, "%d stripes", (int)lw_rounds_most_left(&rounds));
        n_left = lw_rounds_left(&rounds, n, left[run % 2]);
        CHECK(n_left <= lw_rounds_most_left(&rounds), "%d stripes are left, more than %d", (int)n_left,
              (int)lw_rounds_most_left(&rounds));
        CHECK(n_seen + lw_stripes_outputs(left[run % 2], n_left) == all, "%d outputs are done and %d left of %d", (int)n_seen,
              (int)lw_stripes_outputs(left[run % 2], n_left), (int)all);
        if (n_left == 0)
            break;
        const int o = run % 4;
        rounds = lw_rounds_make(&grid, others[o].n_ranks, split, others[o].slice, others[o].group);
        lw_rounds_hold(&rounds, others[o].held);
        lw_rounds_limit(&rounds, left[run % 2], n_left);
    }
    for (int64_t i = 0; i < all; i++)
        CHECK(seen[i] == 1, "output %d computed %d times: %d of %d ranks' rounds done, channels %d/%d, %d filters", (int)i, seen[i],
              (int)n_done, n_ranks, (int)grid.n_channels, (int)grid.channel_unit, (int)grid.n_filters);
    free(seen);
}

/* @param held  filters of a round; 0: all */
static void check_case(struct lw_grid grid, int n_ranks, enum lw_split split, int64_t slice, int64_t group, int64_t held)
{
    struct lw_rounds rounds = lw_rounds_make(&grid, n_ranks, split, slice, group);
    const size_t size = (size_t)lw_grid_outputs(&grid);
    if (held > 0)
        lw_rounds_hold(&rounds, held);
    unsigned char *const seen = calloc(size, 1);
    int64_t next = 0;
    for (int64_t round = 0; round < rounds.n_rounds; round++)
        check_round(&rounds, round, seen, &next);
    for (size_t i = 0; i < size; i++)
        CHECK(seen[i] == 1, "output %zu computed %d times: n %d unit %d halo %d channels %d/%d, %d ranks, slice %d group %d",
              i, seen[i], (int)grid.n_outputs, (int)grid.unit, (int)grid.halo, (int)grid.n_channels,
              (int)grid.channel_unit, n_ranks, (int)slice, (int)group);
    free(seen);
}

int main(void)
{
    for (int n = 1; n < 60; n++)
        for (int ranks = 1; ranks < 9; ranks++)
            for (int unit = 1; unit < 12; unit += 2)
                for (int halo = 0; halo < 14; halo += 3)
                    for (int slice = 1; slice < 30; slice += 7)
                        check_case((struct lw_grid){n, unit, halo, 1, 1, 1}, ranks, LW_SPLIT_AXIS, slice, 1, 0);

    for (int channels = 1; channels < 9; channels++)
        for (int channel_unit = 1; channel_unit < 3; channel_unit++)
            for (int ranks = 1; ranks < 7; ranks++)
                for (int group = 1; group < 9; group++)
                    for (int split = LW_SPLIT_AXIS; split <= LW_SPLIT_CHANNELS; split++)
                        check_case((struct lw_grid){23, 4, 3, channels, channel_unit, 1}, ranks, (enum lw_split)split, 8, group, 0);

    for (int filters = 1; filters < 9; filters++)
        for (int channels = 1; channels < 4; channels++)
            for (int ranks = 1; ranks < 7; ranks++)
                for (int held = 0; held < 5; held++)
                    for (int split = LW_SPLIT_AXIS; split <= LW_SPLIT_FILTERS; split++)
                        check_case((struct lw_grid){23, 4, 3, channels, 1, filters}, ranks, (enum lw_split)split, 8, 2, held);

    for (int channels = 1; channels < 12; channels++)
        for (int channel_unit = 1; channel_unit < 3; channel_unit++)
            for (int ranks = 1; ranks < 5; ranks++)
                for (int64_t n_done = 0; n_done < 40; n_done++)
                    for (int split = LW_SPLIT_AXIS; split <= LW_SPLIT_FILTERS; split++)
                        check_rest((struct lw_grid){47, 4, 6, channels, channel_unit, 1 + channels % 6}, ranks,
                                   (enum lw_split)split, n_done);

    const struct lw_grid shallow = {.n_outputs = 100, .unit = 64, .halo = 10, .n_channels = 64, .channel_unit = 2};
    CHECK(lw_rounds_resolve_split(&shallow, 8, LW_SPLIT_AUTO) == LW_SPLIT_CHANNELS,
          "8 ranks of a short axis must split the channels");
    CHECK(lw_rounds_resolve_split(&shallow, 2, LW_SPLIT_AUTO) == LW_SPLIT_AXIS, "2 ranks must split the axis");
    CHECK(lw_rounds_resolve_split(&shallow, 8, LW_SPLIT_AXIS) == LW_SPLIT_AXIS, "a requested split of the axis must be kept");

    struct lw_grid bank = {.n_outputs = 1000, .unit = 64, .halo = 10, .n_channels = 1, .channel_unit = 1, .n_filters = 32};
    CHECK(lw_rounds_resolve_split(&bank, 8, LW_SPLIT_AUTO) == LW_SPLIT_FILTERS, "8 ranks must split 32 filters");
    CHECK(lw_rounds_resolve_split(&bank, 1, LW_SPLIT_AUTO) == LW_SPLIT_AXIS, "a single rank splits nothing");
    bank.n_filters = 31;
    CHECK(lw_rounds_resolve_split(&bank, 8, LW_SPLIT_AUTO) == LW_SPLIT_AXIS, "8 ranks must not split 31 filters");
    bank = (struct lw_grid){.n_outputs = 64 * 128, .unit = 64, .halo = 10, .n_channels = 1, .channel_unit = 1, .n_filters = 999};
    CHECK(lw_rounds_resolve_split(&bank, 8, LW_SPLIT_AUTO) == LW_SPLIT_AXIS, "8 ranks must share 128 segments");
    bank = (struct lw_grid){.n_outputs = 100, .unit = 64, .halo = 70, .n_channels = 1, .channel_unit = 1, .n_filters = 5};
    CHECK(lw_rounds_resolve_split(&bank, 8, LW_SPLIT_AUTO) == LW_SPLIT_FILTERS, "8 ranks of a short axis must split 5 filters");
    bank.n_channels = 5;
    CHECK(lw_rounds_resolve_split(&bank, 8, LW_SPLIT_AUTO) == LW_SPLIT_CHANNELS, "8 ranks of a short axis must split 5 channels");

    const struct lw_grid huge = {.n_outputs = (INT64_C(1) << 40) + 7, .unit = 3840, .halo = 256, .n_channels = 1,
                                 .channel_unit = 1};
    const struct lw_rounds rounds = lw_rounds_make(&huge, 8, LW_SPLIT_AXIS, INT64_C(1) << 26, 1);
    const struct lw_block last = lw_rounds_block(&rounds, rounds.n_rounds - 1, lw_rounds_workers(&rounds, rounds.n_rounds - 1) - 1);
    CHECK(last.first + last.count == huge.n_outputs, "end at %lld", (long long)(last.first + last.count));
    return check_result("rounds");
}
