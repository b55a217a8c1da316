/* samples.c - reads the input around some outputs, and finds the rms values of their segments. */
#include "verify/state.h"

#include "base/integers.h"
#include "base/memory.h"

/* Energies are summed in cells of 1 / CELLS of a segment's length; a segment lies within COVER cells. Segments may be transformed
 * in pairs and then share rounding errors; the other segment of a pair begins at most NEAR lengths away. */
enum { CELLS = 4, COVER = CELLS + 1, NEAR = 2 };

/* Values in a piece of an image; least number of outputs in a piece of a series. */
enum { PIECE_VALUES = 1 << 20, PIECE_OUTPUTS = 1024 };

/* ---- reading ----------------------------------------------------------------------------------------------------- */

int64_t lw_verify_piece_rows(const struct lw_verify_shape *shape)
{
    const int64_t wanted = shape->is_image ? PIECE_VALUES / shape->columns : lw_max64(PIECE_OUTPUTS, shape->segment_rows / 2);
    return lw_max64(1, lw_min64(wanted, shape->n_outputs));
}

int64_t lw_verify_rows_read(const struct lw_verify_shape *shape, int64_t n_outputs)
{
    return shape->n_series * (n_outputs + shape->reach - 1 + 2 * NEAR * shape->segment_rows);
}

/* Return the mesh of number m of verify->meshes; NULL: the operation uses none. */
static const struct lw_mesh *mesh_of(const struct lw_job *job, int m)
{
    return !job->mesh ? NULL : m == LW_VERIFY_BACKGROUND ? job->op.conv2d.background : job->op.conv2d.sigma;
}

/* Make the maps at rows [begin, end) of an image, which the boundary continues; 0 where there is no pixel. */
static void make_maps(struct lw_verify *verify, int64_t channel, int64_t begin, int64_t end)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    for (int m = 0; m < LW_VERIFY_MESHES; m++)
        for (int64_t row = begin; row < end && verify->meshes[m]; row++) {
            float *const map = verify->meshes[m] + (row - begin) * shape->columns;
            const int64_t from = lw_boundary_index(shape->boundary, row, shape->n_rows);
            if (from >= 0)
                lw_mesh_row(mesh_of(&verify->job, m), channel, from, 0, shape->columns, map);
            else
                memset(map, 0, (size_t)shape->columns * sizeof *map);
        }
}

int lw_verify_open_window(struct lw_verify *verify, int64_t most_rows, struct lw_error *err)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    const int64_t bytes = shape->columns * (int64_t)lw_type_bytes(verify->job.op.input);
    lw_window_destroy(verify->window);
    lw_map_destroy(verify->map);
    lw_free(verify->raw);
    lw_free(verify->raw_map);
    verify->window = NULL;
    verify->map = NULL;
    verify->raw_map = NULL;
    verify->plan = (struct lw_plan){
        .op = {.halo = shape->reach - 1, .input_width = shape->columns}, .rounds = {.slice = most_rows, .group = 1}, .depth = 1,
        .chunks = LW_CHUNKS_IN_PLACE,
    };
    const struct lw_view_spec view = lw_plan_view(&verify->plan, &verify->job);
    const struct lw_window_spec window = lw_plan_window(&verify->plan, &verify->job, verify->reader);
    if (!(verify->raw = lw_alloc_array(most_rows, (size_t)bytes, "samples of the input", err)))
        return LW_ESYSTEM;
    int rc = lw_reader_select(verify->reader, &view, err);
    if (rc == LW_OK)
        rc = lw_window_create(&window, &verify->window, err);
    if (rc == LW_OK && verify->mask)
        rc = lw_mask_start(verify->mask, &verify->job, &verify->plan, err);
    const int64_t map_bytes = shape->columns * (int64_t)lw_type_bytes(verify->job.op.conv2d.map);
    if (rc == LW_OK && verify->map_reader && !(verify->raw_map = lw_alloc_array(most_rows, (size_t)map_bytes, "weights", err)))
        rc = LW_ESYSTEM;
    for (int m = 0; rc == LW_OK && m < LW_VERIFY_MESHES; m++) {
        lw_free(verify->meshes[m]);
        verify->meshes[m] = NULL;
        if (mesh_of(&verify->job, m) &&
            !(verify->meshes[m] = lw_alloc_array(most_rows * shape->columns, sizeof *verify->meshes[m], "a map", err)))
            rc = LW_ESYSTEM;
    }
    return rc ? rc : lw_map_create(verify->map_reader, &verify->job, &verify->plan, &verify->map, err);
}

