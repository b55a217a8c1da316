/* quality.h - what a file itself says about which of its samples are good: series of numbers beside the samples, such as one a
 * second, each bit of which stands for a test. */
#pragma once

#include "base/error.h"
#include "io/dataset.h"

enum { LW_MOST_QUALITIES = 2 };

/* A series, and the bits that are set in it where samples are good. */
struct lw_quality {
    char path[LW_MAX_PATH];
    uint64_t bits;
};

struct lw_qualities {
    int n;
    struct lw_quality of[LW_MOST_QUALITIES];
};

/** Find the series of tests, whose names are parted by commas: "DATA,CBC_CAT2"; or, of the file's first series, the bits of a
 * number: "7", "0x7f". In a child process (shield.h); by one process. LW_EUSAGE: no such test (names those there are). LW_EDATA:
 * the file, or its format, has no such series. */
int lw_quality_find(const char *file, const struct lw_hints *hints, const char *tests, struct lw_qualities *out,
                    struct lw_error *err);
