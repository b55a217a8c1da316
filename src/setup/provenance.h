/* provenance.h - where a result comes from: the attributes of its root group. */
#pragma once

#include "setup/setup.h"

#define LW_PROVENANCE_ATTRIBUTES 48

struct lw_provenance {
    struct lw_attribute attributes[LW_PROVENANCE_ATTRIBUTES];
    int n_attributes;
    char *texts;                /* owned: storage of the attributes' texts */
    char *configuration;        /* owned: the resolved options as a job file */
};

/** Collect program, command, configuration, inputs, libraries, ranks, engine, Slurm ids and the time. end_time, runs and
 * samples_not_finite are placeholders for lw_provenance_end. `provenance` may be released whatever the outcome. */
int lw_provenance_collect(const struct lw_setup *setup, const char *command_line, struct lw_provenance *provenance,
                          struct lw_error *err);
void lw_provenance_release(struct lw_provenance *provenance);

#define LW_PROVENANCE_END 4

/** The attributes that are known at the end, for lw_writer_finish. @param n_runs  that have worked at the result
 * @param written  lw_writer_way  @param time  storage for the end time */
void lw_provenance_end(int64_t samples_not_finite, int64_t n_runs, const char *written, char time[32],
                       struct lw_attribute attributes[LW_PROVENANCE_END]);