/* Read rows [begin, end) of a channel into verify->raw, with zeros for masked rows. */
static int read_rows(struct lw_verify *verify, int64_t channel, int64_t begin, int64_t end, struct lw_error *err)
{
    const struct lw_window_part part = {
        .begin = begin, .end = end, .channel = channel, .n_channels = 1, .into = verify->raw, .into_axis = end - begin,
    };
    int rc = lw_window_read(verify->window, &part, err);
    make_maps(verify, channel, begin, end);
    (void)(rc || (rc = lw_map_begin(verify->map, &part, verify->raw_map, err)) || (rc = lw_map_end(verify->map, err)));
    return rc || !verify->mask ? rc : lw_mask_apply(verify->mask, 0, &part, err);
}

/* Return value i of verify->raw, less its background. */
static double complex value_at(const struct lw_verify *verify, int64_t i)
{
    const struct lw_type type = verify->job.op.input;
    if (!type.is_complex)
        return lw_type_number(type, verify->raw, i) -
               (verify->meshes[LW_VERIFY_BACKGROUND] ? (double)verify->meshes[LW_VERIFY_BACKGROUND][i] : 0);
    return CMPLX(lw_type_number(type, verify->raw, 2 * i), lw_type_number(type, verify->raw, 2 * i + 1));
}

/* Return whether a value is not finite; in single precision also if it is beyond float32. */
static bool is_bad(const struct lw_verify *verify, double complex value)
{
    const bool is_single = verify->job.op.precision == LW_SINGLE;
    const double re = is_single ? (double)(float)creal(value) : creal(value);
    const double im = is_single ? (double)(float)cimag(value) : cimag(value);
    return !isfinite(re) || !isfinite(im);
}

/* Return the weight of value i of verify->raw, which is not that of a pixel beyond the sides. */
static double weight_at(const struct lw_verify *verify, int64_t i)
{
    const struct lw_conv2d_spec *const c = &verify->job.op.conv2d;
    const float *const noise = verify->meshes[LW_VERIFY_NOISE];
    const double number = noise ? (double)noise[i] : lw_type_number(c->map, verify->raw_map, i);
    const double weight = noise || c->weights == LW_WEIGHTS_SIGMA ? 1 / (number * number) : number;
    const bool counts = number > 0 && isfinite(number) && isfinite(weight) && !is_bad(verify, value_at(verify, i));
    return counts ? weight : 0;
}

/* Return what the rms values of segments are made of: value i of verify->raw, or with weights the weighted pixel or the weight. */
static double complex level_at(const struct lw_verify *verify, int64_t i, bool of_weights)
{
    const double complex value = value_at(verify, i);
    if (is_bad(verify, value))
        return 0;
    return !verify->shape.is_weighted ? value : of_weights ? weight_at(verify, i) : weight_at(verify, i) * value;
}

/* ---- rms values of the input around outputs -------------------------------------------------------------------- */

struct cells {
    int64_t rows, columns;     /* input values of a cell */
    int64_t n_rows, n_columns; /* numbers of cells */
    double *energy;            /* [n_rows x n_columns] */
    bool of_weights;
    double *repeats;           /* [columns of the input], how often each column occurs in a row continued beyond both ends */
};

