/* library.h - HDF5 as a library: its start, its handles, the shape of a dataset and numbers of a list, what it says about its own
 * failures, as part of our one-line messages, and the types and filters that it stores samples with. */
#pragma once

#include "base/error.h"
#include "base/type.h"
#include "io/bytes/decode.h"

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

/* ---- type.c: sample types as HDF5 stores them ---- */

/* What messages name as legal. */
#define LW_LEGAL_TYPES                                                                          \
    LW_INTEGERS(LW_SCALAR_TEXT, ", ") ", float16, " LW_FLOATS(LW_SCALAR_TEXT, ", ") ", or complex float16, " \
    LW_FLOATS(LW_SCALAR_TEXT, " or ") " (a compound {r, i}, {re, im} or {real, imag})"

/** The sample type that `stored` is, of an enumeration that of its numbers; false for anything outside LW_LEGAL_TYPES. */
bool lw_hdf5_type_parse(hid_t stored, struct lw_type *out);

/** The type that holds such samples in a file; complex ones as the packed compound {r, i} that h5py reads, those of float16 as
 * {re, im}. Close it with H5Tclose. Negative if HDF5 is out of memory. */
hid_t lw_hdf5_type_make(struct lw_type type);

/** For reading any integer or real type, or a complex compound, as float64: the memory type, or negative if `stored` is
 * none of these. Close it with H5Tclose. */
hid_t lw_hdf5_type_as_float64(hid_t stored, bool *is_complex);

/** A name for any type whatever: "int64", "text", "compound {time, flux}". Returns `text`. */
const char *lw_hdf5_type_text(hid_t stored, char *text, size_t size);

/* ---- chunk_filters.c: the filters that chunks may have been put through: which of them the program decodes, what they are called,
 * and what is to be done where nobody decodes one ---- */

/** Let HDF5 decode with the program's own decoders wherever it reads; they check every length, which plugins do not. */
void lw_hdf5_filters_start(void);

/** The filters of a dataset, without chunk_bytes, if the program itself decodes all of them.
 * @param creation  the dataset's property list */
bool lw_hdf5_filters_take(hid_t creation, struct lw_filters *out);

/** LW_EDATA: there is a filter that neither the program nor HDF5 decodes; the message says where to get it. */
int lw_hdf5_filters_check(hid_t creation, const char *file_name, const char *path, struct lw_error *err);

/** All of them, for example "shuffle + deflate", "bitshuffle + LZ4", "" if there is none. Returns `text`. */
const char *lw_hdf5_filters_text(hid_t creation, char *text, size_t size);
