/* planned.h - the numbers of a plan, and the rows that plans of all kinds of runs print on standard output. Rank 0 only. */
#pragma once

#include "setup/setup.h"

/* Numbers of a plan; seconds are those of rank 0. */
struct lw_planned {
    bool prints;                        /* set by the caller on rank 0: print the plan on standard output, too */
    bool is_sparse;                     /* written_bytes is an upper bound, and seconds are for reading alone */
    int64_t host_bytes, device_bytes;   /* memory of each rank */
    int64_t read_bytes, written_bytes;  /* all ranks together; tables of streamed runs, whose length is not known, are left out */
    double seconds;                     /* estimated time after the start */
    double serial_seconds;              /* the same if nothing overlapped; 0: not known */
    double start_seconds;               /* time until the plan was made; with --measure, until the first round */
    double measured_seconds;            /* measured time after the start, with --measure; else 0 */
};

/* Assumed time until all ranks have started. */
#define LW_PLAN_START_SECONDS 1.0

/* Print rows that all plans have: a name and a text; a name, bytes and a note behind them; input, job and engine.
 * @param width  values in one sample of the input */
void lw_plan_row(const char *name, const char *text);
void lw_plan_bytes_row(const char *name, int64_t bytes, const char *note);
void lw_plan_print_input(const struct lw_setup *setup, int64_t width);

/** Print the time limit to request from Slurm for a run of `seconds`: twice as long, plus two minutes. */
void lw_plan_print_slurm(double seconds);
