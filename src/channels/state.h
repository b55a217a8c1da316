/* state.h - a run over whole channels: the state that its parts share. */
#pragma once

#include "accel/refine.h"
#include "job/candidate_rows.h"
#include "job/marks.h"
#include "resume/checkpoint.h"
#include "setup/planned.h"
#include "setup/report.h"
#include "setup/result.h"
#include "setup/setup.h"

enum lw_channels_stage { LW_CHANNELS_READ, LW_CHANNELS_SHARE, LW_CHANNELS_SEARCH, LW_CHANNELS_REFINE, LW_CHANNELS_WRITE };

/* Bytes on each rank, in addition to setup.limits.base, which is resident at the start. */
struct lw_channels_bytes {
    int64_t files;                  /* file layer and reader */
    int64_t kept;                   /* series, spectra, hits, rows */
    int64_t most;                   /* memory that the engine may use */
    struct lw_bytes engine;         /* memory that it uses */
};

/* Channels that are read together. */
struct lw_channels_series {
    int64_t channel, n;             /* channels [channel, channel + n) of the view; n = 0: none */
    float *samples;                 /* owned; [group][samples] without their mean */
    double *offsets;                /* owned; [group] a number near the channel's samples */
};

/* A channel of this rank in one step, whose range of r is searched in parts. */
struct lw_channels_item {
    int64_t channel;                /* number in the view; -1: none in this step */
    struct lw_comm *team;           /* ranks that share the channel, borrowed; NULL: this rank has it alone */
    bool is_active;                 /* this rank searches a part of each range */
    int64_t from;                   /* points of r from here on are searched */
    float *spectrum, *variances;    /* owned; [n_bins][2], and [n_blocks] of its levels */
    struct lw_accel_hits hits;      /* owned; this rank's of all parts so far; those of the team while it refines them */
    int64_t n_kept;                 /* hits that are in the growing table, for a later run */
};

/* A hit of an interrupted run, in a channel of which it searched the first parts. */
struct lw_channels_earlier {
    int64_t channel;
    struct lw_accel_hit hit;
};

struct lw_channels {
    struct lw_setup setup;
    struct lw_result result;
    struct lw_report report;
    struct lw_marks marks;          /* marks of samples that the running mean replaces */
    const struct lw_accel_request *request;
    int rank, n_ranks, n_threads;
    struct lw_channels_bytes bytes;
    int64_t group;                  /* most channels that are read together */
    int64_t block;                  /* most samples of one read, on the axis */

    int64_t *todo, n_todo;          /* owned; channels that are left, ascending */
    int64_t own, n_steps;           /* steps in which each rank has a channel alone; all steps */
    int64_t n_parts;                /* parts of each step; part p of a run belongs to step p / n_parts */
    struct lw_comm *team;           /* owned; this rank's team in the last step; NULL: none */

    int n_items;                    /* 2, or 1 if there is only one step */
    struct lw_channels_item items[2];           /* step k uses items[k % n_items] */
    struct lw_channels_series series[2];
    int at;                         /* the series that was read last */
    char *blocks[2];                /* owned; samples of reads as stored */
    char *numbers;                  /* owned; marks of the samples of a read; NULL: all are in memory */
    double *means;                  /* owned; means of pieces of a channel */
    struct lw_accel_candidate *candidates;      /* owned; [LW_CHANNELS_MOST_KEPT] */
    struct lw_accel_row *rows, *received;       /* owned; [LW_CHANNELS_MOST_KEPT + 1], [LW_CHANNELS_MOST_SENT] */
    struct lw_accel_search *search; /* owned */
    struct lw_accel_refiner refiner;
    bool is_searching;              /* the engine has begun a channel */
    double searched_since;

    struct lw_checkpoint checkpoint;
    int64_t *reached;               /* owned; [n_channels] points of r below this one are searched, and what was found is in the
                                       growing table; plan.end: the channel is done. Known at the start, later on rank 0 */
    struct lw_channels_earlier *earlier;        /* owned; [LW_CHANNELS_MOST_EARLIER] */
    int64_t n_earlier;
    int64_t n_rows, n_found;        /* rows of the growing table on rank 0, and those of them that are candidates */
    bool has_failed;                /* a checkpoint failed: no more follow */
    struct lw_flaws flaws;          /* flaws that this rank has found so far */
};

/* Most hits of a rank and channel, most of them that are candidates, most rows of a message, most candidates of a run,
 * most hits of an earlier run that are not searched for again. */
