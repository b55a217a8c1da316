#include "io/hdf5/result/parts.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/bytes/transfer.h"
#include "io/codecs/hash.h"
#include "io/hdf5/attribute.h"
#include "io/hdf5/library.h"

#include <hdf5_hl.h>
#include <inttypes.h>
#include <stdio.h>

enum { BLOCK_ROWS = 1 << 13 };

/* ---- which tables ---------------------------------------------------------------------------------------------------- */

static herr_t look_at(hid_t root, const char *name, const H5L_info_t *link, void *context)
{
    struct lw_columns *const columns = context;
    if (link->type != H5L_TYPE_HARD)
        return 0;
    LW_CLOSED const hid_t object = H5Oopen(root, name, H5P_DEFAULT);
    if (object < 0)
        return -1;
    if (H5Iget_type(object) == H5I_DATASET && columns->n_tables < LW_COLUMNS_TABLES) {
        LW_CLOSED const hid_t type = H5Dget_type(object), space = H5Dget_space(object);
        const int n = H5Tget_class(type) == H5T_COMPOUND ? H5Tget_nmembers(type) : 0;
        if (n > 2 && n <= LW_COLUMNS_MOST && H5Tget_size(type) == (size_t)n * 8) {
            struct lw_column_table *const table = &columns->tables[columns->n_tables++];
            snprintf(table->name, sizeof table->name, "%s", name);
            table->n_rows = (int64_t)H5Sget_simple_extent_npoints(space);
            table->n_columns = n;
        }
    }
    return 0;
}

/* ---- create ---------------------------------------------------------------------------------------------------------- */

static int fail_create(const struct lw_column_table *table, struct lw_error *err)
{
    return lw_hdf5_fail(err, LW_EIO, "cannot create the columns of /%s", table->name);
}

/* Attach the scale of a table's rows to a column (`context`). */
static herr_t attach(hid_t dataset, unsigned dimension, hid_t scale, void *context)
{
    (void)dataset;
    return H5DSattach_scale(*(const hid_t *)context, scale, dimension) < 0 ? -1 : 1;
}

static int create_column(hid_t group, hid_t rows, hid_t type, int column, struct lw_column_table *table, struct lw_error *err)
{
    char *const name = H5Tget_member_name(type, (unsigned)column);
    LW_CLOSED const hid_t its_type = H5Tget_member_type(type, (unsigned)column);
    const hsize_t dims = (hsize_t)table->n_rows;
    LW_CLOSED const hid_t space = H5Screate_simple(1, &dims, NULL), creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
    LW_CLOSED hid_t dataset = H5Dcreate2(group, name, its_type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    const int n_scales = H5DSget_num_scales(rows, 0);
    int rc = LW_OK;
    if (dataset < 0 || n_scales < 0 || (n_scales > 0 && H5DSiterate_scales(rows, 0, NULL, attach, &dataset) < 0))
        rc = fail_create(table, err);
    if (dataset >= 0)
        table->at[column] = (int64_t)H5Dget_offset(dataset);
    H5free_memory(name);
    return rc;
}

static int create_columns(hid_t file, struct lw_column_table *table, struct lw_error *err)
{
    char path[sizeof table->name + 16];
    snprintf(path, sizeof path, "/%s_columns", table->name);
    LW_CLOSED const hid_t group = H5Gcreate2(file, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (group < 0)
        return fail_create(table, err);
    LW_CLOSED const hid_t rows = H5Dopen2(file, table->name, H5P_DEFAULT), type = H5Dget_type(rows);
    int rc = type < 0 ? fail_create(table, err) : LW_OK;
    for (int c = 0; c < table->n_columns && rc == LW_OK; c++)
        rc = create_column(group, rows, type, c, table, err);
    return rc;
}

int lw_columns_create(hid_t file, struct lw_columns *columns, struct lw_error *err)
{
    *columns = (struct lw_columns){0};
    int rc = H5Literate(file, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, look_at, columns) < 0
                 ? lw_hdf5_fail(err, LW_EIO, "cannot look at the tables of the result") : LW_OK;
    for (int t = 0; t < columns->n_tables && rc == LW_OK; t++)
        rc = create_columns(file, &columns->tables[t], err);
    return rc;
}

/* ---- write ----------------------------------------------------------------------------------------------------------- */

static int write_block(const struct lw_result_file *result, const struct lw_column_table *table, int64_t first, int64_t count,
                       const char *rows, char *values, struct lw_error *err)
{
    struct lw_error reason;
    for (int c = 0; c < table->n_columns; c++) {
        for (int64_t i = 0; i < count; i++)
            memcpy(values + i * 8, rows + (i * table->n_columns + c) * 8, 8);
        if (lw_bytes_write(result->fd, values, table->at[c] + first * 8, count * 8, &reason) != LW_OK)
            return lw_fail(err, LW_EIO, "cannot write '%.600s', columns of /%.60s: %.200s", result->part, table->name,
                           reason.message);
    }
    return LW_OK;
}

/* Write a table's columns. HDF5 reads the rows by a new handle, which sees rows that other nodes have written. If the table has an
 * attribute for the checksum of all rows, its value is written, too. */
static int write_columns(hid_t file, const struct lw_result_file *result, const struct lw_column_table *table, char *buffer,
                         struct lw_error *err)
{
    LW_CLOSED const hid_t dataset = H5Dopen2(file, table->name, H5P_DEFAULT), type = H5Dget_type(dataset);
    char *const values = buffer + (size_t)BLOCK_ROWS * (size_t)table->n_columns * 8;
    char sum[sizeof LW_WRITER_NO_SUM];
    const struct lw_attribute attribute = {.name = LW_WRITER_SUM, .kind = LW_ATTRIBUTE_TEXT, .text = sum, .is_late = true};
    struct lw_hash hash;
    int rc = LW_OK;
    lw_hash_begin(&hash);
    for (int64_t first = 0; first < table->n_rows && rc == LW_OK; first += BLOCK_ROWS) {
        const int64_t count = lw_min64(BLOCK_ROWS, table->n_rows - first);
        rc = lw_hdf5_read_list(dataset, type, (hsize_t)first, 1, (hsize_t)count, buffer)
                 ? write_block(result, table, first, count, buffer, values, err)
                 : lw_hdf5_fail(err, LW_EIO, "cannot read the rows of /%s again", table->name);
        lw_hash_add(&hash, buffer, (size_t)(count * table->n_columns * 8));
    }
    if (rc == LW_OK && H5Aexists(dataset, LW_WRITER_SUM) > 0) {
        snprintf(sum, sizeof sum, "%016" PRIx64, lw_hash_end(&hash));
        rc = lw_attribute_overwrite(dataset, &attribute, err);
    }
    return rc;
}

int lw_columns_write(hid_t file, const struct lw_result_file *result, const struct lw_columns *columns, struct lw_error *err)
{
    LW_FREED char *const buffer = lw_alloc((size_t)BLOCK_ROWS * (LW_COLUMNS_MOST + 1) * 8, "columns of tables", err);
    int rc = buffer ? LW_OK : LW_ESYSTEM;
    for (int t = 0; t < columns->n_tables && rc == LW_OK; t++)
        rc = write_columns(file, result, &columns->tables[t], buffer, err);
    return rc;
}
