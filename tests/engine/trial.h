/* trial.h - one filtering of a synthetic signal: its description, samples and taps, a run through an engine, and a check against
 * direct sums. The suites of ols.c, accuracy.c and search.c consist of such trials.
 *
 *     struct trial -> trial_make -> trial_data -> trial_run(engine, cut) -> trial_result -> trial_check */
#pragma once

#include "engine/engine.h"
#include "signal/peaks.h"

#include <complex.h>

/* Shape of the samples around `mean`, of the size `spread`. */
enum trial_signal {
    TRIAL_NOISE,        /* white */
    TRIAL_EDGES,        /* noise; the first and the last sample are a thousand times larger */
    TRIAL_BURST,        /* noise; a tenth of it is a thousand times larger */
    TRIAL_RAMP,
};

/* Shape of the taps. */
enum trial_filter {
    TRIAL_RANDOM,       /* random signs: the sum of taps stays near their norm, also if the signal has a large mean */
    TRIAL_BOXCAR,
    TRIAL_POSITIVE,     /* random, all positive */
    TRIAL_STEP,         /* a boxcar whose second half is negative */
};

/* Noise of the channels and filters of a search. */
enum trial_noise {
    TRIAL_NOISE_ONE,    /* not given */
    TRIAL_NOISE_RANDOM, /* size of the series, different for each channel and filter */
    TRIAL_NOISE_ZEROS,  /* the same, but 0 for every third filter of every other channel */
};

struct trial {
    struct lw_type input, output;
    double output_scale;            /* unit of outputs that saturate; 0 counts as 1 */
    enum lw_precision precision;
    enum lw_layout layout;
    enum lw_nan nan;
    enum lw_mode mode;
    enum lw_boundary boundary;
    int64_t n_channels, n_samples, n_taps;
    int n_filters, segment;
    struct lw_post post;
    struct lw_search search;        /* its noise is that of struct trial_data */
    enum trial_noise noise;
    int n_stretches;                /* approximate number of stretches of the noise; 0: one */
    bool taps_complex;
    double mean, spread;            /* mean and size of the samples before rounding to the stored type */
    enum trial_signal signal;
    enum trial_filter filter;
    uint64_t seed;
};

/* Data of a trial. The caller may make `values` non-finite before trial_store. */
struct trial_data {
    struct trial trial;
    int64_t n_outputs, look_ahead;      /* outputs and look-ahead of the filtered series, before any derived series */
    int64_t n_results;                  /* outputs of the derived series: n_outputs, interpolated */
    int64_t lead;                       /* window position of own sample 0 of the first block: look-ahead plus reach */
    double complex *values;         /* [channel][sample], exactly as the stored type holds them */
    double *taps;                   /* layout as struct lw_ols_spec requires */
    double *noise;                  /* [stretch][channel][filter]; NULL: no noise given */
    char *stored;                   /* [channel][sample] in the stored type */
};

/* Cut of the work into blocks, and depth of the queue. */
struct trial_cut {
    int64_t units;                  /* grid units per block; 0: the whole axis in one block */
    int64_t channel_units;          /* channel units per block; 0: all channels in one block */
    int depth;
    bool again;                     /* whether every block is searched again in its smallest parts */
};

/* Result of a run. */
struct trial_result {
    struct lw_op_plan plan;
    char *outputs;                  /* [filter][channel][result] or [filter][result][channel], packed */
    size_t bytes;
    int64_t n_not_finite, first_sample, first_channel;      /* own samples that are not finite, in all blocks; the first on the
                                                             * window's axis */
    bool is_out_of_range;
    struct lw_loss loss;
};

/* Result of a search. */
struct trial_found {
    char *arrays[LW_OP_PRODUCTS];   /* arrays of each product, laid out like `outputs`; NULL: the product is the series or no
                                     * array */
    size_t bytes[LW_OP_PRODUCTS];
    struct lw_crossing *crossings;  /* crossings of all blocks' own outputs, in no order */
    struct lw_peak *peaks;          /* sorted by index, channel, filter */
    int64_t n_crossings, n_peaks;
    int64_t n_again;                /* blocks that were searched again because their tables were too small */
};

uint64_t trial_random(uint64_t *state);
double trial_uniform(uint64_t *state);      /* uniform in (-1, 1) */

double trial_kept(enum lw_scalar scalar, double value);     /* the value as the type stores it: rounded, saturated */
double trial_clipped(enum lw_scalar scalar, double value);  /* the value as a saturating type limits it before rounding */
double trial_rounding(enum lw_scalar scalar, double value); /* largest rounding error of that type */
void trial_put_scalar(struct lw_type type, double value, char *to);     /* byte order as in the type */

bool trial_is_dominated(const struct trial *trial);     /* whether a few samples dominate the signal */

void trial_make(const struct trial *trial, struct trial_data *data);
void trial_store(struct trial_data *data);          /* convert values to stored; call again after changing values */
void trial_free(struct trial_data *data);

struct lw_op_spec trial_spec(const struct trial_data *data);

/** Return the sample at a position of the window (see signal/convolution.h), with the boundary applied. */
double complex trial_sample(const struct trial_data *data, int64_t channel, int64_t position);

/** Run a trial. CHECK reports failures. @return whether there is a result, to be freed with free(result->outputs) */
bool trial_run(struct lw_engine *engine, const struct trial_data *data, const struct trial_cut *cut,
               struct trial_result *result);

/** Run a trial with a search. `result` has outputs of the series only if the search's products include it. @param found freed by
 * the caller with trial_found_free, also after a failure */
bool trial_run_search(struct lw_engine *engine, const struct trial_data *data, const struct trial_cut *cut,
                      struct trial_result *result, struct trial_found *found);
void trial_found_free(struct trial_found *found);

/** Return an output of the series by its definition: a direct sum in long double. @param is_touched whether the output touches a
 * sample that is not finite */
double complex trial_series(const struct trial_data *data, int64_t filter, int64_t channel, int64_t output, bool *is_touched);

/** Return the limit on the largest of n errors, as a multiple of the bound on their rms value. */
double trial_largest_to_rms(const struct trial *trial, int64_t n);

/** Compare the outputs with float64 direct sums: rms error, largest error, and exactly which outputs are not a number. */
void trial_check(const struct trial_data *data, const struct trial_result *result, const char *what);

/** Return the bound on the rms error of a filter's output over all channels that jobs/README.md guarantees. */
double trial_bound(const struct trial_data *data, const struct lw_op_plan *plan, int64_t filter);

/** Describe a trial in one line, for messages. Return `text`. */
const char *trial_text(const struct trial *trial, char text[256]);
