/* attribute.h - attributes of HDF5 objects: read as a number or a text, however they are stored; written as ours. */
#ifndef LW_ATTRIBUTE_H
#define LW_ATTRIBUTE_H

#include "writer.h"

#include <hdf5.h>

/** The attribute as a number: a scalar or single element of any numeric type, or a text that is a number. False if there
 * is none, or it is not finite. */
bool lw_attribute_read_real(hid_t object, const char *name, double *value);

/** The attribute as a text, of fixed or variable length, cut to `size`. False if there is none, or it is no text. */
bool lw_attribute_read_text(hid_t object, const char *name, char *text, size_t size);

/** Create the attribute: texts UTF-8, of variable length (h5py reads str) or, if `is_late`, of fixed length; int64;
 * float64. */
int lw_attribute_write(hid_t object, const struct lw_attribute *attribute, struct lw_error *err);

/** Give an attribute made by lw_attribute_write a new value, in place: the file's structure does not change. */
int lw_attribute_overwrite(hid_t object, const struct lw_attribute *attribute, struct lw_error *err);

#endif
