/* access.cuh - loads an item's samples (steps.h) to registers and stores its outputs from there, if a channel's samples and outputs
 * are contiguous. All loads of a thread are in flight before it uses the first value. */
#pragma once

#include "gpu/ols/long/segments.cuh"

/* Place of an item; indices 0 and 1 as in struct placement. */
struct ItemPlace {
    int64_t input[2], output[2];        /* places of point 0 and of output 0, in samples and outputs */
    int have[2], want[2];               /* points that have a sample; outputs that the block has */
    int discard;                        /* point of output 0: the first `discard` points are not valid */
};

LW_DEVICE int within(int64_t x, int64_t most) { return (int)(x < 0 ? 0 : x < most ? x : most); }

LW_DEVICE ItemPlace item_place(const lw_long_geometry &g, int64_t item)
{
    const placement p = place(g, item);
    ItemPlace i = {};
    for (int part = 0; part < 2; ++part) {
        i.input[part] = p.input[part];
        i.output[part] = p.output[part];
        i.have[part] = p.has[part] ? within(p.samples[part], g.segment) : 0;
        i.want[part] = p.has[part] ? within(p.outputs[part], g.hop) : 0;
    }
    i.discard = (int)(g.segment - g.hop);
    return i;
}

/* Load v[m] = point begin + step(m), zero if it has no finite sample. WIDE: complex. Return whether a sample was not finite. */
template <class Stored, bool WIDE, class C, int E, class Step>
LW_DEVICE bool load_item(C (&v)[E], const void *input, const ItemPlace &p, int begin, Step step)
{
    using Real = decltype(C::x);
    const Stored *first = (const Stored *)input + (p.input[0] + begin) * (WIDE ? 2 : 1);
    const Stored *second = (const Stored *)input + p.input[1] + begin;
    opaque(first);
    opaque(second);
#pragma unroll
    for (int m = 0; m < E; ++m) {
        const int k = step(m);
        v[m] = {0, 0};
        if (begin + k < p.have[0])
            v[m] = stored_pair<Real, Stored, WIDE>(first, k);
        if (!WIDE && begin + k < p.have[1])
            v[m].y = converted<Real>(__ldg(second + k));
    }
    bool met = false;
#pragma unroll
    for (int m = 0; m < E; ++m) {
        v[m].x = finite_or_zero(v[m].x, met);
        v[m].y = finite_or_zero(v[m].y, met);
    }
    return met;
}

template <class C, int E, class Step>
LW_DEVICE bool load_item(C (&v)[E], const lw_long_geometry &g, const void *input, const ItemPlace &p, int begin, Step step)
{
    return with_sample(g.input, g.input_complex, [&](auto stored, auto is_complex) {
        return load_item<decltype(stored), decltype(is_complex)::value>(v, input, p, begin, step);
    });
}

/* Store the outputs among v[m], the item's values at points begin + step(m) with re and im swapped. WIDE: complex outputs. Out: the
 * type of a stored number. */
template <bool WIDE, class C, int E, class Out, class Step>
LW_DEVICE void store_item(const C (&v)[E], Out *plane, const ItemPlace &p, int begin, Step step)
{
    const int o = begin - p.discard;
    Out *first = plane + (p.output[0] + o) * (WIDE ? 2 : 1), *second = plane + p.output[1] + o;
    opaque(first);
    opaque(second);
#pragma unroll
    for (int m = 0; m < E; ++m) {
        const int k = step(m);
        if (WIDE) {
            if ((unsigned)(o + k) < (unsigned)p.want[0])
                put_two(first + 2 * k, v[m].y, v[m].x);
        } else {
            if ((unsigned)(o + k) < (unsigned)p.want[0])
                put(first + k, stored_bits<Out>(v[m].y));
            if ((unsigned)(o + k) < (unsigned)p.want[1])
                put(second + k, stored_bits<Out>(v[m].x));
        }
    }
}

/* Store the same outputs to place `plane` of `output`, counted in numbers; NARROW: numbers of the type that g.narrow tells. */
template <bool NARROW, class C, int E, class Step>
LW_DEVICE void store_outputs(C (&v)[E], const lw_long_geometry &g, void *output, int64_t plane, const ItemPlace &p, int begin,
                             Step step)
{
    const auto store = [&](auto *to) {
        if (g.output_complex)
            store_item<true>(v, to + plane, p, begin, step);
        else
            store_item<false>(v, to + plane, p, begin, step);
    };
    if constexpr (NARROW) {
        narrow_all(v, g.narrow, [](int) { return true; }, [&](int m, int part) {        /* re and im are swapped */
            const int want = p.want[!g.output_complex && part == 0 ? 1 : 0];
            return (unsigned)(begin - p.discard + step(m)) < (unsigned)want;
        });
        with_words(g.narrow, [&](auto out) { store((decltype(out) *)output); });
    } else
        store((decltype(C::x) *)output);
}
