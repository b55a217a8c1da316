/* stop.h - interruption of a run before its work is done: a signal, or the end of its time.
 *
 * Ranks agree on an interruption at the end of a round. A rank whose round goes on for LW_STOP_ROUND_S more is asked to leave it
 * (base/leave.h). If the rank has not left after another LW_STOP_LEAVE_S, as in a library's long call, its process ends at once:
 * the journal is whole at any moment. */
#pragma once

#include "base/error.h"

enum { LW_STOP_ROUND_S = 4, LW_STOP_LEAVE_S = 5 };

/** Block the signals that lw_stop_listen handles; call it first of all in the program. Signals that come meanwhile are delivered by
 * lw_stop_release. They stay blocked in a program that this one turns into (exec). */
void lw_stop_hold(void);
void lw_stop_release(void);

/** Handle SIGTERM, SIGINT and SIGUSR1 from now on: the first one is noted, the second ends the process with exit code LW_ESTOPPED.
 * Starts the clock of lw_stop_elapsed. Call before MPI starts. */
void lw_stop_listen(void);

/** Begin the work of a run. @param limit_s  time after lw_stop_listen at which a round under way is left; 0: never */
void lw_stop_begin(double limit_s);

/** End the work. Saving its results, which follows, is not cut short. */
void lw_stop_end(void);

/** Return the signal that has come; 0: none. */
int lw_stop_signal(void);

/** Return LW_ESTOPPED if a signal has come. For the time before there is any work to save. */
int lw_stop_check(struct lw_error *err);

/** Return a signal's name, "SIGTERM". Static storage. */
const char *lw_stop_signal_text(int signal);

/** Return the seconds since lw_stop_listen. */
double lw_stop_elapsed(void);
