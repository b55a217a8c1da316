/* inspect.h - one process looks at a file: opens it without MPI, finds the dataset, says what it holds or what is wrong. */
#pragma once

#include "base/error.h"
#include "io/dataset.h"
#include "io/list.h"

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

/* A dataset of a file, open. */
struct lw_probe {
    hid_t file, dataset;
};

/** All of the above for an input. LW_EDATA also if the file is incomplete. Close it with lw_probe_close, on success.
 * @param info  with file and path already set; a path that is empty is set where the file tells which dataset is the data */
int lw_probe_open(struct lw_dataset_info *info, struct lw_probe *probe, struct lw_error *err);
void lw_probe_close(struct lw_probe *probe);

/** lw_list_file and lw_list_origin of an HDF5 file. */
int lw_probe_list(const char *file, lw_list_fn *visit, void *context, struct lw_error *err);
bool lw_probe_origin(const char *file, struct lw_listing_origin *origin);
