/* power_spectrum.h - the power spectrum of the input, which whitens filters: measured in a pass before the rounds.
 *
 * The spectrum is the median over segments (design/welch.h). Blocks of consecutive segments are read, each about LW_SPECTRUM_BLOCK
 * samples long: all blocks or, if their spectra had more than LW_SPECTRUM_VALUES numbers, evenly spaced ones. A segment with
 * non-finite or masked samples does not count. The ranks share the blocks, which overlap by half a segment. The spectrum does not
 * depend on ranks, threads, rounds or memory. */
#pragma once

#include "setup/setup.h"

#define LW_SPECTRUM_BLOCK ((int64_t)1 << 18)
#define LW_SPECTRUM_VALUES ((int64_t)1 << 25)

/** Return the host bytes per rank of the taps, if all are held, which stay allocated; of whitening some filters; and of the
 * measurement. The latter two are freed again. 0 without whitening. */
int64_t lw_spectrum_taps_bytes(const struct lw_job *job);
int64_t lw_spectrum_work_bytes(const struct lw_job *job, const struct lw_engine *engine);
int64_t lw_spectrum_bytes(const struct lw_job *job, const struct lw_engine *engine, const struct lw_reader *reader, int n_ranks);

/** Measure the spectrum if the filters are to be whitened, and make the taps if all are held, on every rank. Selects another view
 * of the reader.
 * LW_EDATA: no segment counts. Collective. */
int lw_spectrum_whiten(struct lw_setup *setup, struct lw_error *err);
