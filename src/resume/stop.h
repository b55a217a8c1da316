/* stop.h - why a run is to end before its work is done: a signal, or the end of its time.
 *
 * Ranks agree on it at the end of a round. A rank whose round goes on for LW_STOP_ROUND_S more is told to leave it (base/leave.h);
 * one that does not come out of that for LW_STOP_LEAVE_S, as in a library's long call, ends at once: the journal is whole at any
 * moment. */
#pragma once

#include "base/error.h"

enum { LW_STOP_ROUND_S = 4, LW_STOP_LEAVE_S = 5 };

/** Hold the signals that lw_stop_listen notes, as the first thing of the program: those that come from here on count from
 * lw_stop_release on. They stay held in a program that this one becomes. */
void lw_stop_hold(void);
void lw_stop_release(void);

/** From now on SIGTERM, SIGINT and SIGUSR1 are noted; the second one ends the process at once, with the exit code LW_ESTOPPED. Time
 * counts from here. Before MPI starts. */
void lw_stop_listen(void);

/** The work of a run begins. @param limit_s  so many seconds after lw_stop_listen a round that is under way is left; 0: never */
void lw_stop_begin(double limit_s);

/** The work has ended: keeping it, or what there is of it, is not left. */
void lw_stop_end(void);

/** The signal that has come; 0: none. */
int lw_stop_signal(void);

/** LW_ESTOPPED where one has come, before anything is done that could be kept. */
int lw_stop_check(struct lw_error *err);

/** "SIGTERM". Static storage. */
const char *lw_stop_signal_text(int signal);

/** Seconds since lw_stop_listen. */
double lw_stop_elapsed(void);
