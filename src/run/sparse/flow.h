/* flow.h - what the files of the job's flow share: run/sparse/sparse.c (order of things), gpu/sfft/memory.c (whether it fits),
 * run/sparse/collect.c (samples from the file to the rank that needs them), run/sparse/table.c (the result). */
#ifndef LW_RUN_SPARSE_FLOW_H
#define LW_RUN_SPARSE_FLOW_H

#include "base/log.h"
#include "engine/published.h"
#include "engine/sparse.h"
#include "run/setup.h"
#include "sfft/published/published.h"
#include "sfft/samples.h"

/* What became of a channel; as doubles, so that ranks can add them up: all zero but on the channel's rank. */
struct lw_sfft_outcome {
    double lines;                   /* rows in the table */
    double residual, noise_power, detection_limit;
    double samples;                 /* touched */
    double attempts;
    double is_dense, is_explained;
};

/* Bytes on each rank, on top of limits.base. */
struct lw_sfft_flow_bytes {
    int64_t files;                  /* what the file layer takes, and the reader */
    int64_t kept;                   /* to the end: lines, figures, the buffer of reads, rows of the table */
    int64_t search, search_device;  /* until the lines are found: samples and solver */
    int64_t dense, dense_device;    /* then, if it must be: all samples of a channel and their transform */
};

/* Attempts whose samples are collected in the first pass over the file. */
enum { LW_SFFT_FIRST_ATTEMPTS = 2 };

struct lw_sfft_flow {
    struct lw_setup setup;
    struct lw_sfft_request request;
    struct lw_sfft_plan plan;
    struct lw_sfft_layout *layout;  /* NULL: all channels are dense */
    struct lw_sfft_solver *solver;
    struct lw_published_plan voting[LW_PUBLISHED_ATTEMPTS]; /* [n_voting]; none but for --algorithm sfft2 */
    int n_voting;
    struct lw_published_profile profile;            /* of that, over all channels of this rank */
    int rank, n_ranks;
    int64_t n_channels;

    struct lw_limits limits;
    struct lw_sfft_flow_bytes bytes;
    int64_t group;                  /* channels whose samples are collected together */
    int64_t block;                  /* samples of one read of a group, on the axis */
    enum lw_chunks chunks;          /* of the input */
    void *buffer;                   /* [group x block] stored samples */
    double *values;                 /* [group][total](re, im) */
    double *dense;                  /* all samples of one channel; NULL until needed */

    struct lw_sfft_outcome *mine, *all;     /* [n_channels] */
    struct lw_sfft_line *lines;             /* [own channels][sparsity] */
    struct lw_progress progress;
    int64_t shown;                  /* samples of the progress */
    int64_t not_finite;             /* this rank's, so far */
    int64_t bytes_combined;         /* sent through lw_comm_collect by each rank */
    double seconds_read, seconds_combine, seconds_compute;
};

/* Channels are dealt out to the ranks, that recover them. */
static inline int lw_sfft_owner(const struct lw_sfft_flow *flow, int64_t channel) { return (int)(channel % flow->n_ranks); }
static inline struct lw_sfft_line *lw_sfft_lines_of(const struct lw_sfft_flow *flow, int64_t channel)
{
    return flow->lines + channel / flow->n_ranks * flow->request.spec.sparsity;
}

static inline bool lw_sfft_is_sparse(const struct lw_sfft_flow *flow) { return flow->plan.n_attempts > 0; }
static inline bool lw_sfft_is_published(const struct lw_sfft_flow *flow) { return flow->request.algorithm == LW_SFFT_PUBLISHED; }

/** Samples of a channel that the first so many attempts take. */
int64_t lw_sfft_attempt_samples(const struct lw_sfft_plan *plan, int n_attempts);

/** Why all channels are dense from the start. */
const char *lw_sfft_why_dense(const struct lw_sfft_flow *flow);

/** Choose `group` and `block`, and count bytes. LW_ECONFIG: it does not fit. */
int lw_sfft_memory_plan(struct lw_sfft_flow *flow, struct lw_error *err);
void lw_sfft_memory_print(const struct lw_sfft_flow *flow);         /* for the plan command, on rank 0 */
int64_t lw_sfft_values(const struct lw_sfft_flow *flow);            /* length of flow->values, in pairs */
struct lw_view_spec lw_sfft_view(const struct lw_sfft_flow *flow);  /* the reads of a group and block */

/** Whether the dense transform may be begun; and what to say if not, `why` being the reason for one: always LW_ECONFIG. */
bool lw_sfft_fits_dense(const struct lw_sfft_flow *flow);
int lw_sfft_refuse_dense(const struct lw_sfft_flow *flow, const char *why, struct lw_error *err);

/** Samples of the axis across which reading goes on rather than starting anew. */
int64_t lw_sfft_gap(const struct lw_sfft_flow *flow);

/** Bring the samples of the stages of the first n_attempts attempts of channels [channel, channel + n_channels) to the
 * ranks that own these: values[c - channel] is complete on the owner of c. Collective. */
int lw_sfft_collect(struct lw_sfft_flow *flow, int n_attempts, int64_t channel, int64_t n_channels, struct lw_error *err);

/** Read all samples of a channel into flow->dense; every rank another channel, or none (-1). Collective. */
int lw_sfft_collect_dense(struct lw_sfft_flow *flow, int64_t channel, struct lw_error *err);

/** Whose turn is next, from the order of things (run/sparse/sparse.c): this rank's next channel from `from` on that is not explained;
 * -1: none. */
int64_t lw_sfft_next_unexplained(const struct lw_sfft_flow *flow, int64_t from);

/** Take the lines and the figures of a result as what became of a channel of this rank. */
void lw_sfft_keep(struct lw_sfft_flow *flow, int64_t channel, const struct lw_sfft_result *result,
                  struct lw_sfft_outcome outcome);

/** What became of all channels, to all ranks: from `mine` to `all`. Collective. */
void lw_sfft_share_outcomes(struct lw_sfft_flow *flow);

/** Bytes of rows on their way to the table. */
int64_t lw_sfft_table_bytes(const struct lw_sfft_flow *flow);

/** Write the result. Collective. */
int lw_sfft_write(struct lw_sfft_flow *flow, const char *command_line, struct lw_error *err);

#endif
