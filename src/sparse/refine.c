#include "sparse/refine.h"

#include "base/integers.h"
#include "base/memory.h"

/* Most searches of the rest, the samples minus the tones. */
enum { ROUNDS = 8 };

/* Least residual for which lines are examined; a tone that is a fortieth of a bin off its frequency leaves as much. */
static const double least_residual = 0.002;

static double square(double x) { return x * x; }

struct lw_sfft_spec lw_sparse_search_spec(const struct lw_sfft_request *request)
{
    struct lw_sfft_spec spec = request->spec;
    if (request->refines)
        spec.sparsity = lw_min64(4 * spec.sparsity, lw_sfft_n_frequencies(&spec));
    return spec;
}

/* ---- create and release --------------------------------------------------------------------------------------------- */

static int64_t capacity_of(const struct lw_sparse *run)
{
    return run->request.refines ? 2 * run->request.spec.sparsity + 16 : 64;
}

static int64_t samples_of(const struct lw_sparse *run) { return run->request.refines ? INT64_MAX : LW_SFFT_TONES_LOOK_SAMPLES; }

int64_t lw_sparse_refine_bytes(const struct lw_sparse *run)
{
    return lw_sfft_tones_bytes(&run->plan, capacity_of(run), samples_of(run)) +
           capacity_of(run) * (int64_t)sizeof(struct lw_sfft_line);
}

int lw_sparse_refine_create(const struct lw_sparse *run, const struct lw_sfft_layout *layout, struct lw_sparse_refine *refine,
                            struct lw_error *err)
{
    const struct lw_sfft_tones_spec spec = {
        .layout = layout, .capacity = capacity_of(run), .most_samples = samples_of(run), .n_threads = run->setup.engine->n_workers,
    };
    if (!(refine->lines = lw_alloc_array(spec.capacity, sizeof *refine->lines, "tones", err)))
        return LW_ESYSTEM;
    return lw_sfft_tones_create(&spec, &refine->tones, err);
}

void lw_sparse_refine_release(struct lw_sparse_refine *refine)
{
    lw_sfft_tones_destroy(refine->tones);
    lw_free(refine->lines);
    *refine = (struct lw_sparse_refine){0};
}

/* ---- fit, and search the rest --------------------------------------------------------------------------------------- */

int lw_sparse_search_again(struct lw_sfft_solver *solver, int n_attempts, const double *values, struct lw_sfft_result *result,
                           struct lw_error *err)
{
    const struct lw_sfft_layout *const layout = solver->layout;
    int rc = LW_OK;
    for (int a = 0; rc == LW_OK && a < n_attempts; a++) {
        for (int s = lw_sfft_first_stage(layout, a); rc == LW_OK && s < lw_sfft_first_stage(layout, a + 1); s++) {
            rc = solver->ops->load(solver, s, values, err);
            values += 2 * lw_sfft_stage_samples(&layout->stages[s]);
        }
        rc = rc ? rc : solver->ops->recover(solver, a, result, err);
    }
    return rc;
}

/* Outcome of a fit. */
struct verdict {
    struct lw_sfft_result rest;     /* result of the last search of the rest */
    double power, left;             /* mean |x|^2 of the signal and of the rest in the stages that check */
    bool is_clean;                  /* the rest is at most the leakage through the windows */
    bool is_exhausted;              /* no line of the rest can be a tone */
};

