/* attribute.h - attributes of HDF5 objects: read as a number or a text, however they are stored; written as ours. */
#pragma once

#include "io/write/writer.h"

#include <hdf5.h>

/* Reading: false if there is no such attribute, or it is of another kind. Where there is one and HDF5 cannot read it, that is
 * noted in *err too (LW_EDATA, LW_EIO), unless an earlier error stands there: begin with code LW_OK, ask at the end. */

/** The attribute as a number: a finite scalar or single element of any numeric type, or a text that is a number.
 * @param accuracy  relative, of the type that it is stored as */
bool lw_attribute_read_real(hid_t object, const char *name, double *value, double *accuracy, struct lw_error *err);

/** The attribute as a text, of fixed or variable length, cut to `size`. */
bool lw_attribute_read_text(hid_t object, const char *name, char *text, size_t size, struct lw_error *err);

/** Read the first of several attributes, NULL-ended, that is a text and not empty. */
bool lw_attribute_read_first(hid_t object, const char *const *names, char *text, size_t size, struct lw_error *err);

/** The attribute as a text, whole: owned, release with lw_free; NULL where there is none. */
char *lw_attribute_take_text(hid_t object, const char *name, struct lw_error *err);

/** The text number `index` of an attribute that holds `count` texts, at most H5S_MAX_RANK. */
bool lw_attribute_read_item(hid_t object, const char *name, int index, int count, char *text, size_t size, struct lw_error *err);

/** The text number `index` of a dataset of texts of one dimension, at most H5S_MAX_RANK of them. False also if it is empty. */
bool lw_dataset_read_item(hid_t dataset, int index, char *text, size_t size, struct lw_error *err);

/** Whether the text is a number, but for blanks behind it. */
bool lw_attribute_parse_number(const char *text, double *value);

/** Note in *err that HDF5 has just failed to read `what`, of that object. */
void lw_attribute_broken(hid_t object, const char *what, struct lw_error *err);

/** Create the attribute: texts UTF-8, of variable length (h5py reads str) or, if `is_late`, of fixed length; int64;
 * float64, and arrays of it. */
int lw_attribute_write(hid_t object, const struct lw_attribute *attribute, struct lw_error *err);
int lw_attribute_write_text(hid_t object, const char *name, const char *text, struct lw_error *err);

/** Give an attribute made by lw_attribute_write a new value, in place: the file's structure does not change. */
int lw_attribute_overwrite(hid_t object, const struct lw_attribute *attribute, struct lw_error *err);
