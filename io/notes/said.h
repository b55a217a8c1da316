/* said.h - hold a copy of a dataset's attributes under their names in the file. The copy has no pointers, so that a child process
 * can pass it to its parent as bytes (io/shield.h). */
#pragma once

#include "io/dataset.h"

enum { LW_SAID_MOST = 4096, LW_SAID_BYTES = 1 << 19, LW_SAID_REALS = 1 << 14, LW_KEPT_MOST = 64 };

/* Attributes of one dataset, 0.8 MiB in all. */
struct lw_said {
    int n;
    struct lw_said_one {
        enum lw_attribute_kind kind;
        int name, text, first, count;   /* indices of name and text in bytes[]; numbers: `count` from reals[first] on */
        int64_t integer;
        double real;
    } all[LW_SAID_MOST];
    int n_bytes, n_reals;
    char bytes[LW_SAID_BYTES];          /* names and texts, each with its final zero */
    double reals[LW_SAID_REALS];
};

/** Copy an attribute into `said`, which the caller fills with zeros before the first call. An attribute is left out if its name is
 * taken or its bytes do not fit. This function is a lw_attribute_fn. */
void lw_said_add(const struct lw_attribute *attribute, void *said);

/** Return attribute number `a`; its pointers point into `said`. A single number is also given as `reals` of length 1. */
struct lw_attribute lw_said_get(const struct lw_said *said, int a);

/** Find an attribute by its name. @param out  its pointers point into `said` @return  whether the attribute was found */
bool lw_said_find(const struct lw_said *said, const char *name, struct lw_attribute *out);

/** Return the text of an attribute, in `said`; "": there is no attribute of this name with a text. */
const char *lw_said_text(const struct lw_said *said, const char *name);

/** Return the first number of an attribute; `fallback`: there is no attribute of this name with numbers. */
double lw_said_real(const struct lw_said *said, const char *name, double fallback);

/** Append the attributes that a result keeps of its input to an array, unless the first `n` have their names. Attributes of
 * coordinates, sampling, types or structure are not kept: they describe the input only, and the result has its own. Long texts and
 * arrays, and attributes beyond the limits in said.c, are left out, since the header of an HDF5 object holds 64 KiB.
 * @param attributes  [n + LW_KEPT_MOST], n filled; new ones have pointers into `said` @return  number of attributes, old and new */
int lw_kept_add(const struct lw_said *said, struct lw_attribute *attributes, int n);
