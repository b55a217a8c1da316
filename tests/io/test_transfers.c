/* test_transfers.c - tests of transfers for all small shapes: they cover their block exactly once, stay below the limit and are
 * contiguous in memory. And of the number of ranks that write for all. */
#include "../check.h"
#include "io/hdf5/result/parts.h"

#include <string.h>

enum { MOST = 5, SAMPLE_BYTES = 3 };

/* Count every sample of the transfer at its place in the packed block. Samples must follow each other. */
static void mark(const struct lw_transfers *transfers, const struct lw_transfer *transfer, unsigned char *seen)
{
    int64_t at[LW_MAX_DIMS] = {0}, expected = transfer->offset_bytes / SAMPLE_BYTES;
    for (;;) {
        int64_t index = 0;
        for (int d = 0; d < transfers->n_dims; d++)
            index = index * transfers->count[d] + transfer->first[d] + at[d];
        CHECK(index == expected, "sample %d of the block, not %d", (int)index, (int)expected);
        seen[index]++;
        expected++;
        int d = transfers->n_dims - 1;
        while (d >= 0 && ++at[d] == transfer->count[d])
            at[d--] = 0;
        if (d < 0)
            break;
    }
    CHECK(expected * SAMPLE_BYTES == transfer->offset_bytes + transfer->bytes, "%d bytes", (int)transfer->bytes);
}

static void check_shape(int n_dims, const int64_t *count, int64_t limit)
{
    unsigned char seen[MOST * MOST * MOST * MOST] = {0};
    const struct lw_transfers transfers = lw_transfers_plan(n_dims, count, SAMPLE_BYTES, limit);
    int64_t samples = 1;
    for (int d = 0; d < n_dims; d++)
        samples *= count[d];
    for (int64_t p = 0; p < transfers.n_transfers; p++) {
        const struct lw_transfer transfer = lw_transfers_get(&transfers, p);
        CHECK(transfer.bytes > 0 && transfer.bytes <= limit, "transfer %d has %d bytes, limit %d", (int)p, (int)transfer.bytes,
              (int)limit);
        mark(&transfers, &transfer, seen);
    }
    for (int64_t i = 0; i < samples; i++)
        CHECK(seen[i] == 1, "sample %d of %d is in %d transfers", (int)i, (int)samples, seen[i]);
    CHECK(transfers.n_transfers >= (samples * SAMPLE_BYTES + limit - 1) / limit, "%d transfers", (int)transfers.n_transfers);
}

static void check_large(void)
{
    const int64_t count[3] = {3, (int64_t)1 << 33, 2};
    const struct lw_transfers transfers = lw_transfers_plan(3, count, 8, (int64_t)1 << 30);
    CHECK(transfers.n_transfers == 3 * 128, "%d transfers", (int)transfers.n_transfers);
    const struct lw_transfer last = lw_transfers_get(&transfers, transfers.n_transfers - 1);
    CHECK(last.first[0] == 2 && last.first[1] == ((int64_t)127 << 26) && last.count[2] == 2, "the last transfer is another one");
    CHECK(last.offset_bytes + last.bytes == 3 * ((int64_t)1 << 37), "the last transfer does not end with the block");
}

/* Check the aggregators of all small numbers: none without stripes or on one node; else at least one on each node, at most one for
 * each rank, and a divisor of the ranks where nodes have equally many. */
static void check_aggregators(void)
{
    struct lw_storage lustre = {.name = "Lustre", .is_striped = true};
    const struct lw_storage other = {.name = "NFS", .stripe_bytes = 1 << 20, .n_stripes = 8};
    for (int nodes = 1; nodes < 9; nodes++)
        for (int ranks = nodes; ranks < 40; ranks++)
            for (lustre.n_stripes = 0; lustre.n_stripes < 20; lustre.n_stripes++) {
                const int n = lw_collective_aggregators(&lustre, ranks, nodes);
                CHECK(lw_collective_aggregators(&other, ranks, nodes) == 0, "aggregators without stripes");
                CHECK(nodes > 1 ? n >= nodes && n <= ranks : n == 0, "%d of %d ranks on %d nodes", n, ranks, nodes);
                CHECK(nodes == 1 || n <= lustre.n_stripes || n == nodes, "%d for %d stripes", n, lustre.n_stripes);
                CHECK(nodes == 1 || ranks % nodes != 0 || ranks % n == 0, "%d of %d ranks on %d nodes", n, ranks, nodes);
            }
    lustre.n_stripes = 8;
    CHECK(lw_collective_aggregators(&lustre, 24, 4) == 8, "8 stripes: 8 of 24 ranks write");
    lustre.n_stripes = 7;
    CHECK(lw_collective_aggregators(&lustre, 24, 4) == 6, "7 stripes: 6 of 24 ranks write");
    lustre.n_stripes = 0;
    CHECK(lw_collective_aggregators(&lustre, 24, 4) == 4, "unknown stripes: one rank of each node writes");
}

int main(void)
{
    check_aggregators();
    int64_t count[LW_MAX_DIMS];
    for (int n_dims = 1; n_dims <= LW_MAX_DIMS; n_dims++)
        for (int shape = 0; shape < 5 * 5 * 5 * 5; shape++) {
            int rest = shape;
            for (int d = 0; d < LW_MAX_DIMS; d++, rest /= 5)
                count[d] = rest % 5 == 4 && d == 0 ? MOST : rest % 5;
            for (int64_t limit = SAMPLE_BYTES; limit < 40 * SAMPLE_BYTES; limit += 7)
                check_shape(n_dims, count, limit);
        }
    check_large();
    return check_result("transfers");
}
