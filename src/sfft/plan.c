/* plan.c - the stages, attempts and layout of a sparse transform, and the memory of the dense transform. */
#include "sfft/sfft.h"

#include "base/integers.h"
#include "base/memory.h"

/* Most lines per bucket of a stage, on average. Peeling with four or more shifts would even work with 1. */
static const double most_lines_per_bucket = 0.7;
enum { STAGES = 3, LEAST_BUCKETS = 64 };

/* Bits per shift and growth of the buckets for unknown noise: few samples at first, enough for 0 dB in the last attempt. */
static const double unknown_bits[LW_SFFT_ATTEMPTS] = {4, 2, 1};
static const int growth[LW_SFFT_ATTEMPTS] = {1, 2, 8};

/* Standard deviation of the noise in a bucket, relative to the amplitude there of each of n_lines equal lines. A window of B
 * buckets has an energy of about 0.91 / B, and in one of three stages a response of 0.8 or more. Another 25% keeps the lines,
 * with their own errors, clear of the detection limit. */
static double deviation(const struct lw_sfft_spec *spec, int64_t n_lines, double n_buckets)
{
    return sqrt(0.91 * (double)n_lines / n_buckets) * pow(10, -spec->snr_db / 20) * 1.25 / 0.8;
}

/* Bits that each shift adds to a location: as many as the phase of a single bucket yields at four standard deviations. A first
 * attempt that fails shows that lines are not equal. Further attempts use 1 bit, to reach the weakest line of a bucket. */
static double bits_per_shift(const struct lw_sfft_spec *spec, int64_t n_lines, int64_t n_buckets, int attempt)
{
    if (!spec->has_snr)
        return unknown_bits[attempt];
    const double bits = log2(M_PI / (4 * deviation(spec, n_lines, (double)n_buckets)));
    return attempt == 0 ? fmin(fmax(bits, 1), 4) : 1;
}

/* Return the least size 2^a or 3 2^a from `least` on; only 2^a if the signal is at hand. Up to a third more buckets then cost cheap
 * samples, but fewer rounds of peeling and passes of transforms. */
static int64_t even_size(const struct lw_sfft_spec *spec, double least)
{
    int64_t size = LEAST_BUCKETS;
    while ((double)size < least || (spec->is_at_hand && size % 3 == 0))
        size = size % 3 == 0 ? size / 3 * 4 : size / 2 * 3;     /* sizes alternate between 2^a and 3 2^a */
    return size;
}

static struct lw_sfft_attempt attempt_of(const struct lw_sfft_plan *plan, int64_t n_buckets, double bits)
{
    struct lw_sfft_attempt attempt = {.n_buckets = n_buckets, .n_stages = STAGES};
    attempt.n_shifts = lw_sfft_count_shifts(plan->spec.n, n_buckets, bits);
    struct lw_sfft_window_spec window = plan->window;
    window.n_buckets = n_buckets;
    attempt.samples = ((int64_t)attempt.n_stages * attempt.n_shifts + 1) * (2 * lw_sfft_window_half(&window) + 1);
    return attempt;
}

struct lw_sfft_plan lw_sfft_plan_make(const struct lw_sfft_spec *spec)
{
    struct lw_sfft_plan plan = {
        .spec = *spec,
        .window = {
            .tolerance = spec->precision == LW_DOUBLE ? 1e-7 : 1e-5,
            .reach = 1.5,           /* distance of a line from the nearest bucket that it is not subtracted from */
            .length = spec->precision == LW_DOUBLE ? 5 : 4,
        },
    };
    if (spec->sparsity > spec->n / 16)
        return plan;
    const int64_t n_lines = spec->is_real ? 2 * spec->sparsity : spec->sparsity;
    const double load = (double)n_lines / most_lines_per_bucket;
    /* number of buckets at which equal lines stand three standard deviations above the noise */
    const double least = spec->has_snr ? fmax(load, pow(3 * deviation(spec, n_lines, 1), 2)) : load;
    int64_t room = spec->n / 4;             /* samples that further attempts may read */
    for (int a = 0; a < LW_SFFT_ATTEMPTS; a++) {
        const int64_t n_buckets = even_size(spec, least) * growth[a];
        struct lw_sfft_attempt attempt = attempt_of(&plan, n_buckets, bits_per_shift(spec, n_lines, n_buckets, a));
        if (attempt.samples > room && a > 0)        /* more bits per shift: the fewer shifts may fit */
            attempt = attempt_of(&plan, n_buckets, unknown_bits[a]);
        room -= attempt.samples;
        if (room < 0)
            break;
        plan.attempts[plan.n_attempts++] = attempt;
    }
    return plan;
}

