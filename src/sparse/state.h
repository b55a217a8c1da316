/* state.h - a sparse run: what its parts share, and what a method of finding lines implements.
 *
 *     sparse.c    the order of things: plan, open, search, what --fallback says; the transform of all samples of the channels that
 *                 no method explains, with tones fitted to what that gives
 *     method      searches for the lines of all channels: stages.c, which first looks how much noise there is,
 *                 published/published.c
 *     refine.c    tones between the frequencies of the transform
 *     collect.c   samples from the file to the rank that needs them: by a library's calls, or by the I/O threads
 *     pace.c      which of the two, and across which gaps reading goes on
 *     outcome.c   what became of a channel, and the result
 *     memory.c    whether it all fits
 *     resume.c    checkpoints, and what an earlier run has found */
#pragma once

#include "engine/sparse.h"
#include "io/bytes/scatter.h"
#include "resume/checkpoint.h"
#include "setup/planned.h"
#include "setup/report.h"
#include "setup/result.h"
#include "setup/setup.h"
#include "sfft/reading.h"

/* What became of a channel; as doubles, so that ranks can add them up: all zero but on the channel's rank. */
struct lw_sparse_outcome {
    double lines;                   /* rows in the table */
    double residual, noise_power, detection_limit;
    double samples;                 /* touched */
    double attempts;
    double is_dense, is_explained;
    double is_refined;              /* its lines are tones */
    double off_grid;                /* of the strongest lines, those between two frequencies of the transform */
};

/* Bytes on each rank, on top of limits.base. */
struct lw_sparse_bytes {
    int64_t files;                  /* what the file layer takes, and the reader */
    int64_t kept;                   /* to the end: lines, figures, the buffers of reads, rows of the table */
    int64_t search, search_device;  /* until the lines are found: samples and solver */
    int64_t dense, dense_device;    /* then, if it must be: all samples of a channel and their transform */
};

/* Attempts whose samples are collected in the first pass over the file, at most. */
enum { LW_SPARSE_FIRST_ATTEMPTS = 2 };

enum lw_sparse_stage { LW_SPARSE_READ, LW_SPARSE_COMBINE, LW_SPARSE_COMPUTE, LW_SPARSE_WRITE };

/* What became of channels, as a file beside the result (resume.c). */
struct lw_sparse_records {
    char name[LW_MAX_PATH];
    int fd;                         /* of the file, on rank 0; -1: there is none yet */
    int64_t bytes;                  /* of it */
    char *mine, *received;          /* owned: on their way to it */
    int64_t *noted;                 /* owned: [n_channels], how far each had come when it was noted last */
    bool has_failed;                /* a note has: no other is made */
};

struct lw_sparse;

/* A way from samples to lines. */
struct lw_sparse_method {
    const char *name;               /* in the result: "sparse", "sfft2" */
    const char *name_with_dense;    /* where some channels are dense: "sparse and dense" */
    const char *who, *remedy;       /* in a refusal: "the sparse transform" needs so much memory, "ask for a smaller --sparsity" */

    /** Choose what it takes, and say it in setup.algorithm. LW_ECONFIG: what was asked for is not possible. Sets run->method to
     * NULL where all channels had better be dense. */
    int (*plan)(struct lw_sparse *run, struct lw_error *err);

    /** Look at the input, where that tells more about what it takes, and plan again, memory included. Collective; NULL: it
     * tells nothing. */
    int (*probe)(struct lw_sparse *run, struct lw_error *err);

    /** Bytes until the lines are found; pinned ones are among those of the host. */
    struct lw_bytes (*bytes)(const struct lw_sparse *run);

    /** Samples of a channel in the first pass, for the progress. */
    int64_t (*samples)(const struct lw_sparse *run);

    /** Allocate what the search needs. Not collective. */
    int (*open)(struct lw_sparse *run, struct lw_error *err);

    /** Find the lines of all channels; what became of these goes to run->all. Collective. */
    int (*search)(struct lw_sparse *run, struct lw_error *err);

    /** For the plan command: print what it will do, where that is wanted, and correct what is read if that is not all.
     * Collective. */
    int (*print)(struct lw_sparse *run, struct lw_planned *planned, struct lw_error *err);

    /** What it did: as attributes of the result, and as details in the log. NULL: nothing more to say. */
    void (*note)(const struct lw_sparse *run, struct lw_job *job);
    void (*log)(const struct lw_sparse *run);

    /** Give up what `open` and the search allocated, but for run->state; may be called at any time after `plan`, and again. */
    void (*end)(struct lw_sparse *run);
};

extern const struct lw_sparse_method lw_sparse_stages, lw_sparse_published;

struct lw_sparse {
    struct lw_setup setup;
    struct lw_result result;
    struct lw_report report;
    struct lw_sfft_request request;
    const struct lw_sparse_method *method;      /* NULL: all channels are dense */
    void *state;                    /* of the method, allocated by its `plan`; owned */
    struct lw_sfft_plan plan;       /* of lw_sparse_stages; no attempts elsewhere */
    int rank, n_ranks;
    int64_t n_pieces;               /* of each channel of the input, --hop samples apart; without --window: 1 */
    int64_t piece_channels;         /* channels of the input, which each piece has */
    int64_t n_channels;             /* to be transformed: of piece p channel c of the input is number p piece_channels + c */
    bool has_own_pieces;            /* a rank reads those of its own alone; else all read a share of each channel's samples */
    int64_t own_begin, own_end;     /* so: its channels */

