/* infos.h - what many files hold, in little memory: of each its name, and where its description differs from the first one's.
 *
 *     record   name '\0', number of pieces, then of each piece: offset, bytes, the bytes */
#pragma once

#include "base/error.h"
#include "io/dataset.h"

#include <stdint.h>

struct lw_infos {
    struct lw_dataset_info *first;      /* owned */
    char *records;                      /* owned; one behind the other */
    int64_t bytes, room;
    int64_t *begin;                     /* owned; [n], of each record; NULL until lw_infos_index */
    int64_t n;
};

/** Begin with what all are compared with. LW_ESYSTEM. Release with lw_infos_release in any case. */
int lw_infos_begin(struct lw_infos *infos, const struct lw_dataset_info *first, struct lw_error *err);

/** Add a record behind the others. LW_ESYSTEM. */
int lw_infos_add(struct lw_infos *infos, const struct lw_dataset_info *info, struct lw_error *err);

/** Add records of other infos that began with the same. LW_ESYSTEM. @param records  NULL: there is just room for them */
int lw_infos_append(struct lw_infos *infos, const void *records, int64_t bytes, struct lw_error *err);

/** Number the records. They came from `n_sources` one after the other, each with every n_sources-th file. LW_ESYSTEM.
 * @param n  how many there are */
int lw_infos_index(struct lw_infos *infos, int64_t n, int64_t n_sources, struct lw_error *err);

/* After lw_infos_index: the file's name, and all that is known of it, in *info, which is returned. */
const char *lw_infos_file(const struct lw_infos *infos, int64_t number);
const struct lw_dataset_info *lw_infos_get(const struct lw_infos *infos, int64_t number, struct lw_dataset_info *info);

void lw_infos_release(struct lw_infos *infos);
