/* psf.c - the point-spread function of an image, as the mean of its stars.
 *
 *     positions --> windowed centroid --> background: median of the frame --> Lanczos-3 shift to the middle --> flux 1 --> mean
 *
 * PSFEx (E. Bertin, ASP Conf. 442, 435 (2011)) and photutils' EPSFBuilder (J. Anderson and I. King, PASP 112, 1360 (2000)) fit a
 * model on a finer grid to all stars; this is their mean on the image's own pixels, as a matched filter needs it. */
#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/select.h"
#include "io/notes/notes.h"
#include "io/read/box.h"
#include "jobs/filters/bank.h"
#include "signal/source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* Pixels that an interpolation reaches; most pixels by which a centroid may differ from its position; the frame around a star. */
enum { REACH = 3, MOST_SHIFT = 2, FRAME = REACH + MOST_SHIFT, MOST_STARS = 1 << 17 };

/* The window of a centroid has the standard deviation size / WINDOW_PART. */
#define WINDOW_PART 8

static const struct lw_option options[] = {
    {.name = "input", .kind = LW_OPTION_FILE, .argument = "FILE:/dataset", .is_required = true, .help = "Image [rows x columns]."},
    {.name = "at", .kind = LW_OPTION_FILE, .argument = "FILE", .is_required = true,
     .help = "Positions of single, unsaturated stars. A table of peaks, such as stars.h5:/peaks, or a text with a line `x y` for "
             "each star (x counts columns; lines that begin with # do not count). Positions within 2 pixels are good enough."},
    {.name = "first-pixel", .kind = LW_OPTION_CHOICE, .choices = "1|0", .fallback = "1",
     .help = "Coordinate of the middle of the first pixel in a text. 1: as in FITS, SExtractor and DAOFIND. 0: as in numpy and "
             "photutils."},
    {.name = "size", .kind = LW_OPTION_INT, .argument = "N", .fallback = "25", .minimum = 5, .maximum = LW_BANK_MOST_SIDE,
     .help = "Rows and columns of the kernel, odd. The background of a star is the median of the 5 pixels around them."},
    {.name = "combine", .kind = LW_OPTION_CHOICE, .choices = "clipped|median", .fallback = "clipped",
     .help = "How to combine the stars' values of a pixel. clipped: their mean, without those beyond 3 standard deviations from "
             "the median, repeated until none is. median: their median."},
    LW_OPTION_NORM("gain"),
    {0},
};

/* ---- positions --------------------------------------------------------------------------------------------------------- */

/* Positions in pixels of the image, counted from 0. */
struct positions {
    double at[MOST_STARS][2];   /* column, row */
    int64_t n;
    double first[2];            /* coordinates of the first pixel as they are read */
};

/* Add a position: lw_row_fn of tables. Positions beyond the most count, but are not kept. */
static void add(void *context, const double *row)
{
    struct positions *const positions = context;
    for (int d = 0; d < 2 && positions->n < MOST_STARS; d++)
        positions->at[positions->n][d] = row[d] - positions->first[d];
    positions->n++;
}

/* Read a table of peaks: sub-pixel x and y, counted from 1, if it has them, else row and column of a result. */
static int read_table(const char *name, struct positions *positions, struct lw_error *err)
{
    static const char *const fine[] = {"x", "y", NULL}, *const coarse[] = {"column", "row", NULL};
    LW_FREED struct lw_notes *const notes = lw_alloc(sizeof *notes, "a table's columns", err);
    int rc = notes ? lw_notes_read(name, NULL, notes, err) : LW_ESYSTEM;
    if (rc == LW_OK) {
        const bool is_fine = lw_notes_have_columns(notes, fine);
        const struct lw_rows rows = {.count = notes->n_rows, .columns = is_fine ? fine : coarse, .n_columns = 2};
        positions->first[0] = is_fine ? 1 : -lw_said_real(&notes->dataset, "first_input_column", 0);
        positions->first[1] = is_fine ? 1 : -lw_said_real(&notes->dataset, "first_input_row", 0);
        rc = is_fine || lw_notes_have_columns(notes, coarse)
            ? lw_notes_each_row(name, &rows, add, positions, err)
            : lw_fail(err, LW_EDATA, "--at %.600s has neither columns x and y nor row and column", name);
    }
    return rc;
}

static int read_text(const char *name, struct positions *positions, struct lw_error *err)
{
    char line[512];
    double row[2];
    int rc = LW_OK;
    FILE *const file = fopen(name, "r");
    if (!file)
        return lw_fail(err, LW_EIO, "--at %.600s: %s", name, strerror(errno));
    for (int64_t number = 1; rc == LW_OK && fgets(line, sizeof line, file); number++) {
        const char *const text = line + strspn(line, " \t\r\n");
        if (!*text || *text == '#')
            continue;
        if (sscanf(text, "%lf%*[ \t,]%lf", &row[0], &row[1]) == 2)
            add(positions, row);
        else
            rc = lw_fail(err, LW_EDATA, "--at %.600s, line %" PRId64 ": '%.*s' is no position 'x y'", name, number,
                         (int)strcspn(text, "\r\n"), text);
    }
    fclose(file);
    return rc;
}

