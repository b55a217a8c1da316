/* library.h - HDF5 as a library: its start, handles, shapes and lists of numbers; its reasons for failures in this program's
 * one-line messages; the types and filters of stored samples. */
#pragma once

#include "base/type.h"
#include "io/bytes/decode.h"

#include <hdf5.h>

/** Start HDF5 without its own messages, with this program's decoders and rules for file locks. May be called often. */
void lw_hdf5_start(void);

/** Close a dataset, group, attribute, type, space, property list, or a file that was only read. A negative id is legal. */
void lw_hdf5_close(hid_t id);

/* Attribute of variables that hold handles: the handles are closed at the end of the scope, the last one first. */
#define LW_CLOSED __attribute__((cleanup(lw_hdf5_close_at)))
static inline void lw_hdf5_close_at(const hid_t *id) { lw_hdf5_close(*id); }

/** Return the number of dimensions; 0 for a single value and for a dataset without data. @param dims  set to their lengths */
int lw_hdf5_shape(hid_t dataset, hsize_t dims[H5S_MAX_RANK]);

/** Return the length of a one-dimensional dataset, else 0. */
hsize_t lw_hdf5_length(hid_t dataset);

/** Return whether the file stores as many bytes as shape and type need; HDF5 does not check this for compact datasets. */
bool lw_hdf5_is_all_there(hid_t dataset);

/** Read `count` elements from `first` on, `stride` apart, as `type`, of a dataset with at most one dimension longer than 1. */
bool lw_hdf5_read_list(hid_t dataset, hid_t type, hsize_t first, hsize_t stride, hsize_t count, void *into);

/** Call lw_fail and append HDF5's own reason: "MESSAGE: unable to open file". Call before the next HDF5 call. If a filter could
 * not decode its data, LW_EIO becomes LW_EDATA; if the system failed (lw_hdf5_errno), LW_EDATA becomes LW_EIO. */
int lw_hdf5_fail(struct lw_error *err, enum lw_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Do as lw_hdf5_fail, with only HDF5's reason as the message, "" if there is none. */
int lw_hdf5_fail_plainly(struct lw_error *err, enum lw_code code);

/** Write the innermost entry of HDF5's error stack, or "". Returns `text`. */
const char *lw_hdf5_reason(char *text, size_t size);

/** Return the errno of HDF5's last call; 0: none, or an errno that only a wrong address or length in the file explains. */
int lw_hdf5_errno(void);

/* ---- type.c: sample types as HDF5 stores them ---- */

/* The text that lists all legal types in messages. */
#define LW_LEGAL_TYPES                                                                          \
    LW_INTEGERS(LW_SCALAR_TEXT, ", ") ", float16, " LW_FLOATS(LW_SCALAR_TEXT, ", ") ", or complex float16, " \
    LW_FLOATS(LW_SCALAR_TEXT, " or ") " (a compound {r, i}, {re, im} or {real, imag})"

/** Convert a stored type to a sample type; enumerations become their integers. Returns false for types outside LW_LEGAL_TYPES. */
bool lw_hdf5_type_parse(hid_t stored, struct lw_type *out);

/** Make the stored type of a sample type. Complex numbers are packed compounds {r, i}, which h5py reads, or {re, im} for float16.
 * Release with H5Tclose. Negative: HDF5 is out of memory. */
hid_t lw_hdf5_type_make(struct lw_type type);

/** Make the memory type that reads an integer, real or complex type as float64. Release with H5Tclose. Negative: no such type. */
hid_t lw_hdf5_type_as_float64(hid_t stored, bool *is_complex);

/** Write the name of any type: "int64", "text", "compound {time, flux}". Returns `text`. */
const char *lw_hdf5_type_text(hid_t stored, char *text, size_t size);

/* ---- chunk_filters.c: filters of chunks: names, this program's decoders, remedies where a decoder is missing ---- */

/** Let HDF5 use the program's own decoders wherever HDF5 reads. Unlike plugins, these decoders check every length. */
void lw_hdf5_filters_start(void);

/** Get the filters of a dataset; out->chunk_bytes is left alone. Returns whether the program itself decodes all of them.
 * @param creation  property list of the dataset */
bool lw_hdf5_filters_take(hid_t creation, struct lw_filters *out);

/** Refuse a filter that neither the program nor HDF5 decodes; the message tells how to get a decoder. LW_EDATA. */
int lw_hdf5_filters_check(hid_t creation, const char *file_name, const char *path, struct lw_error *err);

/** Write all filters, for example "shuffle + deflate" or "bitshuffle + LZ4", or "". Returns `text`. */
const char *lw_hdf5_filters_text(hid_t creation, char *text, size_t size);
