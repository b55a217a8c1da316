#include "stream/search/best.h"

#include "base/integers.h"
#include "base/memory.h"

/* Ranks send LW_MOST_JOINED outputs at a time: their values, then the numbers of their filters. */
struct lw_best {
    struct lw_comm *comm;
    const struct lw_plan *plan;
    struct lw_pipeline *pipeline;
    int value, filter;          /* numbers of the products */
    size_t bytes;               /* bytes of an output, both numbers together */
    char *sent, *received;
    struct lw_slot *slot;       /* rank 0: slot, and place of the piece in it, that is being joined */
    int64_t first, n;
};

static size_t output_bytes(const struct lw_op_plan *op)
{
    return lw_type_bytes(op->products[lw_op_find_product(op, LW_OP_BEST_VALUE)].type) + sizeof(int32_t);
}

static bool is_wanted(const struct lw_op_plan *op, enum lw_split split)
{
    return split == LW_SPLIT_FILTERS && lw_op_find_product(op, LW_OP_BEST_VALUE) >= 0;
}

int64_t lw_best_bytes(const struct lw_op_plan *op, enum lw_split split)
{
    return is_wanted(op, split) ? 2 * LW_MOST_JOINED * (int64_t)output_bytes(op) : 0;
}

int lw_best_create(struct lw_comm *comm, const struct lw_plan *plan, struct lw_pipeline *pipeline, struct lw_best **out,
                   struct lw_error *err)
{
    if (!is_wanted(&plan->op, plan->rounds.split))
        return LW_OK;
    struct lw_best *const best = *out = lw_alloc(sizeof *best, "the best filters", err);
    if (!best)
        return LW_ESYSTEM;
    *best = (struct lw_best){
        .comm = comm, .plan = plan, .pipeline = pipeline, .bytes = output_bytes(&plan->op),
        .value = lw_op_find_product(&plan->op, LW_OP_BEST_VALUE), .filter = lw_op_find_product(&plan->op, LW_OP_BEST_FILTER),
    };
    best->sent = lw_alloc_array(LW_MOST_JOINED, best->bytes, "best outputs of this rank", err);
    best->received = lw_alloc_array(LW_MOST_JOINED, best->bytes, "best outputs of other ranks", err);
    return best->sent && best->received ? LW_OK : LW_ESYSTEM;
}

void lw_best_destroy(struct lw_best *best)
{
    if (!best)
        return;
    lw_free(best->sent);
    lw_free(best->received);
    lw_free(best);
}

static int take(void *context, const void *data, int64_t bytes, struct lw_error *err)
{
    const struct lw_best *const best = context;
    const char *const filters = (const char *)data + (size_t)best->n * (best->bytes - sizeof(int32_t));
    (void)bytes;
    if (data == best->sent)     /* rank 0's own are there */
        return LW_OK;
    return lw_pipeline_join_best(best->pipeline, best->slot, best->first, best->n, data, (const int32_t *)(const void *)filters,
                                 err);
}

/* All ranks with work have the same outputs and channels. */
int lw_best_join(struct lw_best *best, struct lw_slot *slot, struct lw_error *err)
{
    if (!best)
        return LW_OK;
    const struct lw_block whole = lw_rounds_block(&best->plan->rounds, slot->block.round, 0);
    const int64_t n = whole.count * whole.n_channels;
    const size_t of_value = best->bytes - sizeof(int32_t);
    int rc = LW_OK;
    best->slot = slot;
    for (best->first = 0; best->first < n; best->first += LW_MOST_JOINED) {
        best->n = lw_min64(LW_MOST_JOINED, n - best->first);
        if (slot->block.count > 0) {
            memcpy(best->sent, (const char *)slot->products[best->value].data + (size_t)best->first * of_value,
                   (size_t)best->n * of_value);
            memcpy(best->sent + (size_t)best->n * of_value, (const int32_t *)slot->products[best->filter].data + best->first,
                   (size_t)best->n * sizeof(int32_t));
        }
        struct lw_error later;
        const int its_rc = lw_comm_bring(best->comm, best->sent, slot->block.count > 0 ? best->n * (int64_t)best->bytes : 0,
                                         best->received, LW_MOST_JOINED * (int64_t)best->bytes, take, best, rc ? &later : err);
        rc = rc ? rc : its_rc;
    }
    return lw_comm_agree(best->comm, rc, err);
}
