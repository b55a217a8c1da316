#include "design/transform.h"

#include "base/integers.h"
#include "base/memory.h"

#include <fftw3.h>
#include <inttypes.h>
#include <pthread.h>

struct lw_transform {
    enum lw_transform_kind kind;
    fftw_plan plan;
};

/* FFTW's planner serves one thread at a time. */
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

int64_t lw_transform_doubles(enum lw_transform_kind kind, int64_t n)
{
    const int64_t doubles = kind == LW_TRANSFORM_REAL || kind == LW_TRANSFORM_TO_REAL ? 2 * (n / 2 + 1) : 2 * n;
    return lw_round_up(doubles, LW_ALIGNMENT / (int64_t)sizeof(double));
}

/* FFTW_ESTIMATE makes the same plan in every run, as it measures no times. An in-place plan fits any memory that is aligned. */
static fftw_plan plan(enum lw_transform_kind kind, int64_t n, double *data)
{
    const fftw_iodim64 dims = {.n = n, .is = 1, .os = 1};
    fftw_complex *const numbers = (fftw_complex *)data;
    if (kind == LW_TRANSFORM_REAL)
        return fftw_plan_guru64_dft_r2c(1, &dims, 0, NULL, data, numbers, FFTW_ESTIMATE);
    if (kind == LW_TRANSFORM_TO_REAL)
        return fftw_plan_guru64_dft_c2r(1, &dims, 0, NULL, numbers, data, FFTW_ESTIMATE);
    return fftw_plan_guru64_dft(1, &dims, 0, NULL, numbers, numbers, kind == LW_TRANSFORM_FORWARD ? FFTW_FORWARD : FFTW_BACKWARD,
                                FFTW_ESTIMATE);
}

int lw_transform_create(enum lw_transform_kind kind, int64_t n, struct lw_transform **out, struct lw_error *err)
{
    struct lw_transform *const transform = *out = lw_alloc(sizeof *transform, "a transform", err);
    LW_FREED double *const data = lw_alloc_array(lw_transform_doubles(kind, n), sizeof *data, "a transform", err);
    if (!transform || !data)
        return LW_ESYSTEM;
    pthread_mutex_lock(&planner);
    *transform = (struct lw_transform){.kind = kind, .plan = plan(kind, n, data)};
    pthread_mutex_unlock(&planner);
    return transform->plan ? LW_OK : lw_fail(err, LW_ESYSTEM, "FFTW cannot plan a transform of %" PRId64 " samples", n);
}

void lw_transform_destroy(struct lw_transform *transform)
{
    pthread_mutex_lock(&planner);
    if (transform && transform->plan)
        fftw_destroy_plan(transform->plan);
    pthread_mutex_unlock(&planner);
    lw_free(transform);
}

void lw_transform_run(const struct lw_transform *transform, double *data)
{
    fftw_complex *const numbers = (fftw_complex *)data;
    if (transform->kind == LW_TRANSFORM_REAL)
        fftw_execute_dft_r2c(transform->plan, data, numbers);
    else if (transform->kind == LW_TRANSFORM_TO_REAL)
        fftw_execute_dft_c2r(transform->plan, numbers, data);
    else
        fftw_execute_dft(transform->plan, numbers, numbers);
}