int64_t lw_sfft_capacity(const struct lw_sfft_plan *plan) { return 2 * plan->attempts[0].n_buckets; }

struct lw_sfft_window_spec lw_sfft_plan_window(const struct lw_sfft_plan *plan, int attempt)
{
    struct lw_sfft_window_spec window = plan->window;
    window.n_buckets = plan->attempts[attempt].n_buckets;
    return window;
}

int lw_sfft_plan_stages(const struct lw_sfft_plan *plan, struct lw_sfft_stage_spec specs[LW_SFFT_STAGES])
{
    int n_stages = 0;
    for (int a = 0; a < plan->n_attempts; a++) {
        const struct lw_sfft_attempt *const attempt = &plan->attempts[a];
        for (int s = 0; s <= attempt->n_stages; s++, n_stages++)
            specs[n_stages] = (struct lw_sfft_stage_spec){
                .n = plan->spec.n, .n_buckets = attempt->n_buckets, .n_shifts = s < attempt->n_stages ? attempt->n_shifts : 1,
                .seed = plan->spec.seed * LW_SFFT_STAGES + (uint64_t)n_stages,
            };
    }
    return n_stages;
}

/* ---- layout --------------------------------------------------------------------------------------------------------- */

int lw_sfft_layout_create(const struct lw_sfft_plan *plan, struct lw_sfft_layout **out, struct lw_error *err)
{
    struct lw_sfft_layout *const layout = *out = lw_alloc(sizeof *layout, "the stages of a sparse transform", err);
    if (!layout)
        return LW_ESYSTEM;
    layout->plan = *plan;
    for (int a = 0; a < plan->n_attempts; a++) {
        const struct lw_sfft_window_spec spec = lw_sfft_plan_window(plan, a);
        const int rc = lw_sfft_window_create(&spec, &layout->windows[a], err);
        if (rc)
            return rc;
    }
    struct lw_sfft_stage_spec specs[LW_SFFT_STAGES];
    layout->n_stages = lw_sfft_plan_stages(plan, specs);
    for (int s = 0; s < layout->n_stages; s++) {
        layout->stages[s] = lw_sfft_stage_make(&specs[s], layout->windows[lw_sfft_attempt_of(layout, s)]);
        layout->first_plane[s] = layout->n_planes;
        layout->n_planes += specs[s].n_shifts;
    }
    layout->first_plane[layout->n_stages] = layout->n_planes;
    return LW_OK;
}

void lw_sfft_layout_destroy(struct lw_sfft_layout *layout)
{
    if (!layout)
        return;
    for (int a = 0; a < layout->plan.n_attempts; a++)
        lw_sfft_window_destroy(layout->windows[a]);
    lw_free(layout);
}

static int stages_per_attempt(const struct lw_sfft_layout *layout) { return layout->plan.attempts[0].n_stages + 1; }

int lw_sfft_first_stage(const struct lw_sfft_layout *layout, int attempt) { return attempt * stages_per_attempt(layout); }

int lw_sfft_attempt_of(const struct lw_sfft_layout *layout, int stage) { return stage / stages_per_attempt(layout); }

/* ---- the dense transform -------------------------------------------------------------------------------------------- */

/* Upper bounds measured with FFTW 3.3.10 on some 400 lengths up to 2^26, beside at most 2 MiB. Complex signals, and real lengths
 * that are multiples of 32, need the bytes of the samples; other real lengths 2.4 times these bytes. A large prime factor needs 7.4
 * times: it makes the transform a convolution of more than twice the length. */
int64_t lw_sfft_fftw_bytes(int64_t n, bool is_real)
{
    const int64_t samples = lw_sfft_dense_samples_bytes(n, is_real), fixed = (int64_t)2 << 20;
    if (!lw_has_factors_up_to(13, n))
        return 8 * samples + fixed;
    return is_real && n % 32 != 0 ? 3 * samples + fixed : samples + samples / 4 + fixed;
}
