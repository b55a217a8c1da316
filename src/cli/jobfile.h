/* jobfile.h - job files: one [section] named after the job, with its options as "name = value" lines (see `run` in lw_commands).
 *
 * Rank 0 reads the file and sends its bytes to all ranks, with the values of the environment variables that it names. So only one
 * node needs the file, and all ranks agree. */
#pragma once

#include "io/list.h"
#include "job/job.h"
#include "options/file.h"

/** Read a job file. LW_EIO: it cannot be read; LW_ECONFIG: it is no text, or longer than 64 MiB. Collective. Release with
 * lw_jobfile_release in any case.
 * @param is_result  the file is a result, which contains the job file; LW_EDATA: it contains none */
int lw_jobfile_read(struct lw_comm *comm, const char *path, bool is_result, struct lw_options_file *jobfile, struct lw_error *err);

enum { LW_JOBFILE_ADDED = 80 };

/** Complete the configuration of a result of an earlier version, which lacked --sign, --noise rms, --overlap or --isolated: write
 * lines that set these options to what that version did. @return  `lines`; "": nothing is missing */
const char *lw_jobfile_added(const struct lw_listing_origin *origin, char lines[LW_JOBFILE_ADDED]);

void lw_jobfile_release(struct lw_options_file *jobfile);

/** Find the job that the section names. LW_ECONFIG, with file and line: this is no job file. Not collective. */
int lw_jobfile_job(const struct lw_options_file *jobfile, const struct lw_job_ops **out, struct lw_error *err);

/** Set the options of a job file. LW_ECONFIG, with file and line: one of them is wrong. Not collective. */
int lw_jobfile_apply(const struct lw_options_file *jobfile, struct lw_options *options, struct lw_error *err);
