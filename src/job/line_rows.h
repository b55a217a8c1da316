/* line_rows.h - rows of the tables of lines and of channels: the job `sfft` declares the tables, a sparse run fills them. */
#pragma once

#include <stdint.h>

/* The job's products: tables, whose rows are stored as declared here. */
enum lw_sfft_product { LW_SFFT_SPECTRUM, LW_SFFT_CHANNELS };

struct lw_sfft_line_row {
    int64_t channel, index;
    double frequency, re, im, magnitude;
    double fractional_index;        /* index; a refined tone adds its offset from that frequency */
};

struct lw_sfft_channel_row {
    int64_t channel, lines;
    double residual, noise_power, detection_limit;
    int64_t samples, attempts, is_dense, is_explained;
    int64_t off_grid;               /* lines between two frequencies: of the strongest lines; with --refine of all */
    int64_t is_refined;             /* 1: lines are refined tones */
};
