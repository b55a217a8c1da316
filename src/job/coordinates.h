/* coordinates.h - the dimension scales of a product: time, place or number of each element along a dimension. */
#pragma once

#include "job/job.h"

/* Sampling of the outputs on an axis: output i has the time of the input's sample first + i x every / rate. */
struct lw_steps {
    int64_t first, every;
    int rate;
};

/** Give each dimension of a product its scale. The axis gets times from the input's sampling. The channels (or images) get the
 * input's coordinates, and their dimension gets the coordinates' name. All others, such as filters, are numbered; rows of tables
 * get no values. The product's dimensions, axis_dim and channel_dim must be set before. */
void lw_coordinates_set(const struct lw_job *job, struct lw_steps steps, struct lw_product *product);

/** Give a product of images its last dimensions: the image, if the input is a stack, the row and the column, with their scales and
 * their map to the pixels of the input. @param first  row and column of the input at the first pixel @param size  rows, columns
 * @param every  rows and columns of the input from pixel to pixel */
void lw_coordinates_images(const struct lw_job *job, const int64_t first[2], const int64_t size[2], int64_t every,
                           struct lw_product *product);

/** Give the dimension of chosen channels its scale: their coordinates in the input, whose name the dimension takes, or their
 * numbers. @param places  borrowed while the dataset is in use; NULL: none @param what  name of a channel; static storage */
void lw_coordinates_channels(const struct lw_coordinate *places, const struct lw_range *channels, const char *what,
                             struct lw_writer_dataset *dataset, int dimension);

/** Give one dimension a scale of places a constant distance apart; scale.kind is set here. */
void lw_coordinates_place(struct lw_product *product, int dimension, struct lw_writer_scale scale);

/** Read the scale from which a dimension of a dataset has its name, in the dataset's group: a real number for each element. Where
 * no such scale can be read, *values stays NULL. LW_ESYSTEM. Collective.
 * @param values  set; to be released with lw_free @param unit  set, unless *values stays NULL */
int lw_coordinates_read(struct lw_comm *comm, const struct lw_dataset_info *info, int dimension, double **values, char unit[32],
                        struct lw_error *err);
