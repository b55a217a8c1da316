#include "jobs/conv2d_kernel.h"

#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "design/taps.h"
#include "job/coordinates.h"
#include "jobs/filters/bank.h"
#include "options/words.h"

#include <assert.h>
#include <complex.h>
#include <inttypes.h>
#include <stdio.h>

#define REACH 5     /* half width of a Gaussian kernel in standard deviations, where the Gaussian has fallen to 4e-6 */

enum { MOST_KERNELS = 1 << 16 };

/* Kernels of one size: those of a dataset. */
struct kernels {
    double *values;             /* owned; [n][rows x columns], pairs if complex */
    int64_t n, rows, columns;
    bool is_complex;
};

static int parts_of(bool is_complex) { return is_complex ? 2 : 1; }

/* Check that the sum of a kernel is more than rounding: --normalize sum and --nan interpolate divide by the sum. Normalize.
 * @param source  completes "the kernel ..." in messages: "in FILE" */
static int treat_sum(const struct lw_options *given, const char *source, double *kernel, int64_t n, int parts, struct lw_error *err)
{
    const bool normalizes = lw_options_choice(given, "normalize") == 1;
    const bool interpolates = lw_options_choice(given, "nan") == LW_NAN_INTERPOLATE;
    double complex *const pairs = (double complex *)kernel, sum = 0;
    double magnitudes = 0;
    if (!normalizes && !interpolates)
        return LW_OK;
    if (interpolates && parts == 2)
        return lw_fail(err, LW_ECONFIG, "--nan interpolate weights with the kernel, which must be real; the kernel %s is complex",
                       source);
    for (int64_t i = 0; i < n; i++) {
        sum += parts == 2 ? pairs[i] : kernel[i];
        magnitudes += parts == 2 ? cabs(pairs[i]) : fabs(kernel[i]);
    }
    if (cabs(sum) <= 1e-12 * magnitudes)
        return lw_fail(err, LW_ECONFIG, "%s: the elements of the kernel %s sum up to %g, which is zero but for rounding",
                       normalizes ? "--normalize sum" : "--nan interpolate", source, cabs(sum));
    for (int64_t i = 0; normalizes && i < n; i++)
        if (parts == 2)
            pairs[i] /= sum;
        else
            kernel[i] /= creal(sum);
    return LW_OK;
}

/* ---- one bank of several sizes ----------------------------------------------------------------------------------------- */

/* Copy kernels into the bank from number *at on, so that their middle elements lie on the bank's; zeros surround smaller ones. */
static void place(const struct kernels *from, const struct lw_conv2d_spec *c, double *bank, int64_t *at)
{
    const int64_t top = lw_middle_tap(c->kernel_rows) - lw_middle_tap(from->rows);
    const int64_t left = lw_middle_tap(c->kernel_columns) - lw_middle_tap(from->columns);
    const int parts = parts_of(from->is_complex), width = parts_of(c->kernel_complex);
    for (int64_t k = 0; k < from->n; k++, ++*at)
        for (int64_t row = 0; row < from->rows; row++)
            for (int64_t column = 0; column < from->columns; column++) {
                const double *const value = from->values + ((k * from->rows + row) * from->columns + column) * parts;
                memcpy(bank + (((*at * c->kernel_rows) + top + row) * c->kernel_columns + left + column) * width, value,
                       (size_t)parts * sizeof *value);
            }
}

/* Make one bank of n sets of kernels, and set the fields of the specification. */
static int gather(const struct kernels *sets, int n, struct lw_job *job, struct lw_error *err)
{
    struct lw_conv2d_spec *const c = &job->op.conv2d;
    int64_t all = 0, at = 0;
    for (int s = 0; s < n; s++) {
        all += sets[s].n;
        c->kernel_rows = lw_max64(c->kernel_rows, sets[s].rows);
        c->kernel_columns = lw_max64(c->kernel_columns, sets[s].columns);
        c->kernel_complex = c->kernel_complex || sets[s].is_complex;
    }
    if (all > MOST_KERNELS)
        return lw_fail(err, LW_ECONFIG, "there are %" PRId64 " kernels; at most %d are possible: divide the bank", all,
                       MOST_KERNELS);
    c->n_kernels = (int)all;
    const int64_t values = all * c->kernel_rows * c->kernel_columns * parts_of(c->kernel_complex);
    if (!(job->taps = lw_alloc_array(values, sizeof *job->taps, "the kernels", err)))
        return LW_ESYSTEM;
    memset(job->taps, 0, (size_t)(values) * sizeof *job->taps);
    for (int s = 0; s < n; s++)
        place(&sets[s], c, job->taps, &at);
    c->kernel = job->taps;
    return LW_OK;
}

