/* ols_choose.cu - the choice of kernel and segment length: the cheapest of the kernels that fit, by a small model.
 *
 * seconds per output = max(memory, transform): what a sample costs at the memory rate (its share of the read and its
 * write), and what a segment costs divided by its outputs. The rates were measured on one H200 (tests/bench/results);
 * other architectures take the same choice, less the kernels that need more shared memory than they have. */
#include "ols_choose.h"

#include "direct.h"
#include "fft.cuh"

#include <cstdio>

static const OlsKernels *const all_kernels[] = {
    &lw_ols_f256, &lw_ols_f512, &lw_ols_f1024, &lw_ols_f2048, &lw_ols_f4096, &lw_ols_f8192,
    &lw_ols_d256, &lw_ols_d512, &lw_ols_d1024, &lw_ols_d2048, &lw_ols_d4096,
    &lw_ols_slow_f, &lw_ols_slow_d,
    &lw_ols_post_f, &lw_ols_post_f8192, &lw_ols_post_d, &lw_ols_post_slow_f, &lw_ols_post_slow_d,
};

static constexpr double MEMORY_RATE = 4.29e12;          /* bytes per second */

/* seconds per point of a transform back, on the whole device */
static double point_seconds(const OlsKernel *k)
{
    const bool single = k->precision == LW_SINGLE;
    double picoseconds;
    if (k->segment <= 512)
        picoseconds = single ? 2.6 : 6.0;
    else if (k->segment == 1024)
        picoseconds = single ? 1.86 : 5.0;
    else if (k->segment == 2048)
        picoseconds = single ? 2.42 : 6.0;
    else if (k->segment == 4096)
        picoseconds = single ? 2.85 : 7.0;
    else
        picoseconds = 3.3;
    return picoseconds * 1e-12 * (k->discard < 0 ? 1.04 : 1.0);
}

static int discard_of(const OlsKernel *k, int64_t n_taps)
{
    const int64_t granule = k->side * k->groups;        /* a row of outputs, one of each thread, is dropped whole */
    const int64_t least = (n_taps - 1 + granule - 1) / granule * granule;
    if (k->discard >= 0)
        return k->discard;
    return least <= k->segment ? (int)least : k->segment;
}

static bool is_short(enum lw_scalar s) { return s == LW_INT8 || s == LW_UINT8 || s == LW_INT16 || s == LW_UINT16; }

/* What is fetched ahead takes shared memory, which must not cost blocks. */
static bool has_room(const OlsKernel *k, const struct lw_cuda_arch *arch)
{
    const int reserved = 1024;      /* by the driver, of every block; a multiprocessor has that much more than a block may */
    const bool all_fit = k->blocks * (k->shared_bytes + reserved) <= arch->shared_bytes + reserved;
    return k->shared_bytes <= arch->shared_bytes && (all_fit || !(k->design == OLS_AHEAD || k->staged));
}

/* Whether a kernel can do the job at all: a quarter of a segment at least must be kept. */
static bool fits(const OlsKernel *k, const struct lw_cuda_ols_spec *spec, const struct lw_cuda_arch *arch)
{
    const bool slow = spec->layout == LW_TIME_SLOW && spec->n_channels > 1;
    const int discard = discard_of(k, spec->n_taps);
    return k->precision == spec->precision && (k->layout == LW_TIME_SLOW) == slow &&
           k->post == lw_cuda_post_is_needed(spec->post) &&
           k->paired == (!spec->input_complex && !spec->taps_complex) && (!k->one_filter || spec->n_filters == 1) &&
           (k->design == OLS_PLAIN || spec->n_filters > 1) && (!k->staged || is_short(spec->input)) &&
           has_room(k, arch) && spec->n_taps - 1 <= discard && 4 * discard <= 3 * k->segment;
}

/* What the design changes in the cost of a transform, predicted: at 8192 points two warps a scheduler wait for the
 * filters; shorter segments have others to work on meanwhile, and may find the filters in L1. */
static double design_factor(const OlsKernel *k)
{
    if (k->design == OLS_PLAIN)
        return 1.0;
    return k->design == OLS_AHEAD && k->segment == 8192 ? 0.9 : k->design == OLS_FOLLOW ? 1.01 : 1.02;
}

static const char *design_text(const OlsKernel *k)
{
    if (k->design != OLS_PLAIN)
        return k->design == OLS_AHEAD ? "filters ahead" : "filters in step";
    return k->staged ? "segments ahead" : k->one_filter ? "one filter" : "";
}

static double seconds_per_output(const OlsKernel *k, const struct lw_cuda_ols_spec *spec)
{
    const int reals = k->paired ? 1 : 2, bytes = reals * (spec->precision == LW_SINGLE ? 4 : 8);
    const double memory = bytes * (1.0 + 1.0 / spec->n_filters) / MEMORY_RATE;
    const double outputs = (double)(k->segment - discard_of(k, spec->n_taps)) * (k->paired ? 2 : 1);
    const double transform = point_seconds(k) * design_factor(k) * k->segment * (1.0 + 0.8 / spec->n_filters) / outputs;
    const double worst = memory > transform ? memory : transform;
    return worst + 0.02 * (memory + transform) - (k->one_filter ? 0.01 * memory : 0) -
           (k->staged ? 0.01 * memory : 0);
}

/* The kernels in the table's order; NULL behind the last. */
static const OlsKernel *kernel_at(int index)
{
    for (const OlsKernels *kernels : all_kernels) {
        if (index < kernels->n)
            return kernels->list + index;
        index -= kernels->n;
    }
    return nullptr;
}

