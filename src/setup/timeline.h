/* timeline.h - where the time from the program's start to its first submitted block goes. One for the process, on its main
 * thread, as the log is. */
#pragma once

/* What the main thread does on the way, in the order in which the log tells it. */
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
