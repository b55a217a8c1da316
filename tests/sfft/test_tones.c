/* test_tones.c - tests of tones between the frequencies of the transform. Waves and the adjoint of their sum agree with direct
 * sums. Fits find the given tones: exact and noisy, alone and a few bins apart, complex and real. Any number of threads gives the
 * same bits. Lines that are no tones are reported as none. */
#include "base/memory.h"
#include "sfft/number.h"
#include "sfft/tones/tones.h"

#include "../check.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Tones of amplitude 1 at given frequencies, in white noise. */
struct scene {
    int64_t n;
    bool is_real;
    int n_tones;
    double place[12];
    double snr_db;                  /* signal-to-noise ratio of one tone in dB; 300: no noise */
};

struct trial {
    struct lw_sfft_layout *layout;
    struct lw_sfft_tones *tones;
    double complex *samples;        /* samples of all stages of attempt 0 */
};

static double uniform(uint64_t counter) { return (double)(lw_random_bits(11, counter) >> 11) * 0x1p-53; }

static double complex normal(uint64_t counter)
{
    return sqrt(-log(uniform(2 * counter) + 0x1p-54)) * cexp(2 * M_PI * I * uniform(2 * counter + 1));
}

static double complex amplitude_of(int j) { return cexp(2 * M_PI * I * (0.1 + 0.37 * j)); }

/* The definition: x[t] = sum of a exp(2 pi i f t / n), and twice the real part for a real signal. */
static double complex sample_of(const struct scene *scene, int64_t t)
{
    long double re = 0, im = 0;
    for (int j = 0; j < scene->n_tones; j++) {
        const long double n = (long double)scene->n, turns = fmodl((long double)scene->place[j] * (long double)t, n) / n;
        const double complex x = amplitude_of(j) * cexp(2 * M_PI * I * (double)turns);
        re += creal(x);
        im += cimag(x);
    }
    const double sigma = scene->snr_db < 300 ? pow(10, -scene->snr_db / 20) : 0;
    const double complex noise = sigma * normal((uint64_t)t);
    return scene->is_real ? 2 * (double)re + 2 * creal(noise) : CMPLX((double)re, (double)im) + noise;
}

static struct trial open_trial(const struct scene *scene, int n_threads)
{
    const struct lw_sfft_spec spec = {.n = scene->n, .is_real = scene->is_real, .sparsity = 40, .precision = LW_DOUBLE, .seed = 3};
    const struct lw_sfft_plan plan = lw_sfft_plan_make(&spec);
    struct lw_error err;
    struct trial trial = {0};
    CHECK(plan.n_attempts > 0 && lw_sfft_layout_create(&plan, &trial.layout, &err) == LW_OK, "%s", err.message);
    const struct lw_sfft_tones_spec what = {trial.layout, 32, INT64_MAX, n_threads};
    CHECK(lw_sfft_tones_create(&what, &trial.tones, &err) == LW_OK, "%s", err.message);
    trial.samples = lw_alloc_array(plan.attempts[0].samples, sizeof *trial.samples, "samples", &err);
    int64_t at = 0;
    for (int s = 0; s < lw_sfft_first_stage(trial.layout, 1); s++) {
        const struct lw_sfft_stage *const stage = &trial.layout->stages[s];
        for (int d = 0; d < stage->spec.n_shifts; d++)
            for (int64_t i = 0; i < 2 * stage->window->half + 1; i++)
                trial.samples[at++] = sample_of(scene, lw_sfft_stage_sample(stage, d, i));
    }
    lw_sfft_tones_begin(trial.tones, 0, (const double *)trial.samples);
    return trial;
}

static void close_trial(struct trial *trial)
{
    lw_sfft_tones_destroy(trial->tones);
    lw_sfft_layout_destroy(trial->layout);
    lw_free(trial->samples);
}

/* ---- the map and its adjoint ----------------------------------------------------------------------------------------- */

