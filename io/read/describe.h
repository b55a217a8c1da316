/* describe.h - from the names that a user gives to files that are described and one axis that they make. */
#pragma once

#include "io/names.h"
#include "io/read/state.h"

/** Fill what the reader knows before a file is opened: files, sequence, info. Errors as for lw_reader_open_all. Collective. */
int lw_describe(struct lw_reader *reader, struct lw_error *err);

/** The dimension that several files are joined along; negative: the metadata do not say which is time. */
int lw_reader_axis(const struct lw_reader_request *request, const struct lw_dataset_info *info);

/* ---- its last step: overlap.c ---- */

/** Read what files have in common and compare it, where the later files stand
 * behind the earlier ones; what is not a number is the same as any other such. The ranks share the files; each takes memory for two
 * times a megabyte of samples, or one row of them. LW_EDATA: they differ (says both files, where and how). Not collective. */
int lw_overlaps_compare(const struct lw_reader *reader, struct lw_error *err);

/* ---- names and looks ---- */

/* The ranks that look at files: all that have a guard (io/shield.h), rank 0 among them. */
struct lw_lookers {
    int64_t n, mine;            /* mine: this rank's number among them, -1: it is none */
};

/** Collective. */
int lw_lookers_find(struct lw_comm *comm, struct lw_lookers *lookers, struct lw_error *err);

/** lw_names_expand by rank 0, for all ranks. Collective. */
int lw_names_find(struct lw_comm *comm, const char *names, struct lw_names *out, struct lw_error *err);
