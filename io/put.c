#include "io/put.h"

static int put_piece(void *context, int64_t piece, int thread, struct lw_error *err)
{
    const struct lw_put *const put = context;
    const int64_t n_runs = lw_runs_in_piece(&put->runs, piece);
    int rc = LW_OK;
    (void)thread;
    for (int64_t r = 0; r < n_runs && rc == LW_OK; r++) {
        const struct lw_run run = lw_runs_get(&put->runs, piece, r);
        rc = lw_store_put(put->store, put->data + run.memory, run.file, run.bytes, err);
    }
    return rc;
}

void lw_put_begin(struct lw_pool *pool, struct lw_store *store, const struct lw_extent *extent, const int64_t *first,
                  const int64_t *count, const void *data, struct lw_put *put)
{
    *put = (struct lw_put){
        .store = store, .data = data, .runs = lw_runs_plan(extent, first, count, LW_PUT_PIECE_BYTES),
    };
    put->batch = (struct lw_batch){
        .lane = LW_LANE_WRITE, .n_pieces = put->runs.n_pieces, .work = put_piece, .context = put,
    };
    lw_pool_start(pool, &put->batch);
}

int lw_put_end(struct lw_pool *pool, struct lw_put *put, struct lw_error *err)
{
    return lw_pool_wait(pool, &put->batch, err);
}
