/* pieces.h - what files hold without a gap: each file, or each of the stretches that it is made of. */
#ifndef LW_IO_READ_PIECES_H
#define LW_IO_READ_PIECES_H

#include "io/read/state.h"

/** The pieces of the reader's files, in the order of the files and of their samples. The ranks share the files with several; the others
 * are not looked at. Errors: those of lw_format.find_stretches. Collective.
 * @param infos  [n_files], as the reader shows them, with the axis `axis`
 * @param out    release with lw_free */
int lw_pieces_find(const struct lw_reader *reader, const struct lw_infos *infos, int axis, struct lw_piece **out, int64_t *n,
                   struct lw_error *err);

#endif