/* A kernel by its index, -1: none; the table's order decides where two cost the same. */
struct Choice {
    int index;
    double cost;
};

static bool comes_before(Choice a, Choice b) { return a.cost < b.cost || (a.cost == b.cost && a.index < b.index); }

/* The cheapest kernel of that segment length (0: any) that comes after `previous`. */
static Choice cheapest(const struct lw_cuda_ols_spec *spec, const struct lw_cuda_arch *arch, int segment,
                       Choice previous)
{
    Choice best = {-1, 0};
    for (int i = 0; const OlsKernel *k = kernel_at(i); ++i) {
        const Choice choice = {i, seconds_per_output(k, spec)};
        if (fits(k, spec, arch) && (segment == 0 || k->segment == segment) && comes_before(previous, choice) &&
            (best.index < 0 || comes_before(choice, best)))
            best = choice;
    }
    return best;
}

static const OlsKernel *of_rank(const struct lw_cuda_ols_spec *spec, const struct lw_cuda_arch *arch, int segment)
{
    Choice choice = {-1, -1};
    for (int rank = 0; rank <= spec->rank; ++rank)
        if ((choice = cheapest(spec, arch, segment, choice)).index < 0)
            return nullptr;
    return kernel_at(choice.index);
}

static void legal_segments(struct lw_cuda_ols_plan *plan, const struct lw_cuda_arch *arch)
{
    for (const OlsKernels *kernels : all_kernels)
        for (int i = 0; i < kernels->n; ++i) {
            const OlsKernel *k = kernels->list + i;
            if (!fits(k, &plan->spec, arch))
                continue;
            if (plan->least_segment == 0 || k->segment < plan->least_segment)
                plan->least_segment = k->segment;
            if (k->segment > plan->most_segment)
                plan->most_segment = k->segment;
        }
}

OlsBankLayout lw_ols_bank_layout(const OlsKernel *kernel, int n_filters)
{
    const size_t value = kernel->precision == LW_SINGLE ? sizeof(float2) : sizeof(double2);
    OlsBankLayout b;
    b.powers = log2_of(kernel->side) + log2_of(kernel->groups);
    b.threads = kernel->side * kernel->groups;
    b.spectra = (b.powers * b.threads + 31) / 32 * 32;
    b.roots_bytes = (b.spectra + (size_t)n_filters * kernel->segment) * value;
    b.bytes = b.roots_bytes + kernel->segment * sizeof(double2);
    return b;
}

static void plan_segments(struct lw_cuda_ols_plan *plan, const OlsKernel *k)
{
    const struct lw_cuda_ols_spec *spec = &plan->spec;
    const bool channels = spec->n_channels > 1;
    plan->path = LW_CUDA_SEGMENTS;
    plan->design = design_text(k);
    plan->segment = k->segment;
    plan->discard = discard_of(k, spec->n_taps);
    plan->hop = plan->segment - plan->discard - plan->reach;
    plan->unit = k->paired && !channels ? 2 * (int64_t)plan->hop : plan->hop;
    plan->channel_unit = k->paired && channels ? 2 : 1;
    plan->bank_bytes = lw_ols_bank_layout(k, spec->n_filters).bytes;
    plan->seconds_per_output = seconds_per_output(k, spec);
}

static void plan_direct(struct lw_cuda_ols_plan *plan)
{
    plan->path = LW_CUDA_DIRECT;
    plan->design = "";
    plan->unit = 1;
    plan->channel_unit = 1;
    plan->bank_bytes = lw_direct_bank_bytes(&plan->spec);
    plan->seconds_per_output = lw_direct_seconds_per_output(&plan->spec);
}

extern "C" int lw_cuda_ols_choose(const struct lw_cuda_ols_spec *spec, const struct lw_cuda_arch *arch,
                                  struct lw_cuda_ols_plan *out, struct lw_error *err)
{
    struct lw_cuda_ols_plan plan = {};
    plan.spec = *spec;
    plan.arch = *arch;
    plan.design = "";
    plan.output_complex = spec->input_complex || spec->taps_complex;
    plan.reach = lw_post_reach(spec->post).before + lw_post_reach(spec->post).after;
    legal_segments(&plan, arch);
    const OlsKernel *k = plan.most_segment ? of_rank(spec, arch, spec->segment) : nullptr;
    const bool direct = spec->segment == 0 && spec->rank == 0 && !lw_cuda_post_is_needed(spec->post) && lw_direct_suits(spec);
    if (direct && (!k || lw_direct_seconds_per_output(spec) < seconds_per_output(k, spec)))
        plan_direct(&plan);
    else if (k)
        plan_segments(&plan, k);
    else if (plan.most_segment == 0)
        plan.path = LW_CUDA_TOO_LONG;
    else
        return lw_fail(err, LW_ECONFIG, "segment %d: with %lld taps the CUDA engine has the powers of two from %d to %d",
                       spec->segment, (long long)spec->n_taps, plan.least_segment, plan.most_segment);
    *out = plan;
    return LW_OK;
}

/* The choice is repeated with the plan's own segment length, so that a plan needs no pointer. That finds the same kernel
 * for rank 0, and for other ranks where the length was asked for, as benchmarks do. */
const OlsKernel *lw_ols_kernel_of(const struct lw_cuda_ols_plan *plan)
{
    return of_rank(&plan->spec, &plan->arch, plan->segment);
}
