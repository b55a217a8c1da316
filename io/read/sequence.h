/* sequence.h - join several files to one axis: their order, where each begins, and the gaps between them. Pure arithmetic.
 *
 *     axis     |    part 0    |  part 1  |  gap  |  part 2  |
 *     file     |     kept     |
 *                         |skip|   kept  |          samples that both files have are skipped here (or cut off above)
 *
 * A piece is a run of a file's samples without a gap; a part is the share of a piece that the axis takes. Pieces with start times
 * lie where their times put them, to the nearest sample. Without times, files follow in the order of their names, 9 before 10. */
#pragma once

#include "io/read/reader.h"

/* The descriptions of many files in little memory: each file's name, and the bytes in which its description differs from the first
 * file's.
 *
 *     record   name '\0', number of differences, then for each difference: offset, length, bytes */
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

/** Find the record of each of n files. Records lie source by source; source s has added files s, s + n_sources, ... LW_ESYSTEM. */
int lw_infos_index(struct lw_infos *infos, int64_t n, int64_t n_sources, struct lw_error *err);

/* Return the name of a file, or fill *info with its description and return `info`. Call after lw_infos_index. */
const char *lw_infos_file(const struct lw_infos *infos, int64_t number);
const struct lw_dataset_info *lw_infos_get(const struct lw_infos *infos, int64_t number, struct lw_dataset_info *info);

void lw_infos_release(struct lw_infos *infos);

/* A piece: a whole file without gaps, or one of a file's stretches. */
struct lw_piece {
    int64_t file, stretch;      /* number among the files given; number of the stretch in that file */
    int64_t first, count;       /* samples [first, first + count) of the file */
    struct lw_instant instant;  /* time of the first sample, where the file has times */
};

struct lw_file_part {
    int64_t file, stretch;
    int64_t first;              /* position of the first sample on the axis */
    int64_t skip, count;        /* samples [skip, skip + count) of the file are taken */
    struct lw_instant instant;  /* time of the first sample of the part's piece */
};

/* The samples at the beginning of a piece that earlier pieces have, too. */
struct lw_overlap {
    int64_t file, skip;         /* skip: number of the first common sample in the file */
    int64_t first, count;       /* common samples, on the axis */
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
    int64_t n_left_out;         /* pieces dropped because earlier pieces have all of their samples */
};

struct lw_join {
    const struct lw_infos *infos;               /* descriptions of the files */
    const struct lw_piece *pieces;              /* pieces of these files, in their order */
    int64_t n_pieces;
    int axis;
    bool last_stands;           /* where pieces overlap, samples of the later piece are taken; false: of the earlier */
};

/** Join files along a dimension. LW_EDATA: the files differ in recorder (detector, telescope, ...), type, shape, rate, unit or
 * coordinates; only some have start times; the axis would have more samples than 64 bits count. */
int lw_sequence_join(const struct lw_join *join, struct lw_sequence *out, struct lw_error *err);
void lw_sequence_release(struct lw_sequence *sequence);

/** Return the number of the part that holds a sample of the axis; in a gap, of the next part; behind the last part, n_parts. */
int64_t lw_sequence_find(const struct lw_sequence *sequence, int64_t sample);
