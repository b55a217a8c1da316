/* facts.h - what `lapwing info` prints about one dataset. facts.c: format, shape, type, sampling, coordinates, unit, storage;
 * table.c: rows of a table. */
#pragma once

#include "base/error.h"
#include "io/dataset.h"

#include <stdbool.h>

/** Print the facts of a dataset on standard output, one a line. `name` is FILE:/path, or a file whose format or convention has one
 * dataset with the data. Not collective. Errors as lw_examine_dataset; then nothing is printed.
 * @param hints  NULL: none */
int lw_facts_print(const char *name, const struct lw_hints *hints, struct lw_error *err);

/** Print rows of the table "FILE:/path" on standard output: those with the largest `snr` or `magnitude`, the strongest first;
 * without such a column, the first rows. Columns that are not numbers are left out. Not collective. LW_EIO, LW_EDATA, LW_ESYSTEM.
 * @param is_table  set: whether it is a table. If not, nothing is printed, and LW_OK returned whatever is wrong with the dataset */
int lw_table_print(const char *name, bool *is_table, struct lw_error *err);
