#include "cpu/sfft/buckets.h"

#include "base/memory.h"
#include "sfft/dense.h"
#include "sfft/number.h"

#include <complex.h>
#include <fftw3.h>
#include <omp.h>
#include <string.h>

struct lw_cpu_sfft {
    struct lw_sfft *sfft;
    const struct lw_sfft_layout *layout;
    int n_threads;
    fftw_plan forward[LW_SFFT_ATTEMPTS];    /* of B complex numbers, in place */
    int64_t row;                            /* longest row of samples */
    double complex *rows;                   /* [n_threads][row], for gathering */
};

int64_t lw_cpu_sfft_bytes(const struct lw_sfft_plan *plan)
{
    int64_t bytes = (int64_t)sizeof(struct lw_cpu_sfft);
    for (int a = 0; a < plan->n_attempts; a++)
        bytes += lw_sfft_fftw_bytes(plan->attempts[a].n_buckets, false);
    return bytes;
}

int lw_cpu_sfft_create(struct lw_sfft *sfft, const struct lw_sfft_layout *layout, int n_threads, bool gathers,
                       struct lw_cpu_sfft **out, struct lw_error *err)
{
    struct lw_cpu_sfft *const cpu = lw_alloc(sizeof *cpu, "a sparse transform", err);
    if (!cpu)
        return LW_ESYSTEM;
    *cpu = (struct lw_cpu_sfft){.sfft = sfft, .layout = layout, .n_threads = n_threads};
    for (int a = 0; a < layout->plan.n_attempts; a++) {
        const struct lw_sfft_window *const window = layout->windows[a];
        const int64_t length = 2 * window->half + 1;
        fftw_complex *const plane = lw_sfft_planes(sfft, lw_sfft_first_stage(layout, a), 0);
        cpu->row = length > cpu->row ? length : cpu->row;
        cpu->forward[a] = fftw_plan_dft_1d((int)window->spec.n_buckets, plane, plane, FFTW_FORWARD, FFTW_ESTIMATE);
    }
    cpu->rows = lw_alloc_array(gathers ? n_threads * cpu->row : 0, sizeof *cpu->rows, "samples", err);
    if (!cpu->rows) {
        lw_cpu_sfft_destroy(cpu);
        return LW_ESYSTEM;
    }
    *out = cpu;
    return LW_OK;
}

void lw_cpu_sfft_destroy(struct lw_cpu_sfft *cpu)
{
    if (!cpu)
        return;
    for (int a = 0; a < cpu->layout->plan.n_attempts; a++)
        fftw_destroy_plan(cpu->forward[a]);
    lw_free(cpu->rows);
    lw_free(cpu);
}

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

static void finish_row(struct lw_cpu_sfft *cpu, int stage, int d, const double complex *x)
{
    double complex *const plane = lw_sfft_planes(cpu->sfft, stage, d);
    fold(&cpu->layout->stages[stage], x, plane);
    fftw_execute_dft(cpu->forward[lw_sfft_attempt_of(cpu->layout, stage)], plane, plane);
}

void lw_cpu_sfft_load(struct lw_cpu_sfft *cpu, int s, const double *samples)
{
    const struct lw_sfft_stage *const stage = &cpu->layout->stages[s];
    const int64_t length = 2 * stage->window->half + 1;
    #pragma omp parallel for num_threads(cpu->n_threads) schedule(static)
    for (int d = 0; d < stage->spec.n_shifts; d++)
        finish_row(cpu, s, d, (const double complex *)samples + d * length);
}

/* ---- samples as stored ---------------------------------------------------------------------------------------------- */

/* The samples of a row lie far apart in memory: each is prefetched some time before it is used. */
static void gather_row(const struct lw_sfft_stage *stage, int d, const struct lw_sfft_signal *signal, double complex *x)
{
    enum { AHEAD = 24 };
    const int64_t n = stage->spec.n, length = 2 * stage->window->half + 1;
    const int64_t bytes = signal->stride * (int64_t)lw_type_bytes(signal->type);
    const char *const from = signal->samples;
    int64_t at = lw_sfft_stage_sample(stage, d, 0), ahead = lw_sfft_stage_sample(stage, d, AHEAD);
    for (int64_t i = 0; i < length; i++) {
        __builtin_prefetch(from + ahead * bytes);
        lw_sfft_sample(signal, at, (double *)&x[i]);
        at = lw_mod_add(at, stage->sigma, n);
        ahead = lw_mod_add(ahead, stage->sigma, n);
    }
}

void lw_cpu_sfft_gather(struct lw_cpu_sfft *cpu, int s, const struct lw_sfft_signal *signal)
{
    const struct lw_sfft_stage *const stage = &cpu->layout->stages[s];
    #pragma omp parallel num_threads(cpu->n_threads)
    {
        double complex *const x = cpu->rows + omp_get_thread_num() * cpu->row;
        #pragma omp for schedule(static)
        for (int d = 0; d < stage->spec.n_shifts; d++) {
            gather_row(stage, d, signal, x);
            finish_row(cpu, s, d, x);
        }
    }
}
