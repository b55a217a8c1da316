#include "sfft/tones/dense_fit.h"

#include "base/memory.h"
#include "base/select.h"
#include "sfft/number.h"

#include <complex.h>
#include <stdlib.h>

/* Coefficients on either side of a tone that the tone is fitted to, and the number of all, its own included. */
enum { HALF = 6, WINDOW = 2 * HALF + 1 };

/* First passes over all tones; most passes in a fit; most fits, each after tones were removed; most lines. */
enum { FIRST_PASSES = 3, PASSES = 40, ROUNDS = 4, MOST_LINES = 1024 };

/* Coefficients sampled for the noise; number of tones, or coefficients, from which threads pay; parts of a sum, fixed so that the
 * result does not depend on the number of threads. */
enum { NOISE_BINS = 8192, PARALLEL = 256, PARTS = 256 };

/* Approximate number of leakage terms summed to compute the rest. */
static const double most_products = 1 << 25;

/* A tone is kept if its energy is at least this many times the noise's; a Hann window multiplies the noise's energy by 3/8. */
static const double significance = 20, hann_noise = 0.375;

/* Longest move of a tone in one step, bins. A fit ends when every move is at most `enough`, or this part of the noise's move. */
static const double longest_step = 0.3, enough = 1e-11, noise_enough = 1e-3;

/* Part of the spectrum's energy that counts as rounding. */
static const double rounding = 1e-12;

struct tone {
    int64_t index;
    double offset;
    double complex value;       /* the tone's X at its own frequency */
    double complex front;       /* value sin(pi offset) exp(pi i offset) / n */
    bool is_fixed;              /* tone at 0 or n/2 of a real signal: offset 0, value real */
};

struct fit {
    const struct lw_sfft_spec *spec;
    const double *spectrum;
    int n_threads;
    int64_t capacity;
    struct tone *tones;                 /* [capacity] strongest first; owned, like peaks */
    int64_t n_tones;
    struct lw_sfft_line *peaks;         /* [2 capacity] peaks of the spectrum; at the end the tones as lines */
    double noise;                       /* mean |X|^2 of the noise */
    double energy;                      /* energy of the whole spectrum */
};

static double square(double complex x) { return creal(x) * creal(x) + cimag(x) * cimag(x); }

static int64_t capacity_of(const struct lw_sfft_spec *spec) { return 2 * spec->sparsity + 16; }

bool lw_sfft_spectrum_is_fitted(const struct lw_sfft_spec *spec)
{
    return spec->sparsity <= MOST_LINES && lw_sfft_n_frequencies(spec) >= 2 * WINDOW;
}

int64_t lw_sfft_spectrum_bytes(const struct lw_sfft_spec *spec)
{
    return capacity_of(spec) * (int64_t)(sizeof(struct tone) + 2 * sizeof(struct lw_sfft_line));
}

/* Return X[f] for any f: the spectrum is periodic. */
static double complex coefficient(const struct fit *fit, int64_t f)
{
    const int64_t n = fit->spec->n, at = lw_mod(f, n);
    const bool is_mirror = fit->spec->is_real && at > n / 2;
    const double *const x = fit->spectrum + 2 * (is_mirror ? n - at : at);
    return CMPLX(x[0], is_mirror ? -x[1] : x[1]);
}

/* ---- contributions of tones to a coefficient ------------------------------------------------------------------------- */

static double cotangent(double bins, double n) { return 1 / tan(M_PI * bins / n); }

/* Return K(whole + part). */
static double complex kernel(int64_t whole, double part, double n)
{
    if (part == 0)
        return fmod((double)whole, n) == 0 ? 1 : 0;
    return sin(M_PI * part) * cexp(M_PI * I * part) * (cotangent((double)whole + part, n) - I) / n;
}

/* Return the derivative of K at whole + part. */
static double complex slope(int64_t whole, double part, double n)
{
    if (whole == 0 && fabs(part) < 1e-5)
        return M_PI * I * (1 - 1 / n) * kernel(0, part, n) - M_PI * M_PI / 3 * part;
    const double cot = cotangent((double)whole + part, n);
    const double complex turn = cexp(M_PI * I * part);
    return M_PI / n * turn * (turn * (cot - I) - sin(M_PI * part) * (1 + cot * cot) / n);
}

