/* text.h - text put together of parts. What does not fit is left out. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** Append to text in an array of `size` bytes. */
void lw_append(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/** Return the length of the name before its ending; 0: it has another ending, or nothing before. */
size_t lw_before_ending(const char *name, const char *ending);

/** Append a shape: "2 x 4000". Return `text`. */
const char *lw_append_dims(char *text, size_t size, const int64_t *dims, int n_dims);
