/* recover.c - recovery of lines from buckets: peel until no more lines appear, fit all amplitudes at once, peel again; then check
 * against the unused stage. Peeling means to identify the line in a bucket that holds just one, and to subtract it from all stages.
 *
 * A fit while lines are missing would spread their energy over the known lines. Peeling therefore takes each amplitude from one
 * stage alone, and the fit follows when peeling gets stuck. */
#include "base/memory.h"
#include "base/select.h"
#include "sfft/model.h"
#include "sfft/number.h"
#include "sfft/rules.h"
#include "sfft/sfft.h"

#include <assert.h>

static const double tolerances[LW_SFFT_TOLERANCES] = LW_SFFT_TOLERANCE_VALUES;

/* The line that a bucket seems to hold. */
struct candidate {
    int64_t frequency;              /* -1: no line identified */
    double complex amplitude;
};

struct lw_sfft {
    const struct lw_sfft_layout *layout;
    int n_threads;
    void *memory;                                   /* single allocation that holds everything below */
    double complex *measured[LW_SFFT_PLANES];       /* [B] the buckets that the caller fills */
    double complex *rest[LW_SFFT_PLANES];           /* [B] measured minus the model */
    struct lw_sfft_model model;
    double noise_power;                             /* noise per sample, latest estimate */

    struct candidate *candidates;                   /* [most buckets of a stage] a candidate for each bucket */
    double *energies;                               /* [most buckets of a stage] |rest|^2 of each bucket */
    int64_t *changed;                               /* [capacity] lines that a peeling step changed */
    double complex *change;                         /* [capacity] the changes of their amplitudes */
    bool *keep;                                     /* [capacity] lines that stay in the model */
    struct lw_sfft_line *lines;                     /* [capacity] the lines of the result */
};

/* ---- memory ---------------------------------------------------------------------------------------------------------- */

/* Lay out all parts in sfft->memory; without memory, only count. @return  bytes of all parts */
static int64_t lay_out(struct lw_sfft *sfft, const struct lw_sfft_plan *plan)
{
    struct lw_arena arena = {.base = sfft->memory};
    struct lw_sfft_stage_spec specs[LW_SFFT_STAGES];
    const int n_stages = lw_sfft_plan_stages(plan, specs);
    const int64_t capacity = lw_sfft_capacity(plan), buckets = plan->attempts[plan->n_attempts - 1].n_buckets;
    int n_planes = 0;
    for (int s = 0; s < n_stages; s++) {
        for (int d = 0; d < specs[s].n_shifts; d++, n_planes++) {
            assert(n_planes < LW_SFFT_PLANES);
            const int64_t bytes = (specs[s].n_buckets + LW_SFFT_GAP) * (int64_t)sizeof *sfft->rest[n_planes];
            sfft->measured[n_planes] = lw_arena_take(&arena, bytes);
            sfft->rest[n_planes] = lw_arena_take(&arena, bytes);
        }
    }
    sfft->candidates = lw_arena_take(&arena, buckets * (int64_t)sizeof *sfft->candidates);
    sfft->energies = lw_arena_take(&arena, buckets * (int64_t)sizeof *sfft->energies);
    sfft->changed = lw_arena_take(&arena, capacity * (int64_t)sizeof *sfft->changed);
    sfft->change = lw_arena_take(&arena, capacity * (int64_t)sizeof *sfft->change);
    sfft->keep = lw_arena_take(&arena, capacity * (int64_t)sizeof *sfft->keep);
    sfft->lines = lw_arena_take(&arena, capacity * (int64_t)sizeof *sfft->lines);
    lw_sfft_model_lay_out(&sfft->model, specs, n_stages, capacity, &arena);
    return arena.used;
}

int lw_sfft_create(const struct lw_sfft_layout *layout, int n_threads, struct lw_sfft **out, struct lw_error *err)
{
    struct lw_sfft *const sfft = *out = lw_alloc(sizeof *sfft, "a sparse transform", err);
    if (!sfft)
        return LW_ESYSTEM;
    sfft->layout = layout;
    sfft->n_threads = sfft->model.n_threads = n_threads;
    sfft->model.stages = layout->stages;
    sfft->memory = lw_alloc((size_t)lay_out(sfft, &layout->plan), "a sparse transform", err);
    if (!sfft->memory)
        return LW_ESYSTEM;
    lay_out(sfft, &layout->plan);
    return LW_OK;
}

