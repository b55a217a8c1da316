/* sequence.h - several files as one axis: their order, where each begins, and what is missing between them. Pure arithmetic.
 *
 *     axis     |    part 0    |  part 1  |  gap  |  part 2  |
 *     file     |     kept     |
 *                         |skip|   kept  |          what the earlier file has, too, is skipped, or cut off there
 *
 * A file with gaps of its own is several such. With start times, each belongs where its start says, to the nearest sample behind
 * the file before; without, it follows that in the order of names (digits count as numbers: 9 before 10). */
#pragma once

#include "io/read/reader.h"

/* What many files hold, in little memory: of each its name, and where its description differs from the first one's.
 *
 *     record   name '\0', number of pieces, then of each piece: offset, bytes, the bytes */
struct lw_infos {
    struct lw_dataset_info *first;      /* owned */
    char *records;                      /* owned; one behind the other */
    int64_t bytes, room;
    int64_t *begin;                     /* owned; [n], of each record; NULL until lw_infos_index */
    int64_t n;
};

/** Begin with what all are compared with. LW_ESYSTEM. Release with lw_infos_release in any case. */
int lw_infos_begin(struct lw_infos *infos, const struct lw_dataset_info *first, struct lw_error *err);

/** Add a record behind the others. LW_ESYSTEM. */
int lw_infos_add(struct lw_infos *infos, const struct lw_dataset_info *info, struct lw_error *err);

/** Add records of other infos that began with the same. LW_ESYSTEM. @param records  NULL: there is just room for them */
int lw_infos_append(struct lw_infos *infos, const void *records, int64_t bytes, struct lw_error *err);

/** Number the records. They came from `n_sources` one after the other, each with every n_sources-th file. LW_ESYSTEM.
 * @param n  how many there are */
int lw_infos_index(struct lw_infos *infos, int64_t n, int64_t n_sources, struct lw_error *err);

/* After lw_infos_index: the file's name, and all that is known of it, in *info, which is returned. */
const char *lw_infos_file(const struct lw_infos *infos, int64_t number);
const struct lw_dataset_info *lw_infos_get(const struct lw_infos *infos, int64_t number, struct lw_dataset_info *info);

void lw_infos_release(struct lw_infos *infos);

/* Samples of a file that follow each other in time: all of them, or a stretch. */
struct lw_piece {
    int64_t file, stretch;      /* their numbers: of the file among those given, of the stretch in the file */
    int64_t first, count;       /* in the file */
    struct lw_instant instant;  /* of the first one, where the file has times */
};

struct lw_file_part {
    int64_t file, stretch;
    int64_t first;              /* on the axis */
    int64_t skip, count;        /* samples of the file before those that are taken, and those */
    struct lw_instant instant;  /* of the piece that it is of */
};

/* What a piece has in common with those that begin before it: its own first samples. */
struct lw_overlap {
    int64_t file, skip;         /* the first one's number in the file */
    int64_t first, count;       /* on the axis */
    struct lw_instant instant;  /* of the first one */
};

struct lw_sequence {
    struct lw_file_part *parts;      /* owned; in the order of the axis; every one has samples */
    int64_t n_parts;
    struct lw_gap *gaps;        /* owned */
    int64_t n_gaps;
    int64_t length;             /* of the axis */
    struct lw_overlap *overlaps;        /* owned; in the order of their files' starts */
    int64_t n_overlaps;
    int64_t n_left_out;         /* pieces that have no samples but those of earlier ones, which stand */
};

struct lw_join {
    const struct lw_infos *infos;               /* of the files */
    const struct lw_piece *pieces;              /* of these files, in their order */
    int64_t n_pieces;
    int axis;
    bool last_stands;           /* of samples that several pieces have, the later one's are taken, not the earlier one's */
};

/** Join files along a dimension. LW_EDATA: they are of different detectors, telescopes, ..., or differ in type, shape, rate, unit
 * or coordinates, or only some have start times, or the axis has more samples than 64 bits count. */
int lw_sequence_join(const struct lw_join *join, struct lw_sequence *out, struct lw_error *err);
void lw_sequence_release(struct lw_sequence *sequence);

/** The part that holds a sample, or, in a gap, the one behind it; n_parts behind the last. */
int64_t lw_sequence_find(const struct lw_sequence *sequence, int64_t sample);