/* The map A and its adjoint A* satisfy Re <A p, v> = Re <p, A* v> over the fitted rows, and A p agrees with its definition. */
static void check_map(bool is_real)
{
    const struct scene scene = {.n = 100003, .is_real = is_real, .snr_db = 300};
    struct trial trial = open_trial(&scene, 1);
    struct lw_sfft_tones *const t = trial.tones;
    struct lw_error err;
    double complex *const image = lw_alloc_array(t->n_samples, sizeof *image, "an image", &err);
    double complex *const other = lw_alloc_array(t->n_samples, sizeof *other, "values", &err);
    t->n_tones = 3;
    t->tones[0] = (struct lw_sfft_tone){.index = 99990 / (is_real ? 2 : 1), .offset = 0.4};
    t->tones[1] = (struct lw_sfft_tone){.index = 7, .offset = -0.3};
    t->tones[2] = (struct lw_sfft_tone){.index = 0, .is_fixed = is_real};
    const struct lw_sfft_tone_part parts[3] = {{CMPLX(1, 2), CMPLX(-3, 0.5)}, {CMPLX(0.2, -1), 2}, {CMPLX(3, 0), 0}};
    lw_sfft_tones_add(t, parts, 1.5, image);
    double complex forward = 0;
    double worst = 0, adjoint = 0;
    for (int r = 0; r < t->n_rows; r++) {
        int64_t sample = t->rows[r].first;
        for (int64_t i = 0; i < t->rows[r].count; i++, sample = (sample + t->rows[r].step) % scene.n) {
            const double centred = (double)sample / (double)scene.n - 0.5;
            double complex expected = 0;
            for (int j = 0; j < 3; j++) {
                const double whole = (double)(t->tones[j].index * sample % scene.n) / (double)scene.n;
                const double turns = whole + t->tones[j].offset * centred;
                const double complex x = 1.5 * (parts[j].flat + parts[j].slope * centred) * cexp(2 * M_PI * I * turns);
                expected += is_real ? creal(x) * (t->tones[j].is_fixed ? 1 : 2) : x;
            }
            const int64_t place = t->rows[r].place + i;
            worst = fmax(worst, cabs(image[place] - expected));
            other[place] = is_real ? creal(normal((uint64_t)place)) : normal((uint64_t)place);
            forward += t->rows[r].is_fitted ? conj(image[place]) * other[place] : 0;
        }
    }
    for (int j = 0; j < 3; j++) {
        const struct lw_sfft_tone_part sum = lw_sfft_tones_project(t, &t->tones[j], other);
        adjoint += 1.5 * creal(conj(parts[j].flat) * sum.flat + conj(parts[j].slope) * sum.slope);
    }
    CHECK(worst < 1e-11, "a sample of the image is off by %g", worst);
    CHECK(fabs(creal(forward) - adjoint) < 1e-9 * cabs(forward), "<A p, v> is %.15g, <p, A* v> %.15g", creal(forward), adjoint);
    lw_free(image);
    lw_free(other);
    close_trial(&trial);
}

/* ---- fits ----------------------------------------------------------------------------------------------------------- */

static bool has_tone_near(const struct lw_sfft_tones *t, double place)
{
    for (int64_t j = 0; j < t->n_tones; j++)
        if (fabs((double)t->tones[j].index + t->tones[j].offset - place) < 1)
            return true;
    return false;
}

/* Fit tones as a search does: seed each tone that is not yet found at its nearest line, fit, and repeat. */
static void fit(struct lw_sfft_tones *t, const struct scene *scene)
{
    for (int go = 0; go < 3; go++) {
        for (int j = 0; j < scene->n_tones; j++) {
            const struct lw_sfft_line line = {(int64_t)rint(scene->place[j]), (double)scene->n, 0, 0};
            if (!has_tone_near(t, scene->place[j]))
                lw_sfft_tones_seed(t, &line, 1, 1);
        }
        lw_sfft_tones_fit(t);
    }
}