void lw_sfft_destroy(struct lw_sfft *sfft)
{
    if (sfft)
        lw_free(sfft->memory);
    lw_free(sfft);
}

int64_t lw_sfft_bytes(const struct lw_sfft_plan *plan)
{
    struct lw_sfft counted = {0};
    int64_t bytes = (int64_t)(sizeof counted + sizeof *counted.layout) + lay_out(&counted, plan);
    for (int a = 0; a < plan->n_attempts; a++) {
        const struct lw_sfft_window_spec window = lw_sfft_plan_window(plan, a);
        bytes += lw_sfft_window_bytes(&window);
    }
    return bytes + lw_sfft_capacity(plan) * (int64_t)sizeof *counted.lines;       /* + copies of the lines, which qsort may make */
}

double _Complex *lw_sfft_planes(struct lw_sfft *sfft, int stage, int shift)
{
    return sfft->measured[sfft->layout->first_plane[stage] + shift];
}

/* ---- peeling --------------------------------------------------------------------------------------------------------- */

/* Return the variance of the noise in a bucket of a stage. */
static double bucket_noise(const struct lw_sfft *sfft, int stage)
{
    return sfft->noise_power * sfft->layout->stages[stage].window->energy;
}

/* Return the phase in turns, modulo 1, that a line at permuted frequency whole + part gains over a shift. */
static double turns_after(int64_t whole, double part, int64_t shift, int64_t n)
{
    return (double)lw_mod_multiply(lw_mod(whole, n), shift, n) / (double)n + part * (double)shift / (double)n;
}

/* Return the permuted frequency of the single line in bucket b. The bucket gives the frequency to half a bucket; the phase over
 * each shift refines it to a part of a turn of that shift. */
static int64_t locate(const struct lw_sfft_stage *stage, const double complex *u, int64_t b)
{
    const int64_t n = stage->spec.n, n_buckets = stage->spec.n_buckets;
    const double width = (double)n / (double)n_buckets;
    double estimate = (double)b * width;
    for (int d = 1; d < stage->spec.n_shifts; d++) {
        const int64_t whole = (int64_t)rint(estimate);
        const double expected = turns_after(whole, estimate - (double)whole, stage->shift[d], n);
        double difference = carg(u[d] * conj(u[0])) / (2 * M_PI) - expected;
        difference -= rint(difference);
        estimate += difference * (double)n / (double)stage->shift[d];
    }
    return (int64_t)rint(estimate);
}

/* Return the least-squares amplitude of a line at a permuted frequency, as the line appears in the unshifted bucket. */
static double complex fit_amplitude(const struct lw_sfft_stage *stage, const double complex *u, int64_t permuted)
{
    double complex sum = u[0];
    for (int d = 1; d < stage->spec.n_shifts; d++) {
        double sine, cosine;
        sincos(2 * M_PI * turns_after(permuted, 0, stage->shift[d], stage->spec.n), &sine, &cosine);
        sum += u[d] * CMPLX(cosine, -sine);
    }
    return sum / stage->spec.n_shifts;
}

/* The values of a bucket, and the bounds for accepting a line. */
struct sight {
    double complex u[LW_SFFT_SHIFTS];
    double total;                   /* sum of |u|^2 */
    double magnitudes;              /* sum of |u| */
    double least;                   /* least energy that a line must have */
    double most_left;               /* most energy that the line may leave unexplained */
};

static void look_into(const struct lw_sfft *sfft, int s, int64_t b, double tolerance, struct sight *sight)
{
    const struct lw_sfft_stage *const stage = &sfft->layout->stages[s];
    const int count = stage->spec.n_shifts;
    const double noise = bucket_noise(sfft, s);
    sight->total = sight->magnitudes = 0;
    for (int d = 0; d < count; d++) {
        const double complex u = sfft->rest[sfft->layout->first_plane[s] + d][b];
        const double energy = creal(u) * creal(u) + cimag(u) * cimag(u);
        sight->u[d] = u;
        sight->total += energy;
        sight->magnitudes += sqrt(energy);
    }
    sight->least = noise * count * pow(lw_sfft_stage_least_amplitude(stage), 2);
    sight->most_left = tolerance * sight->total + noise * (count + LW_SFFT_SPREAD * sqrt(count));
}

