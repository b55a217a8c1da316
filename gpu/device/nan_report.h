/* nan_report.h - counters that kernels fill for a block: samples that are not finite, outputs that their stored type cannot hold,
 * and rows of the table of crossings.
 *
 * Each slot has one report, zeroed before each block. Kernels that load samples only raise `flag`; if it is raised, a repair kernel
 * searches the samples and fills in n_own and lowest_complement. */
#pragma once

struct lw_nan_report {
    unsigned int flag;                      /* not 0: some sample of the block, halo included, is not finite */
    unsigned int out_of_range;              /* not 0: the stored type cannot hold some power of the block */
    unsigned long long n_saturated, n_nan;  /* outputs beyond the range of their stored type; NaN outputs of integer type */
    unsigned long long n_rows;              /* crossings found, including those for which the table had no room */
    unsigned long long n_quiet;             /* windows of stacked channels whose normalized outputs are 0 */
    unsigned long long n_own;               /* samples that are not finite, without the halo */
    unsigned long long lowest_complement;   /* place of the first of these n_own samples: the complement of (own sample * channels
                                               of the block + channel) * width + column, see lw_op_input_width; 0: none */
};
