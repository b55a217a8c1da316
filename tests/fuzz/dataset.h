/* dataset.h - a file's bytes, whatever they are, through all operations of its format, as the program calls them. */
#pragma once

#include "io/format.h"

/** Recognise, list, describe, and if that succeeds open, read a box of at most MOST_SAMPLES, read numbers and visit attributes.
 * @param path  in the file; "": whatever it holds
 * @param hints  NULL: none */
void fuzz_dataset(const struct lw_format *format, const char *file, const char *path, const struct lw_hints *hints);
