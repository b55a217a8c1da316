/* plan_text.h - a plan in words, on standard output: what `lapwing plan JOB` prints, by rank 0. */
#ifndef LW_STREAM_PLAN_TEXT_H
#define LW_STREAM_PLAN_TEXT_H

#include "stream/measure.h"
#include "stream/plan.h"
#include "setup/setup.h"

/** Print the plan of a job with one result. Collective. */
int lw_plan_one(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options, struct lw_error *err);

/** What to ask Slurm for, with a margin, for a run that may take so long. */
void lw_plan_print_slurm(double seconds);

/** The plan of a streamed run. */
void lw_plan_print(const struct lw_setup *setup, const struct lw_plan *plan);

/** What was measured of it. @param longest  the stage that was busy longest */
void lw_plan_print_measured(const struct lw_plan *plan, const struct lw_measure *measure, const char *longest);

/* What plans of any run consist of: a name and a text; a name, a number of bytes and what follows it; what is to be computed.
 * @param width  values that one sample of the input holds */
void lw_plan_row(const char *name, const char *text);
void lw_plan_bytes_row(const char *name, int64_t bytes, const char *note);
void lw_plan_print_input(const struct lw_setup *setup, int64_t width);

#endif
