/* choose.cu - choice of kernel and segment length: the cheapest kernel that fits, by a small model.
 *
 * Seconds per output of one filter are the larger of two terms: the output's write and its share of the read, at the memory rate;
 * and a segment's transforms divided by its outputs. All outputs of the series count, even if not all are wanted. For short series,
 * the waits of the first segments are added. The rates were measured on one H200 (tests/bench/results). Other architectures use the
 * same rates, without the kernels that need more shared memory than they have. */
#include "gpu/device/fft.cuh"
#include "gpu/ols/direct/direct.h"
#include "gpu/ols/kernels/launch.h"

#include <cstdio>

static const OlsKernels *const all_kernels[] = {
    &lw_ols_f256, &lw_ols_f512, &lw_ols_f1024, &lw_ols_f2048, &lw_ols_f4096, &lw_ols_f8192, &lw_ols_f12288, &lw_ols_f24576,
    &lw_ols_d256, &lw_ols_d512, &lw_ols_d1024, &lw_ols_d2048, &lw_ols_d4096,
    &lw_ols_time_slow_f, &lw_ols_time_slow_d,
    &lw_ols_post_f, &lw_ols_post_f8192, &lw_ols_post_d, &lw_ols_post_time_slow_f, &lw_ols_post_time_slow_d,
    &lw_ols_folded_f, &lw_ols_folded_f4096, &lw_ols_thinned_f, &lw_ols_thinned_d,
    &lw_ols_thinned_time_slow_f, &lw_ols_thinned_time_slow_d,
};

static constexpr double MEMORY_RATE = 4.29e12;          /* bytes per second */
static constexpr int MULTIPROCESSORS = 132;
static constexpr int64_t MOST_TAPS_ABREAST = 1537;      /* more taps leave less than a quarter of 2048 points as outputs */
static constexpr double RESIDENT_POINTS = 12 * 1024.0 * MULTIPROCESSORS;   /* points of all segments that are resident at a time */

/* Picoseconds per point of a transform back, on the whole device, by kernels whose discard is a constant. They are fitted to
 * `bench_ols_gpu segments` on an H200, with 8 filters and 2^26 samples (double precision: 2^24), on 2026-11-20; for 12288 points on
 * 2026-11-24, for 24576 points on 2026-11-25. complex_of_16 and paired_of_16 (2026-11-23) are for single precision with 16 instead
 * of 32 points in a thread. */
struct Rate {
    int segment;
    OlsDesign design;
    double complex_single, paired_single, in_double, complex_of_16, paired_of_16;
};

static const Rate rates[] = {
    {256, OLS_PLAIN, 0, 0, 3.1, 1.37, 1.40},
    {512, OLS_PLAIN, 0, 0, 3.75, 1.50, 1.55},
    {1024, OLS_PLAIN, 1.66, 1.77, 4.3, 1.84, 2.17},
    {2048, OLS_PLAIN, 2.01, 2.13, 5.1, 2.15, 2.45},
    {4096, OLS_PLAIN, 2.22, 2.53, 6.8, 0, 0},
    {8192, OLS_PLAIN, 3.10, 3.17, 0, 0, 0},
    {12288, OLS_DECOUPLED, 2.72, 3.10, 0, 0, 0},
    {24576, OLS_DECOUPLED, 4.10, 4.25, 0, 0, 0},
    {1024, OLS_ABREAST, 2.2, 2.2, 0, 0, 0},
    {2048, OLS_ABREAST, 2.5, 2.5, 0, 0, 0},
};

/* Return whether the kernels of abreast.cuh suit the spec: they copy rows in 16-byte pieces, and can only store the series. */
static bool is_fit_for_abreast(const struct lw_cuda_ols_spec *spec)
{
    const int64_t row_bytes = spec->n_channels * lw_scalar_bytes(spec->input) * (spec->input_complex ? 2 : 1);
    const bool is_stored = !spec->is_searched && lw_post_every(spec->post) == 1 && !lw_cuda_post_is_needed(spec->post);
    return is_stored && spec->precision == LW_SINGLE && lw_scalar_bytes(spec->input) <= 4 && row_bytes % 16 == 0 &&
           spec->n_channels >= 16 && spec->n_taps <= MOST_TAPS_ABREAST;
}

