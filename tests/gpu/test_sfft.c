/* test_sfft.c - tests of the kernels of the sparse transform against plain sums in double. Fold: samples to rows of sums, from a
 * signal on the device and from rows gathered on the host. Transforms: all lengths. Recovery: the remainder in the buckets that
 * it has not used. */
#include "gpu.h"
#include "gpu_memory.h"

#include "base/memory.h"
#include "gpu/sfft/memory.h"
#include "gpu/sfft/solver.h"
#include "sfft/number.h"

#include <complex.h>
#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <math.h>

enum { SHARED_BYTES = 227 << 10 };

static double uniform(uint64_t seed, uint64_t counter) { return (double)(lw_random_bits(seed, counter) >> 11) * 0x1p-52 - 1; }

static void *copied(const void *from, size_t bytes)
{
    void *const memory = on_device(bytes);
    copy(memory, from, bytes, cudaMemcpyHostToDevice);
    return memory;
}

static void *on_host(int64_t count, size_t size)
{
    struct lw_error err;
    void *const memory = lw_alloc_array(count, size, "a test's data", &err);
    if (!memory) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    return memory;
}

/* ---- fold ------------------------------------------------------------------------------------------------------------- */

/* The stages of the first attempt for a signal of n samples and k lines, on the device. */
struct bench {
    struct lw_sfft_layout *layout;
    struct lw_sfft_device_stage stages[LW_SFFT_STAGES];
    struct lw_sfft_memory memory;
    struct lw_sfft_device_range range;
    double2 *values;
    struct lw_sfft_device_control *control;
};

static struct bench open_bench(int64_t n, int64_t k)
{
    struct bench b = {0};
    struct lw_error err;
    const struct lw_sfft_spec spec = {.n = n, .sparsity = k, .precision = LW_DOUBLE, .seed = 5};
    const struct lw_sfft_plan plan = lw_sfft_plan_make(&spec);
    CHECK(plan.n_attempts > 0 && lw_sfft_layout_create(&plan, &b.layout, &err) == LW_OK, "no layout");
    const struct lw_sfft_window *const window = b.layout->windows[0];
    b.memory.taps[0] = copied(window->taps, (size_t)(2 * window->half + 1) * sizeof(double));
    const int n_stages = lw_sfft_first_stage(b.layout, 1);
    for (int s = 0; s < n_stages; s++)
        b.stages[s] = lw_sfft_memory_stage(&b.memory, b.layout, s, s > 0 ? &b.stages[s - 1] : NULL);
    b.memory.stages = copied(b.stages, sizeof b.stages);
    b.range = (struct lw_sfft_device_range){
        .stages = b.memory.stages, .n_planes = b.layout->first_plane[n_stages], .end_stage = n_stages,
        .n_shifts = plan.attempts[0].n_shifts, .n_buckets = plan.attempts[0].n_buckets,
    };
    b.values = on_device((size_t)(b.range.n_planes * b.range.n_buckets) * sizeof *b.values);
    const struct lw_sfft_device_control none = {.largest = 5};
    b.control = copied(&none, sizeof none);
    return b;
}

static void close_bench(struct bench *b)
{
    cudaFree(b->memory.taps[0]);
    cudaFree(b->memory.stages);
    cudaFree(b->values);
    cudaFree(b->control);
    lw_sfft_layout_destroy(b->layout);
}

static double stored(double x, struct lw_type type) { return type.scalar == LW_FLOAT32 ? (double)(float)x : x; }

/* Sample t of the test's signal; every 997th is not finite. */
static double complex sample(int64_t t, struct lw_type type)
{
    const double re = stored(uniform(1, (uint64_t)t), type), im = type.is_complex ? stored(uniform(2, (uint64_t)t), type) : 0;
    return CMPLX(re, im);
}

static bool is_bad(int64_t t) { return t % 997 == 3; }

static void *make_signal(int64_t n, struct lw_type type)
{
    const size_t bytes = (size_t)n * lw_type_bytes(type);
    const int parts = type.is_complex ? 2 : 1;
    void *const x = on_host((int64_t)bytes, 1);
    for (int64_t t = 0; t < n; t++) {
        const double complex value = sample(t, type);
        for (int part = 0; part < parts; part++) {
            const double x_part = is_bad(t) && part == parts - 1 ? NAN : part == 0 ? creal(value) : cimag(value);
            if (type.scalar == LW_FLOAT32)
                ((float *)x)[parts * t + part] = (float)x_part;
            else
                ((double *)x)[parts * t + part] = x_part;
        }
    }
    void *const device = copied(x, bytes);
    lw_free(x);
    return device;
}

