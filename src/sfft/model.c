#include "sfft/model.h"

#include "sfft/number.h"

#include <math.h>
#include <string.h>

enum { NEIGHBOURS = 3 };

void lw_sfft_model_lay_out(struct lw_sfft_model *m, const struct lw_sfft_stage_spec *specs, int n_stages, int64_t capacity,
                           struct lw_arena *arena)
{
    int n_planes = 0;
    m->capacity = capacity;
    for (m->table_size = 16; m->table_size < 2 * capacity; m->table_size *= 2)
        ;
    m->frequency = lw_arena_take(arena, capacity * (int64_t)sizeof *m->frequency);
    m->amplitude = lw_arena_take(arena, capacity * (int64_t)sizeof *m->amplitude);
    m->gradient = lw_arena_take(arena, capacity * (int64_t)sizeof *m->gradient);
    m->direction = lw_arena_take(arena, capacity * (int64_t)sizeof *m->direction);
    m->table = lw_arena_take(arena, m->table_size * (int64_t)sizeof *m->table);
    for (int s = 0; s < n_stages; s++) {
        m->bucket[s] = lw_arena_take(arena, capacity * (int64_t)sizeof *m->bucket[s]);
        m->gain[s] = lw_arena_take(arena, capacity * (int64_t)sizeof *m->gain[s]);
        for (int d = 0; d < specs[s].n_shifts; d++, n_planes++) {
            m->phase[n_planes] = lw_arena_take(arena, (capacity + LW_SFFT_GAP) * (int64_t)sizeof *m->phase[n_planes]);
            m->image[n_planes] = lw_arena_take(arena, (specs[s].n_buckets + LW_SFFT_GAP) * (int64_t)sizeof *m->image[n_planes]);
        }
    }
}

/* ---- lines ---------------------------------------------------------------------------------------------------------- */

static void clear_table(struct lw_sfft_model *model)
{
    memset(model->table, -1, (size_t)model->table_size * sizeof *model->table);
}

void lw_sfft_model_use(struct lw_sfft_model *model, int n_stages)
{
    model->n_stages = n_stages;
    model->n_planes = 0;
    for (int s = 0; s < n_stages; s++)
        for (int d = 0; d < model->stages[s].spec.n_shifts; d++)
            model->planes[model->n_planes++] = (struct lw_sfft_plane){s, d};
    model->n_lines = 0;
    clear_table(model);
}

int64_t lw_sfft_model_line(struct lw_sfft_model *model, int64_t frequency)
{
    int64_t at = (int64_t)(lw_random_bits(0, (uint64_t)frequency) & (uint64_t)(model->table_size - 1));
    while (model->table[at] >= 0 && model->frequency[model->table[at]] != frequency)
        at = (at + 1) & (model->table_size - 1);
    int64_t *const entry = &model->table[at];
    if (*entry < 0 && model->n_lines < model->capacity) {
        *entry = model->n_lines++;
        model->frequency[*entry] = frequency;
        model->amplitude[*entry] = 0;
    }
    return *entry;
}

static void trace_buckets(struct lw_sfft_model *model, int s, int64_t first)
{
    const struct lw_sfft_stage *const stage = &model->stages[s];
    for (int64_t j = first; j < model->n_lines; j++) {
        const struct lw_sfft_place place = lw_sfft_stage_place(stage, model->frequency[j]);
        model->bucket[s][j] = place.bucket;
        for (int k = 0; k < NEIGHBOURS; k++)
            model->gain[s][j][k] = lw_sfft_window_response(stage->window, place.distance - (k - 1));
    }
}

static void trace_phases(struct lw_sfft_model *model, int p, int64_t first)
{
    const struct lw_sfft_stage *const stage = &model->stages[model->planes[p].stage];
    for (int64_t j = first; j < model->n_lines; j++) {
        const int64_t f = model->frequency[j];
        const int64_t permuted = lw_mod_multiply(stage->sigma, f, stage->spec.n);
        double sine, cosine;
        sincos(2 * M_PI * lw_sfft_stage_turns(stage, model->planes[p].shift, f, permuted), &sine, &cosine);
        model->phase[p][j] = CMPLX(cosine, sine);
    }
}

void lw_sfft_model_trace(struct lw_sfft_model *model, int64_t first)
{
    if (first >= model->n_lines)
        return;
    #pragma omp parallel for num_threads(model->n_threads) schedule(static)
    for (int p = 0; p < model->n_planes; p++) {
        if (model->planes[p].shift == 0)
            trace_buckets(model, model->planes[p].stage, first);
        trace_phases(model, p, first);
    }
}

void lw_sfft_model_select(struct lw_sfft_model *model, const bool *keep)
{
    const int64_t before = model->n_lines;
    model->n_lines = 0;
    clear_table(model);
    for (int64_t j = 0; j < before; j++) {
        if (!keep[j])
            continue;
        const double complex amplitude = model->amplitude[j];
        const int64_t line = lw_sfft_model_line(model, model->frequency[j]);
        model->amplitude[line] = amplitude;
        for (int s = 0; s < model->n_stages; s++) {
            model->bucket[s][line] = model->bucket[s][j];
            memcpy(model->gain[s][line], model->gain[s][j], sizeof model->gain[s][j]);
        }
        for (int p = 0; p < model->n_planes; p++)
            model->phase[p][line] = model->phase[p][j];
    }
}

