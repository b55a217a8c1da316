/* recorder.h - what recorded a file: detector, telescope, station, serial number, pointing, as far as it says. Files that are
 * one signal must agree in what they both say. */
#pragma once

#include "io/dataset.h"

enum { LW_RECORDER_VALUE = 48 };

/** Add a field, such as "detector" and "H1". What stands for nothing ("", "*", "NaN", "unknown", ...) is not added; a value that is
 * long is cut, and its checksum added. A field that is there already stays as it is. */
void lw_recorder_add(struct lw_recorder *recorder, const char *what, const char *value);

/** The same of a number. */
void lw_recorder_add_number(struct lw_recorder *recorder, const char *what, double value);

/** Hours or degrees of "05:34:31.973", "-00:30:00". NAN: it is none. */
double lw_recorder_angle(const char *text);

/** Where the telescope points, in degrees. Nothing is set if that is no place on the sky, or both are 0, as they are where nobody
 * knows. */
void lw_recorder_point(struct lw_recorder *recorder, double ra_deg, double dec_deg);

/** Take the field at *at apart and go to the next one. @return  false behind the last one */
bool lw_recorder_next(const char **at, char what[LW_RECORDER_VALUE], char value[LW_RECORDER_VALUE]);

/** The value of a field. False: there is none. */
bool lw_recorder_find(const struct lw_recorder *recorder, const char *what, char value[LW_RECORDER_VALUE]);

/** Whether two pointings are one, to 5 seconds of arc: equal, or those of a telescope that stands still while the sky turns above
 * it.
 * @param seconds  from the start of `a` to that of `b`; NAN: not known */
bool lw_recorder_is_pointing(const struct lw_recorder *a, const struct lw_recorder *b, double seconds);

/** "detector H1, beam 3"; "" where nothing is known. Returns `text`. */
const char *lw_recorder_text(const struct lw_recorder *recorder, char *text, size_t size);
