/* attribute.h - attributes of HDF5 objects: read as a number or a text, however stored; written in this program's own form. */
#pragma once

#include "io/write/writer.h"

#include <hdf5.h>

/* All readers here return false if the attribute is missing or of another kind. If HDF5 cannot read an existing attribute, they
 * also note this in *err (LW_EDATA, LW_EIO), unless *err has an error. So set LW_OK first, and check *err after all reads. */

/** Read the attribute as a finite number: a scalar or single element of any numeric type, or a text that is a number.
 * @param accuracy  set to the relative accuracy of the stored type; 0 except for short floats */
bool lw_attribute_read_real(hid_t object, const char *name, double *value, double *accuracy, struct lw_error *err);

/** Read the attribute as a text of fixed or variable length, cut to `size`. */
bool lw_attribute_read_text(hid_t object, const char *name, char *text, size_t size, struct lw_error *err);

/** Read the first non-empty text among the attributes in `names`, which ends with NULL. */
bool lw_attribute_read_first(hid_t object, const char *const *names, char *text, size_t size, struct lw_error *err);

/** Return the attribute as a complete text, to be released with lw_free; NULL: it is missing. */
char *lw_attribute_take_text(hid_t object, const char *name, struct lw_error *err);

/** Read text number `index` of an attribute that holds `count` texts, at most H5S_MAX_RANK. */
bool lw_attribute_read_item(hid_t object, const char *name, int index, int count, char *text, size_t size, struct lw_error *err);

/** Read text number `index` of a one-dimensional dataset of at most H5S_MAX_RANK texts. Returns false also for an empty text. */
bool lw_dataset_read_item(hid_t dataset, int index, char *text, size_t size, struct lw_error *err);

/** Return whether the text is a number; blanks may follow. */
bool lw_attribute_parse_number(const char *text, double *value);

/** Note in *err, unless it has an error, that HDF5 has just failed to read `what` of an object. */
void lw_attribute_broken(hid_t object, const char *what, struct lw_error *err);

/** Create the attribute. Texts are UTF-8 of variable length (h5py reads str), or of fixed length if `is_late`. Numbers are int64,
 * float64 or arrays of float64. */
int lw_attribute_write(hid_t object, const struct lw_attribute *attribute, struct lw_error *err);
int lw_attribute_write_text(hid_t object, const char *name, const char *text, struct lw_error *err);

/** Overwrite, in place, an attribute made by lw_attribute_write; the file's structure does not change. */
int lw_attribute_overwrite(hid_t object, const struct lw_attribute *attribute, struct lw_error *err);
