/* attribute.h - something said of a dataset or file: a name with a text or with numbers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum lw_attribute_kind { LW_ATTRIBUTE_TEXT, LW_ATTRIBUTE_INT, LW_ATTRIBUTE_REAL, LW_ATTRIBUTE_REALS };

#define LW_ATTRIBUTE_MOST_REALS 4096        /* an attribute lies in its object's header, in 64 KiB at most */

struct lw_attribute {
    const char *name;
    enum lw_attribute_kind kind;
    const char *text;           /* borrowed during lw_writer_create */
    int64_t integer;
    double real;
    const double *reals;        /* an array of n_reals numbers, borrowed during lw_writer_create */
    int n_reals;
    bool is_late;               /* lw_writer_finish overwrites it: a text gets a fixed length, the placeholder's */
};

/* Its argument is borrowed during the call. */
typedef void lw_attribute_fn(const struct lw_attribute *attribute, void *context);
