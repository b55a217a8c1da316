/* search.h - what signal/search.h makes of a segment's sums. Called by cpu/ols/ols.c.
 *
 *     per block:  lw_cpu_search_begin -> its segments -> lw_cpu_search_combine, task by task -> lw_cpu_search_end
 *     a segment:  lw_cpu_segment_search_begin -> lw_cpu_segment_search, per filter and channel -> lw_cpu_segment_search_end
 *
 * A block of statistics that lies in one segment is measured there. Of one that is cut by seams, each segment measures its piece,
 * a cell, and the cells are added up in their order when all segments are done: so the sums do not depend on who makes them. */
#pragma once

#include "cpu/ols/lane.h"
#include "cpu/op.h"

/** Bytes of lw_cpu_search_create; 0: nothing is searched. */
int64_t lw_cpu_search_bytes(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape, const struct lw_op_plan *plan,
                            const struct lw_cpu_op_size *size);

/** *out stays NULL where nothing is searched. The spec's noise is copied. */
int lw_cpu_search_create(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape, const struct lw_op_plan *plan,
                         const struct lw_cpu_op_size *size, struct lw_cpu_search **out, struct lw_error *err);
void lw_cpu_search_destroy(struct lw_cpu_search *search);   /* NULL is legal */

/** Outputs [*begin, *end) of the axis that the products of a block are made of: its own, and some next to them. */
void lw_cpu_search_range(const struct lw_op_spec *spec, const struct lw_block *block, int64_t *begin, int64_t *end);

/** The same for the crossings of `count` outputs from `first` on. */
void lw_cpu_search_crossings_range(const struct lw_op_spec *spec, int64_t first, int64_t count, int64_t *begin, int64_t *end);

void lw_cpu_search_begin(const struct lw_cpu_ols *ols, struct lw_slot *slot);
void lw_cpu_segment_search_begin(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane, const struct lw_cpu_segment *segment);

/** @param y  the sums of channel c of the tile, as lw_cpu_segment_finish leaves them */
void lw_cpu_segment_search(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane, const struct lw_cpu_segment *segment,
                           int filter, int c, const void *y);
void lw_cpu_segment_search_end(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane, const struct lw_cpu_segment *segment);

/** Whether cells may have to be added up: n_filters x n_channels tasks. */
bool lw_cpu_search_has_cells(const struct lw_cpu_ols *ols);
void lw_cpu_search_combine(const struct lw_cpu_ols *ols, const struct lw_cpu_work *work, const struct lw_slot *slot, int64_t task);

/** Set the slot's number of crossings. */
void lw_cpu_search_end(const struct lw_cpu_ols *ols);
