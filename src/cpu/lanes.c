#include "cpu/lanes.h"

#include "base/leave.h"

#include <omp.h>

void lw_cpu_lanes_close(struct lw_cpu_lanes *lanes)
{
    for (int i = 0; lanes->lanes && i < lanes->n; i++)
        lw_free(((struct lw_cpu_lane *)lw_cpu_lane_at(lanes, i))->memory);
    lw_free(lanes->lanes);
    *lanes = (struct lw_cpu_lanes){0};
}

int lw_cpu_lanes_open(struct lw_cpu_lanes *lanes, int n, size_t lane_bytes, int64_t memory_bytes, struct lw_error *err)
{
    *lanes = (struct lw_cpu_lanes){.n = n, .lane_bytes = lane_bytes};
    lanes->lanes = lw_alloc_array(n, lane_bytes, "the threads' work space", err);
    if (!lanes->lanes)
        return LW_ESYSTEM;
    for (int i = 0; i < n; i++) {
        struct lw_cpu_lane *const lane = lw_cpu_lane_at(lanes, i);
        lane->memory = lw_alloc((size_t)memory_bytes, "the work space of a thread", err);
        if (!lane->memory)
            return LW_ESYSTEM;
    }
    return LW_OK;
}

void lw_cpu_tally_add(struct lw_cpu_tally *to, struct lw_cpu_tally more)
{
    const int64_t n = to->n + more.n, order[] = {more.sample - to->sample, more.channel - to->channel, more.column - to->column};
    const int64_t first_unlike = order[0] ? order[0] : order[1] ? order[1] : order[2];
    if (more.n > 0 && (to->n == 0 || first_unlike < 0))
        *to = more;
    to->n = n;
}

/* ---- a block ----------------------------------------------------------------------------------------------------- */
void lw_cpu_lanes_run(const struct lw_cpu_lanes *lanes, lw_cpu_task task, const void *state, const struct lw_slot *slot,
                      int64_t n_tasks, int chunk)
{
    for (int i = 0; i < lanes->n; i++) {
        struct lw_cpu_lane *const lane = lw_cpu_lane_at(lanes, i);
        *lane = (struct lw_cpu_lane){.memory = lane->memory};
    }
    lw_cpu_lanes_continue(lanes, task, state, slot, n_tasks, chunk);
}

void lw_cpu_lanes_continue(const struct lw_cpu_lanes *lanes, lw_cpu_task task, const void *state, const struct lw_slot *slot,
                           int64_t n_tasks, int chunk)
{
#pragma omp parallel for num_threads(lanes->n) schedule(dynamic, chunk)
    for (int64_t t = 0; t < n_tasks; t++)
        if (!lw_leave_is_asked())
            task(state, lw_cpu_lane_at(lanes, omp_get_thread_num()), slot, t);
}

void lw_cpu_lanes_report(const struct lw_cpu_lanes *lanes, struct lw_slot *slot)
{
    struct lw_cpu_tally all = {0};
    slot->is_out_of_range = false;
    slot->n_quiet = 0;
    slot->loss = (struct lw_loss){0};
    for (int i = 0; i < lanes->n; i++) {
        const struct lw_cpu_lane *const lane = lw_cpu_lane_at(lanes, i);
        lw_cpu_tally_add(&all, lane->not_finite);
        slot->n_quiet += lane->n_quiet;
        slot->is_out_of_range |= lane->is_out_of_range;
        slot->loss.n_saturated += lane->loss.n_saturated;
        slot->loss.n_nan += lane->loss.n_nan;
    }
    slot->n_not_finite = all.n;
    slot->not_finite_channel = all.channel;
    slot->not_finite_sample = all.sample;
    slot->not_finite_column = all.column;
}

void lw_cpu_lanes_warm_up(const struct lw_cpu_lanes *lanes)
{
    omp_set_dynamic(0);
    /* OpenMP allocates when a team first meets a loop of this kind: the one in lw_cpu_lanes_continue must not be the first. */
#pragma omp parallel for num_threads(lanes->n) schedule(dynamic, 1)
    for (int i = 0; i < lanes->n; i++)
        ((struct lw_cpu_lane *)lw_cpu_lane_at(lanes, i))->loss.n_nan = 0;
}

/* ---- every D-th working sample --------------------------------------------------------------------------------------- */

/* The sizes are spelled out, so that no sample costs a function call. */
void lw_cpu_pick(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t count, size_t bytes)
{
#define X(size)                                                                                             \
    case size:                                                                                              \
        for (int64_t i = 0; i < count; i++)                                                                 \
            memmove(to + (size_t)(i * to_stride) * size, from + (size_t)(i * from_stride) * size, size);    \
        break;
    switch (bytes) {
        X(4)
        X(8)
        X(16)
    }
#undef X
}
