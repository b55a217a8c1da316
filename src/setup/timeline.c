#include "setup/timeline.h"

#include "base/log.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static struct {
    double begun, last;
    double seconds[LW_START_STAGES];
    bool is_told;
} state;

void lw_timeline_begin(void)
{
    state.begun = state.last = lw_now();
}

void lw_timeline_end(enum lw_start_stage stage)
{
    const double now = lw_now();
    if (state.begun == 0)
        state.begun = state.last = now;
    state.seconds[stage] += now - state.last;
    state.last = now;
}

void lw_timeline_submitted(void)
{
    static const char *const names[LW_START_STAGES] = {
        [LW_START_MPI] = "MPI", [LW_START_OPENING] = "opening", [LW_START_ENGINE] = "engine", [LW_START_PLANNING] = "planning",
        [LW_START_RESULT] = "result", [LW_START_MEMORY] = "memory", [LW_START_READ] = "first read",
    };
    char text[256] = "";
    if (state.is_told)
        return;
    state.is_told = true;
    const double now = lw_now();
    for (int stage = 0; stage < LW_START_STAGES; stage++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s %.3f, ", names[stage], state.seconds[stage]);
    lw_log_detail("first block submitted after %.3f s: %ssubmitting %.3f", now - state.begun, text, now - state.last);
}
