#include "io/direct.h"

static int put_piece(void *context, int64_t piece, int thread, struct lw_error *err)
{
    const struct lw_direct_write *const write = context;
    const int64_t n_runs = lw_runs_in_piece(&write->runs, piece);
    int rc = LW_OK;
    for (int64_t r = 0; r < n_runs && rc == LW_OK; r++) {
        const struct lw_run run = lw_runs_get(&write->runs, piece, r);
        rc = lw_store_put(write->store, thread, write->data + run.memory, run.file, run.bytes, err);
    }
    return rc;
}

void lw_direct_begin(struct lw_pool *pool, struct lw_store *store, const struct lw_extent *extent, const int64_t *first,
                     const int64_t *count, const void *data, struct lw_direct_write *write)
{
    *write = (struct lw_direct_write){
        .store = store, .data = data, .runs = lw_runs_plan(extent, first, count, LW_DIRECT_PIECE_BYTES),
    };
    write->batch = (struct lw_batch){
        .lane = LW_LANE_WRITE, .n_pieces = write->runs.n_pieces, .work = put_piece, .context = write,
    };
    lw_pool_start(pool, &write->batch);
}

int lw_direct_end(struct lw_pool *pool, struct lw_direct_write *write, struct lw_error *err)
{
    return lw_pool_wait(pool, &write->batch, err);
}
