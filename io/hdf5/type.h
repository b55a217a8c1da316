/* type.h - sample types as HDF5 stores them. */
#pragma once

#include "base/type.h"

#include <hdf5.h>

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
