/* whole.h - a dataset that every rank needs whole, such as a bank of filters, in its stored type.
 *
 * Each rank reads its share of the rows by its pool's threads; ranks of one node hold the data once (comm/shared.h). */
#pragma once

#include "comm/shared.h"
#include "io/read/reader.h"

struct lw_whole {
    struct lw_dataset_info info;        /* description of the dataset as it is stored */
    struct lw_type type;                /* type of the data in memory; the reader's type, or float64 */
    int64_t rows, row;                  /* all dimensions but the last; values of a row, the last dimension */
    const void *data;                   /* [rows x row]; every rank must leave it as it is */
    struct lw_shared memory;            /* owned; holds `data` */
};

/** Read a dataset of 1 to `most_dims` dimensions. Types that are no type of samples are given as float64. Errors: those of
 * lw_reader_read_numbers. Collective.
 * @param pool  threads that read; NULL: the format's library reads */
int lw_whole_read(struct lw_comm *comm, struct lw_pool *pool, const char *name, int most_dims, struct lw_whole *out,
                  struct lw_error *err);
void lw_whole_release(struct lw_whole *whole);              /* Collective; nothing was read: legal */

/** Find the first value that is not finite, of all ranks. Each rank looks at its share. Collective.
 * @return  its number among all values; -1: all are finite */
int64_t lw_whole_not_finite(struct lw_comm *comm, const struct lw_whole *whole);
