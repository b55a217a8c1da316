/* coordinates.h - where the elements of a product's dimensions lie: its dimension scales. */
#pragma once

#include "job/job.h"

/* Of the outputs on an axis, number i belongs to the input's sample first + i x every / rate. */
struct lw_steps {
    int64_t first, every;
    int rate;
};

/** Give each dimension of a product its scale: the axis, by the input's sampling; the channels (or images) that were chosen, by
 * the input's coordinates, after which the dimension is then named; filters, and whatever else is only counted; no values to the
 * rows of a table. The product's dimensions, axis_dim and channel_dim are set. */
void lw_coordinates_set(const struct lw_job *job, struct lw_steps steps, struct lw_product *product);

/** The scale of one dimension whose elements are numbers. @param what  "row"; static storage */
void lw_coordinates_count(struct lw_product *product, int dimension, int64_t first, int64_t every, const char *what);

/** The scale of one dimension whose elements lie at places, a constant step apart. */
void lw_coordinates_place(struct lw_product *product, int dimension, struct lw_writer_scale scale);
