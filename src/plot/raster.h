/* raster.h - samples gathered in the cells of a picture: the least, the largest, the mean and the rms value of those that fall into
 * each; which of too many samples are read; and the range of colours. Pure: the caller brings the memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Finite samples count. */
struct lw_cell {
    double least, largest, sum, squares;
    int64_t count;
};

struct lw_raster {
    int n_rows, n_columns;
    int64_t length;             /* samples of the axis that the columns share, column by column as evenly as can be */
    struct lw_cell *cells;      /* [n_rows x n_columns], borrowed */
};

void lw_raster_clear(const struct lw_raster *raster);

/** The first sample of a column; that of column n_columns is the length. */
int64_t lw_raster_begin(const struct lw_raster *raster, int column);

/** The column that a sample falls into. */
int lw_raster_column(const struct lw_raster *raster, int64_t sample);

/** Add samples [first, first + count) of the axis to a row. @param values  each `stride` after the one before */
void lw_raster_add(const struct lw_raster *raster, int row, int64_t first, int64_t count, const double *values, int64_t stride);

/* What a cell shows. */
enum lw_show { LW_SHOW_MEAN, LW_SHOW_RMS, LW_SHOW_EXTREME };

/** NaN if the cell is empty. LW_SHOW_EXTREME: the sample that is farthest from zero. */
double lw_cell_value(const struct lw_cell *cell, enum lw_show show);

/* ---- too many samples of a dimension: blocks of them, spread evenly over it ---- */

struct lw_thinning {
    int64_t length;             /* of the dimension */
    int64_t unit;               /* blocks begin at multiples of it, counted from `offset` before the first sample on */
    int64_t offset;
    int64_t block;              /* samples in one */
    int64_t n_blocks;
    bool is_whole;              /* the blocks are all samples */
};

/** All samples, in blocks of about `longest`. */
struct lw_thinning lw_thinning_whole(int64_t length, int64_t offset, int64_t unit, int64_t longest);

/** Some, in so many blocks, of whole units; all, where these would be as many. */
struct lw_thinning lw_thinning_spread(int64_t length, int64_t offset, int64_t unit, int64_t n_blocks, int64_t block);

/** Block number b: samples [*first, *first + *count). */
void lw_thinning_block(const struct lw_thinning *thinning, int64_t b, int64_t *first, int64_t *count);

/* ---- colours ---- */

struct lw_colours {
    double low, high;
    bool is_signed;             /* low == -high: values of both signs */
};

/** From the 1st to the 99th percentile of the values that are finite, symmetric about zero where both signs are common. `values` is
 * sorted, what is not finite at the end. No finite value: 0 to 1. @param is_log  only values above zero count */
struct lw_colours lw_colours_choose(double *values, int64_t n, bool is_log);
