/* slabs.h - a view of one dataset of one file: opened, chosen, read slab by slab. A reader has one for each file that it reads at
 * the moment. The functions are those of io/read/reader.h that are called alike. */
#pragma once

#include "io/read/view.h"

/** Open what was described. Errors are those of lw_source_open. */
int lw_view_open(const struct lw_dataset_info *described, int least_dims, int most_dims, struct lw_pool *pool, struct lw_view **out,
                 struct lw_error *err);
void lw_view_close(struct lw_view *view);                   /* waits for a read under way; NULL is legal */

int lw_view_select(struct lw_view *view, const struct lw_view_spec *spec, struct lw_error *err);
int64_t lw_view_bytes(const struct lw_source *source, const struct lw_view_spec *spec);
bool lw_view_locate(const struct lw_view *view, struct lw_reader_place *place);

int lw_view_begin(struct lw_view *view, const struct lw_slab *slab, struct lw_error *err);
int lw_view_end(struct lw_view *view, struct lw_error *err);

/* ---- library.c: where the format's library reads ---- */

/** Host bytes that selecting takes, and the library for chunks, but for the row that is kept. */
int64_t lw_library_bytes(const struct lw_source *source, const struct lw_view_spec *spec);

/** Prepare the dataset for reads of view->spec. LW_ESYSTEM. */
int lw_library_select(struct lw_view *view, struct lw_error *err);

/** Read part of the view. Errors are those of lw_reader_begin. */
int lw_library_read(struct lw_view *view, const struct lw_slab *slab, struct lw_error *err);

/* ---- pooled.c: where the threads of a pool do ---- */

/** Host bytes that selecting takes, but for the row that is kept. */
int64_t lw_pooled_bytes(const struct lw_source *source, const struct lw_view_spec *spec);

int lw_pooled_select(struct lw_view *view, struct lw_error *err);
void lw_pooled_release(struct lw_view *view);               /* what select has allocated; waits for a read under way */

/** Begin to read part of the view, and wait for it. Errors are those of lw_reader_begin. */
int lw_pooled_begin(struct lw_view *view, const struct lw_slab *slab, struct lw_error *err);
int lw_pooled_end(struct lw_view *view, struct lw_error *err);
