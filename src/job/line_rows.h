/* line_rows.h - the tables of lines and of channels of a sparse spectrum, as the job `sfft` declares and a sparse run fills
 * them. */
#pragma once

#include <stdint.h>

/* The job's products: tables, whose rows lie in the file as here. */
enum lw_sfft_product { LW_SFFT_SPECTRUM, LW_SFFT_CHANNELS };

struct lw_sfft_line_row {
    int64_t channel, index;
    double frequency, re, im, magnitude;
    double fractional_index;        /* index, of a refined tone with its offset */
};

struct lw_sfft_channel_row {
    int64_t channel, lines;
    double residual, noise_power, detection_limit;
    int64_t samples, attempts, is_dense, is_explained;
    int64_t off_grid;               /* of the strongest lines, of refined ones of all, those that lie between two frequencies */
    int64_t is_refined;             /* lines are tones */
};
