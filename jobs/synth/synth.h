/* synth.h - the synthetic surveys that the jobs offer (lw_job_ops.synth_options and .synth of each), and what they have in
 * common. */
#pragma once

#include "comm/comm.h"
#include "engine/engine.h"
#include "io/write/writer.h"
#include "options/options.h"

extern const struct lw_option lw_ols_synth_options[], lw_conv2d_synth_options[], lw_sfft_synth_options[];

int lw_ols_synth(const struct lw_options *given, struct lw_comm *comm, struct lw_error *err);
int lw_conv2d_synth(const struct lw_options *given, struct lw_comm *comm, struct lw_error *err);
int lw_sfft_synth(const struct lw_options *given, struct lw_comm *comm, struct lw_error *err);

/** Create the file that --output names. Collective.
 * @param title, configuration  attributes of the file; NULL: it has neither */
int lw_synth_create(const struct lw_options *given, struct lw_comm *comm, const char *title, const char *configuration,
                    const struct lw_writer_dataset *datasets, int n_datasets, struct lw_writer **out, struct lw_error *err);

/* Blocks of one axis after the other, made in turn by one rank each. */
struct lw_synth_turns {
    int64_t n, block;           /* of an axis; of a block at most */
    int64_t n_axes;
    int64_t weight, bytes;      /* for the progress: values of one place of an axis; bytes of all, 0: they are not told */
};

/** Make and write `count` of an axis from `first` on; 0 by a rank that has none left. Collective. */
typedef int lw_synth_block_fn(void *context, int64_t axis, int64_t first, int64_t count, struct lw_error *err);

/** Call it for all blocks, and show the progress. Collective. */
int lw_synth_in_turns(struct lw_comm *comm, const struct lw_synth_turns *turns, lw_synth_block_fn *block, void *context,
                      struct lw_error *err);

/* A series as it lies in the file: [channel x time] or [time x channel], of one channel [time]. */
struct lw_synth_series {
    int64_t n_samples, n_channels;
    enum lw_layout layout;
    struct lw_type type;
};

/** The dataset /signal. */
struct lw_writer_dataset lw_synth_describe(const struct lw_synth_series *series, const struct lw_attribute *notes, int n_notes);

/** Write a block of it, which is dataset 0, of all channels. Collective. */
int lw_synth_write(const struct lw_synth_series *series, struct lw_writer *writer, int64_t first, int64_t count,
                   const void *samples, struct lw_error *err);