/* Return what a tone's mirror image contributes to coefficient f. */
static double complex mirror_at(const struct fit *fit, const struct tone *tone, int64_t f)
{
    if (!fit->spec->is_real || tone->is_fixed || tone->offset == 0)
        return 0;
    return conj(tone->front) * (cotangent((double)(tone->index + f) + tone->offset, (double)fit->spec->n) + I);
}

/* Return what a tone and its mirror image contribute to coefficient f. */
static double complex seen_at(const struct fit *fit, const struct tone *tone, int64_t f)
{
    if (tone->offset == 0)
        return f == tone->index ? tone->value : 0;
    return tone->front * (cotangent((double)(tone->index - f) + tone->offset, (double)fit->spec->n) - I) + mirror_at(fit, tone, f);
}

static double complex model_at(const struct fit *fit, int64_t f)
{
    double complex sum = 0;
    for (int64_t j = 0; j < fit->n_tones; j++)
        sum += seen_at(fit, &fit->tones[j], f);
    return sum;
}

/* ---- peaks behind a Hann window ------------------------------------------------------------------------------------------ */

static double complex hann_at(const struct fit *fit, int64_t f)
{
    return coefficient(fit, f) / 2 - (coefficient(fit, f - 1) + coefficient(fit, f + 1)) / 4;
}

/* Return the noise, from the median of coefficients all over the spectrum: a few tones hardly raise the median. */
static double measure_noise(const struct fit *fit)
{
    static const double median_of_exponential = 0.6931471805599453;
    double energies[NOISE_BINS];
    const int64_t n = lw_sfft_n_frequencies(fit->spec), count = lw_min64(n, NOISE_BINS);
    for (int64_t i = 0; i < count; i++)
        energies[i] = square(hann_at(fit, (int64_t)((double)i / (double)count * (double)n)));
    return lw_select(energies, count, count / 2) / median_of_exponential / hann_noise;
}

/* Find the strongest peaks, strongest first. @return  number of peaks */
static int64_t find_peaks(const struct fit *fit)
{
    const int64_t n = lw_sfft_n_frequencies(fit->spec);
    double before = square(hann_at(fit, -1)), here = square(hann_at(fit, 0));
    double least = significance * hann_noise * hann_noise * fit->noise;     /* least peak: a tone half-way between coefficients */
    int64_t count = 0;
    for (int64_t f = 0; f < n; f++) {
        const double after = square(hann_at(fit, f + 1));
        if (here > before && here >= after && here > least) {
            const double complex x = hann_at(fit, f);
            fit->peaks[count++] = (struct lw_sfft_line){f, creal(x), cimag(x), 0};
        }
        if (count == 2 * fit->capacity) {
            lw_sfft_sort_by_magnitude(fit->peaks, count);
            count = fit->capacity;
            least = square(CMPLX(fit->peaks[count - 1].re, fit->peaks[count - 1].im));
        }
        before = here;
        here = after;
    }
    lw_sfft_sort_by_magnitude(fit->peaks, count);
    return lw_min64(count, fit->capacity);
}

/* Estimate the frequency of a tone from a peak and the larger of its neighbours. */
static struct tone tone_of(const struct fit *fit, const struct lw_sfft_line *peak)
{
    const int64_t f = peak->frequency, n = fit->spec->n;
    struct tone tone = {.index = f, .is_fixed = fit->spec->is_real && (f == 0 || 2 * f == n)};
    if (!tone.is_fixed) {
        const double left = cabs(hann_at(fit, f - 1)), right = cabs(hann_at(fit, f + 1));
        const double ratio = fmax(left, right) / hypot(peak->re, peak->im), size = fmax(0, (2 * ratio - 1) / (ratio + 1));
        tone.offset = left > right ? -size : size;
    }
    return tone;
}

/* ---- fit ------------------------------------------------------------------------------------------------------------------- */

