/* none.c - the stand-in for the CUDA engine in a lapwing built without CUDA: it tells the user that there is no CUDA engine. */
#include "engine/registry.h"

#include <stdio.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

static int create(const struct lw_engine_spec *spec, struct lw_engine **out, struct lw_error *err)
{
    return lw_fail(err, LW_ESYSTEM,
                   "this lapwing was built without CUDA: take --engine cpu, or install the CUDA toolkit "
                   "(nvcc 12 or later) and build again");
}

static bool is_usable(const struct lw_engine_spec *spec, char text[LW_ENGINE_TEXT])
{
    snprintf(text, LW_ENGINE_TEXT, "built without CUDA");
    return false;
}

const struct lw_engine_type lw_cuda_engine = {.name = "cuda", .is_usable = is_usable, .create = create};
