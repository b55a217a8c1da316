/* log.h - messages on standard error while the program works. Rank 0 prints all; other ranks print only
 * warnings and fatal errors, which name the rank. Output that a user asked for (plan, info, help) goes to standard output with
 * printf; all other text goes through this file. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum lw_log_level { LW_LOG_QUIET, LW_LOG_NORMAL, LW_LOG_VERBOSE };

/** Set the number and host of this rank, and how much is logged. Call once, after MPI has started. `host` is copied. */
void lw_log_start(int rank, const char *host, enum lw_log_level level);

/** Suppress all messages except errors, until called with `false`. */
void lw_log_hush(bool is_hushed);

void lw_log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));        /* rank 0, unless quiet */
void lw_log_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));      /* rank 0, if verbose */
void lw_log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));        /* any rank; rank and host are named
                                                                                         * unless the rank is 0 */
void lw_log_error(const struct lw_error *err);      /* rank 0: "lapwing: message"; rank and host of `err` are added if another
                                                     * rank failed */

/** Print an error that ends all ranks, on the rank where it happened. */
void lw_log_fatal(int rank, const char *host, const struct lw_error *err);

/** Make text safe for a terminal: control characters and bytes that are not UTF-8 become \x1b and the like, except characters in
 * `keep`. All messages above are escaped; code that prints names on standard output calls this. Return `out`, cut to `size`. */
const char *lw_escape(const char *text, const char *keep, char *out, size_t size);

/* Progress of the run, on rank 0 unless quiet. A terminal shows one line that is rewritten. Otherwise a line appears at each
 * tenth of the work, at least 10 s apart; after 10 min without a line, one appears anyway. */
struct lw_progress {
    int64_t total_samples, total_bytes;     /* totals of all ranks: output samples; bytes read and written */
    int64_t shown_samples;                  /* output samples that were done at the last line */
    double started, shown;                  /* times of the start and of the last line, by lw_now, s */
    int is_terminal;
};

void lw_progress_start(struct lw_progress *progress, int64_t total_samples, int64_t total_bytes);
void lw_progress_show(struct lw_progress *progress, int64_t done_samples);      /* does nothing before lw_progress_start */
void lw_progress_end(struct lw_progress *progress);

double lw_now(void);        /* time of a monotonic clock, s */