static int fit_tones(struct lw_sfft_tones *tones, struct lw_sfft_solver *solver, int attempt, struct verdict *verdict,
                     struct lw_error *err)
{
    const double leak = verdict->power * square(3 * solver->layout->plan.window.tolerance);
    struct lw_sfft_result *const rest = &verdict->rest;
    int rc = LW_OK;
    for (int round = 0; rc == LW_OK && round < ROUNDS && !verdict->is_clean && !verdict->is_exhausted; round++) {
        lw_sfft_sort_by_magnitude(rest->lines, rest->n_lines);
        const bool had_lines = rest->n_lines > 0;
        const int64_t before = tones->n_tones;
        if (lw_sfft_tones_seed(tones, rest->lines, rest->n_lines, tones->spec.capacity) == 0) {
            verdict->is_exhausted = !had_lines;
            break;
        }
        lw_sfft_tones_fit(tones);
        if (tones->n_tones <= before) {
            verdict->is_exhausted = true;       /* the fit removed the new tones as not significant */
            break;
        }
        verdict->left = lw_sfft_tones_power(tones, tones->rest, false);
        verdict->is_clean = verdict->left <= leak;
        rc = verdict->is_clean ? LW_OK : lw_sparse_search_again(solver, attempt + 1, (const double *)tones->rest, rest, err);
    }
    return rc;
}

/* ---- the result ------------------------------------------------------------------------------------------------------ */

/* List the strongest tones by frequency; return the energy of the tones left out. */
static double list_tones(const struct lw_sfft_spec *spec, struct lw_sparse_refine *refine, struct lw_sfft_result *result)
{
    const struct lw_sfft_tones *const tones = refine->tones;
    double left_out = 0;
    result->lines = refine->lines;
    result->n_lines = 0;
    for (int64_t j = 0; j < tones->n_tones; j++)
        refine->lines[j] = lw_sfft_tones_line(tones, &tones->tones[j]);
    result->n_found = tones->n_tones;
    lw_sfft_sort_by_magnitude(refine->lines, tones->n_tones);
    for (int64_t j = 0; j < tones->n_tones; j++) {
        const struct lw_sfft_line *const line = &refine->lines[j];
        if (j < spec->sparsity && hypot(line->re, line->im) >= spec->min_magnitude)
            result->n_lines = j + 1;
        else
            left_out += lw_sfft_multiplicity(spec, line->frequency) * (square(line->re) + square(line->im)) /
                        square((double)spec->n);
    }
    lw_sfft_sort_by_frequency(refine->lines, result->n_lines);
    return left_out;
}

int lw_sparse_refine(const struct lw_sparse *run, struct lw_sparse_refine *refine, struct lw_sfft_solver *solver, int attempt,
                     const double *values, struct lw_sfft_result *result, struct lw_error *err)
{
    struct lw_sfft_tones *const tones = refine->tones;
    lw_sfft_tones_begin(tones, attempt, values);
    struct verdict verdict = {.rest = *result, .power = lw_sfft_tones_power(tones, tones->rest, false)};
    verdict.left = verdict.power;
    const int rc = fit_tones(tones, solver, attempt, &verdict, err);
    if (rc)
        return rc;
    struct lw_sfft_spec spec = run->plan.spec;
    spec.sparsity = run->request.spec.sparsity;
    const double left_out = list_tones(&spec, refine, result);
    result->noise_power = verdict.is_clean ? verdict.left : verdict.rest.noise_power;
    result->detection_limit = verdict.is_clean ? 0 : verdict.rest.detection_limit;
    result->residual = verdict.power > 0 ? (verdict.left + left_out) / verdict.power : 0;
    result->is_noise = verdict.is_clean || (verdict.is_exhausted && verdict.rest.is_noise);
    result->is_explained = result->is_noise && lw_sfft_is_complete(&spec, verdict.power, result);
    return LW_OK;
}

int lw_sparse_off_grid(const struct lw_sparse_refine *refine, double *values, const struct lw_sfft_result *result)
{
    if (!(result->residual > least_residual) || result->n_lines == 0)
        return 0;
    return lw_sfft_tones_between(refine->tones, values, result->lines, result->n_lines);
}

int lw_sparse_count_off_grid(const struct lw_sfft_result *result)
{
    int count = 0;
    for (int64_t i = 0; i < result->n_lines; i++)
        count += fabs(result->lines[i].offset) > LW_SFFT_TONES_LEAST_OFFSET;
    return count;
}
