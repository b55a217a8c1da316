/* report.h - what a run logs about itself: progress, the busy time of each stage over all ranks, memory, the time of its start. */
#pragma once

#include "base/log.h"
#include "comm/comm.h"

#define LW_REPORT_STAGES 4

struct lw_report {
    struct lw_comm *comm;                       /* borrowed */
    const char *stages[LW_REPORT_STAGES];       /* names, static storage; NULL ends the list */
    double seconds[LW_REPORT_STAGES];           /* busy time of each stage in this rank; the run adds to it */
    double *all_seconds;                        /* owned, on rank 0: `seconds` of all ranks */
    double started;
    struct lw_progress progress;
};

/** Open a report. LW_ESYSTEM. `report` may be closed whatever the outcome.
 * @param stages  LW_REPORT_STAGES names; the last ones may be NULL */
int lw_report_open(struct lw_report *report, struct lw_comm *comm, const char *const stages[LW_REPORT_STAGES],
                   struct lw_error *err);
void lw_report_close(struct lw_report *report);

/** Log one warning for all ranks: the text of the first rank that has one, and how many ranks have one. Collective.
 * @param text  this rank's warning; "": none */
void lw_report_warning(struct lw_comm *comm, const char *text);

/** Log minimum, median and maximum over the ranks of each stage's busy time, and the stage that limits the run. Collective. */
void lw_report_stages(struct lw_report *report);

/** Return the name of the stage in which this rank was busy longest. */
const char *lw_report_longest(const struct lw_report *report);

/** Log the largest peak memory of any rank. Collective. */
void lw_report_memory(const struct lw_report *report);

/** Seconds since the report was opened. */
double lw_report_elapsed(const struct lw_report *report);

/* Stages of the start, from the program's beginning to its first submitted block, in the order of the log. There is one timeline
 * for the process, kept by its main thread. */
enum lw_start_stage {
    LW_START_MPI,
    LW_START_OPENING,           /* input, and files that the job reads before: filters, a kernel */
    LW_START_ENGINE,            /* rest of the engine's start once everything else is open */
    LW_START_PLANNING,
    LW_START_RESULT,            /* creation of the result's file */
    LW_START_MEMORY,            /* operation and slots */
    LW_START_READ,              /* first block, its halo included */
    LW_START_STAGES
};

/** Begin the timeline, first thing in main. Without this call, time counts from the end of the first stage. */
void lw_timeline_begin(void);

/** End a stage, whose time runs from the end of the stage before. A stage may end several times; its times add up. */
void lw_timeline_end(enum lw_start_stage stage);

/** Log (--verbose) the time of the start and of its stages. Call once the first block is submitted, or the engine has refused it;
 * later calls do nothing. */
void lw_timeline_submitted(void);
