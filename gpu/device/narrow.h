/* narrow.h - storing the outputs of a kernel as integers of one or two bytes or as halves (narrow types), straight from the
 * registers. The stored bits and the counts of losses are those of lw_cuda_convert. C header. */
#pragma once

#include "base/type.h"
#include "gpu/device/nan_report.h"

LW_C_BEGIN

/* The stored type of a kernel's outputs. */
struct lw_narrowing {
    int bytes;                  /* bytes of a number, 1 or 2; 0: outputs have the computing precision, and no other field counts */
    bool is_integer;            /* otherwise numbers are halves */
    float least, most;          /* range of the numbers that the type holds once they are rounded */
    float middle, reach;        /* numbers at most `reach` away from `middle` are in this range */
    double factor;              /* numbers are multiplied by it before they are rounded */
    struct lw_nan_report *report;       /* device: counts numbers beyond the range and, for integers, NaN */
};

/** Return whether kernels store numbers of the computing precision as `scalar` themselves. */
bool lw_narrowing_exists(enum lw_precision precision, enum lw_scalar scalar);

/** Return the arguments for a type for which lw_narrowing_exists. */
struct lw_narrowing lw_narrowing_to(enum lw_scalar scalar, double factor, struct lw_nan_report *report);

LW_C_END
