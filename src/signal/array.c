#include "signal/array.h"

#include "base/integers.h"

void lw_shifts_span(struct lw_shifts *shifts)
{
    int64_t least = 0, most = 0;
    for (int64_t i = 0; i < shifts->n * shifts->n_inputs; i++) {
        if (shifts->weights && shifts->weights[i] == 0)
            continue;
        least = lw_min64(least, shifts->delays[i]);
        most = lw_max64(most, shifts->delays[i]);
    }
    shifts->before = -least;
    shifts->after = most;
}
