/* sequence.h - several files as one axis: their order, where each begins, and what is missing between them. Pure arithmetic.
 *
 *     axis     |    part 0    |  part 1  |  gap  |  part 2  |
 *     file     |     kept     |
 *                         |skip|   kept  |          what the earlier file has, too, is skipped, or cut off there
 *
 * With start times, a file belongs where its start says, to the nearest sample behind the file before; without, it follows that in
 * the order of names (digits count as numbers: 9 before 10). */
#ifndef LW_IO_READ_SEQUENCE_H
#define LW_IO_READ_SEQUENCE_H

#include "io/dataset.h"
#include "io/reader.h"

struct lw_file_part {
    int64_t file;               /* its number among those given */
    int64_t first;              /* on the axis */
    int64_t skip, count;        /* samples of the file that are left out before those that are taken */
};

/* What a file has in common with those that begin before it: its own first samples. */
struct lw_overlap {
    int64_t file;
    int64_t first, count;       /* on the axis */
};

struct lw_sequence {
    struct lw_file_part *parts;      /* owned; in the order of the axis; every one has samples */
    int64_t n_parts;
    struct lw_gap *gaps;        /* owned */
    int64_t n_gaps;
    int64_t length;             /* of the axis */
    struct lw_overlap *overlaps;        /* owned; in the order of their files' starts */
    int64_t n_overlaps;
    int64_t n_left_out;         /* files of which no sample is taken */
};

/** Join files along a dimension. LW_EDATA: they are of different detectors, telescopes, ..., or differ in type, shape, rate, unit or coordinates, or only some have start times, or
 * the axis has more samples than 64 bits count. @param infos  [n]
 * @param last_stands  of samples that several files have, the later file's are taken, not the earlier one's */
int lw_sequence_join(const struct lw_dataset_info *infos, int64_t n, int axis, bool last_stands, struct lw_sequence *out,
                     struct lw_error *err);
void lw_sequence_release(struct lw_sequence *sequence);

/** The part that holds a sample, or, in a gap, the one behind it; n_parts behind the last. */
int64_t lw_sequence_find(const struct lw_sequence *sequence, int64_t sample);

#endif
