#include "jobs/conv2d_kernel.h"

#include "base/memory.h"
#include "design/taps.h"
#include "job/choose.h"
#include "job/coordinates.h"

#include <complex.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define REACH 5     /* standard deviations of a Gaussian, where it has fallen to 4e-6 */

/* ---- from a file ---------------------------------------------------------------------------------------------------------- */

static int check_finite(const struct lw_dataset_info *info, const double *kernel, int64_t columns, int parts, int64_t count,
                        struct lw_error *err)
{
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(kernel[i]))
            return lw_fail(err, LW_EDATA, "element (%" PRId64 ", %" PRId64 ") of the kernel in %s is %f: kernels must be "
                           "finite", i / parts / columns, i / parts % columns, lw_dataset_name(info).text, kernel[i]);
    return LW_OK;
}

static double complex sum_of(const double *kernel, int64_t n, int parts, double *magnitudes)
{
    double complex sum = 0;
    *magnitudes = 0;
    for (int64_t i = 0; i < n; i++) {
        const double complex h = CMPLX(kernel[i * parts], parts == 2 ? kernel[2 * i + 1] : 0);
        sum += h;
        *magnitudes += cabs(h);
    }
    return sum;
}

static void divide(double *kernel, int64_t n, int parts, double complex by)
{
    for (int64_t i = 0; i < n; i++) {
        const double complex h = CMPLX(kernel[i * parts], parts == 2 ? kernel[2 * i + 1] : 0) / by;
        kernel[i * parts] = creal(h);
        if (parts == 2)
            kernel[2 * i + 1] = cimag(h);
    }
}

/* What needs a sum that is not only rounding: --normalize sum, and weights by the part of the kernel that is left. */
static int treat_sum(const struct lw_options *given, const char *source, double *kernel, int64_t n, int parts, struct lw_error *err)
{
    const bool normalizes = lw_options_choice(given, "normalize") == 1;
    const bool interpolates = lw_options_choice(given, "nan") == LW_NAN_INTERPOLATE;
    double magnitudes;
    const double complex sum = sum_of(kernel, n, parts, &magnitudes);
    if (!normalizes && !interpolates)
        return LW_OK;
    if (interpolates && parts == 2)
        return lw_fail(err, LW_ECONFIG, "--nan interpolate weights with the kernel, so it must be real; that %s is complex",
                       source);
    if (cabs(sum) <= 1e-12 * magnitudes)
        return lw_fail(err, LW_ECONFIG, "%s: the elements of the kernel %s sum up to %g, as good as zero",
                       normalizes ? "--normalize sum" : "--nan interpolate", source, cabs(sum));
    if (normalizes)
        divide(kernel, n, parts, sum);
    return LW_OK;
}

static int read_kernel(const struct lw_options *given, struct lw_comm *comm, struct lw_job *job, struct lw_error *err)
{
    struct lw_dataset_info *const info = &job->inputs[job->n_inputs];
    int rc = lw_reader_read_numbers(comm, lw_options_text(given, "kernel"), 2, info, &job->taps, err);
    if (rc)
        return rc;
    job->input_names[job->n_inputs++] = "kernel";
    if (info->n_dims != 2)
        return lw_fail(err, LW_EDATA, "%s has one dimension: a kernel has two; store a row as [1 x n]", lw_dataset_name(info).text);

    struct lw_conv2d_spec *const c = &job->op.conv2d;
    c->kernel_rows = info->dims[0];
    c->kernel_columns = info->dims[1];
    c->kernel_complex = info->type.is_complex;
    const int parts = c->kernel_complex ? 2 : 1;
    const int64_t n = c->kernel_rows * c->kernel_columns;
    char source[sizeof(struct lw_name) + 4];
    snprintf(source, sizeof source, "in %s", lw_dataset_name(info).text);
    if ((rc = check_finite(info, job->taps, c->kernel_columns, parts, n * parts, err)) ||
        (rc = treat_sum(given, source, job->taps, n, parts, err)))
        return rc;
    if (lw_options_flag(given, "correlate"))
        lw_taps_reverse(job->taps, n, parts);
    return LW_OK;
}

/* ---- made here ------------------------------------------------------------------------------------------------------------ */

/* Rows and columns, an odd number. */
static int choose_size(const struct lw_options *given, int64_t *size, struct lw_error *err)
{
    const double fwhm = lw_options_real(given, "gaussian");
    const int64_t background = lw_options_int(given, "background");
    *size = 2 * (int64_t)ceil(REACH * fwhm / (2 * sqrt(2 * log(2)))) + 1;
    if (!lw_options_given(given, "background"))
        return LW_OK;
    if (background % 2 == 0)
        return lw_fail(err, LW_EUSAGE, "--background %" PRId64 " is even: the source's middle would lie between two pixels; give %"
                       PRId64 " or %" PRId64, background, background - 1, background + 1);
    if ((double)background < 2 * fwhm)
        return lw_fail(err, LW_EUSAGE, "--background %" PRId64 " is not wider than twice --gaussian %g: nearly nothing but source "
                       "would be taken for background; give more", background, fwhm);
    *size = background;
    return LW_OK;
}

