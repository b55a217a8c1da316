/* list.h - the datasets of a file of any format, for `lapwing info FILE`. */
#pragma once

#include "base/error.h"
#include "io/dataset.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One dataset, as texts to print. */
struct lw_listing {
    const char *path;
    char shape[128];            /* "[131072]", "[100 x 3840]", "single value", "no data" */
    char type[96];              /* "float64", "compound {time, flux}" */
    char storage[160];          /* "contiguous", "chunks [2048], shuffle + deflate" */
    char sampling[128];         /* "4096 Hz from 1126259446 GPS second", "" if the file does not say; what of it is damaged */
    int64_t stored_bytes;       /* in the file, after compression */
};

/* Its argument is borrowed during the call. */
typedef void lw_list_fn(const struct lw_listing *dataset, void *context);

/** Call `visit` for every dataset of the file, in alphabetical order. By one process, not collective.
 * LW_EIO: missing, unreadable, a folder, locked. LW_EDATA: of no format that is known, damaged. */
int lw_list_file(const char *file, lw_list_fn *visit, void *context, struct lw_error *err);

/** Do what lw_list_file and lw_list_origin do in a process of its own first: LW_EDATA where a library crashes on the file. */
int lw_list_check(const char *file, struct lw_error *err);

/* Where a file comes from: texts of its root group. */
struct lw_listing_origin {
    bool is_incomplete;         /* a run of this program did not finish it */
    char version[64], end[40], job[40];     /* cut */
    char *command;              /* owned, whole: as typed; NULL: it does not say */
    char *configuration;        /* owned, whole: the lines of its job file; NULL: it does not say */
};

/** Whether it is a result of this program that says how to make it again. By one process. `is_incomplete` is set in any case.
 * Release with lw_list_origin_release in any case. */
bool lw_list_origin(const char *file, struct lw_listing_origin *origin);
void lw_list_origin_release(struct lw_listing_origin *origin);
