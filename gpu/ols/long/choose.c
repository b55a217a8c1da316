/* choose.c - choice of segment length and method for long filters: the cheapest ones by a small model. */
#include "base/integers.h"
#include "gpu/ols/long/method.h"

#include <inttypes.h>

/* The methods, in order of preference. The last method takes every length. */
static const struct lw_long_method *const methods[] = {&lw_long_cluster, &lw_long_split, &lw_long_cufft};

static const struct lw_long_method *method_for(const struct lw_cuda_ols_spec *spec, const struct lw_cuda_arch *arch,
                                               int64_t segment)
{
    int i = 0;
    while (methods[i]->exists && !methods[i]->exists(arch, spec->precision, segment))
        i++;
    return methods[i];
}

static int reach_of(const struct lw_cuda_ols_spec *spec)
{
    return lw_post_reach(spec->post).before + lw_post_reach(spec->post).after;
}

/* Return whether separate kernels must cut segments and store outputs: a channel's samples are apart, or --post is wanted. */
static bool needs_gather(const struct lw_cuda_ols_spec *spec)
{
    return (spec->layout == LW_TIME_SLOW && spec->n_channels > 1) || lw_cuda_post_is_needed(spec->post);
}

static enum lw_pairing pairing_of(const struct lw_cuda_ols_spec *spec)
{
    const bool is_real = !spec->input_complex && !spec->taps_complex;
    return !is_real ? LW_UNPAIRED : spec->n_channels > 1 ? LW_PAIRED_CHANNELS : LW_PAIRED_HOPS;
}

/* Return the number of items (steps.h) of the whole data set. */
static int64_t count_items(const struct lw_cuda_ols_spec *spec, int64_t n_outputs, int64_t hop)
{
    const enum lw_pairing pairing = pairing_of(spec);
    return lw_divide_up(spec->n_channels, pairing == LW_PAIRED_CHANNELS ? 2 : 1) *
           lw_divide_up(n_outputs, pairing == LW_PAIRED_HOPS ? 2 * hop : hop);
}

/* Return the seconds per input sample that all filters together take. */
static double seconds_per_sample(const struct lw_cuda_ols_spec *spec, const struct lw_cuda_arch *arch, int64_t n_outputs,
                                 int64_t segment)
{
    const struct lw_long_method *const method = method_for(spec, arch, segment);
    const int64_t hop = segment - spec->n_taps + 1 - reach_of(spec);
    const double gathering = needs_gather(spec) ? method->gather_seconds * (spec->precision == LW_SINGLE ? 1 : 2) : 0;
    const double each = gathering + method->point_seconds(spec->precision, segment);
    const double of_segment = each * (spec->n_filters + 1) * (double)segment / (double)hop;
    if (n_outputs <= 0)
        return of_segment;
    /* Outputs that whole items hold: if the signal is short, several times the outputs that exist. */
    const double held = (double)count_items(spec, n_outputs, hop) * (pairing_of(spec) == LW_UNPAIRED ? 1 : 2) * (double)hop;
    return of_segment * (held / ((double)n_outputs * (double)spec->n_channels));
}

/* Return the cheapest segment length: one of our own kernels', or one for cuFFT. */
static int64_t choose_segment(const struct lw_cuda_ols_spec *spec, const struct lw_cuda_arch *arch, int64_t n_outputs)
{
    /* Length for cuFFT: longer segments waste less on the overlap but take more memory. So eight filter lengths for short filters,
     * four or two for longer ones, and no more than the whole signal with its overlap needs. */
    const int64_t factor = spec->n_taps <= 1 << 18 ? 8 : spec->n_taps <= 1 << 24 ? 4 : 2;
    const int64_t whole = n_outputs > 0 ? n_outputs + spec->n_taps - 1 + reach_of(spec) : LW_LONG_MOST_SEGMENT;
    const int64_t wanted = lw_min64(lw_min64(factor * (spec->n_taps - 1), whole), LW_LONG_MOST_SEGMENT);
    int64_t best = LW_LONG_LEAST_SEGMENT;
    while (best < wanted)
        best *= 2;
    double best_seconds = seconds_per_sample(spec, arch, n_outputs, best);
    for (int64_t segment = LW_LONG_LEAST_SEGMENT; segment <= LW_LONG_MOST_SEGMENT; segment *= 2) {
        if (method_for(spec, arch, segment) == &lw_long_cufft || segment < spec->n_taps + reach_of(spec))
            continue;
        const double seconds = seconds_per_sample(spec, arch, n_outputs, segment);
        if (seconds < best_seconds) {
            best = segment;
            best_seconds = seconds;
        }
    }
    return best;
}