/* Every tone is found, its place within `most` bins and its value within 4 `most`, and no further tone is found. */
static void check_fit(const struct scene *scene, double most)
{
    struct trial trial = open_trial(scene, 1);
    fit(trial.tones, scene);
    CHECK(trial.tones->n_tones == scene->n_tones, "%" PRId64 " tones of %d", trial.tones->n_tones, scene->n_tones);
    for (int j = 0; j < scene->n_tones; j++) {
        double least = INFINITY, error = INFINITY;
        for (int64_t i = 0; i < trial.tones->n_tones; i++) {
            const struct lw_sfft_line line = lw_sfft_tones_line(trial.tones, &trial.tones->tones[i]);
            const double off = fabs((double)line.frequency + line.offset - scene->place[j]);
            CHECK(fabs(line.offset) <= 0.5, "offset %g", line.offset);
            if (off < least) {
                least = off;
                error = cabs(CMPLX(line.re, line.im) / (double)scene->n - amplitude_of(j));
            }
        }
        CHECK(least <= most, "tone at %.3f is off by %g", scene->place[j], least);
        CHECK(error <= 8 * most, "value of the tone at %.3f is off by %g", scene->place[j], error);
    }
    close_trial(&trial);
}

static void check_fits(void)
{
    for (int is_real = 0; is_real < 2; is_real++) {
        check_fit(&(struct scene){1 << 20, is_real, 1, {12345.5}, 300}, 1e-9);
        check_fit(&(struct scene){1 << 20, is_real, 1, {777}, 300}, 1e-9);
        check_fit(&(struct scene){1000003, is_real, 2, {70000.25, 400000.71}, 300}, 1e-9);
        check_fit(&(struct scene){1 << 20, is_real, 3, {5000.4, 5003.1, 5006.7}, 300}, 1e-9);
        check_fit(&(struct scene){1 << 20, is_real, 2, {5000.2, 5001.6}, 300}, 1e-9);
        check_fit(&(struct scene){(int64_t)1 << 34, is_real, 2, {8e9 + 0.125, 12345.25}, 300}, 1e-5);
        check_fit(&(struct scene){1 << 20, is_real, 1, {12345.5}, 40}, 1e-3);
        check_fit(&(struct scene){1000003, is_real, 10,
                                  {100.3, 2000.6, 33333.5, 44444.1, 55555.9, 66666.45, 77777.2, 88888.8, 99999.7, 400000.35},
                                  40}, 1e-3);
    }
    check_fit(&(struct scene){1 << 20, false, 2, {0.3, (1 << 20) - 3.6}, 300}, 1e-9);     /* one tone on each side of frequency 0 */
}

static void check_threads(void)
{
    const struct scene scene = {1000003, false, 3, {70000.25, 70002.71, 400000.5}, 30};
    struct trial one = open_trial(&scene, 1), four = open_trial(&scene, 4);
    fit(one.tones, &scene);
    fit(four.tones, &scene);
    const size_t bytes = (size_t)one.tones->n_samples * sizeof *one.samples;
    CHECK(one.tones->n_tones == 3 && memcmp(one.tones->rest, four.tones->rest, bytes) == 0,
          "one and four threads give different tones or bits");
    close_trial(&one);
    close_trial(&four);
}

/* ---- lines that are none, and no tones --------------------------------------------------------------------------------- */

static void check_between(double place, double snr_db, int expected)
{
    const struct scene scene = {1 << 20, false, 2, {place, 800000}, snr_db};
    struct trial trial = open_trial(&scene, 1);
    const double n = (double)scene.n;
    const double complex other = n * amplitude_of(1);
    const struct lw_sfft_line lines[] = {{(int64_t)rint(place), n, 0, 0}, {800000, creal(other), cimag(other), 0}};
    const int between = lw_sfft_tones_between(trial.tones, (double *)trial.samples, lines, 2);
    CHECK(between == expected, "%d of the lines at %.2f and 800000 are reported as tones between frequencies", between, place);
    close_trial(&trial);
}

static void check_noise(void)
{
    const struct scene scene = {1 << 20, false, 0, {0}, 0};
    struct trial trial = open_trial(&scene, 1);
    const struct lw_sfft_line line = {1000, (double)scene.n, 0, 0};
    lw_sfft_tones_seed(trial.tones, &line, 1, 1);
    lw_sfft_tones_fit(trial.tones);
    CHECK(trial.tones->n_tones == 0, "a tone is found in noise alone");
    close_trial(&trial);
}

int main(void)
{
    check_map(false);
    check_map(true);
    check_fits();
    check_threads();
    check_between(12345.5, 300, 1);
    check_between(12345.1, 40, 1);
    check_between(12345, 300, 0);
    check_between(12345, 10, 0);
    check_between(12345.01, 300, 0);
    check_noise();
    return check_result("tones");
}
