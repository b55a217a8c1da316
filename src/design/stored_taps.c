#include "design/stored_taps.h"

#include "base/memory.h"
#include "design/taps.h"

struct lw_stored_taps lw_stored_doubles(const double *taps, bool is_complex)
{
    return (struct lw_stored_taps){.data = taps, .type = {.scalar = LW_FLOAT64, .is_complex = is_complex}};
}

struct lw_stored_taps lw_stored_from(const struct lw_stored_taps *taps, int64_t n_taps, int64_t filter)
{
    struct lw_stored_taps rest = *taps;
    rest.data = (const char *)taps->data + filter * n_taps * (int64_t)lw_type_bytes(taps->type);
    return rest;
}

void lw_stored_filter(const struct lw_stored_taps *taps, int64_t n_taps, int64_t filter, double *out)
{
    const int parts = taps->type.is_complex ? 2 : 1;
    const struct lw_stored_taps its = lw_stored_from(taps, n_taps, filter);
    lw_type_numbers(its.type, its.data, n_taps * parts, out);
    if (taps->is_reversed)
        lw_taps_reverse(out, n_taps, parts);
}

double *lw_stored_all(const struct lw_stored_taps *taps, int64_t n_filters, int64_t n_taps, struct lw_error *err)
{
    const int64_t values = n_taps * (taps->type.is_complex ? 2 : 1);
    double *const all = lw_alloc_array(n_filters * values, sizeof *all, "the filters in float64", err);
    for (int64_t f = 0; all && f < n_filters; f++)
        lw_stored_filter(taps, n_taps, f, all + f * values);
    return all;
}

double lw_stored_energy(const struct lw_stored_taps *taps, int64_t n_taps, int64_t filter, int64_t tap)
{
    const int64_t at = filter * n_taps + (taps->is_reversed ? n_taps - 1 - tap : tap);
    double h[2] = {0};
    const struct lw_stored_taps its = lw_stored_from(taps, 1, at);
    lw_type_numbers(its.type, its.data, its.type.is_complex ? 2 : 1, h);
    return h[0] * h[0] + h[1] * h[1];
}
