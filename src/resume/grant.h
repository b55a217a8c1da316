/* grant.h - the end of a Slurm job, from SLURM_JOB_END_TIME or else from the command squeue; nobody waits for squeue's answer.
 * For one process only. */
#pragma once

/** Ask for the end of the job. Does nothing outside a Slurm job. */
void lw_grant_ask(void);

/** Return the end of the job, in seconds of lw_now; 0: not known, or not yet. */
double lw_grant_end(void);

/** Stop asking, if there is no answer yet. */
void lw_grant_end_asking(void);

/** Convert squeue's time left to seconds: "1-02:03:04", "3:04", "59"; 0 for any other text, such as "UNLIMITED". */
double lw_grant_parse(const char *text);
