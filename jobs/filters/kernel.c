/* kernel.c - banks of kernels for images from formulas: Gaussians and Mexican hats, all as large as the largest. */
#include "base/memory.h"
#include "design/taps.h"
#include "jobs/filters/bank.h"

/* Half sides of kernels in standard deviations: a Gaussian falls to 4e-6 there, a Mexican hat's integral beyond it is 5e-7. */
#define GAUSSIAN_REACH 5
#define HAT_REACH 6

#define SIZE_OPTION                                                                                                    \
    {.name = "size", .kind = LW_OPTION_INT, .argument = "N", .minimum = 1, .maximum = LW_BANK_MOST_SIDE,               \
     .help = "Rows and columns of the kernels, odd. Default: from where the widest kernel rises to where it has died away."}

static const struct lw_option gaussian_options[] = {
    {.name = "fwhm", .kind = LW_OPTION_TEXT, .argument = "W,W,...", .is_required = true,
     .help = "Full widths at half maximum along the longer axis, in pixels. One number makes a kernel, several make a bank."},
    {.name = "ratio", .kind = LW_OPTION_TEXT, .argument = "Q,Q,...", .fallback = "1",
     .help = "Shorter axis divided by the longer one. Give one number for all kernels, or one for each."},
    {.name = "angle", .kind = LW_OPTION_TEXT, .argument = "DEG,DEG,...", .fallback = "0",
     .help = "Angle of the longer axis in degrees. It is counted from growing columns towards growing rows. Give one number for "
             "all kernels, or one for each."},
    SIZE_OPTION,
    LW_OPTION_NORM("gain"),
    {0},
};

static const struct lw_option hat_options[] = {
    {.name = "scales", .kind = LW_OPTION_TEXT, .argument = "S,S,...", .is_required = true,
     .help = "Standard deviations of the Gaussian whose Laplacian is taken, in pixels. One number makes a kernel, several a bank."},
    SIZE_OPTION,
    {0},
};

/* ---- Gaussian ---------------------------------------------------------------------------------------------------------- */

/* Read a list, and check that it has a number for all of n kernels or one for each. @param each  set; [n] */
static int read_each(const struct lw_options *given, const struct lw_bank_list *list, int n, double *each, struct lw_error *err)
{
    LW_FREED double *numbers = NULL;
    int count = 0;
    int rc = lw_bank_read_list(given, list, &numbers, &count, err);
    if (rc == LW_OK && count != 1 && count != n)
        rc = lw_fail(err, LW_EUSAGE, "--%s has %d numbers and --fwhm has %d: give one for all kernels, or one for each",
                     list->option, count, n);
    for (int k = 0; k < n && rc == LW_OK; k++)
        each[k] = numbers[count > 1 ? k : 0];
    return rc;
}

static int design_gaussian(const struct lw_options *given, struct lw_bank *bank, struct lw_error *err)
{
    const struct lw_bank_list widths = {"fwhm", "pixels", 0.1, 1000, false, NULL};
    const struct lw_bank_list ratios = {"ratio", "of the longer axis", 1e-3, 1, false, NULL};
    const struct lw_bank_list angles = {"angle", "degrees", -360, 360, false, NULL};
    double *ratio = NULL, *angle = NULL;
    int n, rc;
    if ((rc = lw_bank_read_list(given, &widths, &bank->parameters, &n, err)) ||
        (rc = lw_bank_shape_kernels(bank, given, n, GAUSSIAN_REACH / LW_FWHM * lw_bank_largest(bank->parameters, n), err)))
        return rc;
    if (!(ratio = lw_bank_note_each(bank, "axis_ratio", err)) || !(angle = lw_bank_note_each(bank, "angle_deg", err)))
        return LW_ESYSTEM;
    if ((rc = read_each(given, &ratios, n, ratio, err)) || (rc = read_each(given, &angles, n, angle, err)))
        return rc;
    for (int k = 0; k < n; k++)
        lw_taps_gaussian_2d(bank->parameters[k] / LW_FWHM, ratio[k], angle[k], bank->columns, lw_bank_filter(bank, k));
    bank->design = "samples of exp(-(u^2 + v^2 / ratio^2) / (2 sigma^2)), u along the longer axis";
    return LW_OK;
}

const struct lw_filter_kind lw_filter_gaussian_2d = {
    .name = "gaussian2d", .title = "Gaussian kernels for images, round or elongated",
    .description = "exp(-(u^2 + v^2 / ratio^2) / (2 sigma^2)) in the middles of pixels, u along the longer axis, for conv2d "
                   "--kernel. Gain 1 is a sum of 1; a round kernel is then that of conv2d --gaussian.",
    .example = "lapwing filters gaussian2d --fwhm 2,4,8 --output bank.h5\n"
               "lapwing filters gaussian2d --fwhm 9,9,9,9 --ratio 0.3 --angle 0,45,90,135 \\\n"
               "    --output streaks.h5",
    .options = gaussian_options, .design = design_gaussian, .parameter_name = "fwhm_pixels", .parameter_text = "FWHM %.6g pixels",
};

/* ---- Mexican hat ------------------------------------------------------------------------------------------------------- */

static int design_hat(const struct lw_options *given, struct lw_bank *bank, struct lw_error *err)
{
    const struct lw_bank_list scales = {"scales", "pixels", 0.5, 1000, false, NULL};
    int n, rc;
    if ((rc = lw_bank_read_list(given, &scales, &bank->parameters, &n, err)) ||
        (rc = lw_bank_shape_kernels(bank, given, n, HAT_REACH * lw_bank_largest(bank->parameters, n), err)))
        return rc;
    for (int k = 0; k < n; k++) {
        lw_taps_mexican_hat(bank->parameters[k], bank->columns, lw_bank_filter(bank, k));
        lw_taps_remove_mean(bank->n_taps, lw_bank_filter(bank, k));
    }
    bank->design = "samples of (2 - r^2 / s^2) exp(-r^2 / (2 s^2)), less their mean";
    return LW_OK;
}

const struct lw_filter_kind lw_filter_mexican_hat = {
    .name = "mexican-hat", .title = "2-D Ricker (Marr) wavelets of some scales",
    .description = "Mexican hats: (2 - r^2 / s^2) exp(-r^2 / (2 s^2)), a kernel for each scale s, the negative Laplacian of a "
                   "Gaussian (D. Marr, E. Hildreth, Proc. R. Soc. B 207, 187 (1980)). Its mean is taken away, so that a constant "
                   "background gives 0. The sum of squares is 1: white noise keeps its standard deviation at every scale. The "
                   "strongest response to a Gaussian source of standard deviation t is that of scale 1.73 t.",
    .example = "lapwing filters mexican-hat --scales 1,1.4,2,2.8,4 --output hats.h5\n"
               "lapwing conv2d --input M51.fits --kernel hats.h5:/kernel \\\n"
               "    --boundary reflect --products peaks,best --threshold 7 \\\n"
               "    --cluster 4,kernels --output sources.h5",
    .options = hat_options, .design = design_hat, .parameter_name = "scale_pixels", .parameter_text = "scale %.6g pixels",
};
