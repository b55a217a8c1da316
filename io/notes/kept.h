/* kept.h - what a dataset says of itself beside what this program understands: attributes that a result keeps, in their own names.
 *
 * Left out are names by which readers find coordinates, sampling, types or structure, since the result has its own: what was right for
 * the input would be wrong for it; long texts and arrays; and what is beyond the bounds below, as the header of an HDF5 object holds
 * 64 KiB. */
#ifndef LW_IO_NOTES_KEPT_H
#define LW_IO_NOTES_KEPT_H

#include "base/error.h"
#include "io/attribute.h"
#include "io/dataset.h"

enum { LW_KEPT_MOST = 64, LW_KEPT_NAME = 64, LW_KEPT_TEXT_BYTES = 16384, LW_KEPT_REALS = 1024, LW_KEPT_MOST_TEXT = 1024,
       LW_KEPT_MOST_REALS = 64 };

/* Plain data without pointers: a child process looks (io/shield.h). */
struct lw_kept {
    int n;
    struct lw_kept_one {
        char name[LW_KEPT_NAME];
        enum lw_attribute_kind kind;
        int64_t integer;
        double real;
        int first, count;               /* of its text's bytes, or of its numbers */
    } all[LW_KEPT_MOST];
    int n_text_bytes, n_reals;
    char texts[LW_KEPT_TEXT_BYTES];
    double reals[LW_KEPT_REALS];
};

/** Collect the attributes of a dataset that has been described; of what cannot be read there is nothing. By one process. */
void lw_kept_collect(const struct lw_dataset_info *info, struct lw_kept *kept);

/** Put those whose names are not taken yet behind the `n` attributes that are there. @return  how many there are then
 * @param attributes  room for LW_KEPT_MOST more; the new ones borrow from `kept` */
int lw_kept_add(const struct lw_kept *kept, struct lw_attribute *attributes, int n);

#endif
