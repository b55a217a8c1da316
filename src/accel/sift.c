#include "accel/sift.h"

#include "accel/normalize.h"
#include "base/integers.h"
#include "base/memory.h"
#include "design/drift.h"
#include "signal/significance.h"

#include <math.h>
#include <stdlib.h>

/* Things at frequencies, in lists by cells of frequency; the last one has all above. */
struct cells {
    int64_t *heads, *next;      /* [n + 1] and [things]: indices of things, -1 ends a list */
    int64_t n;
    double width;
};

static int cells_create(int64_t n, int64_t n_things, double width, struct cells *cells, struct lw_error *err)
{
    *cells = (struct cells){.n = n, .width = width, .heads = lw_alloc_array(n + 1, sizeof *cells->heads, "sifting", err),
                            .next = lw_alloc_array(n_things, sizeof *cells->next, "sifting", err)};
    for (int64_t i = 0; cells->heads && i <= n; i++)
        cells->heads[i] = -1;
    return cells->heads && cells->next ? LW_OK : LW_ESYSTEM;
}

static void cells_destroy(struct cells *cells)
{
    lw_free(cells->heads);
    lw_free(cells->next);
}

static int64_t cell_of(const struct cells *cells, double r) { return (int64_t)fmin(fmax(r / cells->width, 0), (double)cells->n); }

static void cells_add(struct cells *cells, double r, int64_t thing)
{
    int64_t *const head = &cells->heads[cell_of(cells, r)];
    cells->next[thing] = *head;
    *head = thing;
}

/* ---- hits that stronger ones explain ----------------------------------------------------------------------------------------- */

/* A hit with the frequency and drift of its fundamental. */
struct signal {
    struct lw_accel_hit hit;
    double strength, r, z, w;
};

static int compare_signals(const void *a, const void *b)
{
    const struct signal *const x = a, *const y = b;
    if (x->strength != y->strength)
        return x->strength > y->strength ? -1 : 1;
    if (x->hit.stage != y->hit.stage)
        return x->hit.stage < y->hit.stage ? -1 : 1;
    return lw_compare64(x->hit.r, y->hit.r);
}

static struct signal signal_of(const struct lw_accel_plan *plan, const float *variances, const struct lw_accel_hit *hit)
{
    const int H = 1 << hit->stage;
    const double r = (double)hit->r / (LW_ACCEL_STEPS * H), variance = lw_accel_variance(plan->n_blocks, variances, r, H, NULL);
    return (struct signal){.hit = *hit, .r = r, .strength = -lw_sum_log_tail(H, hit->sum, variance) - log(plan->trials[hit->stage]),
                           .z = lw_accel_z(plan, hit->z) / H,
                           .w = lw_accel_w(plan, hit->w) / H};
}

/* A bound of |A(q; z, w)|^2, to a fifth: outside the frequencies that the drift passes, that of two ends without a stationary
 * phase; inside, that of a chirp between two edges, or of a frequency that turns (the largest value of Airy's function). */
static double overlap(double q, double z, double w)
{
    const double outside = fabs(q) - lw_drift_excursion(z, w), drift = fabs(z) - fabs(w) / 2;
    double bound = w == 0 ? 1 : fmin(1, 5.3 / pow(fabs(w), 2. / 3));
    if (drift > 0)
        bound = fmin(bound, 1.8 / drift);
    return outside > 0 ? fmin(bound, 1 / (M_PI * M_PI * outside * outside)) : bound;
}

#define LEAK_OF_SUM 1.2         /* a signal's power beside its sum on the grid */
#define NOISE_AMPLITUDE 2.0     /* what noise adds to the amplitude of a leak, at most */

/* The largest sum of H powers of which a signal leaks `leak`: noise adds to the amplitude of the leak, and its own powers, whose
 * mean is 1, at two standard deviations. */
static double explained_sum(double leak, int H) { return pow(sqrt(leak) + NOISE_AMPLITUDE, 2) + H + 2 * sqrt(H) - 3; }

static bool explains(const struct signal *strong, const struct signal *weak)
{
    const double part = overlap(weak->r - strong->r, weak->z - strong->z, weak->w - strong->w);
    return part > 0.5 || weak->hit.sum <= explained_sum(LEAK_OF_SUM * strong->hit.sum * part, 1 << weak->hit.stage);
}

/* Return the bins beyond which no hit explains another: both drifts, and the distance at which the largest sum leaks too little. */
static double largest_reach(const struct lw_accel_plan *plan, const struct lw_accel_hit *hits, int64_t n)
{
    double largest = 1, least_leak = INFINITY;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, hits[i].sum);
    for (int stage = 0; stage < plan->spec.n_stages; stage++) {
        const double amplitude = sqrt(fmax(plan->least[stage] - explained_sum(0, 1 << stage), 0)
                                      + NOISE_AMPLITUDE * NOISE_AMPLITUDE) - NOISE_AMPLITUDE;
        least_leak = fmin(least_leak, fmax(amplitude * amplitude, 0.5));
    }
    const double drifts = 2 * lw_drift_excursion(lw_accel_z(plan, 0), lw_accel_w(plan, 0));
    return drifts + sqrt(LEAK_OF_SUM * largest / least_leak) / M_PI;
}

