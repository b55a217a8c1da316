/* noise_pass.h - blocks of the filtered signal for the measurement of its noise; shared by noise.c, noise_clip.c and noise_rms.c.
 *
 * A pass computes blocks of outputs, evenly spaced on the axis and shared by the ranks, once for each group of channels. */
#pragma once

#include "stream/pipeline.h"
#include "stream/plan.h"

/* Blocks of a pass. Block k, 0 <= k < count, is number first + k step of the axis; if step is 0, (k + 1/2) all / count. */
struct lw_noise_blocks {
    int64_t begin;              /* first output of block number 0, at a grid unit */
    int64_t length;             /* outputs of a block on the axis; the axis' last block may be shorter */
    int64_t all;                /* blocks of the axis or of a stretch */
    int64_t count;
    int64_t first, step;
};

struct lw_noise_pass {
    const struct lw_job *job;
    const struct lw_engine *engine;
    int n_ranks;
    struct lw_op_spec spec;     /* the job's operation, with other products */
    struct lw_noise_blocks blocks;
    int64_t group;              /* most channels at a time */
    int64_t pieces;             /* pieces of a block whose noise is measured separately */
    double *mine;               /* owned; [a rank's blocks][pieces][channels][filters]; -1: no value */
    double *all;                /* owned; on rank 0 the values of all ranks */
    int depth;
    struct lw_plan plan;        /* the run's plan, with the operation and blocks of this pass */
    struct lw_stream_window *window;
    struct lw_pipeline *pipeline;
};

/** Return a pass to start from; the caller sets spec, plan.op, blocks, group and pieces. */
struct lw_noise_pass lw_noise_pass_of(const struct lw_job *job, const struct lw_engine *engine, const struct lw_plan *plan,
                                      int n_ranks);

/** Change an operation to output the filtered signal: every output, unscaled, in the computing precision. */
void lw_noise_plain_series(struct lw_op_spec *spec);

/** Return the most pieces of one rank. */
int64_t lw_noise_pass_rows(const struct lw_noise_pass *pass);

/** Return the number of pairs of a channel and a filter. */
int64_t lw_noise_pass_pairs(const struct lw_noise_pass *pass, int64_t n_channels);

/** Return the bytes that lw_noise_pass_open takes; for the reader and the mask, only those beyond the run's. */
struct lw_bytes lw_noise_pass_bytes(const struct lw_noise_pass *pass, const struct lw_reader *reader, const struct lw_mask *mask,
                                    const struct lw_plan *run);

/** Open a pass: buffers, window, pipeline. Selects another view of the reader. Close the pass even after an error. */
int lw_noise_pass_open(struct lw_noise_pass *pass, struct lw_setup *setup, struct lw_error *err);
void lw_noise_pass_close(struct lw_noise_pass *pass);

/* Process a computed block. */
typedef int lw_noise_take_fn(void *context, const struct lw_slot *slot, int number, struct lw_error *err);

/** Compute this rank's blocks of some channels while reading. Values that `take` puts into `mine` come to rank 0. Collective. */
int lw_noise_pass_go(struct lw_noise_pass *pass, struct lw_setup *setup, int64_t channel, int64_t n_channels,
                     lw_noise_take_fn *take, void *context, struct lw_error *err);

/** Return the median of the finite values of all pieces, for one pair of a channel and a filter; 0 without values. Rank 0 only.
 * @param values  work space, [rows of all ranks]
 * @param n       set to the number of finite values */
double lw_noise_pass_median(const struct lw_noise_pass *pass, int64_t n_channels, int64_t pair, double *values, int64_t *n);

/* ---- the ways to measure: each fills job->noise on rank 0, or says what it takes ---------------------------------------- */

/* Amount of data that was examined. */
struct lw_noise_said {
    char text[160];             /* "72 segments of 3584 outputs" */
    double *n_finite;           /* owned; [stretches][channels][filters] number of outputs that counted, on rank 0; NULL: unknown */
};

/** Return the least memory of the measurement. */
struct lw_bytes lw_noise_clip_bytes(const struct lw_plan_spec *spec, const struct lw_plan *plan);
struct lw_bytes lw_noise_rms_bytes(const struct lw_plan_spec *spec, const struct lw_plan *plan);

int lw_noise_clip(struct lw_setup *setup, const struct lw_plan *plan, struct lw_noise_said *said, struct lw_error *err);
int lw_noise_rms(struct lw_setup *setup, const struct lw_plan *plan, struct lw_noise_said *said, struct lw_error *err);
