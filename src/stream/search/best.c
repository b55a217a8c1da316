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
    struct lw_slot *slot;       /* slot, and place of the piece in it, that is being joined */
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

/* Copy the piece of the slot that is being joined. */
static void pack(const struct lw_best *best)
{
    const size_t of_value = best->bytes - sizeof(int32_t), n = (size_t)best->n;
    const struct lw_slot_product *const products = best->slot->products;
    memcpy(best->sent, (const char *)products[best->value].data + (size_t)best->first * of_value, n * of_value);
    memcpy(best->sent + n * of_value, (const int32_t *)products[best->filter].data + best->first, n * sizeof(int32_t));
}

static int take(void *context, const void *data, int64_t bytes, struct lw_error *err)
{
    const struct lw_best *const best = context;
    const char *const filters = (const char *)data + (size_t)best->n * (best->bytes - sizeof(int32_t));
    (void)bytes;
    const int rc = lw_pipeline_join_best(best->pipeline, best->slot, best->first, best->n, data,
                                         (const int32_t *)(const void *)filters, err);
    pack(best);
    return rc;
}

/* All ranks with work have the same outputs and channels. */
static int64_t count(const struct lw_rounds *rounds, int64_t round)
{
    const struct lw_block whole = lw_rounds_block(rounds, round, 0);
    return whole.count * whole.n_channels;
}

void lw_best_traffic(const struct lw_op_plan *op, const struct lw_rounds *rounds, int64_t round, struct lw_traffic *traffic)
{
    if (!is_wanted(op, rounds->split))
        return;
    const int64_t n = count(rounds, round), workers = lw_rounds_workers(rounds, round);
    traffic->messages += lw_divide_up(n, LW_MOST_JOINED) * (workers - 1);
    traffic->message_bytes += n * (int64_t)output_bytes(op) * (workers - 1);
    traffic->chain += n > 0 ? lw_traffic_steps((int)workers + 1) - 1 : 0;       /* the tree: log2, rounded down */
    lw_traffic_add(traffic, rounds->n_ranks, 1, 0, 0);
}

int lw_best_join(struct lw_best *best, struct lw_slot *slot, struct lw_error *err)
{
    if (!best)
        return LW_OK;
    const struct lw_rounds *const rounds = &best->plan->rounds;
    const int64_t n = slot->block.count > 0 ? count(rounds, slot->block.round) : 0;
    const int workers = lw_rounds_workers(rounds, slot->block.round);
    int rc = LW_OK;
    best->slot = slot;
    for (best->first = 0; best->first < n; best->first += LW_MOST_JOINED) {
        best->n = lw_min64(LW_MOST_JOINED, n - best->first);
        pack(best);
        struct lw_error later;
        const int its_rc = lw_comm_merge(best->comm, workers, best->sent, best->received, best->n * (int64_t)best->bytes, take,
                                         best, rc ? &later : err);
        rc = rc ? rc : its_rc;
    }
    return lw_comm_agree(best->comm, rc, err);
}
