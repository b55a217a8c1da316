/* accel.h - the interface of the engines for searches of drifting signals (accel/accel.h).
 *
 *     bytes -> create -> then, for each series:  begin ... wait -> destroy
 *
 * begin hands a series to the engine and returns; wait blocks until its spectrum and hits are complete. One series may be under way
 * at a time. Neither allocates anything. Results do not depend on threads, memory or the range: a search of several ranges finds
 * the hits that one search of them all finds, if the ranges are cut between cells. */
#pragma once

#include "accel/accel.h"
#include "engine/engine.h"

LW_C_BEGIN

struct lw_accel_search;             /* made by an engine */

/* Bins [first, end) of the spectrum that count as zero: interference. Their powers do not count for the normalization. */
struct lw_accel_zap {
    int64_t first, end;
};

struct lw_accel_ops {
    /** Return the bytes of a search. @param most  device or host memory that it may use at all; the plane of powers is kept for as
     * large ranges as fit. is_possible is false if not even the smallest does. */
    struct lw_bytes (*bytes)(const struct lw_engine *engine, const struct lw_accel_plan *plan, int64_t most, bool *is_possible);

    /** Model the seconds of one series. */
    double (*seconds)(const struct lw_engine *engine, const struct lw_accel_plan *plan);

    /** Make the templates, plan the transforms, allocate all memory. LW_ESYSTEM.
     * @param plan  borrowed while the search lives
     * @param zaps  [n_zaps], ascending, disjoint; borrowed likewise */
    int (*create)(struct lw_engine *engine, const struct lw_accel_plan *plan, const struct lw_accel_zap *zaps, int64_t n_zaps,
                  int64_t most, struct lw_accel_search **out, struct lw_error *err);

    /** Begin the search of a series for points [first, end) of r, multiples of LW_ACCEL_CELL but for the plan's own ends.
     * @param series  [n], finite, host, without its mean; borrowed until wait returns */
    int (*begin)(struct lw_accel_search *search, const float *series, int64_t first, int64_t end, struct lw_error *err);

    /** Wait for the spectrum and the hits.
     * @param spectrum   out: [n_bins][2] the normalized spectrum
     * @param variances  out: [n_blocks] relative variances of its levels (accel/normalize.h)
     * @param hits       out, in any order */
    int (*wait)(struct lw_accel_search *search, float *spectrum, float *variances, struct lw_accel_hits *hits,
                struct lw_error *err);

    void (*destroy)(struct lw_accel_search *search);    /* NULL is legal */
};

LW_C_END
