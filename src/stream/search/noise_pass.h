/* noise_pass.h - blocks of the filtered signal for the measurement of its noise; shared by noise.c, noise_clip.c and noise_rms.c.
 *
 * A pass computes blocks of outputs that are evenly spaced on the axis, for one group of channels after the other. The ranks share
 * the blocks. A pair is a channel and a filter; a row is the values of one piece of a block, one value for each pair. */
#pragma once

#include "stream/map.h"
#include "stream/pipeline.h"
#include "stream/plan.h"

/* Blocks of a pass. The axis has `all` blocks, of which the pass takes `count`: block k, 0 <= k < count, has the number
 * first + k step, or if step is 0 the number (k + 1/2) all / count. */
struct lw_noise_blocks {
    int64_t begin;              /* first output of block number 0, at a grid unit */
    int64_t length;             /* outputs of a block on the axis; the axis' last block may be shorter */
    int64_t all;                /* blocks of the axis, or of a stretch */
    int64_t count;
    int64_t first, step;
};

struct lw_noise_pass {
    const struct lw_job *job;
    const struct lw_engine *engine;
    int n_ranks;
    struct lw_op_spec spec;     /* the job's operation, with other products */
    struct lw_shifts stacks;    /* delays and weights of its filters, to which spec.ols.stacks points */
    struct lw_noise_blocks blocks;
    int64_t group;              /* most channels at a time */
    int64_t pieces;             /* pieces of a block, each with a noise of its own; 0: none */
    double *mine;               /* owned; noise of this rank's pieces, [its blocks][pieces][channels][filters]; -1: none */
    double *all;                /* owned; `mine` of all ranks, on rank 0 */
    int depth;                  /* slots, the most blocks in progress at a time */
    const struct lw_plan *run;  /* plan of the run */
    struct lw_plan plan;        /* the same, with the operation of this pass */
    struct lw_stream_window *window;
    struct lw_map *map;         /* NULL: no map of weights */
    struct lw_pipeline *pipeline;
};

/** Return a pass in which the caller still sets spec, plan.op, blocks, group and pieces. @param plan  the run's; borrowed */
struct lw_noise_pass lw_noise_pass_of(const struct lw_job *job, const struct lw_engine *engine, const struct lw_plan *plan,
                                      int n_ranks);

/** Set pass->spec to the job's operation with the filtered signal as its only product: all outputs, unscaled, in the computing
 * precision. */
void lw_noise_plain_series(struct lw_noise_pass *pass);

/** Return the largest number of rows that one rank has. */
int64_t lw_noise_pass_rows(const struct lw_noise_pass *pass);

/** Return the number of pairs of n_channels channels and the filters of the pass. */
int64_t lw_noise_pass_pairs(const struct lw_noise_pass *pass, int64_t n_channels);

/** Return the bytes that lw_noise_pass_open takes; of reader, map and mask, only the bytes beyond those that the run takes, too. */
struct lw_bytes lw_noise_pass_bytes(const struct lw_noise_pass *pass, const struct lw_reader *reader, const struct lw_reader *map,
                                    const struct lw_mask *mask, const struct lw_plan *run);

/** Have the filters of the pass in memory, from number `first` of the job on, and set their taps in `spec`. Images: do nothing.
 * Errors are those of lw_job_take_filters. Not collective. */
int lw_noise_pass_take(struct lw_noise_pass *pass, struct lw_setup *setup, int64_t first, struct lw_error *err);

/** Open a pass: buffers, window, pipeline. Selects another view of the reader. Close the pass even after an error. */
int lw_noise_pass_open(struct lw_noise_pass *pass, struct lw_setup *setup, struct lw_error *err);
void lw_noise_pass_close(struct lw_noise_pass *pass);

/* Process a computed block. @param number  number of the slot */
typedef int lw_noise_take_fn(void *context, struct lw_slot *slot, int number, struct lw_error *err);

/** Compute this rank's blocks of some channels, and pass each to `take`. Then rank 0 gathers `mine` into `all`. Collective. */
int lw_noise_pass_go(struct lw_noise_pass *pass, struct lw_setup *setup, int64_t channel, int64_t n_channels,
                     lw_noise_take_fn *take, void *context, struct lw_error *err);

/** Return the median of the finite values of one pair in all rows; 0 if there is none. Rank 0 only.
 * @param values  work space, [rows of all ranks]
 * @param n       set to the number of finite values */
double lw_noise_pass_median(const struct lw_noise_pass *pass, int64_t n_channels, int64_t pair, double *values, int64_t *n);

/* ---- --noise measured (clip) and --noise rms: memory, and measurement, which sets job->noise on rank 0 ------------------ */

/* Data that a measurement has examined. */
struct lw_noise_said {
    char text[160];             /* "72 segments of 3584 outputs" */
    double *n_finite;           /* owned; outputs that counted, [stretches][channels][filters], on rank 0; NULL: not known */
};

struct lw_bytes lw_noise_clip_bytes(const struct lw_plan_spec *spec, const struct lw_plan *plan);
struct lw_bytes lw_noise_rms_bytes(const struct lw_plan_spec *spec, const struct lw_plan *plan);

int lw_noise_clip(struct lw_setup *setup, const struct lw_plan *plan, struct lw_noise_said *said, struct lw_error *err);
int lw_noise_rms(struct lw_setup *setup, const struct lw_plan *plan, struct lw_noise_said *said, struct lw_error *err);
