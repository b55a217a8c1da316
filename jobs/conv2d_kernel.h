/* conv2d_kernel.h - the kernel of `conv2d`: read from a file, or a Gaussian made here. */
#pragma once

#include "job/job.h"

/* Entries of the job's table of options. */
#define LW_CONV2D_KERNEL_OPTIONS                                                                                                \
    {.name = "kernel", .kind = LW_OPTION_FILE, .argument = "FILE:/dataset",                                                     \
     .help = "Kernel [rows x columns], real or complex, of any size, also larger than the image. Or give --gaussian."},         \
    {.name = "gaussian", .kind = LW_OPTION_REAL, .argument = "PIXELS", .minimum = 0.5, .maximum = 500,                          \
     .help = "Instead of --kernel: a Gaussian of this full width at half maximum, out to 5 standard deviations, with the sum 1; " \
             "it is stored in the result as /kernel."},                                                                         \
    {.name = "background", .kind = LW_OPTION_INT, .argument = "PIXELS", .minimum = 3, .maximum = 2047,                          \
     .help = "With --gaussian, to find sources: the kernel is a square of so many rows and columns, an odd number, and its "    \
             "mean is taken away, so that it gives 0 on a constant background. It is scaled such that the result is the "       \
             "height, above the background, of the Gaussian that fits best, by least squares, around each pixel (as DAOFIND's " \
             "density enhancement). Give --boundary edge or reflect with it, as zeros beyond the sides would be a step. "       \
             "Default: nothing is taken away."}

/** Read or make the kernel and set the operation's. LW_EUSAGE, LW_EDATA, LW_ECONFIG. Collective. */
int lw_conv2d_get_kernel(const struct lw_options *given, struct lw_comm *comm, struct lw_job *job, struct lw_error *err);

/** The dataset of a kernel that is in no file yet, behind all products. */
void lw_conv2d_shape_kernel(const struct lw_options *given, struct lw_job *job);
