/* list.h - list the datasets of a file of any format, for `lapwing info FILE`. */
#pragma once

#include "io/dataset.h"

/* One dataset of the list, as texts to print. */
struct lw_listing {
    const char *path;
    char shape[128];            /* "[131072]", "[100 x 3840]", "single value", "no data" */
    char type[96];              /* "float64", "compound {time, flux}" */
    char storage[160];          /* "contiguous", "chunks [2048], shuffle + deflate" */
    char sampling[128];         /* "4096 Hz from 1126259446 GPS second", or the damage that hides it; "": none */
    int64_t stored_bytes;       /* bytes in the file, after compression */
};

/* Receive one dataset of the list, which is borrowed during the call. */
typedef void lw_list_fn(const struct lw_listing *dataset, void *context);

/** Call `visit` for every dataset of the file, in alphabetical order. Not collective. LW_EIO: the file is missing, unreadable, a
 * folder, or locked. LW_EDATA: its format is unknown, or it is damaged. */
int lw_list_file(const char *file, lw_list_fn *visit, void *context, struct lw_error *err);

/** Check, in a child process, that lw_list_file and lw_list_origin can read the file. LW_EDATA: a library crashes on it. */
int lw_list_check(const char *file, struct lw_error *err);

/* The origin of a result: texts that the run has stored in the file. */
struct lw_listing_origin {
    bool is_incomplete;         /* a run of this program did not finish the file */
    char version[64], end[40], job[40];     /* the program's version, the run's end and job; cut to fit */
    char *command;              /* owned, complete: the command line as typed; NULL: not in the file */
    char *configuration;        /* owned, complete: the lines of its job file; NULL: not in the file */
};

/** Return whether the file is a result of this program that holds all texts of its origin. Sets `is_incomplete` in any case.
 * Release `origin` with lw_list_origin_release in any case. Not collective. */
bool lw_list_origin(const char *file, struct lw_listing_origin *origin);
void lw_list_origin_release(struct lw_listing_origin *origin);
