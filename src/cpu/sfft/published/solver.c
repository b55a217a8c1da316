#include "cpu/sfft/published/solver.h"

#include "base/arena.h"
#include "base/log.h"
#include "base/memory.h"
#include "cpu/sfft/published/bins.h"
#include "sfft/number.h"
#include "sfft/published/steps.h"

#include <complex.h>
#include <fftw3.h>
#include <string.h>

struct solver {
    struct lw_published_solver base;
    int n_threads, n_loops;                         /* loops without the one that checks */
    void *memory;                                   /* one allocation for everything below except FFTW's plans */
    double complex *planes[LW_PUBLISHED_LOOPS];     /* [B] each, adjacent */
    fftw_plan transform;                            /* transform of a plane, in place */

    double *energies;                               /* [location loops][B] */
    int64_t *places;                                /* [location loops][M] */
    int64_t n_places[LW_PUBLISHED_LOOPS];
    struct lw_published_ballot ballot;
    struct lw_sfft_line *lines;                     /* [capacity] */

    struct lw_published_comb comb;
    double complex *teeth;                          /* [comb] */
    double *tooth_energies;                         /* [comb] */
    bool *is_approved;                              /* [comb] */
    int64_t *tooth_places;                          /* [residues approved by one comb] */
    fftw_plan comb_transform;
};

static const struct lw_published_plan *plan_of(const struct solver *cpu) { return &cpu->base.layout->plan; }

/* ---- memory -------------------------------------------------------------------------------------------------------- */

/* @return  bytes of all parts */
static int64_t lay_out(struct solver *cpu, const struct lw_published_plan *plan)
{
    struct lw_arena arena = {.base = cpu->memory};
    const int64_t n_buckets = plan->choice.n_buckets, locating = plan->choice.location_loops;
    struct lw_published_ballot *const ballot = &cpu->ballot;
    double complex *const planes = lw_arena_take(&arena, (cpu->n_loops + 1) * n_buckets * (int64_t)sizeof *planes);
    for (int l = 0; l <= cpu->n_loops && planes; l++)
        cpu->planes[l] = planes + l * n_buckets;
    cpu->energies = lw_arena_take(&arena, locating * n_buckets * (int64_t)sizeof *cpu->energies);
    cpu->places = lw_arena_take(&arena, locating * plan->n_selected * (int64_t)sizeof *cpu->places);
    ballot->n_frequencies = lw_sfft_n_frequencies(&plan->spec);
    ballot->needed = plan->choice.votes;
    ballot->capacity = plan->capacity;
    ballot->votes = lw_arena_take(&arena, ballot->n_frequencies);
    ballot->elected = lw_arena_take(&arena, plan->capacity * (int64_t)sizeof *ballot->elected);
    ballot->counts = lw_arena_take(&arena, plan->n_selected * (int64_t)sizeof *ballot->counts);
    cpu->lines = lw_arena_take(&arena, plan->capacity * (int64_t)sizeof *cpu->lines);
    const int64_t size = plan->choice.comb, of_all_combs = plan->n_residues * plan->choice.comb_loops;
    const int64_t residues = of_all_combs < size ? of_all_combs : size;
    if (size == 0)
        return arena.used;
    cpu->comb.size = size;
    cpu->teeth = lw_arena_take(&arena, size * (int64_t)sizeof *cpu->teeth);
    cpu->tooth_energies = lw_arena_take(&arena, size * (int64_t)sizeof *cpu->tooth_energies);
    cpu->is_approved = lw_arena_take(&arena, size * (int64_t)sizeof *cpu->is_approved);
    cpu->tooth_places = lw_arena_take(&arena, plan->n_residues * (int64_t)sizeof *cpu->tooth_places);
    cpu->comb.approved = lw_arena_take(&arena, residues * (int64_t)sizeof *cpu->comb.approved);
    cpu->comb.permuted = lw_arena_take(&arena, residues * (int64_t)sizeof *cpu->comb.permuted);
    return arena.used;
}