static struct candidate examine(const struct lw_sfft *sfft, int s, int64_t b, double tolerance)
{
    static const struct candidate none = {.frequency = -1};
    const struct lw_sfft_stage *const stage = &sfft->layout->stages[s];
    const int count = stage->spec.n_shifts;
    struct sight sight;
    look_into(sfft, s, b, tolerance, &sight);
    /* a line has the same magnitude in all shifts: it leaves at least the spread of the magnitudes unexplained */
    if (!(sight.total > sight.least && sight.total - sight.magnitudes * sight.magnitudes / count <= sight.most_left))
        return none;

    const int64_t permuted = lw_mod(locate(stage, sight.u, b), stage->spec.n);
    const double complex seen = fit_amplitude(stage, sight.u, permuted);
    const double explained = count * (creal(seen) * creal(seen) + cimag(seen) * cimag(seen));
    if (explained < sight.least || sight.total - explained > sight.most_left)
        return none;

    const int64_t frequency = lw_mod_multiply(stage->sigma_inverse, permuted, stage->spec.n);
    const struct lw_sfft_place place = lw_sfft_stage_place(stage, frequency);
    if (place.bucket != b)
        return none;                /* the line is nearest to a neighbour, which shows it better */
    double sine, cosine;
    sincos(2 * M_PI * lw_sfft_stage_turns(stage, 0, frequency, permuted), &sine, &cosine);
    const double gain = lw_sfft_window_response(stage->window, place.distance);
    return (struct candidate){frequency, seen / gain * CMPLX(cosine, -sine)};
}

/* Add to a line's amplitude and record the change; return false if the model is full. */
static bool note(struct lw_sfft *sfft, int64_t frequency, double complex amplitude, int64_t *count)
{
    const int64_t line = lw_sfft_model_line(&sfft->model, frequency);
    if (line < 0 || *count == sfft->model.capacity)
        return false;
    sfft->model.amplitude[line] += amplitude;
    sfft->changed[*count] = line;
    sfft->change[(*count)++] = amplitude;
    return true;
}

/* Record a line and, for a real signal, its mirror image. A line at 0 or n/2 is its own mirror image and real. */
static bool note_all(struct lw_sfft *sfft, const struct candidate *found, int64_t *count)
{
    const int64_t n = sfft->layout->plan.spec.n;
    if (!sfft->layout->plan.spec.is_real)
        return note(sfft, found->frequency, found->amplitude, count);
    const int64_t mirror = found->frequency == 0 ? 0 : n - found->frequency;
    if (mirror == found->frequency)
        return note(sfft, mirror, creal(found->amplitude), count);
    return note(sfft, found->frequency, found->amplitude, count) && note(sfft, mirror, conj(found->amplitude), count);
}

/* Examine all buckets of a stage, and move each single line found into the model.
 * @param tolerance  part of a bucket's energy that one line may leave unexplained, in addition to noise
 * @return           number of lines added or changed */
static int64_t peel_stage(struct lw_sfft *sfft, int stage, double tolerance)
{
    const int64_t n_buckets = sfft->layout->stages[stage].spec.n_buckets;
    const int64_t last = sfft->layout->plan.spec.is_real ? n_buckets / 2 : n_buckets - 1;   /* the rest are mirror images */
    #pragma omp parallel for num_threads(sfft->n_threads) schedule(static)
    for (int64_t b = 0; b <= last; b++)
        sfft->candidates[b] = examine(sfft, stage, b, tolerance);

    const int64_t before = sfft->model.n_lines;
    int64_t count = 0;
    for (int64_t b = 0; b <= last; b++)
        if (sfft->candidates[b].frequency >= 0 && !note_all(sfft, &sfft->candidates[b], &count))
            break;
    lw_sfft_model_trace(&sfft->model, before);
    const struct lw_sfft_sum sum = {sfft->changed, sfft->change, count, -1};
    lw_sfft_model_add(&sfft->model, &sum, sfft->model.n_planes, sfft->rest);
    return count;
}

/* ---- one attempt ------------------------------------------------------------------------------------------------------ */

/* State of one attempt. */
struct look {
    struct lw_sfft *sfft;
    int n_stages;                   /* stages that the fit uses; the next one checks */
    int n_planes;                   /* planes of these stages */
    double power;                   /* power of the signal, per sample */
    double least_noise;             /* lower limit of the noise, per sample: leakage between lines */
};

