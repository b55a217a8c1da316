/* test_halo.c - tests of the halo exchange over whole runs. For any slices, groups and layouts, a rank's halo holds the samples
 * that precede its own in the signal. The signal here is a function of position and channel, also beyond its two ends. */
#include "../check.h"
#include "comm/halo.h"

#include <stdlib.h>

static int32_t sample(int64_t position, int64_t channel)
{
    return (int32_t)(position * 64 + channel);
}

/* Fill samples [from, to) of the block's row, which begins with the halo, in the slot's layout. */
static void fill(int32_t *buffer, const struct lw_block *b, enum lw_layout layout, int64_t halo, int64_t length,
                 int64_t from, int64_t to)
{
    for (int64_t c = 0; c < b->n_channels; c++)
        for (int64_t i = from; i < to; i++)
            buffer[layout == LW_TIME_FAST ? c * length + i : i * b->n_channels + c] =
                sample(b->first - halo + i, b->channel + c);
}

static void check_slot(const int32_t *buffer, const struct lw_block *b, enum lw_layout layout, int64_t halo)
{
    const int64_t length = halo + b->count;
    for (int64_t c = 0; c < b->n_channels; c++) {
        for (int64_t i = 0; i < length; i++) {
            const int32_t found = buffer[layout == LW_TIME_FAST ? c * length + i : i * b->n_channels + c];
            const int32_t wanted = sample(b->first - halo + i, b->channel + c);
            CHECK(found == wanted, "round %d, channel %d, sample %d of halo %d: %d, not %d", (int)b->round, (int)c,
                  (int)i, (int)halo, found, wanted);
        }
    }
}

static void run_case(struct lw_comm *comm, const struct lw_grid *grid, enum lw_split split, enum lw_layout layout,
                     int64_t slice, int64_t group)
{
    const struct lw_rounds rounds = lw_rounds_make(grid, lw_comm_size(comm), split, slice, group);
    const struct lw_halo_spec spec = {.rounds = &rounds, .layout = layout, .sample_bytes = sizeof(int32_t)};
    struct lw_halo *halo = NULL;
    struct lw_error err;
    CHECK(lw_halo_create(comm, &spec, &halo, &err) == LW_OK, "no halo exchange was created");
    int32_t *const buffer = malloc((size_t)((grid->halo + rounds.slice) * rounds.group) * sizeof *buffer);

    for (int64_t round = 0; round < rounds.n_rounds; round++) {
        const struct lw_block block = lw_rounds_block(&rounds, round, lw_comm_rank(comm));
        if (lw_halo_needs_prologue(halo, round))
            fill(lw_halo_carry(halo), &block, layout, grid->halo, grid->halo, 0, grid->halo);
        if (block.count > 0)
            fill(buffer, &block, layout, grid->halo, grid->halo + block.count, grid->halo, grid->halo + block.count);
        lw_halo_begin(halo, round, buffer);
        lw_halo_end(halo);
        if (block.count > 0)
            check_slot(buffer, &block, layout, grid->halo);
    }
    free(buffer);
    lw_halo_destroy(halo);
}

int main(int argc, char **argv)
{
    struct lw_comm *const comm = lw_comm_start(&argc, &argv);
    for (int layout = LW_TIME_FAST; layout <= LW_TIME_SLOW; layout++)
        for (int split = LW_SPLIT_AXIS; split <= LW_SPLIT_CHANNELS; split++)
            for (int channels = 1; channels < 6; channels += 2)
                for (int64_t n = 1; n < 50; n += 3)
                    for (int64_t length = 0; length < 60; length += 7)
                        for (int64_t slice = 1; slice < 20; slice += 6) {
                            const struct lw_grid grid = {n, 5, length, channels, channels > 1 ? 2 : 1, 1};
                            run_case(comm, &grid, (enum lw_split)split, (enum lw_layout)layout, slice, 2);
                            run_case(comm, &grid, (enum lw_split)split, (enum lw_layout)layout, slice, channels);
                        }
    const int failed = (int)lw_comm_max(comm, check_failed);
    const int result = check_result("halo");
    lw_comm_stop(comm);
    return result || failed;
}