/* Copy the coefficients around a tone, minus the other tones and its own mirror image. @return  their number, from *first on */
static int take_window(const struct fit *fit, const struct tone *tone, int64_t *first, double complex rest[WINDOW])
{
    const bool is_real = fit->spec->is_real;
    const int64_t n = lw_sfft_n_frequencies(fit->spec);
    *first = is_real ? lw_max64(0, tone->index - HALF) : tone->index - HALF;
    const int count = (int)((is_real ? lw_min64(n - 1, tone->index + HALF) : tone->index + HALF) - *first + 1);
    #pragma omp parallel for num_threads(fit->n_threads) if (fit->n_tones >= PARALLEL)
    for (int i = 0; i < count; i++) {
        const int64_t f = lw_mod(*first + i, fit->spec->n);
        double complex left = coefficient(fit, f) - mirror_at(fit, tone, f);
        for (int64_t j = 0; j < fit->n_tones; j++)
            if (&fit->tones[j] != tone)
                left -= seen_at(fit, &fit->tones[j], f);
        rest[i] = left;
    }
    return count;
}

/* Set the value that explains the coefficients of the window best, at the tone's frequency. */
static void set_value(const struct fit *fit, struct tone *tone, int64_t first, const double complex *rest, int count)
{
    double complex sum = 0;
    double weight = 0;
    for (int i = 0; i < count; i++) {
        const double complex k = kernel(tone->index - first - i, tone->offset, (double)fit->spec->n);
        sum += conj(k) * rest[i];
        weight += square(k);
    }
    tone->value = tone->is_fixed ? creal(rest[tone->index - first]) : sum / weight;
}

/* Return the change of offset that explains the coefficients of the window best; the value may change, too. */
static double step_of(const struct fit *fit, const struct tone *tone, int64_t first, const double complex *rest, int count)
{
    double complex k[WINDOW], d[WINDOW], across = 0;
    double weight = 0, square_sum = 0, sum = 0;
    for (int i = 0; i < count; i++) {
        k[i] = kernel(tone->index - first - i, tone->offset, (double)fit->spec->n);
        d[i] = tone->value * slope(tone->index - first - i, tone->offset, (double)fit->spec->n);
        across += conj(k[i]) * d[i];
        weight += square(k[i]);
    }
    for (int i = 0; i < count; i++) {
        const double complex alone = d[i] - across / weight * k[i];
        square_sum += square(alone);
        sum += creal(conj(alone) * (rest[i] - tone->value * k[i]));
    }
    return square_sum > 0 ? fmax(-longest_step, fmin(longest_step, sum / square_sum)) : 0;
}

/* Move whole bins from the offset to the index, except at the ends of a real signal's spectrum. */
static void normalize(const struct fit *fit, struct tone *tone)
{
    const int64_t bins = (int64_t)rint(tone->offset), index = tone->index + bins;
    if (fit->spec->is_real && (index <= 0 || 2 * index >= fit->spec->n)) {
        tone->offset = fmax(-0.5, fmin(0.5, tone->offset));
        return;
    }
    tone->index = lw_mod(index, fit->spec->n);
    tone->offset -= (double)bins;
}

/* Fit one tone; return whether it moved significantly. */
static bool move(const struct fit *fit, struct tone *tone)
{
    double complex rest[WINDOW];
    int64_t first;
    const int count = take_window(fit, tone, &first, rest);
    if (tone->value == 0)
        set_value(fit, tone, first, rest, count);
    double step = 0;
    if (!tone->is_fixed) {
        step = step_of(fit, tone, first, rest, count);
        tone->offset += step;
    }
    set_value(fit, tone, first, rest, count);
    normalize(fit, tone);
    tone->front = tone->value * sin(M_PI * tone->offset) * cexp(M_PI * I * tone->offset) / (double)fit->spec->n;
    return fabs(step) > enough && fabs(step) * cabs(tone->value) > noise_enough * sqrt(fit->noise);
}

static bool is_near(const struct fit *fit, const struct tone *a, const struct tone *b)
{
    static const double least_distance = 0.7;
    const double d = fabs((double)(a->index - b->index) + (a->offset - b->offset)), n = (double)fit->spec->n;
    return fmin(d, fit->spec->is_real ? d : n - d) < least_distance;
}