/* ---- the map and its adjoint ---------------------------------------------------------------------------------------- */

static int64_t wrap(int64_t bucket, int64_t n_buckets)
{
    return bucket < 0 ? bucket + n_buckets : bucket >= n_buckets ? bucket - n_buckets : bucket;
}

static void add_to_plane(const struct lw_sfft_model *model, const struct lw_sfft_sum *sum, int p, double complex *plane)
{
    const int s = model->planes[p].stage;
    const int64_t n_buckets = model->stages[s].spec.n_buckets;
    for (int64_t i = 0; i < sum->count; i++) {
        const int64_t j = sum->lines ? sum->lines[i] : i;
        const double complex value = sum->scale * sum->values[i] * model->phase[p][j];
        for (int k = 0; k < NEIGHBOURS; k++)
            plane[wrap(model->bucket[s][j] + k - 1, n_buckets)] += model->gain[s][j][k] * value;
    }
}

void lw_sfft_model_add(const struct lw_sfft_model *model, const struct lw_sfft_sum *sum, int n_planes,
                       double complex *const *planes)
{
    #pragma omp parallel for num_threads(model->n_threads) schedule(static)
    for (int p = 0; p < n_planes; p++)
        add_to_plane(model, sum, p, planes[p]);
}

static double complex project_line(const struct lw_sfft_model *model, int64_t j, int n_planes, double complex *const *planes)
{
    double complex sum = 0;
    for (int p = 0; p < n_planes; p++) {
        const int s = model->planes[p].stage;
        const int64_t n_buckets = model->stages[s].spec.n_buckets;
        double complex seen = 0;
        for (int k = 0; k < NEIGHBOURS; k++)
            seen += model->gain[s][j][k] * planes[p][wrap(model->bucket[s][j] + k - 1, n_buckets)];
        sum += conj(model->phase[p][j]) * seen;
    }
    return sum;
}

static void project(const struct lw_sfft_model *model, int n_planes, double complex *const *planes, double complex *projected)
{
    #pragma omp parallel for num_threads(model->n_threads) schedule(static)
    for (int64_t j = 0; j < model->n_lines; j++)
        projected[j] = project_line(model, j, n_planes, planes);
}

double lw_sfft_model_weight(const struct lw_sfft_model *model, int64_t line, int n_planes)
{
    double sum = 0;
    for (int p = 0; p < n_planes; p++)
        for (int k = 0; k < NEIGHBOURS; k++)
            sum += model->gain[model->planes[p].stage][line][k] * model->gain[model->planes[p].stage][line][k];
    return sum;
}

/* ---- least squares --------------------------------------------------------------------------------------------------- */

static double energy(const double complex *x, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += creal(x[i]) * creal(x[i]) + cimag(x[i]) * cimag(x[i]);
    return sum;
}

/* Compute A times the direction of the step, in all planes; return its energy. */
static double make_image(struct lw_sfft_model *model, int n_planes)
{
    const struct lw_sfft_sum sum = {.values = model->direction, .count = model->n_lines, .scale = 1};
    double energies[LW_SFFT_PLANES], total = 0;
    #pragma omp parallel for num_threads(model->n_threads) schedule(static)
    for (int p = 0; p < n_planes; p++) {
        const int64_t n_buckets = model->stages[model->planes[p].stage].spec.n_buckets;
        memset(model->image[p], 0, (size_t)n_buckets * sizeof *model->image[p]);
        add_to_plane(model, &sum, p, model->image[p]);
        energies[p] = energy(model->image[p], n_buckets);
    }
    for (int p = 0; p < n_planes; p++)
        total += energies[p];
    return total;
}

void lw_sfft_model_fit(struct lw_sfft_model *model, int n_planes, double complex *const *rest, int steps, double enough)
{
    const int64_t count = model->n_lines;
    project(model, n_planes, rest, model->gradient);
    memcpy(model->direction, model->gradient, (size_t)count * sizeof *model->direction);
    double before = energy(model->gradient, count);
    for (int i = 0; i < steps && before > enough && before > 0; i++) {
        const double seen = make_image(model, n_planes);
        if (seen <= 0)
            return;
        const double length = before / seen;
        for (int64_t j = 0; j < count; j++)
            model->amplitude[j] += length * model->direction[j];
        #pragma omp parallel for num_threads(model->n_threads) schedule(static)
        for (int p = 0; p < n_planes; p++)
            for (int64_t b = 0; b < model->stages[model->planes[p].stage].spec.n_buckets; b++)
                rest[p][b] -= length * model->image[p][b];
        project(model, n_planes, rest, model->gradient);
        const double now = energy(model->gradient, count);
        for (int64_t j = 0; j < count; j++)
            model->direction[j] = model->gradient[j] + now / before * model->direction[j];
        before = now;
    }
}
