/* error.h - one error type for the whole program.
 *
 * A function that can fail returns LW_OK or one of the codes below and takes `struct lw_error *err` last. The first
 * place that knows what is wrong writes the message (the offending value and the legal range or the remedy) with
 * lw_fail; callers only pass the code on. The codes are the program's exit codes.
 *
 * `struct lw_error` has a fixed size and no pointers, so that one rank's error can be broadcast to the others. */
#pragma once

#include "base/linkage.h"

#include <stdbool.h>

LW_C_BEGIN

/* name, exit code, what it stands for */
#define LW_ERROR_CODES(X)                                             \
    X(LW_OK, 0, "done")                                               \
    X(LW_EUSAGE, 2, "usage")                                          \
    X(LW_EDATA, 65, "bad data")                                       \
    X(LW_ESYSTEM, 71, "system, GPU or MPI")                           \
    X(LW_EIO, 74, "input or output")                                  \
    X(LW_ESTOPPED, 75, "stopped before its end: run it again to go on") \
    X(LW_ECONFIG, 78, "configuration")

enum lw_code {
#define X(name, value, text) name = value,
    LW_ERROR_CODES(X)
#undef X
};

struct lw_error {
    int code;               /* an lw_code */
    int rank;               /* the rank it happened on, -1: not known or all alike */
    char host[64];          /* that rank's host, "" : not known */
    char message[1024];     /* one line without a final full stop or newline */
    char list[4096];        /* further lines, each with a newline behind it: what there is instead; "": none */
};

/** Write a message and return `code`: `return lw_fail(err, LW_ECONFIG, "--segment %d is not in %d..%d", ...)`.
 * @param err  may be NULL where the caller does not want the text; rank and host are left for the caller to fill */
int lw_fail(struct lw_error *err, enum lw_code code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/** Add a line to the list of an error that lw_fail has written. False: there is no room for it, and nothing has changed.
 * @param err  may be NULL: nothing is done */
bool lw_error_add(struct lw_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

LW_C_END
