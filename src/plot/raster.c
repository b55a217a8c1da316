#include "plot/raster.h"

#include "base/integers.h"
#include "base/select.h"

#include <math.h>

void lw_raster_clear(const struct lw_raster *raster)
{
    for (int64_t i = 0; i < (int64_t)raster->n_rows * raster->n_columns; i++)
        raster->cells[i] = (struct lw_cell){.least = INFINITY, .largest = -INFINITY};
}

/* Return part x length / n without overflow: lengths have up to 63 bits. */
static int64_t share(int64_t length, int64_t part, int64_t n) { return length / n * part + length % n * part / n; }

int64_t lw_raster_begin(const struct lw_raster *raster, int column) { return share(raster->length, column, raster->n_columns); }

int lw_raster_column(const struct lw_raster *raster, int64_t i)
{
    int column = (int)((double)i / (double)raster->length * raster->n_columns);
    column = column < raster->n_columns ? column : raster->n_columns - 1;
    while (column > 0 && lw_raster_begin(raster, column) > i)
        column--;
    while (column + 1 < raster->n_columns && lw_raster_begin(raster, column + 1) <= i)
        column++;
    return column;
}

static void add(struct lw_cell *cell, const double *values, int64_t count, int64_t stride)
{
    struct lw_cell sum = *cell;
    for (int64_t i = 0; i < count; i++) {
        const double value = values[i * stride];
        if (!isfinite(value))
            continue;
        sum.least = value < sum.least ? value : sum.least;
        sum.largest = value > sum.largest ? value : sum.largest;
        sum.sum += value;
        sum.squares += value * value;
        sum.count++;
    }
    *cell = sum;
}

void lw_raster_add(const struct lw_raster *raster, int row, int64_t first, int64_t count, const double *values, int64_t stride)
{
    for (int column = count > 0 ? lw_raster_column(raster, first) : 0; count > 0; column++) {
        const int64_t here = lw_min64(count, lw_raster_begin(raster, column + 1) - first);
        add(&raster->cells[(int64_t)row * raster->n_columns + column], values, here, stride);
        first += here;
        count -= here;
        values += here * stride;
    }
}

double lw_cell_value(const struct lw_cell *cell, enum lw_show show)
{
    if (cell->count == 0)
        return NAN;
    switch (show) {
    case LW_SHOW_MEAN: return cell->sum / (double)cell->count;
    case LW_SHOW_RMS: return sqrt(cell->squares / (double)cell->count);
    case LW_SHOW_EXTREME: return -cell->least > cell->largest ? cell->least : cell->largest;
    }
    return NAN;
}

/* ---- blocks -------------------------------------------------------------------------------------------------------- */

struct lw_thinning lw_thinning_whole(int64_t length, int64_t offset, int64_t unit, int64_t longest)
{
    struct lw_thinning t = {.length = length, .unit = unit, .offset = offset, .is_whole = true};
    t.block = lw_max64(lw_min64(longest, length + unit) / unit * unit, unit);
    t.n_blocks = lw_divide_up(length + offset % unit, t.block);
    return t;
}

struct lw_thinning lw_thinning_spread(int64_t length, int64_t offset, int64_t unit, int64_t n_blocks, int64_t block)
{
    const int64_t whole_units = lw_max64(block / unit * unit, unit);
    if (n_blocks >= lw_divide_up(length, whole_units))
        return lw_thinning_whole(length, offset, unit, block);
    return (struct lw_thinning){
        .length = length, .unit = unit, .offset = offset, .block = whole_units, .n_blocks = lw_max64(n_blocks, 1),
    };
}

/* If all samples are read, blocks are counted from the unit that contains the first sample. */
void lw_thinning_block(const struct lw_thinning *t, int64_t b, int64_t *first, int64_t *count)
{
    int64_t begin = b * t->block - t->offset % t->unit, end = begin + t->block;
    if (!t->is_whole) {
        const int64_t low = share(t->length, b, t->n_blocks), high = share(t->length, b + 1, t->n_blocks);
        begin = low + lw_max64(high - low - t->block, 0) / 2;
        begin -= (t->offset + begin) % t->unit;
        end = begin + t->block;
    }
    *first = lw_max64(begin, 0);
    *count = lw_min64(end, t->length) - *first;
}

/* ---- colours ------------------------------------------------------------------------------------------------------- */

struct lw_colours lw_colours_choose(double *values, int64_t n, bool is_log)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {       /* move the values that count to the front */
        const double value = values[i];
        if (!isfinite(value) || (is_log && value <= 0))
            continue;
        values[i] = values[kept];
        values[kept++] = value;
    }
    if (kept == 0)
        return (struct lw_colours){.low = is_log ? 0.1 : 0, .high = 1};
    const int64_t one = (kept - 1) / 100;       /* a percentile */
    struct lw_colours c = {.low = lw_select(values, kept, one), .high = lw_select(values, kept, kept - 1 - one)};
    const double size = fmax(-c.low, c.high);
    c.is_signed = !is_log && c.low < -size / 3 && c.high > size / 3;
    if (c.is_signed) {
        c.low = -size;
        c.high = size;
    } else if (!(c.low < c.high)) {     /* all values are equal */
        c.high = c.low + (c.low != 0 ? fabs(c.low) : 1);
    }
    return c;
}
