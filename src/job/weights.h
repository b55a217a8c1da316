/* weights.h - weights of an image's pixels, from a map: a second input of the image's size, which --noise-map or --weight-map names.
 *
 * A map has a number for each pixel of each image. A map of one image serves all images of a stack. Its name may tell what it holds
 * (ERR, IVAR, DQ ...). It may consist of several files, which are joined as those of the input. stream/map.h reads it. */
#pragma once

#include "job/job.h"

#define LW_WEIGHTS_OPTIONS                                                                                                         \
    {.name = "noise-map", .kind = LW_OPTION_NAMES, .argument = "FILE:/dataset",                                                    \
     .help = "Noise (sigma) of each pixel: outputs become a matched filter's signal-to-noise ratios. With w = 1 / sigma^2 they "      \
             "are conv(w x, k) / sqrt(conv(w, k^2)): the flux of a source of the kernel's shape k over the error of that flux. "      \
             "Pixels that are not finite, or whose sigma is not finite or not above 0, have weight 0, as those beyond the sides "     \
             "have, whatever --boundary says. Where the kernel covers no others, the output is NaN. The map has the shape of the "    \
             "input; a map of one image serves all of a stack. It may have any format and type. Peaks then have sigma 1, unless "     \
             "--noise says otherwise."},                                                                                              \
    {.name = "weight-map", .kind = LW_OPTION_NAMES, .argument = "FILE:/dataset|auto",                                              \
     .help = "Weight of each pixel, 1 / sigma^2, in place of --noise-map. 0 leaves a pixel out. auto looks in the input's own "       \
             "file, beside the image, for a name that tells what a map holds: weights (IVAR, INVVAR, WGT, WHT, WEIGHT), sigma (ERR, " \
             "ERROR, SIGMA, RMS, STDDEV, NOISE), variances (VAR, VARIANCE) or marks of bad pixels other than 0 (DQ, MASK, MSK, "      \
             "FLAG). FITS extensions have the image's EXTVER. Weights that are only relative, as exposure times are, need --noise "   \
             "measured for a --threshold in sigmas."}

/** Read --noise-map and --weight-map into job->map and the operation. LW_EUSAGE: they contradict each other or --nan. LW_ECONFIG:
 * pixels or kernel are complex. */
int lw_weights_choose(const struct lw_options *given, struct lw_job *job, struct lw_error *err);

/** Open the map that job->map names, and add it to the job's inputs; *out stays NULL without a map. LW_EDATA: it does not fit the
 * input, or auto finds none. LW_EUSAGE: its name says that it holds something else. Errors of lw_reader_open_all. Collective.
 * @param input  the reader of the image
 * @param pool   threads that read; NULL: the format's library reads */
int lw_weights_open(struct lw_comm *comm, const struct lw_options *given, const struct lw_reader *input, struct lw_pool *pool,
                    struct lw_job *job, struct lw_reader **out, struct lw_error *err);

/** Turn n stored numbers of a map into what the operation takes, in place. Sigma and weights stay. */
void lw_weights_convert(const struct lw_job *job, void *numbers, int64_t n);
