/* listing.h - the datasets of a file, for `lapwing info FILE` and for messages. */
#ifndef LW_LISTING_H
#define LW_LISTING_H

#include "../src/error.h"
#include "dataset.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One dataset, as texts to print. */
struct lw_listing {
    const char *path;
    char shape[128];            /* "[131072]", "[100 x 3840]", "single value", "no data" */
    char type[96];              /* "float64", "compound {time, flux}" */
    char storage[160];          /* "contiguous", "chunks [2048], shuffle + deflate" */
    char sampling[128];         /* "4096 Hz from 1126259446 GPS second", "" if the file does not say */
    int64_t stored_bytes;       /* in the file, after compression */
};

/** Call `visit` for every dataset of the file, in alphabetical order. By one process, not collective.
 * LW_EIO: missing, unreadable, a folder, locked. LW_EDATA: not HDF5, damaged.
 * @param visit  its argument is borrowed during the call */
int lw_list_file(const char *file, void (*visit)(const struct lw_listing *dataset, void *context), void *context,
                 struct lw_error *err);

/** A text attribute of the file as a whole (its root group), cut to `size`. By one process. False if there is none. */
bool lw_list_note(const char *file, const char *attribute, char *text, size_t size);

/** For messages: "/a float64 [10], /b int16 [2 x 3]", cut with the number left out, or "no datasets". Returns `text`.
 * @param file  an open HDF5 file (hid_t) */
const char *lw_listing_line(int64_t file, char *text, size_t size);

#endif