    struct lw_sparse_bytes bytes;
    int64_t group;                  /* channels whose samples are collected together */
    int64_t block;                  /* samples of one read, on the axis */
    enum lw_chunks chunks;          /* of the input */
    bool is_raw;                    /* the I/O threads read the samples, from `place` */
    struct lw_reader_place place;
    struct lw_bytes_pace pace;
    char *buffers;                  /* [n_buffers][buffer_bytes], one read each: of each I/O thread, or two in turn */
    int n_buffers;
    int64_t buffer_bytes;
    double *whole;                  /* all samples of one channel; NULL until needed */

    struct lw_sparse_outcome *mine, *all;       /* [n_channels] */
    struct lw_sfft_line *lines;     /* [own channels][sparsity] */
    struct lw_checkpoint checkpoint;
    struct lw_sparse_records records;
    int64_t shown;                  /* samples of the progress */
    struct lw_flaws flaws;          /* this rank's, so far */
    int64_t bytes_combined;         /* sent through lw_comm_collect by each rank */
};

/** Deal n_pieces out to the ranks. */
void lw_sparse_deal(struct lw_sparse *run, int64_t n_pieces);

/* The rank that recovers a channel: the channels are dealt out one by one, or as runs of pieces that are as long as each other. */
static inline int lw_sparse_owner(const struct lw_sparse *run, int64_t channel)
{
    if (!run->has_own_pieces)
        return (int)(channel % run->n_ranks);
    return (int)(((channel / run->piece_channels + 1) * run->n_ranks - 1) / run->n_pieces);
}

/* The channel of the input, and its first sample there, both of the view. */
static inline int64_t lw_sparse_input(const struct lw_sparse *run, int64_t channel) { return channel % run->piece_channels; }
static inline int64_t lw_sparse_piece(const struct lw_sparse *run, int64_t channel) { return channel / run->piece_channels; }
static inline int64_t lw_sparse_first(const struct lw_sparse *run, int64_t channel)
{
    return lw_sparse_piece(run, channel) * run->request.hop;
}

/* "channels", in messages. */
static inline const char *lw_sparse_channels_text(const struct lw_sparse *run)
{
    return run->request.has_pieces ? "pieces of channels" : "channels";
}

/* ---- how samples are read (pace.c) ----------------------------------------------------------------------------------- */

/** Whether the I/O threads can read the samples where they lie: sets is_raw and place, alike on all ranks. Collective. */
int lw_sparse_locate(struct lw_sparse *run, struct lw_error *err);

/** Set run->pace, of rank 0 on all ranks: by a trial where a part of many samples will be read from their place. Collective. */
int lw_sparse_find_pace(struct lw_sparse *run, struct lw_error *err);

/** Whether each channel is read by itself; else a read has samples of several, all of one piece. */
bool lw_sparse_reads_each(const struct lw_sparse *run);

/** Samples of the axis across which reading goes on rather than starting anew. */
int64_t lw_sparse_gap(const struct lw_sparse *run);

/** Bytes of the file from the first to the last of so many channels of a sample. */
int64_t lw_sparse_extent(const struct lw_sparse *run, int64_t n_channels);

/* What is read of all channels, by all ranks. */
struct lw_sparse_reads {
    int64_t samples;                /* wanted */
    int64_t reads, bytes;
};

/** What a list says, of the samples that are this rank's. Collective. */
struct lw_sparse_reads lw_sparse_count_reads(const struct lw_sparse *run, const struct lw_sfft_samples *samples);

/** Say in the log what is read and why so: one line of rank 0. */
void lw_sparse_log_reads(const struct lw_sparse *run, const struct lw_sparse_reads *reads);

/** Seconds of so many reads of all ranks. */
double lw_sparse_read_seconds(const struct lw_sparse *run, int64_t n_reads, int64_t bytes);

/** What is read in rows of the plan command, with the time it will take. */
void lw_sparse_print_reads(const struct lw_sparse *run, const struct lw_sparse_reads *reads);

/* ---- samples from the file to the ranks (collect.c) ------------------------------------------------------------------ */

/** List the samples that this rank reads for the first n_attempts attempts of a layout, and what is read for them at one go.
 * `samples` may be released whatever the outcome. Not collective. */
int lw_sparse_list(struct lw_sparse *run, const struct lw_sfft_layout *layout, int n_attempts, struct lw_sfft_samples *samples,
                   struct lw_error *err);

/** Bring the listed samples of channels [channel, channel + n_channels) to the ranks that own these. Collective.
 * @param samples  this rank's list
 * @param values   [n_channels][samples->total](re, im) as stored; that of channel c is complete on the owner of c */
