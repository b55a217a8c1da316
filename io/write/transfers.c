#include "io/write/transfers.h"

#include "base/integers.h"

static int64_t transfers_per_row(const struct lw_transfers *transfers)
{
    return (transfers->count[transfers->cut_dim] + transfers->rows - 1) / transfers->rows;
}

struct lw_transfers lw_transfers_plan(int n_dims, const int64_t *count, int64_t sample_bytes, int64_t limit)
{
    struct lw_transfers transfers = {.n_dims = n_dims, .row_bytes = sample_bytes};
    int64_t samples = 1;
    for (int d = 0; d < n_dims; d++)
        samples *= transfers.count[d] = count[d];
    if (samples == 0)
        return transfers;

    transfers.cut_dim = n_dims - 1;
    while (transfers.cut_dim > 0 && transfers.row_bytes * count[transfers.cut_dim] <= limit)
        transfers.row_bytes *= count[transfers.cut_dim--];
    transfers.rows = lw_min64(limit / transfers.row_bytes, count[transfers.cut_dim]);
    transfers.n_transfers = transfers_per_row(&transfers);
    for (int d = 0; d < transfers.cut_dim; d++)
        transfers.n_transfers *= count[d];
    return transfers;
}

struct lw_transfer lw_transfers_get(const struct lw_transfers *transfers, int64_t index)
{
    const int cut = transfers->cut_dim;
    const int64_t row = index % transfers_per_row(transfers) * transfers->rows;
    const int64_t outer = index / transfers_per_row(transfers);
    struct lw_transfer transfer;
    for (int d = 0; d < transfers->n_dims; d++) {
        transfer.first[d] = 0;
        transfer.count[d] = transfers->count[d];
    }
    transfer.first[cut] = row;
    transfer.count[cut] = lw_min64(transfers->rows, transfers->count[cut] - row);
    int64_t left = outer;
    for (int d = cut - 1; d >= 0; d--) {
        transfer.first[d] = left % transfers->count[d];
        transfer.count[d] = 1;
        left /= transfers->count[d];
    }
    transfer.offset_bytes = (outer * transfers->count[cut] + row) * transfers->row_bytes;
    transfer.bytes = transfer.count[cut] * transfers->row_bytes;
    return transfer;
}
