/* check.h - the checks that test programs use. A failed check is counted and reported, the test goes on; the program
 * returns check_result(), which is 0 only if no check failed and at least one was made. */
#pragma once

#include <stdio.h>

#define CHECK_SKIP 77       /* exit code of a test that is skipped, for a reason that tests/CMakeLists.txt lists */

/* Weak: one pair for a program of several files. */
__attribute__((weak)) int check_made, check_failed;

/* CHECK(condition, "what, with values: %d", value): the text says what was found where. */
#define CHECK(condition, ...)                                                           \
    do {                                                                                \
        check_made++;                                                                   \
        if (!(condition) && ++check_failed <= 20) {                                     \
            fprintf(stderr, "%s:%d: failed: %s: ", __FILE__, __LINE__, #condition);     \
            fprintf(stderr, __VA_ARGS__);                                               \
            fputc('\n', stderr);                                                        \
        }                                                                               \
    } while (0)

static inline int check_result(const char *name)
{
    printf("%s: %d checks, %d failed\n", name, check_made, check_failed);
    return check_failed != 0 || check_made == 0;
}
