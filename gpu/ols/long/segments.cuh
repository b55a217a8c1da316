/* segments.cuh - the places of items (steps.h) in a block's input and output, and access to single samples and outputs. */
#pragma once

#include "gpu/device/narrow.cuh"
#include "gpu/device/stored.cuh"
#include "gpu/ols/long/steps.h"

/* Place of an item's signals: [0] a complex signal, or the real one in the real part; [1] the real one in the imaginary part. */
struct placement {
    bool has[2];                        /* whether there is a signal; [1] is false for complex signals */
    int64_t input[2], output[2];        /* places of sample 0 and of output 0, in samples and outputs */
    int64_t samples[2], outputs[2];     /* samples and outputs that the block has from these places on */
    int64_t step, output_step;          /* distance from sample to sample, and from output to output */
};

__device__ inline void place_part(const lw_long_geometry &g, int part, int64_t channel, int64_t start, placement &p)
{
    const int64_t length = g.segment - g.hop + g.count;
    const bool is_slow = g.layout == LW_TIME_SLOW;
    p.has[part] = true;
    p.input[part] = is_slow ? start * g.input_pitch + channel : channel * g.input_pitch + start;
    p.output[part] = is_slow ? start * g.n_channels + channel : channel * g.count + start;
    p.samples[part] = length - start;
    p.outputs[part] = g.count - start;
}

__device__ inline placement place(const lw_long_geometry &g, int64_t item)
{
    const int64_t segment = item / g.n_groups, group = item % g.n_groups;
    placement p = {};
    p.step = g.layout == LW_TIME_SLOW ? g.input_pitch : 1;
    p.output_step = g.layout == LW_TIME_SLOW ? g.n_channels : 1;
    if (item >= g.n_items)
        return p;
    if (g.pairing == LW_PAIRED_CHANNELS) {
        place_part(g, 0, 2 * group, segment * g.hop, p);
        if (2 * group + 1 < g.n_channels)
            place_part(g, 1, 2 * group + 1, segment * g.hop, p);
    } else if (g.pairing == LW_PAIRED_HOPS) {
        place_part(g, 0, group, 2 * segment * g.hop, p);
        place_part(g, 1, group, (2 * segment + 1) * g.hop, p);
    } else {
        place_part(g, 0, group, segment * g.hop, p);
    }
    return p;
}

/* Return point `position` of an item. It is zero beyond the block, and where a sample is not finite, which sets not_finite. */
template <typename Real, typename Stored>
__device__ inline Complex<Real> fetch(const lw_long_geometry &g, const placement &p, const Stored *input,
                                      int64_t position, bool &not_finite)
{
    Complex<Real> value = {0, 0};
    if (p.has[0] && position < p.samples[0]) {
        const int64_t at = p.input[0] + position * p.step;
        if (g.input_complex)
            return finite_complex<Real>(input, at, not_finite);
        value.x = finite_of<Stored>((Real)input[at], not_finite);
    }
    if (p.has[1] && position < p.samples[1])
        value.y = finite_of<Stored>((Real)input[p.input[1] + position * p.step], not_finite);
    return value;
}

/* Store output o of an item's hop, as far as it is in the block. */
template <typename C>
__device__ inline void put_value(const lw_long_geometry &g, const placement &p, C value, int64_t o, void *plane, Losses &losses)
{
    if (p.has[0] && o < p.outputs[0]) {
        const int64_t at = p.output[0] + o * p.output_step;
        if (g.output_complex)
            put_complex(g.narrow, plane, at, value, losses);
        else
            put_number(g.narrow, plane, at, value.x, losses);
    }
    if (p.has[1] && o < p.outputs[1])
        put_number(g.narrow, plane, p.output[1] + o * p.output_step, value.y, losses);
}
