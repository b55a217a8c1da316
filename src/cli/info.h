/* info.h - what `lapwing info` prints: this build and this machine, or the contents of a file. */
#pragma once

#include "comm/comm.h"
#include "io/dataset.h"

struct lw_notes;

/** Print versions, libraries, engines, cores and memory on standard output. Called on rank 0 alone. */
void lw_info_build(const struct lw_comm *comm);

/** Print what `name` is: of a dataset FILE:/path the facts, or the strongest rows of a table; of a file its data and all its
 * datasets; of a folder the unfinished results. Errors are those of lw_list_file and lw_examine_dataset. Called on rank 0 alone.
 * @param hints  if any are set, only the facts of the dataset that they describe are printed */
int lw_info_file(const char *name, const struct lw_hints *hints, struct lw_error *err);

/** Print the job file that makes a result again, and nothing else. LW_EDATA: the file is no result of a job, or its configuration
 * cannot be printed as text. Other errors as of lw_info_file. Called on rank 0 alone. */
int lw_info_job(const char *file, struct lw_error *err);

/* ---- one dataset: facts.c, table.c; candidates.c: a table of candidates, as PRESTO lists them ---- */

/** Print the facts of a dataset on standard output, one a line. If `name` is a file without a path, its format or convention must
 * tell which dataset has the data. Not collective. Errors are those of lw_examine_dataset; then nothing is printed.
 * @param hints  may be NULL */
int lw_facts_print(const char *name, const struct lw_hints *hints, struct lw_error *err);

/** Print rows of the table "FILE:/path" on standard output: the rows with the largest `snr` or `magnitude`, the strongest first;
 * without such a column, the first rows. Columns that are not numbers are left out. Not collective. LW_EIO, LW_EDATA, LW_ESYSTEM.
 * @param is_table  set. If false, nothing is printed and LW_OK returned, even if the dataset cannot be read */
int lw_table_print(const char *name, bool *is_table, struct lw_error *err);

/** Return whether a table is one of candidates of lapwing accel. Print its strongest rows, with numbers from 1 on. */
bool lw_candidates_are(const struct lw_notes *notes);
int lw_candidates_print(const char *name, const struct lw_notes *notes, struct lw_error *err);

/** Write the candidates of each channel to a file that PRESTO reads, PREFIX_DM12.30_ACCEL_200. A channel whose dispersion measure
 * is not known is written as DM0.00, with its number if there are several. Not collective. LW_EUSAGE: the result has no spectra;
 * LW_EIO: a file exists already, or cannot be written; LW_EDATA, LW_ESYSTEM. */
int lw_candidates_write(const char *name, const char *prefix, struct lw_error *err);
