/* window.h - samples of the signal continued beyond its ends, read collectively from a file.
 *
 *      window position   -5 -4 -3 -2 -1  0  1  2 ... n-1  n n+1 n+2
 *      read from         (made by the boundary)  the view  (made by the boundary)
 *
 * Samples inside the signal are read into place. Those outside that the boundary makes from samples of the signal are read
 * once more from where they are: the one exception to reading each sample once, and at most a filter's length. */
#pragma once

#include "io/read/reader.h"
#include "signal/convolution.h"

struct lw_window_spec {
    struct lw_reader *reader;           /* with its view selected; borrowed for the window's life */
    enum lw_boundary boundary;
    enum lw_layout layout;
    int64_t sample_bytes;
    int64_t n_samples;                  /* on the axis */
    int64_t n_taps;                     /* the signal is continued by less than this at either end */
    int64_t max_channels;
};

struct lw_stream_window;

/** Host bytes that create allocates: a scratch copy of what the boundary is made from. */
int64_t lw_window_bytes(const struct lw_window_spec *spec);

/** The longest single read on the axis that the window makes for outside samples: 0 if none. */
int64_t lw_window_max_read(const struct lw_window_spec *spec);

int lw_window_create(const struct lw_window_spec *spec, struct lw_stream_window **out, struct lw_error *err);
void lw_window_destroy(struct lw_stream_window *window);           /* NULL is legal */

/* Window positions [begin, end) of channels [channel, channel + n_channels), placed as struct lw_slab places them. */
struct lw_window_part {
    int64_t begin, end;
    int64_t channel, n_channels;
    void *into;
    int64_t into_axis, into_first;
};

/** Begin to fill a part; begin = end: nothing. What it points to is the window's until end, and one part is under way at a time.
 * Errors are those of lw_reader_begin. */
int lw_window_begin(struct lw_stream_window *window, const struct lw_window_part *part, struct lw_error *err);

/** Wait for what was begun, then fill what the boundary makes. Nothing may have been begun. */
int lw_window_end(struct lw_stream_window *window, struct lw_error *err);

/** Both. */
int lw_window_read(struct lw_stream_window *window, const struct lw_window_part *part, struct lw_error *err);
