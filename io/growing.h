/* growing.h - a table of a result whose rows come while the run goes on: what it will be in the file, and its rows until then. */
#ifndef LW_IO_GROWING_H
#define LW_IO_GROWING_H

#include "io/bytes/spool.h"
#include "io/writer.h"

struct lw_growing {
    struct lw_writer_dataset dataset;   /* all that it points to is in `memory`; dims[0] is 0 */
    void *memory;
    char folder[LW_MAX_PATH];
    struct lw_spool *spool;
    int64_t offset;                     /* of its rows in the file, once it is there */
};

/** Keep what `spec` says, and make a place for rows in the folder of the result. LW_ESYSTEM.
 * @param spec    with `grows`; borrowed during the call
 * @param result  the name of its file */
int lw_growing_create(const struct lw_writer_dataset *spec, const char *result, struct lw_growing **out, struct lw_error *err);
void lw_growing_destroy(struct lw_growing *table);      /* NULL is legal */

#endif
