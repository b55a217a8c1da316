/* target.h - the interface of a fuzz target: a function that takes any bytes and must return. libFuzzer calls it (built by clang
 * with -DLAPWING_FUZZ=ON), or driver.c does, which needs only gcc. REQUIRE checks the documented properties of an answer and ends
 * the process if one does not hold. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/** Run one input; libFuzzer's entry point. @return 0 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition, ...)                                                   \
    do {                                                                          \
        if (!(condition)) {                                                       \
            fprintf(stderr, "%s:%d: not so: %s: ", __FILE__, __LINE__, #condition); \
            fprintf(stderr, __VA_ARGS__);                                         \
            fputc('\n', stderr);                                                  \
            abort();                                                              \
        }                                                                         \
    } while (0)

enum { FUZZ_MOST_TEXT = 4096 };

/** Write the bytes to a file in TMPDIR or /dev/shm and return its name. The next call overwrites the file; the end of the process
 * removes it. */
const char *fuzz_file(const uint8_t *data, size_t size);

/** Return the bytes up to the first zero as a text, at most FUZZ_MOST_TEXT of them. Valid until the next call. */
const char *fuzz_text(const uint8_t *data, size_t size);

/** Take the bytes up to the first newline as a text, cut to less than `room` bytes.
 * @return the bytes after the newline; *size is their number */
const uint8_t *fuzz_line(const uint8_t *data, size_t *size, char *line, size_t room);
