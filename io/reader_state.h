/* reader_state.h - inside of the reader, shared by reader.c (open, close) and reader_view.c (select, read). */
#ifndef LW_READER_STATE_H
#define LW_READER_STATE_H

#include "reader.h"

#include <hdf5.h>
#include <stdbool.h>

/* How one read is made of file calls: of at most slow x fast samples of the view's two dimensions each.
 * `bounce_bytes` > 0: through the bounce buffer. */
struct calls {
    int64_t slow, fast;
    int64_t bounce_bytes;
};

struct lw_reader {
    struct lw_comm *comm;
    struct lw_dataset_info info;
    hid_t file, dataset, type;
    struct lw_view_spec view;
    struct calls calls;
    char *bounce;
    int64_t bytes_read;
};

#endif
