/* weights.h - weights of an image's pixels, from a map: a second input of its size, which --noise-map or --weight-map names.
 *
 * A map has a number for each pixel of each image. A map of one image serves all images of a stack. Its name may tell what it holds
 * (ERR, IVAR, DQ ...). It may consist of several files, which are joined as those of the input. stream/map.h reads it. */
#pragma once

#include "job/job.h"

#define LW_WEIGHTS_OPTIONS                                                                                                     \
    {.name = "noise-map", .kind = LW_OPTION_NAMES, .argument = "FILE:/dataset",                                                \
     .help = "Noise (sigma) of each pixel. Outputs then are signal-to-noise ratios of a matched filter. With the weights w = 1 / " \
             "sigma^2 they are conv(w x, k) / sqrt(conv(w, k^2)). This is the flux of a source with the kernel's shape k, "    \
             "over the error of that flux. Pixels beyond the sides have weight 0, whatever --boundary is. So have pixels "     \
             "that are not finite, or whose sigma is not finite or not above 0. An output whose kernel covers no others "      \
             "is NaN. The map has the shape of the input. A map of one image serves all of a stack. Format and type are "      \
             "free, and several files are joined as those of --input. Peaks then have sigma 1 by default: see --noise."},      \
    {.name = "weight-map", .kind = LW_OPTION_NAMES, .argument = "FILE:/dataset|auto",                                          \
     .help = "Weight of each pixel, 1 / sigma^2. It takes the place of --noise-map. A weight of 0 leaves the pixel out. auto: "  \
             "the dataset beside the image in its file, with the same EXTVER in FITS, whose name is one of these. IVAR, INVVAR, " \
             "WGT, WHT, WEIGHT hold weights; ERR, ERROR, SIGMA, RMS, STDDEV, NOISE sigma; VAR, VARIANCE sigma^2; DQ, MASK, MSK, " \
             "FLAG are not 0 where a pixel is bad. Relative weights, such as exposure times, need --noise measured for a " \
             "--threshold in sigmas."}

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