/* Add the energy of the rows in verify->raw, the first of which is row `first_row` of the cells' area. */
static void add_energy(const struct lw_verify *verify, int64_t n_rows, int64_t first_row, struct cells *cells)
{
    const int64_t columns = verify->shape.columns;
    for (int64_t row = 0; row < n_rows; row++)
        for (int64_t column = 0; column < columns; column++) {
            const double complex value = level_at(verify, row * columns + column, cells->of_weights);
            cells->energy[(first_row + row) / cells->rows * cells->n_columns + column / cells->columns] +=
                cells->repeats[column] * (creal(value) * creal(value) + cimag(value) * cimag(value));
        }
}

static int read_energy(struct lw_verify *verify, int64_t channel, int64_t begin, int64_t end, struct cells *cells,
                       struct lw_error *err)
{
    const int64_t most = verify->plan.rounds.slice;
    int rc = LW_OK;
    memset(cells->energy, 0, (size_t)(cells->n_rows * cells->n_columns) * sizeof *cells->energy);
    for (int64_t first = begin; first < end && rc == LW_OK; first += most) {
        const int64_t last = lw_min64(end, first + most);
        rc = read_rows(verify, channel, first, last, err);
        if (rc == LW_OK)
            add_energy(verify, last - first, first - begin, cells);
    }
    return rc;
}

/* Return the energy of the cells that cover a segment beginning in cell (row, column). */
static double covered(const struct cells *cells, int64_t row, int64_t column)
{
    double sum = 0;
    for (int64_t r = row; r < lw_min64(row + COVER, cells->n_rows); r++)
        for (int64_t c = lw_max64(0, column); c < lw_min64(column + COVER, cells->n_columns); c++)
            sum += cells->energy[r * cells->n_columns + c];
    return sum;
}

/* @param levels  of a channel */
static void raise_levels(const struct lw_verify_shape *shape, const struct cells *cells, const struct lw_verify_samples *samples,
                         double *levels)
{
    for (int64_t column = 0; column < cells->n_columns; column++) {
        double most = 0;
        for (int64_t row = 0; row < cells->n_rows; row++)
            most = fmax(most, covered(cells, row, column));
        const double level = sqrt(most / shape->segment_values);
        const int64_t first = lw_max64(0, column - NEAR * CELLS);
        const int64_t last = lw_min64(samples->n_levels - 1, column + COVER + NEAR * CELLS);
        for (int64_t k = first; k <= last; k++)
            levels[k] = fmax(levels[k], level);
    }
}

/* Find the levels of a channel of the input, number `series` in an output. Adjacent channels of a real series may be transformed as
 * one complex series, so both channels count. */
static int find_levels(struct lw_verify *verify, int64_t channel, int64_t series, struct lw_verify_samples *samples,
                       struct lw_error *err)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    const int64_t begin = lw_max64(1 - shape->reach, samples->begin - NEAR * shape->segment_rows);
    const int64_t end = lw_min64(shape->n_rows + shape->reach - 1, samples->end + NEAR * shape->segment_rows);
    const int64_t other = channel ^ 1, n_inputs = lw_op_inputs(&verify->job.op, shape->n_channels);
    const bool is_paired = !shape->is_image && !verify->job.op.input.is_complex && other < n_inputs;
    struct cells cells = {.rows = lw_max64(1, shape->segment_rows / CELLS), .columns = lw_max64(1, shape->segment_columns / CELLS)};
    cells.n_rows = lw_divide_up(end - begin, cells.rows);
    cells.n_columns = lw_divide_up(shape->columns, cells.columns);
    samples->n_levels = cells.n_columns;
    samples->level_columns = cells.columns;
    cells.energy = lw_alloc_array(cells.n_rows * cells.n_columns, sizeof *cells.energy, "energies", err);
    cells.repeats = lw_alloc_array(shape->columns, sizeof *cells.repeats, "columns", err);
    if (series == 0) {
        samples->levels = lw_alloc_array(shape->n_series * cells.n_columns, sizeof *samples->levels, "levels", err);
        samples->weight_levels = lw_alloc_array(cells.n_columns, sizeof *samples->levels, "levels", err);
    }
    int rc = cells.energy && cells.repeats && samples->levels && samples->weight_levels ? LW_OK : LW_ESYSTEM;
    /* If a kernel is wider than the image, a segment contains the same columns several times. */
    for (int64_t column = 1 - shape->tap_columns; rc == LW_OK && column < shape->columns + shape->tap_columns - 1; column++) {
        const int64_t at = lw_boundary_index(shape->boundary, column, shape->columns);
        if (at >= 0)
            cells.repeats[at]++;
    }
    double *const levels = rc ? NULL : samples->levels + series * samples->n_levels;
    for (int64_t k = 0; rc == LW_OK && k < samples->n_levels; k++)
        levels[k] = fabs(shape->outside);
    for (int pass = 0; rc == LW_OK && pass <= (is_paired || shape->is_weighted); pass++) {
        cells.of_weights = pass == 1 && shape->is_weighted;
        rc = read_energy(verify, pass && is_paired ? other : channel, begin, end, &cells, err);
        if (rc == LW_OK)
            raise_levels(shape, &cells, samples, cells.of_weights ? samples->weight_levels : levels);
    }
    lw_free(cells.energy);
    lw_free(cells.repeats);
    return rc;
}

