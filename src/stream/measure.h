/* measure.h - how long a run will take, from trying it: its first rounds, as they will be run, into a file beside the output that
 * is deleted again. */
#pragma once

#include "setup/report.h"
#include "setup/setup.h"
#include "stream/plan.h"

/* About so long, unless the whole run is shorter. */
#define LW_MEASURE_SECONDS 4.0

struct lw_measure {
    double seconds;             /* predicted: of the whole run, from its start to its end */
    double start_seconds;       /* of these: before the first round */
    double rounds_seconds;      /* all rounds */
    double disk_seconds;        /* until the result is on the disk, after the last round */
    int64_t n_rounds;           /* that were tried */
};

/** Errors are those of the run, but that no final name is given. Collective.
 * @param report  open; its stages are counted for what was tried */
int lw_measure(struct lw_setup *setup, const struct lw_plan *plan, struct lw_report *report, struct lw_measure *measure,
               struct lw_error *err);

/** Print that, on standard output; by rank 0. */
void lw_measure_print(const struct lw_measure *measure, const struct lw_plan *plan, const struct lw_report *report);
