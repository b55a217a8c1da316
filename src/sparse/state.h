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
#include "sfft/sfft.h"

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

/* What became of channels, as a file beside the result (resume.h). */
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