static bool is_explained(const struct cells *cells, const struct signal *signals, const struct signal *weak)
{
    const int64_t cell = cell_of(cells, weak->r);
    for (int64_t c = lw_max64(cell - 1, 0); c <= lw_min64(cell + 1, cells->n); c++)
        for (int64_t i = cells->heads[c]; i >= 0; i = cells->next[i])
            if (explains(&signals[i], weak))
                return true;
    return false;
}

int lw_accel_thin(const struct lw_accel_plan *plan, const float *variances, struct lw_accel_hit *hits, int64_t *n,
                  struct lw_error *err)
{
    const double reach = largest_reach(plan, hits, *n);
    struct cells cells;
    LW_FREED struct signal *const signals = lw_alloc_array(*n, sizeof *signals, "sifting", err);
    int rc = cells_create((int64_t)((double)plan->n_bins / reach), *n, reach, &cells, err);
    rc = signals ? rc : LW_ESYSTEM;
    if (!rc) {
        for (int64_t i = 0; i < *n; i++)
            signals[i] = signal_of(plan, variances, &hits[i]);
        qsort(signals, (size_t)*n, sizeof *signals, compare_signals);
        int64_t kept = 0;
        for (int64_t i = 0; i < *n; i++)
            if (!is_explained(&cells, signals, &signals[i])) {
                cells_add(&cells, signals[i].r, i);
                hits[kept++] = signals[i].hit;
            }
        *n = kept;
    }
    cells_destroy(&cells);
    return rc;
}

/* ---- relations between candidates -------------------------------------------------------------------------------------------- */

enum { MOST_RATIO = 16 };
#define CELL_WIDTH 4.0          /* bins */
#define MOST_DISTANCE 1.5       /* bins, times the ratio where it is above 1 */

/* Whether two parameters agree: within four standard deviations, and a step of the grid that the harmonics are on. */
static bool agree(double a, double a_error, double b, double b_error, double step, double most)
{
    return fabs(a - b) <= fmin(4 * sqrt(a_error * a_error + b_error * b_error) + step, most);
}

/* Whether a is n / d times b. The d-th harmonic of a is the n-th of b. Sums of a that have no such harmonic are related only by a
 * third signal, of which both are harmonics, and more often by chance: then b must be twice as significant. */
static bool is_related(const struct lw_accel_candidate *a, const struct lw_accel_candidate *b, int n, int d)
{
    const double ratio = (double)n / d, unit = fmax(1. / a->harmonics, ratio / b->harmonics), most = MOST_DISTANCE * fmax(ratio, 1);
    return agree(a->r, a->r_error, b->r * ratio, b->r_error * ratio, unit / LW_ACCEL_STEPS, most)
        && agree(a->z, a->z_error, b->z * ratio, b->z_error * ratio, LW_ACCEL_Z_STEP * unit, INFINITY)
        && agree(a->w, a->w_error, b->w * ratio, b->w_error * ratio, LW_ACCEL_W_STEP * unit, INFINITY)
        && (d <= a->harmonics || b->sigma >= 2 * a->sigma);
}

/* Look for candidates that are related to none and stronger than `which`, and of which it is n / d times. */
static void look_for(const struct lw_accel_candidate *candidates, int64_t which, int n, int d, const struct cells *cells,
                     struct lw_accel_relation *relation)
{
    const double r = candidates[which].r * d / n, most = MOST_DISTANCE * fmax(1, (double)d / n);
    for (int64_t c = cell_of(cells, r - most); c <= cell_of(cells, r + most); c++)
        for (int64_t i = cells->heads[c]; i >= 0; i = cells->next[i])
            if ((relation->to < 0 || i < relation->to) && is_related(&candidates[which], &candidates[i], n, d))
                *relation = (struct lw_accel_relation){.to = i, .numerator = n, .denominator = d};
}

int lw_accel_relate(const struct lw_accel_candidate *candidates, int64_t n, struct lw_accel_relation *relations,
                    struct lw_error *err)
{
    struct cells cells;
    const int rc = cells_create(lw_min64(4 * n, LW_ACCEL_MOST_SAMPLES / (int64_t)CELL_WIDTH), n, CELL_WIDTH, &cells, err);
    for (int64_t i = 0; !rc && i < n; i++) {
        relations[i] = (struct lw_accel_relation){.to = -1};
        for (int d = 1; d <= MOST_RATIO; d++)
            for (int k = 1; k <= MOST_RATIO; k++)
                if (lw_common_divisor(k, d) == 1)
                    look_for(candidates, i, k, d, &cells, &relations[i]);
        if (relations[i].to < 0)
            cells_add(&cells, candidates[i].r, i);
    }
    cells_destroy(&cells);
    return rc;
}
