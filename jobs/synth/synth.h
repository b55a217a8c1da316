/* synth.h - `lapwing synth JOB`: synthetic input with known contents.
 *
 *     ols.c (survey.h), conv2d.c (sky.h), sfft.c, accel.c   the samples of each job: its lw_job_ops.synth_options and .synth
 *     synth.c, random.h                            shared: the file, its blocks, which all ranks make in turn; random numbers */
#pragma once

#include "engine/engine.h"
#include "io/write/writer.h"
#include "options/options.h"

extern const struct lw_option lw_ols_synth_options[], lw_conv2d_synth_options[], lw_sfft_synth_options[],
    lw_accel_synth_options[];

int lw_ols_synth(const struct lw_options *given, struct lw_comm *comm, struct lw_error *err);
int lw_conv2d_synth(const struct lw_options *given, struct lw_comm *comm, struct lw_error *err);
int lw_sfft_synth(const struct lw_options *given, struct lw_comm *comm, struct lw_error *err);
int lw_accel_synth(const struct lw_options *given, struct lw_comm *comm, struct lw_error *err);

/** Create the file of --output. Collective.
 * @param title  attribute of the file, beside the options as `configuration`; NULL: it has neither */
int lw_synth_create(const struct lw_options *given, struct lw_comm *comm, const char *title,
                    const struct lw_writer_dataset *datasets, int n_datasets, struct lw_writer **out, struct lw_error *err);

/* The division of the work: one axis after another is cut into blocks, which the ranks make in turn. */
struct lw_synth_turns {
    int64_t n, block;           /* places (samples or rows) on an axis; most places of a block */
    int64_t n_axes;             /* one axis per image, or 1 for all channels together */
    int64_t weight, bytes;      /* values of a place; bytes of all values, for the progress display; 0: no display */
};

/** Make and write the places [first, first + count) of an axis; count is 0 on ranks without a block in this turn. Collective. */
typedef int lw_synth_block_fn(void *context, int64_t axis, int64_t first, int64_t count, struct lw_error *err);

/** Call `block` for all blocks, and show the progress. Collective. */
int lw_synth_in_turns(struct lw_comm *comm, const struct lw_synth_turns *turns, lw_synth_block_fn *block, void *context,
                      struct lw_error *err);

/* The signal in the file: [channel x time] or [time x channel], with one channel [time]. */
struct lw_synth_series {
    int64_t n_samples, n_channels;
    enum lw_layout layout;
    struct lw_type type;
};

/** Return the description of the dataset /signal. */
struct lw_writer_dataset lw_synth_describe(const struct lw_synth_series *series, const struct lw_attribute *notes, int n_notes);

/** Write a block of all channels to the signal, which is dataset 0. Collective. */
int lw_synth_write(const struct lw_synth_series *series, struct lw_writer *writer, int64_t first, int64_t count,
                   const void *samples, struct lw_error *err);
