/* parts.h - the parts of an HDF5 result that structure.c puts together:
 *
 *     scales.c              dimension scales with the coordinates of each array
 *     patch.c, columns.c    for other readers, a link to the first array and copies of the columns of tables
 *     collective.c          writes of samples by collective calls */
#pragma once

#include "io/write/result_file.h"
#include "io/write/writer.h"

#include <hdf5.h>

/* ---- scales.c: dimension scales of a result's datasets (HDF5 dimension scale specification), as netCDF-4 needs them: a scale is
 * a dataset with the name of the dimension, in the group of the dataset that it belongs to.
 *
 * The values of a scale are written if the scale is short, or short beside its dataset. They are shuffled and deflated in chunks;
 * times at 1000 Hz take 0.1 bytes each. Other scales would take as long to write as their datasets (35 ns a value;
 * tests/bench/results/files.md). Such a scale becomes a netCDF dimension without a variable: a name and a length, without room on
 * disk. The dataset's attributes then tell where its elements lie. */

#define LW_SCALE_SHORT_VALUES ((int64_t)1 << 18)        /* a scale of this length takes 10 ms to write */
#define LW_SCALE_MOST_VALUES ((int64_t)1 << 27)
#define LW_SCALE_LEAST_BYTES 512                        /* a longer scale is written if its dataset has this many bytes per value */

/** Attach a scale to each dimension of a dataset, and _FillValue if its type has one. An equal scale that exists is shared.
 * If a different scale has the name, the new scale is named PRODUCT_NAME. LW_EIO, LW_ESYSTEM. */
int lw_scales_attach(hid_t file, hid_t dataset, const struct lw_writer_dataset *spec, struct lw_error *err);

/** Create a dataset of `length` coordinates, not yet a dimension scale. LW_EIO, LW_ESYSTEM.
 * @param out  set to the open dataset; invalid after an error */
int lw_scale_create(hid_t file, const char *name, const struct lw_writer_scale *scale, int64_t length, hid_t *out,
                    struct lw_error *err);

/** Return whether the values of dimension d's scale are written. */
bool lw_scale_is_written(const struct lw_writer_dataset *spec, int d);

/** Return an upper limit of the scales' bytes on disk. */
int64_t lw_scales_room(const struct lw_writer_dataset *spec);

/* ---- patch.c: the first array of a result as a patch, which DASCore (https://dascore.org) reads without further information: the
 * group /waveforms/NAME of its format DASDAE, version 1, with a hard link to the array and with its coordinates.
 *
 * The array must lie in the root group, have dates, and have channels in metres or with numbers; all scales must have values.
 * Times in a patch are whole nanoseconds. A patch also has the input's gauge length and category. Units that DASCore would refuse
 * are left out. */

/** Create the patch of the first suitable array, which is in the file; do nothing if there is none. LW_EIO, LW_ESYSTEM. */
int lw_patch_create(hid_t file, const struct lw_writer_spec *spec, struct lw_error *err);

/** Return an upper limit of the patch's bytes on disk. */
int64_t lw_patch_room(const struct lw_writer_spec *spec);

/* ---- columns.c: copies of the columns of a result's tables, for readers that cannot read compounds. Each is a dataset:
 * /peaks_columns/index is column `index` of the compound table /peaks.
 *
 *     create   make groups and datasets, with room for the columns and with the table's dimension scale
 *     write    write the values, from the table's rows in the file
 *
 * Rank 0 calls both when everything else is in the file. */

enum { LW_COLUMNS_TABLES = 8, LW_COLUMNS_MOST = 24 };

/* A table of the root group: a compound of more than two columns of 8 bytes. (Two columns would be a complex number.) */
struct lw_column_table {
    char name[64];
    int64_t n_rows;
    int n_columns;
    int64_t at[LW_COLUMNS_MOST];        /* offset of each column in the file */
};

struct lw_columns {
    struct lw_column_table tables[LW_COLUMNS_TABLES];
    int n_tables;
};

/** Find the tables and create their columns. LW_EIO. */
int lw_columns_create(hid_t file, struct lw_columns *columns, struct lw_error *err);

/** Write the columns of all tables. LW_EIO, LW_ESYSTEM. */
int lw_columns_write(hid_t file, const struct lw_result_file *result, const struct lw_columns *columns, struct lw_error *err);

/* ---- collective.c: hyperslabs of a result's datasets, written by collective HDF5 calls of all ranks.
 *
 * A rank that fails inside a collective call cannot tell the others, and HDF5 cannot be used any more: closing the file could hang
 * or crash. So each function here either succeeds or ends all ranks (lw_comm_abort). */

/* The transfers of a block (hyperslab) of a dataset; one call carries one transfer. Pure arithmetic. The block is row-major in
 * memory, and is cut at one dimension. A transfer takes as many whole rows of this dimension as fit the limit, and one index of
 * each dimension before. So each transfer is contiguous in memory. */
struct lw_transfers {
    int n_dims;
    int64_t count[LW_MAX_DIMS];     /* size of the block */
    int cut_dim;
    int64_t rows;                   /* rows of the cut dimension in one transfer */
    int64_t row_bytes;
    int64_t n_transfers;            /* 0: the block is empty */
};

struct lw_transfer {
    int64_t first[LW_MAX_DIMS];     /* position in the block */
    int64_t count[LW_MAX_DIMS];
    int64_t offset_bytes;           /* offset in memory */
    int64_t bytes;
};

/** Plan the transfers of a block. @param limit  most bytes of a transfer, >= sample_bytes */
struct lw_transfers lw_transfers_plan(int n_dims, const int64_t *count, int64_t sample_bytes, int64_t limit);

/** Return transfer number `index`, 0 <= index < n_transfers. */
struct lw_transfer lw_transfers_get(const struct lw_transfers *transfers, int64_t index);

/** Return how many ranks write for all in collective calls, as aggregators; 0: each rank writes its own part. Pure arithmetic. */
int lw_collective_aggregators(const struct lw_storage *storage, int n_ranks, int n_nodes);

/* Implement open_together, write_together, flush_together and close_together of lw_structure for HDF5. */
int lw_collective_open(struct lw_comm *comm, struct lw_result_file *result, const struct lw_writer_spec *spec, void **out,
                       struct lw_error *err);
void lw_collective_write(void *file, int dataset, const int64_t *first, const int64_t *count, const void *data);
void lw_collective_flush(void *file);
void lw_collective_close(void *file, bool is_whole);
