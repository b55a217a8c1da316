/* stretches.h - many files, grouped by what each result of its own is to be made of. */
#pragma once

#include "comm/comm.h"
#include "io/names.h"
#include "io/read/reader.h"

enum lw_each {
    LW_EACH_FILE,
    LW_EACH_STRETCH,            /* files between two gaps */
};

/** The groups of what is asked for, in their order, each as the text of struct lw_reader_request.names. Errors: those of
 * lw_reader_open_all. Collective. @param out  release with lw_names_release
 * @param bytes  NULL: not wanted; else set to [out->n] bytes of the groups' samples, to be given to lw_free. Each file is looked
 *               at for it: one that cannot be described has 0 */
int lw_stretches_find(struct lw_comm *comm, const struct lw_reader_request *request, enum lw_each each, struct lw_names *out,
                      double **bytes, struct lw_error *err);

/* ---- files that are processed one by one and follow each other without a gap ---- */

struct lw_beside;               /* where each file lies in time */

/** Look when the files begin and end; a file that does not say it, or cannot be read, is beside none. Collective.
 * @param files  groups of one file each, borrowed for its life @param request  its texts are not looked at */
int lw_beside_create(struct lw_comm *comm, const struct lw_reader_request *request, const struct lw_names *files,
                     struct lw_beside **out, struct lw_error *err);
void lw_beside_destroy(struct lw_beside *beside);           /* NULL is legal */

/** The files that lie before and behind file `number` without a gap, and can be one axis with it: so many that they have `reach`
 * samples on either side, or all there are. Collective.
 * @return  what struct lw_reader_request.beside takes, "" where there is none; valid until the next call */
const char *lw_beside_find(struct lw_beside *beside, int64_t number, int64_t reach);
