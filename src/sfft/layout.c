#include "sfft/sfft.h"

#include "base/memory.h"

static void make_stages(struct lw_sfft_layout *layout)
{
    const struct lw_sfft_plan *const plan = &layout->plan;
    for (int a = 0; a < plan->n_attempts; a++) {
        const struct lw_sfft_attempt *const attempt = &plan->attempts[a];
        for (int s = 0; s <= attempt->n_stages; s++) {
            const struct lw_sfft_stage_spec spec = {
                .n = plan->spec.n, .n_buckets = attempt->n_buckets,
                .n_shifts = s < attempt->n_stages ? attempt->n_shifts : 1,
                .seed = plan->spec.seed * LW_SFFT_STAGES + (uint64_t)layout->n_stages,
            };
            layout->stages[layout->n_stages] = lw_sfft_stage_make(&spec, layout->windows[a]);
            layout->first_plane[layout->n_stages++] = layout->n_planes;
            layout->n_planes += spec.n_shifts;
        }
    }
    layout->first_plane[layout->n_stages] = layout->n_planes;
}

int lw_sfft_layout_create(const struct lw_sfft_plan *plan, struct lw_sfft_layout **out, struct lw_error *err)
{
    struct lw_sfft_layout *const layout = lw_alloc(sizeof *layout, "the stages of a sparse transform", err);
    if (!layout)
        return LW_ESYSTEM;
    layout->plan = *plan;
    for (int a = 0; a < plan->n_attempts; a++) {
        struct lw_sfft_window_spec spec = plan->window;
        spec.n_buckets = plan->attempts[a].n_buckets;
        const int rc = lw_sfft_window_create(&spec, &layout->windows[a], err);
        if (rc) {
            lw_sfft_layout_destroy(layout);
            return rc;
        }
    }
    make_stages(layout);
    *out = layout;
    return LW_OK;
}

void lw_sfft_layout_destroy(struct lw_sfft_layout *layout)
{
    if (!layout)
        return;
    for (int a = 0; a < layout->plan.n_attempts; a++)
        lw_sfft_window_destroy(layout->windows[a]);
    lw_free(layout);
}

static int stages_per_attempt(const struct lw_sfft_layout *layout) { return layout->plan.attempts[0].n_stages + 1; }

int lw_sfft_first_stage(const struct lw_sfft_layout *layout, int attempt) { return attempt * stages_per_attempt(layout); }

int lw_sfft_attempt_of(const struct lw_sfft_layout *layout, int stage) { return stage / stages_per_attempt(layout); }
