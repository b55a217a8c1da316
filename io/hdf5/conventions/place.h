/* place.h - single values and short lists by their place in a file: "Acquisition@GaugeLength" is an attribute of an object,
 * "header/dt" a dataset. */
#pragma once

#include "base/error.h"
#include "io/dataset.h"

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>

/* Long enough for any path and the name of an attribute. */
enum { LW_PLACE = LW_MAX_PATH + 64 };

/* Reading: false if there is nothing at that place, or something of another kind. What is there and cannot be read is noted in
 * *err, as io/hdf5/attribute.h says. */

/** @param path  as in lw_place_from */
bool lw_place_exists(hid_t file, const char *path, const char *place);

/** One finite number of any type, or a text that is a number. */
bool lw_place_real(hid_t file, const char *place, double *value, struct lw_error *err);

/** One text; false if it is empty. */
bool lw_place_text(hid_t file, const char *place, char *text, size_t size, struct lw_error *err);

/** A list of one dimension, of `most` elements at most. @return  how many; 0: none, or not all are finite numbers */
int lw_place_reals(hid_t file, const char *place, double *values, int most, struct lw_error *err);

/** Element `index` of a list of texts, of at most H5S_MAX_RANK. */
bool lw_place_item(hid_t file, const char *place, int index, char *text, size_t size, struct lw_error *err);

/** A dataset without samples, virtual or in other files is none. Close it with H5Dclose. -1: there is none. */
hid_t lw_place_open_dataset(hid_t file, const char *path);

/** A place that is told from an object on, or, without dots, from the root: of "/a/b/c" and "./@x" it is "/a/b/c@x", of "../d@x"
 * "/a/b/d@x", of "../../@x" "/a@x". Returns `whole`. */
const char *lw_place_from(const char *path, const char *place, char whole[LW_PLACE]);
