/* facts.h - what `lapwing info` says of one dataset: format, shape, type, sampling, coordinates, unit, storage. */
#pragma once

#include "base/error.h"
#include "io/dataset.h"

/** One fact a line, on standard output, of the dataset FILE:/path, or of the one that the file's format or convention calls the
 * data. By one process. Errors as lw_examine_dataset; then nothing is printed. @param hints  NULL: none */
int lw_facts_print(const char *name, const struct lw_hints *hints, struct lw_error *err);
