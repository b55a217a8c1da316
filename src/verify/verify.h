/* verify.h - `lapwing verify RESULT`: checks that a result is complete, undamaged, and right for its input and filters.
 *
 *     verify.c      the order of the steps, the table of the findings
 *     sums.c        checksums, if the result has them
 *     open.c        the job made again from the result's configuration: its input, filters and mask
 *     spots.c       choice of the outputs to check
 *     samples.c     the input around some outputs, and its rms value there
 *     truth.c       outputs by the definition, direct sums; promise.c: bounds of their errors
 *     arrays.c      random outputs of series, best and blocks; filters and kernels in the result
 *     peaks.c       random rows of a table of peaks
 *     lines.c       random rows of a sparse spectrum
 *
 * Sums over taps follow the definition to the letter, and use none of the engines' code. Two things need a pass over all of the
 * data, and are taken from the result: the noise of a search, and the spectrum of --whiten. */
#pragma once

#include "job/job.h"

extern const struct lw_option lw_verify_options[];

struct lw_verify_request {
    const char *file;               /* name of the result; all fields are borrowed */
    const struct lw_options *given; /* options of the command, see lw_verify_options */
    const struct lw_job_ops *ops;   /* job that made the result */
    struct lw_options *options;     /* the result's configuration, with the files of `given` */
};

/** Check that a file is a complete result. LW_EIO: it cannot be read; LW_EDATA: it is no result, or incomplete, and the message has
 * the remedy. Not collective. */
int lw_verify_check_complete(const char *file, struct lw_error *err);

/** Check a result and print the findings. Rank 0 works, all ranks return the same code. LW_EDATA: a value is wrong (the message has
 * the worst place), or an input is not the one that the result was made from. Collective. */
int lw_verify_run(struct lw_comm *comm, const struct lw_verify_request *request, struct lw_error *err);