/* Set `energies` to |rest|^2 of each bucket, averaged over the shifts; return the sum. */
static double measure_energies(struct lw_sfft *sfft, int stage)
{
    double sum = 0;
    for (int64_t b = 0; b < sfft->layout->stages[stage].spec.n_buckets; b++) {
        double energy = 0;
        for (int p = sfft->layout->first_plane[stage]; p < sfft->layout->first_plane[stage + 1]; p++) {
            const double re = creal(sfft->rest[p][b]), im = cimag(sfft->rest[p][b]);
            energy += re * re + im * im;
        }
        sfft->energies[b] = energy / sfft->layout->stages[stage].spec.n_shifts;
        sum += sfft->energies[b];
    }
    return sum;
}

/* Estimate the noise per sample from a quantile of the bucket energies, as lines fill only part of the buckets. The median of the
 * mean of D exponential variables is about 1 - 1 / (3 D). Lower quantiles are divided by it, too: they give too little noise. */
static void estimate_noise(const struct look *look, double quantile)
{
    struct lw_sfft *const sfft = look->sfft;
    double noise = INFINITY;
    for (int s = 0; s < look->n_stages; s++) {
        const struct lw_sfft_stage *const stage = &sfft->layout->stages[s];
        if (stage->spec.n_shifts == 1)
            continue;
        measure_energies(sfft, s);
        const int64_t place = (int64_t)(quantile * (double)stage->spec.n_buckets);
        const double value = lw_select(sfft->energies, stage->spec.n_buckets, place), median = 1 - 1.0 / (3 * stage->spec.n_shifts);
        noise = fmin(noise, value / median / stage->window->energy);
    }
    sfft->noise_power = fmax(noise, look->least_noise);
}

/* The mean |x|^2 of the rest, by one stage. Over random permutations a stage's windows weigh all frequencies equally. */
static double power_left(struct lw_sfft *sfft, int stage)
{
    const struct lw_sfft_stage *const look = &sfft->layout->stages[stage];
    return measure_energies(sfft, stage) / (double)look->spec.n_buckets / look->window->energy;
}

/* ---- lines ----------------------------------------------------------------------------------------------------------- */

/* Recompute the rest: the measured buckets minus the model. */
static void subtract_model(struct lw_sfft *sfft)
{
    const struct lw_sfft_model *const model = &sfft->model;
    for (int p = 0; p < model->n_planes; p++) {
        const int64_t n_buckets = sfft->layout->stages[model->planes[p].stage].spec.n_buckets;
        memcpy(sfft->rest[p], sfft->measured[p], (size_t)n_buckets * sizeof *sfft->rest[p]);
    }
    const struct lw_sfft_sum sum = {NULL, model->amplitude, model->n_lines, -1};
    lw_sfft_model_add(model, &sum, model->n_planes, sfft->rest);
}

/* Peel until no more lines appear; return the number found. The first pass (`is_blind`) assumes no noise, with the strictest
 * tolerance: if lines fill all buckets, as for a comb, low bucket energies do not show the noise. */
static int64_t peel(const struct look *look, bool is_blind)
{
    int64_t all = 0;
    double before = power_left(look->sfft, 0);
    if (is_blind)
        look->sfft->noise_power = look->least_noise;
    for (int round = 0, step = 0; round < LW_SFFT_ROUNDS && step < LW_SFFT_TOLERANCES; round++) {
        const int64_t n_lines = look->sfft->model.n_lines;
        int64_t found = 0;
        for (int s = look->n_stages - 1; s >= 0; s--)       /* the stages with most buckets come first */
            if (look->sfft->layout->stages[s].spec.n_shifts > 1)
                found += peel_stage(look->sfft, s, tolerances[step]);
        const double now = power_left(look->sfft, 0);
        all += found;
        if (now > 2 * before)
            break;                  /* the supposed lines are false */
        const bool is_new = look->sfft->model.n_lines > n_lines;
        if (all > 0 && now <= (is_new ? LW_SFFT_EXHAUSTED : LW_SFFT_EXHAUSTED_SAME) * look->least_noise)
            break;
        if (found == 0 || now > 0.99 * before)
            step++;
        before = now;
        if (step > 0 && (found > 0 || step == 1))
            estimate_noise(look, all > 0 ? LW_SFFT_QUANTILE_PEELING : LW_SFFT_QUANTILE_FULL);
    }
    return all;
}

/* Fit all amplitudes, with an error of at most a tenth of the standard deviation that noise causes. */
static void fit(const struct look *look)
{
    struct lw_sfft_model *const model = &look->sfft->model;
    double weight = 0;
    for (int64_t j = 0; j < model->n_lines; j++)
        weight += lw_sfft_model_weight(model, j, look->n_planes);
    lw_sfft_model_fit(model, look->n_planes, look->sfft->rest, LW_SFFT_FIT_STEPS,
                      LW_SFFT_FIT_ENOUGH * weight * bucket_noise(look->sfft, 0));
}

