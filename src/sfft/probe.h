/* probe.h - an estimate of a signal's noise, before its lines are searched for.
 *
 * A probe is one stage of one shift, with buckets of its own, computed from a small part of the samples. A line reaches at most
 * three buckets, and the buckets are so many that most contain no line. The lowest energies are therefore those of noise alone,
 * which are exponentially distributed; a quantile of them gives the noise power.
 *
 * The estimate is within about 1 dB for a signal with as many lines as are wanted. With few lines it is up to 3 dB too low,
 * which does no harm: few lines stand out more clearly. */
#pragma once

#include "sfft/sfft.h"

LW_C_BEGIN

/** Return the plan of a probe: one attempt with only its checking stage. The plan determines which samples to read. */
struct lw_sfft_plan lw_sfft_probe_plan(const struct lw_sfft_spec *spec);

/* Result of a probe, per sample. */
struct lw_sfft_probe {
    double power;                   /* mean |x|^2 of the samples */
    double noise_power;             /* the part of `power` that is white noise */
};

/** Estimate power and noise from the samples of lw_sfft_probe_plan's layout, in the order of lw_sfft_stage_sample.
 * @param samples  [2 h + 1] (re, im), all finite
 * LW_ESYSTEM: no memory. */
int lw_sfft_probe(const struct lw_sfft_layout *layout, const double *samples, struct lw_sfft_probe *probe, struct lw_error *err);

/** Return the signal-to-noise ratio in dB, 0 to 300. */
double lw_sfft_probe_snr(const struct lw_sfft_probe *probe);

/** Return the plan for a signal with this signal-to-noise ratio. If the noise is too weak to matter, or the better plan needs
 * too many samples, this is the plan for an unknown ratio. */
struct lw_sfft_plan lw_sfft_plan_for(const struct lw_sfft_spec *spec, double snr_db);

LW_C_END
