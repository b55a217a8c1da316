/* info.h - what `lapwing info` prints: this build and this machine, or the contents of a file. */
#pragma once

#include "comm/comm.h"
#include "io/dataset.h"

/** Print versions, libraries, engines, cores and memory on standard output. Rank 0 only. */
void lw_info_build(const struct lw_comm *comm);

/** Print on rank 0, as `name` is one or the other: the facts of a dataset FILE:/path; the strongest rows of a table; the data and
 * all datasets of a file; the unfinished results in a folder. Errors as lw_list_file and lw_examine_dataset, on every rank.
 * Collective.
 * @param hints  if any are set, only the facts of the dataset that they describe are printed */
int lw_info_file(struct lw_comm *comm, const char *name, const struct lw_hints *hints, struct lw_error *err);

/** Print on rank 0 the job file that makes a result again, and nothing else. LW_EDATA: the file is no result of a job, or its
 * configuration cannot be a job file. Other errors as lw_info_file. Collective. */
int lw_info_job(struct lw_comm *comm, const char *file, struct lw_error *err);