/* Return the slowdown of a time-slow kernel that turns rows into columns. The numbers were measured with uint8 and one filter of
 * 257 taps; where channels can be taken abreast, with float32 and 1 and 8 filters of 257 and 1025 taps (2026-11-24). Where direct
 * sums are possible, too, all are divided by the slowdown of 1024 points. */
static double slowed_by_layout(const OlsKernel *k, const struct lw_cuda_ols_spec *spec)
{
    if (k->layout == LW_TIME_FAST || (k->prefetches && k->design != OLS_ABREAST))
        return 1;
    if (!is_fit_for_abreast(spec))
        return k->segment >= 4096 ? 1.7 : 1;
    const double turned = k->segment >= 8192 ? 5.0 : k->segment >= 4096 ? 3.5 : 1.7;
    return (k->design == OLS_ABREAST ? 1 : turned) / (lw_direct_suits(spec) ? 1.7 : 1);
}

/* Return the product of all measured slowdowns. Spectra of 32 filters of 512 points do not stay in L1 beside 92 KB of shared
 * memory; spectra of 256 points do, and 1024 points are no slower for it. Decoupled kernels wait for samples before transforms. */
static double slowed(const OlsKernel *k, const struct lw_cuda_ols_spec *spec)
{
    const bool missed = k->precision == LW_SINGLE && k->segment == 512 && spec->n_filters > 24;
    const double chosen = k->design == OLS_ABREAST && k->segment == 2048 ? 1.18 : 1.04;     /* D chosen at run time */
    const double forward = k->design == OLS_DECOUPLED ? (k->paired ? 0.05 : 0.2) / spec->n_filters : 0;
    return (k->discard < 0 ? chosen : 1.0) * slowed_by_layout(k, spec) * (missed ? 1.2 : 1.0) * (1 + forward);
}

/* Return the factor by which a last group of channels that is not whole slows down an abreast kernel. That group takes about twice
 * as long as a whole group, because its rows are read one by one. */
static double widened(const OlsKernel *k, const struct lw_cuda_ols_spec *spec)
{
    if (k->design != OLS_ABREAST)
        return 1;
    const int64_t each = k->batch * (k->paired ? 2 : 1), whole = spec->n_channels / each;
    return (double)((whole + (spec->n_channels % each ? 2 : 0)) * each) / (double)spec->n_channels;
}

static double point_seconds(const OlsKernel *k, const struct lw_cuda_ols_spec *spec)
{
    for (const Rate &r : rates)
        if (r.segment == k->segment && r.design == k->design) {
            const double of_32 = k->paired ? r.paired_single : r.complex_single;
            const double single = k->radix == 16 ? (k->paired ? r.paired_of_16 : r.complex_of_16) : of_32;
            return (k->precision == LW_SINGLE ? single : r.in_double) * 1e-12 * slowed(k, spec) * widened(k, spec);
        }
    return 1;
}

static int discard_of(const OlsKernel *k, int64_t n_taps)
{
    /* Rows of values, one value of each thread or radix-P butterfly, are dropped whole. */
    const int64_t granule = k->radix * (k->design == OLS_DECOUPLED ? k->radix : k->outer_radix);
    const int64_t least = (n_taps - 1 + granule - 1) / granule * granule;
    if (k->discard >= 0)
        return k->discard;
    return least <= k->segment ? (int)least : k->segment;
}

/* Return whether a prefetching kernel can take the stored type and, time slow, has enough channels for its blocks' rows. */
static bool can_prefetch(const OlsKernel *k, const struct lw_cuda_ols_spec *spec)
{
    if (k->layout == LW_TIME_FAST)
        return lw_scalar_bytes(spec->input) <= 4;
    if (k->design == OLS_ABREAST)
        return is_fit_for_abreast(spec) && k->paired == !spec->input_complex;
    return lw_scalar_bytes(spec->input) <= 2 && (k->batch <= 8 || spec->n_channels >= 2 * k->batch);
}

