/* test_refine.c - tests of exact powers and of their maximum, against sums over all samples in double precision: powers of signals
 * in noise, how far found parameters are from the true ones in units of their errors. Powers differ by the noise of bins that do
 * not count, those beyond 16384 on either side and negative ones: 2 0.004 / sqrt(power), and more at low frequencies. */
#include "../check.h"
#include "accel/normalize.h"
#include "accel/refine.h"
#include "base/memory.h"
#include "design/drift.h"
#include "design/transform.h"
#include "signal/significance.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { N = 1 << 17 };

static struct lw_accel_plan plan;
static struct lw_accel_refiner refiner;
static double *series;
static float *spectrum, *variances;

static double uniform(void)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static double phase(double u, double r, double z, double w)
{
    return 2 * M_PI * (r * u + z * (u * u - u) / 2 + w * (u * u * u / 6 - u * u / 4 + u / 12));
}

/* Make noise of variance 1, a signal whose harmonics have a power each, and their spectrum, where noise has a mean power of 1. */
static void make(double r, double z, double w, int harmonics, double power, bool with_noise)
{
    const double amplitude = 2 * sqrt(power / N);
    for (int i = 0; i < N; i++) {
        series[i] = with_noise ? sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform()) : 0;
        for (int h = 1; h <= harmonics; h++)
            series[i] += amplitude * cos(h * phase((double)i / N, r, z, w) + h * h);
    }
    double *const data = lw_alloc_array(lw_transform_doubles(LW_TRANSFORM_REAL, N), sizeof *data, "a spectrum", NULL);
    struct lw_transform *transform;
    CHECK(lw_transform_create(LW_TRANSFORM_REAL, N, &transform, NULL) == LW_OK, "no transform");
    for (int i = 0; i < N; i++)
        data[i] = series[i];
    lw_transform_run(transform, data);
    for (int i = 0; i < N; i++)
        spectrum[i] = (float)(data[i] / sqrt(N));
    lw_transform_destroy(transform);
    lw_free(data);
}

/* The power of one harmonic by the samples. */
static double exact(double r, double z, double w)
{
    double complex sum = 0;
    for (int i = 0; i < N; i++)
        sum += series[i] * cexp(-I * phase((double)i / N, r, z, w));
    return pow(cabs(sum), 2) / N;
}

static double exact_sum(const struct lw_accel_candidate *c)
{
    double sum = 0;
    for (int h = 1; h <= c->harmonics; h++)
        sum += exact(h * c->r, h * c->z, h * c->w);
    return sum;
}

/* The variance of the levels' part in a sum, of all pairs of harmonics: those of one run, here of four blocks, vary together. */
static double exact_variance(const struct lw_accel_candidate *c)
{
    int64_t edges[1024];
    double sum = 0, all = 0, before[16], powers[16];
    lw_accel_blocks(plan.n_bins, edges);
    for (int h = 0; h < c->harmonics; h++) {
        int64_t block = 0;
        while (edges[block + 1] <= floor((h + 1) * c->r + 0.5))
            block++;
        before[h] = variances[block];
        powers[h] = exact((h + 1) * c->r, (h + 1) * c->z, (h + 1) * c->w);
        all += powers[h];
        for (int i = 0; i <= h; i++)
            sum += before[i] == before[h] ? (i < h ? 2 : 1) * powers[i] * powers[h] * before[h] : 0;
    }
    return sum / (all * all);
}

static void check_powers(void)
{
    make(20011.37, -63.2, 40, 1, 300, true);
    const double points[][3] = {{20011.37, -63.2, 40}, {20011.5, -62, 40}, {20030.2, 0, 0}, {65535, 20, 0}, {3.3, 2, 10}};
    for (int i = 0; i < 5; i++) {
        const double r = points[i][0], z = points[i][1], w = points[i][2];
        double found, sum = 0;
        CHECK(lw_accel_power(spectrum, plan.n_bins, 90, r, z, w, &found, NULL) == LW_OK, "no power");
        /* The definition, with responses by quadrature of 65536 values of the midpoint rule. */
        double complex amplitude = 0;
        for (int64_t k = (int64_t)ceil(r - 90); k <= r + 90; k++) {
            double complex A = 0;
            for (int v = 0; v < 65536 && k > 0 && k < plan.n_bins; v++)
                A += cexp(I * phase((v + 0.5) / 65536, r - (double)k, z, w)) / 65536;
            amplitude += k > 0 && k < plan.n_bins ? (spectrum[2 * k] + I * spectrum[2 * k + 1]) * conj(A) : 0;
        }
        sum = pow(cabs(amplitude), 2);
        CHECK(fabs(found - sum) <= 1e-5 * sum, "at %g %g %g: a power of %.9g, by the definition %.9g", r, z, w, found, sum);
    }
}

static struct lw_accel_hit hit_at(double r, double z, double w, int stage)
{
    const int H = 1 << stage;
    return (struct lw_accel_hit){.r = (int64_t)floor(LW_ACCEL_STEPS * r * H + 0.5), .stage = stage,
                                 .z = (int16_t)(plan.n_z / 2 + (int)round(z * H / LW_ACCEL_Z_STEP)),
                                 .w = (int16_t)(plan.n_w / 2 + (int)round(w * H / LW_ACCEL_W_STEP))};
}

/* Distances from the truth in units of their errors: a chi-squared of all cases together. */
static double squares[3];
static int n_squares[3];

static void add_square(int which, double distance, double error)
{
    CHECK(error > 0 ? fabs(distance) < 5 * error : distance == 0, "parameter %d is off by %g, its error is %g", which, distance,
          error);
    squares[which] += error > 0 ? pow(distance / error, 2) : 0;
    n_squares[which] += error > 0;
}

