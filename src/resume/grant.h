/* grant.h - the end of a Slurm job, by SLURM_JOB_END_TIME, else by the command squeue; nobody waits for squeue's answer.
 * Only one process of a run asks. */
#pragma once

/** Find the end of the job, or start squeue to ask for it. Does nothing outside a Slurm job. */
void lw_grant_ask(void);

/** Return the end of the job as a time of lw_now; 0: unknown, or squeue has not answered yet. */
double lw_grant_end(void);

/** End squeue if it has not answered yet. */
void lw_grant_end_asking(void);

/** Convert squeue's time left, "1-02:03:04", "3:04" or "59", to seconds; 0 for any other text, such as "UNLIMITED". */
double lw_grant_parse(const char *text);