/* Return whether a kernel fits into shared memory. Where time-slow kernels prefetch, all k->blocks blocks of an SM must fit. */
static bool has_room(const OlsKernel *k, const struct lw_cuda_arch *arch)
{
    const int reserved = 1024;      /* bytes of a block for the driver; a multiprocessor has 1024 bytes more than a block may use */
    const bool all_fit = k->blocks * (k->shared_bytes + reserved) <= arch->shared_bytes + reserved;
    return k->shared_bytes <= arch->shared_bytes && (all_fit || !k->prefetches || k->layout == LW_TIME_FAST);
}

/* Return whether a kernel does what `post` asks for, or leaves decimation to the caller. Prefetching kernels do no operation. */
static bool suits_post(const OlsKernel *k, struct lw_post post)
{
    const bool is_made = lw_cuda_post_is_needed(post);
    if (k->fold > 0)
        return lw_post_every(post) > 1 && lw_post_every(post) % k->fold == 0 && !(is_made && k->prefetches);
    return k->post == is_made;
}

/* Return whether a kernel can also search, for crossings and for the best filter. */
static bool can_find(const OlsKernel *k, const struct lw_cuda_arch *arch) { return k->find && k->keep_bytes <= arch->shared_bytes; }

/* Return whether a kernel can do the job. At least a quarter of a segment's values must be outputs. */
static bool fits(const OlsKernel *k, const struct lw_cuda_ols_spec *spec, const struct lw_cuda_arch *arch)
{
    const bool slow = spec->layout == LW_TIME_SLOW && spec->n_channels > 1;
    const int discard = discard_of(k, spec->n_taps);
    return k->precision == spec->precision && (k->layout == LW_TIME_SLOW) == slow &&
           suits_post(k, spec->post) && (!spec->is_searched || can_find(k, arch)) &&
           k->paired == (!spec->input_complex && !spec->taps_complex) && (!k->one_filter || spec->n_filters == 1) &&
           (!k->prefetches || can_prefetch(k, spec)) && (k->cluster == 1 || arch->major >= 9) &&
           has_room(k, arch) && spec->n_taps - 1 <= discard && 4 * discard <= 3 * k->segment;
}

static const char *design_text(const OlsKernel *k)
{
    if (k->design == OLS_DECOUPLED)
        return "decoupled";
    if (k->prefetches)
        return k->layout == LW_TIME_SLOW ? "channels abreast" : "segments ahead";
    if (k->precision == LW_SINGLE && k->radix == 16 && k->outer_radix > 2)
        return "16 points a thread";
    return k->one_filter ? "one filter" : "";
}

static int output_bytes(const struct lw_cuda_ols_spec *spec)
{
    return (spec->input_complex || spec->taps_complex ? 2 : 1) * (spec->precision == LW_SINGLE ? 4 : 8);
}

double lw_cuda_ols_thinning_seconds(const struct lw_cuda_ols_spec *spec)
{
    const int every = lw_post_every(spec->post);
    return every == 1 ? 0 : output_bytes(spec) * (1.0 + 1.0 / every) / MEMORY_RATE;
}

static double seconds_per_output(const OlsKernel *k, const struct lw_cuda_ols_spec *spec)
{
    const int every = k->fold > 0 ? lw_post_every(spec->post) : 1;
    const double memory = output_bytes(spec) * (1.0 / every + 1.0 / spec->n_filters) / MEMORY_RATE;
    const double outputs = (double)(k->segment - discard_of(k, spec->n_taps)) * (k->paired ? 2 : 1);
    /* Cost of product and way back, relative to kernels that store all outputs: for a folded spectrum, and for outputs thinned out
     * in shared memory. Both are estimated from the numbers of instructions. */
    const double unfolded = k->fold == 1 && k->layout == LW_TIME_FAST ? 1.05 : 1;
    const double transforms = (k->fold > 1 ? 0.15 + 1.2 / k->fold : unfolded) + 0.8 / spec->n_filters;
    const double transform = point_seconds(k, spec) * k->segment * transforms / outputs;
    const double worst = memory > transform ? memory : transform;
    /* Kernels with more warps, or with early loads of samples, come nearer to the memory's rate. */
    const int favours = (k->one_filter ? 1 : 0) + (k->prefetches ? 1 : 0) + (k->segment == 256 ? 1 : 0);
    const double later = k->fold > 0 ? 0 : lw_cuda_ols_thinning_seconds(spec);
    return worst + 0.02 * (memory + transform) - favours * 0.01 * memory + later;
}

