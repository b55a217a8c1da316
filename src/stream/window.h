/* window.h - samples of a signal that the boundary continues beyond both ends, read from a file by each rank.
 *
 *      window position   -5 -4 -3 -2 -1  0  1  2 ... n-1  n n+1 n+2
 *      read from         (made by the boundary)  the view  (made by the boundary)
 *
 * Samples inside the signal are read directly into place. The boundary makes outside samples from inside ones. In the rounds
 * these source samples, at most a filter's length at each end, are read once more; all other samples are read once. */
#pragma once

#include "io/read/reader.h"

struct lw_window_spec {
    struct lw_reader *reader;           /* its view is selected; borrowed for the window's life */
    enum lw_boundary boundary;
    enum lw_layout layout;
    int64_t sample_bytes;               /* bytes of a sample of one channel; images: of a row of pixels */
    int64_t n_samples;                  /* samples on the axis */
    int64_t n_taps;                     /* each end is continued by at most n_taps - 1 samples */
    int64_t max_channels;               /* most channels of a part */
};

struct lw_stream_window;

/** Return the host bytes that lw_window_create allocates, above all for a copy of the source samples. */
int64_t lw_window_bytes(const struct lw_window_spec *spec);

/** Return the most source samples of one read, on the axis; 0: the boundary needs none. */
int64_t lw_window_max_read(const struct lw_window_spec *spec);

int lw_window_create(const struct lw_window_spec *spec, struct lw_stream_window **out, struct lw_error *err);
void lw_window_destroy(struct lw_stream_window *window);           /* NULL is legal */

/* Window positions [begin, end) of channels [channel, channel + n_channels), and their place in memory (see struct lw_slab). */
struct lw_window_part {
    int64_t begin, end;
    int64_t channel, n_channels;
    void *into;
    int64_t into_axis, into_first;
};

/** Set a part's channels to those of the input that a block needs. */
void lw_window_take_channels(const struct lw_op_spec *op, const struct lw_block *block, struct lw_window_part *part);

/** Begin to fill a part; begin = end: nothing is read. The window uses the memory until lw_window_end. Only one part can be in
 * progress. Not collective. Errors are those of lw_reader_begin. */
int lw_window_begin(struct lw_stream_window *window, const struct lw_window_part *part, struct lw_error *err);

/** Wait for the part in progress, then fill its outside samples. Does nothing if no part is in progress. */
int lw_window_end(struct lw_stream_window *window, struct lw_error *err);

int lw_window_read(struct lw_stream_window *window, const struct lw_window_part *part, struct lw_error *err);
