/* signal.h - one channel of a signal in memory, as it is stored. Whoever collects samples takes them from it, in the order of
 * a run (sparse/collect.c) and in the CPU engine (cpu/sfft/buckets.c). */
#pragma once

#include "base/type.h"

struct lw_sfft_signal {
    struct lw_type type;
    const void *samples;
    int64_t stride;                 /* from one to the next, in samples */
};

/** One sample as (re, im); im is 0 for real types. */
static inline void lw_sfft_sample(const struct lw_sfft_signal *signal, int64_t index, double out[2])
{
    const int64_t i = index * signal->stride;
    const bool is_complex = signal->type.is_complex;
    out[0] = lw_type_number(signal->type, signal->samples, is_complex ? 2 * i : i);
    out[1] = is_complex ? lw_type_number(signal->type, signal->samples, 2 * i + 1) : 0;
}
