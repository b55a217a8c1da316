/* box.h - boxes of the samples of a dataset, or of many that are one axis, as real numbers: for those who show or check data, and
 * want any part of it in any order. Runs read slab by slab (reader.h).
 *
 *     boxes  ->  what one file has of each  ->  threads: read, decode (cells.h), convert
 *
 * Storage answers many reads at once faster than one after the other, so there are more threads than cores. The samples of a gap
 * between files are NaN. One process. */
#pragma once

#include "io/format.h"
#include "io/read/reader.h"

struct lw_boxes;

/* Where samples come from. */
struct lw_boxes_spec {
    const struct lw_dataset_info *info; /* as lw_examine_dataset describes it; copied */
    const struct lw_reader *files;      /* borrowed, open or described, which `info` is of; NULL: one file without gaps */
    bool is_pooled;                     /* threads read; else the format does, on the caller's thread */
    bool keeps_parts;                   /* complex samples are pairs, and not their magnitudes */
};

/* In each dimension, `count` samples from `first` on, `step` apart; 0, 1 and 1 where there is no dimension. Where threads read,
 * at most three counts are more than 1. */
struct lw_sample_box {
    int64_t first[LW_MAX_DIMS], count[LW_MAX_DIMS], step[LW_MAX_DIMS];
};

/** Errors: those of lw_formats_find and lw_format.open. */
int lw_boxes_open(const struct lw_boxes_spec *spec, struct lw_boxes **out, struct lw_error *err);
void lw_boxes_close(struct lw_boxes *boxes);                /* NULL is legal */

/** Read boxes. LW_EIO, LW_EDATA; names the file.
 * @param values  those of the first box, row-major, then those of the next, ... */
int lw_boxes_read(struct lw_boxes *boxes, const struct lw_sample_box *wanted, int n, double *values, struct lw_error *err);

/** All numbers of a small dataset: lw_format.read_numbers, or what stands for it; packed numbers are given as their values. */
int lw_format_read_numbers(const struct lw_format *format, const struct lw_dataset_info *info, double *values,
                           struct lw_error *err);
