/* test_transfers.c - tests of transfers for all small shapes: they cover their block exactly once, stay below the limit and are
 * contiguous in memory. */
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

int main(void)
{
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
