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

/* The codes, each with its name, exit code and meaning. */
#define LW_ERROR_CODES(X)                                             \
    X(LW_OK, 0, "done")                                               \
    X(LW_EUSAGE, 2, "usage")                                          \
    X(LW_EDATA, 65, "bad data")                                       \
    X(LW_ESYSTEM, 71, "system, GPU or MPI")                           \
    X(LW_EIO, 74, "input or output")                                  \
    X(LW_ESTOPPED, 75, "interrupted: the same command goes on")       \
    X(LW_ECONFIG, 78, "configuration")

enum lw_code {
#define X(name, value, text) name = value,
    LW_ERROR_CODES(X)
#undef X
};

struct lw_error {
    int code;               /* an enum lw_code */
    int rank;               /* rank where the error happened; -1: unknown, or the same on all ranks */
    char host[64];          /* host name of that rank; "": unknown */
    char message[1024];     /* one line, without a final full stop or newline */
    char list[4096];        /* further lines with the valid alternatives, each ended by a newline; "": none */
};

/** Write a message into `err` and return `code`: `return lw_fail(err, LW_ECONFIG, "--segment %d is not in %d..%d", ...)`.
 * @param err  NULL: the message is not wanted. Rank and host become unknown; lw_comm_agree fills them in. */
int lw_fail(struct lw_error *err, enum lw_code code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/** Add a line to the list of an error that lw_fail has written. Return false, with nothing changed, if the list is full.
 * @param err  NULL: nothing is done, and true is returned */
bool lw_error_add(struct lw_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

LW_C_END
