/* map.h - reads the map of the weights of an image's pixels (job/weights.h) for each block, into slot->map.
 *
 *     rows of a block   | halo | own rows |    laid out as slot->input; beyond the image's first and last row the map is 0
 *
 * Each rank reads the rows of the halo, too, so that the map needs no messages. A map of one image is copied for each image of the
 * block. Reading goes on while begin and end lie apart; end converts the numbers. */
#pragma once

#include "stream/plan.h"

struct lw_map;

/** Let a view of the image show the map. @return  whether the map of one image serves all; then the view has one channel */
bool lw_map_show(const struct lw_reader *reader, struct lw_view_spec *view);

/** Return the bytes of the map that all ranks read together, halos not counted. @param reader  NULL: not known yet */
int64_t lw_map_input_bytes(const struct lw_reader *reader, const struct lw_job *job);

/** Return the host bytes of reading, slots not included; 0 without a map (NULL). */
int64_t lw_map_bytes(const struct lw_reader *reader, const struct lw_job *job, const struct lw_plan *plan);

/** Select the view of a plan. *out stays NULL without a map. LW_ESYSTEM; LW_ECONFIG: the map lacks rows. Not collective.
 * @param reader, job  borrowed until lw_map_destroy */
int lw_map_create(struct lw_reader *reader, const struct lw_job *job, const struct lw_plan *plan, struct lw_map **out,
                  struct lw_error *err);
void lw_map_destroy(struct lw_map *map);                    /* waits for a read in progress; NULL is legal */

/** Begin to read the map of a part of the image, with the halo before it; wait for it. Nothing happens without a map (NULL).
 * @param part  the own rows of a block, and their place in its slot
 * @param into  slot->map, used until lw_map_end */
int lw_map_begin(struct lw_map *map, const struct lw_window_part *part, void *into, struct lw_error *err);
int lw_map_end(struct lw_map *map, struct lw_error *err);
