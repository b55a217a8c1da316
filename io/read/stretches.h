/* stretches.h - group many files by the results that they go to (--each), and find the neighbours of each file. */
#pragma once

#include "io/read/reader.h"

enum lw_each {
    LW_EACH_FILE,               /* one group for each file */
    LW_EACH_STRETCH,            /* one group for the files between two gaps */
};

/** Group the files of a request, in their order. Each group is one text for struct lw_reader_request.names. Errors: those of
 * lw_reader_open_all. Collective.
 * @param out  release with lw_names_release
 * @param bytes  set to [out->n] bytes of each group's samples, to be released with lw_free; NULL: not wanted. For the bytes every
 * file is described; a file that cannot be described counts 0 */
int lw_stretches_find(struct lw_comm *comm, const struct lw_reader_request *request, enum lw_each each, struct lw_names *out,
                      double **bytes, struct lw_error *err);

/* ---- files that are processed one by one although they follow each other without a gap ---- */

struct lw_beside;               /* when each file begins and ends */

/** Find when the files begin and end. A file that is unreadable or has no times has no neighbours. Collective.
 * @param files  groups of one file each, borrowed until destroy @param request  its names are ignored */
int lw_beside_create(struct lw_comm *comm, const struct lw_reader_request *request, const struct lw_names *files,
                     struct lw_beside **out, struct lw_error *err);
void lw_beside_destroy(struct lw_beside *beside);           /* NULL is legal */

/** Find the neighbours of file `number`: files before and behind it that join it without a gap. On either side as many are taken as
 * have `reach` samples together, or all. Collective.
 * @return  text for struct lw_reader_request.beside, "" if there are none; valid until the next call */
const char *lw_beside_find(struct lw_beside *beside, int64_t number, int64_t reach);
