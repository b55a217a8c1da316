/* stop.h - interruption of a run before its work is done: by a signal, or by the end of its time.
 *
 * Ranks agree on an interruption at the end of a round. If a rank's round goes on for LW_STOP_ROUND_S more, the rank is asked to
 * leave it (base/leave.h). If the rank has not left after another LW_STOP_LEAVE_S, as in a library's long call, its process ends at
 * once: the journal on disk is complete at any moment. */
#pragma once

#include "base/error.h"

enum { LW_STOP_ROUND_S = 4, LW_STOP_LEAVE_S = 5 };

/** lw_stop_hold blocks the signals that lw_stop_listen handles; call it first in the program. lw_stop_release unblocks them and
 * delivers those that have come meanwhile. A program started by exec inherits the block. */
void lw_stop_hold(void);
void lw_stop_release(void);

/** Handle SIGTERM, SIGINT and SIGUSR1 from now on: the first one is noted, the second ends the process with exit code LW_ESTOPPED.
 * Starts the clock of lw_stop_elapsed. Call before MPI starts. */
void lw_stop_listen(void);

/** Begin the work of a run. @param limit_s  seconds since lw_stop_listen at which a round under way is asked to leave; 0: never */
void lw_stop_begin(double limit_s);

/** End the work. From here on nothing interrupts the saving of its results. */
void lw_stop_end(void);

/** Return the signal that has come; 0: none. */
int lw_stop_signal(void);

/** Return LW_ESTOPPED if a signal has come. To be used before there is any work to save. */
int lw_stop_check(struct lw_error *err);

/** Return a signal's name, "SIGTERM". Static storage. */
const char *lw_stop_signal_text(int signal);

/** Return the seconds since lw_stop_listen. */
double lw_stop_elapsed(void);
