/* registry.h - the engines that there are. A further one is its folder, one line here, and one line of CMakeLists.txt. */
#pragma once

#include "engine/engine.h"

/* --engine auto takes the last one that is usable on every rank; the first is usable everywhere. NAME is the choice of
 * --engine, lw_NAME_engine the engine's type. Without CUDA, gpu/host/none.c stands in for the cuda engine. */
#define LW_ENGINES(X) \
    X(cpu)            \
    X(cuda)

#define X(name) extern const struct lw_engine_type lw_##name##_engine;
LW_ENGINES(X)
#undef X

/** The engines in that order, NULL-ended. */
extern const struct lw_engine_type *const lw_engines[];
