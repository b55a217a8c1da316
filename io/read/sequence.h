/* sequence.h - join several files to one axis: their order, where each begins, and the gaps between them. Pure arithmetic.
 *
 *     axis     |    part 0    |  part 1  |  gap  |  part 2  |
 *     file     |     kept     |
 *                         |skip|   kept  |          samples that the earlier file has, too, are skipped (or cut off there)
 *
 * A file with gaps of its own counts as several files. Files with start times lie where their times put them, to the nearest sample
 * behind the file before. Without times they follow each other in the order of their names (numerically: 9 before 10). */
#pragma once

#include "io/read/reader.h"

/* The descriptions of many files in little memory: each file's name, and the bytes where its description differs from the first
 * file's.
 *
 *     record   name '\0', number of pieces, then for each piece: offset, bytes, the bytes */
struct lw_infos {
    struct lw_dataset_info *first;      /* owned */
    char *records;                      /* owned; the records one behind the other */
    int64_t bytes, room;
    int64_t *begin;                     /* owned; [n] offset of each record; NULL until lw_infos_index */
    int64_t n;
};

/** Start with the description that all others are compared with. LW_ESYSTEM. Release with lw_infos_release even after a failure. */
int lw_infos_begin(struct lw_infos *infos, const struct lw_dataset_info *first, struct lw_error *err);

/** Append the record of one description. LW_ESYSTEM. */
int lw_infos_add(struct lw_infos *infos, const struct lw_dataset_info *info, struct lw_error *err);

/** Append records made by other infos with the same first description. LW_ESYSTEM. @param records  NULL: only make room for them */
int lw_infos_append(struct lw_infos *infos, const void *records, int64_t bytes, struct lw_error *err);

/** Number the records of n files. Each of n_sources sources has added its files s, s + n_sources, ... in turn. LW_ESYSTEM. */
int lw_infos_index(struct lw_infos *infos, int64_t n, int64_t n_sources, struct lw_error *err);

/* Return the name of a file, or fill *info with its description and return `info`. Call after lw_infos_index. */
const char *lw_infos_file(const struct lw_infos *infos, int64_t number);
const struct lw_dataset_info *lw_infos_get(const struct lw_infos *infos, int64_t number, struct lw_dataset_info *info);

void lw_infos_release(struct lw_infos *infos);

/* Samples of one file without a gap: the whole file, or one of its stretches. */
struct lw_piece {
    int64_t file, stretch;      /* number among the files given; number of the stretch in that file */
    int64_t first, count;       /* samples of the file */
    struct lw_instant instant;  /* time of the first sample, where the file has times */
};

struct lw_file_part {
    int64_t file, stretch;
    int64_t first;              /* first sample's position on the axis */
    int64_t skip, count;        /* samples taken from the file: first number and count */
    struct lw_instant instant;  /* time of the first sample of the piece that the part belongs to */
};

/* The first samples of a piece that earlier pieces have, too. */
struct lw_overlap {
    int64_t file, skip;         /* number in the file of the first common sample */
    int64_t first, count;       /* position on the axis */
    struct lw_instant instant;  /* time of the first common sample */
};

struct lw_sequence {
    struct lw_file_part *parts;      /* owned; in the order of the axis; none is empty */
    int64_t n_parts;
    struct lw_gap *gaps;        /* owned */
    int64_t n_gaps;
    int64_t length;             /* samples of the axis */
    struct lw_overlap *overlaps;        /* owned; in the order of their files' starts */
    int64_t n_overlaps;
    int64_t n_left_out;         /* pieces without a sample of their own, dropped because the earlier pieces stand */
};

struct lw_join {
    const struct lw_infos *infos;               /* descriptions of the files */
    const struct lw_piece *pieces;              /* pieces of these files, in their order */
    int64_t n_pieces;
    int axis;
    bool last_stands;           /* where pieces overlap, the later piece's samples are taken, not the earlier's */
};

/** Join files along a dimension. LW_EDATA: the files differ in recorder (detector, telescope, ...), type, shape, rate, unit or
 * coordinates; only some have start times; the axis would have more samples than 64 bits count. */
int lw_sequence_join(const struct lw_join *join, struct lw_sequence *out, struct lw_error *err);
void lw_sequence_release(struct lw_sequence *sequence);

/** Return the part that holds a sample, or the next part if the sample lies in a gap, or n_parts behind the last part. */
int64_t lw_sequence_find(const struct lw_sequence *sequence, int64_t sample);
