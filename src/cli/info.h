/* info.h - what `lapwing info` prints: this build and this machine, or what a file holds. */
#pragma once

#include "comm/comm.h"
#include "io/dataset.h"

/** Versions, libraries, engines, cores and memory, on standard output. By rank 0 alone. */
void lw_info_build(const struct lw_comm *comm);

/** What a dataset is, named as FILE:/path, the strongest rows of a table, or the data of a file and all of its datasets, on
 * standard output of rank 0. Errors as lw_list_file and lw_examine_dataset, on every rank. Collective.
 * @param hints  where there are any, one dataset as they say that it is, and nothing else */
int lw_info_file(struct lw_comm *comm, const char *name, const struct lw_hints *hints, struct lw_error *err);

/** The job file that makes a result again, and nothing else, on standard output of rank 0. LW_EDATA: the file is no result of a
 * job, or what it says of it cannot be a job file. Else as lw_info_file. Collective. */
int lw_info_job(struct lw_comm *comm, const char *file, struct lw_error *err);
