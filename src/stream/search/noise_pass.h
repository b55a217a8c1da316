/* noise_pass.h - blocks of the filtered series for those who measure its noise: what noise.c, noise_clip.c and noise_rms.c share.
 *
 * A pass makes some blocks of outputs, evenly spaced on the axis, once for each group of channels. The ranks share the blocks. */
#pragma once

#include "stream/pipeline.h"
#include "stream/plan.h"

/* Block k of `count`, 0 <= k, is number first + k step, or, where step is 0, number (k + 1/2) all / count. */
struct lw_noise_blocks {
    int64_t begin;              /* output of the axis with which number 0 begins, at a grid unit */
    int64_t length;             /* outputs of one on the axis; the axis' last may be shorter */
    int64_t all;                /* of the axis, or of a stretch */
    int64_t count;
    int64_t first, step;
};

struct lw_noise_pass {
    const struct lw_job *job;
    const struct lw_engine *engine;
    int n_ranks;
    struct lw_op_spec spec;     /* the job's, but for its products */
    struct lw_noise_blocks blocks;
    int64_t group;              /* channels at a time, at most */
    int64_t pieces;             /* of a block, whose noise is measured by itself */
    double *mine;               /* owned; [rows: a rank's blocks][pieces], of [channels][filters]; -1: no value */
    double *all;                /* owned; on rank 0 those of all ranks */
    int depth;
    struct lw_plan plan;        /* the run's, with the operation and the blocks of this pass */
    struct lw_stream_window *window;
    struct lw_pipeline *pipeline;
};

/** What a pass for a run starts from; the caller sets spec, plan.op, blocks, group and pieces. */
struct lw_noise_pass lw_noise_pass_of(const struct lw_job *job, const struct lw_engine *engine, const struct lw_plan *plan,
                                      int n_ranks);

/** Make the operation deliver every output of its filters, unscaled, in the computing precision. */
void lw_noise_plain_series(struct lw_op_spec *spec);

/** Pieces that one rank takes at most. */
int64_t lw_noise_pass_rows(const struct lw_noise_pass *pass);

/** Channels and filters of a block. */
int64_t lw_noise_pass_pairs(const struct lw_noise_pass *pass, int64_t n_channels);

/** Bytes that lw_noise_pass_open takes, of the reader and the mask those beyond the run's. */
struct lw_bytes lw_noise_pass_bytes(const struct lw_noise_pass *pass, const struct lw_reader *reader, const struct lw_mask *mask,
                                    const struct lw_plan *run);

/** Selects another view of the reader. Close in any case. */
int lw_noise_pass_open(struct lw_noise_pass *pass, struct lw_setup *setup, struct lw_error *err);
void lw_noise_pass_close(struct lw_noise_pass *pass);

/* Takes a block that has been made. */
typedef int lw_noise_take_fn(void *context, const struct lw_slot *slot, int number, struct lw_error *err);

/** Make this rank's blocks of some channels; a block is read while those before it are computed. What `take` puts into `mine` comes
 * to rank 0. Collective. */
int lw_noise_pass_go(struct lw_noise_pass *pass, struct lw_setup *setup, int64_t channel, int64_t n_channels,
                     lw_noise_take_fn *take, void *context, struct lw_error *err);

/** On rank 0: the median of the pieces that have a finite value, of a channel and filter of `n_channels`; 0 where there are none.
 * @param values  [rows of all ranks] overwritten
 * @param n       set: how many they are */
double lw_noise_pass_median(const struct lw_noise_pass *pass, int64_t n_channels, int64_t pair, double *values, int64_t *n);

/* ---- the ways to measure: each fills job->noise on rank 0, or says what it takes ---------------------------------------- */

/* How much was looked at. */
struct lw_noise_said {
    char text[160];             /* "72 segments of 3584 outputs" */
    double *n_finite;           /* owned; [stretches][channels][filters] outputs that counted, on rank 0; NULL: not known */
};

/** With the least memory. */
struct lw_bytes lw_noise_clip_bytes(const struct lw_plan_spec *spec, const struct lw_plan *plan);
struct lw_bytes lw_noise_rms_bytes(const struct lw_plan_spec *spec, const struct lw_plan *plan);

int lw_noise_clip(struct lw_setup *setup, const struct lw_plan *plan, struct lw_noise_said *said, struct lw_error *err);
int lw_noise_rms(struct lw_setup *setup, const struct lw_plan *plan, struct lw_noise_said *said, struct lw_error *err);