/* ---- from files -------------------------------------------------------------------------------------------------------- */

/* Read the kernels of a dataset, which becomes an input of the job, and treat each as the options ask. */
static int read_one(const struct lw_options *given, struct lw_comm *comm, const char *name, struct kernels *set, struct lw_job *job,
                    struct lw_error *err)
{
    static const char *const names[] = {"kernel", "kernel_2", "kernel_3", "kernel_4", "kernel_5", "kernel_6", "kernel_7",
                                        "kernel_8"};
    static_assert(sizeof names / sizeof *names == LW_CONV2D_MOST_FILES, "each file has a name in the result");
    struct lw_dataset_info *const info = &job->inputs[job->n_inputs];
    char source[sizeof(struct lw_name) + 4];
    int rc = lw_reader_read_numbers(comm, name, 3, info, &set->values, err);
    if (rc)
        return rc;
    job->input_names[job->n_inputs] = names[job->n_inputs - 1];
    job->n_inputs++;
    snprintf(source, sizeof source, "in %s", lw_dataset_name(info).text);
    if (info->n_dims == 1)
        return lw_fail(err, LW_EDATA, "%s has one dimension: a kernel has two; store a row as [1 x n]", source + 3);
    *set = (struct kernels){set->values, info->n_dims == 3 ? info->dims[0] : 1, info->dims[info->n_dims - 2],
                            info->dims[info->n_dims - 1], info->type.is_complex};
    const int parts = parts_of(set->is_complex);
    const int64_t n = set->rows * set->columns;
    for (int64_t i = 0; i < set->n * n * parts; i++)
        if (!isfinite(set->values[i]))
            return lw_fail(err, LW_EDATA, "element (%" PRId64 ", %" PRId64 ") of the kernel %s is %f: kernels must be finite",
                           i / parts % n / set->columns, i / parts % set->columns, source, set->values[i]);
    for (int64_t k = 0; k < set->n && rc == LW_OK; k++) {
        double *const kernel = set->values + k * n * parts;
        if ((rc = treat_sum(given, source, kernel, n, parts, err)) == LW_OK && lw_options_flag(given, "correlate"))
            lw_taps_reverse(kernel, n, parts);
    }
    return rc;
}

/* Log the sizes of kernels that get zeros around them. */
static void report_sizes(const struct kernels *sets, int n, const struct lw_conv2d_spec *c)
{
    for (int s = 0; s < n; s++)
        if (sets[s].rows != c->kernel_rows || sets[s].columns != c->kernel_columns)
            lw_log_info("the kernels of file %d of --kernel, %" PRId64 " x %" PRId64 ", get zeros around them up to %" PRId64
                        " x %" PRId64 ", the largest size", s + 1, sets[s].rows, sets[s].columns, c->kernel_rows,
                        c->kernel_columns);
}

static int read_kernels(const struct lw_options *given, struct lw_comm *comm, struct lw_job *job, struct lw_error *err)
{
    struct kernels sets[LW_CONV2D_MOST_FILES] = {0};
    char name[2 * LW_MAX_PATH];
    int n = 0, rc = LW_OK;
    for (const char *next = lw_options_text(given, "kernel"); *next && rc == LW_OK;) {
        if (n == LW_CONV2D_MOST_FILES)
            rc = lw_fail(err, LW_EUSAGE, "--kernel names more than %d files: put more kernels into one dataset, [kernel x rows x "
                         "columns]", LW_CONV2D_MOST_FILES);
        else if (!(next = lw_words_take(next, name, sizeof name)))
            rc = lw_fail(err, LW_EUSAGE, "--kernel: a name has more than %zu characters", sizeof name - 1);
        else
            rc = read_one(given, comm, name, &sets[n++], job, err);
    }
    if (rc == LW_OK && (rc = lw_comm_agree(comm, gather(sets, n, job, err), err)) == LW_OK)
        report_sizes(sets, n, &job->op.conv2d);
    job->has_filter_dim = n > 1 || job->inputs[1].n_dims == 3;
    for (int s = 0; s < n; s++)
        lw_free(sets[s].values);
    return rc;
}

