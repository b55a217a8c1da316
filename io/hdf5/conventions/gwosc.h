/* gwosc.h - the quality of strain in files of the Gravitational Wave Open Science Center. */
#pragma once

#include "io/notes/quality.h"

#include <hdf5.h>

/** lw_format.find_quality of an open file: DQmask, whose bits DQShortnames names, and Injmask with InjShortnames.
 * @param name  of the file */
int lw_gwosc_find_quality(hid_t file, const char *name, const char *tests, struct lw_qualities *out, struct lw_error *err);
