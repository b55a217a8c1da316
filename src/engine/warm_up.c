#include "engine/warm_up.h"

#include "engine/registry.h"

static bool is_meant(const struct lw_warm_up *warm_up, int e)
{
    return (warm_up->choice == LW_WARM_UP_ALL || warm_up->choice == e) && lw_engines[e]->warm_up;
}

static int work(void *context, int64_t piece, int thread, struct lw_error *err)
{
    const struct lw_warm_up *const warm_up = context;
    (void)piece;
    (void)thread;
    (void)err;
    for (int e = 0; lw_engines[e]; e++)
        if (is_meant(warm_up, e))
            lw_engines[e]->warm_up(warm_up->has_spec ? &warm_up->spec : NULL);
    return LW_OK;
}

static bool is_needed(const struct lw_warm_up *warm_up)
{
    for (int e = 0; lw_engines[e]; e++)
        if (is_meant(warm_up, e))
            return true;
    return false;
}

void lw_warm_up_begin(struct lw_warm_up *warm_up, int choice, const struct lw_engine_spec *spec)
{
    *warm_up = (struct lw_warm_up){.choice = choice, .has_spec = spec != NULL};
    if (spec)
        warm_up->spec = *spec;
    if (!is_needed(warm_up) || lw_pool_create(1, &warm_up->pool, NULL))
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
