/* lane.h - a 2-D convolution, and what one of its threads works in. Opened by cpu/conv2d/conv2d.c, which works in it. */
#pragma once

#include "cpu/conv2d/kernel.h"
#include "cpu/conv2d/nan.h"
#include "cpu/conv2d/pixels.h"
#include "cpu/crossings.h"
#include "cpu/lanes.h"

/* A transform holds at most so many tiles, one beside or above the other. */
#define LW_CPU_CONV2D_PAIR 2

/* What one thread works in; sizes in lane.c. */
struct lw_cpu_conv2d_lane {
    struct lw_cpu_lane base;
    char *x;                            /* DIRECT, SEPARABLE: the window, and its copy turned by i; TILES: the points */
    char *between;                      /* SEPARABLE: a row between the passes, and turned; TILES: a strip */
    char *row;                          /* TILES: a row of points */
    char *y[LW_CPU_CONV2D_PAIR];        /* a row of pixels of a tile, before and after, or the rows that are made at a time */
    struct lw_cpu_window2d window;
    struct lw_cpu_flaws2d flaws[LW_CPU_CONV2D_PAIR];
    int exponents[LW_CPU_CONV2D_PAIR];  /* pixels of the tile were divided by 2^exponent */
    struct lw_cpu_found found;
};

struct lw_cpu_conv2d {
    struct lw_op_spec spec;
    struct lw_op_plan plan;
    struct lw_cpu_shape2d shape;
    struct lw_cpu_kernel2d kernel;
    struct lw_cpu_fft2d *fft;           /* NULL: no transforms */
    int n_tiles;                        /* of a transform; 1 without transforms */
    struct lw_cpu_lanes lanes;          /* of struct lw_cpu_conv2d_lane */
    int series, crossings;              /* numbers of the products; -1: not wanted */
    double *noise;                      /* of a search: [n_channels of the whole data set] */
};

/* What is computed of a slot's block: all products, or the crossings of a part of it again. Rows are those of the block: negative
 * before it, at least its `count` after it. */
struct lw_cpu_work2d {
    const struct lw_cpu_conv2d *conv2d;
    int64_t begin, end;                 /* rows of outputs; the first is a tile's first, the last a tile's last or the image's */
    int64_t stored_begin, stored_end;   /* of these, those of the convolved image that are stored */
    int64_t crossings_begin, crossings_end;     /* likewise, those that may cross */
    int64_t channel, n_channels;        /* of the block */
    struct lw_cpu_table *table;         /* NULL: there is none */
};

/** Bytes of one lane's memory. */
int64_t lw_cpu_conv2d_lane_bytes(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape);

/** Open n lanes into conv2d->lanes, which are to be closed whatever the outcome, and set n_tiles. */
int lw_cpu_conv2d_lanes_open(struct lw_cpu_conv2d *conv2d, int n, struct lw_error *err);
