/* state.h - a sparse run: the state that its parts share, and the interface of a method of finding lines.
 *
 *     sparse.c    order of a run: plan, open, search, fallback; the dense transform of channels that the method does not explain
 *     method      finds the lines of all channels, in attempts with more and more samples: stages.c or published/published.c
 *     refine.c    tones between the frequencies of the transform
 *     collect.c   samples from the file to the rank that needs them, by the format's library or by the I/O threads
 *     pace.c      whether library or threads read, and across which gaps reading continues
 *     outcome.c   outcomes of the channels, and the result
 *     memory.c    memory of the run, and whether it fits
 *     resume.c    checkpoints, and the outcomes that an earlier run has left */
#pragma once

#include "engine/sparse.h"
#include "io/bytes/scatter.h"
#include "resume/checkpoint.h"
#include "setup/planned.h"
#include "setup/report.h"
#include "setup/result.h"
#include "sfft/reading.h"

/* Outcome of a channel. All figures are doubles, and zero except on the channel's rank, so that ranks can add them up. */
struct lw_sparse_outcome {
    double lines;                   /* rows in the table of lines */
    double residual, noise_power, detection_limit;                  /* see struct lw_sfft_result (sfft/sfft.h) */
    double samples;                 /* samples read */
    double attempts;
    double is_dense, is_explained;  /* all samples were transformed; the lines leave only noise */
    double is_refined;              /* the lines are tones */
    double off_grid;                /* lines between two frequencies of the transform; without --refine among the strongest */
};

/* Bytes on each rank, in addition to setup.limits.base, which is resident at the start. */
struct lw_sparse_bytes {
    int64_t files;                  /* file layer and reader */
    int64_t kept;                   /* kept until the end: lines, figures, buffers of reads, rows of the table */
    int64_t search, search_device;  /* kept until the lines are found: samples and solver */
    int64_t dense, dense_device;    /* afterwards, if needed: all samples of a channel and their transform */
};

/* Most attempts whose samples are collected in the first pass over the file. */
enum { LW_SPARSE_FIRST_ATTEMPTS = 2 };

enum lw_sparse_stage { LW_SPARSE_READ, LW_SPARSE_COMBINE, LW_SPARSE_COMPUTE, LW_SPARSE_WRITE };

/* Records of outcomes, in a file beside the result (resume.c). */
struct lw_sparse_records {
    char name[LW_MAX_PATH];
    int fd;                         /* descriptor of the file, on rank 0; -1: no file yet */
    int64_t bytes;                  /* bytes of its valid records */
    char *mine, *received;          /* owned; buffers of records that ranks send and receive */
    int64_t *noted;                 /* owned; [n_channels] state_of (resume.c) each channel in its last record */
    bool has_failed;                /* writing a record failed: no more are written */
};

struct lw_sparse;

/* Modelled work of a channel: units of a pace, and samples that a device gets. */
struct lw_sparse_work {
    struct lw_sparse_pace pace;
    double units, samples;
};

/* A method that finds lines from samples. */
struct lw_sparse_method {
    const char *name;               /* name in the result: "sparse", "sfft2" */
    const char *name_with_dense;    /* name if some channels are dense: "sparse and dense" */
    const char *who, *remedy;       /* words of a refusal: "the sparse transform", "ask for a smaller --sparsity" */

    /** Choose the method's parameters, and describe them in setup.algorithm. Set run->method to NULL if all channels should be
     * dense. LW_ECONFIG: the request is not possible. */
    int (*plan)(struct lw_sparse *run, struct lw_error *err);

    /** Set the work of a channel's first attempt; leave it as it is if all channels would be dense. LW_ECONFIG as for `plan`. */
    int (*model)(const struct lw_sfft_request *request, const struct lw_engine *engine, struct lw_sparse_work *work,
                 struct lw_error *err);

    /** Examine some input and plan again, without the memory. NULL: the method needs no probe. Collective. */
    int (*probe)(struct lw_sparse *run, struct lw_error *err);

    /** Return the bytes needed until the lines are found; host bytes include pinned ones. */
    struct lw_bytes (*bytes)(const struct lw_sparse *run);

    /** Return the number of samples of a channel that the first pass reads, for the progress. */
    int64_t (*samples)(const struct lw_sparse *run);

