/* grant.h - how long a run may last, where Slurm says so: by SLURM_JOB_END_TIME, else by the command squeue, for whose answer
 * nobody waits. By one process. */
#pragma once

/** Ask. Outside of a Slurm job, nothing is done. */
void lw_grant_ask(void);

/** The end of the job, in seconds of lw_now; 0: nobody says, or not yet. */
double lw_grant_end(void);

/** Forget the question, if it has not been answered. */
void lw_grant_end_asking(void);

/** Seconds that squeue's time left stands for: "1-02:03:04", "3:04", "59"; 0: none, such as "UNLIMITED". */
double lw_grant_parse(const char *text);
