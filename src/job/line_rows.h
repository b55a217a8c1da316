/* line_rows.h - rows of the two tables of `sfft`, lines and channels: the job declares the tables, a sparse run fills them. */
#pragma once

#include <stdint.h>

/* The products of `sfft`: tables, with rows stored as the structures below. */
enum lw_sfft_product { LW_SFFT_SPECTRUM, LW_SFFT_CHANNELS };

struct lw_sfft_line_row {
    int64_t channel, index;
    double frequency, re, im, magnitude;
    double fractional_index;        /* index, plus a refined tone's offset from the frequency of that index */
};

struct lw_sfft_channel_row {
    int64_t channel, lines;
    double residual, noise_power, detection_limit;
    int64_t samples, attempts, is_dense, is_explained;
    int64_t off_grid;               /* lines between two indices, of the 8 strongest; with --refine of all */
    int64_t is_refined;             /* 1: the channel's lines are refined tones */
};