static double sum_over(const double *kernel, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += kernel[i];
    return sum;
}

/* G = exp(-r^2 / (2 sigma^2)). With a background the height a of a G + b that fits pixels x best is the sum of k x / |k|^2, where k
 * is G less its mean: P. B. Stetson, PASP 99, 191 (1987), eq. 1, on a square. */
static void fill_gaussian(const struct lw_options *given, int64_t size, const double *profile, double *kernel)
{
    const int64_t n = size * size;
    for (int64_t i = 0; i < n; i++)
        kernel[i] = profile[i / size] * profile[i % size];
    if (lw_options_given(given, "background"))
        lw_taps_remove_mean(n, kernel);
    lw_taps_scale(1 / (lw_options_given(given, "background") ? lw_taps_energy(kernel, n) : sum_over(kernel, n)), kernel, n);
}

static int make_gaussian(const struct lw_options *given, struct lw_job *job, struct lw_error *err)
{
    struct lw_conv2d_spec *const c = &job->op.conv2d;
    int64_t size;
    int rc = choose_size(given, &size, err);
    if (rc)
        return rc;
    double *const profile = lw_alloc_array(size, sizeof *profile, "a kernel", err);
    job->taps = lw_alloc_array(size * size, sizeof *job->taps, "a kernel", err);
    if (profile && job->taps) {
        lw_taps_gaussian(lw_options_real(given, "gaussian") / (2 * sqrt(2 * log(2))), size, profile);
        fill_gaussian(given, size, profile, job->taps);
        c->kernel_rows = c->kernel_columns = size;
        rc = treat_sum(given, "of --gaussian", job->taps, size * size, 1, err);
    } else
        rc = LW_ESYSTEM;
    lw_free(profile);
    return rc;
}

/* ---- both ----------------------------------------------------------------------------------------------------------------- */

static int check_options(const struct lw_options *given, struct lw_error *err)
{
    const bool reads = lw_options_given(given, "kernel"), makes = lw_options_given(given, "gaussian");
    if (reads && makes)
        return lw_fail(err, LW_EUSAGE, "--kernel and --gaussian exclude each other: give one of them");
    if (!reads && !makes)
        return lw_fail(err, LW_EUSAGE, "--kernel is missing: give --kernel FILE:/dataset, or have one made with --gaussian PIXELS");
    if (reads && lw_options_given(given, "background"))
        return lw_fail(err, LW_EUSAGE, "--background goes with --gaussian, not with --kernel");
    return LW_OK;
}

int lw_conv2d_get_kernel(const struct lw_options *given, struct lw_comm *comm, struct lw_job *job, struct lw_error *err)
{
    struct lw_conv2d_spec *const c = &job->op.conv2d;
    int rc = check_options(given, err);
    if (rc)
        return rc;
    if (lw_options_given(given, "kernel"))
        rc = read_kernel(given, comm, job, err);
    else if ((rc = lw_comm_agree(comm, make_gaussian(given, job, err), err)) == LW_OK)
        lw_comm_broadcast(comm, job->taps, c->kernel_rows * c->kernel_columns * (int64_t)sizeof *job->taps);   /* bit by bit */
    c->kernel = job->taps;
    c->algorithm = (enum lw_conv2d_algorithm)lw_options_choice(given, "algorithm");
    return rc;
}

void lw_conv2d_shape_kernel(const struct lw_options *given, struct lw_job *job)
{
    if (!lw_options_given(given, "gaussian"))
        return;
    const struct lw_conv2d_spec *const c = &job->op.conv2d;
    struct lw_product *const product = &job->products[job->n_products + job->n_given++];
    product->values = job->taps;
    product->dataset = (struct lw_writer_dataset){
        .path = "/kernel", .type = {.scalar = LW_FLOAT64}, .n_dims = 2, .dims = {c->kernel_rows, c->kernel_columns},
        .dim_names = {"kernel_row", "kernel_column"},
    };
    product->axis_dim = product->channel_dim = -1;
    lw_coordinates_set(job, (struct lw_steps){0}, product);
    lw_product_note_real(product, "fwhm_pixels", lw_options_real(given, "gaussian"));
    if (lw_options_given(given, "background"))
        lw_product_note_int(product, "background_pixels", lw_options_int(given, "background"));
}
