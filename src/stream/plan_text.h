/* plan_text.h - the plan of a streamed run in words, on standard output, by rank 0. */
#pragma once

#include "setup/planned.h"
#include "stream/measure.h"
#include "stream/plan.h"

void lw_plan_print(const struct lw_setup *setup, const struct lw_plan *plan);

/** What was measured of it. @param longest  the stage that was busy longest */
void lw_plan_print_measured(const struct lw_plan *plan, const struct lw_measure *measure, const char *longest);