/* ---- a star ------------------------------------------------------------------------------------------------------------ */

/* The pixels of a star with the frame around them, [side x side], side = size + 2 FRAME. */
struct cutout {
    double *pixels;
    int64_t size, side;
    double *work;               /* [side x side] */
};

/* Subtract the median of the frame. @return  false: some pixel is not finite */
static bool subtract_background(const struct cutout *cutout)
{
    int64_t n = 0;
    for (int64_t i = 0; i < cutout->side * cutout->side; i++) {
        const int64_t row = i / cutout->side - FRAME, column = i % cutout->side - FRAME;
        if (!isfinite(cutout->pixels[i]))
            return false;
        if (row < 0 || row >= cutout->size || column < 0 || column >= cutout->size)
            cutout->work[n++] = cutout->pixels[i];
    }
    const double background = lw_select(cutout->work, n, n / 2);
    for (int64_t i = 0; i < cutout->side * cutout->side; i++)
        cutout->pixels[i] -= background;
    return true;
}

/* Find the centroid within a Gaussian window around it, relative to the middle pixel. @return  false: there is none nearby */
static bool find_centroid(const struct cutout *cutout, double *x, double *y)
{
    const double middle = (double)(cutout->side - 1) / 2;
    double at[2] = {middle + *y, middle + *x};
    if (!lw_source_find(cutout->pixels, cutout->side, cutout->side, (double)cutout->size / WINDOW_PART, cutout->work, at))
        return false;
    *y = at[0] - middle;
    *x = at[1] - middle;
    return fabs(*x) <= MOST_SHIFT && fabs(*y) <= MOST_SHIFT;
}

/* Interpolate along one direction at the places i + shift. @param from  pixel 0 of the line, `stride` apart, as `to` is */
static void shift_line(const double *from, double shift, int64_t n, int64_t stride, double *to)
{
    const int64_t whole = (int64_t)floor(shift);
    double weights[2 * REACH], sum = 0;
    for (int k = 0; k < 2 * REACH; k++) {
        const double t = M_PI * (shift - (double)whole - (k - (REACH - 1)));
        weights[k] = t == 0 ? 1 : fabs(t) < REACH * M_PI ? sin(t) / t * sin(t / REACH) / (t / REACH) : 0;
        sum += weights[k];
    }
    for (int64_t i = 0; i < n; i++) {
        double value = 0;
        for (int k = 0; k < 2 * REACH; k++)
            value += weights[k] / sum * from[(i + whole + k - (REACH - 1)) * stride];
        to[i * stride] = value;
    }
}

/* Make the star of a cutout: background 0, centroid in the middle, flux 1. @param star  set; [size x size] @return  false: none */
static bool make_star(const struct cutout *cutout, double x, double y, double *star)
{
    const int64_t size = cutout->size, side = cutout->side;
    double flux = 0;
    if (!subtract_background(cutout) || !find_centroid(cutout, &x, &y))
        return false;
    for (int64_t column = 0; column < side; column++)
        shift_line(cutout->pixels + FRAME * side + column, y, size, side, cutout->work + FRAME * side + column);
    for (int64_t row = 0; row < size; row++) {
        shift_line(cutout->work + (FRAME + row) * side + FRAME, x, size, 1, star + row * size);
        for (int64_t column = 0; column < size; column++)
            flux += star[row * size + column];
    }
    for (int64_t i = 0; i < size * size; i++)
        star[i] /= flux;
    return flux > 0;
}

/* ---- all stars --------------------------------------------------------------------------------------------------------- */

/* Return the mean of n values without those beyond 3 standard deviations from the median, or the median itself. */
static double combine(double *values, int64_t n, bool is_median)
{
    while (true) {
        const double median = lw_select(values, n, n / 2);
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < n; i++) {
            sum += values[i];
            squares += (values[i] - median) * (values[i] - median);
        }
        int64_t kept = 0;
        for (int64_t i = 0; i < n; i++)
            if ((values[i] - median) * (values[i] - median) * (double)n <= 9 * squares)
                values[kept++] = values[i];
        if (is_median || kept == n)
            return is_median ? median : sum / (double)n;
        n = kept;
    }
}

/* Cut out, shift and scale the stars. @param stars  set; [positions->n][size x size], of which *n are stars */
static int make_stars(const struct lw_dataset_info *image, const struct positions *positions, const struct cutout *cutout,
                      double *stars, int64_t *n, struct lw_error *err)
{
    struct lw_boxes *boxes = NULL;
    const int d = image->n_dims - 2;
    const double half = (double)(cutout->side / 2), columns = (double)image->dims[d + 1], rows = (double)image->dims[d];
    int rc = lw_boxes_open(&(struct lw_boxes_spec){.info = image}, &boxes, err);
    for (int64_t i = 0; i < positions->n && rc == LW_OK; i++) {
        const double x = round(positions->at[i][0]), y = round(positions->at[i][1]);
        struct lw_sample_box box = {.count = {1, 1, 1, 1}, .step = {1, 1, 1, 1}};
        if (!(x >= half && y >= half && x + half < columns && y + half < rows))
            continue;
        box.first[d] = (int64_t)(y - half);
        box.first[d + 1] = (int64_t)(x - half);
        box.count[d] = box.count[d + 1] = cutout->side;
        if ((rc = lw_boxes_read(boxes, &box, 1, cutout->pixels, err)) == LW_OK &&
            make_star(cutout, positions->at[i][0] - x, positions->at[i][1] - y, stars + *n * cutout->size * cutout->size))
            ++*n;
    }
    lw_boxes_close(boxes);
    return rc;
}