/* ---- rows and their rms values ------------------------------------------------------------------------------------ */

/* Read rows of a channel of the input, number `series` in an output. */
static int read_channel(struct lw_verify *verify, int64_t channel, int64_t series, struct lw_verify_samples *samples,
                        struct lw_error *err)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    const int64_t from = series * (samples->end - samples->begin) * shape->columns;
    int rc;
    if ((rc = find_levels(verify, channel, series, samples, err)) ||
        (rc = read_rows(verify, channel, samples->begin, samples->end, err)))
        return rc;
    /* The window does not deliver the value shape->outside, which boundary zero puts above and below an image. */
    for (int64_t row = samples->begin; row < samples->end; row++) {
        const bool is_outside = shape->boundary == LW_BOUNDARY_ZERO && (row < 0 || row >= shape->n_rows);
        const bool masked = verify->mask && lw_mask_is_set(verify->mask, 0, 0, row - samples->begin);
        for (int64_t column = 0; column < shape->columns; column++) {
            const int64_t i = (row - samples->begin) * shape->columns + column;
            const double complex value = is_outside ? shape->outside : value_at(verify, i);
            const bool bad = is_bad(verify, value);
            samples->marks[from + i] = (unsigned char)((bad ? LW_MARK_BAD : 0) | (masked ? LW_MARK_MASKED : 0));
            samples->values[from + i] = bad ? 0 : value;
            if (shape->is_weighted)
                samples->weights[i] = row < 0 || row >= shape->n_rows ? 0 : weight_at(verify, i);
        }
    }
    return LW_OK;
}

int lw_verify_read(struct lw_verify *verify, int64_t channel, int64_t first, int64_t end, struct lw_verify_samples *samples,
                   struct lw_error *err)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    const int64_t after = shape->sums ? shape->sums->after : 0, newest = end + shape->ahead_rows + after;
    *samples = (struct lw_verify_samples){
        .channel = channel, .begin = first + shape->ahead_rows + after - (shape->reach - 1), .end = newest,
    };
    const int64_t n = shape->n_series * (samples->end - samples->begin) * shape->columns;
    samples->values = lw_alloc_array(n, sizeof *samples->values, "samples of the input", err);
    samples->marks = lw_alloc_array(n, 1, "samples of the input", err);
    if (shape->is_weighted)
        samples->weights = lw_alloc_array(n, sizeof *samples->weights, "weights", err);
    if (!samples->values || !samples->marks || (shape->is_weighted && !samples->weights))
        return LW_ESYSTEM;
    int rc = LW_OK;
    for (int64_t series = 0; series < shape->n_series && rc == LW_OK; series++)
        rc = read_channel(verify, shape->sums ? series : channel, series, samples, err);
    return rc;
}

void lw_verify_samples_release(struct lw_verify_samples *samples)
{
    lw_free(samples->values);
    lw_free(samples->marks);
    lw_free(samples->weights);
    lw_free(samples->levels);
    lw_free(samples->weight_levels);
    *samples = (struct lw_verify_samples){0};
}