enum {
    LW_CHANNELS_MOST_HITS = 1 << 18, LW_CHANNELS_MOST_KEPT = 1 << 14, LW_CHANNELS_MOST_SENT = 1 << 10,
    LW_CHANNELS_MOST_ROWS = 1 << 17, LW_CHANNELS_MOST_EARLIER = 1 << 16,
};

static inline const struct lw_accel_ops *lw_channels_ops(const struct lw_channels *run) { return run->setup.engine->ops->accel; }

/* ---- memory (memory.c) ----------------------------------------------------------------------------------------------- */

/** Choose `group` and `block`, and count bytes. LW_ECONFIG: the run does not fit. */
int lw_channels_plan_memory(struct lw_channels *run, struct lw_error *err);

/** Return the most bytes of a rank. */
int64_t lw_channels_host_bytes(const struct lw_channels *run);

/** Print the memory as rows of the plan command. Rank 0 only. */
void lw_channels_print_memory(const struct lw_channels *run);

/** Allocate all memory but the engine's. LW_ESYSTEM; not collective. */
int lw_channels_allocate(struct lw_channels *run, struct lw_error *err);
void lw_channels_free(struct lw_channels *run);

/* ---- samples (read.c) ------------------------------------------------------------------------------------------------ */

/** Have the series of a step's channel in memory, for this rank; channels that follow it may be read, too. Samples that are masked,
 * not finite, or in gaps, are replaced by the running mean: the mean of the other samples of their piece of 1024, or of a
 * neighbouring piece that has some. LW_EIO; LW_EDATA: a sample is not finite, and --nan does not allow it. Collective. */
int lw_channels_read(struct lw_channels *run, int64_t step, struct lw_error *err);

/** Read samples [first, end) of the channels of a series; those to be replaced become NaN. Errors as above; not collective. */
int lw_channels_load(struct lw_channels *run, struct lw_channels_series *series, int64_t first, int64_t end, struct lw_error *err);

/** Put running means in the places of NaN and of gaps in a channel's samples, then subtract their mean. */
void lw_channels_settle(const struct lw_channels *run, float *samples);

/* ---- search (search.c) ----------------------------------------------------------------------------------------------- */

/** Return this rank's channel in a step, as an index of `todo`; -1: none. */
int64_t lw_channels_index(const struct lw_channels *run, int64_t step);

/** Begin the search of a part of the run; wait for its hits. LW_ESYSTEM, LW_ESTOPPED; not collective. */
int lw_channels_begin(struct lw_channels *run, int64_t part, struct lw_error *err);
int lw_channels_wait(struct lw_channels *run, int64_t part, struct lw_error *err);

/** Hand over what a part has found: its hits are added to the growing table, or, after the last part of a step, refined to rows of
 * the table; spectra are written, if they are wanted. Without a result nothing is written. LW_EDATA: there are too many of them;
 * LW_ESYSTEM, LW_EIO. Collective. */
int lw_channels_deliver(struct lw_channels *run, int64_t part, struct lw_error *err);

/** Note what rows of the growing table tell: channels and parts that are done, and the number of candidates. */
void lw_channels_note(struct lw_channels *run, const struct lw_accel_row *rows, int64_t n);

/* A row of the growing table without harmonics tells that the points below r of a channel of the view are done. A row with -h
 * harmonics is a hit of stage h - 1, whose sum is `power`; z and w are indices. Both are dropped at the end. */
static inline struct lw_accel_hit lw_channels_hit(const struct lw_accel_row *row)
{
    return (struct lw_accel_hit){.r = (int64_t)row->r, .z = (int16_t)row->z, .w = (int16_t)row->w,
                                 .stage = (int32_t)(-row->harmonics - 1), .sum = (float)row->power};
}

/** Make the table: relate candidates, and put the most significant first. @param n  set to their number. Collective. */
int lw_channels_finish(struct lw_channels *run, int64_t *n, struct lw_error *err);

/* ---- checkpoints (resume.c) ------------------------------------------------------------------------------------------ */

/** Create the result, or open that of an interrupted run. Sets `todo`. Errors: lw_checkpoint_open, lw_result_create,
 * lw_writer_recall. Collective. */
int lw_channels_start(struct lw_channels *run, struct lw_error *err);

/** Write a checkpoint, if one is due. LW_ESTOPPED: the run must end now; LW_EIO. Collective. */
int lw_channels_checkpoint(struct lw_channels *run, struct lw_error *err);

/** Save what was found for a later run, after the steps have ended with `rc`, the same on all ranks. Collective.
 * @param err  in, out: if the run was interrupted, the message is extended by what the user can do */
void lw_channels_save(struct lw_channels *run, int rc, struct lw_error *err);
