/* nan_report.h - counters that kernels fill for a block of samples: samples that are not finite, outputs that conversion spoiled,
 * and rows of the table of crossings.
 *
 * Each slot has one report, zeroed before each block. The loaders raise only the flag; if it is raised, the repair kernel searches
 * the samples and fills in the rest. */
#pragma once

struct lw_nan_report {
    unsigned int flag;                      /* not 0: some sample of the block, halo included, is not finite */
    unsigned int out_of_range;              /* not 0: some power of the block is lost in its stored type */
    unsigned long long n_saturated, n_nan;  /* outputs beyond the range of their stored type, and NaN outputs */
    unsigned long long n_rows;              /* crossings found, including those beyond the room of the table */
    unsigned long long n_own;               /* samples that are not finite, without the halo */
    unsigned long long lowest_complement;   /* ~((own sample * channels of the block + channel) * width + column) of the lowest
                                               such sample, see lw_op_input_width; 0: none */
};