/* Remove lines that are not significant after the fit; if there were any, fit again. */
static void prune(const struct look *look)
{
    struct lw_sfft *const sfft = look->sfft;
    const struct lw_sfft_model *const model = &sfft->model;
    const double least = LW_SFFT_SIGNIFICANCE * bucket_noise(sfft, 0);
    bool all = true;
    for (int64_t j = 0; j < model->n_lines; j++) {
        const double complex a = model->amplitude[j];
        const double energy = (creal(a) * creal(a) + cimag(a) * cimag(a)) * lw_sfft_model_weight(model, j, look->n_planes);
        sfft->keep[j] = energy > least;
        all = all && sfft->keep[j];
    }
    if (all)
        return;
    lw_sfft_model_select(&sfft->model, sfft->keep);
    subtract_model(sfft);
    fit(look);
}

/* ---- the result ------------------------------------------------------------------------------------------------------ */

/* Return the energy of lines found but not reported: the weakest, and lines below the minimum magnitude. */
static double energy_left_out(const struct lw_sfft *sfft, const struct lw_sfft_result *result)
{
    const struct lw_sfft_model *const model = &sfft->model;
    const struct lw_sfft_spec *const spec = &sfft->layout->plan.spec;
    const double n = (double)spec->n;
    double energy = 0;
    for (int64_t j = 0; j < model->n_lines; j++)
        energy += pow(cabs(model->amplitude[j]), 2);
    for (int64_t i = 0; i < result->n_lines; i++) {
        const struct lw_sfft_line *const line = &result->lines[i];
        energy -= lw_sfft_multiplicity(spec, line->frequency) * (pow(line->re / n, 2) + pow(line->im / n, 2));
    }
    return fmax(energy, 0);
}

static void report_lines(struct lw_sfft *sfft, struct lw_sfft_result *result)
{
    const struct lw_sfft_spec *const spec = &sfft->layout->plan.spec;
    const struct lw_sfft_model *const model = &sfft->model;
    int64_t count = 0;
    for (int64_t j = 0; j < model->n_lines; j++) {
        const double complex x = (double)spec->n * model->amplitude[j];
        if ((!spec->is_real || 2 * model->frequency[j] <= spec->n) && cabs(x) >= spec->min_magnitude)
            sfft->lines[count++] = (struct lw_sfft_line){model->frequency[j], creal(x), cimag(x), 0};
    }
    result->n_found = count;
    lw_sfft_sort_by_magnitude(sfft->lines, count);
    result->n_lines = count < spec->sparsity ? count : spec->sparsity;
    lw_sfft_sort_by_frequency(sfft->lines, result->n_lines);
    result->lines = sfft->lines;
}

void lw_sfft_recover(struct lw_sfft *sfft, int attempt, struct lw_sfft_result *result)
{
    const struct lw_sfft_layout *const layout = sfft->layout;
    const int check = lw_sfft_first_stage(layout, attempt + 1) - 1;
    struct look look = {.sfft = sfft, .n_stages = check, .n_planes = layout->first_plane[check]};
    lw_sfft_model_use(&sfft->model, check + 1);
    subtract_model(sfft);
    look.power = power_left(sfft, check);
    look.least_noise = look.power * pow(LW_SFFT_LEAK * layout->plan.window.tolerance, 2) / layout->stages[0].window->energy;

    for (int i = 0; i < LW_SFFT_LOOKS && peel(&look, i == 0) > 0; i++) {
        fit(&look);
        estimate_noise(&look, LW_SFFT_QUANTILE_FITTED);
        prune(&look);
    }
    subtract_model(sfft);
    estimate_noise(&look, LW_SFFT_QUANTILE_FITTED);
    *result = (struct lw_sfft_result){0};
    report_lines(sfft, result);
    struct lw_sfft_figures figures = {
        .power = look.power, .noise_power = sfft->noise_power, .energy_left_out = energy_left_out(sfft, result),
    };
    figures.check_energy = measure_energies(sfft, check);
    for (int64_t b = 0; b < layout->stages[check].spec.n_buckets; b++)
        if (!(sfft->energies[b] <= figures.check_most))
            figures.check_most = sfft->energies[b];
    lw_sfft_judge(layout, attempt, &figures, result);
}
