/* target.h - a fuzz target: a function that takes any bytes, and must come back. libFuzzer calls it (-DLAPWING_FUZZ=ON, by clang),
 * or driver.c does, which needs nothing but gcc. What is promised of the answer is checked by REQUIRE, which ends the process. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/** libFuzzer's entry. @return  0 */
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

/** The bytes as a file in TMPDIR or /dev/shm, whose name is returned; the next call changes it, and the end of the
 * process removes it. */
const char *fuzz_file(const uint8_t *data, size_t size);

/** The bytes as a text, up to the first zero; at most FUZZ_MOST_TEXT of them. Valid until the next call. */
const char *fuzz_text(const uint8_t *data, size_t size);

/** The bytes up to the first newline as a text of less than `room` bytes, which go.
 * @return  where the rest begins, of which there are *size */
const uint8_t *fuzz_line(const uint8_t *data, size_t *size, char *line, size_t room);
