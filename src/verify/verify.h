/* verify.h - `lapwing verify RESULT`: whether a result is complete, undamaged, and what its input and filters give.
 *
 *     verify.c      the order of the steps, the table of what was found
 *     sums.c        checksums, where the result has them
 *     open.c        the job made again from the result's configuration: its input, filters and mask
 *     samples.c     the input around some outputs, and how strong it is there
 *     truth.c       what an output is by the definition, direct sums, and how far a stored one may be from it
 *     spots.c       which outputs are checked
 *     arrays.c      random outputs of series, best and blocks; filters and kernels that are stored with them
 *     peaks.c       random rows of a table of peaks
 *     lines.c       random rows of a sparse spectrum
 *
 * Sums over taps are made as they are written down, by none of the engines' code. What the definition takes from a pass over all of
 * the data, the noise of a search and the spectrum of --whiten, is taken from the result. */
#pragma once

#include "comm/comm.h"
#include "job/job.h"
#include "options/options.h"

extern const struct lw_option lw_verify_options[];

struct lw_verify_request {
    const char *file;               /* the result */
    const struct lw_options *given; /* of lw_verify_options */
    const struct lw_job_ops *ops;   /* the result's job, */
    struct lw_options *options;     /* and its configuration; those that `given` replaces are replaced here. All are borrowed */
};

/** Whether a file is a complete result. LW_EIO: it cannot be read; LW_EDATA: it is incomplete, naming the remedy, or no result.
 * By one process. */
int lw_verify_check_complete(const char *file, struct lw_error *err);

/** Check it and print what was found. Rank 0 works, all return the same code. LW_EDATA: something is wrong, naming the worst
 * place, or an input is not the one that the result was made from. Collective. */
int lw_verify_run(struct lw_comm *comm, const struct lw_verify_request *request, struct lw_error *err);
