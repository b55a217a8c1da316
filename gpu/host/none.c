/* none.c - stands in for the cuda engine where lapwing was built without CUDA. */
#include "engine/engine.h"

#include <stdio.h>

int lw_cuda_engine_create(const struct lw_engine_spec *spec, struct lw_engine **out, struct lw_error *err)
{
    (void)spec;
    (void)out;
    return lw_fail(err, LW_ESYSTEM,
                   "this lapwing was built without CUDA: take --engine cpu, or install the CUDA toolkit "
                   "(nvcc 12 or later) and build again");
}

bool lw_cuda_engine_usable(const struct lw_engine_spec *spec, char why[160])
{
    (void)spec;
    snprintf(why, 160, "built without CUDA");
    return false;
}
