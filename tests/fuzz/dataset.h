/* dataset.h - runs any bytes as a file through all operations of its format, as the program calls them. */
#pragma once

#include "io/format.h"

/** Recognise, list and describe the file; if that succeeds, open it, read a box of at most MOST_SAMPLES, read numbers and visit
 * attributes.
 * @param path path in the file; "": the only dataset
 * @param hints NULL: none */
void fuzz_dataset(const struct lw_format *format, const char *file, const char *path, const struct lw_hints *hints);
