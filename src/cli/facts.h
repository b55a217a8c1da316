/* facts.h - what `lapwing info` prints about one dataset. facts.c: format, shape, type, sampling, coordinates, unit, storage;
 * table.c: rows of a table. */
#pragma once

#include "io/dataset.h"

/** Print the facts of a dataset on standard output, one a line. If `name` is a file without a path, its format or convention must
 * tell which dataset has the data. Not collective. Errors are those of lw_examine_dataset; then nothing is printed.
 * @param hints  may be NULL */
int lw_facts_print(const char *name, const struct lw_hints *hints, struct lw_error *err);

/** Print rows of the table "FILE:/path" on standard output: the rows with the largest `snr` or `magnitude`, the strongest first;
 * without such a column, the first rows. Columns that are not numbers are left out. Not collective. LW_EIO, LW_EDATA, LW_ESYSTEM.
 * @param is_table  set. If false, nothing is printed and LW_OK returned, even if the dataset cannot be read */
int lw_table_print(const char *name, bool *is_table, struct lw_error *err);
