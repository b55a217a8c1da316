/* samples.h - boxes of the samples of a dataset, or of many that are one axis, as real numbers.
 *
 *     boxes  ->  pieces, of one file and, where it has any, of one chunk each  ->  threads: read, decode, convert
 *
 * Storage answers many reads at once faster than one after the other, so there are more threads than cores. Where only the library
 * of a format can read, it does so on the caller's thread. Complex samples are given as their magnitudes; those of a gap between
 * files are NaN. One process. */
#ifndef LW_PLOT_SAMPLES_H
#define LW_PLOT_SAMPLES_H

#include "io/dataset.h"
#include "io/read/sequence.h"

/* Where samples come from. */
struct lw_samples_source {
    struct lw_dataset_info info;                /* of all; of one file, its own */
    const struct lw_infos *files;       /* borrowed; NULL: one file */
    const struct lw_sequence *sequence;         /* of these, along dimension `joined` */
    int joined;
};

struct lw_samples;

/* In each dimension, `count` samples from `first` on, `step` apart. At most two counts are more than 1, and steps only there. */
struct lw_samples_box {
    int64_t first[LW_MAX_DIMS], count[LW_MAX_DIMS], step[LW_MAX_DIMS];
};

/** Errors: those of lw_formats_find and lw_format.open. @param source  copied; what it points to is borrowed until close */
int lw_samples_open(const struct lw_samples_source *source, struct lw_samples **out, struct lw_error *err);
void lw_samples_close(struct lw_samples *samples);          /* NULL is legal */

/** Read boxes. LW_EIO, LW_EDATA; names the file.
 * @param values  those of the first box, row-major, then those of the next, ... */
int lw_samples_read(struct lw_samples *samples, const struct lw_samples_box *boxes, int n_boxes, double *values,
                    struct lw_error *err);

#endif