static void check_signal(double r, double z, double w, int stage, double power, double tolerance)
{
    make(r, z, w, 1 << stage, power, true);
    const struct lw_accel_hit hit = hit_at(r, z, w, stage);
    struct lw_accel_candidate c;
    CHECK(lw_accel_refine(&refiner, spectrum, variances, &hit, &c, NULL) == LW_OK && c.harmonics == 1 << stage, "not refined");
    const double sum = exact_sum(&c), errors[3] = {c.r_error, c.z_error, c.w_error};
    CHECK(fabs(c.power - sum) <= tolerance * sum, "r %g z %g w %g, %d harmonics: a power of %.8g, by the samples %.8g", r, z, w,
          1 << stage, c.power, sum);
    const double sigma = lw_sum_sigma(c.harmonics, c.power, exact_variance(&c), plan.trials[stage]);
    CHECK(fabs(c.sigma - sigma) < 1e-3 * sigma, "sigma %g, not %g", c.sigma, sigma);
    add_square(0, c.r - r, c.r_error);
    add_square(1, c.z - z, c.z_error);
    add_square(2, c.w - w, c.w_error);
    for (int i = 0; i < 6; i++) {               /* it is a maximum of the sum by the samples */
        struct lw_accel_candidate next = c;
        double *const parameters[3] = {&next.r, &next.z, &next.w};
        *parameters[i % 3] += (i < 3 ? 2 : -2) * errors[i % 3];
        CHECK(errors[i % 3] == 0 || exact_sum(&next) < sum, "no maximum: %.9g beside %.9g", exact_sum(&next), sum);
    }
}

static void make_plan(double w_max)
{
    const struct lw_accel_spec spec = {.n = N, .n_fft = N, .n_stages = 5, .z_max = 200, .w_max = w_max, .r_low = 1, .r_high = N / 2,
                                       .sigma = 2};
    CHECK(lw_accel_plan(&spec, &plan, NULL) == LW_OK, "no plan");
    lw_accel_refiner_destroy(&refiner);
    CHECK(lw_accel_refiner_create(&plan, &refiner, NULL) == LW_OK, "no refiner");
}

/* The point of a hit stays if the maximum is three steps of z away, and only then. */
static void check_no_maximum(void)
{
    make(30000, 20, 0, 1, 1e5, false);
    for (int i = 0; i < 2; i++) {
        const struct lw_accel_hit hit = hit_at(30000, 22 + 4 * i, 0, 0);
        struct lw_accel_candidate c;
        CHECK(lw_accel_refine(&refiner, spectrum, variances, &hit, &c, NULL) == LW_OK, "not refined");
        if (i == 0)
            CHECK(fabs(c.r - 30000) < 1e-3 && fabs(c.z - 20) < 1e-3 && c.z_error < 0.1, "found %g %g", c.r, c.z);
        else
            CHECK(c.r == 30000 && c.z == 26 && c.r_error == 0.5 && c.z_error == 2, "the point %g %g was taken", c.r, c.z);
        CHECK(fabs(c.power - exact(c.r, c.z, c.w)) < 1e-4 * c.power, "a power of %g", c.power);
    }
}

static void print_speed(void)
{
    const struct lw_accel_hit hit = hit_at(5000, 25, 0, 3);
    struct lw_accel_candidate c;
    const clock_t begin = clock();
    for (int i = 0; i < 20; i++)
        CHECK(lw_accel_refine(&refiner, spectrum, variances, &hit, &c, NULL) == LW_OK, "not refined");
    printf("refinement of a sum of 8 harmonics: %.2f ms\n", (double)(clock() - begin) / CLOCKS_PER_SEC * 1e3 / 20);
}

int main(void)
{
    series = malloc(N * sizeof *series);
    spectrum = malloc(N * sizeof *spectrum);
    variances = calloc(1024, sizeof *variances);
    for (int i = 0; i < 1024; i++)
        variances[i] = (float)(0.1 / (1 + i / 4));
    make_plan(0);
    check_powers();
    check_no_maximum();
    check_signal(31234.567, 0.3, 0, 0, 40, 2e-3);
    check_signal(20017.12, 137.3, 0, 0, 1000, 3e-4);
    check_signal(20017.4, -199.1, 0, 0, 3e5, 1e-4);
    check_signal(301.23, -3.21, 0, 2, 20, 2e-3);
    check_signal(3001.77, 23.9, 0, 3, 500, 2e-4);
    check_signal(700.4, -12.3, 0, 4, 10, 2e-3);
    for (int i = 0; i < 10; i++)
        check_signal(500 + 3000 * uniform(), 40 * uniform() - 20, 0, i % 4, 25 + 300 * uniform(), 2e-3);
    print_speed();
    make_plan(200);
    check_signal(9876.5, -50, 180, 0, 400, 1e-3);
    check_signal(4321.1, 20.1, -61, 1, 2000, 2e-4);
    for (int i = 0; i < 10; i++)
        check_signal(500 + 3000 * uniform(), 40 * uniform() - 20, 40 * uniform() - 20, i % 4, 40 + 300 * uniform(), 2e-3);
    for (int i = 0; i < 3; i++)
        CHECK(squares[i] / n_squares[i] < 2 && squares[i] / n_squares[i] > 0.4, "mean square of parameter %d: %g of %d", i,
              squares[i] / n_squares[i], n_squares[i]);
    print_speed();
    lw_accel_refiner_destroy(&refiner);
    free(series);
    free(spectrum);
    free(variances);
    return check_result("accel_refine");
}