static int compare_tones(const void *a, const void *b)
{
    const struct tone *const x = a, *const y = b;
    const double left = cabs(x->value), right = cabs(y->value);
    return left != right ? (left < right) - (left > right) : (x->index > y->index) - (x->index < y->index);
}

/* Sort the tones, strongest first; remove tones that may be noise, and the weaker of two close tones. Return whether any were
 * removed. */
static bool prune(struct fit *fit)
{
    const int64_t before = fit->n_tones;
    qsort(fit->tones, (size_t)before, sizeof *fit->tones, compare_tones);
    fit->n_tones = 0;
    for (int64_t j = 0; j < before; j++) {
        bool is_kept = square(fit->tones[j].value) > significance * fit->noise;
        for (int64_t i = 0; is_kept && i < fit->n_tones; i++)
            is_kept = !is_near(fit, &fit->tones[j], &fit->tones[i]);
        if (is_kept)
            fit->tones[fit->n_tones++] = fit->tones[j];
    }
    return fit->n_tones < before;
}

/* ---- the rest: the spectrum minus the tones -------------------------------------------------------------------------- */

static double weight_at(const struct fit *fit, int64_t f) { return lw_sfft_multiplicity(fit->spec, f); }

/* Return the tones' energy in the whole spectrum: the sum of conj(value) times the whole model at each tone's frequency. */
static double model_energy(const struct fit *fit)
{
    const double n = (double)fit->spec->n;
    double sum = 0;
    for (int64_t j = 0; j < fit->n_tones; j++) {
        const struct tone *const at = &fit->tones[j];
        double complex seen = 0;
        for (int64_t i = 0; i < fit->n_tones; i++) {
            const struct tone *const tone = &fit->tones[i];
            seen += tone->value * kernel(tone->index - at->index, tone->offset - at->offset, n);
            if (fit->spec->is_real && !tone->is_fixed)
                seen += conj(tone->value) * kernel(-tone->index - at->index, -tone->offset - at->offset, n);
        }
        sum += weight_at(fit, at->index) * creal(conj(at->value) * seen);
    }
    return sum;
}

struct rest {
    double across;      /* sum of Re(rest conj(model)) */
    double most;        /* largest |X| of the rest */
};

static struct rest look_at(const struct fit *fit, int64_t begin, int64_t end)
{
    struct rest parts[PARTS] = {0}, all = {0};
    #pragma omp parallel for num_threads(fit->n_threads) if (end - begin >= PARALLEL)
    for (int p = 0; p < PARTS; p++)
        for (int64_t f = begin + (end - begin) * p / PARTS; f < begin + (end - begin) * (p + 1) / PARTS; f++) {
            const double complex model = model_at(fit, f), left = coefficient(fit, f) - model;
            parts[p].across += weight_at(fit, f) * creal(left * conj(model));
            parts[p].most = fmax(parts[p].most, cabs(left));
        }
    for (int p = 0; p < PARTS; p++) {
        all.across += parts[p].across;
        all.most = fmax(all.most, parts[p].most);
    }
    return all;
}

/* Examine the rest around all tones, by frequency. Farther away the tones' leakage is too small to correlate with the rest. */
static struct rest look_around(const struct fit *fit, const struct lw_sfft_line *lines, int64_t reach)
{
    const int64_t n = lw_sfft_n_frequencies(fit->spec), tones = fit->n_tones;
    struct rest all = {0};
    int64_t done = 0;
    for (int64_t j = 0; j < tones; j++) {
        const int64_t begin = lw_max64(done, lines[j].frequency - reach), end = lw_min64(n, lines[j].frequency + reach + 1);
        if (begin >= end)
            continue;
        const struct rest rest = look_at(fit, begin, end);
        all.across += rest.across;
        all.most = fmax(all.most, rest.most);
        done = end;
    }
    return all;
}

/* Return whether the tones leave no more energy than the lines of `result`, plus what surplus lines of noise may hold.
 * @param tones  residual and detection_limit are set; fit->peaks receives the tones as lines, by frequency */
