/* box.h - boxes of samples as real numbers, from one dataset or from many joined to one axis. This interface is for commands that
 * show or check data and read any part in any order. Runs read slab by slab (reader.h).
 *
 *     boxes  ->  each file's share of each box  ->  threads: read, decode (cells.h), convert
 *
 * Storage answers many reads at once faster than one after the other, so there are more threads than cores. Samples in gaps between
 * files become NaN. Not collective. */
#pragma once

#include "io/format.h"
#include "io/read/reader.h"

struct lw_boxes;

/* The source of samples: a dataset, or joined files. */
struct lw_boxes_spec {
    const struct lw_dataset_info *info; /* filled by lw_examine_dataset or lw_reader_info; copied */
    const struct lw_reader *files;      /* borrowed; reader of the joined files, open or only described; NULL: one file */
    bool is_pooled;                     /* a pool's threads read; false: the format reads on the caller's thread */
    bool keeps_parts;                   /* complex samples become pairs of numbers; false: magnitudes */
};

/* A box: in each dimension, `count` samples from `first` on, `step` apart. Dimensions beyond the dataset's have first 0, count 1
 * and step 1. Where threads read, at most three counts exceed 1. */
struct lw_sample_box {
    int64_t first[LW_MAX_DIMS], count[LW_MAX_DIMS], step[LW_MAX_DIMS];
};

/** Open the source for reading. Errors: those of lw_formats_find and lw_format.open. */
int lw_boxes_open(const struct lw_boxes_spec *spec, struct lw_boxes **out, struct lw_error *err);
void lw_boxes_close(struct lw_boxes *boxes);                /* NULL is legal */

/** Read n boxes. LW_EIO, LW_EDATA; the message names the file.
 * @param values  numbers of all boxes, one box behind the other, each row-major */
int lw_boxes_read(struct lw_boxes *boxes, const struct lw_sample_box *wanted, int n, double *values, struct lw_error *err);

/** Read a small dataset on this process alone, as lw_reader_read_numbers does for all.
 * @param values  to be released after errors, too */
int lw_numbers_read(const char *name, int most_dims, struct lw_dataset_info *info, double **values, struct lw_error *err);

/** Read all numbers of a small dataset, by lw_format.read_numbers or else by boxes. Packed numbers become their values. */
int lw_format_read_numbers(const struct lw_format *format, const struct lw_dataset_info *info, double *values,
                           struct lw_error *err);
