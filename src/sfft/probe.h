/* probe.h - the noise of a signal, before its lines are searched for.
 *
 * One stage of one shift, with buckets of its own, filters a small part of the samples. A line reaches three buckets at most,
 * and there are so many buckets that most are free of lines, however these lie: the low energies are those of the noise alone,
 * which are exponentially distributed. A quantile of theirs tells the noise, to about 1 dB for a signal that has as many lines as
 * are wanted, and up to 3 dB too low for one that has few; such lines stand out of it all the more. */
#pragma once

#include "base/linkage.h"
#include "sfft/sfft.h"

LW_C_BEGIN

/** A plan of one attempt that has no stage but the one that checks: what is sampled. */
struct lw_sfft_plan lw_sfft_probe_plan(const struct lw_sfft_spec *spec);

/* What a probe has shown; per sample. */
struct lw_sfft_probe {
    double power;                   /* mean |x|^2 */
    double noise_power;             /* of that, what is white noise */
};

/** Estimate by the samples of the stage of that plan's layout, in the order of lw_sfft_stage_sample.
 * @param samples  [2 h + 1] (re, im), all finite
 * LW_ESYSTEM. */
int lw_sfft_probe(const struct lw_sfft_layout *layout, const double *samples, struct lw_sfft_probe *probe, struct lw_error *err);

/** Signal to noise in dB, 0 to 300. */
double lw_sfft_probe_snr(const struct lw_sfft_probe *probe);

/** The plan for a signal of that signal-to-noise ratio: the one for an unknown ratio where the noise is too little to matter, or
 * where the samples of a better one would be too many. */
struct lw_sfft_plan lw_sfft_plan_for(const struct lw_sfft_spec *spec, double snr_db);

LW_C_END
