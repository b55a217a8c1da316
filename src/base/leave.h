/* leave.h - whether this process is to leave what it is doing: work that takes long looks here every second or so, and what it
 * has done of its block does not count. */
#pragma once

#include "base/error.h"
#include "base/linkage.h"

LW_C_BEGIN

/** Ask for it. Legal in a signal handler and on any thread. @param why  "SIGTERM has come"; static storage; NULL: no longer */
void lw_leave_ask(const char *why);

bool lw_leave_is_asked(void);
const char *lw_leave_reason(void);      /* NULL: it is not asked for */

/** LW_ESTOPPED where it is asked for. */
int lw_leave_check(struct lw_error *err);

LW_C_END
