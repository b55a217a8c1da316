/* recorder.h - describe what recorded a file: detector, telescope, station, serial number, pointing, as far as the file has them.
 * Files joined into one signal must agree in every field that both have. */
#pragma once

#include "io/dataset.h"

enum { LW_RECORDER_VALUE = 48 };

/** Add a field, such as "detector" with "H1". A value that stands for nothing ("", "*", "NaN", "unknown", ...) is not added. A long
 * value is cut and gets its checksum. A field that is already there keeps its value. */
void lw_recorder_add(struct lw_recorder *recorder, const char *what, const char *value);

/** Add a field with a number. */
void lw_recorder_add_number(struct lw_recorder *recorder, const char *what, double value);

/** Return the hours or degrees of a text like "05:34:31.973" or "-00:30:00". NAN: the text has another form. */
double lw_recorder_angle(const char *text);

/** Set the telescope's pointing, in degrees. Ignores a place outside the sky, and 0, 0, which stands for an unknown pointing. */
void lw_recorder_point(struct lw_recorder *recorder, double ra_deg, double dec_deg);

/** Copy the field at *at and advance *at to the next field. @return  false: there was no field left */
bool lw_recorder_next(const char **at, char what[LW_RECORDER_VALUE], char value[LW_RECORDER_VALUE]);

/** Return whether the recorder has a field, and set `value` to its value. */
bool lw_recorder_find(const struct lw_recorder *recorder, const char *what, char value[LW_RECORDER_VALUE]);

/** Return whether two pointings agree to 5 seconds of arc: they are equal, or belong to a telescope at rest under the turning sky.
 * @param seconds  from the start of `a` to the start of `b`; NAN: not known */
bool lw_recorder_is_pointing(const struct lw_recorder *a, const struct lw_recorder *b, double seconds);

/** Write the fields into `text` like "detector H1, beam 3", or "" if there are none, and return `text`. */
const char *lw_recorder_text(const struct lw_recorder *recorder, char *text, size_t size);