/* Compare with sums by definition of the finite samples. Return the number of samples that are not finite. */
static int64_t check_sums(const struct bench *b, struct lw_type type, const double2 *values)
{
    int64_t bad = 0;
    for (int s = 0; s < b->range.end_stage; s++) {
        const struct lw_sfft_stage *const stage = &b->layout->stages[s];
        const int64_t n_buckets = stage->spec.n_buckets, length = 2 * stage->window->half + 1;
        double complex *const sums = on_host(n_buckets, sizeof *sums);
        for (int d = 0; d < stage->spec.n_shifts; d++) {
            for (int64_t i = 0; i < n_buckets; i++)
                sums[i] = 0;
            for (int64_t i = 0; i < length; i++) {
                const int64_t t = lw_sfft_stage_sample(stage, d, i);
                bad += is_bad(t);
                if (!is_bad(t))
                    sums[lw_mod(i - stage->window->half, n_buckets)] += stage->window->taps[i] * sample(t, type);
            }
            const double2 *const got = values + (b->layout->first_plane[s] + d) * n_buckets;
            for (int64_t i = 0; i < n_buckets; i++)
                CHECK(cabs(CMPLX(got[i].x, got[i].y) - sums[i]) < 1e-15, "%s%zu, stage %d, shift %d, sum %" PRId64
                      ": %.17g %.17g, not %.17g %.17g", type.is_complex ? "complex " : "", 8 * lw_scalar_bytes(type.scalar),
                      s, d, i, got[i].x, got[i].y, creal(sums[i]), cimag(sums[i]));
        }
        lw_free(sums);
    }
    return bad;
}

static void check_fold_of(const struct bench *b, struct lw_type type)
{
    const int64_t n = b->layout->plan.spec.n, count = b->range.n_planes * b->range.n_buckets;
    const struct lw_sfft_device_signal signal = {type, make_signal(n, type)};
    double2 *const values = on_host(count, sizeof *values);
    CHECK(lw_sfft_fold(&b->range, &signal, NULL, b->values, b->control, NULL) == cudaSuccess, "the fold fails");
    copy(values, b->values, (size_t)count * sizeof *values, cudaMemcpyDeviceToHost);
    struct lw_sfft_device_control control;
    copy(&control, b->control, sizeof control, cudaMemcpyDeviceToHost);
    const int64_t bad = check_sums(b, type, values);
    CHECK(control.largest == 0 && (int64_t)control.not_finite == bad && bad > 0, "%llu not finite, not %" PRId64,
          control.not_finite, bad);
    control.not_finite = 0;
    copy(b->control, &control, sizeof control, cudaMemcpyHostToDevice);
    cudaFree((void *)(uintptr_t)signal.samples);
    lw_free(values);
}

static void check_fold_of_rows(const struct bench *b)
{
    const struct lw_type type = {LW_FLOAT64, true, false};
    const int64_t count = b->range.n_planes * b->range.n_buckets, length = 2 * b->layout->windows[0]->half + 1;
    double2 *const rows = on_host(b->range.n_planes * length, sizeof *rows), *const values = on_host(count, sizeof *values);
    double2 *next = rows;
    for (int s = 0; s < b->range.end_stage; s++)
        for (int d = 0; d < b->layout->stages[s].spec.n_shifts; d++)
            for (int64_t i = 0; i < length; i++, next++) {
                const int64_t t = lw_sfft_stage_sample(&b->layout->stages[s], d, i);
                const double complex x = is_bad(t) ? 0 : sample(t, type);
                *next = (double2){creal(x), cimag(x)};
            }
    double2 *const on_gpu = copied(rows, (size_t)(next - rows) * sizeof *rows);
    CHECK(lw_sfft_fold(&b->range, NULL, on_gpu, b->values, b->control, NULL) == cudaSuccess, "the fold of rows fails");
    copy(values, b->values, (size_t)count * sizeof *values, cudaMemcpyDeviceToHost);
    check_sums(b, type, values);
    cudaFree(on_gpu);
    lw_free(rows);
    lw_free(values);
}

static void check_fold(int64_t n, int64_t k)
{
    struct bench b = open_bench(n, k);
    for (int is_complex = 0; is_complex < 2; is_complex++) {
        check_fold_of(&b, (struct lw_type){LW_FLOAT32, is_complex, false});
        check_fold_of(&b, (struct lw_type){LW_FLOAT64, is_complex, false});
    }
    check_fold_of_rows(&b);
    close_bench(&b);
}

/* ---- transforms -------------------------------------------------------------------------------------------------------- */

