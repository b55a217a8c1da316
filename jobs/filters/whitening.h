/* whitening.h - the option --whiten: divide the filters of a job by the power spectrum of its input. */
#pragma once

#include "job/job.h"

/* Entries of a job's table of options. */
#define LW_WHITENING_OPTIONS                                                                                                    \
    {.name = "whiten", .kind = LW_OPTION_DURATION, .argument = "TIME", .minimum = 1e-12, .maximum = 1e12,                       \
     .help = "Whiten the filters by the input's spectrum. It is the median over segments of TIME. The filters are divided by "     \
             "this power spectrum and become matched filters for the input's noise. They are scaled so that this noise comes "     \
             "out with a standard deviation of 1 (of either part, where outputs are complex): |y| is then the signal-to-noise "    \
             "ratio, and --noise is given. The spectrum is stored as /psd, and the filters, about two segments longer, as "        \
             "/filters. With --mode same outputs keep their times. The input must be one channel of real samples."},               \
    {.name = "whiten-band", .kind = LW_OPTION_TEXT, .argument = "LOW:HIGH", .within = "whiten", .word = "band",                 \
     .help = "the filters pass nothing outside these frequencies in Hz (or kHz, MHz, GHz). Use it where the input was filtered "   \
             "before and holds no noise there to divide by. Default: all frequencies."}

/** Read the options. With --whiten, move the filters to job->whitening, allocate job->taps for the longer whitened filters, if all
 * are held, and set their length in job->op.ols. LW_EUSAGE, LW_ECONFIG. */
int lw_whitening_choose(const struct lw_options *given, struct lw_job *job, struct lw_error *err);

/** Add the attributes of whitened taps to /filters. */
void lw_whitening_describe_taps(const struct lw_job *job, struct lw_product *product);

/** Add the dataset /psd, the spectrum, behind all products. */
void lw_whitening_shape_spectrum(struct lw_job *job);

/** Whiten filters by the measured spectrum: lw_job_ops.whiten. */
int lw_whitening_make(struct lw_job *job, const struct lw_stored_taps *stored, int64_t first, int64_t n, struct lw_error *err);

void lw_whitening_release(struct lw_job *job);