static bool are_better(const struct fit *fit, int64_t reach, const struct lw_sfft_result *result, struct lw_sfft_result *tones)
{
    for (int64_t j = 0; j < fit->n_tones; j++) {
        const struct tone *const tone = &fit->tones[j];
        fit->peaks[j] = (struct lw_sfft_line){tone->index, creal(tone->value), cimag(tone->value), tone->offset};
    }
    lw_sfft_sort_by_frequency(fit->peaks, fit->n_tones);
    const struct rest rest = look_around(fit, fit->peaks, reach);
    const double of_noise = (double)lw_max64(0, result->n_lines - fit->n_tones) * 2 * significance * fit->noise;
    tones->residual = fit->energy > 0 ? fmax(0, 1 - (model_energy(fit) + 2 * rest.across) / fit->energy) : 0;
    tones->detection_limit = rest.most;
    return tones->residual <= result->residual + rounding + (fit->energy > 0 ? of_noise / fit->energy : 0);
}

/* ---- all together ----------------------------------------------------------------------------------------------------- */

static bool move_all(struct fit *fit)
{
    bool has_moved = false;
    for (int64_t j = 0; j < fit->n_tones; j++)
        has_moved = move(fit, &fit->tones[j]) || has_moved;
    return has_moved;
}

/* Fit the tones; return whether they may be better than the lines. They are not if, after the first passes, all tones, more than
 * are wanted, leave over twice as much energy as the lines. */
static bool fit_tones(struct fit *fit, const struct lw_sfft_result *result)
{
    struct lw_sfft_result first;
    for (int pass = 0; pass < FIRST_PASSES; pass++)
        move_all(fit);
    if (!are_better(fit, HALF, result, &first) && first.residual > 2 * result->residual)
        return false;
    for (int round = 0; round < ROUNDS && (round == 0 || prune(fit)); round++)
        for (int pass = 0; pass < PASSES && move_all(fit); pass++)
            ;
    prune(fit);
    return true;
}

/* Replace the lines by the strongest tones, as many as are wanted, if these are better. Return whether the lines were replaced. */
static bool conclude(struct fit *fit, struct lw_sfft_result *result)
{
    struct lw_sfft_result tones = {.is_explained = true, .n_found = fit->n_tones, .noise_power = fit->noise / (double)fit->spec->n};
    fit->n_tones = lw_min64(fit->n_tones, fit->spec->sparsity);
    while (fit->n_tones > 0 && cabs(fit->tones[fit->n_tones - 1].value) < fit->spec->min_magnitude)
        fit->n_tones--;
    tones.n_lines = fit->n_tones;
    if (tones.n_lines == 0 && result->n_lines > 0)
        return false;
    const double products = (double)lw_max64(1, tones.n_lines) * (double)lw_max64(1, tones.n_lines);
    if (!are_better(fit, lw_max64(HALF, (int64_t)(most_products / products / 2)), result, &tones))
        return false;
    tones.lines = result->lines;
    memcpy(tones.lines, fit->peaks, (size_t)tones.n_lines * sizeof *tones.lines);
    *result = tones;
    return true;
}

int lw_sfft_spectrum_refine(const struct lw_sfft_spec *spec, const double *spectrum, int n_threads, struct lw_sfft_result *result,
                            bool *is_refined, struct lw_error *err)
{
    struct fit fit = {.spec = spec, .spectrum = spectrum, .n_threads = n_threads, .capacity = capacity_of(spec)};
    int rc = LW_ESYSTEM;
    if ((fit.tones = lw_alloc_array(fit.capacity, sizeof *fit.tones, "tones", err)) &&
        (fit.peaks = lw_alloc_array(2 * fit.capacity, sizeof *fit.peaks, "tones", err))) {
        fit.noise = measure_noise(&fit);
        const int64_t n_tones = find_peaks(&fit);
        for (int64_t j = 0; j < n_tones; j++)
            fit.tones[j] = tone_of(&fit, &fit.peaks[j]);
        fit.n_tones = n_tones;
        for (int64_t f = 0; f < lw_sfft_n_frequencies(spec); f++)
            fit.energy += weight_at(&fit, f) * square(coefficient(&fit, f));
        *is_refined = fit_tones(&fit, result) && conclude(&fit, result);
        rc = LW_OK;
    }
    lw_free(fit.tones);
    lw_free(fit.peaks);
    return rc;
}
