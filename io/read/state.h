/* state.h - the inside of a reader: the requested files, the axis that they make, and the files that are open. */
#pragma once

#include "io/read/sequence.h"
#include "io/read/view.h"

/* An open file, ready to read a part of the view. */
struct lw_opened {
    struct lw_view *view;
    int64_t part;
    int64_t used;               /* reader's clock at the last use */
    bool is_busy;               /* a read is under way */
};

struct lw_reader {
    struct lw_comm *comm;
    struct lw_pool *pool;       /* borrowed; NULL: the formats' libraries read */
    struct lw_reader_request request;       /* its texts are NULL once the files are described */
    struct lw_infos infos;                  /* [n_files] descriptions of the files, in the order given */
    int64_t n_files;
    int64_t n_shown;            /* number of files shown; they come first, then the files beside them */
    struct lw_sequence sequence;
    int axis;                   /* dimension that the files are joined along */
    struct lw_dataset_info info;            /* description of the files shown, joined */
    int64_t lead;               /* position of the first shown sample on the axis of all files */
    bool converts;              /* stored samples are converted before they are shown */
    struct lw_view_spec view;

    struct lw_opened *opened;   /* owned; the first has the longest part, and stands for all in estimates of bytes */
    int n_opened, most_opened;
    int64_t longest;            /* number of the longest part */
    int64_t clock;              /* counts uses of open files */
    char *scratch;              /* owned; buffer for a slab of stored samples; NULL: nothing is converted */
    struct lw_slab slab;        /* the read under way; count 0: none */
};

/* ---- describe.c: names of files become descriptions, and the axis that the files make -------------------------- */

/** Fill the members that need no open file: infos, sequence, info. Errors: those of lw_reader_open_all. Collective. */
int lw_describe(struct lw_reader *reader, struct lw_error *err);

/* The lookers: ranks that may describe files, because they have a guard (io/shield.h). Rank 0 is one of them. */
struct lw_lookers {
    int64_t n, mine;            /* number of lookers; this rank's number among them, -1: no looker */
};

/** Find which ranks are lookers. Collective. */
int lw_lookers_find(struct lw_comm *comm, struct lw_lookers *lookers, struct lw_error *err);

/* ---- overlap.c ---- */

/** Compare the samples that files share; call only where the earlier file's samples are taken. Two NaN count as equal. The ranks
 * divide the overlaps; each takes memory for two blocks of a MiB, or of one sample of all channels. LW_EDATA: samples
 * differ (the message names both files, the place and the values). Not collective. */
int lw_overlaps_compare(const struct lw_reader *reader, struct lw_error *err);