static void check_transform(int64_t n, int has_clusters)
{
    enum { PLANES = 3, BINS = 40 };
    CHECK(lw_sfft_transform_fits(n, SHARED_BYTES), "no transform of %" PRId64 " points", n);
    double2 *const roots = on_host(n, sizeof *roots), *const x = on_host(PLANES * n, sizeof *x);
    double2 *const X = on_host(PLANES * n, sizeof *X);
    double largest = 0;
    for (int64_t k = 0; k < n; k++)
        roots[k] = (double2){cos(2 * M_PI * (double)k / (double)n), -sin(2 * M_PI * (double)k / (double)n)};
    for (int64_t i = 0; i < PLANES * n; i++)
        x[i] = (double2){uniform(3, (uint64_t)i), uniform(4, (uint64_t)i)};
    double2 *const roots_gpu = copied(roots, (size_t)n * sizeof *roots);
    double2 *const values = copied(x, PLANES * (size_t)n * sizeof *x);
    const unsigned long long none = 0;
    unsigned long long *const raised = copied(&none, sizeof none);
    const struct lw_sfft_device_range range = {
        .n_planes = PLANES, .end_stage = 1, .n_shifts = PLANES, .n_buckets = n, .roots = roots_gpu,
        .has_clusters = has_clusters,
    };
    CHECK(lw_sfft_transform(&range, values, raised, NULL) == cudaSuccess, "transform of %" PRId64 " points", n);
    copy(X, values, PLANES * (size_t)n * sizeof *X, cudaMemcpyDeviceToHost);
    for (int p = 0; p < PLANES; p++)
        for (int64_t bin = 0; bin < BINS; bin++) {
            const int64_t k = bin < BINS / 2 ? bin : lw_random_below(6, (uint64_t)bin, n);
            double complex sum = 0;
            for (int64_t i = 0; i < n; i++)
                sum += CMPLX(x[p * n + i].x, x[p * n + i].y) * CMPLX(roots[i * k % n].x, roots[i * k % n].y);
            const double2 got = X[p * n + k];
            CHECK(cabs(CMPLX(got.x, got.y) - sum) < 1e-15 * log2((double)n) * sqrt((double)n) * 4, "%" PRId64 " points, plane %d, "
                  "bin %" PRId64 ": %g %g, not %g %g", n, p, k, got.x, got.y, creal(sum), cimag(sum));
        }
    for (int64_t i = 0; i < PLANES * n; i++)
        largest = fmax(largest, fmax(fabs(X[i].x), fabs(X[i].y)));
    double found;
    copy(&found, raised, sizeof found, cudaMemcpyDeviceToHost);
    CHECK(found == largest, "largest of %" PRId64 " points: %g, not %g", n, found, largest);
    copy(raised, &none, sizeof none, cudaMemcpyHostToDevice);
    CHECK(lw_sfft_largest(&range, values, raised, NULL) == cudaSuccess, "the search for the largest fails");
    copy(&found, raised, sizeof found, cudaMemcpyDeviceToHost);
    CHECK(found == largest, "largest of %" PRId64 " points, afterwards: %g, not %g", n, found, largest);
    cudaFree(roots_gpu);
    cudaFree(values);
    cudaFree(raised);
    lw_free(roots);
    lw_free(x);
    lw_free(X);
}

/* ---- recovery ---------------------------------------------------------------------------------------------------------- */

/* Bucket b, by definition, of a stage with one shift, for a signal of lines and noise. */
static double complex bucket(const struct lw_sfft_stage *stage, const double complex *x, int64_t b)
{
    const int64_t half = stage->window->half, n_buckets = stage->spec.n_buckets;
    double complex sum = 0;
    for (int64_t i = -half; i <= half; i++)
        sum += stage->window->taps[i + half] * x[lw_sfft_stage_sample(stage, 0, i + half)] *
               cexp(-2 * M_PI * I * (double)(lw_mod(i, n_buckets) * b % n_buckets) / (double)n_buckets);
    return sum;
}

