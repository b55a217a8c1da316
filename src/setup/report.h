/* report.h - what a run logs about itself: progress, the busy time of each stage, peak memory, and how long the start took. */
#pragma once

#include "base/log.h"
#include "comm/comm.h"

#define LW_REPORT_STAGES 5

struct lw_report {
    struct lw_comm *comm;                       /* borrowed */
    const char *const *stages;                  /* [LW_REPORT_STAGES] names, static storage; NULL ends the list */
    double seconds[LW_REPORT_STAGES];           /* busy time of each stage in this rank; the run adds to it */
    double *all_seconds;                        /* owned; on rank 0 `seconds` of all ranks, [ranks x LW_REPORT_STAGES] */
    double started;
    struct lw_progress progress;
};

/** Open a report. LW_ESYSTEM: no memory. `report` may be closed whatever the outcome.
 * @param stages  LW_REPORT_STAGES names, static storage; the last ones may be NULL */
int lw_report_open(struct lw_report *report, struct lw_comm *comm, const char *const stages[LW_REPORT_STAGES],
                   struct lw_error *err);
void lw_report_close(struct lw_report *report);

/** Log one warning for all ranks: the text of the lowest rank that has a warning, and how many ranks have one. Collective.
 * @param text  this rank's warning; "": none */
void lw_report_warning(struct lw_comm *comm, const char *text);

/** Log minimum, median and maximum over the ranks of each stage's busy time, and the stage that limits the run. Collective. */
void lw_report_stages(struct lw_report *report);

/** Return the name of the stage in which this rank was busy longest. */
const char *lw_report_longest(const struct lw_report *report);

#define LW_TRAFFIC_TEXT 200

/** Write in words what ranks send. @return  text */
const char *lw_traffic_text(const struct lw_traffic *traffic, char text[LW_TRAFFIC_TEXT]);

/** Log (--verbose) the largest peak memory of any rank, and what all ranks have sent until the first round and in the rounds.
 * Collective. */
void lw_report_use(const struct lw_report *report);

/** Return the seconds since the report was opened. */
double lw_report_elapsed(const struct lw_report *report);

/* Stages of the start, which ends when the first block (stream/stream.h) is submitted to the engine, in the order of the log line.
 * The process has one timeline; only the main thread calls the functions on it. */
enum lw_start_stage {
    LW_START_MPI,
    LW_START_OPENING,           /* opening of the input and of files that the job needs before: filters, a kernel */
    LW_START_ENGINE,            /* the part of the engine's start that the opening of files did not hide */
    LW_START_PLANNING,
    LW_START_RESULT,            /* creation of the result's file */
    LW_START_MEMORY,            /* creation of the operation and its slots */
    LW_START_READ,              /* reading of the first block with its halo */
    LW_START_STAGES
};

/** Begin the timeline; call first in main. Without this call, the timeline begins at the end of the first stage. */
void lw_timeline_begin(void);

/** End a stage, which began when the stage before ended. A stage may end several times; its times add up. */
void lw_timeline_end(enum lw_start_stage stage);

/** Log (--verbose) the time of the start and of its stages. Call when the first block has been submitted, or refused by the engine;
 * later calls do nothing. */
void lw_timeline_submitted(void);
