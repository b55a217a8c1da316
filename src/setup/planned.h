/* planned.h - the numbers of a plan: memory, bytes and time that a run will take. Also rows that every printed plan has. */
#pragma once

#include "setup/setup.h"

/* Numbers of a plan. Times are in seconds, and hold for rank 0. */
struct lw_planned {
    bool prints;                        /* set by the caller: true on rank 0 if the plan is also printed on standard output */
    const struct lw_machine *machine;   /* set by the caller: the machine to plan for; NULL: the ranks that are here */
    struct lw_reader **reader;          /* set by the caller: reader of several plans, opened by the first; NULL: of one */
    struct lw_run_model times;          /* modelled times of the run, `start` included */
    bool has_device;                    /* devices compute */
    bool is_sparse;                     /* the run is sparse: written_bytes is an upper bound, and `seconds` counts reading alone */
    int64_t host_bytes, device_bytes;   /* memory of each rank, in bytes */
    int64_t read_bytes, written_bytes;  /* bytes of all ranks; without the tables of streamed runs, whose lengths are unknown */
    double seconds;                     /* estimated time of the work that follows the start */
    double serial_seconds;              /* the same if reading, computing and writing did not overlap; 0: not known */
    double start_seconds;               /* measured time until the plan is made; with --measure, until the first round */
    double measured_seconds;            /* time of the work, scaled up from the part that --measure ran; 0: not measured */
};

/* Assumed seconds until the launcher has started all ranks. */
#define LW_PLAN_START_SECONDS 1.0

/** Return the seconds in which the launcher starts all ranks of a plan, and these their devices. */
double lw_planned_start(const struct lw_setup *setup);

/** Take the modelled times of a plan, and add the start of its ranks and devices. */
void lw_planned_take(struct lw_planned *planned, const struct lw_setup *setup, struct lw_run_model times);

/* Print rows of a plan, on rank 0: a name and a text; a name, bytes and a note; bytes of a rank and their limit; input, job, engine
 * and algorithm.
 * @param width  values in one sample of the input: 1, or the pixels of an image's row */
void lw_plan_row(const char *name, const char *text);
void lw_plan_bytes_row(const char *name, int64_t bytes, const char *note);
void lw_plan_total_row(const char *name, int64_t bytes, int64_t limit, const char *source);
void lw_plan_base_row(const struct lw_setup *setup, const char *until);
void lw_plan_print_input(const struct lw_setup *setup, int64_t width);

/** Return the time limit to request from Slurm for a run of `seconds`: twice the seconds plus two minutes, in minutes. Print it. */
int64_t lw_plan_minutes(double seconds);
void lw_plan_print_slurm(double seconds);

/** Refuse what needs more than the limits: LW_ECONFIG, with the remedies. @param host, device  bytes of a rank, with the base */
int lw_plan_refuse(const struct lw_limits *limits, const char *who, int64_t host, int64_t device, const char *remedy,
                   struct lw_error *err);
