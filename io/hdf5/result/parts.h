/* parts.h - the parts of a result in HDF5 that structure.c puts together: dimension scales, what other readers find once more, and
 * collective writing. */
#pragma once

#include "io/write/result_file.h"
#include "io/write/writer.h"

#include <hdf5.h>

/* ---- scales.c: dimension scales of a result's datasets (HDF5 dimension scale specification), as netCDF-4 wants them: each is a
 * dataset named as the dimension, in the group of what it belongs to.
 *
 * A scale that is short, or short beside its dataset, is written out, in chunks, shuffled and deflated: 1000 Hz take 0.1 bytes a
 * sample. Another one would take as long to write as the dataset (35 ns a value; tests/bench/results/files.md): it is what netCDF
 * calls a dimension without a variable, which has a name and a length and takes no room, and the attributes of the dataset say
 * where its elements lie. */

#define LW_SCALE_SHORT_VALUES ((int64_t)1 << 18)        /* 10 ms */
#define LW_SCALE_MOST_VALUES ((int64_t)1 << 27)
#define LW_SCALE_LEAST_BYTES 512                        /* of the dataset, for each value of a scale that is not short */

/** Attach a scale to each dimension of a dataset, one that is there or a new one, and give it the CF attributes that go with its
 * type. A scale of another product that bears the name and is another one keeps it: the new one is named PRODUCT_NAME.
 * LW_EIO, LW_ESYSTEM. */
int lw_scales_attach(hid_t file, hid_t dataset, const struct lw_writer_dataset *spec, struct lw_error *err);

/** A dataset of `length` coordinates, which is no dimension scale yet. @param out  [out] open; after an error it is none
 * LW_EIO, LW_ESYSTEM. */
int lw_scale_create(hid_t file, const char *name, const struct lw_writer_scale *scale, int64_t length, hid_t *out,
                    struct lw_error *err);

/** Whether the scale of dimension `d` is written out. */
bool lw_scale_is_written(const struct lw_writer_dataset *spec, int d);

/** The value of element i, float64 or, of numbers, as it is. */
double lw_scale_value(const struct lw_writer_scale *scale, int64_t i);

/** Bytes on disk, generously. */
int64_t lw_scales_room(const struct lw_writer_dataset *spec);

/* ---- patch.c: the first array of a result once more, as what DASCore (https://dascore.org) calls a patch and reads without being
 * told anything: /waveforms/NAME of its format DASDAE, version 1, with a hard link to the array and with its coordinates.
 *
 * An array of the root group gets one whose samples have dates and whose channels lie in metres or have numbers, if the values of
 * both are written out. Times are whole nanoseconds there. A unit of the data that DASCore would refuse is left out; what the input
 * says of gauge length and category is there. */

/** Of the first such array of the spec, which is in the file; nothing if there is none. LW_EIO, LW_ESYSTEM. */
int lw_patch_create(hid_t file, const struct lw_writer_spec *spec, struct lw_error *err);

/** Bytes on disk, generously. */
int64_t lw_patch_room(const struct lw_writer_spec *spec);

/* ---- columns.c: the columns of a result's tables once more, each as a dataset of its own: /peaks_columns/index beside column
 * index of the compound table /peaks, for readers that know no compounds.
 *
 *     create   groups and datasets, each with room for its column and with the table's dimension scale
 *     write    from the rows, which are there
 *
 * By one process, when everything else is in the file. */

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

/* ---- collective.c: hyperslabs of a result's datasets to the file by collective HDF5 calls of all ranks.
 *
 * A rank that fails inside such a call cannot tell the others, and HDF5 cannot be used any more: closing the file could hang or
 * crash. So everything here either succeeds or ends all ranks (lw_comm_abort). */

/* A block of a dataset, packed row-major in memory, is cut into transfers, each of which one call carries (pure arithmetic). It is
 * cut at one dimension: transfers take as many whole rows of it as fit the limit, and one index of each dimension before it; so
 * every transfer is a contiguous part of the memory. */
struct lw_transfers {
    int n_dims;
    int64_t count[LW_MAX_DIMS];     /* of the block */
    int cut_dim;
    int64_t rows;                   /* of the cut dimension, in one transfer */
    int64_t row_bytes;
    int64_t n_transfers;            /* 0: the block is empty */
};

struct lw_transfer {
    int64_t first[LW_MAX_DIMS];     /* in the block */
    int64_t count[LW_MAX_DIMS];
    int64_t offset_bytes;           /* in memory */
    int64_t bytes;
};

/** @param limit  bytes of a transfer at most, >= sample_bytes */
struct lw_transfers lw_transfers_plan(int n_dims, const int64_t *count, int64_t sample_bytes, int64_t limit);

/** Transfer number `index`, 0 <= index < n_transfers. */
struct lw_transfer lw_transfers_get(const struct lw_transfers *transfers, int64_t index);

/* lw_structure.open_together and so on, of HDF5. */
int lw_collective_open(struct lw_comm *comm, struct lw_result_file *result, const struct lw_writer_spec *spec, void **out,
                       struct lw_error *err);
void lw_collective_write(void *file, int dataset, const int64_t *first, const int64_t *count, const void *data);
void lw_collective_flush(void *file);
void lw_collective_close(void *file, bool is_whole);
