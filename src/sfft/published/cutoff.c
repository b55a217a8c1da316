#include "sfft/published/steps.h"

#include <assert.h>
#include <string.h>

/* Numbers that are not negative have the order of their bits. The selection goes through these digit by digit, from the top. */
enum { DIGIT = 11, DIGITS = 1 << DIGIT, TOP = 64 - DIGIT };

static inline uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The bits of the `most`-th largest value. @param equal  set to how many of the `most` largest have that very value */
static uint64_t find_least(const double *values, int64_t count, int64_t most, int64_t *equal)
{
    uint64_t known = 0, mask = 0;
    for (int shift = TOP; mask != UINT64_MAX; shift = shift > DIGIT ? shift - DIGIT : 0) {
        int64_t seen[DIGITS] = {0};
        for (int64_t i = 0; i < count; i++)
            if ((bits_of(values[i]) & mask) == known)
                seen[bits_of(values[i]) >> shift & (DIGITS - 1)]++;
        uint64_t digit = DIGITS - 1;
        while (seen[digit] < most)
            most -= seen[digit--];
        known |= digit << shift;
        mask |= (uint64_t)(DIGITS - 1) << shift;
    }
    *equal = most;
    return known;
}

int64_t lw_published_cut(const double *values, int64_t count, int64_t most, int64_t *places)
{
    int64_t equal, taken = 0;
    if (most > count)
        most = count;
    if (most <= 0)
        return 0;
    const uint64_t least = find_least(values, count, most, &equal);
    for (int64_t i = 0; i < count; i++) {
        const uint64_t bits = bits_of(values[i]);
        if (bits > least || (bits == least && equal-- > 0))
            places[taken++] = i;
    }
    assert(taken == most);
    return most;
}
