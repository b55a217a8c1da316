/* columns.h - the columns of a result's tables once more, each as a dataset of its own: /peaks_columns/index beside column index of
 * the compound table /peaks, for readers that know no compounds.
 *
 *     create   groups and datasets, each with room for its column and with the table's dimension scale
 *     write    from the rows, which are there
 *
 * By one process, when everything else is in the file. */
#pragma once

#include "io/write/result_file.h"

#include <hdf5.h>

enum { LW_COLUMNS_TABLES = 8, LW_COLUMNS_MOST = 16 };

/* A table of the root group: a compound of more columns than a complex number has parts, 8 bytes each. */
struct lw_column_table {
    char name[64];
    int64_t n_rows;
    int n_columns;
    int64_t at[LW_COLUMNS_MOST];        /* where each column lies in the file */
};

struct lw_columns {
    struct lw_column_table tables[LW_COLUMNS_TABLES];
    int n_tables;
};

/** LW_EIO. */
int lw_columns_create(hid_t file, struct lw_columns *columns, struct lw_error *err);

/** LW_EIO, LW_ESYSTEM. */
int lw_columns_write(hid_t file, const struct lw_result_file *result, const struct lw_columns *columns, struct lw_error *err);
