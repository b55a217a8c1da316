/* nan_report.h - what the device finds out about the samples of a block that are not finite, and outputs that it must spoil; and
 * how many rows a block gives.
 *
 * One report per slot, zeroed before each block. The loaders raise the flag; only then does the repair kernel look
 * for the samples and fill in the rest. */
#pragma once

struct lw_nan_report {
    unsigned int flag;                      /* not 0: some sample of the block, halo included, is not finite */
    unsigned int out_of_range;              /* not 0: some power of the block is lost in the type it is stored as */
    unsigned long long n_saturated, n_nan;  /* values of an output that were beyond its range, or NaN */
    unsigned long long n_rows;              /* of the table of crossings, those beyond its room, too */
    unsigned long long n_own;               /* such samples without the halo */
    unsigned long long lowest_complement;   /* ~((own sample * channels of the block + channel) * width + column) of the lowest,
                                               see lw_op_input_width; 0: none */
};
