/* cluster_launch.h - what the launcher and the cluster kernel agree on. */
#pragma once

#include "gpu/ols/long/steps.h"

struct ClusterArgs {
    struct lw_long_geometry geometry;
    const void *table, *bank;
    const void *input;                  /* stored samples; NULL: `segments` */
    const void *segments;               /* [n][N] */
    void *output;                       /* planes of the filters; NULL: `products` */
    void *products;                     /* [n_filters][n][N] */
    int64_t plane;                      /* reals from filter to filter */
    int64_t first;                      /* item */
    unsigned *not_finite;
    int n, n_filters;                   /* items; n n_filters fits an int */
};
