/* planned.h - what a plan tells of a run, in numbers and, on standard output, in words: rows that plans of all kinds of runs share.
 * By rank 0. */
#pragma once

#include "setup/setup.h"

/* What a plan says of a run, in numbers: of seconds, those of rank 0 count. */
struct lw_planned {
    bool prints;                        /* given, by rank 0: the plan is printed on standard output, too */
    bool is_sparse;                     /* written_bytes are the most there can be, and seconds are those of reading alone */
    int64_t host_bytes, device_bytes;   /* on each rank */
    int64_t read_bytes, written_bytes;  /* by all ranks; tables of streamed runs, of which nobody knows the length, not counted */
    double seconds;                     /* after the start, as estimated */
    double serial_seconds;              /* likewise, were nothing done at the same time; 0: not known */
    double start_seconds;               /* that it took to get here; with --measure, until the first round */
    double measured_seconds;            /* with --measure: after the start; else 0 */
};

/* Until all ranks have started: assumed. */
#define LW_PLAN_START_SECONDS 1.0

/* What plans of any run consist of: a name and a text; a name, a number of bytes and what follows it; what is to be computed.
 * @param width  values that one sample of the input holds */
void lw_plan_row(const char *name, const char *text);
void lw_plan_bytes_row(const char *name, int64_t bytes, const char *note);
void lw_plan_print_input(const struct lw_setup *setup, int64_t width);

/** What to ask Slurm for, with a margin, for a run that may take so long. */
void lw_plan_print_slurm(double seconds);
