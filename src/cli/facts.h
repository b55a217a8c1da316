/* facts.h - what `lapwing info` says of one dataset: facts.c format, shape, type, sampling, coordinates, unit, storage; table.c the
 * rows of a table. */
#pragma once

#include "base/error.h"
#include "io/dataset.h"

#include <stdbool.h>

/** One fact a line, on standard output, of the dataset FILE:/path, or of the one that the file's format or convention calls the
 * data. By one process. Errors as lw_examine_dataset; then nothing is printed. @param hints  NULL: none */
int lw_facts_print(const char *name, const struct lw_hints *hints, struct lw_error *err);

/** Print the rows of the table "FILE:/path" that stand out most by their `snr` or `magnitude`, the strongest first, or the first
 * ones of a table without such a column, on standard output. Columns that are no numbers are left out. By one process. LW_EIO,
 * LW_EDATA, LW_ESYSTEM.
 * @param is_table  whether it is one; else nothing is printed, and LW_OK is returned whatever is wrong with it */
int lw_table_print(const char *name, bool *is_table, struct lw_error *err);