/* The check stage that recovery reports equals the check stage of the signal minus the found lines. */
static void check_check_stage(const struct lw_sfft_solver *solver, const double complex *x, const struct lw_sfft_result *result)
{
    const struct lw_sfft_stage *const check = &solver->layout->stages[lw_sfft_first_stage(solver->layout, 1) - 1];
    const struct lw_sfft_device_result *const details = lw_cuda_sfft_details(solver);
    const int64_t n = check->spec.n;
    double complex *const rest = on_host(n, sizeof *rest);
    for (int64_t t = 0; t < n; t++) {
        rest[t] = x[t];
        for (int64_t i = 0; i < result->n_lines; i++)
            rest[t] -= CMPLX(result->lines[i].re, result->lines[i].im) / (double)n *
                       cexp(2 * M_PI * I * (double)(t * result->lines[i].frequency % n) / (double)n);
    }
    double all = 0, most = 0, power = 0;
    for (int64_t b = 0; b < check->spec.n_buckets; b++) {
        const double energy = pow(cabs(bucket(check, rest, b)), 2);
        all += energy;
        most = fmax(most, energy);
        power += pow(cabs(bucket(check, x, b)), 2);
    }
    power /= (double)check->spec.n_buckets * check->window->energy;
    CHECK(fabs(details->figures.check_energy / all - 1) < 1e-5, "energy %g, not %g", details->figures.check_energy, all);
    CHECK(fabs(details->figures.check_most / most - 1) < 1e-4, "largest %g, not %g", details->figures.check_most, most);
    CHECK(fabs(details->figures.power / power - 1) < 1e-9, "power %g, not %g", details->figures.power, power);
    lw_free(rest);
}

/* Recover six lines of unequal size in noise of known variance, in units far from 1. The signal is on the device. */
static void check_recovery(const struct lw_engine *engine, double unit)
{
    enum { N = 20011, K = 6 };
    static const int64_t frequency[K] = {0, 17, 18, 5000, 12345, 20010};
    const double sigma = 0.05;
    struct lw_error err;
    double complex *const x = on_host(N, sizeof *x);
    for (int64_t t = 0; t < N; t++) {
        for (int i = 0; i < K; i++)
            x[t] += unit * (1 + 0.5 * i) * cexp(2 * M_PI * I * ((double)(t * frequency[i] % N) / N + 0.1 * i));
        x[t] += unit * sigma * sqrt(1.5) * CMPLX(uniform(8, (uint64_t)t), uniform(9, (uint64_t)t));
    }
    const struct lw_sfft_spec spec = {.n = N, .sparsity = K, .precision = LW_DOUBLE, .seed = 2};
    const struct lw_sfft_plan plan = lw_sfft_plan_make(&spec);
    struct lw_sfft_layout *layout = NULL;
    struct lw_sfft_solver *solver = NULL;
    CHECK(lw_sfft_layout_create(&plan, &layout, &err) == LW_OK &&
              engine->ops->sparse->create((struct lw_engine *)(uintptr_t)engine, layout, &solver, &err) == LW_OK,
          "%s", err.message);
    const struct lw_sfft_device_signal signal = {{LW_FLOAT64, true, false}, copied(x, N * sizeof *x)};
    struct lw_sfft_result result;
    CHECK(lw_cuda_sfft_enqueue(solver, 0, &signal, NULL, &err) == LW_OK &&
              lw_cuda_sfft_fetch(solver, 0, NULL, &result, &err) == LW_OK, "%s", err.message);
    CHECK(result.n_lines == K && result.is_explained, "%" PRId64 " lines, residual %g", result.n_lines, result.residual);
    for (int i = 0; i < K && i < result.n_lines; i++) {
        const double complex a = CMPLX(result.lines[i].re, result.lines[i].im) / (N * unit);
        const double complex expected = (1 + 0.5 * i) * cexp(0.2 * M_PI * I * i);
        CHECK(result.lines[i].frequency == frequency[i] && cabs(a - expected) < 5 * sigma / sqrt(300), "line %d: %" PRId64
              ", %g %g", i, result.lines[i].frequency, creal(a), cimag(a));
    }
    CHECK(fabs(result.noise_power / (sigma * sigma * unit * unit) - 1) < 0.5, "noise %g", result.noise_power);
    check_check_stage(solver, x, &result);
    cudaFree((void *)(uintptr_t)signal.samples);
    lw_sfft_solver_destroy(solver);
    lw_sfft_layout_destroy(layout);
    lw_free(x);
}

int main(void)
{
    const int missing = gpu_missing("gpu_sfft");
    if (missing)
        return missing;
    struct lw_engine *const engine = gpu_engine();
    check_fold(30000, 3);
    check_fold(65537, 40);
    check_fold(1 << 18, 200);
    int major = 0;
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
    for (int64_t n = 64; n <= 8192; n *= 2)
        for (int has_clusters = 0; has_clusters <= (major >= 9); has_clusters++) {
            check_transform(n, has_clusters);
            check_transform(n / 2 * 3, has_clusters);
        }
    CHECK(!lw_sfft_transform_fits(80, SHARED_BYTES) && !lw_sfft_transform_fits(16384, SHARED_BYTES),
          "lengths without a transform are accepted");
    check_recovery(engine, 1);
    check_recovery(engine, 1e-21);
    check_recovery(engine, 1e+30);
    lw_engine_destroy(engine);
    return check_result("gpu_sfft");
}
