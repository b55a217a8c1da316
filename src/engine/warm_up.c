#include "engine/warm_up.h"

static int work(void *context, int64_t piece, int thread, struct lw_error *err)
{
    const struct lw_warm_up *const warm_up = context;
    (void)piece;
    (void)thread;
    (void)err;
    warm_up->type->warm_up(&warm_up->spec);
    return LW_OK;
}

void lw_warm_up_begin(struct lw_warm_up *warm_up, const struct lw_engine_type *type, const struct lw_engine_spec *spec)
{
    *warm_up = (struct lw_warm_up){.type = type, .spec = *spec};
    if (!type->warm_up || lw_pool_create(1, &warm_up->pool, NULL))
        return;
    warm_up->batch = (struct lw_batch){.n_pieces = 1, .work = work, .context = warm_up};
    lw_pool_start(warm_up->pool, &warm_up->batch);
}

void lw_warm_up_end(struct lw_warm_up *warm_up)
{
    if (warm_up->pool)
        lw_pool_wait(warm_up->pool, &warm_up->batch, NULL);
    lw_pool_destroy(warm_up->pool);
    warm_up->pool = NULL;
}