/* Combine the stars of an image into the bank's kernel. */
static int stack(const struct lw_dataset_info *image, const struct positions *positions, bool is_median, struct lw_bank *bank,
                 struct lw_error *err)
{
    struct cutout cutout = {.size = bank->columns, .side = bank->columns + 2 * FRAME};
    const int64_t pixels = bank->n_taps, area = cutout.side * cutout.side, most = positions->n;
    int64_t n = 0;
    if (most > lw_min64(MOST_STARS, LW_BANK_MOST_VALUES / pixels))
        return lw_fail(err, LW_EUSAGE, "--at: %" PRId64 " positions are too many to be stacked with %" PRId64 " pixels each: give "
                       "at most %" PRId64, most, pixels, lw_min64(MOST_STARS, LW_BANK_MOST_VALUES / pixels));
    LW_FREED double *const stars = lw_alloc_array(most * (pixels + 1) + 2 * area, sizeof *stars, "stars", err);
    if (!stars)
        return LW_ESYSTEM;
    double *const values = stars + most * pixels;
    cutout.pixels = values + most;
    cutout.work = cutout.pixels + area;
    int rc = make_stars(image, positions, &cutout, stars, &n, err);
    if (rc == LW_OK && n == 0)
        rc = lw_fail(err, LW_EDATA, "--at: none of %" PRId64 " positions has a star, with %" PRId64 " finite pixels on a side and "
                     "a centroid within %d pixels; see --first-pixel and --size", most, cutout.side, MOST_SHIFT);
    for (int64_t p = 0; p < pixels && rc == LW_OK; p++) {
        for (int64_t i = 0; i < n; i++)
            values[i] = stars[i * pixels + p];
        bank->taps[p] = combine(values, n, is_median);
    }
    lw_bank_note_int(bank, "stars", n);
    lw_bank_note_int(bank, "positions", most);
    if (rc == LW_OK)
        lw_log_info("%" PRId64 " of %" PRId64 " positions gave a star; the others lie near a side, near a pixel that is not "
                    "finite, or have no centroid within %d pixels", n, most, MOST_SHIFT);
    return rc;
}

static int design(const struct lw_options *given, struct lw_bank *bank, struct lw_error *err)
{
    const char *const name = lw_options_text(given, "at");
    struct lw_dataset_info image;
    struct lw_object object;
    int rc;
    if ((rc = lw_bank_shape_kernels(bank, given, 1, 0, err)) ||
        (rc = lw_examine_dataset(lw_options_text(given, "input"), NULL, LW_USE_NUMBERS, &image, err)) ||
        (rc = lw_object_parse(name, &object, err)))
        return rc;
    if (image.n_dims < 2 || image.type.is_complex || (image.n_dims > 2 && image.dims[image.n_dims - 3] > 1))
        return lw_fail(err, LW_EDATA, "--input %.600s is no real image [rows x columns]", lw_dataset_name(&image).text);
    LW_FREED struct positions *const positions = lw_alloc(sizeof *positions, "positions", err);
    if (!positions)
        return LW_ESYSTEM;
    positions->n = 0;
    positions->first[0] = positions->first[1] = lw_options_choice(given, "first-pixel") == 0;
    rc = object.path[0] ? read_table(name, positions, err) : read_text(name, positions, err);
    rc = rc ? rc : stack(&image, positions, lw_options_choice(given, "combine") == 1, bank, err);
    bank->design = "mean without outliers, or median, of stars with the background 0, the centroid in the middle and flux 1";
    return rc;
}

const struct lw_filter_kind lw_filter_psf = {
    .name = "psf", .title = "the point-spread function of an image, from its stars",
    .description = "The mean of stars at given positions, for conv2d --kernel with --correlate (a matched filter correlates). The "
                   "background of each star is the median around it. Its centroid within a Gaussian window, as SExtractor's "
                   "XWIN_IMAGE, is shifted to the middle by Lanczos-3 interpolation, and its flux is scaled to 1. Stars closer "
                   "to a side than half the kernel and 5 pixels are left out.",
    .example = "lapwing conv2d --input sky.h5:/image --gaussian 4 --background 13 \\\n"
               "    --boundary reflect --products peaks --threshold 30 --output stars.h5\n"
               "lapwing filters psf --input sky.h5:/image --at stars.h5:/peaks \\\n"
               "    --output psf.h5",
    .options = options, .design = design,
};
