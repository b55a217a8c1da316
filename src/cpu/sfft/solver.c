/* solver.c - the CPU engine's solver of the sparse transform: window, fold and FFTW turn samples into buckets, one thread per row;
 * then the recovery runs in its own threads. */
#include "cpu/sfft/solver.h"

#include "base/memory.h"
#include "sfft/number.h"

#include <complex.h>
#include <fftw3.h>

struct solver_cpu {
    struct lw_sfft_solver base;
    struct lw_sfft *sfft;
    int n_threads;
    fftw_plan forward[LW_SFFT_ATTEMPTS];    /* B complex numbers, in place */
};

/* plane[i mod B] += g[i] x[i], i = -h .. h */
static void fold(const struct lw_sfft_stage *stage, const double complex *x, double complex *plane)
{
    const int64_t n_buckets = stage->spec.n_buckets, length = 2 * stage->window->half + 1;
    const double *const taps = stage->window->taps;
    memset(plane, 0, (size_t)n_buckets * sizeof *plane);
    int64_t b = lw_mod(-stage->window->half, n_buckets);
    for (int64_t i = 0; i < length; ) {
        const int64_t end = i + n_buckets - b < length ? i + n_buckets - b : length;
        for (; i < end; i++, b++)
            plane[b] += taps[i] * x[i];
        b = 0;
    }
}

static int load(struct lw_sfft_solver *solver, int s, const double *samples, struct lw_error *err)
{
    (void)err;
    const struct solver_cpu *const cpu = (struct solver_cpu *)solver;
    const struct lw_sfft_stage *const stage = &solver->layout->stages[s];
    const fftw_plan forward = cpu->forward[lw_sfft_attempt_of(solver->layout, s)];
    const int64_t length = 2 * stage->window->half + 1;
    #pragma omp parallel for num_threads(cpu->n_threads) schedule(static)
    for (int d = 0; d < stage->spec.n_shifts; d++) {
        double complex *const plane = lw_sfft_planes(cpu->sfft, s, d);
        fold(stage, (const double complex *)samples + d * length, plane);
        fftw_execute_dft(forward, plane, plane);
    }
    return LW_OK;
}

static int recover(struct lw_sfft_solver *solver, int attempt, struct lw_sfft_result *result, struct lw_error *err)
{
    (void)err;
    lw_sfft_recover(((struct solver_cpu *)solver)->sfft, attempt, result);
    return LW_OK;
}

static void destroy(struct lw_sfft_solver *solver)
{
    struct solver_cpu *const cpu = (struct solver_cpu *)solver;
    for (int a = 0; a < LW_SFFT_ATTEMPTS; a++)
        fftw_destroy_plan(cpu->forward[a]);
    lw_sfft_destroy(cpu->sfft);
    lw_free(cpu);
}

static const struct lw_sfft_solver_ops ops = {.load = load, .recover = recover, .destroy = destroy};

static struct lw_bytes bytes(const struct lw_engine *engine, const struct lw_sfft_plan *plan)
{
    (void)engine;
    int64_t host = (int64_t)sizeof(struct solver_cpu) + lw_sfft_bytes(plan);
    for (int a = 0; a < plan->n_attempts; a++)
        host += lw_sfft_fftw_bytes(plan->attempts[a].n_buckets, false);
    return (struct lw_bytes){.host = host};
}

static int create(struct lw_engine *engine, const struct lw_sfft_layout *layout, struct lw_sfft_solver **out, struct lw_error *err)
{
    struct solver_cpu *const cpu = lw_alloc(sizeof *cpu, "a sparse transform", err);
    if (!cpu)
        return LW_ESYSTEM;
    cpu->base = (struct lw_sfft_solver){&ops, layout};
    cpu->n_threads = engine->n_workers;
    const int rc = lw_sfft_create(layout, engine->n_workers, &cpu->sfft, err);
    if (rc) {
        destroy(&cpu->base);
        return rc;
    }
    for (int a = 0; a < layout->plan.n_attempts; a++) {
        fftw_complex *const plane = lw_sfft_planes(cpu->sfft, lw_sfft_first_stage(layout, a), 0);
        cpu->forward[a] = fftw_plan_dft_1d((int)layout->plan.attempts[a].n_buckets, plane, plane, FFTW_FORWARD, FFTW_ESTIMATE);
    }
    *out = &cpu->base;
    return LW_OK;
}

const struct lw_sparse_ops lw_cpu_sparse_ops = {.bytes = bytes, .create = create, .pace = {0, 50e-9, 2.3}};