/* Return the seconds that the first segment of a thread block takes beyond the cost of later segments. */
static double first_seconds(const OlsKernel *k)
{
    if (k->cluster > 1)
        return k->paired ? 20.0e-6 : 15.0e-6;
    if (k->design == OLS_DECOUPLED && k->paired)
        return 12.0e-6;
    if (k->radix == 16)
        return k->paired || k->outer_radix == 1 ? 3.2e-6 : 4.0e-6;
    if (k->paired)
        return k->outer_radix > 2 ? 8.0e-6 : 5.0e-6;
    return k->outer_radix > 2 ? 4.5e-6 : k->outer_radix == 2 ? 5.5e-6 : 3.8e-6;
}

/* Return the extra seconds per output of a short series. All thread blocks begin at once, and wait together for samples and at
 * barriers; waits are longer if a thread has more points. With one filter, blocks that take a second segment wait together again.
 * In a long series some blocks compute while others wait. Measured with 2^18 to 2^22 samples (`bench_ols_gpu segments`, H200,
 * 2026-11-23). */
static double start_per_output(const OlsKernel *k, const struct lw_cuda_ols_spec *spec)
{
    const double series = (double)spec->n_outputs * (double)spec->n_channels, each = k->paired ? 2 : 1;
    if (series == 0 || series * spec->n_filters > 2 * RESIDENT_POINTS * each)
        return 0;
    const double outputs = (k->segment - discard_of(k, spec->n_taps)) * each * k->batch;
    const bool is_one_pass = spec->n_filters > 1 || series <= outputs * k->blocks * (MULTIPROCESSORS / k->cluster);
    const double first = first_seconds(k), second = k->radix == 16 ? 1e-6 : first;
    return (is_one_pass ? first : first + second) / (series * spec->n_filters);
}

/* Return the kernel with this index in all_kernels, counted over all groups; NULL beyond the last kernel. */
static const OlsKernel *kernel_at(int index)
{
    for (const OlsKernels *kernels : all_kernels) {
        if (index < kernels->n)
            return kernels->list + index;
        index -= kernels->n;
    }
    return nullptr;
}

/* A kernel by its index (-1: none) and its cost. Of kernels of equal cost, the kernel with the lower index comes first. */
struct Choice {
    int index;
    double cost;
};

static bool comes_before(Choice a, Choice b) { return a.cost < b.cost || (a.cost == b.cost && a.index < b.index); }

/* Return the cheapest kernel of the spec's segment length (0: any length) that comes after `previous` in order of cost. */
static Choice cheapest(const struct lw_cuda_ols_spec *spec, const struct lw_cuda_arch *arch, Choice previous)
{
    Choice best = {-1, 0};
    for (int i = 0; const OlsKernel *k = kernel_at(i); ++i) {
        const Choice choice = {i, seconds_per_output(k, spec) + start_per_output(k, spec)};
        if (fits(k, spec, arch) && (spec->segment == 0 || k->segment == spec->segment) &&
            comes_before(previous, choice) && (best.index < 0 || comes_before(choice, best)))
            best = choice;
    }
    return best;
}

/* Return the index of the nth_best kernel by cost; -1: there are not enough kernels. */
static int nth_best_kernel(const struct lw_cuda_ols_spec *spec, const struct lw_cuda_arch *arch)
{
    Choice choice = {-1, -1};
    for (int n = 0; n <= spec->nth_best; ++n)
        if ((choice = cheapest(spec, arch, choice)).index < 0)
            return -1;
    return choice.index;
}

/* Set the plan's legal lengths, and return the index of the kernel that its spec asks for; -1: there is none. */
static int look_for_kernel(struct lw_cuda_ols_plan *plan)
{
    const struct lw_cuda_arch *const arch = &plan->arch;
    for (int i = 0; const OlsKernel *k = kernel_at(i); ++i) {
        if (!fits(k, &plan->spec, arch))
            continue;
        if (plan->least_segment == 0 || k->segment < plan->least_segment)
            plan->least_segment = k->segment;
        if (k->segment > plan->most_segment) {
            plan->most_segment = k->segment;
            plan->most_blocks = k->cluster;
        }
    }
    return plan->most_segment ? nth_best_kernel(&plan->spec, arch) : -1;
}

