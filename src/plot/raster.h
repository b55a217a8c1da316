/* raster.h - a raster of cells, each with the least, the largest, the mean and the rms value of its samples. Also which samples to
 * read if there are too many, and the range of colours. Pure arithmetic: the caller provides the memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Sums over the finite samples of a cell. */
struct lw_cell {
    double least, largest, sum, squares;
    int64_t count;
};

struct lw_raster {
    int n_rows, n_columns;
    int64_t length;             /* samples of the axis, divided among the columns as evenly as possible */
    struct lw_cell *cells;      /* [n_rows x n_columns], borrowed */
};

void lw_raster_clear(const struct lw_raster *raster);

/** Return the first sample of a column; for column n_columns, the length. */
int64_t lw_raster_begin(const struct lw_raster *raster, int column);

/** Return the column that contains a sample. */
int lw_raster_column(const struct lw_raster *raster, int64_t sample);

/** Add samples [first, first + count) of the axis to a row. @param values  [count], `stride` apart */
void lw_raster_add(const struct lw_raster *raster, int row, int64_t first, int64_t count, const double *values, int64_t stride);

/* Which value of a cell is shown; LW_SHOW_EXTREME: the sample that is farthest from zero. */
enum lw_show { LW_SHOW_MEAN, LW_SHOW_RMS, LW_SHOW_EXTREME };

/** Return the value of a cell; NaN: the cell is empty. */
double lw_cell_value(const struct lw_cell *cell, enum lw_show show);

/* ---- blocks of samples, spread evenly over a dimension that has too many ---- */

struct lw_thinning {
    int64_t length;             /* samples of the dimension */
    int64_t unit;               /* samples that are read together (a chunk); blocks begin at multiples of `unit` in the file */
    int64_t offset;             /* index in the file of the dimension's first sample */
    int64_t block;              /* samples of a block */
    int64_t n_blocks;
    bool is_whole;              /* the blocks contain all samples */
};

/** Divide all samples into blocks of about `longest` samples. */
struct lw_thinning lw_thinning_whole(int64_t length, int64_t offset, int64_t unit, int64_t longest);

/** Spread `n_blocks` blocks of whole units evenly; if they would contain all samples, take all. */
struct lw_thinning lw_thinning_spread(int64_t length, int64_t offset, int64_t unit, int64_t n_blocks, int64_t block);

/** Find the samples of block b: [*first, *first + *count). */
void lw_thinning_block(const struct lw_thinning *thinning, int64_t b, int64_t *first, int64_t *count);

/* ---- colours ---- */

struct lw_colours {
    double low, high;
    bool is_signed;             /* low is -high, since values of both signs are common */
};

/** Choose the range of colours: the 1st to the 99th percentile of the finite values, symmetric about zero if both signs are common.
 * Without a finite value: 0 to 1; with is_log 0.1 to 1. `values` is reordered.
 * @param is_log  only values above zero count */
struct lw_colours lw_colours_choose(double *values, int64_t n, bool is_log);