int lw_sparse_collect(struct lw_sparse *run, const struct lw_sfft_samples *samples, int64_t channel, int64_t n_channels,
                      double *values, struct lw_error *err);

/** Read all samples of a channel into run->whole; every rank another channel, or none (-1). Samples that are not finite are zero;
 * LW_EDATA where --nan does not allow it. Collective. */
int lw_sparse_collect_whole(struct lw_sparse *run, int64_t channel, struct lw_error *err);

/** LW_EDATA if some of the samples taken so far, run->flaws, are not finite, and --nan does not allow it. Collective. */
int lw_sparse_check_finite(struct lw_sparse *run, struct lw_error *err);

/** Make samples zero that are not finite, of [n_samples] (re, im). @return  how many there were */
int64_t lw_sparse_remove_not_finite(double *values, int64_t n_samples);

/* ---- what became of the channels (outcome.c) ------------------------------------------------------------------------- */

/** Channels that a rank has at most. */
int64_t lw_sparse_most_own(const struct lw_sparse *run);

/** Room for the lines of a channel of this rank: [sparsity]. */
struct lw_sfft_line *lw_sparse_lines_of(const struct lw_sparse *run, int64_t channel);

/** Take the lines and the figures of a result as what became of a channel of this rank. */
void lw_sparse_keep(struct lw_sparse *run, int64_t channel, const struct lw_sfft_result *result, struct lw_sparse_outcome outcome);

/** What became of all channels, to all ranks: from `mine` to `all`. Collective. */
void lw_sparse_share_outcomes(struct lw_sparse *run);

/* What became of all channels together, by run->all. */
struct lw_sparse_totals {
    double lines;
    double residual, detection_limit, samples, attempts;            /* the most of any channel */
    double unexplained_residual;    /* the most of any that is not explained */
    int64_t unexplained, dense, off_grid, refined, dense_refined;   /* channels */
};
struct lw_sparse_totals lw_sparse_add_up(const struct lw_sparse *run);

/** Whether so many attempts have been made at a channel, or it needs no more. */
bool lw_sparse_is_tried(const struct lw_sparse *run, int64_t channel, int n_attempts);

/** This rank's next channel from `from` on at which that is not so; -1: none. */
int64_t lw_sparse_next_untried(const struct lw_sparse *run, int64_t from, int n_attempts);

/** This rank's next channel from `from` on that is neither explained nor dense; -1: none. */
int64_t lw_sparse_next_unexplained(const struct lw_sparse *run, int64_t from);

/** Bytes of rows on their way to the table. */
int64_t lw_sparse_table_bytes(const struct lw_sparse *run);

/** Bytes of both tables, if each channel has as many lines as are asked for. */
int64_t lw_sparse_most_written(const struct lw_sparse *run);

/** Create the file and write both tables. Collective. */
int lw_sparse_write(struct lw_sparse *run, struct lw_error *err);

/* ---- memory (memory.c) ----------------------------------------------------------------------------------------------- */

/** Choose `group`, `block` and `chunks`, and count bytes. LW_ECONFIG: it does not fit. */
int lw_sparse_memory_plan(struct lw_sparse *run, struct lw_error *err);

/** The most that a rank has at a time, on the host and on its device. */
int64_t lw_sparse_host_bytes(const struct lw_sparse *run);
int64_t lw_sparse_device_bytes(const struct lw_sparse *run);

/** For the plan command, on rank 0. */
void lw_sparse_memory_print(const struct lw_sparse *run);

/** Samples of a channel that the first so many attempts take. */
int64_t lw_sparse_attempt_samples(const struct lw_sfft_plan *plan, int n_attempts);

/** The reads of a group and block. */
struct lw_view_spec lw_sparse_view(const struct lw_sparse *run);

/** Whether the dense transform may be begun; and what to say if not, `why` being the reason for one: always LW_ECONFIG. */
bool lw_sparse_fits_dense(const struct lw_sparse *run);
int lw_sparse_refuse_dense(const struct lw_sparse *run, const char *why, struct lw_error *err);

/* ---- checkpoints (resume.c) ------------------------------------------------------------------------------------------ */

struct lw_sparse_record {
    int64_t channel, n_lines;
    struct lw_sparse_outcome outcome;
};

/** Host bytes that start allocates. */
int64_t lw_sparse_resume_bytes(const struct lw_sparse *run);

/** Hold the place of the result, a file without tables; take what an earlier run has left as what became of its channels, in
 * run->mine and run->all. LW_EIO, LW_EDATA, LW_ECONFIG, LW_ESYSTEM. Collective. */
int lw_sparse_resume_start(struct lw_sparse *run, struct lw_error *err);

/** At the end of a group of channels: a checkpoint, if it is due. LW_ESTOPPED, LW_EIO. Collective. */
int lw_sparse_checkpoint(struct lw_sparse *run, struct lw_error *err);

/** The search has ended with `rc`, the same on all ranks: keep what was found where a later run can go on. Collective.
 * @param err  in, out: an error that says that the run was stopped says what can be done */
void lw_sparse_resume_save(struct lw_sparse *run, int rc, struct lw_error *err);

void lw_sparse_resume_close(struct lw_sparse *run);
