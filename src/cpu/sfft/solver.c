#include "cpu/sfft/solver.h"

#include "base/memory.h"
#include "cpu/sfft/buckets.h"

struct solver_cpu {
    struct lw_sfft_solver base;
    struct lw_sfft *sfft;
    struct lw_cpu_sfft *cpu;
};

static int load(struct lw_sfft_solver *solver, int stage, const double *samples, struct lw_error *err)
{
    (void)err;
    lw_cpu_sfft_load(((struct solver_cpu *)solver)->cpu, stage, samples);
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
    lw_cpu_sfft_destroy(cpu->cpu);
    lw_sfft_destroy(cpu->sfft);
    lw_free(cpu);
}

static const struct lw_sfft_solver_ops ops = {.load = load, .recover = recover, .destroy = destroy};

static struct lw_bytes bytes(const struct lw_engine *engine, const struct lw_sfft_plan *plan)
{
    (void)engine;
    return (struct lw_bytes){.host = lw_sfft_bytes(plan) + lw_cpu_sfft_bytes(plan)};
}

static int create(struct lw_engine *engine, const struct lw_sfft_layout *layout, struct lw_sfft_solver **out,
                  struct lw_error *err)
{
    struct solver_cpu *const cpu = lw_alloc(sizeof *cpu, "a sparse transform", err);
    if (!cpu)
        return LW_ESYSTEM;
    cpu->base = (struct lw_sfft_solver){&ops, layout};
    int rc;
    if ((rc = lw_sfft_create(layout, engine->n_workers, &cpu->sfft, err)) ||
        (rc = lw_cpu_sfft_create(cpu->sfft, layout, engine->n_workers, false, &cpu->cpu, err))) {
        destroy(&cpu->base);
        return rc;
    }
    *out = &cpu->base;
    return LW_OK;
}

const struct lw_sparse_ops lw_cpu_sparse_ops = {.bytes = bytes, .create = create};
