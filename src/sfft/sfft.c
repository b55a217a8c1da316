#include "sfft/state.h"

#include "base/memory.h"

int64_t lw_sfft_capacity(const struct lw_sfft_plan *plan) { return 2 * plan->attempts[0].n_buckets; }

static int64_t most_buckets(const struct lw_sfft_plan *plan) { return plan->attempts[plan->n_attempts - 1].n_buckets; }

static int allocate(struct lw_sfft *sfft, struct lw_error *err)
{
    const struct lw_sfft_layout *const layout = sfft->layout;
    const int64_t capacity = lw_sfft_capacity(&layout->plan), buckets = most_buckets(&layout->plan);
    for (int s = 0; s < layout->n_stages; s++) {
        for (int p = layout->first_plane[s]; p < layout->first_plane[s + 1]; p++) {
            const int64_t count = layout->stages[s].spec.n_buckets;
            if (!(sfft->measured[p] = lw_alloc_array(count, sizeof *sfft->measured[p], "buckets", err)) ||
                !(sfft->rest[p] = lw_alloc_array(count, sizeof *sfft->rest[p], "buckets", err)))
                return LW_ESYSTEM;
        }
    }
    if (!(sfft->candidates = lw_alloc_array(buckets, sizeof *sfft->candidates, "candidates", err)) ||
        !(sfft->energies = lw_alloc_array(buckets, sizeof *sfft->energies, "bucket energies", err)) ||
        !(sfft->changed = lw_alloc_array(capacity, sizeof *sfft->changed, "lines", err)) ||
        !(sfft->change = lw_alloc_array(capacity, sizeof *sfft->change, "lines", err)) ||
        !(sfft->keep = lw_alloc_array(capacity, sizeof *sfft->keep, "lines", err)) ||
        !(sfft->lines = lw_alloc_array(capacity, sizeof *sfft->lines, "lines", err)))
        return LW_ESYSTEM;
    return lw_sfft_model_create(layout->stages, layout->n_stages, capacity, sfft->n_threads, &sfft->model, err);
}

int lw_sfft_create(const struct lw_sfft_layout *layout, int n_threads, struct lw_sfft **out, struct lw_error *err)
{
    struct lw_sfft *const sfft = lw_alloc(sizeof *sfft, "a sparse transform", err);
    if (!sfft)
        return LW_ESYSTEM;
    sfft->layout = layout;
    sfft->n_threads = n_threads;
    const int rc = allocate(sfft, err);
    if (rc) {
        lw_sfft_destroy(sfft);
        return rc;
    }
    *out = sfft;
    return LW_OK;
}

void lw_sfft_destroy(struct lw_sfft *sfft)
{
    if (!sfft)
        return;
    lw_sfft_model_destroy(sfft->model);
    for (int p = 0; p < LW_SFFT_PLANES; p++) {
        lw_free(sfft->measured[p]);
        lw_free(sfft->rest[p]);
    }
    lw_free(sfft->candidates);
    lw_free(sfft->energies);
    lw_free(sfft->changed);
    lw_free(sfft->change);
    lw_free(sfft->keep);
    lw_free(sfft->lines);
    lw_free(sfft);
}

double _Complex *lw_sfft_planes(struct lw_sfft *sfft, int stage, int shift)
{
    return sfft->measured[sfft->layout->first_plane[stage] + shift];
}

int64_t lw_sfft_bytes(const struct lw_sfft_plan *plan)
{
    const struct lw_sfft *const s = NULL;
    const int64_t capacity = lw_sfft_capacity(plan);
    struct lw_sfft_stage stages[LW_SFFT_STAGES] = {0};
    int64_t bytes = (int64_t)(sizeof *s + sizeof *s->layout) +
                    most_buckets(plan) * (int64_t)(sizeof *s->candidates + sizeof *s->energies) +
                    capacity * (int64_t)(sizeof *s->changed + sizeof *s->change + sizeof *s->keep) +
                    2 * capacity * (int64_t)sizeof *s->lines;           /* sorted with a copy */
    int n_stages = 0;
    for (int a = 0; a < plan->n_attempts; a++) {
        const struct lw_sfft_attempt *const attempt = &plan->attempts[a];
        struct lw_sfft_window_spec window = plan->window;
        window.n_buckets = attempt->n_buckets;
        bytes += lw_sfft_window_bytes(&window);
        for (int k = 0; k <= attempt->n_stages; k++) {
            struct lw_sfft_stage_spec *const spec = &stages[n_stages++].spec;
            spec->n_buckets = attempt->n_buckets;
            spec->n_shifts = k < attempt->n_stages ? attempt->n_shifts : 1;
            bytes += 2 * spec->n_shifts * spec->n_buckets * (int64_t)sizeof(double complex);
        }
    }
    return bytes + lw_sfft_model_bytes(stages, n_stages, capacity);
}
