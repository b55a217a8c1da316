/* said.h - hold the attributes of a dataset under the names that its file gives them. They are plain data, so that a child process
 * can read them and pass them on (io/shield.h). */
#pragma once

#include "base/error.h"
#include "io/dataset.h"

enum { LW_SAID_MOST = 4096, LW_SAID_BYTES = 1 << 19, LW_SAID_REALS = 1 << 14, LW_KEPT_MOST = 64 };

/* Attributes of one dataset: 0.8 MiB, without pointers. */
struct lw_said {
    int n;
    struct lw_said_one {
        enum lw_attribute_kind kind;
        int name, text, first, count;   /* name, text: places in bytes[]; numbers: `count` from reals[first] on */
        int64_t integer;
        double real;
    } all[LW_SAID_MOST];
    int n_bytes, n_reals;
    char bytes[LW_SAID_BYTES];          /* names and texts, each with its final zero */
    double reals[LW_SAID_REALS];
};

/** Copy an attribute into `said`, which must be all zeros before the first one. An attribute is left out if its name is already
 * there, or if there is no room for it. Is a lw_attribute_fn. */
void lw_said_add(const struct lw_attribute *attribute, void *said);

/** Return attribute number `a`, which borrows from `said`. A single number is also an array of one. */
struct lw_attribute lw_said_get(const struct lw_said *said, int a);

/** Find an attribute by its name. Returns whether there is one; `out` borrows from `said`. */
bool lw_said_find(const struct lw_said *said, const char *name, struct lw_attribute *out);

/** Return the text of an attribute, or "". */
const char *lw_said_text(const struct lw_said *said, const char *name);

/** Return the first number of an attribute, or `fallback`. */
double lw_said_real(const struct lw_said *said, const char *name, double fallback);

/** Append the attributes that a result keeps of its input, unless their names are taken by the first `n`. Attributes by which
 * readers find coordinates, sampling, types or structure are not kept: they are right only for the input, and the result has its
 * own. Long texts, long arrays, and attributes beyond the limits in said.c are left out, since the header of an HDF5 object holds
 * 64 KiB.
 * @param attributes  room for LW_KEPT_MOST more; the new ones borrow from `said` @return  number of attributes, old and new */
int lw_kept_add(const struct lw_said *said, struct lw_attribute *attributes, int n);
