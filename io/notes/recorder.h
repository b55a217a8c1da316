/* recorder.h - describe the recorder: the instrument that recorded a file, by detector, station, serial number and the like.
 * A recorder is a list of named fields and a pointing. Files joined into one signal must agree in every field that both have. */
#pragma once

#include "io/dataset.h"

enum { LW_RECORDER_VALUE = 48 };

/** Add a field, such as "detector" with "H1". A value that means unknown ("", "*", "NaN", ...), or for which the list has no room,
 * is not added. A field that has a value keeps it. A long value is cut, and its checksum is appended. */
void lw_recorder_add(struct lw_recorder *recorder, const char *what, const char *value);

/** Add a field with a number, written with 12 digits. */
void lw_recorder_add_number(struct lw_recorder *recorder, const char *what, double value);

/** Return the hours or degrees of a text like "05:34:31.973" or "-00:30:00". NAN: the text has another form. */
double lw_recorder_angle(const char *text);

/** Set the telescope's pointing, in degrees. Ignores angles out of range, and 0, 0, which files write for an unknown pointing. */
void lw_recorder_point(struct lw_recorder *recorder, double ra_deg, double dec_deg);

/** Copy the field at *at and advance *at to the next field. @param at  first set to recorder->text @return  false: no field left */
bool lw_recorder_next(const char **at, char what[LW_RECORDER_VALUE], char value[LW_RECORDER_VALUE]);

/** Return whether the recorder has a field, and set `value` to its value. */
bool lw_recorder_find(const struct lw_recorder *recorder, const char *what, char value[LW_RECORDER_VALUE]);

/** Return whether two pointings agree to 5 seconds of arc, either as they are or after the sky has turned over a telescope at rest.
 * An unknown pointing agrees with all. @param seconds  from the start of `a` to the start of `b`; NAN: unknown */
bool lw_recorder_is_pointing(const struct lw_recorder *a, const struct lw_recorder *b, double seconds);

/** Write fields and pointing to `text`, like "detector H1, beam 3", and return `text`. The text is "" if all are unknown. */
const char *lw_recorder_text(const struct lw_recorder *recorder, char *text, size_t size);
