/* table.h - rows of a table, such as /peaks, for `lapwing info FILE:/table`. */
#pragma once

#include "base/error.h"

#include <stdbool.h>

/** Print the rows of the table "FILE:/path" that stand out most by their `snr` or `magnitude`, the strongest first, or the first
 * ones of a table without such a column, on standard output. Columns that are no numbers are left out. By one process. LW_EIO,
 * LW_EDATA, LW_ESYSTEM.
 * @param is_table  whether it is one; else nothing is printed, and LW_OK is returned whatever is wrong with it */
int lw_table_print(const char *name, bool *is_table, struct lw_error *err);
