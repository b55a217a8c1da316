/* jobfile.h - a job file: one [section] naming the job, and in it options as "name = value" lines (see lw_commands).
 *
 * Rank 0 reads it and the others get its bytes and the values of the variables that it names, so the file needs to be on one
 * node only and all ranks agree. */
#pragma once

#include "comm/comm.h"
#include "io/list.h"
#include "job/job.h"
#include "options/file.h"

/** Read the file. LW_EIO if it cannot be read, LW_ECONFIG if it is no text of at most 64 MiB. Collective.
 * Release with lw_jobfile_release, in any case. */
int lw_jobfile_read(struct lw_comm *comm, const char *path, struct lw_options_file *jobfile, struct lw_error *err);

/** The same of the job file that a result keeps of itself. LW_EDATA if it is none. Collective. */
int lw_jobfile_of_result(struct lw_comm *comm, const char *path, struct lw_options_file *jobfile, struct lw_error *err);

enum { LW_JOBFILE_ADDED = 80 };

/** What versions did that did not have --sign, --noise rms, --overlap or --isolated, as lines for the configuration of a result of
 * theirs, which does not say it. "" for others. @return  lines */
const char *lw_jobfile_added(const struct lw_listing_origin *origin, char lines[LW_JOBFILE_ADDED]);

void lw_jobfile_release(struct lw_options_file *jobfile);

/** The job that its section names. LW_ECONFIG, with file and line, if it is not a job file. Not collective. */
int lw_jobfile_job(const struct lw_options_file *jobfile, const struct lw_job_ops **out, struct lw_error *err);

/** Set its options. LW_ECONFIG, with file and line, for whatever is wrong with one of them. Not collective. */
int lw_jobfile_apply(const struct lw_options_file *jobfile, struct lw_options *options, struct lw_error *err);
