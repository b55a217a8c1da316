/* sfft2_cpu.h - the published transform (sfft2.h) of a signal in memory, by FFTW and OpenMP. */
#ifndef LW_SFFT2_CPU_H
#define LW_SFFT2_CPU_H

#include "sfft2_bins_cpu.h"

struct lw_sfft2_cpu;

/** Window, loops and work areas of an attempt. */
int lw_sfft2_create_cpu(const struct lw_sfft2_plan *plan, int attempt, int n_threads, struct lw_sfft2_cpu **out,
                        struct lw_error *err);
void lw_sfft2_destroy_cpu(struct lw_sfft2_cpu *cpu);            /* NULL is legal */
int64_t lw_sfft2_bytes_cpu(const struct lw_sfft2_plan *plan);   /* without the signal */

/** From samples to checked lines.
 * @param signal   real if and only if the plan's spec is
 * @param result   its lines are borrowed until the next call on the same object
 * @param profile  seconds are added to it */
void lw_sfft2_run_cpu(struct lw_sfft2_cpu *cpu, const struct lw_sfft2_signal *signal, struct lw_sfft_result *result,
                      struct lw_sfft2_profile *profile);

#endif
