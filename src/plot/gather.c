#include "plot/gather.h"

#include "base/integers.h"
#include "base/memory.h"

#include <stdio.h>

/* How a subject is read. */
struct reading {
    struct lw_subject *subject;
    const struct lw_gather *what;
    const struct lw_grid *grid;
    struct lw_thinning thinning;
    int64_t n_channels;                 /* chosen */
    int64_t every;                      /* of these, one is read */
    int64_t group;                      /* channels in one read */
    double *values;
    int64_t n_read;
};

/* Where x is slow, rows of channels lie in the file side by side, and leaving channels out gains nothing; nor does it in chunks. */
static int64_t choose_channels(const struct lw_subject *subject, int64_t n_channels, bool is_much, const struct lw_gather *what)
{
    const bool can_choose = lw_subject_is_x_fast(subject) && lw_subject_unit_y(subject) == 1;
    return is_much && can_choose ? max64(n_channels / what->most_rows, 1) : 1;
}

enum { PAGE = 4096 };

/* Bytes that come from the file for each sample of the axis: chunks come whole, and so do pages. */
static int64_t bytes_each(const struct reading *r)
{
    const struct lw_subject *const subject = r->subject;
    const int64_t sample = (int64_t)lw_type_bytes(subject->info.type), extent = r->what->y_end - r->what->y_begin;
    if (lw_subject_is_x_fast(subject))
        return round_up(divide_up(r->n_channels, r->every), lw_subject_unit_y(subject)) * sample;
    return max64(min64(round_up(extent, lw_subject_unit_y(subject)), subject->n_y) * sample, min64(PAGE, subject->n_y * sample));
}

/* Blocks of a file that lies as it is are pages of it, if that leaves enough of them. */
static int64_t least_block(const struct reading *r, int64_t length, int64_t most)
{
    const struct lw_subject *const subject = r->subject;
    const int64_t unit = lw_subject_unit_x(subject), row = lw_subject_is_x_fast(subject) ? 1 : subject->n_y;
    const int64_t page = PAGE / (int64_t)lw_type_bytes(subject->info.type) / row;
    return unit > 1 ? unit : max64(min64(page, min64(length, most) / r->what->most_columns), 1);
}

static void plan(struct reading *r)
{
    const struct lw_gather *const what = r->what;
    const int64_t length = what->end - what->begin, sample = (int64_t)lw_type_bytes(r->subject->info.type);
    r->n_channels = divide_up(what->y_end - what->y_begin, what->y_step);
    const double bytes = (double)length * (double)r->n_channels * (double)sample;
    r->every = choose_channels(r->subject, r->n_channels, bytes > (double)what->most_bytes, what);

    const int64_t n_read = divide_up(r->n_channels, r->every), most = max64(what->most_bytes / bytes_each(r), 1);
    const int64_t unit = min64(least_block(r, length, most), LW_SUBJECT_VALUES);
    r->group = min64(n_read, max64(LW_SUBJECT_VALUES / unit, 1));
    if (lw_subject_unit_y(r->subject) > 1 && r->group < n_read)
        r->group = max64(r->group / lw_subject_unit_y(r->subject) * lw_subject_unit_y(r->subject), 1);
    r->thinning = lw_thinning_choose(length, what->begin, unit, most, LW_SUBJECT_VALUES / r->group, what->most_columns);
    r->thinning.block = min64(r->thinning.block, LW_SUBJECT_VALUES / r->group);
}

/* Row i begins with channel i x n_channels / n_rows, rounded down, as columns do. */
static int row_of(const struct reading *r, int64_t channel)
{
    return (int)(((channel + 1) * r->grid->n_rows - 1) / r->n_channels);
}

static void add(const struct reading *r, const struct lw_subject_box *box, int64_t first_channel)
{
    const bool is_x_fast = lw_subject_is_x_fast(r->subject);
    const int64_t along = is_x_fast ? 1 : box->n_y, across = is_x_fast ? box->n_x : 1;
    for (int64_t c = 0; c < box->n_y; c++)
        lw_grid_add(r->grid, row_of(r, (first_channel + c) * r->every), box->x - r->what->begin, box->n_x,
                    r->values + c * across, along);
}

static int read_block(struct reading *r, int64_t b, int64_t first_channel, int64_t n_channels, struct lw_error *err)
{
    int64_t first, count;
    lw_thinning_block(&r->thinning, b, &first, &count);
    const int64_t step = r->what->y_step * r->every;
    const struct lw_subject_box box = {
        .x = r->what->begin + first, .n_x = count, .y = r->what->y_begin + first_channel * step, .n_y = n_channels, .y_step = step,
        .z = r->what->z,
    };
    if (count <= 0)
        return LW_OK;
    const int rc = lw_subject_read(r->subject, &box, r->values, err);
    if (rc == LW_OK)
        add(r, &box, first_channel);
    r->n_read += count * n_channels;
    return rc;
}

static int read_all(struct reading *r, struct lw_error *err)
{
    const int64_t n_channels = divide_up(r->n_channels, r->every);
    int rc = LW_OK;
    for (int64_t c = 0; c < n_channels && rc == LW_OK; c += r->group)
        for (int64_t b = 0; b < r->thinning.n_blocks && rc == LW_OK; b++)
            rc = read_block(r, b, c, min64(r->group, n_channels - c), err);
    return rc;
}

/* With too many samples, no more columns than blocks: each column has some. */
static int make_grid(const struct reading *r, struct lw_grid *grid, struct lw_error *err)
{
    const int64_t length = r->thinning.length, channels = divide_up(r->n_channels, r->every);
    grid->length = length;
    grid->n_rows = (int)min64(channels, r->what->most_rows);
    grid->n_columns = (int)min64(length, r->what->most_columns);
    if (!r->thinning.is_whole)
        grid->n_columns = (int)min64(grid->n_columns, r->thinning.n_blocks);
    grid->cells = lw_alloc_array((int64_t)grid->n_rows * grid->n_columns, sizeof *grid->cells, "the picture", err);
    if (!grid->cells)
        return LW_ESYSTEM;
    lw_grid_clear(grid);
    return LW_OK;
}

int lw_gather(struct lw_subject *subject, const struct lw_gather *what, struct lw_gathered *gathered, struct lw_error *err)
{
    struct reading r = {.subject = subject, .what = what, .grid = &gathered->grid};
    *gathered = (struct lw_gathered){0};
    plan(&r);
    int rc = make_grid(&r, &gathered->grid, err);
    if (rc == LW_OK && !(r.values = lw_alloc_array(LW_SUBJECT_VALUES, sizeof *r.values, "samples", err)))
        rc = LW_ESYSTEM;
    if (rc == LW_OK)
        rc = read_all(&r, err);
    lw_free(r.values);
    gathered->n_channels = r.n_channels;
    gathered->part = (double)r.n_read / ((double)r.thinning.length * (double)r.n_channels);
    return rc;
}

void lw_gathered_release(struct lw_gathered *gathered)
{
    lw_free(gathered->grid.cells);
    *gathered = (struct lw_gathered){0};
}

const char *lw_gathered_note(double least, char *text, size_t size)
{
    if (least >= 1)
        snprintf(text, size, "%s", "");
    else
        snprintf(text, size, "drawn from %.2g%% of the samples, evenly spread", 100 * least);
    return text;
}
