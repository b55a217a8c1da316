/* stretches.h - many files, grouped by what each result of its own is to be made of. */
#ifndef LW_IO_STRETCHES_H
#define LW_IO_STRETCHES_H

#include "comm/comm.h"
#include "io/names.h"
#include "io/reader.h"

enum lw_each {
    LW_EACH_FILE,
    LW_EACH_STRETCH,            /* files between two gaps */
};

/** The groups of what is asked for, in their order, each as the text of struct lw_reader_request.names. Errors: those of
 * lw_reader_open_all. Collective. @param out  release with lw_names_release */
int lw_stretches_find(struct lw_comm *comm, const struct lw_reader_request *request, enum lw_each each, struct lw_names *out,
                      struct lw_error *err);

#endif
