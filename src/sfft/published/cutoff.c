#include "sfft/published/cutoff.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- sort ---------------------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const struct lw_published_ranked *const x = a, *const y = b;
    if (x->value != y->value)
        return x->value < y->value ? 1 : -1;
    return (x->place > y->place) - (x->place < y->place);
}

static int by_place(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void sort_and_take(const double *values, int64_t count, int64_t most, struct lw_published_ranked *work, int64_t *places)
{
    for (int64_t i = 0; i < count; i++)
        work[i] = (struct lw_published_ranked){values[i], i};
    qsort(work, (size_t)count, sizeof *work, by_value);
    for (int64_t i = 0; i < most; i++)
        places[i] = work[i].place;
    qsort(places, (size_t)most, sizeof *places, by_place);
}

/* ---- select -------------------------------------------------------------------------------------------------------- */

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

static void select_and_take(const double *values, int64_t count, int64_t most, int64_t *places)
{
    int64_t equal, taken = 0;
    const uint64_t least = find_least(values, count, most, &equal);
    for (int64_t i = 0; i < count; i++) {
        const uint64_t bits = bits_of(values[i]);
        if (bits > least || (bits == least && equal-- > 0))
            places[taken++] = i;
    }
    assert(taken == most);
}

int64_t lw_published_cut(enum lw_published_cutoff way, const double *values, int64_t count, int64_t most,
                         struct lw_published_ranked *work, int64_t *places)
{
    if (most > count)
        most = count;
    if (most <= 0)
        return 0;
    if (way == LW_PUBLISHED_SORT)
        sort_and_take(values, count, most, work, places);
    else
        select_and_take(values, count, most, places);
    return most;
}

double lw_published_largest(const double *values, int64_t count, int64_t rank)
{
    int64_t equal;
    const uint64_t bits = find_least(values, count, rank + 1, &equal);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