    /** Allocate the memory of the search. Not collective. */
    int (*open)(struct lw_sparse *run, struct lw_error *err);

    /** Find the lines of all channels; their outcomes go to run->all. Collective. */
    int (*search)(struct lw_sparse *run, struct lw_error *err);

    /** Print the plan if planned->prints; correct planned->read_bytes and seconds unless all samples are read. Collective. */
    int (*print)(struct lw_sparse *run, struct lw_planned *planned, struct lw_error *err);

    /** Add the method's figures as attributes of the result, and as details to the log. NULL: none. */
    void (*note)(const struct lw_sparse *run, struct lw_job *job);
    void (*log)(const struct lw_sparse *run);

    /** Free all that `open` and the search allocated, except run->state. Legal at any time after `plan`, and repeatedly. */
    void (*end)(struct lw_sparse *run);
};

extern const struct lw_sparse_method lw_sparse_stages, lw_sparse_published;

struct lw_sparse {
    struct lw_setup setup;
    struct lw_result result;
    struct lw_report report;
    struct lw_sfft_request request;
    const struct lw_sparse_method *method;      /* NULL: all channels are dense */
    void *state;                    /* state of the method, allocated by its `plan`; owned */
    struct lw_sfft_plan plan;       /* plan of lw_sparse_stages; without attempts for other methods */
    int rank, n_ranks;
    int64_t n_pieces;               /* pieces of each channel of the input, `hop` samples apart; 1 without --window */
    int64_t piece_channels;         /* channels of the input, and of each piece */
    int64_t n_channels;             /* n_pieces x piece_channels; channel c of piece p has the number p piece_channels + c */
    bool has_own_pieces;            /* each rank reads its own channels; else all share each channel's samples */
    int64_t own_begin, own_end;     /* channels of this rank, if has_own_pieces; else all */

    struct lw_sparse_bytes bytes;
    int64_t group;                  /* channels whose samples are collected together */
    int64_t block;                  /* most samples of one read, on the axis */
    enum lw_chunks chunks;          /* how chunks of the input are read */
    bool is_raw;                    /* the I/O threads read the samples directly, at `place` in the file */
    struct lw_reader_place place;
    struct lw_bytes_pace pace;
    char *buffers;                  /* [n_buffers][buffer_bytes]: one for each I/O thread, or two in turn for the library */
    int n_buffers;
    int64_t buffer_bytes;
    double *whole;                  /* all samples of one channel; NULL until needed */

    struct lw_sparse_outcome *mine, *all;       /* [n_channels] outcomes: this rank's, others zero; all, once shared */
    struct lw_sfft_line *lines;     /* [own channels][sparsity] */
    struct lw_checkpoint checkpoint;
    struct lw_sparse_records records;
    int64_t shown;                  /* samples that the progress has shown */
    struct lw_flaws flaws;          /* flaws that this rank has found so far */
    int64_t bytes_combined;         /* bytes that each rank has sent through lw_comm_collect */
};

/** Distribute n_pieces pieces over the ranks. */
void lw_sparse_deal(struct lw_sparse *run, int64_t n_pieces);

/* Return the rank that recovers a channel. Ranks take channels in turn, or with has_own_pieces equal runs of pieces. */
static inline int lw_sparse_owner(const struct lw_sparse *run, int64_t channel)
{
    if (!run->has_own_pieces)
        return (int)(channel % run->n_ranks);
    return (int)(((channel / run->piece_channels + 1) * run->n_ranks - 1) / run->n_pieces);
}

/* Map a channel of the run to the channel of the input, the piece, and the piece's first sample on the view's axis. */
static inline int64_t lw_sparse_input(const struct lw_sparse *run, int64_t channel) { return channel % run->piece_channels; }
static inline int64_t lw_sparse_piece(const struct lw_sparse *run, int64_t channel) { return channel / run->piece_channels; }
static inline int64_t lw_sparse_first(const struct lw_sparse *run, int64_t channel)
{
    return lw_sparse_piece(run, channel) * run->request.hop;
}

/* Return "channels" or "pieces of channels", for messages. */
static inline const char *lw_sparse_channels_text(const struct lw_sparse *run)
{
    return run->request.has_pieces ? "pieces of channels" : "channels";
}

