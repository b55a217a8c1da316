/* whole.h - a dataset whose rows every rank needs, such as a bank of filters, in its stored type: all rows, or some at a time.
 *
 *     open  ->  hold (all rows; each rank reads its share by its pool's threads, ranks of one node hold them once: comm/shared.h)
 *           or  take (some rows, read by this rank for itself) ... expect (the next ones, while these are in use) ... take
 *           ->  release */
#pragma once

#include "comm/shared.h"
#include "io/read/reader.h"

struct lw_whole {
    struct lw_dataset_info info;        /* description of the dataset as it is stored */
    struct lw_type type;                /* type of the rows in memory; the reader's type, or float64 */
    int64_t rows, row;                  /* rows of the first dimension, or one; values of a row */
    struct lw_range channels;           /* elements of the second of 3 dimensions that rows have */
    int64_t at_once;                    /* rows of one read; tests make them fewer */
    const void *data;                   /* rows [first, first + n) in memory; every rank must leave them as they are */
    int64_t first, n;
    struct lw_shared memory;            /* owned; holds all rows, once they are held */
    struct lw_reader *reader;           /* owned; NULL once all rows are held */
    void *part;                         /* owned; room for most_rows rows that are taken */
    int64_t most_rows;
    struct {                            /* rows that are expected, of which `done` are there once a read has ended */
        void *rows;                     /* owned; NULL: there is no room for them */
        int64_t most;                   /* room for rows */
        int64_t first, n, done;
        bool is_reading;
    } ahead;
};

/** Open a dataset of 1 to 3 dimensions; of several the first counts rows. Types that are no type of samples are given as float64;
 * such datasets are held at once. Errors: those of lw_reader_read_numbers. Collective.
 * @param pool      threads that read, borrowed until release; NULL: the format's library reads
 * @param channels  elements of the second of 3 dimensions that rows shall have; NULL: at most 2 dimensions are legal */
int lw_whole_open(struct lw_comm *comm, struct lw_pool *pool, const char *name, const struct lw_range *channels,
                  struct lw_whole *out, struct lw_error *err);

/** Return the bytes of a row, and of all rows. */
int64_t lw_whole_row_bytes(const struct lw_whole *whole);
int64_t lw_whole_bytes(const struct lw_whole *whole);

/** Hold all rows. LW_ESYSTEM, LW_EIO, LW_EDATA. Collective. */
int lw_whole_hold(struct lw_comm *comm, struct lw_whole *whole, struct lw_error *err);
static inline bool lw_whole_is_held(const struct lw_whole *whole) { return !whole->reader; }

/** Make room for the rows that are taken at a time; then, for as many that are expected. LW_ESYSTEM. Not collective. */
int lw_whole_reserve(struct lw_whole *whole, int64_t most_rows, struct lw_error *err);
int lw_whole_reserve_ahead(struct lw_whole *whole, int64_t most_rows, struct lw_error *err);

/** Go on reading rows [first, first + n), which will be taken next: wait for the last call's rows and begin to read some more. What
 * fails is read again when it is taken. Nothing is done without room for them. Not collective. */
void lw_whole_expect(struct lw_whole *whole, int64_t first, int64_t n);

/** Have rows [first, first + n) in memory: nothing is done if they are there. Otherwise n is at most the room reserved. LW_EIO,
 * LW_EDATA. Not collective. */
int lw_whole_take(struct lw_whole *whole, int64_t first, int64_t n, struct lw_error *err);

/** Return a row in memory. */
const void *lw_whole_row(const struct lw_whole *whole, int64_t row);

void lw_whole_release(struct lw_whole *whole);              /* Collective; nothing was opened: legal */

/** Find the first value of rows [begin, end), which are in memory, that is not finite. Not collective.
 * @return  its number among all values; -1: all are finite */
int64_t lw_whole_not_finite(const struct lw_whole *whole, int64_t begin, int64_t end);