OlsBankLayout lw_ols_bank_layout(const OlsKernel *kernel, int n_filters)
{
    const size_t value = kernel->precision == LW_SINGLE ? sizeof(float2) : sizeof(double2);
    OlsBankLayout b;
    b.back_powers = powers_of(kernel->radix, kernel->outer_radix);
    const int powers = b.back_powers + (kernel->fold > 1 ? powers_of(kernel->back_radix, kernel->back_outer_radix) : 0);
    b.spectra = (powers + 31) / 32 * 32;
    b.bytes = (b.spectra + (size_t)n_filters * kernel->segment) * value;
    return b;
}

static void plan_segments(struct lw_cuda_ols_plan *plan, int index)
{
    const struct lw_cuda_ols_spec *spec = &plan->spec;
    const OlsKernel *const k = kernel_at(index);
    const bool channels = spec->n_channels > 1;
    plan->path = LW_CUDA_SEGMENTS;
    plan->kernel = index;
    plan->design = design_text(k);
    plan->segment = k->segment;
    plan->blocks = k->cluster;
    plan->fold = k->fold;
    plan->discard = discard_of(k, spec->n_taps);
    plan->hop = plan->segment - plan->discard - plan->reach;
    plan->unit = k->paired && !channels ? 2 * (int64_t)plan->hop : plan->hop;
    plan->channel_unit = k->paired && channels ? 2 : 1;
    plan->delay = k->reversed ? 1 : 0;
    plan->bank_bytes = lw_ols_bank_layout(k, spec->n_filters).bytes;
    plan->seconds_per_output = seconds_per_output(k, spec);
}

static double direct_seconds_per_output(const struct lw_cuda_ols_spec *spec)
{
    return lw_direct_seconds_per_output(spec) + lw_cuda_ols_thinning_seconds(spec);
}

void lw_cuda_ols_hold(struct lw_cuda_ols_plan *plan, int n_filters)
{
    plan->spec.n_filters = n_filters;
    if (plan->path == LW_CUDA_SEGMENTS)
        plan->bank_bytes = lw_ols_bank_layout(lw_ols_kernel_of(plan), n_filters).bytes;
    else if (plan->path == LW_CUDA_DIRECT)
        plan->bank_bytes = lw_direct_bank_bytes(&plan->spec);
}

int lw_cuda_ols_choose(const struct lw_cuda_ols_spec *spec, const struct lw_cuda_arch *arch,
                       struct lw_cuda_ols_plan *out, struct lw_error *err)
{
    struct lw_cuda_ols_plan plan = {};
    plan.spec = *spec;
    plan.arch = *arch;
    plan.design = "";
    plan.output_complex = spec->input_complex || spec->taps_complex;
    plan.reach = lw_post_reach(spec->post).before + lw_post_reach(spec->post).after;
    int index = look_for_kernel(&plan);
    plan.finds = spec->is_searched && index >= 0;
    if (spec->is_searched && index < 0) {           /* no kernel can search: the caller searches the stored series */
        plan.spec.is_searched = false;
        index = look_for_kernel(&plan);
    }
    const bool direct = spec->segment == 0 && spec->nth_best == 0 && !lw_cuda_post_is_needed(spec->post) && lw_direct_suits(spec);
    if (direct && !plan.finds && (index < 0 || direct_seconds_per_output(spec) < seconds_per_output(kernel_at(index), spec))) {
        plan.path = LW_CUDA_DIRECT;
        plan.unit = plan.channel_unit = 1;
        plan.bank_bytes = lw_direct_bank_bytes(spec);
        plan.seconds_per_output = direct_seconds_per_output(spec);
    } else if (index >= 0)
        plan_segments(&plan, index);
    else if (plan.most_segment == 0)
        plan.path = LW_CUDA_TOO_LONG;
    else
        return lw_fail(err, LW_ECONFIG,
                       "--segment %d does not suit %lld taps: the CUDA engine takes powers of two, 12288 and 24576, from %d to %d",
                       spec->segment, (long long)spec->n_taps, plan.least_segment, plan.most_segment);
    *out = plan;
    return LW_OK;
}

const OlsKernel *lw_ols_kernel_of(const struct lw_cuda_ols_plan *plan) { return kernel_at(plan->kernel); }