/* ---- Gaussians made here ----------------------------------------------------------------------------------------------- */

enum { LEAST_BACKGROUND = 3, MOST_BACKGROUND = 2047 };

/* Return PIXELS of --background; 0: they are not given, -1: they are no number. */
static int64_t background_of(const struct lw_options *given)
{
    const char *const text = lw_options_text(given, "background");
    int64_t pixels = 0;
    return text && strcmp(text, "mesh") != 0 && lw_parse_int(text, &pixels) != LW_PARSE_OK ? -1 : pixels;
}

static int check_background(const struct lw_options *given, struct lw_error *err)
{
    const char *const text = lw_options_text(given, "background");
    const int64_t pixels = background_of(given);
    if (!text || strcmp(text, "mesh") == 0)
        return LW_OK;
    if (pixels < LEAST_BACKGROUND || pixels > MOST_BACKGROUND)
        return lw_fail(err, LW_EUSAGE, "--background %s is neither mesh nor a number of pixels in %d..%d", text, LEAST_BACKGROUND,
                       MOST_BACKGROUND);
    if (pixels % 2 == 0)
        return lw_fail(err, LW_EUSAGE, "--background %" PRId64 " is even: the source's middle would lie between two pixels; give %"
                       PRId64 " or %" PRId64, pixels, pixels - 1, pixels + 1);
    return lw_options_given(given, "kernel") ? lw_fail(err, LW_EUSAGE, "--background %" PRId64 " goes with --gaussian, not with "
                                                       "--kernel; --background mesh goes with both", pixels) : LW_OK;
}

/* Return the least odd side of a square that holds a Gaussian out to REACH. */
static int64_t side_of(double sigma) { return 2 * (int64_t)ceil(REACH * sigma) + 1; }

/* Make a kernel of --gaussian from G = exp(-r^2 / (2 sigma^2)), 0 beyond REACH. With --background the output is the height a of the
 * model a G + b that fits the pixels x best, by least squares: the sum of k x / |k|^2, where k is G minus its mean (P. B. Stetson,
 * PASP 99, 191 (1987), eq. 1, on a square), which has no zeros.
 * @param side  odd @param profile  work space, [side] @param kernel  set; [side x side] */
static void make_gaussian(double sigma, int64_t side, bool has_background, double *profile, double *kernel)
{
    const int64_t n = side * side, own = has_background ? side : side_of(sigma);
    double sum = 0;
    memset(profile, 0, (size_t)side * sizeof *profile);
    lw_taps_gaussian(sigma, own, profile + (side - own) / 2);
    for (int64_t i = 0; i < n; i++)
        kernel[i] = profile[i / side] * profile[i % side];
    if (has_background)
        lw_taps_remove_mean(n, kernel);
    for (int64_t i = 0; i < n; i++)
        sum += kernel[i];
    lw_taps_scale(1 / (has_background ? lw_taps_energy(kernel, n) : sum), kernel, n);
}

/* Return the widths of the Gaussians made here, [n_kernels], which stand behind the kernels. */
static double *widths_of(const struct lw_job *job)
{
    const struct lw_conv2d_spec *const c = &job->op.conv2d;
    return job->taps + c->n_kernels * c->kernel_rows * c->kernel_columns;
}

static int make_gaussians(const struct lw_options *given, struct lw_job *job, struct lw_error *err)
{
    const struct lw_bank_list list = {"gaussian", "pixels", 0.5, 500, false, NULL};
    const int64_t background = background_of(given);
    struct lw_conv2d_spec *const c = &job->op.conv2d;
    LW_FREED double *widths = NULL;
    int rc = lw_bank_read_list(given, &list, &widths, &c->n_kernels, err);
    if (rc)
        return rc;
    const double widest = lw_bank_largest(widths, c->n_kernels);
    if (background > 0 && (double)background < 2 * widest)
        return lw_fail(err, LW_EUSAGE, "--background %" PRId64 " is less than twice --gaussian %g: the background would be "
                       "measured within the source itself; give a larger one", background, widest);
    const int64_t side = background > 0 ? background : side_of(widest / LW_FWHM), n = side * side;
    LW_FREED double *const profile = lw_alloc_array(side, sizeof *profile, "a kernel", err);
    if (!profile || !(job->taps = lw_alloc_array(c->n_kernels * (n + 1), sizeof *job->taps, "kernels", err)))
        return LW_ESYSTEM;
    c->kernel = job->taps;
    c->kernel_rows = c->kernel_columns = side;
    job->has_filter_dim = c->n_kernels > 1;
    for (int k = 0; k < c->n_kernels && rc == LW_OK; k++) {
        widths_of(job)[k] = widths[k];
        make_gaussian(widths[k] / LW_FWHM, side, background > 0, profile, job->taps + k * n);
        rc = treat_sum(given, "of --gaussian", job->taps + k * n, n, 1, err);
    }
    return rc;
}

