/* check.h - the CHECK macro of the test programs. A failed check is counted and reported, and the test goes on. The program
 * returns check_result(): 0 if at least one check was made and none failed. */
#pragma once

#include <stdio.h>

/* Programs are 10 times as slow under the address sanitizer, and memory is not counted there. */
#ifdef __SANITIZE_ADDRESS__
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif

#define CHECK_SKIP 77       /* exit code of a test that is skipped, for a reason that tests/CMakeLists.txt lists */

/* Weak symbols: the source files of one program share one pair of counters. */
__attribute__((weak)) int check_made, check_failed;

/* CHECK(condition, "text with values: %d", value): the text names what was found and where. */
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
