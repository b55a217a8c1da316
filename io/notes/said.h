/* said.h - what a file says of a dataset in its own names: attributes as plain data, so that a child process can look at the file
 * (io/shield.h). */
#pragma once

#include "base/error.h"
#include "io/dataset.h"

enum { LW_SAID_MOST = 4096, LW_SAID_BYTES = 1 << 19, LW_SAID_REALS = 1 << 14, LW_KEPT_MOST = 64 };

/* 0.8 MiB, without pointers. */
struct lw_said {
    int n;
    struct lw_said_one {
        enum lw_attribute_kind kind;
        int name, text, first, count;   /* places among the bytes, and of its numbers */
        int64_t integer;
        double real;
    } all[LW_SAID_MOST];
    int n_bytes, n_reals;
    char bytes[LW_SAID_BYTES];          /* names and texts, each with its zero */
    double reals[LW_SAID_REALS];
};

/** A lw_attribute_fn: copy an attribute to `said`, which begins as all zeros. It is left out where there is one of its name
 * already, or no room. */
void lw_said_add(const struct lw_attribute *attribute, void *said);

/** Attribute number `a`. It borrows from `said`; single numbers are also an array of one. */
struct lw_attribute lw_said_get(const struct lw_said *said, int a);

/** Whether there is an attribute of that name; it borrows from `said`. */
bool lw_said_find(const struct lw_said *said, const char *name, struct lw_attribute *out);

/** Its text, or "". */
const char *lw_said_text(const struct lw_said *said, const char *name);

/** Its first number, or `fallback`. */
double lw_said_real(const struct lw_said *said, const char *name, double fallback);

/** Put those that a result keeps of its input, in their own names, behind the `n` attributes that are there, unless their names are
 * taken. Left out are names by which readers find coordinates, sampling, types or structure, since the result has its own: what was
 * right for the input would be wrong for it; long texts and arrays; and what is beyond the bounds in said.c, as the header of an
 * HDF5 object holds 64 KiB. @return  how many there are then
 * @param attributes  room for LW_KEPT_MOST more; the new ones borrow from `said` */
int lw_kept_add(const struct lw_said *said, struct lw_attribute *attributes, int n);
