/* pieces.h - how a search is cut on a device: segments of the spectrum, and pieces of r whose powers are in memory together.
 *
 * A piece needs the powers at its points and at those of their lower harmonics, in up to 16 intervals of r. Where a whole range
 * does not fit into memory, each piece computes all its powers anew, also those that another piece had. */
#pragma once

#include "gpu/accel/launch.h"

LW_C_BEGIN

/* Points [begin, end) of r, whole cells, with the intervals of segments that they need. */
struct lw_accel_piece {
    int64_t begin, end;
    int n_intervals;
    struct lw_accel_interval intervals[LW_ACCEL_MOST_HARMONICS];
    int64_t shift[LW_ACCEL_MOST_HARMONICS];     /* see struct lw_accel_cells */
    int64_t columns;                            /* points of all intervals */
};

/** Choose segments for a half width, in bins. */
struct lw_accel_segments lw_accel_segments_of(int half_width);

/** Make a piece. @param begin, end  rounded outwards to cells */
void lw_accel_piece_make(const struct lw_accel_plan *plan, const struct lw_accel_segments *segments, int64_t begin, int64_t end,
                         struct lw_accel_piece *piece);

/** Make the largest piece from `begin` on, at most to `end`, that needs at most `columns`; at least a cell. */
void lw_accel_piece_fit(const struct lw_accel_plan *plan, const struct lw_accel_segments *segments, int64_t begin, int64_t end,
                        int64_t columns, struct lw_accel_piece *piece);

LW_C_END
