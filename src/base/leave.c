#include "base/leave.h"

#include <stdatomic.h>
#include <stddef.h>

static const char *_Atomic reason;      /* lock-free on all supported platforms, so that a signal handler may write it */

void lw_leave_ask(const char *why) { atomic_store(&reason, why); }

bool lw_leave_is_asked(void) { return atomic_load_explicit(&reason, memory_order_relaxed) != NULL; }

const char *lw_leave_reason(void) { return atomic_load(&reason); }

int lw_leave_check(struct lw_error *err)
{
    const char *const why = lw_leave_reason();
    return why ? lw_fail(err, LW_ESTOPPED, "interrupted within a round: %s", why) : LW_OK;
}
