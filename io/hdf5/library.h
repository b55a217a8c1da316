/* library.h - HDF5 as a library: its start, its handles, the shape of a dataset and numbers of a list, and what it says about its
 * own failures, as part of our one-line messages. */
#pragma once

#include "base/error.h"

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>

/** Start HDF5, quiet, with the program's own decoders, and with its say over the locks on files. May be called often. */
void lw_hdf5_start(void);

/** Close a dataset, group, attribute, type, space, list of properties, or a file that is only read. Negative: nothing is open. */
void lw_hdf5_close(hid_t id);

/* Before a declaration of handles: they are closed, the last one first, where their scope ends. */
#define LW_CLOSED __attribute__((cleanup(lw_hdf5_close_at)))
static inline void lw_hdf5_close_at(const hid_t *id) { lw_hdf5_close(*id); }

/** How many dimensions there are: none of a single value, nor of a dataset without data. @param dims  set */
int lw_hdf5_shape(hid_t dataset, hsize_t dims[H5S_MAX_RANK]);

/** The length of a dataset with one dimension; 0: it has another number of them. */
hsize_t lw_hdf5_length(hid_t dataset);

/** Whether as many bytes are stored as shape and type need; HDF5 copies those of a compact dataset unchecked. */
bool lw_hdf5_is_all_there(hid_t dataset);

/** Read `count` elements of a dataset with one dimension, or one that is longer than 1, from `first` on, `stride` apart.
 * @param type  of `into` */
bool lw_hdf5_read_list(hid_t dataset, hid_t type, hsize_t first, hsize_t stride, hsize_t count, void *into);

/** lw_fail with HDF5's own reason appended: "MESSAGE: unable to open file". Call it before the next HDF5 call. A filter
 * that could not decode its data makes any LW_EIO an LW_EDATA, an error of the system (lw_hdf5_errno) any LW_EDATA an LW_EIO. */
int lw_hdf5_fail(struct lw_error *err, enum lw_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** lw_hdf5_fail with the reason alone, "" if there is none. */
int lw_hdf5_fail_plainly(struct lw_error *err, enum lw_code code);

/** The innermost entry of HDF5's error stack; "" if there is none. Returns `text`. */
const char *lw_hdf5_reason(char *text, size_t size);

/** The errno that HDF5 met in its last call, 0: none, or one that only a wrong address or length in the file explains. */
int lw_hdf5_errno(void);
