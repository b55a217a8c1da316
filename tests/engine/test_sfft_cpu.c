/* test_sfft_cpu.c - test that the CPU's sparse transform gives the same bits for any number of threads. The suite sfft.c holds
 * all other tests. */
#include "base/memory.h"
#include "cpu/sfft/solver.h"
#include "sfft/number.h"

#include "../check.h"

#include <complex.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double uniform(uint64_t seed, uint64_t counter) { return (double)(lw_random_bits(seed, counter) >> 11) * 0x1p-53; }

static double normal(uint64_t seed, uint64_t counter)
{
    return sqrt(-2 * log(uniform(seed, 2 * counter) + 0x1p-54)) * cos(2 * M_PI * uniform(seed, 2 * counter + 1));
}

static void load(struct lw_sfft_solver *solver, int s, const double complex *x)
{
    struct lw_error err;
    const struct lw_sfft_stage *const stage = &solver->layout->stages[s];
    const int64_t count = lw_sfft_stage_samples(stage), length = 2 * stage->window->half + 1;
    double complex *const samples = lw_alloc_array(count, sizeof *samples, "samples", &err);
    for (int64_t i = 0; i < count; i++)
        samples[i] = x[lw_sfft_stage_sample(stage, (int)(i / length), i % length)];
    solver->ops->load(solver, s, (const double *)samples, &err);
    lw_free(samples);
}

/* Recover 40 lines in noise with `n_threads` threads, and copy them to `lines`. */
static struct lw_sfft_result recover_by(int n_threads, const double complex *x, int64_t n, struct lw_sfft_line lines[40])
{
    struct lw_error err;
    const struct lw_sfft_spec spec = {.n = n, .sparsity = 40, .precision = LW_DOUBLE, .seed = 3};
    const struct lw_sfft_plan plan = lw_sfft_plan_make(&spec);
    struct lw_engine engine = {.n_workers = n_threads};
    struct lw_sfft_layout *layout = NULL;
    struct lw_sfft_solver *solver = NULL;
    CHECK(lw_sfft_layout_create(&plan, &layout, &err) == LW_OK &&
              lw_cpu_sparse_ops.create(&engine, layout, &solver, &err) == LW_OK, "%s", err.message);
    for (int s = 0; s < lw_sfft_first_stage(layout, 1); s++)
        load(solver, s, x);
    struct lw_sfft_result result;
    solver->ops->recover(solver, 0, &result, &err);
    memcpy(lines, result.lines, (size_t)result.n_lines * sizeof *lines);
    lw_sfft_solver_destroy(solver);
    lw_sfft_layout_destroy(layout);
    return result;
}

static void check_threads(void)
{
    enum { N = 300007 };
    struct lw_error err;
    double complex *const x = lw_alloc_array(N, sizeof *x, "a signal", &err);
    for (int t = 0; t < N; t++) {
        for (int k = 0; k < 40; k++)
            x[t] += cexp(2 * M_PI * I * (double)((int64_t)t * (k * k * 180 + 7) % N) / N);
        x[t] += 0.1 * CMPLX(normal(1, (uint64_t)t), normal(2, (uint64_t)t));
    }
    struct lw_sfft_line first[40], lines[40];
    const struct lw_sfft_result one = recover_by(1, x, N, first);
    CHECK(one.n_lines == 40, "%" PRId64 " lines", one.n_lines);
    for (int n_threads = 2; n_threads < 6; n_threads++) {
        const struct lw_sfft_result many = recover_by(n_threads, x, N, lines);
        CHECK(many.n_lines == one.n_lines && many.residual == one.residual &&
                  memcmp(lines, first, (size_t)one.n_lines * sizeof *lines) == 0, "%d threads give other bits", n_threads);
    }
    lw_free(x);
}

int main(void)
{
    check_threads();
    return check_result("sfft_cpu");
}