/* ---- either ------------------------------------------------------------------------------------------------------------ */

int lw_conv2d_get_kernels(const struct lw_options *given, struct lw_comm *comm, struct lw_job *job, struct lw_error *err)
{
    struct lw_conv2d_spec *const c = &job->op.conv2d;
    const bool reads = lw_options_given(given, "kernel"), makes = lw_options_given(given, "gaussian");
    const bool has_band = lw_options_given(given, "band");
    int rc;
    if (reads && makes)
        return lw_fail(err, LW_EUSAGE, "--kernel and --gaussian exclude each other: give one of them");
    if (!reads && !makes)
        return lw_fail(err, LW_EUSAGE, "--kernel is missing: give --kernel FILE:/dataset, or --gaussian PIXELS to make a kernel");
    if ((rc = check_background(given, err)))
        return rc;
    if ((has_band || lw_options_choice(given, "padding") != LW_PADDING_SMOOTH) &&
        lw_options_choice(given, "algorithm") != LW_CONV2D_ALGORITHM_PADDED)
        return lw_fail(err, LW_EUSAGE, "--%s goes with --algorithm padded: give both", has_band ? "band" : "padding");
    if (reads)
        rc = read_kernels(given, comm, job, err);
    else if ((rc = lw_comm_agree(comm, make_gaussians(given, job, err), err)) == LW_OK)     /* rank 0's bits count */
        lw_comm_broadcast(comm, job->taps, (widths_of(job) + c->n_kernels - job->taps) * (int64_t)sizeof *job->taps);
    c->algorithm = (enum lw_conv2d_algorithm)lw_options_choice(given, "algorithm");
    c->padding = (enum lw_padding)lw_options_choice(given, "padding");
    c->band = has_band ? lw_options_int(given, "band") : 0;
    return rc;
}

/* ---- result ------------------------------------------------------------------------------------------------------------ */

void lw_conv2d_describe_kernels(const struct lw_options *given, const struct lw_job *job, struct lw_product *product)
{
    if (lw_options_given(given, "gaussian"))
        lw_product_note_reals(product, "fwhm_pixels", widths_of(job), job->op.conv2d.n_kernels);
    else
        lw_product_note_text(product, "kernels", lw_options_text(given, "kernel"));
}

void lw_conv2d_shape_kernels(const struct lw_options *given, struct lw_job *job)
{
    if (!lw_options_given(given, "gaussian"))
        return;
    const struct lw_conv2d_spec *const c = &job->op.conv2d;
    const int first = job->has_filter_dim ? 0 : 1;
    struct lw_product *const product = &job->products[job->n_products + job->n_given++];
    product->values = job->taps;
    product->dataset = (struct lw_writer_dataset){.path = first ? "/kernel" : "/kernels", .type = {.scalar = LW_FLOAT64},
                                                  .n_dims = 3 - first};
    static const char *const names[] = {"kernel", "kernel_row", "kernel_column"};
    const int64_t dims[] = {c->n_kernels, c->kernel_rows, c->kernel_columns};
    memcpy(product->dataset.dim_names, names + first, (size_t)(3 - first) * sizeof *names);
    memcpy(product->dataset.dims, dims + first, (size_t)(3 - first) * sizeof *dims);
    product->axis_dim = product->channel_dim = -1;
    lw_coordinates_set(job, (struct lw_steps){0}, product);
    lw_conv2d_describe_kernels(given, job, product);
    if (background_of(given) > 0)
        lw_product_note_int(product, "background_pixels", background_of(given));
}