void lw_long_ols_hold(struct lw_long_ols_plan *plan, int n_filters)
{
    plan->spec.n_filters = n_filters;
    plan->group = (int)lw_min64(n_filters, plan->method->most_group);
}

int lw_long_ols_choose(const struct lw_cuda_ols_spec *spec, const struct lw_cuda_arch *arch, int64_t n_outputs,
                       struct lw_long_ols_plan *out, struct lw_error *err)
{
    const int64_t wanted = spec->segment ? spec->segment : choose_segment(spec, arch, n_outputs);
    const int64_t segment = wanted == 1 ? 2 : wanted;       /* cuFFT does not guarantee a transform of one point */
    const int reach = reach_of(spec);
    const int64_t n_taps = spec->n_taps + reach;
    if (segment < n_taps || segment > LW_LONG_MOST_SEGMENT)
        return lw_fail(err, LW_ECONFIG, "--segment %" PRId64 " does not suit %" PRId64 " taps: it must be in %" PRId64
                       "..%" PRId64 " (leave it out to have it chosen)", segment, n_taps, n_taps, LW_LONG_MOST_SEGMENT);
    const enum lw_pairing pairing = pairing_of(spec);
    const int64_t hop = segment - spec->n_taps + 1 - reach;
    *out = (struct lw_long_ols_plan){
        .spec = *spec, .pairing = pairing, .segment = segment, .hop = hop, .reach = reach,
        .method = method_for(spec, arch, segment), .needs_gather = needs_gather(spec),
        .unit = pairing == LW_PAIRED_HOPS ? 2 * hop : hop, .channel_unit = pairing == LW_PAIRED_CHANNELS ? 2 : 1,
        .output_complex = pairing == LW_UNPAIRED,
    };
    out->group = (int)lw_min64(spec->n_filters, out->method->most_group);
    /* A batch fills the device, but its segments and products should stay in a large L2 from step to step. All batches of a data
     * set have about the same size, since cuFFT fills up the last batch with zeros. */
    const int64_t batch_samples = (int64_t)1 << 21, most = 64, batch = lw_max64(lw_min64(batch_samples / segment, most), 1);
    const int64_t items = n_outputs > 0 ? count_items(spec, n_outputs, hop) : batch;
    out->batch = (int)lw_divide_up(items, lw_divide_up(items, batch));
    const int shared_by = spec->n_filters * (pairing == LW_UNPAIRED ? 1 : 2);
    out->seconds_per_output = seconds_per_sample(spec, arch, n_outputs, segment) / shared_by + lw_cuda_ols_thinning_seconds(spec);
    return LW_OK;
}

/* Return the fraction of the kernel's modelled cost below which the long path is chosen. The models are not exact: at 4097 taps
 * either may be faster; and in long series, kernels on two blocks are faster up to some 10000 taps, though the models deny it. */
static double clearly(const struct lw_cuda_ols_plan *kernel, int64_t n_outputs)
{
    const struct lw_cuda_ols_spec *const spec = &kernel->spec;
    if (kernel->blocks == 1)
        return 0.85;
    if (n_outputs > 0 && n_outputs * spec->n_channels * spec->n_filters < 1 << 23)
        return 1;
    return pairing_of(spec) == LW_UNPAIRED ? 0.8 : 0.75;
}

bool lw_long_ols_is_cheaper(const struct lw_cuda_ols_plan *kernel, int64_t n_outputs, struct lw_long_ols_plan *out)
{
    /* A short series keeps few clusters of the device busy, each with all filters. So the kernels take it if at least half of their
     * longest segment's values are outputs, or two thirds if two blocks hold the segment. */
    const int64_t dropped = (kernel->most_blocks > 1 ? 3 : 2) * (kernel->spec.n_taps - 1);
    const bool is_short = n_outputs > 0 && n_outputs * kernel->spec.n_channels < 1 << 20 && dropped <= kernel->most_segment;
    return kernel->path == LW_CUDA_SEGMENTS && kernel->spec.segment == 0 && kernel->spec.nth_best == 0 && !is_short &&
           lw_long_ols_choose(&kernel->spec, &kernel->arch, n_outputs, out, NULL) == LW_OK &&
           out->seconds_per_output < clearly(kernel, n_outputs) * kernel->seconds_per_output;
}
