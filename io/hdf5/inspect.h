/* inspect.h - one process looks at a file: opens it without MPI, finds the dataset, says what it holds or what is wrong, and reads
 * what stands beside the samples. */
#pragma once

#include "base/error.h"
#include "io/dataset.h"
#include "io/format.h"
#include "io/list.h"
#include "io/notes/notes.h"

#include <hdf5.h>
#include <stdbool.h>

/** Open an HDF5 file for reading by this process alone, also while a logger writes it with SWMR. LW_EIO: unreadable, locked.
 * LW_EDATA: damaged. */
int lw_probe_file(const char *file, hid_t *out, struct lw_error *err);

/** Open a dataset. LW_EUSAGE: `path` is empty (lists the datasets). LW_EDATA: there is none of that name (lists those there
 * are), it is something else, a filter that its chunks need is not installed, or it is virtual and made of itself. */
int lw_probe_dataset(hid_t file, const char *file_name, const char *path, hid_t *out, struct lw_error *err);

/** LW_EDATA if the file is a result of this program, or its synthetic survey, that never became complete. */
int lw_probe_check_complete(hid_t file, const char *file_name, struct lw_error *err);

/** All of the above for an input. LW_EDATA also if the file is incomplete.
 * @param info  with file and path already set; a path that is empty is set where the file tells which dataset is the data
 * @param file, dataset  -1, and to be closed by the caller whatever is returned */
int lw_probe_open(struct lw_dataset_info *info, hid_t *file, hid_t *dataset, struct lw_error *err);

/** lw_list_file and lw_list_origin of an HDF5 file. */
int lw_probe_list(const char *file, lw_list_fn *visit, void *context, struct lw_error *err);
bool lw_probe_origin(const char *file, struct lw_listing_origin *origin);

/* ---- axis.c: what a file's own metadata says about the time axis of a dataset.
 *
 * Looked at, the first find counts:
 *   - a convention (conventions/): which dimension, start, rate, coordinates, unit
 *   - rate: attributes sample_rate_hz, sample_rate, fs, dt, ... of the dataset; Xspacing (GWOSC); a regular dimension scale
 *     of the time dimension (netCDF, h5py); for time series (one or two dimensions, more than one value, not named "time")
 *     also the rate attributes of the groups above, innermost first (ProdML)
 *   - attributes x0, dx and xunit (GWpy)
 *   - start: attributes start_time with start_unit, or with delta_t (PyCBC: seconds of GPS); Xstart; the first value of the scale;
 *     an ISO 8601 text
 *   - which dimension: dimension labels and scales named "time" or "t"
 *   - a dataset of times beside the dataset, as long as one of its dimensions: whatever of these is not known yet. A rate that is
 *     known has to be that of the times, unless the user gives another one */

/** Fill metadata_axis, axis, coordinates and convention, and the shape of blocks that are joined. LW_EDATA, LW_EIO: what was looked
 * at is there, but cannot be read; or it contradicts itself.
 * @param info  with path, n_dims and dims already set */
int lw_hdf5_sampling_find(hid_t file, hid_t dataset, struct lw_dataset_info *info, struct lw_error *err);

/* ---- listing.c: the datasets of a file */

/** Show the datasets of an open file to `visit`, in the order of their names. @return  whether the file could be read to its end */
bool lw_listing_walk(hid_t file, lw_list_fn *visit, void *context);

/** Write an error about a dataset that the file has not: what `mistake` says, and as its list the datasets that there are, at most
 * 20, first those whose names are near to the one that was wanted. Returns `code`. */
int lw_listing_fail(hid_t file, const char *wanted, enum lw_code code, const char *mistake, struct lw_error *err);

/* ---- notes.c */

/** lw_format.visit_attributes: those of the dataset, then of the group that it is in, unless that is the root of a result of this
 * program, which speaks of the run that made it. Texts and numbers, up to LW_ATTRIBUTE_MOST_REALS of them as float64, in the order
 * of their names; what cannot be read is left out. */
void lw_hdf5_visit_attributes(const struct lw_dataset_info *info, lw_attribute_fn *visit, void *context);

int lw_hdf5_read_notes(const struct lw_object *object, struct lw_notes *notes, struct lw_error *err);
int lw_hdf5_read_rows(const struct lw_object *object, const struct lw_rows *rows, double *values, struct lw_error *err);

/* ---- stored.c: where the raw data of a dataset lies in its file, for those that read it without HDF5.
 *
 * HDF5 says where a contiguous dataset begins. Where a chunk is it says in a time that grows with the number of chunks
 * (H5Dget_chunk_info_by_coord looks through all before it); only reading one is quick. So a finder has HDF5 read raw chunks
 * through a driver that notes the place and leaves the bytes where they are: 1 us a chunk. */

/** lw_format.locate of an open dataset. */
bool lw_stored_locate(hid_t file, hid_t dataset, struct lw_stored *out);

struct lw_finder;

/** @param fd  of the file, borrowed until destroy */
int lw_finder_create(const char *file, const char *path, int n_dims, int fd, struct lw_finder **out, struct lw_error *err);
void lw_finder_destroy(struct lw_finder *finder);           /* NULL is legal */

/** lw_format.find_chunk. */
int lw_finder_find(struct lw_finder *finder, const int64_t first[LW_MAX_DIMS], struct lw_stored_chunk *out, struct lw_error *err);