/* ---- how samples are read (pace.c) ----------------------------------------------------------------------------------- */

/** Write "45% of the signal" or "11.4 times the signal": samples that are read of n. @return text */
enum { LW_SPARSE_SHARE_TEXT = 40 };
const char *lw_sparse_share_text(int64_t samples, int64_t n, char text[LW_SPARSE_SHARE_TEXT]);

/** Find whether the I/O threads can read samples directly from the file. Sets is_raw, alike on all ranks, and place. Collective. */
int lw_sparse_locate(struct lw_sparse *run, struct lw_error *err);

/** Set run->pace, by a trial if few samples of a long part will be read directly. All ranks get rank 0's pace. Collective. */
int lw_sparse_find_pace(struct lw_sparse *run, struct lw_error *err);

/** Return whether each read has samples of one channel; else of several channels of one piece. */
bool lw_sparse_reads_each(const struct lw_sparse *run);

/** Return the longest gap, in samples of the axis, that is read rather than skipped. */
int64_t lw_sparse_gap(const struct lw_sparse *run);

/** Return the bytes of the file from the first to the last of n_channels channels of one sample. */
int64_t lw_sparse_extent(const struct lw_sparse *run, int64_t n_channels);

/* Reads of all channels by all ranks. */
struct lw_sparse_reads {
    int64_t samples;                /* samples wanted */
    int64_t reads, bytes;
};

/** Count the reads for this rank's list of samples, summed over the ranks. Collective. */
struct lw_sparse_reads lw_sparse_count_reads(const struct lw_sparse *run, const struct lw_sfft_samples *samples);

/** Log on rank 0 how much is read and how. --verbose adds who reads, and the longest gap that is read. */
void lw_sparse_log_reads(const struct lw_sparse *run, const struct lw_sparse_reads *reads);

/** Return the seconds of n_reads reads with `bytes` bytes, of all ranks together. */
double lw_sparse_read_seconds(const struct lw_sparse *run, int64_t n_reads, int64_t bytes);

/** Print the reads and their estimated time as rows of the plan command. */
void lw_sparse_print_reads(const struct lw_sparse *run, const struct lw_sparse_reads *reads);

/* ---- samples from the file to the ranks (collect.c) ------------------------------------------------------------------ */

/** List the samples that this rank reads for the first n_attempts attempts of a layout, joined to reads. `samples` may be
 * released even after an error. Not collective. */
int lw_sparse_list(struct lw_sparse *run, const struct lw_sfft_layout *layout, int n_attempts, struct lw_sfft_samples *samples,
                   struct lw_error *err);

/** Bring the listed samples of channels [channel, channel + n_channels) to the channels' owners. Collective.
 * @param samples  this rank's list
 * @param values   [n_channels][samples->total](re, im) as stored; channel c is complete on the owner of c */
int lw_sparse_collect(struct lw_sparse *run, const struct lw_sfft_samples *samples, int64_t channel, int64_t n_channels,
                      double *values, struct lw_error *err);

/** Read all samples of a channel into run->whole; each rank reads another channel, or none (-1). Samples that are not finite
 * become zero. LW_EDATA: --nan does not allow them. Collective. */
int lw_sparse_collect_whole(struct lw_sparse *run, int64_t channel, struct lw_error *err);

/** Return LW_EDATA if some samples read so far (run->flaws) are not finite, and --nan does not allow it. Collective. */
int lw_sparse_check_finite(struct lw_sparse *run, struct lw_error *err);

/** Set samples of [n_samples](re, im) that are not finite to zero. @return  number of these samples */
int64_t lw_sparse_remove_not_finite(double *values, int64_t n_samples);

/* ---- outcomes of the channels (outcome.c) ---------------------------------------------------------------------------- */

/** Return the most channels of a rank. */
int64_t lw_sparse_most_own(const struct lw_sparse *run);

/** Return the lines of a channel of this rank, [sparsity]. */
struct lw_sfft_line *lw_sparse_lines_of(const struct lw_sparse *run, int64_t channel);

/** Store a channel's outcome on its rank: lines and figures of `result`, the other figures from `outcome`. */
void lw_sparse_keep(struct lw_sparse *run, int64_t channel, const struct lw_sfft_result *result, struct lw_sparse_outcome outcome);

