/* plan.h - which kernels and tile a convolution of images gets on the CUDA engine. */
#ifndef LW_GPU_CONV2D_PLAN_H
#define LW_GPU_CONV2D_PLAN_H

#include "gpu/conv2d/tiles.h"
#include "gpu/host/device.h"

#ifdef __cplusplus
extern "C" {
#endif

enum lw_conv2d_method {
    LW_CONV2D_UNROLLED,         /* direct sums with small kernels */
    LW_CONV2D_DIRECT,           /* with any */
    LW_CONV2D_PRODUCT,          /* sums with small separable kernels */
    LW_CONV2D_PASSES,           /* with any of them: along the columns, then along the rows */
    LW_CONV2D_TILES,            /* in shared memory */
    LW_CONV2D_BANDS,            /* three passes */
};

struct lw_conv2d_plan {
    enum lw_conv2d_method method;
    int side;                   /* UNROLLED, PRODUCT: of the kernel, padded */
    struct lw_conv2d_grid grid; /* TILES, BANDS */
    int64_t batch;              /* BANDS: transforms in the work area */
    double seconds;             /* modelled, per output pixel */
};

/** Choose by spec and architecture alone. LW_ECONFIG if the algorithm asked for does not fit the kernel. */
int lw_conv2d_choose(const struct lw_device *device, const struct lw_op_spec *spec, struct lw_conv2d_plan *plan,
                     struct lw_error *err);

/** In words, for plan and log. */
void lw_conv2d_describe(const struct lw_conv2d_plan *plan, const struct lw_op_spec *spec, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