static void destroy(struct lw_published_solver *base)
{
    struct solver *const cpu = (struct solver *)base;
    fftw_destroy_plan(cpu->transform);
    fftw_destroy_plan(cpu->comb_transform);
    lw_free(cpu->memory);
    lw_free(cpu);
}

static struct lw_bytes bytes(const struct lw_engine *engine, const struct lw_published_plan *plan)
{
    (void)engine;
    struct solver counted = {.n_loops = lw_published_count_loops(plan)};
    const int64_t buckets = plan->choice.n_buckets, comb = plan->choice.comb;
    const int64_t sorting = plan->capacity * (int64_t)sizeof *counted.lines;        /* sorting takes a copy */
    return (struct lw_bytes){
        .host = (int64_t)sizeof counted + lay_out(&counted, plan) + sorting + lw_sfft_fftw_bytes(buckets, false) +
                (comb > 0 ? lw_sfft_fftw_bytes(comb, false) : 0),
    };
}

/* ---- steps --------------------------------------------------------------------------------------------------------- */

static double lap(double *start)
{
    const double now = lw_now(), elapsed = now - *start;
    *start = now;
    return elapsed;
}

/* Approve residues with one comb: every (n / size)-th sample from a random one on. A bin sums one residue's lines. */
static void approve(struct solver *cpu, const struct lw_published_signal *signal, int number)
{
    const int64_t n = plan_of(cpu)->spec.n, size = cpu->comb.size;
    int64_t at = lw_published_first_tooth(plan_of(cpu), cpu->base.layout->attempt, number);
    for (int64_t i = 0; i < size; i++) {
        cpu->teeth[i] = lw_cpu_published_sample(signal, at);
        at = lw_mod_add(at, n / size, n);
    }
    fftw_execute(cpu->comb_transform);
    for (int64_t r = 0; r < size; r++)
        cpu->tooth_energies[r] = creal(cpu->teeth[r]) * creal(cpu->teeth[r]) + cimag(cpu->teeth[r]) * cimag(cpu->teeth[r]);
    const int64_t count = lw_published_cut(cpu->tooth_energies, size, plan_of(cpu)->n_residues, cpu->tooth_places);
    for (int64_t i = 0; i < count; i++)
        cpu->is_approved[cpu->tooth_places[i]] = true;
}

/* A residue is approved if any comb shows it: in a single comb two of its lines may cancel. */
static void comb(struct solver *cpu, const struct lw_published_signal *signal)
{
    if (cpu->comb.size == 0)
        return;
    memset(cpu->is_approved, 0, (size_t)cpu->comb.size * sizeof *cpu->is_approved);
    for (int number = 0; number < plan_of(cpu)->choice.comb_loops; number++)
        approve(cpu, signal, number);
    cpu->comb.count = 0;
    for (int64_t r = 0; r < cpu->comb.size; r++)
        if (cpu->is_approved[r])
            cpu->comb.approved[cpu->comb.count++] = r;
}

static void bin(struct solver *cpu, const struct lw_published_signal *signal)
{
    const struct lw_published_bins bins = {
        .loops = cpu->base.layout->loops, .n_loops = cpu->n_loops + 1, .planes = cpu->planes, .n_threads = cpu->n_threads,
    };
    lw_cpu_published_bin(&bins, signal);
}

static void transform(struct solver *cpu)
{
    #pragma omp parallel for num_threads(cpu->n_threads) schedule(static)
    for (int l = 0; l <= cpu->n_loops; l++)
        fftw_execute_dft(cpu->transform, cpu->planes[l], cpu->planes[l]);
}

static struct lw_published_buckets buckets_of(const struct solver *cpu)
{
    return (struct lw_published_buckets){plan_of(cpu), cpu->base.layout->loops, cpu->planes, cpu->energies, cpu->n_threads};
}

