/* log.h - what the program says while it works, on standard error: rank 0 speaks, others only warn (with rank and host).
 *
 * Results that a user asked for (plan, info, help) go to standard output with printf; everything else comes through here. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lw_log_level { LW_LOG_QUIET, LW_LOG_NORMAL, LW_LOG_VERBOSE };

/** Once, after MPI has started. `host` is copied. */
void lw_log_start(int rank, const char *host, enum lw_log_level level);

/** Say nothing but errors until it is called with `false`. */
void lw_log_hush(bool is_hushed);

void lw_log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));        /* rank 0, unless quiet */
void lw_log_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));      /* rank 0, if verbose */
void lw_log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));        /* any rank, named unless it is 0 */
void lw_log_error(const struct lw_error *err);      /* rank 0: "lapwing: message", with err's rank and host if not rank 0's */

/** An error that ends all ranks, said by the rank that met it. */
void lw_log_fatal(int rank, const char *host, const struct lw_error *err);

/** Text from outside for a terminal: control characters, and bytes that are no UTF-8, as \x1b and the like, but for those in
 * `keep`. All messages here pass through it; who prints names on standard output passes them through. Returns `out`. */
const char *lw_escape(const char *text, const char *keep, char *out, size_t size);

/* Progress of the run: one rewritten line on a terminal, otherwise a line at each tenth of the work, but at least 10 s
 * apart and at most 10 min; rank 0, unless quiet. */
struct lw_progress {
    int64_t total_samples, total_bytes;     /* of all ranks: output samples; bytes read and written */
    int64_t shown_samples;
    double started, shown;                  /* seconds of lw_now */
    int is_terminal;
};

void lw_progress_start(struct lw_progress *progress, int64_t total_samples, int64_t total_bytes);
void lw_progress_show(struct lw_progress *progress, int64_t done_samples);      /* not started: nothing */
void lw_progress_end(struct lw_progress *progress);

double lw_now(void);        /* seconds of a monotonic clock */
