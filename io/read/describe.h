/* describe.h - from the names that a user gives to files that are described and one axis that they make. */
#ifndef LW_IO_READ_DESCRIBE_H
#define LW_IO_READ_DESCRIBE_H

#include "io/names.h"
#include "io/read/reader.h"

/** Fill what the reader knows before a file is opened: files, sequence, info. Errors as for lw_reader_open_all. Collective. */
int lw_reader_describe(struct lw_reader *reader, struct lw_error *err);

/** Release what describe has allocated. */
void lw_reader_forget(struct lw_reader *reader);

/** lw_names_expand by rank 0, for all ranks. Collective. */
int lw_names_find(struct lw_comm *comm, const char *names, struct lw_names *out, struct lw_error *err);

#endif