static void cut(struct solver *cpu)
{
    const struct lw_published_buckets buckets = buckets_of(cpu);
    const int64_t n_buckets = plan_of(cpu)->choice.n_buckets, most = plan_of(cpu)->n_selected;
    #pragma omp parallel for num_threads(cpu->n_threads) schedule(static)
    for (int l = 0; l < plan_of(cpu)->choice.location_loops; l++) {
        double *const energies = cpu->energies + l * n_buckets;
        lw_published_energies(&buckets, l, energies);
        cpu->n_places[l] = lw_published_cut(energies, n_buckets, most, cpu->places + l * most);
    }
}

static void vote(struct solver *cpu)
{
    memset(cpu->ballot.votes, 0, (size_t)cpu->ballot.n_frequencies);
    cpu->ballot.n_elected = 0;
    for (int l = 0; l < plan_of(cpu)->choice.location_loops; l++)
        lw_published_vote(&cpu->ballot, &cpu->base.layout->loops[l], &cpu->comb, cpu->places + l * plan_of(cpu)->n_selected,
                          cpu->n_places[l]);
}

static int run(struct lw_published_solver *base, const struct lw_published_signal *signal, struct lw_sfft_result *result,
               struct lw_published_profile *profile, struct lw_error *err)
{
    (void)err;                  /* nothing can fail */
    struct solver *const cpu = (struct solver *)base;
    const struct lw_published_buckets buckets = buckets_of(cpu);
    const struct lw_published_ballot *const ballot = &cpu->ballot;
    double start = lw_now();
    comb(cpu, signal);
    profile->comb += lap(&start);
    bin(cpu, signal);
    profile->bin += lap(&start);
    transform(cpu);
    profile->transform += lap(&start);
    cut(cpu);
    profile->cutoff += lap(&start);
    vote(cpu);
    profile->vote += lap(&start);
    const bool is_sure = ballot->n_elected <= ballot->capacity;
    const int64_t count = lw_published_estimate(&buckets, ballot->elected, is_sure ? ballot->n_elected : 0, cpu->lines);
    profile->estimate += lap(&start);
    lw_published_check(&buckets, cpu->lines, count, is_sure, result);
    profile->check += lap(&start);
    return LW_OK;
}

/* ---- the solver ---------------------------------------------------------------------------------------------------- */

static const struct lw_published_solver_ops ops = {.run = run, .destroy = destroy};

static int create(struct lw_engine *engine, const struct lw_published_layout *layout, struct lw_published_solver **out,
                  struct lw_error *err)
{
    struct solver *const cpu = lw_alloc(sizeof *cpu, "a sparse transform", err);
    if (!cpu)
        return LW_ESYSTEM;
    cpu->base = (struct lw_published_solver){&ops, layout};
    cpu->n_threads = engine->n_workers;
    cpu->n_loops = layout->n_loops;
    cpu->ballot.n_threads = engine->n_workers;
    const int64_t n_buckets = layout->plan.choice.n_buckets, comb = layout->plan.choice.comb;
    int rc = LW_ESYSTEM;
    if ((cpu->memory = lw_alloc((size_t)lay_out(cpu, &layout->plan), "a sparse transform", err))) {
        lay_out(cpu, &layout->plan);
        cpu->transform = fftw_plan_dft_1d((int)n_buckets, cpu->planes[0], cpu->planes[0], FFTW_FORWARD,
                                          FFTW_ESTIMATE | FFTW_UNALIGNED);
        if (comb > 0)
            cpu->comb_transform = fftw_plan_dft_1d((int)comb, cpu->teeth, cpu->teeth, FFTW_FORWARD, FFTW_ESTIMATE);
        rc = cpu->transform && (comb == 0 || cpu->comb_transform)
                 ? LW_OK : lw_fail(err, LW_ESYSTEM, "FFTW cannot plan the transforms of the buckets");
    }
    if (rc)
        destroy(&cpu->base);
    else
        *out = &cpu->base;
    return rc;
}

const struct lw_published_ops lw_cpu_published_ops = {.bytes = bytes, .create = create, .pace = {0, 15e-9, 5}};
