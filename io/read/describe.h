/* describe.h - from the names that a user gives to files that are described and one axis that they make. */
#ifndef LW_IO_READ_DESCRIBE_H
#define LW_IO_READ_DESCRIBE_H

#include "io/names.h"
#include "io/read/state.h"

/** Fill what the reader knows before a file is opened: files, sequence, info. Errors as for lw_reader_open_all. Collective. */
int lw_reader_describe(struct lw_reader *reader, struct lw_error *err);

/** The dimension that several files are joined along; negative: the metadata do not say which is time. */
int lw_reader_axis(const struct lw_reader_request *request, const struct lw_dataset_info *info);

/* The ranks that look at files: all that have a guard (io/shield.h), rank 0 among them. */
struct lw_lookers {
    int64_t n, mine;            /* mine: this rank's number among them, -1: it is none */
};

/** Collective. */
int lw_lookers_find(struct lw_comm *comm, struct lw_lookers *lookers, struct lw_error *err);

/** Release what describe has allocated. */
void lw_reader_forget(struct lw_reader *reader);

/** lw_names_expand by rank 0, for all ranks. Collective. */
int lw_names_find(struct lw_comm *comm, const char *names, struct lw_names *out, struct lw_error *err);

#endif
