/* state.h - inside of a reader: the files that it was asked for, the axis that they make, and those that are open. */
#pragma once

#include "io/read/sequence.h"
#include "io/read/view.h"

/* A file that is open, ready to read its part of the view. */
struct lw_opened {
    struct lw_view *view;
    int64_t part;
    int64_t used;               /* when, by the reader's clock */
    bool is_busy;               /* a read is under way */
};

struct lw_reader {
    struct lw_comm *comm;
    struct lw_pool *pool;       /* borrowed; NULL: the formats' libraries read */
    struct lw_reader_request request;       /* its names are not looked at once the files are described */
    struct lw_infos infos;                  /* [n_files], as the files are described, in the order of their names */
    int64_t n_files;
    int64_t n_shown;            /* the first of them; the others are beside */
    struct lw_sequence sequence;
    int axis;                   /* that they are joined along */
    struct lw_dataset_info info;            /* of all that is shown */
    int64_t lead;               /* sample 0 of what is shown, on the axis of all files */
    bool converts;              /* samples are not shown as they are stored */
    struct lw_view_spec view;

    struct lw_opened *opened;   /* owned; the first is of the longest part, which stands for all where bytes are counted */
    int n_opened, most_opened;
    int64_t longest;            /* that part */
    int64_t clock;
    char *scratch;              /* owned; a slab as it is stored; NULL: nothing is converted */
    struct lw_slab slab;        /* under way; count 0: none */
};

/* ---- describe.c: from the names that a user gives to files that are described and one axis that they make ---- */

/** Fill what the reader knows before a file is opened: files, sequence, info. Errors as for lw_reader_open_all. Collective. */
int lw_describe(struct lw_reader *reader, struct lw_error *err);

/* The ranks that look at files: all that have a guard (io/shield.h), rank 0 among them. */
struct lw_lookers {
    int64_t n, mine;            /* mine: this rank's number among them, -1: it is none */
};

/** Collective. */
int lw_lookers_find(struct lw_comm *comm, struct lw_lookers *lookers, struct lw_error *err);

/* ---- overlap.c ---- */

/** Read what files have in common and compare it, where the later files stand behind the earlier ones; what is not a number is the
 * same as any other such. The ranks share the files; each takes memory for two times a megabyte of samples, or one row of them.
 * LW_EDATA: they differ (says both files, where and how). Not collective. */
int lw_overlaps_compare(const struct lw_reader *reader, struct lw_error *err);
