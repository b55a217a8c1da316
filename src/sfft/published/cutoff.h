/* cutoff.h - the largest of many numbers: by sorting them, or by k-selection. Pure arithmetic. */
#ifndef LW_SFFT_PUBLISHED_CUTOFF_H
#define LW_SFFT_PUBLISHED_CUTOFF_H

#include "sfft/published/published.h"

/* A number and its place. */
struct lw_published_ranked {
    double value;
    int64_t place;
};

/** The places of the `most` largest of values[0 .. count-1], none negative, in ascending order; of equal ones those of the
 * lower places. Both ways give the same.
 * @param work    [count]; for LW_PUBLISHED_SORT only
 * @param places  [most]
 * @return        how many: `most`, or `count` if that is less */
int64_t lw_published_cut(enum lw_published_cutoff way, const double *values, int64_t count, int64_t most,
                         struct lw_published_ranked *work, int64_t *places);

/** The value that only `rank` others of `count` are larger than, by selection: 0 is the largest; none is negative. */
double lw_published_largest(const double *values, int64_t count, int64_t rank);

#endif
