/* growing.h - a table of a result whose rows come while the run goes on: what it will be in the file, and its rows until then. They
 * gather in a spool, and where the run can be gone on with in the order in which they came in a file beside the result, too:
 * OUT.lapwing-rows, from which a later run takes the first so many again. */
#pragma once

#include "io/bytes/spool.h"
#include "io/write/writer.h"

struct lw_growing {
    struct lw_writer_dataset dataset;   /* all that it points to is in `memory`; dims[0] is 0 */
    void *memory;
    char folder[LW_MAX_PATH];
    struct lw_spool *spool;
    char log[LW_MAX_PATH];              /* the name of the file beside the result; "": there is none */
    _Atomic int fd;                     /* of that file; -1: no rows have come. A thread may sync it while another one opens it */
    int64_t n_rows;
    int64_t offset;                     /* of its rows in the file, once it is there */
};

/** Keep what `spec` says, and make a place for rows in the folder of the result. LW_ESYSTEM.
 * @param spec    with `grows`; borrowed during the call
 * @param result  the name of its file
 * @param log     what comes is written to a file of that name, too, which must not be there before the first row comes; "": it is
 *                not */
int lw_growing_create(const struct lw_writer_dataset *spec, const char *result, const char *log, struct lw_growing **out,
                      struct lw_error *err);

/** Add rows. LW_EIO. */
int lw_growing_append(struct lw_growing *table, const void *rows, int64_t n, struct lw_error *err);

/** Take the first n rows of the file again, and no others. LW_EDATA: it has fewer; LW_EIO. @param see  gets them, too */
int lw_growing_recall(struct lw_growing *table, int64_t n, lw_rows_fn *see, void *context, struct lw_error *err);

/** Wait until the rows are on the disk. Any thread. LW_EIO. */
int lw_growing_sync(const struct lw_growing *table, struct lw_error *err);

void lw_growing_destroy(struct lw_growing *table);      /* NULL is legal */
