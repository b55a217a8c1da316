/* buckets.h - samples to buckets: window, fold, transform; by FFTW, each row by one thread. */
#pragma once

#include "sfft/sfft.h"
#include "sfft/signal.h"

struct lw_cpu_sfft;

/** The transforms that the stages of a layout need, for filling the planes of `sfft`; both are borrowed.
 * @param gathers  lw_cpu_sfft_gather will be called: each thread needs a row of samples */
int lw_cpu_sfft_create(struct lw_sfft *sfft, const struct lw_sfft_layout *layout, int n_threads, bool gathers,
                       struct lw_cpu_sfft **out, struct lw_error *err);
int64_t lw_cpu_sfft_bytes(const struct lw_sfft_plan *plan);    /* of one that does not gather */
void lw_cpu_sfft_destroy(struct lw_cpu_sfft *cpu);              /* NULL is legal */

/** Fill the planes of a stage.
 * @param samples  [D][2 h + 1] (re, im) pairs in the order of lw_sfft_stage_sample */
void lw_cpu_sfft_load(struct lw_cpu_sfft *cpu, int stage, const double *samples);

/** Fill the planes of a stage from a signal in memory. */
void lw_cpu_sfft_gather(struct lw_cpu_sfft *cpu, int stage, const struct lw_sfft_signal *signal);
