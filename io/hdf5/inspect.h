/* inspect.h - look at an HDF5 file in one process, without MPI: open the file, find a dataset in it, describe the dataset or its
 * damage, and read attributes.
 *
 *     library.h               HDF5 itself: handles, types, chunk filters, failures
 *     attribute.h, scale.h    attributes and dimension scales, in any form in which files store them
 *     conventions/            how instruments and archives lay out their files
 *     inspect.h               one dataset: its description, time axis (axis.c), notes and places of chunks
 *     format.c, result/       HDF5 as a format of archive files (io/format.h) and of results (io/write/structure.h) */
#pragma once

#include "io/format.h"
#include "io/notes/notes.h"

#include <hdf5.h>

/** Open an HDF5 file for this process, even while a logger writes it (SWMR). LW_EIO: unreadable or locked. LW_EDATA: damaged. */
int lw_probe_file(const char *file, hid_t *out, struct lw_error *err);

/** Open a dataset. LW_EUSAGE: `path` is empty. LW_EDATA: the file has no dataset of that name; nothing decodes a filter of
 * its chunks; the dataset is virtual and contains itself. If the path is empty or wrong, the message lists the file's datasets. */
int lw_probe_dataset(hid_t file, const char *file_name, const char *path, hid_t *out, struct lw_error *err);

/** Refuse a file that is an incomplete result or synthetic survey of this program. LW_EDATA. */
int lw_probe_check_complete(hid_t file, const char *file_name, struct lw_error *err);

/** Open an input file and its dataset, with all checks above. LW_EDATA also if the file is incomplete.
 * @param info  file and path are set by the caller; an empty path is filled in if the file shows which dataset is the data
 * @param file, dataset  -1 at first; the caller closes both, also after an error */
int lw_probe_open(struct lw_dataset_info *info, hid_t *file, hid_t *dataset, struct lw_error *err);

/** Implement lw_list_file and lw_list_origin for HDF5 files. */
int lw_probe_list(const char *file, lw_list_fn *visit, void *context, struct lw_error *err);
bool lw_probe_origin(const char *file, struct lw_listing_origin *origin);

/* ---- axis.c: the time axis of a dataset, from the file's own metadata. Places are tried in this order, and the first find counts:
 *
 *   - a convention (conventions/): time dimension, start, rate, coordinates, unit
 *   - rate: attributes sample_rate_hz, sample_rate, fs, dt, ... of the dataset; Xspacing (GWOSC); a regular dimension scale
 *     of the time dimension (netCDF, h5py); for time series (one or two dimensions, more than one value, not named "time")
 *     also the rate attributes of the groups above, innermost first (ProdML)
 *   - attributes x0, dx and xunit (GWpy)
 *   - start: attributes start_time with start_unit, or with delta_t (PyCBC: seconds of GPS); Xstart; the first value of the scale;
 *     an ISO 8601 text
 *   - time dimension: dimension labels and scales named "time" or "t"
 *   - a dataset of times beside the dataset, as long as one of its dimensions, for what is still unknown. A rate that is known must
 *     match these times, unless the user gives another rate */

/** Fill metadata_axis, axis, coordinates and convention; change the shape where blocks are joined. LW_EDATA, LW_EIO: metadata
 * cannot be read, or contradict each other.
 * @param info  path, n_dims and dims are set */
int lw_hdf5_sampling_find(hid_t file, hid_t dataset, struct lw_dataset_info *info, struct lw_error *err);

/* ---- listing.c: the datasets of a file */

/** Call `visit` for the datasets of an open file, in the order of their names. @return  whether the whole file could be read */
bool lw_listing_walk(hid_t file, lw_list_fn *visit, void *context);

/** Write the message `mistake` about a wrong path, and list up to 20 datasets, similar names first. Returns `code`. */
int lw_listing_fail(hid_t file, const char *wanted, enum lw_code code, const char *mistake, struct lw_error *err);

/* ---- notes.c */

/** Implement lw_format.visit_attributes. Attributes of the dataset come first, then those of its group, each in the order of their
 * names. The root group of a result of this program is left out, because it describes the run. Visits texts, and lists of up to
 * LW_ATTRIBUTE_MOST_REALS numbers as float64; skips unreadable attributes. */
void lw_hdf5_visit_attributes(const struct lw_dataset_info *info, lw_attribute_fn *visit, void *context);

int lw_hdf5_read_notes(const struct lw_object *object, struct lw_notes *notes, struct lw_error *err);
int lw_hdf5_read_rows(const struct lw_object *object, const struct lw_rows *rows, double *values, struct lw_error *err);

/* ---- stored.c: the place of a dataset's samples in its file, for readers that bypass HDF5.
 *
 * HDF5 gives the place of a contiguous dataset. But H5Dget_chunk_info_by_coord, which gives the place of a chunk, searches all
 * chunks before this one. Only reading a chunk is fast. So a finder lets HDF5 read raw chunks through a driver that notes the place
 * and moves no bytes, in 1 us a chunk. */

/** Implement lw_format.locate for an open dataset. */
bool lw_stored_locate(hid_t file, hid_t dataset, struct lw_stored *out);

struct lw_finder;

/** Create a finder for the chunks of a dataset; NULL: HDF5 cannot open it again. @param fd  descriptor of the file, borrowed until
 * destroy */
struct lw_finder *lw_finder_create(const char *file, const char *path, int n_dims, int fd);
void lw_finder_destroy(struct lw_finder *finder);           /* NULL is legal */

/** Implement lw_library.find_chunk. */
int lw_finder_find(struct lw_finder *finder, const int64_t first[LW_MAX_DIMS], struct lw_stored_chunk *out, struct lw_error *err);
