/* trial.h - one filtering of a made-up signal: what to compute, the samples, a run through an engine, and the truth. */
#pragma once

#include "engine/engine.h"
#include "signal/peaks.h"

#include <complex.h>

/* What the samples are, about `mean` and of the size `spread`. */
enum trial_signal {
    TRIAL_NOISE,        /* white */
    TRIAL_EDGES,        /* noise, and a first and a last sample a thousand times as large */
    TRIAL_BURST,        /* noise, a tenth of it a thousand times as large */
    TRIAL_RAMP,
};

/* What the taps are. */
enum trial_filter {
    TRIAL_RANDOM,       /* of random sign: their sum stays near their norm even where the signal has a large mean */
    TRIAL_BOXCAR,
    TRIAL_POSITIVE,     /* random, all above zero */
    TRIAL_STEP,         /* the second half of a boxcar negative */
};

/* What the noise of channels and filters is, for a search. */
enum trial_noise {
    TRIAL_NOISE_ONE,    /* not given */
    TRIAL_NOISE_RANDOM, /* of the size of the series, different everywhere */
    TRIAL_NOISE_ZEROS,  /* the same, and 0 for every third filter of every other channel */
};

struct trial {
    struct lw_type input, output;
    double output_scale;            /* of outputs that saturate; 0 counts as 1 */
    enum lw_precision precision;
    enum lw_layout layout;
    enum lw_nan nan;
    enum lw_mode mode;
    enum lw_boundary boundary;
    int64_t n_channels, n_samples, n_taps;
    int n_filters, segment;
    struct lw_post post;
    struct lw_search search;        /* its noise is the data's */
    enum trial_noise noise;
    int n_stretches;                /* of that noise, about; 0: one */
    bool taps_complex;
    double mean, spread;            /* of the samples, before they are rounded to the stored type */
    enum trial_signal signal;
    enum trial_filter filter;
    uint64_t seed;
};

/* A trial's data. Samples that are not finite may be put into `values` before trial_store. */
struct trial_data {
    struct trial trial;
    int64_t n_outputs, look_ahead;      /* of the filtered series, before anything is made of it */
    int64_t n_results;                  /* on the axis, once it is interpolated */
    int64_t lead;                       /* window position of own sample 0 of the first block: look-ahead and reach */
    double complex *values;         /* [channel][sample], as the stored type holds them */
    double *taps;                   /* as struct lw_ols_spec wants them */
    double *noise;                  /* [stretch][channel][filter]; NULL: not given */
    char *stored;                   /* [channel][sample] in the stored type */
};

/* How the work is cut and queued. */
struct trial_cut {
    int64_t units;                  /* grid units per block; 0: the whole axis in one */
    int64_t channel_units;          /* 0: all channels in one */
    int depth;
    bool again;                     /* crossings come from the least parts of each block, which are searched again */
};

/* What came back. */
struct trial_result {
    struct lw_op_plan plan;
    char *outputs;                  /* [filter][channel][result] or [filter][result][channel], packed */
    size_t bytes;
    int64_t n_not_finite, first_sample, first_channel;      /* own samples of all blocks; on the window's axis */
    bool is_out_of_range;
    struct lw_loss loss;
};

/* What a search found. */
struct trial_found {
    char *arrays[LW_OP_PRODUCTS];   /* per product, as `outputs`; NULL: it is no array, or the series */
    size_t bytes[LW_OP_PRODUCTS];
    struct lw_crossing *crossings;  /* those of each block's own outputs; in no order */
    struct lw_peak *peaks;          /* by index, channel, filter */
    int64_t n_crossings, n_peaks;
    int64_t n_again;                /* blocks that were searched again, as their tables were too small */
};

uint64_t trial_random(uint64_t *state);
double trial_uniform(uint64_t *state);      /* in (-1, 1) */

double trial_kept(enum lw_scalar scalar, double value);     /* what the type of a sample keeps of it: rounded, saturated */
double trial_clipped(enum lw_scalar scalar, double value);  /* what a type that saturates does with it before rounding */
double trial_rounding(enum lw_scalar scalar, double value); /* the most that rounding to such a type takes */
void trial_put_scalar(struct lw_type type, double value, char *to);     /* in the type's byte order */

bool trial_is_dominated(const struct trial *trial);     /* by a few samples */

void trial_make(const struct trial *trial, struct trial_data *data);
void trial_store(struct trial_data *data);          /* values -> stored; call again after changing values */
void trial_free(struct trial_data *data);

struct lw_op_spec trial_spec(const struct trial_data *data);

/** The sample at a position of the window (see signal/convolution.h), the boundary applied. */
double complex trial_sample(const struct trial_data *data, int64_t channel, int64_t position);

/** Run it; failures are reported by CHECK. @return whether there is a result, to be freed with free(result->outputs) */
bool trial_run(struct lw_engine *engine, const struct trial_data *data, const struct trial_cut *cut,
               struct trial_result *result);

/** The same for a trial with a search. Outputs of the series are there only if the search's products have it. @param found  to be
 * freed with trial_found_free, whatever the outcome */
bool trial_run_search(struct lw_engine *engine, const struct trial_data *data, const struct trial_cut *cut,
                      struct trial_result *result, struct trial_found *found);
void trial_found_free(struct trial_found *found);

/** An output of the series by its definition: a direct sum in long double. @param is_touched  by a sample that is not finite */
double complex trial_series(const struct trial_data *data, int64_t filter, int64_t channel, int64_t output, bool *is_touched);

/** What no error of an engine is larger than, in units of the bound on its rms value, among n of them. */
double trial_largest_to_rms(const struct trial *trial, int64_t n);

/** Compare with the float64 direct sum: rms and largest error, and exactly which outputs are not a number. */
void trial_check(const struct trial_data *data, const struct trial_result *result, const char *what);

/** The bound on the rms error of a filter's output, over all channels, that jobs/README.md promises. */
double trial_bound(const struct trial_data *data, const struct lw_op_plan *plan, int64_t filter);

/** One line about a trial, for messages. Returns `text`. */
const char *trial_text(const struct trial *trial, char text[256]);
