/* text.h - text put together of parts. What does not fit is left out. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** Append to text in an array of `size` bytes. */
void lw_append(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/** Append a shape: "2 x 4000". Return `text`. */
const char *lw_append_dims(char *text, size_t size, const int64_t *dims, int n_dims);
