/* clusters.h - clusters of crossings over several channels, by the definition in signal/search.h.
 *
 *     crossings, sorted by output  -->  clusters that grow  -->  strongest crossing of each cluster that has ended
 *
 * A cluster grows while an output within reach of its last one may follow. Each channel remembers its last crossing only: an
 * earlier one within reach of a later output belongs to the same cluster. So memory depends on the number of channels alone. */
#pragma once

#include "base/error.h"
#include "signal/peaks.h"

LW_C_BEGIN

struct lw_clusters;

int64_t lw_clusters_bytes(int64_t n_channels);

/** Create an empty set of clusters. LW_ESYSTEM. @param search  its `cluster` and `cluster_channels` are the reach */
int lw_clusters_create(const struct lw_search *search, int64_t n_channels, struct lw_clusters **out, struct lw_error *err);
void lw_clusters_destroy(struct lw_clusters *clusters);         /* NULL is legal */

/** Return the most peaks of lw_clusters_end. */
int64_t lw_clusters_most(int64_t n_channels);

/** Return whether lw_clusters_end must be called before another crossing is added. */
bool lw_clusters_are_full(const struct lw_clusters *clusters);

/** Add a crossing; its output is not before those that were added since all clusters ended. It stands for `column` others of its
 * output and channel (lw_peaks_merge), too. @param snr  its SNR */
void lw_clusters_add(struct lw_clusters *clusters, const struct lw_crossing *crossing, double snr);

/** End the clusters that no crossing at output `next` or later can join; INT64_MAX: all. @param peaks  set; [lw_clusters_most]
 * @return  number of peaks, in no order */
int64_t lw_clusters_end(struct lw_clusters *clusters, int64_t next, struct lw_peak *peaks);

LW_C_END
