#include "cpu/sfft/published/solver.h"

#include "base/log.h"
#include "base/memory.h"
#include "cpu/sfft/published/bins.h"
#include "sfft/number.h"
#include "sfft/published/cutoff.h"
#include "sfft/published/lines.h"
#include "sfft/published/vote.h"

#include <complex.h>
#include <fftw3.h>
#include <string.h>

struct solver {
    struct lw_published_solver base;
    int n_threads, n_loops;                         /* the loop that checks not counted */
    double complex *planes[LW_PUBLISHED_LOOPS];     /* [B] each; the first owns the memory of all */
    fftw_plan transform;                            /* of a plane, in place */

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

/* ---- create -------------------------------------------------------------------------------------------------------- */

/* Residues that all combs together may approve. */
static int64_t most_residues(const struct lw_published_plan *plan)
{
    const int64_t all = plan->n_residues * plan->choice.comb_loops;
    return all < plan->choice.comb ? all : plan->choice.comb;
}

static int create_comb(struct solver *cpu, struct lw_error *err)
{
    const int64_t size = plan_of(cpu)->choice.comb, residues = most_residues(plan_of(cpu));
    cpu->comb.size = size;
    if (size == 0)
        return LW_OK;
    if (!(cpu->teeth = lw_alloc_array(size, sizeof *cpu->teeth, "a comb", err)) ||
        !(cpu->tooth_energies = lw_alloc_array(size, sizeof *cpu->tooth_energies, "a comb", err)) ||
        !(cpu->is_approved = lw_alloc_array(size, sizeof *cpu->is_approved, "a comb", err)) ||
        !(cpu->tooth_places = lw_alloc_array(plan_of(cpu)->n_residues, sizeof *cpu->tooth_places, "a comb", err)) ||
        !(cpu->comb.approved = lw_alloc_array(residues, sizeof *cpu->comb.approved, "a comb", err)) ||
        !(cpu->comb.permuted = lw_alloc_array(residues, sizeof *cpu->comb.permuted, "a comb", err)))
        return LW_ESYSTEM;
    cpu->comb_transform = fftw_plan_dft_1d((int)size, cpu->teeth, cpu->teeth, FFTW_FORWARD, FFTW_ESTIMATE);
    return cpu->comb_transform ? LW_OK : lw_fail(err, LW_ESYSTEM, "FFTW cannot plan the transform of a comb");
}

static int create_ballot(struct solver *cpu, struct lw_error *err)
{
    const struct lw_published_plan *const plan = plan_of(cpu);
    struct lw_published_ballot *const ballot = &cpu->ballot;
    *ballot = (struct lw_published_ballot){
        .n_frequencies = lw_sfft_n_frequencies(&plan->spec), .needed = plan->choice.votes, .capacity = plan->capacity,
        .n_threads = cpu->n_threads,
    };
    if (!(ballot->votes = lw_alloc((size_t)ballot->n_frequencies, "votes", err)) ||
        !(ballot->elected = lw_alloc_array(plan->capacity, sizeof *ballot->elected, "candidates", err)) ||
        !(ballot->counts = lw_alloc_array(plan->n_selected, sizeof *ballot->counts, "candidates", err)) ||
        !(cpu->lines = lw_alloc_array(plan->capacity, sizeof *cpu->lines, "lines", err)))
        return LW_ESYSTEM;
    return LW_OK;
}

static int create_loops(struct solver *cpu, struct lw_error *err)
{
    const struct lw_published_plan *const plan = plan_of(cpu);
    const int64_t n_buckets = plan->choice.n_buckets, locating = plan->choice.location_loops;
    if (!(cpu->planes[0] = lw_alloc_array((cpu->n_loops + 1) * n_buckets, sizeof *cpu->planes[0], "buckets", err)) ||
        !(cpu->energies = lw_alloc_array(locating * n_buckets, sizeof *cpu->energies, "buckets", err)) ||
        !(cpu->places = lw_alloc_array(locating * plan->n_selected, sizeof *cpu->places, "buckets", err)))
        return LW_ESYSTEM;
    for (int l = 0; l <= cpu->n_loops; l++)
        cpu->planes[l] = cpu->planes[0] + l * n_buckets;
    cpu->transform = fftw_plan_dft_1d((int)n_buckets, cpu->planes[0], cpu->planes[0], FFTW_FORWARD,
                                      FFTW_ESTIMATE | FFTW_UNALIGNED);
    return cpu->transform ? LW_OK : lw_fail(err, LW_ESYSTEM, "FFTW cannot plan the transform of the buckets");
}

static void destroy(struct lw_published_solver *base)
{
    struct solver *const cpu = (struct solver *)base;
    fftw_destroy_plan(cpu->transform);
    fftw_destroy_plan(cpu->comb_transform);
    lw_free(cpu->planes[0]);
    lw_free(cpu->energies);
    lw_free(cpu->places);
    lw_free(cpu->ballot.votes);
    lw_free(cpu->ballot.elected);
    lw_free(cpu->ballot.counts);
    lw_free(cpu->lines);
    lw_free(cpu->teeth);
    lw_free(cpu->tooth_energies);
    lw_free(cpu->is_approved);
    lw_free(cpu->tooth_places);
    lw_free(cpu->comb.approved);
    lw_free(cpu->comb.permuted);
    lw_free(cpu);
}

static struct lw_bytes bytes(const struct lw_engine *engine, const struct lw_published_plan *plan)
{
    (void)engine;
    const struct solver *const c = NULL;
    const int64_t buckets = plan->choice.n_buckets, locating = plan->choice.location_loops, comb = plan->choice.comb;
    const int64_t host = (int64_t)sizeof *c + (lw_published_count_loops(plan) + 1) * buckets * (int64_t)sizeof *c->planes[0] +
           locating * buckets * (int64_t)sizeof *c->energies +
           (2 * locating + 1) * plan->n_selected * (int64_t)sizeof *c->places + lw_sfft_n_frequencies(&plan->spec) +
           plan->capacity * (int64_t)(2 * sizeof *c->lines + sizeof *c->ballot.elected) +
           comb * (int64_t)(sizeof *c->teeth + sizeof *c->tooth_energies + sizeof *c->is_approved + 4 * sizeof *c->places) +
           lw_sfft_fftw_bytes(buckets, false) + (comb > 0 ? lw_sfft_fftw_bytes(comb, false) : 0);
    return (struct lw_bytes){.host = host};
}

/* ---- steps --------------------------------------------------------------------------------------------------------- */

static double lap(double *start)
{
    const double now = lw_now(), elapsed = now - *start;
    *start = now;
    return elapsed;
}

/* Take every (n / size)-th sample from a random one on. Each bin of their transform is the sum of the lines of one residue. */
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
    const int64_t count = lw_published_cut(cpu->tooth_energies, size, plan_of(cpu)->n_residues,
                                           cpu->tooth_places);
    for (int64_t i = 0; i < count; i++)
        cpu->is_approved[cpu->tooth_places[i]] = true;
}

/* A residue is approved if any comb shows it: in a single comb two of its lines may cancel each other. */
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
        .loops = cpu->base.layout->loops, .n_loops = cpu->n_loops + 1, .planes = cpu->planes,
        .n_threads = cpu->n_threads,
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

/* ---- all together -------------------------------------------------------------------------------------------------- */

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
    int rc;
    if ((rc = create_loops(cpu, err)) || (rc = create_ballot(cpu, err)) || (rc = create_comb(cpu, err))) {
        destroy(&cpu->base);
        return rc;
    }
    *out = &cpu->base;
    return LW_OK;
}

const struct lw_published_ops lw_cpu_published_ops = {.bytes = bytes, .create = create};
