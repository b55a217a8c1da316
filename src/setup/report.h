/* report.h - what a run says of itself while it goes on and when it is done: progress, the time of each stage on all ranks,
 * memory. */
#pragma once

#include "base/log.h"
#include "comm/comm.h"

#define LW_REPORT_STAGES 4

struct lw_report {
    struct lw_comm *comm;                       /* borrowed */
    const char *stages[LW_REPORT_STAGES];       /* names; static storage; NULL: no more */
    double seconds[LW_REPORT_STAGES];           /* that each was busy in this rank; the run adds to them. Stages overlap */
    double *all_seconds;                        /* owned: those of all ranks, on rank 0 */
    double started;
    struct lw_progress progress;
};

/** @param stages  LW_REPORT_STAGES names, the last ones may be NULL. LW_ESYSTEM. `report` may be closed whatever the outcome. */
int lw_report_open(struct lw_report *report, struct lw_comm *comm, const char *const stages[LW_REPORT_STAGES],
                   struct lw_error *err);
void lw_report_close(struct lw_report *report);

/** Warn once of what ranks have to say, "" for nothing: the first one's text, and how many others there are. Collective. */
void lw_report_warning(struct lw_comm *comm, const char *text);

/** Log minimum, median and maximum over the ranks of the time that each stage was busy, and which of them the run waited for.
 * Collective. */
void lw_report_stages(struct lw_report *report);

/** The stage that was busy longest in this rank. */
const char *lw_report_longest(const struct lw_report *report);

/** Log the largest memory that any rank had. Collective. */
void lw_report_memory(const struct lw_report *report);

/** Seconds since the report was opened. */
double lw_report_elapsed(const struct lw_report *report);

/* Where the time from the program's start to its first submitted block goes. One for the process, on its main thread, as the log
 * is: what the main thread does on the way, in the order in which the log tells it. */
enum lw_start_stage {
    LW_START_MPI,
    LW_START_OPENING,           /* the input, and what the job reads before: filters, a kernel */
    LW_START_ENGINE,            /* what is left of its start when everything else has been opened */
    LW_START_PLANNING,
    LW_START_RESULT,            /* the file for the result */
    LW_START_MEMORY,            /* the operation and the slots */
    LW_START_READ,              /* the first block, its halo included */
    LW_START_STAGES
};

/** As main begins. Without it, time counts from the first stage's end. */
void lw_timeline_begin(void);

/** A stage ends here: what has passed since the one before ended is its own. A stage may come several times. */
void lw_timeline_end(enum lw_start_stage stage);

/** The first block has been submitted, or the engine refused it: log (--verbose) how long that took, and what. Only the first
 * call counts. */
void lw_timeline_submitted(void);
