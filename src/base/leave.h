/* leave.h - a request that this process interrupts its run. Long work checks about every second, and ends unfinished. */
#pragma once

#include "base/error.h"

LW_C_BEGIN

/** Request an interruption. Legal in a signal handler and on any thread.
 * @param why  the reason, such as "SIGTERM has come"; static storage; NULL: withdraw the request */
void lw_leave_ask(const char *why);

bool lw_leave_is_asked(void);
const char *lw_leave_reason(void);      /* NULL: no request */

/** Return LW_ESTOPPED, with the reason, if an interruption is requested. */
int lw_leave_check(struct lw_error *err);

LW_C_END