/** Share the outcomes of all channels with all ranks, from `mine` to `all`. Collective. */
void lw_sparse_share_outcomes(struct lw_sparse *run);

/* Totals over the outcomes of all channels, run->all. */
struct lw_sparse_totals {
    double lines;
    double residual, detection_limit, samples, attempts;            /* largest of any channel */
    double unexplained_residual;    /* largest of any channel that is not explained */
    double unexplained_lines;       /* lines of these channels */
    int64_t unexplained, dense, off_grid, refined, dense_refined;   /* numbers of channels */
};
struct lw_sparse_totals lw_sparse_add_up(const struct lw_sparse *run);

/** Return whether a channel has had n_attempts attempts or needs no more. */
bool lw_sparse_is_tried(const struct lw_sparse *run, int64_t channel, int n_attempts);

/** Return this rank's next channel, `from` or later, that needs more attempts (lw_sparse_is_tried); -1: none. */
int64_t lw_sparse_next_untried(const struct lw_sparse *run, int64_t from, int n_attempts);

/** Return this rank's next channel, `from` or later, that is neither explained nor dense; -1: none. */
int64_t lw_sparse_next_unexplained(const struct lw_sparse *run, int64_t from);

/** Return the bytes of rows that are buffered for the table. */
int64_t lw_sparse_table_bytes(const struct lw_sparse *run);

/** Return the bytes of both tables if each channel has `sparsity` lines, the most. */
int64_t lw_sparse_most_written(const struct lw_sparse *run);

/** Create the result and write both tables. Collective. */
int lw_sparse_write(struct lw_sparse *run, struct lw_error *err);

/* ---- memory (memory.c) ----------------------------------------------------------------------------------------------- */

/** Choose `group`, `block` and `chunks`, and count bytes. LW_ECONFIG: the run does not fit. */
int lw_sparse_memory_plan(struct lw_sparse *run, struct lw_error *err);

/** Return the most bytes of a rank at any time, on the host and on its device. */
int64_t lw_sparse_host_bytes(const struct lw_sparse *run);
int64_t lw_sparse_device_bytes(const struct lw_sparse *run);

/** Print the memory as rows of the plan command. Rank 0 only. */
void lw_sparse_memory_print(const struct lw_sparse *run);

/** Return the samples of a channel in the first n_attempts attempts. */
int64_t lw_sparse_attempt_samples(const struct lw_sfft_plan *plan, int n_attempts);

/** Return the reader's view for `group` and `block`. */
struct lw_view_spec lw_sparse_view(const struct lw_sparse *run);

/** Return whether the dense transform fits. Refuse one that does not, with LW_ECONFIG; `why` is the reason for the transform. */
bool lw_sparse_fits_dense(const struct lw_sparse *run);
int lw_sparse_refuse_dense(const struct lw_sparse *run, const char *why, struct lw_error *err);

/* ---- checkpoints (resume.c) ------------------------------------------------------------------------------------------ */

struct lw_sparse_record {
    int64_t channel, n_lines;
    struct lw_sparse_outcome outcome;
};

/** Return the host bytes that lw_sparse_resume_start allocates. */
int64_t lw_sparse_resume_bytes(const struct lw_sparse *run);

/** Reserve the name of the result by a file without tables. Load the outcomes that an earlier run has left into run->mine and
 * run->all. LW_EIO, LW_EDATA: they cannot be read; LW_ECONFIG: they are of another run, or missing; LW_ESYSTEM. Collective. */
int lw_sparse_resume_start(struct lw_sparse *run, struct lw_error *err);

/** Write a checkpoint after a group of channels, if one is due. LW_ESTOPPED: the run must end now; LW_EIO. Collective. */
int lw_sparse_checkpoint(struct lw_sparse *run, struct lw_error *err);

/** Save the outcomes for a later run, after the search has ended with `rc`, the same on all ranks. Collective.
 * @param err  in, out: if the run was interrupted, the message is extended by what the user can do */
void lw_sparse_resume_save(struct lw_sparse *run, int rc, struct lw_error *err);

void lw_sparse_resume_close(struct lw_sparse *run);
